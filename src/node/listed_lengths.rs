//! The lengths of arrays that consolidated metadata say, where a change of an array concerns others of its lengths, or none.
//!
//! A series publishes a length in one document after the other, and in the consolidated metadata of all at once. In between, and after a kill
//! there, whoever changes something else of such an array leaves the listed length as it is.

use super::path;
use crate::codec::complete::compared;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_DOCUMENT, check_dimension_names, check_memory, collect_table, memory_ended, put, readable, reserve, reserve_one};
use crate::metadata::consolidated::Listed;
use crate::metadata::json::splice::TextObject;
use crate::metadata::{ArrayMeta, Map, Value, json, number_list, v2, v3};
use std::collections::HashMap;

/// Which lengths of an array consolidated metadata are told: a bit for each dimension, and whether by its series, which tells none of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths(u64, bool);

impl Lengths {
    /// Those of all dimensions.
    pub const ALL: Lengths = Lengths(u64::MAX, false);
    /// None: only attributes changed.
    pub const NONE: Lengths = Lengths(0, false);

    /// That of one dimension.
    pub fn along(dim: usize) -> Lengths {
        Lengths(1 << (dim % u64::BITS as usize), false)
    }

    /// That of one dimension, which the series of it tells: a longer one is of who goes on with the run, and may be that of some arrays only by now.
    pub fn of_series(dim: usize) -> Lengths {
        Lengths(Lengths::along(dim).0, true)
    }

    /// The lengths of some dimensions, or of all where none are named.
    pub fn of(dims: impl Iterator<Item = usize>) -> Lengths {
        dims.map(Lengths::along).reduce(Lengths::and).unwrap_or(Lengths::ALL)
    }

    /// Both.
    pub fn and(self, other: Lengths) -> Lengths {
        Lengths(self.0 | other.0, self.1 && other.1)
    }

    /// Those but that of one dimension.
    pub fn without(self, dim: usize) -> Lengths {
        Lengths(self.0 & !Lengths::along(dim).0, self.1)
    }

    /// Whether the series of the array tells them.
    pub fn is_by_series(self) -> bool {
        self.1
    }

    fn has(self, dim: usize) -> bool {
        self.0 >> (dim % u64::BITS as usize) & 1 == 1
    }
}

/// The texts of consolidated entries, where they are needed.
pub(super) struct ListedLengths<'a> {
    texts: HashMap<&'a str, &'a [u8]>,
    /// Those of groups below, for nodes that came with them and are not listed yet.
    below: HashMap<String, Vec<u8>>,
}

impl<'a> ListedLengths<'a> {
    /// Those of `listed`, for such changes.
    pub fn of(listed: &'a Listed<'_>, changes: &[(&str, Lengths)]) -> Result<ListedLengths<'a>> {
        let needed = changes.iter().any(|(_, lengths)| *lengths != Lengths::ALL);
        Ok(ListedLengths { texts: if needed { collect_table(listed.texts())? } else { HashMap::new() }, below: HashMap::new() })
    }

    /// Whether the entry `name`, or a node of that name, is listed.
    pub fn has(&self, name: &str) -> bool {
        self.texts.contains_key(name) || self.texts.contains_key(path::join(name, v2::ARRAY).as_str())
    }

    /// Adds the entries of a group below, which is at `place`.
    pub fn add_below(&mut self, place: &str, listed: &Listed<'_>) -> Result<()> {
        for (name, text) in listed.texts() {
            let mut copy = Vec::new();
            reserve(&mut copy, text.len())?;
            copy.extend_from_slice(text);
            put(&mut self.below, path::join(place, name), copy)?;
        }
        Ok(())
    }

    /// Puts the listed lengths of the entry `name` into an array's document, but those that are told, or have no name: only what shares a dimension
    /// is published at once. A listed document that says something else of the elements is of another array.
    pub fn keep(&self, name: &str, document: &mut Map, attributes: Option<&Map>, told: Lengths) -> Result<()> {
        let Some(now) = named_lengths(document, attributes) else { return Ok(()) };
        let is_told = |dim: usize| told.has(dim) || now[dim].0.is_none();
        if (0..now.len()).all(is_told) {
            return Ok(());
        }
        let Some(text) = self.texts.get(name).copied().or_else(|| self.below.get(name).map(Vec::as_slice)) else { return Ok(()) };
        let listed = TextObject::document(text, &[]);
        let shape = listed.as_ref().and_then(|listed| listed.value("shape")).map_or(Ok(None), parsed)?;
        let Some(before) = shape.and_then(|shape| lengths_of(&shape)).filter(|before| before.len() == now.len()) else {
            return check_memory();
        };
        let kept: Vec<u64> = (0..now.len()).map(|dim| if is_told(dim) { now[dim].1 } else { before[dim] }).collect();
        if now.iter().map(|(_, length)| length).eq(&kept) {
            return Ok(());
        }
        let Some(listed) = readable(json::parse_object(text, MAX_DOCUMENT))? else { return Ok(()) };
        if but_lengths(name, &listed) != but_lengths(name, document) {
            return Ok(());
        }
        // Extents of chunks that are listed depend on the lengths.
        if !has_regular_grid(document) {
            match listed.get("chunk_grid") {
                Some(grid) if kept == before => drop(document.insert("chunk_grid".into(), grid.clone())),
                _ => return Ok(()),
            }
        }
        document.insert("shape".into(), number_list(&kept));
        Ok(())
    }
}

