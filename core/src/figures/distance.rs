//! How far two numbers of any types are from one another.

use crate::dtype::{DataType, Kind};
use crate::error::Result;

/// Numbers that differ by no more than `absolute + relative * size`, of which `size` is that of the larger one, are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tolerance {
    /// A distance.
    pub absolute: f64,
    /// A share of the larger number.
    pub relative: f64,
}

/// By how much two elements of `parts` numbers differ, and by which share of the larger number; `None` if no number is further from the other element's
/// than the tolerance allows.
pub fn distance(tolerance: Tolerance, (of_a, x): (DataType, &[u8]), (of_b, y): (DataType, &[u8]), parts: usize) -> Option<(f64, f64)> {
    let mut found: Option<(f64, f64)> = None;
    let part = |data_type: DataType| if parts == 2 { data_type.part().unwrap_or(data_type) } else { data_type };
    for (u, v) in x.chunks_exact(x.len() / parts).zip(y.chunks_exact(y.len() / parts)) {
        let (distance, size) = apart(wide(part(of_a), u), wide(part(of_b), v));
        // An infinite size would allow any distance, and a NaN has no size: such numbers are never near another.
        let is_near = size.is_finite() && distance <= tolerance.absolute + tolerance.relative * size;
        if distance > 0.0 && !is_near {
            let (absolute, relative) = found.unwrap_or_default();
            let share = if size.is_finite() { distance / size } else { f64::INFINITY };
            found = Some((absolute.max(distance), relative.max(share)));
        }
    }
    found
}

/// Gets the index and the bytes of two elements.
pub type Each<'a> = dyn FnMut(usize, &[u8], &[u8]) -> Result<()> + 'a;

/// Calls `each` with the index and the bytes of every two elements of two lists that may differ: of `a.1` and of `b.1` bytes, of one type if `same`.
pub fn each_differing(a: (&[u8], usize), b: (&[u8], usize), same: bool, each: &mut Each<'_>) -> Result<()> {
    let pairs = a.0.chunks_exact(a.1.max(1)).zip(b.0.chunks_exact(b.1.max(1))).enumerate();
    pairs.filter(|(_, (x, y))| !same || x != y).try_for_each(|(i, (x, y))| each(i, x, y))
}

/// How far two numbers are from one another, and the size of the larger one: infinite where only one is NaN, or one is infinite.
fn apart(x: Wide, y: Wide) -> (f64, f64) {
    match (x, y) {
        (Wide::Integer(x), Wide::Integer(y)) => ((x - y).unsigned_abs() as f64, x.unsigned_abs().max(y.unsigned_abs()) as f64),
        (Wide::Float(x), Wide::Float(y)) if x.is_nan() && y.is_nan() || x == y => (0.0, 0.0),
        (Wide::Float(x), Wide::Float(y)) if x.is_nan() || y.is_nan() => (f64::INFINITY, f64::INFINITY),
        (Wide::Float(x), Wide::Float(y)) => ((x - y).abs(), x.abs().max(y.abs())),
        // A float without a fraction that an i128 has room for is compared as exactly as integers are.
        (Wide::Integer(_), Wide::Float(y)) if y.fract() == 0.0 && y.abs() < 1e30 => apart(x, Wide::Integer(y as i128)),
        (Wide::Integer(x), Wide::Float(_)) => apart(Wide::Float(x as f64), y),
        (Wide::Float(_), Wide::Integer(_)) => apart(y, x),
    }
}

/// A number of any type.
#[derive(Clone, Copy)]
enum Wide {
    Integer(i128),
    Float(f64),
}

fn wide(data_type: DataType, bytes: &[u8]) -> Wide {
    match data_type {
        DataType::Float32 => Wide::Float(f32::from_ne_bytes(bytes.try_into().unwrap_or_default()).into()),
        DataType::Float64 => Wide::Float(f64::from_ne_bytes(bytes.try_into().unwrap_or_default())),
        // "Not a time" is to times what NaN is to numbers.
        _ if data_type.kind() == Kind::Time && bytes == i64::MIN.to_ne_bytes() => Wide::Float(f64::NAN),
        _ => {
            let negative = data_type.kind() != Kind::UInt && bytes.last().is_some_and(|b| b >> 7 == 1);
            let mut all = [if negative { 255 } else { 0 }; 16];
            all[..bytes.len().min(16)].copy_from_slice(&bytes[..bytes.len().min(16)]);
            Wide::Integer(i128::from_le_bytes(all))
        }
    }
}
