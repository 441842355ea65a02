//! `.zmetadata` (v2) and inline consolidated metadata (v3) ⇄ many documents.
//! v3 core, "Consolidated metadata"; for v2 the convention of zarr-python 2 (`zarr_consolidated_format` 1).

use super::json::{self, member};
use super::v3::CONSOLIDATED;
use super::{Format, Map, Value, v2};
use crate::error::{Error, Result, err};
use crate::json::splice::TextObject;
use crate::limits;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Returns the entries of a v3 group's document: node documents by path relative to the group. `None` if they are missing, null, of an
/// unknown kind (HD-30), or cannot be understood.
pub fn entries_v3(group: &Map) -> Option<&Map> {
    inline_v3(group).ok().flatten()
}

/// Like [`entries_v3`]; metadata that cannot be understood are an error.
pub fn inline_v3(group: &Map) -> Result<Option<&Map>> {
    let Some(own) = group.get(CONSOLIDATED).filter(|own| !own.is_null()) else { return Ok(None) };
    let object = own.as_object().ok_or_else(|| no_object(own).at_field(CONSOLIDATED))?;
    if object.get("kind").is_some_and(|kind| kind.as_str() != Some("inline")) {
        return Ok(None);
    }
    let metadata = member(object, "metadata").map_err(|e| e.at_field(CONSOLIDATED))?;
    metadata.as_object().map(Some).ok_or_else(|| no_object(metadata).at_field("metadata").at_field(CONSOLIDATED))
}

fn no_object(found: &Value) -> Error {
    err!(Metadata, "found {}, expected an object", json::brief(found))
}

/// The entries of a group, found in the text of its document.
pub struct Listed<'a> {
    document: TextObject<'a>,
    format: Format,
}

impl<'a> Listed<'a> {
    /// Finds the entries in the text of a `zarr.json` or a `.zmetadata`, or `None` if there are no entries; an error instead of an abort
    /// when memory is short.
    pub fn find(text: &'a [u8], format: Format) -> Result<Option<Listed<'a>>> {
        match Listed::look(text, format) {
            // What was not found may be there.
            None => limits::check_memory().map(|()| None),
            found => Ok(found),
        }
    }

    fn look(text: &'a [u8], format: Format) -> Option<Listed<'a>> {
        let document = match format {
            Format::V3 => TextObject::document(text, &[CONSOLIDATED, "metadata"])?,
            Format::V2 => TextObject::document(text, &["metadata"])?,
        };
        let is_known = match format {
            Format::V3 => document.object(CONSOLIDATED)?.value("kind").is_none_or(|kind| kind == br#""inline""#),
            Format::V2 => document.value("zarr_consolidated_format") == Some(b"1"),
        };
        let listed = Listed { document, format };
        (is_known && listed.entries().is_some()).then_some(listed)
    }

    /// Returns how many levels deep the object of the entries is nested in the document.
    pub fn depth(&self) -> usize {
        if self.format == Format::V3 { 2 } else { 1 }
    }

    fn entries(&self) -> Option<&TextObject<'a>> {
        match self.format {
            Format::V3 => self.document.object(CONSOLIDATED)?.object("metadata"),
            Format::V2 => self.document.object("metadata"),
        }
    }

    /// The names of the entries.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries().into_iter().flat_map(TextObject::names)
    }

    /// Whether they have the document of a node, whose path is relative to the group.
    pub fn has_node(&self, node: &str, format: Format) -> bool {
        let is_of = |above: &str| if node.is_empty() { above.is_empty() } else { above.strip_suffix('/') == Some(node) };
        self.names().any(|name| match format {
            Format::V3 => name == node,
            Format::V2 => [v2::ARRAY, v2::GROUP].iter().any(|document| name.strip_suffix(document).is_some_and(is_of)),
        })
    }

    /// The names of the entries with their texts; of a name that occurs twice the last one counts.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &'a [u8])> {
        self.entries().into_iter().flat_map(TextObject::values)
    }

    /// The document with other entries, in the order of ones that are written anew: see [`TextObject::changed`].
    pub fn changed(&self, changes: &HashMap<String, Option<String>>, gone: impl Fn(&str) -> bool) -> Result<Vec<u8>> {
        let order = if self.format == Format::V3 { order_v3 } else { order_v2 };
        self.entries().map_or(Ok(Vec::new()), |entries| entries.changed(changes, gone, order, self.depth()))
    }
}

/// Compares the paths of two nodes: each is followed by those below it.
fn order_v3(a: &str, b: &str) -> Ordering {
    a.split('/').cmp(b.split('/'))
}

/// Compares the keys of two documents: those of one node after the other, its attributes last.
fn order_v2(a: &str, b: &str) -> Ordering {
    let ((a_node, a_name), (b_node, b_name)) = (a.rsplit_once('/').unwrap_or(("", a)), b.rsplit_once('/').unwrap_or(("", b)));
    order_v3(a_node, b_node).then((a_name == v2::ATTRIBUTES).cmp(&(b_name == v2::ATTRIBUTES)))
}