fn parsed(text: &[u8]) -> Result<Option<Value>> {
    std::str::from_utf8(text).map_or(Ok(None), |text| readable(json::parse_text(text)))
}

fn has_regular_grid(document: &Map) -> bool {
    document.get("chunk_grid").is_none_or(|grid| grid.get("name").is_some_and(|name| *name == "regular"))
}

/// What an array's document says but its lengths, its attributes and the names of its dimensions.
fn but_lengths(name: &str, document: &Map) -> Value {
    let mut plain = plain(name, &Value::Object(document.clone()));
    if let Value::Object(rest) = &mut plain {
        let is_regular = has_regular_grid(document);
        rest.retain(|member, _| {
            !matches!(member.as_str(), "shape" | "attributes" | "dimension_names") && (member != "chunk_grid" || is_regular)
        });
    }
    plain
}

/// The lengths of dimensions with their names.
pub(super) type NamedLengths = Vec<(Option<String>, u64)>;

/// The lengths of an array with the names of their dimensions, if it names them. `attributes` are those of version 2, which are stored apart.
pub(super) fn named_lengths(document: &Map, attributes: Option<&Map>) -> Option<NamedLengths> {
    let shape = shape_of(document)?;
    let attributes = attributes.or_else(|| document.get("attributes").and_then(Value::as_object));
    let named = document.get("dimension_names").or_else(|| attributes.and_then(|all| all.get(v2::DIMENSIONS)));
    Some(named.and_then(|names| names_of(names, shape.len()))?.into_iter().zip(shape).collect())
}

/// The arrays of which some lengths are not published, with those that are: the documents of one group's arrays differ along the others, as
/// another series leaves them that was killed, or that publishes at this moment. Those of the dimension `mine` are the caller's to publish.
pub(in crate::node) fn published<'a>(named: &[(&'a str, NamedLengths)], mine: Option<(&str, &str)>) -> Result<HashMap<&'a str, Lengths>> {
    let group_of = |path: &'a str| path::parent(path).unwrap_or_default();
    let mut ends: HashMap<(&str, &str), (u64, u64)> = HashMap::new();
    for (path, lengths) in named {
        for (name, length) in lengths.iter().filter_map(|(name, length)| Some((name.as_deref()?, *length))) {
            reserve_one(&mut ends)?;
            let (shortest, longest) = ends.entry((group_of(path), name)).or_insert((length, length));
            (*shortest, *longest) = (length.min(*shortest), length.max(*longest));
        }
    }
    ends.retain(|of, (shortest, longest)| shortest < longest && Some(*of) != mine);
    let mut all = HashMap::new();
    for (path, lengths) in named {
        for (d, (name, _)) in lengths.iter().enumerate() {
            if name.as_deref().is_some_and(|name| ends.contains_key(&(group_of(path), name))) {
                reserve_one(&mut all)?;
                let told = all.entry(*path).or_insert(Lengths::ALL);
                *told = told.without(d);
            }
        }
    }
    Ok(all)
}

/// The names in an attribute or a member; `None` where it is no list of as many names.
pub(super) fn names_of(value: &Value, rank: usize) -> Option<Vec<Option<String>>> {
    let names = value.as_array().filter(|names| names.len() == rank)?;
    check_dimension_names(names.iter().map(Value::as_str)).ok()?;
    Some(names.iter().map(|v| v.as_str().map(str::to_string)).collect())
}

/// What a document says, in one form: writers differ in what they leave out where it says nothing, and in how they say the rest. What cannot be
/// understood stays as it is.
pub(super) fn plain(key: &str, value: &Value) -> Value {
    let Value::Object(mut object) = value.clone() else { return value.clone() };
    object.shift_remove(v3::CONSOLIDATED);
    let is_v3_array = object.get("node_type").is_some_and(|kind| kind == "array");
    let with_parameters = |meta: ArrayMeta| ArrayMeta { codecs: compared(&meta.codecs, meta.data_type, meta.shape.len()), ..meta };
    // What differs only because memory was short is not told.
    let note = |e: &Error| {
        if e.kind() == ErrorKind::NoMemory {
            memory_ended()
        }
    };
    if is_v3_array
        && let Ok(written) = v3::array_from(object.clone()).and_then(|meta| v3::write_array(&with_parameters(meta))).inspect_err(note)
    {
        object = written;
    } else if key.rsplit('/').next() == Some(v2::ARRAY)
        && let Ok(written) = v2::array_from(object.clone()).and_then(|meta| v2::write_array(&with_parameters(meta))).inspect_err(note)
    {
        object = written;
    }
    object.retain(|name, member| name != "attributes" || member.as_object().is_none_or(|all| !all.is_empty()));
    Value::Object(object)
}

/// The shape that an array's document says.
pub(super) fn shape_of(document: &Map) -> Option<Vec<u64>> {
    lengths_of(document.get("shape")?)
}

fn lengths_of(shape: &Value) -> Option<Vec<u64>> {
    shape.as_array()?.iter().map(|length| json::get_u64(length).ok()).collect()
}
