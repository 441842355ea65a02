//! `shuffle`, and the shuffles of bytes and bits inside of `blosc`.
//!
//! Specification: numcodecs `Shuffle` (v2 id `shuffle`; v3 name `numcodecs.shuffle`).
//! Example: `{"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}`
//!
//! A shuffle of bytes puts byte `b` of element `i` of `count` elements at `b * count + i`: a plane for each byte. A shuffle of bits does
//! the same with the bits of the elements, in planes of `count / 8` bytes, the lowest bit first.
//!
//! Elements of 2, 4, 8 and 16 bytes go through vector registers, 32 bytes wide where the processor has them (asked at run time).
//! Both directions rest on one step: taking the first and the second half of a row of bytes alternately rotates the bits of each
//! byte's index by one place, and planes differ from elements by such a rotation.

use super::build::Built;
use super::config::{Config, Style};
use super::stage::{Dest, Size, Stage};
use super::streams::{check_input, check_whole, decode_known, output};
use crate::dtype::ElementType;
use crate::error::Result;

/// Reads `elementsize`: 4 in v2 and the item's size in v3 where it is missing. 0, which netCDF-C writes for "the size of the
/// type" (and shuffles so), is the item's size.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<Built> {
    let default = if config.style == Style::V2 { 4 } else { item.size() };
    let size = config.int("elementsize", 0, 1 << 30, default as i64)?;
    Ok(Built::bytes(ShuffleStage { element: if size == 0 { item.size() } else { size as usize } }))
}

struct ShuffleStage {
    element: usize,
}

impl ShuffleStage {
    /// Byte `b` of element `i` moves between `i * element + b` and `b * count + i`.
    fn run(&self, src: &[u8], dst: &mut [u8], forward: bool) -> Result<()> {
        if forward {
            shuffle(self.element, src, dst)
        } else {
            unshuffle(self.element, src, dst)
        }
        Ok(())
    }
}

impl Stage for ShuffleStage {
    fn name(&self) -> &'static str {
        "shuffle"
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn unit(&self) -> usize {
        self.element
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        check_input("shuffle", src.len(), self.element)?;
        self.run(src, output(dst, src.len())?, true)
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        check_whole("shuffle", src.len(), self.element)?;
        decode_known(dst, src.len(), &mut |out| self.run(src, out, false))
    }
}

/// Gathers the bytes of equal rank; of `src` that is no whole number of elements the rest stays where it is.
pub(super) fn shuffle(element: usize, src: &[u8], dst: &mut [u8]) {
    run(element, src, dst, true);
}

/// The inverse of [`shuffle`].
pub(super) fn unshuffle(element: usize, src: &[u8], dst: &mut [u8]) {
    run(element, src, dst, false);
}

fn run(element: usize, src: &[u8], dst: &mut [u8], forward: bool) {
    let whole = src.len().checked_div(element).unwrap_or(0) * element;
    if element <= 1 || src.len() != dst.len() || whole == 0 {
        return dst.iter_mut().zip(src).for_each(|(d, s)| *d = *s);
    }
    let (src, rest) = src.split_at(whole);
    let (dst, tail) = dst.split_at_mut(whole);
    tail.copy_from_slice(rest);
    let done = vectors(element, src, dst, forward);
    scalars(element, src, dst, forward, done);
}

/// The elements from `first` on, one by one.
fn scalars(element: usize, src: &[u8], dst: &mut [u8], forward: bool, first: usize) {
    let count = src.len() / element;
    for b in 0..element {
        let (plane, start) = (b * count + first..(b + 1) * count, first * element + b);
        if forward {
            let items = src.get(start..).unwrap_or_default().iter().step_by(element);
            dst.get_mut(plane).unwrap_or_default().iter_mut().zip(items).for_each(|(d, s)| *d = *s);
        } else {
            let items = dst.get_mut(start..).unwrap_or_default().iter_mut().step_by(element);
            items.zip(src.get(plane).unwrap_or_default()).for_each(|(d, s)| *d = *s);
        }
    }
}

