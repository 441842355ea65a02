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
/// equal to NaN, and no tolerance makes it, or an infinity, equal to another value.
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
    /// Numbers of these types, one for each array; `usize` of them in an element.
    Numbers(DataType, DataType, usize),
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
        let bytes = |node: &Node| if let Node::Array(array) = node { array.element_bytes().unwrap_or(0) } else { 0 };
        let total = a.values().map(bytes).fold(0, u64::saturating_add);
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
                let how = comparison(a.data_type(), b.data_type());
                if a.shape() != b.shape() && self.elements {
                    tell("shape", Some(a.shape().to_vec().into()), Some(b.shape().to_vec().into()));
                }
                if how.is_none() && self.elements {
                    tell("dtype", Some(a.data_type().name().into()), Some(b.data_type().name().into()));
                }
                if let (Some(how), true) = (how, a.shape() == b.shape())
                    && let Some(found) = self.elements(how, a, b, bar)?
                {
                    told.push((format!("{}: {}", one_line(name), found.text(a)), found.json(name)));
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
    fn elements(&self, how: As, a: &Array, b: &Array, bar: &Progress) -> Outcome<Option<Found>> {
        let shape = a.shape();
        let (one_type, other_type) = match how {
            As::Numbers(one, other, _) => (one, other),
            As::Bytes(data_type) => (data_type, data_type),
            As::Variable => (a.data_type(), b.data_type()),
        };
        let blocks = Blocks::new(a, Selection::all(&shape), one_type.size().max(other_type.size()), Cut::Chunks);
        // Keys of chunks may be the same on both sides: an error says whose it is.
        let (of_a, of_b) = (|failure: Failure| failure.of(&self.a), |failure: Failure| failure.of(&self.b));
        let work = |block: &Block, buffer: &mut Vec<u8>| {
            let selection = blocks.part(block)?;
            let mut found = Found::default();
            match how {
                As::Variable => {
                    let one = a.read_variable(&selection).map_err(|e| of_a(e.into()))?;
                    let other = b.read_variable(&selection).map_err(|e| of_b(e.into()))?;
                    for i in (0..one.len()).filter(|&i| one.get(i) != other.get(i)) {
                        let text = |v: Option<&[u8]>| shown(a.data_type(), v.unwrap_or_default());
                        found.note(block, i, text(one.get(i)), text(other.get(i)));
                    }
                }
                As::Numbers(..) | As::Bytes(_) => {
                    let (mut other, same) = (Vec::new(), one_type == other_type);
                    blocks::read(a, &selection, one_type, buffer).map_err(of_a)?;
                    blocks::read(b, &selection, other_type, &mut other).map_err(of_b)?;
                    if !same || *buffer != other {
                        let items = buffer.chunks_exact(one_type.size().max(1));
                        let pairs = items.zip(other.chunks_exact(other_type.size().max(1))).enumerate();
                        pairs.filter(|(_, (x, y))| !same || x != y).for_each(|(i, (x, y))| self.pair(how, block, i, x, y, &mut found));
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

    /// Compares two elements whose types or bytes differ.
    fn pair(&self, how: As, block: &Block, i: usize, x: &[u8], y: &[u8], found: &mut Found) {
        let As::Numbers(one_type, other_type, parts) = how else {
            let As::Bytes(data_type) = how else { return };
            return found.note(block, i, shown(data_type, x), shown(data_type, y));
        };
        let (mut absolute, mut relative, mut differ) = (0.0f64, 0.0f64, false);
        let part = |data_type: DataType| if parts == 2 { data_type.part().unwrap_or(data_type) } else { data_type };
        for (u, v) in x.chunks_exact(x.len() / parts).zip(y.chunks_exact(y.len() / parts)) {
            let (distance, size) = apart(wide(part(one_type), u), wide(part(other_type), v));
            // An infinite size allows any distance, and that of a NaN is none: such numbers are never near another.
            let is_near = size.is_finite() && distance <= self.tolerance + self.relative * size;
            if distance > 0.0 && !is_near {
                differ = true;
                absolute = absolute.max(distance);
                relative = relative.max(if size.is_finite() { distance / size } else { f64::INFINITY });
            }
        }
        if differ {
            let (one, other) = (shown(one_type, x), shown(other_type, y));
            found.absolute.consider(absolute, block, i, &one, &other);
            found.relative.consider(relative, block, i, &one, &other);
            found.note(block, i, one, other);
        }
    }
}

/// A tolerance on the command line.
fn tolerance(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x| *x >= 0.0).ok_or_else(|| format!("found {text}, expected a number that is not negative"))
}

/// How the elements of two types are compared; `None` if they cannot be.
fn comparison(a: DataType, b: DataType) -> Option<As> {
    let (a, b) = (a.native(), b.native());
    if a.is_variable() || b.is_variable() {
        return (a == b).then_some(As::Variable);
    }
    match (as_number(a), as_number(b)) {
        (Some(x), Some(y)) if x == y || a.kind() != Kind::Time && b.kind() != Kind::Time => Some(As::Numbers(x, y, 1)),
        _ if a.kind() == Kind::Complex && b.kind() == Kind::Complex => Some(As::Numbers(DataType::Complex128, DataType::Complex128, 2)),
        _ => (a == b).then_some(As::Bytes(a)),
    }
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
