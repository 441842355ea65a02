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
        if let Some((distance, size)) = apart(tolerance, wide(part(of_a), u), wide(part(of_b), v)) {
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

impl Tolerance {
    /// Returns the largest distance that it allows two integers, the larger one of that size.
    fn between_integers(self, size: u128) -> i128 {
        let large = size as f64;
        let share = self.relative * large;
        if self.absolute + share > 1e35 {
            return i128::MAX;
        }
        // What the double of a large size, and its product, have no digits for.
        let rest =
            if size < WHOLE { 0.0 } else { self.relative.mul_add(large, -share) + self.relative * (size as i128 - large as i128) as f64 };
        let fraction = (self.absolute.fract() + share.fract() + rest).floor();
        self.absolute as i128 + share as i128 + fraction as i128
    }
}

/// Up to this one a double has room for all integers.
const WHOLE: u128 = 1 << 53;

/// How far two numbers are from one another, and the size of the larger one: infinite where only one is NaN, or one is infinite; `None` where the tolerance
/// allows that.
fn apart(tolerance: Tolerance, x: Wide, y: Wide) -> Option<(f64, f64)> {
    match (x, y) {
        (Wide::Integer(x), Wide::Integer(y)) => {
            let (distance, size) = ((x - y).unsigned_abs(), x.unsigned_abs().max(y.unsigned_abs()));
            (distance > 0 && distance as i128 > tolerance.between_integers(size)).then_some((distance as f64, size as f64))
        }
        (Wide::Float(x), Wide::Float(y)) if x.is_nan() && y.is_nan() || x == y => None,
        // An infinite size would allow any distance, and a NaN has no size: such numbers are never near another.
        (Wide::Float(x), Wide::Float(y)) if !(x.is_finite() && y.is_finite()) => Some((f64::INFINITY, f64::INFINITY)),
        (Wide::Float(x), Wide::Float(y)) => {
            let (distance, size) = ((x - y).abs(), x.abs().max(y.abs()));
            (distance > tolerance.absolute + tolerance.relative * size).then_some((distance, size))
        }
        // A float without a fraction that an i128 has room for is compared as exactly as integers are. Beside an integer that a double has no room for, a
        // fraction counts as a whole: no distance becomes smaller.
        (Wide::Integer(i), Wide::Float(y)) if y.abs() < 1e30 && (y.fract() == 0.0 || i.unsigned_abs() > WHOLE) => {
            apart(tolerance, x, Wide::Integer(if i > 0 { y.floor() } else { y.ceil() } as i128))
        }
        (Wide::Integer(x), Wide::Float(_)) => apart(tolerance, Wide::Float(x as f64), y),
        (Wide::Float(_), Wide::Integer(_)) => apart(tolerance, y, x),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_doubles_have_no_room_for_are_not_nearer_than_they_are() {
        const BIG: i64 = 1 << 53;
        let near = |x: i64, y: i64, absolute, relative| {
            let of = |n: i64| (DataType::Int64, n.to_ne_bytes());
            let ((of_x, x), (of_y, y)) = (of(x), of(y));
            let tolerance = Tolerance { absolute, relative };
            let both = [distance(tolerance, (of_x, &x), (of_y, &y), 1), distance(tolerance, (of_y, &y), (of_x, &x), 1)];
            assert_eq!(both[0], both[1]);
            both[0].is_none()
        };
        for (x, y, absolute, relative, expected) in [
            (0, BIG + 1, BIG as f64, 0.0, false),
            (0, BIG, BIG as f64, 0.0, true),
            (1, BIG + 1, BIG as f64, 0.0, true),
            (i64::MIN, 101, 2.0, 1.0, false),
            (i64::MIN, 2, 2.0, 1.0, true),
            (i64::MIN, 3, 2.5, 1.0, false),
            (0, BIG + 1, 0.0, 1.0, true),
            (-1, BIG + 1, 0.0, 1.0, false),
            (0, i64::MAX, 0.0, 1.0, true),
            (-1, i64::MAX, 1.0, 1.0, true),
            (-2, i64::MAX, 1.0, 1.0, false),
            // Half of the larger one is 2^52 + 1.5.
            (BIG / 2 + 1, BIG + 3, 0.0, 0.5, false),
            (BIG / 2 + 2, BIG + 3, 0.0, 0.5, true),
            (i64::MIN, i64::MAX, f64::INFINITY, 0.0, true),
            (i64::MIN, i64::MAX, 0.0, f64::MAX, true),
            // As doubles have it, seven tenths of 100 are 70.
            (30, 100, 0.0, 0.7, true),
            (29, 100, 0.0, 0.7, false),
            (29, 100, 0.5, 0.705, true),
        ] {
            assert_eq!(near(x, y, absolute, relative), expected, "{x} and {y}, {absolute} and {relative}");
        }
        for (x, y, absolute, expected) in
            [(BIG + 1, 0.0, BIG, false), (BIG + 3, 0.5, BIG + 2, false), (BIG + 3, 0.5, BIG + 4, true), (-BIG - 3, -0.5, BIG + 2, false)]
        {
            let tolerance = Tolerance { absolute: absolute as f64, relative: 0.0 };
            let found = distance(tolerance, (DataType::Int64, &x.to_ne_bytes()), (DataType::Float64, &f64::to_ne_bytes(y)), 1);
            assert_eq!(found.is_none(), expected, "{x} and {y}, {absolute}");
        }
    }
}
