//! `ozarr stats`: least, greatest and mean value, deviation, and what is missing.

use crate::failure::{Failure, Outcome};
use crate::output::{line, object, print, progress};
use crate::place::Place;
use crate::region::Region;
use clap::Args;
use ozarr::analysis::Exact;
use ozarr::analysis::moments::{Bins, Moments};
use ozarr::analysis::statistics::Numbers;
use ozarr::dtype::coding::Rule;
use ozarr::engine::Selection;
use ozarr::error::{Error, ErrorKind};
use ozarr::node::{Array, Mode, Value, json};

/// Tell of an array of numbers its least, greatest and mean value, the standard deviation, and how many elements are missing
///
/// Missing are those that the attributes _FillValue and missing_value say (in Zarr 2 the fill value, too), and times that are "not a
/// time". They, NaN and infinities do not count for the other figures. Integers are exact. Times are counts, and packed
/// elements (scale_factor, add_offset, _Unsigned) the numbers that are stored, which a line says.
#[derive(Args)]
pub struct Stats {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    region: Region,
    /// How many elements are in each of N equal parts between the least and the greatest value (reads twice)
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10", value_parser = clap::value_parser!(u16).range(1..))]
    histogram: Option<u16>,
    /// A line for each chunk
    #[arg(long)]
    map: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub fn run(&self) -> Outcome {
        let array = self.place.array(Mode::Read)?;
        let selection = self.region.selection(&array.shape(), None)?;
        let numbers = Numbers::new(&array, selection, self.map).map_err(|e| match e.kind() {
            ErrorKind::Type => Failure::from(e).of(&self.place.name()),
            _ => e.into(),
        })?;
        let passes = 1 + u64::from(self.histogram.is_some());
        let bar = progress(numbers.bytes().saturating_mul(passes), None, true);
        let told = |bytes: u64| bar.told(bytes);
        let (mut chunks, mut printed) = (Vec::new(), Ok(()));
        let all = numbers.moments(&told, |block, found| {
            if self.map && self.json {
                chunks.push(object([("chunk", chunk_of(&array, block).into())].into_iter().chain(members(found))));
            } else if self.map {
                printed = bar.above(|| line(&format!("{:?}  {}", chunk_of(&array, block), short(found))));
            }
            // Nobody reads the rest of what cannot be printed.
            if printed.is_ok() { Ok(()) } else { Err(Error::new(ErrorKind::Cancelled, "standard output failed")) }
        });
        printed?;
        let all = all?;
        let empty = self.histogram.zip(all.least.zip(all.greatest)).map(|(n, (least, greatest))| Bins::new(least, greatest, n.into()));
        let bins = empty.map(|empty| numbers.bins(empty, &told)).transpose()?;
        bar.finish_and_clear();
        if self.json {
            let more = bins.map(|bins| ("histogram", bins_json(&bins)));
            let chunks = self.map.then_some(("map", Value::Array(chunks.into())));
            let packed = packing(&array).map(|_| ("packed", true.into()));
            return line(&json::to_text(&object(members(&all).into_iter().chain(packed).chain(more).chain(chunks))));
        }
        let packed = packing(&array).map(|by| format!("{:16}{by}: the figures are of the stored numbers\n", "packed"));
        print(&format!("{}{}{}", packed.unwrap_or_default(), rows(&all), bins.map(|bins| bins_text(&bins)).unwrap_or_default()))
    }
}

/// By which attributes the stored numbers mean others, if they do.
pub fn packing(array: &Array) -> Option<String> {
    let coding = array.packing().ok()?;
    let Rule::Scale { scale, offset } = coding.rule else { return None };
    let numbers = [("scale_factor", scale, 1.0), ("add_offset", offset, 0.0)];
    let numbers = numbers.into_iter().filter(|(_, is, plain)| is != plain).map(|(name, is, _)| format!("{name} {}", plain(is)));
    let by: Vec<String> = numbers.chain(coding.other_sign.then(|| "_Unsigned".to_string())).collect();
    (!by.is_empty()).then(|| by.join(", "))
}

/// The index of the chunk in which a selection begins.
fn chunk_of(array: &Array, selection: &Selection) -> Vec<u64> {
    let grid = array.grid();
    selection.start().iter().enumerate().map(|(d, &i)| grid.chunk_of(d, i)).collect()
}

/// The members in JSON.
fn members(found: &Moments) -> Vec<(&'static str, Value)> {
    let finite = |x: Option<f64>| x.filter(|x| x.is_finite()).map_or(Value::Null, Value::from);
    vec![
        ("elements", found.elements.into()),
        ("missing", found.missing.into()),
        ("nan", found.nan.into()),
        ("infinite", found.infinite.into()),
        ("min", found.least.map_or(Value::Null, exact_json)),
        ("max", found.greatest.map_or(Value::Null, exact_json)),
        ("mean", finite(found.mean())),
        ("std", finite(found.deviation())),
    ]
}