/// As many elements as go through vector registers; how many they were.
fn vectors(element: usize, src: &[u8], dst: &mut [u8], forward: bool) -> usize {
    macro_rules! sizes {
        ($module:ident) => {
            match (element, forward) {
                (2, true) => $module::shuffle::<2>(src, dst),
                (4, true) => $module::shuffle::<4>(src, dst),
                (8, true) => $module::shuffle::<8>(src, dst),
                (16, true) => $module::shuffle::<16>(src, dst),
                (2, false) => $module::unshuffle::<2, 1>(src, dst),
                (4, false) => $module::unshuffle::<4, 2>(src, dst),
                (8, false) => $module::unshuffle::<8, 3>(src, dst),
                (16, false) => $module::unshuffle::<16, 4>(src, dst),
                _ => 0,
            }
        };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { sizes!(avx2) };
    }
    sizes!(narrow)
}

/// The planes of a shuffled buffer, each as whole rows of `W` bytes; empty where they are not as stated.
fn planes<const N: usize, const W: usize>(src: &[u8]) -> [&[[u8; W]]; N] {
    let count = src.len() / N;
    std::array::from_fn(|b| src.get(b * count..(b + 1) * count).unwrap_or_default().as_chunks().0)
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::needless_range_loop)]
mod avx2 {
    use std::arch::x86_64::*;

    /// The rows, both halves taken alternately, `TIMES` times; each of the two lanes for itself.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn interleave<const N: usize, const TIMES: usize>(mut v: [__m256i; N]) -> [__m256i; N] {
        for _ in 0..TIMES {
            let old = v;
            for i in 0..N / 2 {
                v[2 * i] = _mm256_unpacklo_epi8(old[i], old[i + N / 2]);
                v[2 * i + 1] = _mm256_unpackhi_epi8(old[i], old[i + N / 2]);
            }
        }
        v
    }

    // Indices and pointers, because iterators over rows kept the registers in memory.

    #[target_feature(enable = "avx2")]
    pub fn unshuffle<const N: usize, const LOG: usize>(src: &[u8], dst: &mut [u8]) -> usize {
        let count = src.len().min(dst.len()) / N;
        for k in 0..count / 32 {
            let mut v = [_mm256_setzero_si256(); N];
            for b in 0..N {
                // SAFETY: 32 bytes of plane `b`, whose `count` bytes begin at `b * count`; this load needs no alignment.
                v[b] = unsafe { _mm256_loadu_si256(src.as_ptr().add(b * count + 32 * k).cast()) };
            }
            let v = interleave::<N, LOG>(v);
            for i in 0..N / 2 {
                let low = _mm256_permute2x128_si256::<0x20>(v[2 * i], v[2 * i + 1]);
                let high = _mm256_permute2x128_si256::<0x31>(v[2 * i], v[2 * i + 1]);
                // SAFETY: 32 bytes each of the two halves of the 32 elements from `32 * k` on, all of `dst`; no alignment is needed.
                unsafe {
                    let out = dst.as_mut_ptr().add(32 * N * k + 32 * i);
                    _mm256_storeu_si256(out.cast(), low);
                    _mm256_storeu_si256(out.add(16 * N).cast(), high);
                }
            }
        }
        count / 32 * 32
    }

    #[target_feature(enable = "avx2")]
    pub fn shuffle<const N: usize>(src: &[u8], dst: &mut [u8]) -> usize {
        let count = src.len().min(dst.len()) / N;
        for k in 0..count / 32 {
            let mut v = [_mm256_setzero_si256(); N];
            for i in 0..N / 2 {
                // SAFETY: 32 bytes each of the two halves of the 32 elements from `32 * k` on, all of `src`; no alignment is needed.
                let (low, high) = unsafe {
                    let from = src.as_ptr().add(32 * N * k + 32 * i);
                    (_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(16 * N).cast()))
                };
                v[2 * i] = _mm256_permute2x128_si256::<0x20>(low, high);
                v[2 * i + 1] = _mm256_permute2x128_si256::<0x31>(low, high);
            }
            // Four rotations of an index of 4 bits and those of the element.
            let v = interleave::<N, 4>(v);
            for b in 0..N {
                // SAFETY: 32 bytes of plane `b`, whose `count` bytes begin at `b * count`; this store needs no alignment.
                unsafe { _mm256_storeu_si256(dst.as_mut_ptr().add(b * count + 32 * k).cast(), v[b]) };
            }
        }
        count / 32 * 32
    }
}

/// Registers of 16 bytes, which every processor of the kind has; or arrays, of which the compiler may make vectors.
mod narrow {
    use super::planes;

