//! What `ozarr tune` tries: accesses, chunk shapes made of them, and codecs.

use crate::failure::{Failure, Outcome};
use crate::list::List;
use ozarr::engine::Selection;
use ozarr::node::Spec;

/// The sizes of chunks, in bytes.
const TARGETS: [u64; 3] = [1 << 20, 256 << 10, 4 << 20];

/// A way in which an array is read: boxes of one shape at any place.
pub struct Access {
    pub name: String,
    /// The box's lengths.
    pub extents: Vec<u64>,
}

impl Access {
    /// Reads an access of an array of that shape, whose dimensions have these names.
    pub fn parse(text: &str, shape: &[u64], names: &[Option<String>]) -> Outcome<Access> {
        let rank = shape.len();
        let dim = |name: &str| {
            let numbered = name.parse().ok().filter(|&d: &usize| d < rank);
            names.iter().position(|n| n.as_deref() == Some(name)).or(numbered)
        };
        let along = |d: usize| (0..rank).map(|e| if e == d { shape[e] } else { 1 }).collect::<Vec<_>>();
        let wrong = |why: &str| {
            let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
            Failure::Usage(format!(
                "--access {text}: {why}; expected whole, plane, series, series=DIM, a dimension ({}) or box=N,M,..",
                if known.is_empty() { format!("0 to {}", rank - 1) } else { known.join(", ") }
            ))
        };
        let extents = match text.split_once('=') {
            None if text == "whole" => shape.to_vec(),
            None if text == "plane" => (0..rank).map(|d| if d + 2 < rank { 1 } else { shape[d] }).collect(),
            None if text == "series" => along(0),
            Some(("series", name)) => along(dim(name).ok_or_else(|| wrong("there is no such dimension"))?),
            Some(("box", lengths)) => {
                let List(lengths) = lengths.parse().map_err(|why: String| wrong(&why))?;
                if lengths.len() != rank || lengths.iter().any(|&n| n < 1) {
                    return Err(wrong(&format!("the box needs {rank} lengths of at least 1")));
                }
                lengths.iter().zip(shape).map(|(&n, &all)| (n as u64).min(all)).collect()
            }
            _ => {
                let d = dim(text).ok_or_else(|| wrong("it is not understood"))?;
                (0..rank).map(|e| if e == d { 1 } else { shape[e] }).collect()
            }
        };
        Ok(Access { name: text.into(), extents })
    }

    /// The box at the n-th of some places in a part of the array of that shape.
    pub fn at(&self, shape: &[u64], n: u64, places: u64) -> Outcome<Selection> {
        let count: Vec<i64> = self.extents.iter().zip(shape).map(|(&e, &all)| e.min(all) as i64).collect();
        // Places that are apart in each dimension, in another order in each.
        let start = |d: usize| {
            let room = shape[d] - count[d] as u64;
            let step = (n * (d as u64 + 1) + d as u64) % places;
            (room as u128 * (2 * u128::from(step) + 1) / (2 * u128::from(places))) as i64
        };
        let start: Vec<i64> = (0..shape.len()).map(start).collect();
        Ok(Selection::new(shape, &start, &count, None)?)
    }
}

/// Chunk shapes for accesses of an array, the first for all together in chunks of about 1 MiB.
pub fn shapes(shape: &[u64], item: u64, accesses: &[Access]) -> Vec<Vec<u64>> {
    let middle: Vec<f64> = (0..shape.len())
        .map(|d| (accesses.iter().map(|a| (a.extents[d] as f64).ln()).sum::<f64>() / accesses.len().max(1) as f64).exp())
        .collect();
    let mut kinds = vec![middle];
    kinds.extend(accesses.iter().map(|a| a.extents.iter().map(|&n| n as f64).collect()));
    let mut all: Vec<Vec<u64>> = Vec::new();
    for target in TARGETS {
        for kind in &kinds {
            let fitted = fitted(kind, shape, (target / item.max(1)).max(1));
            if !all.contains(&fitted) {
                all.push(fitted);
            }
        }
    }
    all
}