/// The rows of a table.
fn rows(found: &Moments) -> String {
    let number = |x: Option<f64>| x.map_or("-".into(), plain);
    let exact = |x: Option<Exact>| x.map_or("-".into(), exact_text);
    let rows = [
        ("elements", found.elements.to_string()),
        ("missing", found.missing.to_string()),
        ("NaN", found.nan.to_string()),
        ("infinite", found.infinite.to_string()),
        ("min", exact(found.least)),
        ("max", exact(found.greatest)),
        ("mean", number(found.mean())),
        ("std", number(found.deviation())),
    ];
    rows.iter().map(|(name, value)| format!("{name:16}{value}\n")).collect()
}

/// A line.
fn short(found: &Moments) -> String {
    let mut text = match (found.least, found.greatest, found.mean()) {
        (Some(least), Some(greatest), Some(mean)) => format!("{} .. {}, mean {}", exact_text(least), exact_text(greatest), plain(mean)),
        _ => "no values".into(),
    };
    for (n, what) in [(found.missing, "missing"), (found.nan, "NaN"), (found.infinite, "infinite")] {
        if n > 0 {
            text.push_str(&format!(", {n} {what}"));
        }
    }
    text
}

/// A number as text; of a float its shortest digits.
fn exact_text(number: Exact) -> String {
    match number {
        Exact::Integer(n) => n.to_string(),
        Exact::Float(x) => format!("{x:?}"),
        Exact::Single(x) => format!("{x:?}"),
    }
}

fn exact_json(number: Exact) -> Value {
    match number {
        Exact::Integer(n) => i64::try_from(n).map(Value::from).or_else(|_| u64::try_from(n).map(Value::from)).unwrap_or_default(),
        Exact::Float(x) => x.into(),
        Exact::Single(x) => f64::from(x).into(),
    }
}

/// A double in its shortest digits: with a power of ten where it is very large or small, a whole one without a point.
fn plain(x: f64) -> String {
    let short = format!("{x:?}");
    if short.contains('e') { short } else { x.to_string() }
}

/// The edges of the parts, one more than there are parts, and the counts.
fn bins_json(bins: &Bins) -> Value {
    let edges: Vec<Value> = (0..=bins.counts.len()).map(|i| exact_json(bins.edge(i))).collect();
    object([("edges", Value::from(edges)), ("counts", bins.counts.clone().into())])
}

/// A line with a bar for each part.
fn bins_text(bins: &Bins) -> String {
    let most = bins.counts.iter().copied().max().unwrap_or(0).max(1);
    let bar = |n: u64| "█".repeat((n as f64 / most as f64 * 40.0).ceil() as usize);
    let edge = |i| match bins.edge(i) {
        Exact::Integer(n) => n.to_string(),
        x => few_digits(x.double()),
    };
    let row = |(i, &n): (usize, &u64)| format!("{:>12} .. {:<12} {n:>12} {}\n", edge(i), edge(i + 1), bar(n));
    bins.counts.iter().enumerate().map(row).collect()
}

/// A number in few digits.
fn few_digits(x: f64) -> String {
    let text = format!("{x:.5e}");
    text.parse::<f64>().map_or(text, |x| if x == 0.0 || (1e-4..1e7).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ozarr::dtype::DataType;

    #[test]
    fn large_and_small_figures_are_short() {
        for (values, mean) in [([1.5e308, 1.5e-308], "7.5e307"), ([2e-300, 4e-300], "3e-300"), ([1.0, 3.0], "2"), ([0.0, 0.5], "0.25")] {
            let bytes: Vec<u8> = values.iter().flat_map(|x: &f64| x.to_ne_bytes()).collect();
            let found = Moments::of(DataType::Float64, &bytes, &[]);
            assert!(rows(&found).contains(&format!("mean            {mean}\n")), "{}", rows(&found));
            assert!(short(&found).ends_with(&format!(", mean {mean}")), "{}", short(&found));
        }
    }

    #[test]
    fn integers_have_all_digits_and_nothing_has_none() {
        let bytes: Vec<u8> = [i64::MAX, i64::MIN].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let text = rows(&Moments::of(DataType::Int64, &bytes, &[]));
        assert!(text.contains("max             9223372036854775807\nmean"), "{text}");
        assert!(text.contains("min             -9223372036854775808\n"), "{text}");
        assert_eq!(exact_json(Exact::Integer(u64::MAX.into())), Value::from(u64::MAX));
        let none = Moments::of(DataType::Int16, &[], &[]);
        assert!(short(&none) == "no values" && rows(&none).contains("min             -\n"));
    }
}