    #[cfg(target_arch = "x86_64")]
    fn pair(a: [u8; 16], b: [u8; 16]) -> ([u8; 16], [u8; 16]) {
        use std::arch::x86_64::*;
        // SAFETY: SSE2 is part of x86-64; arrays and registers have the same 16 bytes.
        unsafe {
            let (a, b) = (std::mem::transmute::<[u8; 16], __m128i>(a), std::mem::transmute::<[u8; 16], __m128i>(b));
            (
                std::mem::transmute::<__m128i, [u8; 16]>(_mm_unpacklo_epi8(a, b)),
                std::mem::transmute::<__m128i, [u8; 16]>(_mm_unpackhi_epi8(a, b)),
            )
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn pair(a: [u8; 16], b: [u8; 16]) -> ([u8; 16], [u8; 16]) {
        let take = |from: usize| std::array::from_fn(|i| if i % 2 == 0 { a[from + i / 2] } else { b[from + i / 2] });
        (take(0), take(8))
    }

    fn interleave<const N: usize, const TIMES: usize>(mut v: [[u8; 16]; N]) -> [[u8; 16]; N] {
        for _ in 0..TIMES {
            let old = v;
            for i in 0..N / 2 {
                (v[2 * i], v[2 * i + 1]) = pair(old[i], old[i + N / 2]);
            }
        }
        v
    }

    pub fn unshuffle<const N: usize, const LOG: usize>(src: &[u8], dst: &mut [u8]) -> usize {
        let planes = planes::<N, 16>(src);
        let rows = planes[0].len();
        if planes.iter().any(|p| p.len() != rows) {
            return 0;
        }
        for (k, out) in dst.chunks_exact_mut(16 * N).take(rows).enumerate() {
            let v = interleave::<N, LOG>(std::array::from_fn(|b| planes[b][k]));
            out.as_chunks_mut().0.iter_mut().zip(v).for_each(|(slot, row)| *slot = row);
        }
        rows * 16
    }

    pub fn shuffle<const N: usize>(src: &[u8], dst: &mut [u8]) -> usize {
        let count = src.len() / N;
        for (k, block) in src.chunks_exact(16 * N).enumerate() {
            let mut v = [[0; 16]; N];
            v.iter_mut().zip(block.as_chunks().0).for_each(|(slot, row)| *slot = *row);
            for (b, row) in interleave::<N, 4>(v).into_iter().enumerate() {
                if let Some(slot) = dst.get_mut(b * count + 16 * k..).and_then(|d| d.first_chunk_mut()) {
                    *slot = row;
                }
            }
        }
        count / 16 * 16
    }
}

/// Undoes the shuffle of bits; `room` is as long as `src`. Where elements do not come in eights, they were only copied.
pub(super) fn unshuffle_bits(element: usize, src: &[u8], room: &mut [u8], dst: &mut [u8]) {
    let count = src.len().checked_div(element).unwrap_or(0);
    let whole = count * element;
    if count == 0 || !count.is_multiple_of(8) || src.len() != dst.len() || room.len() != src.len() {
        return dst.iter_mut().zip(src).for_each(|(d, s)| *d = *s);
    }
    // Eight planes of bits are a plane of bytes.
    for (bits, plane) in src.chunks_exact(count).zip(room.chunks_exact_mut(count)) {
        unshuffle(8, bits, plane);
        plane.as_chunks_mut().0.iter_mut().for_each(|word| *word = turn(u64::from_le_bytes(*word)).to_le_bytes());
    }
    unshuffle(element, &room[..whole], &mut dst[..whole]);
    dst.iter_mut().zip(src).skip(whole).for_each(|(d, s)| *d = *s);
}

/// Eight bytes as a square of bits, rows and columns exchanged.
#[inline(always)]
fn turn(x: u64) -> u64 {
    let swap = |x: u64, by: u32, mask: u64| {
        let t = (x ^ (x >> by)) & mask;
        x ^ t ^ (t << by)
    };
    swap(swap(swap(x, 7, 0x00aa_00aa_00aa_00aa), 14, 0x0000_cccc_0000_cccc), 28, 0x0000_0000_f0f0_f0f0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;

    fn stage(json: &str) -> StageRef {
        stage_v2("shuffle", json, DataType::UInt8)
    }

    #[test]
    fn shuffle_gathers_the_bytes_of_equal_rank() {
        let s = stage("{}");
        assert_eq!(encoded(&s, &[1, 2, 3, 4, 5, 6, 7, 8]), [1, 5, 2, 6, 3, 7, 4, 8]);
        assert_eq!(s.encode(&[1, 2, 3], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Unsupported);
        for size in [0, 1, 2, 3, 8, 16] {
            let s = stage(&format!(r#"{{"elementsize": {size}}}"#));
            round_trips(&*s, &[0, 48, 4800]);
        }
        round_trips(&*doc_stage(include_str!("shuffle.rs")), &[0, 4, 4096, 1 << 20]);
        let netcdf = stage_v2("shuffle", r#"{"elementsize": 0}"#, DataType::Int64);
        assert_eq!(encoded(&netcdf, &sample(64)), encoded(&stage(r#"{"elementsize": 8}"#), &sample(64)));
        let v3 = stage_v3("numcodecs.shuffle", &config_of("{}"), ElementType::native(DataType::Float64)).unwrap();
        assert_eq!(encoded(&v3, &sample(64)), encoded(&stage(r#"{"elementsize": 8}"#), &sample(64)));
    }

    #[test]
    fn configurations_and_sizes_are_checked() {
        let e = crate::codec::parse::build_v2("shuffle", &config_of(r#"{"elementsize": -1}"#), BYTES).err().unwrap();
        assert_eq!(e.field(), Some("elementsize"));
        refuses_wrong_sizes(&*stage("{}"));
    }

    fn sample(n: usize) -> Vec<u8> {
        (0..n).map(|i| (i * i / 3 + i / 256) as u8).collect()
    }

    #[test]
    fn bytes_go_where_the_definition_says_and_come_back() {
        for element in [1, 2, 3, 4, 5, 8, 12, 16, 17, 40] {
            for n in [0, 1, 15, 16, 17, 31, 32, 33, 64, 100, 1000] {
                for tail in [0, element - 1] {
                    let src = sample(n * element + tail);
                    let mut out = vec![0; src.len()];
                    shuffle(element, &src, &mut out);
                    for i in 0..n {
                        for b in 0..element {
                            assert_eq!(out[b * n + i], src[i * element + b], "{element} {n}");
                        }
                    }
                    assert_eq!(out[n * element..], src[n * element..]);
                    let mut back = vec![0; src.len()];
                    unshuffle(element, &out, &mut back);
                    assert!(back == src, "{element} {n}");
                }
            }
        }
    }

    #[test]
    fn narrow_registers_agree_with_wide_ones() {
        let src = sample(16 * 1003);
        for forward in [true, false] {
            macro_rules! agree {
                ($($n:literal, $log:literal;)*) => { $({
                    let (mut wide, mut thin) = (vec![0; src.len()], vec![0; src.len()]);
                    if forward { shuffle($n, &src, &mut wide) } else { unshuffle($n, &src, &mut wide) }
                    let done = if forward { narrow::shuffle::<$n>(&src, &mut thin) } else { narrow::unshuffle::<$n, $log>(&src, &mut thin) };
                    assert!(done > 900);
                    scalars($n, &src, &mut thin, forward, done);
                    assert!(wide == thin, "{} {forward}", $n);
                })* };
            }
            agree!(2, 1; 4, 2; 8, 3; 16, 4;);
        }
    }

    #[test]
    fn bits_come_from_where_the_definition_says() {
        for element in [1, 2, 3, 4, 8, 17] {
            for n in [8, 16, 64, 1000] {
                for tail in [0, element - 1] {
                    let data = sample(n * element + tail);
                    let mut src = data.clone();
                    src[..n * element].fill(0);
                    for i in 0..n {
                        for bit in 0..element * 8 {
                            src[bit * (n / 8) + i / 8] |= (data[i * element + bit / 8] >> (bit % 8) & 1) << (i % 8);
                        }
                    }
                    let (mut room, mut out) = (vec![0; src.len()], vec![0; src.len()]);
                    unshuffle_bits(element, &src, &mut room, &mut out);
                    assert!(out == data, "{element} {n} {tail}");
                }
            }
        }
        let odd = sample(7 * 4);
        let (mut room, mut out) = (vec![0; 28], vec![0; 28]);
        unshuffle_bits(4, &odd, &mut room, &mut out);
        assert_eq!(out, odd);
    }
}
