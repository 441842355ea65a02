//! `x / scale + offset` of every element of a buffer: how `fixedscaleoffset` and `scale_offset` decode.

use super::arithmetic::{Floating, Precision, Widen, blocks, with_type};
use crate::dtype::{DataType, ElementType};
use crate::multiversion::multiversion;

multiversion! {
    /// `x / scale + offset`.
    fn unscaled(block: &mut [f64], single: bool, offset: f64, scale: f64) {
        if single {
            let (offset, scale) = (offset as f32, scale as f32);
            block.iter_mut().for_each(|x| *x = ((*x as f32) / scale + offset).into());
        } else {
            block.iter_mut().for_each(|x| *x = *x / scale + offset);
        }
    }

    /// `x / scale + offset` in one loop, of native numbers of type `t`.
    fn unscale_in_double<D: Floating>(t: DataType, src: &[u8], dst: &mut [u8], offset: f64, scale: f64) {
        with_type!(t, T, {
            let numbers = src.as_chunks::<{ size_of::<T>() }>().0.iter().map(|s| T::from_le_bytes(*s).double());
            numbers.zip(D::slots(dst)).for_each(|(x, d)| D::store(x / scale + offset, d));
        })
    }

    fn unscale_singles(src: &[u8], dst: &mut [u8], offset: f32, scale: f32) {
        let items = src.as_chunks().0.iter().zip(dst.as_chunks_mut().0);
        items.for_each(|(s, d)| *d = (f32::from_le_bytes(*s) / scale + offset).to_le_bytes());
    }

    /// `x / scale + offset` in binary32, of integers of up to 16 bits. The quotient is the product with the reciprocal in binary64,
    /// rounded: no quotient of two binary32 is as near to the middle between two others as that product may be wrong (2^-49 against
    /// 2^-52 of it), and none of these is so small that it has fewer bits.
    pub(super) fn unscale_short(t: DataType, src: &[u8], dst: &mut [u8], offset: f32, scale: f32) {
        let reciprocal = 1.0 / f64::from(scale);
        with_type!(t, T, {
            let numbers = src.as_chunks::<{ size_of::<T>() }>().0.iter().map(|s| T::from_le_bytes(*s).double());
            numbers.zip(<f32 as Floating>::slots(dst)).for_each(|(x, d)| *d = ((x * reciprocal) as f32 + offset).to_le_bytes());
        })
    }
}

/// `x / scale + offset` in binary64, of native numbers.
fn quotients<D: Floating>(t: DataType, src: &[u8], dst: &mut [u8], offset: f64, scale: f64) {
    #[cfg(target_arch = "x86_64")]
    if t.kind() != crate::dtype::Kind::Float
        && t.size() <= 4
        && (1e-100..1e100).contains(&scale.abs())
        && std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
    {
        // SAFETY: the processor has the instructions.
        return unsafe { quotients_with_fma::<D>(t, src, dst, offset, scale) };
    }
    unscale_in_double::<D>(t, src, dst, offset, scale);
}

/// [`quotients`] without divisions, which take twice as long: the product with the reciprocal, corrected twice by what is left. After the
/// first correction the quotient is one of the two neighbours of the exact one; the remainder of such a quotient is exact, and with
/// it and the nearest number to the reciprocal the second gives the nearest one (Markstein's theorem). Nothing here is so small or
/// large that it leaves the normal numbers: integers have up to 32 bits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn quotients_by_fma<D: Floating>(t: DataType, src: &[u8], dst: &mut [u8], offset: f64, scale: f64) {
    let reciprocal = 1.0 / scale;
    with_type!(t, T, {
        let numbers = src.as_chunks::<{ size_of::<T>() }>().0.iter().map(|s| T::from_le_bytes(*s).double());
        numbers.zip(D::slots(dst)).for_each(|(x, d)| {
            let near = x * reciprocal;
            let near = (-near).mul_add(scale, x).mul_add(reciprocal, near);
            let quotient = (-near).mul_add(scale, x).mul_add(reciprocal, near);
            D::store(quotient + offset, d);
        });
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn quotients_with_fma<D: Floating>(t: DataType, src: &[u8], dst: &mut [u8], offset: f64, scale: f64) {
    quotients_by_fma::<D>(t, src, dst, offset, scale);
}

/// `x / scale + offset` of every element.
pub(super) fn unscale(p: Precision, (from, src): (ElementType, &[u8]), (to, dst): (ElementType, &mut [u8]), offset: f64, scale: f64) {
    let native = !from.swapped() && !to.swapped();
    match (p, to.data_type) {
        (Precision::Double, DataType::Float32) if native => return quotients::<f32>(from.data_type, src, dst, offset, scale),
        (Precision::Double, DataType::Float64) if native => return quotients::<f64>(from.data_type, src, dst, offset, scale),
        (Precision::Single, DataType::Float32) if native => return unscale_singles(src, dst, offset as f32, scale as f32),
        _ => {}
    }
    match p.single() {
        Some(single) => blocks(from, src, to, dst, |block| unscaled(block, single, offset, scale)),
        None => blocks(from, src, to, dst, |block| {
            p.step(block, |x| x / scale);
            p.step(block, |x| x + offset);
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_reciprocals_are_the_quotients() {
        let words: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let longs: Vec<u8> = (0..=u16::MAX).flat_map(|i| ((u32::from(i) * 65537) ^ 0x5a5a_1234).to_le_bytes()).collect();
        let scales = [3.0, -7.0, 10.0, 0.1, 1e-3, 1.0 / 3.0, 1e99, 1e-99, 0.999_999_999_999_999_9, 1.000_000_000_000_000_2, 16777217.0];
        for scale in scales.into_iter().chain((1..200).step_by(crate::settings::apart(16)).map(|i| f64::from(i) * 0.37)) {
            for (t, src) in [(DataType::Int16, &words), (DataType::UInt16, &words), (DataType::Int32, &longs), (DataType::UInt32, &longs)] {
                for offset in [0.0, 273.15] {
                    let mut found = vec![0; src.len() / t.size() * 8];
                    let mut expected = found.clone();
                    quotients::<f64>(t, src, &mut found, offset, scale);
                    unscale_in_double::<f64>(t, src, &mut expected, offset, scale);
                    assert!(found == expected, "{} by {scale}", t.name());
                }
            }
        }
    }
}
