//! Figures of numbers: how many, the least, the greatest, the sum, the spread; joined in any number of parts.

use ozarr::dtype::DataType;
use ozarr::node::Value;

/// Which types have figures.
pub const NUMBERS: &str = "real numbers, truth values and times";

/// So many elements are looked at twice while they are in the nearest cache: for the mean, and for the spread around it.
const PIECE: usize = 2048;

/// The type as which a type of numbers is read to be counted; `None` for other types.
pub fn as_number(data_type: DataType) -> Option<DataType> {
    use ozarr::dtype::Kind::*;
    Some(match data_type.kind() {
        Bool => DataType::UInt8,
        Time => data_type,
        Int if data_type.bits() < 8 => DataType::Int8,
        UInt if data_type.bits() < 8 => DataType::UInt8,
        Float if !matches!(data_type, DataType::Float32 | DataType::Float64) => DataType::Float32,
        Int | UInt | Float => data_type,
        _ => return None,
    })
}

/// A number that has figures.
trait Number: Copy + PartialOrd + PartialEq {
    const SIZE: usize;
    fn from_bytes(bytes: &[u8]) -> Self;
    fn double(self) -> f64;
    fn exact(self) -> Exact;
}

/// A value that keeps all digits of an integer.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Exact {
    Integer(i128),
    Float(f64),
    /// Shorter digits than a double's are enough.
    Single(f32),
}

impl Exact {
    fn double(self) -> f64 {
        match self {
            Exact::Integer(n) => n as f64,
            Exact::Float(x) => x,
            Exact::Single(x) => x.into(),
        }
    }

    /// As text; of a float its shortest digits.
    pub fn text(self) -> String {
        match self {
            Exact::Integer(n) => n.to_string(),
            Exact::Float(x) => format!("{x:?}"),
            Exact::Single(x) => format!("{x:?}"),
        }
    }

    fn json(self) -> Value {
        match self {
            Exact::Integer(n) => i64::try_from(n).map(Value::from).or_else(|_| u64::try_from(n).map(Value::from)).unwrap_or_default(),
            Exact::Float(x) => x.into(),
            Exact::Single(x) => f64::from(x).into(),
        }
    }
}

macro_rules! number {
    ($($t:ty, $exact:expr;)*) => {$(
        impl Number for $t {
            const SIZE: usize = size_of::<$t>();
            fn from_bytes(bytes: &[u8]) -> $t {
                let mut own = [0; size_of::<$t>()];
                own.copy_from_slice(bytes);
                <$t>::from_ne_bytes(own)
            }
            #[allow(clippy::cast_lossless)]
            fn double(self) -> f64 {
                self as f64
            }
            fn exact(self) -> Exact {
                $exact(self.into())
            }
        }
    )*};
}
number! { i8, Exact::Integer; i16, Exact::Integer; i32, Exact::Integer; i64, Exact::Integer; u8, Exact::Integer; u16, Exact::Integer;
u32, Exact::Integer; u64, Exact::Integer; f32, Exact::Single; f64, Exact::Float; }

/// Calls `$f::<T>($arguments)` with the type of numbers `T` of a data type that [`as_number`] gives.
macro_rules! with_type {
    ($data_type:expr, $f:ident, $($argument:expr),*) => {
        match $data_type {
            DataType::Int8 => $f::<i8>($($argument),*),
            DataType::Int16 => $f::<i16>($($argument),*),
            DataType::Int32 => $f::<i32>($($argument),*),
            DataType::UInt8 => $f::<u8>($($argument),*),
            DataType::UInt16 => $f::<u16>($($argument),*),
            DataType::UInt32 => $f::<u32>($($argument),*),
            DataType::UInt64 => $f::<u64>($($argument),*),
            DataType::Float32 => $f::<f32>($($argument),*),
            DataType::Float64 => $f::<f64>($($argument),*),
            // Counts of 64 bits: times, too.
            _ => $f::<i64>($($argument),*),
        }
    };
}

/// The figures.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    /// All elements.
    pub elements: u64,
    pub missing: u64,
    pub nan: u64,
    pub infinite: u64,
    /// Those that are left.
    count: u64,
    least: Option<Exact>,
    greatest: Option<Exact>,
    mean: f64,
    /// What the mean is more than the double nearest to it: values may differ by less than a mean is rounded.
    rest: f64,
    /// The sum of the squares of the distances from the mean.
    spread: f64,
    /// The sum of integers, which gives their mean exactly.
    sum: Option<i128>,
}

