//! Documents of either version: no input panics, and what is read is written as something that reads the same.
//! Run: tools/fuzz metadata 60
use ozarr::metadata::{consolidated, json, v2, v3};

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let _ = v2::parse_array(bytes);
    let _ = v2::parse_group(bytes);
    let _ = v2::parse_attributes(bytes);
    let _ = consolidated::parse_v2(bytes);
    if let Ok(value) = json::parse(bytes, 1 << 20) {
        let again = json::parse(json::to_text(&value).as_bytes(), 1 << 24).expect("what is written can be read");
        assert_eq!(value, again);
    }
    if let Ok(v3::Document::Array(meta)) = v3::parse_node(bytes) {
        let text = json::to_text(&v3::write_array(&meta).unwrap().into()).into_bytes();
        let again = v3::parse_array(&text).expect("what is written can be read");
        assert_eq!((meta.shape, meta.data_type, meta.fill), (again.shape, again.data_type, again.fill));
    }
}
