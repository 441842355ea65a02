//! `ozarr diff`: what differs between two arrays or hierarchies.

use crate::blocks::{self, Block, Blocks, Cut};
use crate::digest::ATTRIBUTE;
use crate::element::{Form, printed_as, push};
use crate::failure::{Failure, Outcome, one_line};
use crate::info::of_array;
use crate::moments::as_number;
use crate::output::{Progress, line, object, progress};
use crate::place::{below, locate};
use clap::Args;
use ozarr::dtype::{DataType, Kind};
use ozarr::engine::Selection;
use ozarr::node::{Array, Map, Mode, Node, Value, json};
use std::collections::BTreeMap;

/// Compare two arrays, or two groups with all below them: metadata, attributes and elements
///
/// Exit status: 0 no difference, 1 differences, 2 an error, as diff has them. Chunks, codecs and formats count with --layout only. NaN is
/// equal to NaN.
#[derive(Args)]
pub struct Diff {
    /// A store, or a node in it
    a: String,
    /// What to compare it with
    b: String,
    /// Numbers that differ by no more than this are equal
    #[arg(long, value_name = "X", default_value_t = 0.0, hide_default_value = true)]
    tolerance: f64,
    /// Numbers that differ by no more than this share of the larger one are equal
    #[arg(long, value_name = "X", default_value_t = 0.0, hide_default_value = true)]
    relative: f64,
    /// Compare formats, chunks and codecs, too
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

/// What is compared of the elements of a type.
#[derive(Clone, Copy)]
enum As {
    /// Numbers of that type, `usize` of them in an element.
    Numbers(DataType, usize),
    /// Bytes of that type.
    Bytes(DataType),
    Variable,
}

/// The differences of the elements of two arrays.
#[derive(Default)]
struct Found {
    differing: u64,
    /// The first in C order of the blocks, with both values.
    first: Option<(Vec<u64>, String, String)>,
    absolute: Largest,
    relative: Largest,
}

/// The largest difference, where it is, and both values.
#[derive(Default, Clone)]
struct Largest {
    value: f64,
    at: Option<(Vec<u64>, String, String)>,
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
        let nodes = |node: &Node| -> Outcome<BTreeMap<String, Node>> {
            below(node, usize::MAX)?.into_iter().map(|(path, node)| Ok((path, node?))).collect()
        };
        let (a, mut b) = (nodes(&open(&self.a)?)?, nodes(&open(&self.b)?)?);
        let (mut only, mut told) = ((Vec::new(), Vec::new()), Vec::new());
        let total = a.values().map(|node| if let Node::Array(array) = node { array.element_bytes().unwrap_or(0) } else { 0 }).sum();
        let bar = progress(total, None, true);
        for (path, one) in &a {
            match b.remove(path) {
                Some(other) => told.extend(self.nodes(path, one, &other, &bar)?),
                None => only.0.push(path.clone()),
            }
        }
        only.1.extend(b.into_keys());
        bar.finish_and_clear();
        let equal = only.0.is_empty() && only.1.is_empty() && told.is_empty();
        if self.json {
            let names = |all: Vec<String>| Value::from_iter(all.into_iter().map(Value::from));
            let differences = Value::from_iter(told.into_iter().map(|(_, value)| value));
            let members =
                [("equal", equal.into()), ("only_in_a", names(only.0)), ("only_in_b", names(only.1)), ("differences", differences)];
            line(&json::to_text(&object(members)))?;
        } else {
            for (side, paths) in [(&self.a, &only.0), (&self.b, &only.1)] {
                paths.iter().try_for_each(|path| line(&format!("only in {}: {}", one_line(side), one_line(path))))?;
            }
            told.iter().try_for_each(|(text, _)| line(text))?;
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
                (Some(a), None) => format!("{}, missing in {}", shown(a), one_line(&self.b)),
                (None, b) => format!("{}, missing in {}", b.as_ref().map(shown).unwrap_or_default(), one_line(&self.a)),
            };
            let members = [("path", Some(name.into())), ("what", Some(what.into())), ("a", a), ("b", b)];
            let members = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
            told.push((format!("{}: {what}: {difference}", one_line(name)), object(members)));
        };
        match (a, b) {
            (Node::Array(a), Node::Array(b)) => {
                self.metadata(a, b, &mut tell)?;
                if a.shape() == b.shape() {
                    if let Some(found) = self.elements(a, b, bar)? {
                        told.push((format!("{}: {}", one_line(name), found.text(a)), found.json(name)));
                    }
                } else if self.elements {
                    tell("shape", Some(a.shape().to_vec().into()), Some(b.shape().to_vec().into()));
                }
            }
            (Node::Group(_), Node::Group(_)) if self.elements => {}
            (Node::Group(a), Node::Group(b)) => {
                attributes(a.attributes().all()?, b.attributes().all()?, &mut tell);
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
        unequal("fill_value", a.data_type() == b.data_type() && a.fill().element(a.data_type()) != b.fill().element(b.data_type()));
        unequal("dimension_names", a.dimension_names() != b.dimension_names());
        if self.layout {
            for name in ["zarr_format", "chunks", "inner_chunks", "codecs", "order"] {
                let (a, b) = both(name);
                unequal(name, a != b);
            }
        }
        attributes(a.attributes().all()?, b.attributes().all()?, tell);
        Ok(())
    }

    /// Compares the elements; `None` if they are equal.
    fn elements(&self, a: &Array, b: &Array, bar: &Progress) -> Outcome<Option<Found>> {
        let shape = a.shape();
        let Some(how) = comparison(a.data_type(), b.data_type()) else { return Ok(None) };
        let item = match how {
            As::Numbers(data_type, _) | As::Bytes(data_type) => data_type.size(),
            As::Variable => a.data_type().size(),
        };
        let blocks = Blocks::new(a, Selection::all(&shape), item, Cut::Chunks);
        let work = |block: &Block, buffer: &mut Vec<u8>| {
            let selection = blocks.part(block)?;
            let mut found = Found::default();
            match how {
                As::Variable => {
                    let (one, other) = (a.read_variable(&selection)?, b.read_variable(&selection)?);
                    for i in (0..one.len()).filter(|&i| one.get(i) != other.get(i)) {
                        let text = |v: Option<&[u8]>| shown(a.data_type(), v.unwrap_or_default());
                        found.note(block, i, text(one.get(i)), text(other.get(i)));
                    }
                }
                As::Numbers(data_type, _) | As::Bytes(data_type) => {
                    let mut other = Vec::new();
                    blocks::read(a, &selection, data_type, buffer)?;
                    blocks::read(b, &selection, data_type, &mut other)?;
                    if *buffer != other {
                        let pairs = buffer.chunks_exact(item.max(1)).zip(other.chunks_exact(item.max(1))).enumerate();
                        pairs.filter(|(_, (x, y))| x != y).for_each(|(i, (x, y))| self.pair(how, block, i, x, y, &mut found));
                    }
                }
            }
            Ok(found)
        };
        let mut all = Found::default();
        blocks.each(Some(bar), work, |_, found| {
            all.add(found);
            Ok(())
        })?;
        Ok((all.differing > 0).then_some(all))
    }

    /// Compares two elements whose bytes differ.
    fn pair(&self, how: As, block: &Block, i: usize, x: &[u8], y: &[u8], found: &mut Found) {
        let text = |data_type, bytes: &[u8]| shown(data_type, bytes);
        let As::Numbers(data_type, parts) = how else {
            let As::Bytes(data_type) = how else { return };
            return found.note(block, i, text(data_type, x), text(data_type, y));
        };
        let (mut absolute, mut relative, mut differ) = (0.0f64, 0.0f64, false);
        let part = x.len() / parts;
        let number = if parts == 2 { data_type.part().unwrap_or(data_type) } else { data_type };
        for (x, y) in x.chunks_exact(part).zip(y.chunks_exact(part)) {
            let (distance, size) = apart(number, x, y);
            if distance.is_nan() {
                (differ, absolute, relative) = (true, f64::INFINITY, f64::INFINITY);
            } else if distance > 0.0 && distance > self.tolerance + self.relative * size {
                differ = true;
                absolute = absolute.max(distance);
                relative = relative.max(if size.is_finite() { distance / size } else { f64::INFINITY });
            }
        }
        if differ {
            let (one, other) = (text(data_type, x), text(data_type, y));
            found.absolute.consider(absolute, block, i, &one, &other);
            found.relative.consider(relative, block, i, &one, &other);
            found.note(block, i, one, other);
        }
    }
}

/// How the elements of two types are compared; `None` if they cannot be.
fn comparison(a: DataType, b: DataType) -> Option<As> {
    let (a, b) = (a.native(), b.native());
    if a.is_variable() || b.is_variable() {
        return (a == b).then_some(As::Variable);
    }
    match (as_number(a), as_number(b)) {
        (Some(x), Some(y)) if x == y => Some(As::Numbers(x, 1)),
        (Some(_), Some(_)) if a.kind() != Kind::Time && b.kind() != Kind::Time => Some(As::Numbers(DataType::Float64, 1)),
        _ if a.kind() == Kind::Complex && b.kind() == Kind::Complex => Some(As::Numbers(DataType::Complex128, 2)),
        _ => (a == b).then_some(As::Bytes(a)),
    }
}

/// How far two numbers are from one another, and the size of the larger one. NaN: one of them is NaN, and the other is not.
fn apart(data_type: DataType, x: &[u8], y: &[u8]) -> (f64, f64) {
    let (x, y) = (wide(data_type, x), wide(data_type, y));
    match (x, y) {
        (Wide::Integer(x), Wide::Integer(y)) => ((x - y).unsigned_abs() as f64, x.unsigned_abs().max(y.unsigned_abs()) as f64),
        (Wide::Float(x), Wide::Float(y)) if x.is_nan() && y.is_nan() || x == y => (0.0, 0.0),
        (Wide::Float(x), Wide::Float(y)) => ((x - y).abs(), x.abs().max(y.abs())),
        _ => (f64::NAN, 0.0),
    }
}

enum Wide {
    Integer(i128),
    Float(f64),
}

fn wide(data_type: DataType, bytes: &[u8]) -> Wide {
    match data_type {
        DataType::Float32 => Wide::Float(f32::from_ne_bytes(bytes.try_into().unwrap_or_default()).into()),
        DataType::Float64 => Wide::Float(f64::from_ne_bytes(bytes.try_into().unwrap_or_default())),
        _ => {
            let negative = data_type.kind() != Kind::UInt && bytes.last().is_some_and(|b| b >> 7 == 1);
            let mut all = [if negative { 255 } else { 0 }; 16];
            all[..bytes.len().min(16)].copy_from_slice(&bytes[..bytes.len().min(16)]);
            Wide::Integer(i128::from_le_bytes(all))
        }
    }
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

/// The index in the array of element `i` of a block.
fn index(block: &Block, mut i: usize) -> Vec<u64> {
    let mut at = block.at.clone();
    for d in (0..at.len()).rev() {
        let n = block.shape[d].max(1) as usize;
        at[d] += (i % n) as u64;
        i /= n;
    }
    at
}

/// Tells of attributes that only one node has, or that differ. Names of dimensions and digests are compared elsewhere.
fn attributes(a: Map, mut b: Map, tell: &mut Tell<'_>) {
    let counts = |name: &str| name != ATTRIBUTE && name != "_ARRAY_DIMENSIONS";
    for (name, value) in a.iter().filter(|(name, _)| counts(name)) {
        let other = b.shift_remove(name);
        if other.as_ref() != Some(value) {
            tell(&format!("attribute {name}"), Some(value.clone()), other);
        }
    }
    for (name, value) in b.iter().filter(|(name, _)| counts(name) && a.get(name).is_none()) {
        tell(&format!("attribute {name}"), None, Some(value.clone()));
    }
}

impl Largest {
    fn consider(&mut self, value: f64, block: &Block, i: usize, one: &str, other: &str) {
        if self.at.is_none() || value > self.value {
            *self = Largest { value, at: Some((index(block, i), one.into(), other.into())) };
        }
    }

    fn json(&self) -> Value {
        let Some((at, a, b)) = &self.at else { return Value::Null };
        let value = if self.value.is_finite() { self.value.into() } else { "Infinity".into() };
        object([("value", value), ("at", at.clone().into()), ("a", a.as_str().into()), ("b", b.as_str().into())])
    }
}

impl Found {
    fn note(&mut self, block: &Block, i: usize, one: String, other: String) {
        self.differing += 1;
        self.first.get_or_insert_with(|| (index(block, i), one, other));
    }

    fn add(&mut self, other: Found) {
        self.differing += other.differing;
        self.first = self.first.take().or(other.first);
        for (mine, theirs) in [(&mut self.absolute, other.absolute), (&mut self.relative, other.relative)] {
            if theirs.at.is_some() && (mine.at.is_none() || theirs.value > mine.value) {
                *mine = theirs;
            }
        }
    }

    fn text(&self, array: &Array) -> String {
        let all = array.shape().iter().fold(1u128, |n, &c| n * u128::from(c));
        let place =
            |at: &Option<(Vec<u64>, String, String)>| at.as_ref().map(|(at, a, b)| format!("at {at:?}: {a} and {b}")).unwrap_or_default();
        let mut text = format!("{} of {all} elements differ, the first {}", self.differing, place(&self.first));
        if self.absolute.at.is_some() {
            let (absolute, relative) = (&self.absolute, &self.relative);
            text.push_str(&format!("; the largest difference is {:?} {}", absolute.value, place(&absolute.at)));
            text.push_str(&format!("; the largest relative one {:.3e} {}", relative.value, place(&relative.at)));
        }
        text
    }

    fn json(&self, path: &str) -> Value {
        let first = match &self.first {
            Some((at, a, b)) => object([("at", at.clone().into()), ("a", a.as_str().into()), ("b", b.as_str().into())]),
            None => Value::Null,
        };
        object([
            ("path", path.into()),
            ("what", "elements".into()),
            ("differing", self.differing.into()),
            ("first", first),
            ("largest_absolute", self.absolute.json()),
            ("largest_relative", self.relative.json()),
        ])
    }
}