impl Moments {
    /// Of elements in native order; `missing` are the bytes of those that do not count.
    pub fn of(data_type: DataType, bytes: &[u8], missing: &[Vec<u8>]) -> Moments {
        with_type!(data_type, figures, bytes, missing)
    }

    /// Joins the figures of other elements.
    pub fn add(&mut self, other: &Moments) {
        self.elements += other.elements;
        self.missing += other.missing;
        self.nan += other.nan;
        self.infinite += other.infinite;
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            (self.count, self.mean, self.rest) = (other.count, other.mean, other.rest);
            (self.spread, self.sum) = (other.spread, other.sum);
            (self.least, self.greatest) = (other.least, other.greatest);
            return;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let apart = (other.mean - self.mean) + (other.rest - self.rest);
        (self.mean, self.rest) = exact_sum(self.mean, self.rest + apart * (m / (n + m)));
        self.spread += other.spread + apart * apart * (n * m / (n + m));
        self.count += other.count;
        self.sum = self.sum.zip(other.sum).and_then(|(a, b)| a.checked_add(b));
        let smaller = |a: &Exact, b: &Exact| a < b;
        self.least = self.least.zip(other.least).map(|(a, b)| if smaller(&b, &a) { b } else { a });
        self.greatest = self.greatest.zip(other.greatest).map(|(a, b)| if smaller(&a, &b) { b } else { a });
    }

    /// The least and the greatest value, if there are any.
    pub fn range(&self) -> Option<(f64, f64)> {
        self.least.zip(self.greatest).map(|(a, b)| (a.double(), b.double()))
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.map_or(self.mean, |sum| sum as f64 / self.count as f64))
    }

    /// Of all elements, not of a sample of them.
    fn deviation(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.spread / self.count as f64).sqrt())
    }

    /// The members in JSON.
    pub fn members(&self) -> Vec<(&'static str, Value)> {
        let finite = |x: Option<f64>| x.filter(|x| x.is_finite()).map_or(Value::Null, Value::from);
        vec![
            ("elements", self.elements.into()),
            ("missing", self.missing.into()),
            ("nan", self.nan.into()),
            ("infinite", self.infinite.into()),
            ("min", self.least.map_or(Value::Null, Exact::json)),
            ("max", self.greatest.map_or(Value::Null, Exact::json)),
            ("mean", finite(self.mean())),
            ("std", finite(self.deviation())),
        ]
    }

    /// The rows of a table.
    pub fn text(&self) -> String {
        let number = |x: Option<f64>| x.map_or("-".into(), plain);
        let exact = |x: Option<Exact>| x.map_or("-".into(), Exact::text);
        let rows = [
            ("elements", self.elements.to_string()),
            ("missing", self.missing.to_string()),
            ("NaN", self.nan.to_string()),
            ("infinite", self.infinite.to_string()),
            ("min", exact(self.least)),
            ("max", exact(self.greatest)),
            ("mean", number(self.mean())),
            ("std", number(self.deviation())),
        ];
        rows.iter().map(|(name, value)| format!("{name:16}{value}\n")).collect()
    }

    /// A line.
    pub fn short(&self) -> String {
        let mut text = match (self.least, self.greatest, self.mean()) {
            (Some(least), Some(greatest), Some(mean)) => format!("{} .. {}, mean {}", least.text(), greatest.text(), plain(mean)),
            _ => "no values".into(),
        };
        for (n, what) in [(self.missing, "missing"), (self.nan, "NaN"), (self.infinite, "infinite")] {
            if n > 0 {
                text.push_str(&format!(", {n} {what}"));
            }
        }
        text
    }
}

/// A double in its shortest digits: with a power of ten where it is very large or small, a whole one without a point.
fn plain(x: f64) -> String {
    let short = format!("{x:?}");
    if short.contains('e') { short } else { x.to_string() }
}

/// Calls `each` with pieces of the values that count; gives how many are missing, NaN and infinite.
fn values<T: Number>(bytes: &[u8], missing: &[Vec<u8>], mut each: impl FnMut(&[T])) -> (u64, u64, u64) {
    let missing: Vec<T> = missing.iter().filter(|b| b.len() == T::SIZE).map(|b| T::from_bytes(b)).collect();
    let is_missing_nan = missing.iter().any(|m| m.double().is_nan());
    let (mut gone, mut nan, mut infinite) = (0, 0, 0);
    let mut piece = Vec::with_capacity(PIECE);
    for part in bytes.chunks(PIECE * T::SIZE) {
        piece.clear();
        piece.extend(part.chunks_exact(T::SIZE).map(T::from_bytes));
        // Most pieces have nothing to leave out: one look at them is cheap.
        if piece.iter().any(|x: &T| !x.double().is_finite()) || !missing.is_empty() {
            piece.retain(|x| {
                let wide = x.double();
                let is_gone = missing.contains(x) || (is_missing_nan && wide.is_nan());
                gone += u64::from(is_gone);
                nan += u64::from(wide.is_nan() && !is_gone);
                infinite += u64::from(wide.is_infinite() && !is_gone);
                !is_gone && wide.is_finite()
            });
        }
        if !piece.is_empty() {
            each(&piece);
        }
    }
    (gone, nan, infinite)
}

