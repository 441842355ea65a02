//! `ozarr diff`: what differs between two arrays or hierarchies.

use crate::cdl::attributes::FILL;
use crate::element::{Form, printed_as, push};
use crate::failure::{Failure, Outcome, one_line};
use crate::info::{of_array, text_for_non_finite};
use crate::output::{Progress, can_show, line, object, or_unread, progress};
use crate::place::{below, locate};
use clap::Args;
use ozarr::analysis::difference::{Differences, Largest, Pair, Tolerance, compare, compared_as};
use ozarr::dtype::DataType;
use ozarr::engine::Selection;
use ozarr::error::Error;
use ozarr::node::shown_location;
use ozarr::node::{Array, Attributes, DIGEST, Format, Map, Mode, Node, Value, json};
use std::collections::BTreeSet;

/// Compare two arrays, or two groups with all below them: metadata, attributes and elements
///
/// Exit status: 0 no difference, 1 differences, 2 an error, as diff has them. Chunks, codecs and formats count with --layout only, and so do
/// attributes that are for programs only: those of netCDF-C, such as _NCProperties, and _nc_model of the netCDF layer. A missing value that two
/// formats have in different forms (`_FillValue`, and in format 2 the fill value) is the same. NaN is equal to NaN, and no
/// tolerance makes it, or an infinity, equal to another value.
#[derive(Args)]
pub struct Diff {
    /// A store, or a node in it
    a: String,
    /// What to compare it with
    b: String,
    /// Numbers that differ by no more than this are equal
    #[arg(long, value_name = "X", default_value_t = 0.0, hide_default_value = true, allow_hyphen_values = true, value_parser = tolerance)]
    tolerance: f64,
    /// Numbers that differ by no more than this share of the larger one are equal
    #[arg(long, value_name = "X", default_value_t = 0.0, hide_default_value = true, allow_hyphen_values = true, value_parser = tolerance)]
    relative: f64,
    /// Compare formats, chunks, codecs, and attributes that are for programs only, too
    #[arg(long)]
    layout: bool,
    /// Compare elements only
    #[arg(long, conflicts_with = "layout")]
    elements: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Takes what differs, and the values of both nodes; none where one lacks it.
type Tell<'a> = dyn FnMut(&str, Option<Value>, Option<Value>) + 'a;

/// The differences of the elements of two arrays, to be told.
struct Found {
    differences: Differences,
    /// The types of the elements' bytes.
    types: (DataType, DataType),
}

impl Diff {
    pub fn run(&self) -> Outcome {
        self.compare().map_err(|failure| match failure {
            // 1 says that there are differences.
            Failure::Error(message) => Failure::Usage(message),
            other => other,
        })
    }

    fn compare(&self) -> Outcome {
        let open = |location: &str| -> Outcome<Node> {
            let (store, path) = locate(location, "/", Mode::Read)?;
            Ok(Node::open(&store, &path)?)
        };
        let (a, b) = (below(&open(&self.a)?, usize::MAX)?, below(&open(&self.b)?, usize::MAX)?);
        let mut others: BTreeSet<&String> = b.paths.iter().collect();
        let (mut only, mut told) = ((Vec::new(), Vec::new()), Vec::new());
        let bar = progress(if can_show(true) { a.element_bytes() } else { 0 }, None, true);
        for path in &a.paths {
            if others.remove(path) {
                told.extend(self.nodes(path, &a.open(path)?, &b.open(path)?, &bar)?);
            } else {
                only.0.push(path.clone());
            }
        }
        only.1.extend(others.into_iter().cloned());
        bar.finish_and_clear();
        let equal = only.0.is_empty() && only.1.is_empty() && told.is_empty();
        if self.json {
            let names = |all: Vec<String>| Value::from_iter(all.into_iter().map(Value::from));
            let differences = Value::from_iter(told.into_iter().map(|(_, value)| value));
            let members =
                [("equal", equal.into()), ("only_in_a", names(only.0)), ("only_in_b", names(only.1)), ("differences", differences)];
            or_unread(line(&json::to_text(&object(members))))?;
        } else {
            let only = [(shown_location(&self.a), &only.0), (shown_location(&self.b), &only.1)];
            let only = only.iter().flat_map(|(side, paths)| paths.iter().map(move |path| (side, path)));
            let only = only.map(|(side, path)| format!("only in {}: {}", one_line(side), one_line(path)));
            or_unread(only.chain(told.into_iter().map(|(text, _)| text)).try_for_each(|text| line(&text)))?;
        }
        if equal { Ok(()) } else { Err(Failure::Different) }
    }

