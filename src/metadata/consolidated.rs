//! `.zmetadata` (v2) and inline consolidated metadata (v3) ⇄ many documents.
//! v3 core, "Consolidated metadata"; for v2 the convention of zarr-python 2 (`zarr_consolidated_format` 1).

use super::json::{self, member};
use super::v3::CONSOLIDATED;
use super::{Map, Value};
use crate::error::{Result, err};
use crate::json::splice::Object;
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

/// The entries of a v3 group's document, found in its text, and how deep they stand in it.
pub fn listed_v3<'a>(group: &Object<'a>) -> Option<(Object<'a>, usize)> {
    let own = group.object(CONSOLIDATED)?;
    let is_inline = own.value("kind").is_none_or(|kind| kind == br#""inline""#);
    is_inline.then(|| own.object("metadata")).flatten().map(|entries| (entries, 2))
}

/// The entries of a `.zmetadata`, found in its text, and how deep they stand in it.
pub fn listed_v2<'a>(document: &Object<'a>) -> Option<(Object<'a>, usize)> {
    (document.value("zarr_consolidated_format") == Some(b"1")).then(|| document.object("metadata")).flatten().map(|entries| (entries, 1))
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

/// A `.zmetadata` of those entries.
pub fn write_v2(entries: Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("zarr_consolidated_format".into(), 1.into());
    out.insert("metadata".into(), Value::Object(entries));
    out
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
            assert_eq!(entries_v3(&object(text)).map(Map::len), want, "{text}");
            assert_eq!(listed_v3(&Object::document(text.as_bytes()).unwrap()).is_some(), want.is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_as_the_same() {
        let mut group = Map::new();
        group.insert(CONSOLIDATED.into(), write_v3(object(r#"{"a/b":{"zarr_format":3}}"#)));
        assert!(entries_v3(&group).unwrap().contains_key("a/b"));
        let text = json::to_text(&Value::Object(write_v2(object(r#"{".zgroup":{"zarr_format":2}}"#))));
        assert!(parse_v2(text.as_bytes()).is_ok());
        let (entries, depth) = listed_v2(&Object::document(text.as_bytes()).unwrap()).unwrap();
        assert_eq!((entries.value(".zgroup").is_some(), depth), (true, 1));
    }

    #[test]
    fn other_v2_formats_are_refused() {
        for text in
            [r#"{"metadata":{}}"#, r#"{"zarr_consolidated_format":2,"metadata":{}}"#, r#"{"zarr_consolidated_format":1,"metadata":[]}"#]
        {
            assert!(parse_v2(text.as_bytes()).is_err(), "{text}");
            assert!(listed_v2(&Object::document(text.as_bytes()).unwrap()).is_none(), "{text}");
        }
    }

    #[test]
    fn entries_lose_their_own_consolidated_metadata() {
        let entry = entry_v3(object(r#"{"zarr_format":3,"consolidated_metadata":{}}"#));
        assert_eq!(entry.to_string(), r#"{"zarr_format":3}"#);
    }
}
