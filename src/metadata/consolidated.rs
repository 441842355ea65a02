//! `.zmetadata` (v2) and inline consolidated metadata (v3) ⇄ many documents.
//! v3 core, "Consolidated metadata"; for v2 the convention of zarr-python 2 (`zarr_consolidated_format` 1).

use super::json::{self, member};
use super::v3::CONSOLIDATED;
use super::{Map, Value};
use crate::error::{Result, err};
use crate::limits;

/// The entries of a v3 group's document: node documents by path relative to the group. `None` where there are none, or where
/// they are null or of a kind that is not known (HD-30).
pub fn entries_v3(group: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let object = group.get(CONSOLIDATED)?.as_object()?;
    match object.get("kind") {
        None => {}
        Some(kind) if kind.as_str() == Some("inline") => {}
        Some(_) => return None,
    }
    object.get("metadata")?.as_object()
}

/// As [`entries_v3`], to be changed.
pub fn entries_v3_mut(group: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    entries_v3(group)?;
    group.get_mut(CONSOLIDATED)?.as_object_mut()?.get_mut("metadata")?.as_object_mut()
}

/// The member `consolidated_metadata` of those entries.
pub fn write_v3(entries: Map<String, Value>) -> Value {
    let mut out = Map::new();
    out.insert("kind".into(), "inline".into());
    out.insert("must_understand".into(), false.into());
    out.insert("metadata".into(), Value::Object(entries));
    Value::Object(out)
}

/// A node's document as an entry: the same without its own consolidated metadata.
pub fn entry_v3(mut document: Map<String, Value>) -> Value {
    document.shift_remove(CONSOLIDATED);
    Value::Object(document)
}

/// The whole `.zmetadata`, checked: `metadata` is an object and the format is 1.
pub fn parse_v2(bytes: &[u8]) -> Result<Map<String, Value>> {
    let document = json::parse_object(bytes, limits::MAX_CONSOLIDATED)?;
    let format = member(&document, "zarr_consolidated_format")?;
    if !json::get_u64(format).is_ok_and(|n| n == 1) {
        return Err(err!(Metadata, "found {}, expected 1", json::brief(format)).at_field("zarr_consolidated_format"));
    }
    let metadata = member(&document, "metadata")?;
    if !metadata.is_object() {
        return Err(err!(Metadata, "found {}, expected an object", json::brief(metadata)).at_field("metadata"));
    }
    Ok(document)
}

/// The entries of a `.zmetadata`: documents by key relative to the group (`a/.zarray`).
pub fn entries_v2(document: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    document.get_mut("metadata")?.as_object_mut()
}

/// A `.zmetadata` of those entries.
pub fn write_v2(entries: Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("zarr_consolidated_format".into(), 1.into());
    out.insert("metadata".into(), Value::Object(entries));
    out
}

/// Removes the entries of a node and of all below it: `path` and `path/…`.
pub fn remove_below(entries: &mut Map<String, Value>, path: &str) {
    let below = |key: &str| key.strip_prefix(path).is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with('/'));
    entries.retain(|key, _| !below(key));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Map<String, Value> {
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
            let mut group = object(text);
            assert_eq!(entries_v3(&group).map(Map::len), want, "{text}");
            assert_eq!(entries_v3_mut(&mut group).map(|e| e.len()), want, "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_as_the_same() {
        let mut group = Map::new();
        group.insert(CONSOLIDATED.into(), write_v3(object(r#"{"a/b":{"zarr_format":3}}"#)));
        assert!(entries_v3(&group).unwrap().contains_key("a/b"));
        let text = json::to_text(&Value::Object(write_v2(object(r#"{".zgroup":{"zarr_format":2}}"#))));
        assert!(entries_v2(&mut parse_v2(text.as_bytes()).unwrap()).unwrap().contains_key(".zgroup"));
    }

    #[test]
    fn other_v2_formats_are_refused() {
        for text in
            [r#"{"metadata":{}}"#, r#"{"zarr_consolidated_format":2,"metadata":{}}"#, r#"{"zarr_consolidated_format":1,"metadata":[]}"#]
        {
            assert!(parse_v2(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn removal_stops_at_the_name() {
        let mut entries = object(r#"{"foo":1,"foo/a":2,"foobar":3,"b":4}"#);
        remove_below(&mut entries, "foo");
        assert_eq!(entries.keys().collect::<Vec<_>>(), ["foobar", "b"]);
    }

    #[test]
    fn entries_lose_their_own_consolidated_metadata() {
        let entry = entry_v3(object(r#"{"zarr_format":3,"consolidated_metadata":{}}"#));
        assert_eq!(entry.to_string(), r#"{"zarr_format":3}"#);
    }
}