/// The member `consolidated_metadata` of those entries.
pub fn write_v3(entries: Map) -> Value {
    let mut out = Map::new();
    out.insert("kind".into(), "inline".into());
    out.insert("must_understand".into(), false.into());
    out.insert("metadata".into(), Value::Object(entries));
    Value::Object(out)
}

/// Makes the entry of a node from its document, by dropping its own consolidated metadata.
pub fn entry_v3(mut document: Map) -> Value {
    document.shift_remove(CONSOLIDATED);
    Value::Object(document)
}

/// Makes the entry of a v2 node from its document. The version of a group may be a text (HD-54), which other readers refuse.
pub fn entry_v2(mut document: Map) -> Value {
    if v2::has_format_as_text(&document) {
        document.insert("zarr_format".into(), 2.into());
    }
    Value::Object(document)
}

/// The entries of a `.zmetadata`, checked: `metadata` is an object and the format is 1.
pub fn parse_v2(bytes: &[u8]) -> Result<Map> {
    let document = json::parse_object(bytes, limits::MAX_CONSOLIDATED)?;
    let format = member(&document, "zarr_consolidated_format")?;
    if !json::get_u64(format).is_ok_and(|n| n == 1) {
        return Err(err!(Metadata, "found {}, expected 1", json::brief(format)).at_field("zarr_consolidated_format"));
    }
    let metadata = member(&document, "metadata")?;
    metadata.as_object().cloned().ok_or_else(|| no_object(metadata).at_field("metadata"))
}

/// A `.zmetadata` of those entries.
pub fn write_v2(entries: Map) -> Map {
    let mut out = Map::new();
    out.insert("zarr_consolidated_format".into(), 1.into());
    out.insert("metadata".into(), Value::Object(entries));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Map {
        json::parse_object(text.as_bytes(), 1 << 20).unwrap()
    }

    #[test]
    fn v3_entries_are_read_where_they_are_inline() {
        let cases = [
            (r#"{"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"a":{}}}}"#, Some(1)),
            (r#"{"consolidated_metadata":{"metadata":{}}}"#, Some(0)),
            (r#"{"consolidated_metadata":null}"#, None),
            (r#"{"consolidated_metadata":{"kind":"elsewhere","metadata":{}}}"#, None),
            (r#"{"consolidated_metadata":{"kind":"inline","metadata":null}}"#, None),
            (r#"{}"#, None),
        ];
        for (text, want) in cases {
            assert_eq!(entries_v3(&object(text)).map(Map::len), want, "{text}");
            let listed = Listed::find(text.as_bytes(), Format::V3).unwrap();
            assert_eq!(listed.map(|listed| listed.names().count()), want, "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_as_the_same() {
        let mut group = Map::new();
        group.insert(CONSOLIDATED.into(), write_v3(object(r#"{"a/b":{"zarr_format":3}}"#)));
        assert!(entries_v3(&group).unwrap().contains_key("a/b"));
        let text = json::to_text(&Value::Object(write_v2(object(r#"{".zgroup":{"zarr_format":2}}"#))));
        assert!(parse_v2(text.as_bytes()).is_ok());
        assert!(Listed::find(text.as_bytes(), Format::V2).unwrap().unwrap().names().eq([".zgroup"]));
    }

    #[test]
    fn other_v2_formats_are_refused() {
        for text in
            [r#"{"metadata":{}}"#, r#"{"zarr_consolidated_format":2,"metadata":{}}"#, r#"{"zarr_consolidated_format":1,"metadata":[]}"#]
        {
            assert!(parse_v2(text.as_bytes()).is_err(), "{text}");
            assert!(Listed::find(text.as_bytes(), Format::V2).unwrap().is_none(), "{text}");
        }
    }

    #[test]
    fn entries_are_ordered_by_node() {
        let sorted = |order: fn(&str, &str) -> Ordering, mut names: Vec<&str>| {
            names.sort_by(|a, b| order(a, b));
            names.join(" ")
        };
        assert_eq!(sorted(order_v3, vec!["b", "a.b", "a/c", "a", "a/b/d", "a/b"]), "a a/b a/b/d a/c a.b b");
        let keys = vec!["b/.zarray", "a/.zattrs", ".zattrs", "a/b/.zarray", ".zgroup", "a/.zgroup"];
        assert_eq!(sorted(order_v2, keys), ".zgroup .zattrs a/.zgroup a/.zattrs a/b/.zarray b/.zarray");
    }

    #[test]
    fn entries_lose_their_own_consolidated_metadata() {
        let entry = entry_v3(object(r#"{"zarr_format":3,"consolidated_metadata":{}}"#));
        assert_eq!(entry.to_string(), r#"{"zarr_format":3}"#);
    }
}