fn figures<T: Number>(bytes: &[u8], missing: &[Vec<u8>]) -> Moments {
    let mut all = Moments { elements: (bytes.len() / T::SIZE) as u64, ..Moments::default() };
    let found = values::<T>(bytes, missing, |piece| {
        let (mut least, mut greatest) = (piece[0], piece[0]);
        for &x in piece {
            least = if x < least { x } else { least };
            greatest = if x > greatest { x } else { greatest };
        }
        // Eight sums at once keep the adder busy; of so few integers the sum is exact in 64 bits only where they are small.
        let total = eight(piece, |x| x.double());
        let mean = total / piece.len() as f64;
        // The mean is rounded: how far the values are from it, on average, is what it lacks.
        let rest = eight(piece, |x| x.double() - mean) / piece.len() as f64;
        let spread = eight(piece, |x| (x.double() - mean) * (x.double() - mean)) - rest * rest * piece.len() as f64;
        let spread = if spread < 0.0 { 0.0 } else { spread };
        let sum = match least.exact() {
            Exact::Integer(_) => Some(piece.iter().fold(0, |n: i128, x| if let Exact::Integer(x) = x.exact() { n + x } else { n })),
            _ => None,
        };
        let (least, greatest) = (Some(least.exact()), Some(greatest.exact()));
        all.add(&Moments { count: piece.len() as u64, least, greatest, mean, rest, spread, sum, ..Moments::default() });
    });
    (all.missing, all.nan, all.infinite) = found;
    all
}

/// A sum, and what it lacks because it is rounded.
fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    let rest = (a - (sum - from_b)) + (b - from_b);
    if sum.is_finite() { (sum, rest) } else { (sum, 0.0) }
}

/// A sum in eight parts.
fn eight<T: Copy>(piece: &[T], f: impl Fn(T) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let (whole, rest) = piece.as_chunks::<8>();
    for part in whole {
        for (sum, x) in sums.iter_mut().zip(part) {
            *sum += f(*x);
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|x| f(*x)).sum::<f64>()
}

/// How many values are in each of the equal parts of a range; the greatest value is in the last part.
#[derive(Clone)]
pub struct Bins {
    least: f64,
    greatest: f64,
    counts: Vec<u64>,
}

impl Bins {
    /// With `n` parts that are empty.
    pub fn new(least: f64, greatest: f64, n: usize) -> Bins {
        Bins { least, greatest, counts: vec![0; n] }
    }

    /// Counts the values among elements.
    pub fn count(mut self, data_type: DataType, bytes: &[u8], missing: &[Vec<u8>]) -> Bins {
        with_type!(data_type, count_in, bytes, missing, &mut self);
        self
    }

    /// Joins the counts of other elements.
    pub fn add(&mut self, other: &Bins) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
    }

    /// Where a part begins.
    fn edge(&self, i: usize) -> f64 {
        let share = i as f64 / self.counts.len() as f64;
        self.least * (1.0 - share) + self.greatest * share
    }

    /// The edges, one more than there are parts, and the counts.
    pub fn json(&self) -> Value {
        let edges: Vec<Value> = (0..=self.counts.len()).map(|i| self.edge(i).into()).collect();
        crate::output::object([("edges", Value::from(edges)), ("counts", self.counts.clone().into())])
    }

    /// A line with a bar for each part.
    pub fn text(&self) -> String {
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let bar = |n: u64| "█".repeat((n as f64 / most as f64 * 40.0).ceil() as usize);
        let row = |(i, &n): (usize, &u64)| format!("{:>12} .. {:<12} {n:>12} {}\n", short(self.edge(i)), short(self.edge(i + 1)), bar(n));
        self.counts.iter().enumerate().map(row).collect()
    }
}