/// A shape with about that many elements whose lengths have the ratios of `like`, none longer than the array.
fn fitted(like: &[f64], shape: &[u64], elements: u64) -> Vec<u64> {
    let at = |scale: f64| -> Vec<u64> { like.iter().zip(shape).map(|(&n, &all)| ((n * scale).round().max(1.0) as u64).min(all)).collect() };
    let count = |lengths: &[u64]| lengths.iter().fold(1u64, |n, &c| n.saturating_mul(c));
    // The largest scale that does not exceed the number, by halving an interval of exponents.
    let (mut low, mut high) = (-64.0f64, 64.0f64);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if count(&at(middle.exp2())) <= elements { low = middle } else { high = middle }
    }
    at(low.exp2())
}

/// A codec that is tried.
#[derive(Clone, Debug, PartialEq)]
pub enum Codec {
    /// The array's own.
    Present,
    /// A compressor and its level; Blosc shuffles bytes first.
    Named(&'static str, Option<i32>),
}

/// The codecs that are tried, the array's own first.
pub fn codecs() -> Vec<Codec> {
    let compressors = [("none", None), ("zstd", Some(1)), ("zstd", Some(5)), ("blosc:lz4", Some(5)), ("blosc:zstd", Some(3))];
    std::iter::once(Codec::Present).chain(compressors.map(|(name, level)| Codec::Named(name, level))).collect()
}

impl Codec {
    /// As it is told, and as `--compressor` takes it.
    pub fn name(&self) -> String {
        match self {
            Codec::Present => "present".into(),
            Codec::Named(name, None) => (*name).into(),
            Codec::Named(name, Some(level)) => format!("{name}:{level}"),
        }
    }

    /// Sets it.
    pub fn apply(&self, spec: &mut Spec) -> Outcome {
        if let Codec::Named(name, level) = self {
            spec.set_compressor(name, *level)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_boxes() {
        let names = [Some("time".to_string()), None, Some("x".to_string())];
        let parse = |text: &str| Access::parse(text, &[10, 20, 30], &names).map(|a| a.extents).ok();
        let cases: &[(&str, Option<[u64; 3]>)] = &[
            ("whole", Some([10, 20, 30])),
            ("plane", Some([1, 20, 30])),
            ("series", Some([10, 1, 1])),
            ("series=x", Some([1, 1, 30])),
            ("series=1", Some([1, 20, 1])),
            ("time", Some([1, 20, 30])),
            ("2", Some([10, 20, 1])),
            ("box=2,3,99", Some([2, 3, 30])),
            ("box=2,3", None),
            ("box=0,1,1", None),
            ("box=a,1,1", None),
            ("series=y", None),
            ("nonsense", None),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text), want.map(|w| w.to_vec()), "{text}");
        }
    }

    #[test]
    fn places_are_inside_and_differ() {
        let access = Access { name: String::new(), extents: vec![1, 20, 5] };
        let mut starts: Vec<Vec<u64>> =
            (0..6).map(|n| access.at(&[10, 20, 30], n, 6).map(|s| s.start().to_vec()).unwrap_or_default()).collect();
        assert!(starts.iter().all(|s| s.len() == 3 && s[0] < 10 && s[1] == 0 && s[2] <= 25), "{starts:?}");
        starts.sort();
        starts.dedup();
        assert_eq!(starts.len(), 6);
    }

    #[test]
    fn chunks_are_like_the_accesses_and_of_the_sizes_that_are_tried() {
        let access = |text| Access::parse(text, &[1000, 1000, 1000], &[]).unwrap_or_else(|_| panic!("{text}"));
        let plane = shapes(&[1000, 1000, 1000], 8, &[access("plane")]);
        assert_eq!(plane[0][0], 1, "{plane:?}");
        let series = shapes(&[1000, 1000, 1000], 8, &[access("series")]);
        assert!(series[0][0] == 1000 && series[0][1] == series[0][2], "{series:?}");
        let both = shapes(&[1000, 1000, 1000], 8, &[access("plane"), access("series")]);
        assert!(both.contains(&plane[0]) && both.contains(&series[0]) && both.len() == 9, "{both:?}");
        for chunks in &both {
            let bytes = chunks.iter().product::<u64>() * 8;
            assert!(((64 << 10)..=(4 << 20)).contains(&bytes), "{chunks:?}");
        }
        assert_eq!(shapes(&[3, 4], 8, &[access_of(&[3, 4])]), [[3, 4]]);
    }

    fn access_of(extents: &[u64]) -> Access {
        Access { name: String::new(), extents: extents.to_vec() }
    }
}