    /// The differences of two nodes, as lines and as JSON.
    fn nodes(&self, path: &str, a: &Node, b: &Node, bar: &Progress) -> Outcome<Vec<(String, Value)>> {
        let name = if path.is_empty() { "/" } else { path };
        let mut told = Vec::new();
        let mut tell = |what: &str, a: Option<Value>, b: Option<Value>| {
            let shown = |value: &Value| one_line(&json::to_compact(value)).into_owned();
            let difference = match (&a, &b) {
                (Some(a), Some(b)) => format!("{} and {}", shown(a), shown(b)),
                (Some(a), None) => format!("{}, missing in {}", shown(a), one_line(&shown_location(&self.b))),
                (None, b) => format!("{}, missing in {}", b.as_ref().map(shown).unwrap_or_default(), one_line(&shown_location(&self.a))),
            };
            let members = [("path", Some(name.into())), ("what", Some(what.into())), ("a", a), ("b", b)];
            let members = members.into_iter().filter_map(|(name, value)| Some((name, text_for_non_finite(value?))));
            told.push((format!("{}: {}: {difference}", one_line(name), one_line(what)), object(members)));
        };
        match (a, b) {
            (Node::Array(a), Node::Array(b)) => {
                self.metadata(a, b, &mut tell)?;
                let types = compared_as(a.data_type(), b.data_type());
                if a.shape() != b.shape() && self.elements {
                    tell("shape", Some(a.shape().to_vec().into()), Some(b.shape().to_vec().into()));
                }
                if types.is_none() && self.elements {
                    let dtype = |array: &Array| Ok::<_, Failure>(of_array(array, false)?.get("dtype").cloned());
                    tell("dtype", dtype(a)?, dtype(b)?);
                }
                if let (Some(types), true) = (types, a.shape() == b.shape())
                    && let differences = self.elements(a, b, bar)?
                    && differences.differing > 0
                {
                    let found = Found { differences, types };
                    told.push((format!("{}: {}", one_line(name), found.text(a)), found.json(name)));
                }
            }
            (Node::Group(_), Node::Group(_)) if self.elements => {}
            (Node::Group(a), Node::Group(b)) => {
                self.attributes(a.attributes(), b.attributes(), None, &mut tell)?;
                if self.layout && a.format() != b.format() {
                    tell("zarr_format", Some(a.format().number().into()), Some(b.format().number().into()));
                }
            }
            (Node::Array(_), _) => tell("node", Some("array".into()), Some("group".into())),
            (Node::Group(_), _) => tell("node", Some("group".into()), Some("array".into())),
        }
        Ok(told)
    }

    fn metadata(&self, a: &Array, b: &Array, tell: &mut Tell<'_>) -> Outcome {
        if self.elements {
            return Ok(());
        }
        let (of_a, of_b) = (of_array(a, false)?, of_array(b, false)?);
        let both = |name: &str| (of_a.get(name).cloned(), of_b.get(name).cloned());
        let mut unequal = |name: &str, differ: bool| {
            if differ {
                let (a, b) = both(name);
                tell(name, a, b);
            }
        };
        unequal("shape", a.shape() != b.shape());
        unequal("dtype", a.data_type() != b.data_type());
        let same_missing = !self.layout && a.has_missing_of(b)?;
        let idle = same_missing && if a.format() == Format::V3 { a } else { b }.has_idle_fill();
        unequal(
            "fill_value",
            a.data_type() == b.data_type() && a.fill().element(a.data_type()) != b.fill().element(b.data_type()) && !idle,
        );
        unequal("dimension_names", a.dimension_names()? != b.dimension_names()?);
        if self.layout {
            for name in ["zarr_format", "chunks", "inner_chunks", "codecs", "order"] {
                let (a, b) = both(name);
                unequal(name, a != b);
            }
        }
        self.attributes(a.attributes(), b.attributes(), same_missing.then_some(FILL), tell)
    }

    /// Compares attributes but one: without --layout not those that are for programs only, which two formats have in different forms.
    fn attributes(&self, a: &Attributes, b: &Attributes, but: Option<&str>, tell: &mut Tell<'_>) -> Outcome {
        let of = |all: &Attributes| {
            let mut all = if self.layout { all.all() } else { all.shown() }?;
            all.retain(|name, _| Some(name.as_str()) != but);
            Ok::<_, Error>(all)
        };
        attributes(of(a)?, of(b)?, tell);
        Ok(())
    }