/// A number in few digits.
fn short(x: f64) -> String {
    let text = format!("{x:.5e}");
    text.parse::<f64>().map_or(text, |x| if x == 0.0 || (1e-4..1e7).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") })
}

fn count_in<T: Number>(bytes: &[u8], missing: &[Vec<u8>], bins: &mut Bins) {
    let (n, least) = (bins.counts.len(), bins.least);
    // Halves, for the whole may be more than the greatest double.
    let width = bins.greatest / 2.0 - least / 2.0;
    let mut counts = std::mem::take(&mut bins.counts);
    values::<T>(bytes, missing, |piece| {
        for x in piece {
            let share = if width > 0.0 { (x.double() / 2.0 - least / 2.0) / width } else { 0.0 };
            // The last part, and nothing behind it, for the greatest.
            counts[((share * n as f64) as usize).min(n - 1)] += 1;
        }
    });
    bins.counts = counts;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubles(all: &[f64]) -> Vec<u8> {
        all.iter().flat_map(|x| x.to_ne_bytes()).collect()
    }

    #[test]
    fn figures_do_not_depend_on_where_elements_are_cut() {
        // At 1e15 neighbours are 0.125 apart: a mean is rounded by as much as the values differ.
        for (origin, scale) in [(1e9, 1.0), (1e15, 0.125), (-1e15, 0.125)] {
            let values: Vec<f64> = (0..10_000).map(|i| origin + f64::from(i % 7) * scale).collect();
            let whole = Moments::of(DataType::Float64, &doubles(&values), &[]);
            let mut parts = Moments::default();
            values.chunks(333).for_each(|part| parts.add(&Moments::of(DataType::Float64, &doubles(part), &[])));
            let exact = {
                let mean = values.iter().map(|x| x - origin).sum::<f64>() / 1e4;
                (values.iter().map(|x| (x - origin - mean).powi(2)).sum::<f64>() / 1e4).sqrt()
            };
            for found in [&whole, &parts] {
                assert!((found.deviation().unwrap() / exact - 1.0).abs() < 1e-9, "{found:?}");
                assert_eq!((found.range(), found.elements), (Some((origin, origin + 6.0 * scale)), 10_000));
            }
        }
    }

    #[test]
    fn what_has_no_value_does_not_count() {
        let bytes = doubles(&[f64::NAN, 1.0, -9.0, f64::INFINITY, 3.0, f64::NEG_INFINITY]);
        let found = Moments::of(DataType::Float64, &bytes, &[(-9.0f64).to_ne_bytes().into()]);
        assert_eq!((found.missing, found.nan, found.infinite, found.mean()), (1, 1, 2, Some(2.0)));
        let found = Moments::of(DataType::Float64, &bytes, &[f64::NAN.to_ne_bytes().into()]);
        assert_eq!((found.missing, found.nan, found.range()), (1, 0, Some((-9.0, 3.0))));
        let none = Moments::of(DataType::Int16, &[], &[]);
        assert!(none.range().is_none() && none.short() == "no values" && none.text().contains("min             -\n"));
    }

    #[test]
    fn large_and_small_figures_are_short() {
        for (values, mean) in [([1.5e308, 1.5e-308], "7.5e307"), ([2e-300, 4e-300], "3e-300"), ([1.0, 3.0], "2"), ([0.0, 0.5], "0.25")] {
            let found = Moments::of(DataType::Float64, &doubles(&values), &[]);
            assert!(found.text().contains(&format!("mean            {mean}\n")), "{}", found.text());
            assert!(found.short().ends_with(&format!(", mean {mean}")), "{}", found.short());
        }
    }

    #[test]
    fn integers_are_exact() {
        let bytes: Vec<u8> = [i64::MAX, i64::MAX - 1, i64::MIN].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let text = Moments::of(DataType::Int64, &bytes, &[]).text();
        assert!(
            text.contains("max             9223372036854775807\n") && text.contains("min             -9223372036854775808\n"),
            "{text}"
        );
        let found = Moments::of(DataType::UInt64, &u64::MAX.to_ne_bytes(), &[]);
        assert_eq!(found.least.unwrap().json(), Value::from(u64::MAX));
    }

    #[test]
    fn the_greatest_value_is_in_the_last_part() {
        let bytes = doubles(&[0.0, 0.9, 1.0, 5.0, 9.99, 10.0, f64::NAN]);
        let bins = Bins::new(0.0, 10.0, 10).count(DataType::Float64, &bytes, &[]);
        assert_eq!(bins.counts, [2, 1, 0, 0, 0, 1, 0, 0, 0, 2]);
        let one = Bins::new(f64::MIN, f64::MAX, 2).count(DataType::Float64, &doubles(&[f64::MIN, f64::MAX]), &[]);
        assert_eq!(one.counts, [1, 1]);
        assert_eq!(Bins::new(3.0, 3.0, 2).count(DataType::UInt8, &[3, 3], &[]).counts, [2, 0]);
    }
}