    /// Compares the elements.
    fn elements(&self, a: &Array, b: &Array, bar: &Progress) -> Outcome<Differences> {
        let all = Selection::all(&a.shape());
        let tolerance = Tolerance { absolute: self.tolerance, relative: self.relative };
        // Keys of chunks may be the same on both sides: an error says whose it is.
        let blame = |e: Error, which: usize| Error::new(e.kind(), format!("{}: {e}", shown_location([&self.a, &self.b][which])));
        Ok(compare((a, &all), (b, &all), tolerance, &blame, &|bytes| bar.told(bytes))?)
    }
}

/// A tolerance on the command line.
fn tolerance(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x| *x >= 0.0).ok_or_else(|| format!("found {text}, expected a number that is not negative"))
}

/// An element as text, not too long.
fn shown(data_type: DataType, bytes: &[u8]) -> String {
    let mut text = String::new();
    if printed_as(data_type) == data_type {
        push(&mut text, Form::Json, data_type, bytes);
    } else {
        push(&mut text, Form::Json, DataType::Raw(bytes.len() as u32), bytes);
    }
    if text.chars().count() > 60 { text.chars().take(57).chain("...".chars()).collect() } else { text }
}

/// Whether two values are the same: of numbers with a fraction or an exponent, the doubles that programs read, however each is spelt.
fn are_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) if !x.is_integer() && !y.is_integer() => {
            x == y || x.as_f64().is_some_and(|x| y.as_f64().map(f64::to_bits) == Some(x.to_bits()))
        }
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| are_same(x, y)),
        (Value::Object(x), Value::Object(y)) => x.len() == y.len() && x.iter().all(|(name, x)| y.get(name).is_some_and(|y| are_same(x, y))),
        _ => a == b,
    }
}

/// Tells of attributes that only one node has, or that differ. Names of dimensions and digests are compared elsewhere.
fn attributes(a: Map, mut b: Map, tell: &mut Tell<'_>) {
    let counts = |name: &str| name != DIGEST && name != "_ARRAY_DIMENSIONS";
    for (name, value) in a.iter().filter(|(name, _)| counts(name)) {
        let other = b.shift_remove(name);
        if !other.as_ref().is_some_and(|other| are_same(value, other)) {
            tell(&format!("attribute {name}"), Some(value.clone()), other);
        }
    }
    for (name, value) in b.iter().filter(|(name, _)| counts(name) && a.get(name).is_none()) {
        tell(&format!("attribute {name}"), None, Some(value.clone()));
    }
}

impl Found {
    /// Both values of a pair.
    fn values(&self, pair: &Pair) -> (String, String) {
        (shown(self.types.0, &pair.a), shown(self.types.1, &pair.b))
    }

    fn text(&self, array: &Array) -> String {
        let all = array.shape().iter().fold(1u128, |n, &c| n * u128::from(c));
        let place = |pair: &Option<Pair>| {
            let told = pair.as_ref().map(|pair| (&pair.at, self.values(pair)));
            told.map(|(at, (a, b))| format!("at {at:?}: {a} and {b}")).unwrap_or_default()
        };
        let Differences { differing, first, absolute, relative } = &self.differences;
        let mut text = format!("{differing} of {all} elements differ, the first {}", place(first));
        if absolute.pair.is_some() {
            text.push_str(&format!("; the largest difference is {:?} {}", absolute.value, place(&absolute.pair)));
            text.push_str(&format!("; the largest relative one {:.3e} {}", relative.value, place(&relative.pair)));
        }
        text
    }

    fn json(&self, path: &str) -> Value {
        let members = |pair: &Pair| {
            let (a, b) = self.values(pair);
            [("at", pair.at.clone().into()), ("a", a.into()), ("b", b.into())]
        };
        let largest = |largest: &Largest| {
            let value = if largest.value.is_finite() { largest.value.into() } else { "Infinity".into() };
            largest.pair.as_ref().map_or(Value::Null, |pair| object([("value", value)].into_iter().chain(members(pair))))
        };
        let found = &self.differences;
        object([
            ("path", path.into()),
            ("what", "elements".into()),
            ("differing", found.differing.into()),
            ("first", found.first.as_ref().map_or(Value::Null, |pair| object(members(pair)))),
            ("largest_absolute", largest(&found.absolute)),
            ("largest_relative", largest(&found.relative)),
        ])
    }
}
