//! What is known of the array of a store that was read last: the documents of a group's arrays mostly differ in their attributes only, and what they
//! have in common is not read again, but shared.

use crate::codec::BoundChain;
use crate::codec::chain::Chain;
use crate::fork::{ForkPreserved, Once};
use crate::limits;
use crate::metadata::json::{self, splice::TextObject};
use crate::metadata::{ArrayMeta, Dialect, Format, Map, Text, Value, v3};
use crate::registry;
use std::ops::Range;
use std::sync::Arc;

/// Longer documents are not kept.
const LONGEST: usize = 16 << 10;
/// Documents are compared by so many bytes at a time.
const BLOCK: usize = 32;
/// The most brackets of attributes that are read alone: what is nested too deep is refused as it is in the whole document.
const BRACKETS: usize = 64;

/// What a store knows of its arrays.
#[derive(Default)]
pub(super) struct Alike {
    document: ForkPreserved<Option<LastDocument>>,
    array: ForkPreserved<Option<Arc<LastArray>>>,
}

impl Alike {
    /// The document of an array whose `zarr.json` is that, where it differs from that of the last one in the attributes at most; its values are
    /// shared with that.
    pub fn document(&self, text: &[u8]) -> Option<Map> {
        self.document.read(|last| last.as_ref()?.document_of(text))
    }

    /// Keeps the document of an array.
    pub fn keep_document(&self, text: &[u8], document: &Map) {
        if text.len() <= LONGEST {
            let text = str::from_utf8(text).ok().map(Box::from);
            let last = text.map(|text| LastDocument { text, document: document.clone(), attributes: Once::new() });
            drop(self.document.replace(last));
        }
    }

    /// What was made of the last array's document, where one of version 3 differs from that in the attributes at most.
    pub fn array(&self, document: &Map) -> Option<Arc<LastArray>> {
        // What a program registers may mean something else from then on, and is let go when it is taken away.
        self.array.read(|last| last.as_ref().filter(|last| registry::is_unused() && last.is_like(document)).cloned())
    }

    /// Keeps what was made of an array's document, but for drafts and grids that may be large.
    pub fn keep_array(&self, meta: &ArrayMeta, chain: &Arc<Chain>, bound: &Arc<BoundChain>) {
        if (meta.format, meta.dialect) == (Format::V3, Dialect::Final) && meta.grid.regular_shape().is_some() && registry::is_unused() {
            let mut meta = meta.clone();
            if v3::attributes(&meta.document).is_some_and(|attributes| !are_few(attributes)) {
                meta.document.insert("attributes".into(), Value::Object(Map::new()));
            }
            let last = LastArray { meta, chain: chain.clone(), bound: bound.clone() };
            drop(self.array.replace(Some(Arc::new(last))));
        }
    }
}

/// Whether attributes take little memory: to leave them out would take time.
fn are_few(attributes: &Map) -> bool {
    let is_short = |value: &Value| !value.is_array() && !value.is_object() && value.as_str().is_none_or(|text| text.len() <= 256);
    attributes.len() <= 16 && attributes.values().all(is_short)
}

/// An array of version 3, whatever its attributes.
pub(super) struct LastArray {
    /// With some attributes, or none.
    meta: ArrayMeta,
    /// Its codecs, for chunks of any shape and bound to that of its chunks.
    pub chain: Arc<Chain>,
    pub bound: Arc<BoundChain>,
}

impl LastArray {
    /// Whether a document has the same members, but for what is in the attributes.
    fn is_like(&self, document: &Map) -> bool {
        let own = &self.meta.document;
        let is_same = |((name, value), (own_name, own)): ((&Text, &Value), (&Text, &Value))| {
            name == own_name && (value == own || name == "attributes" && value.is_object() && own.is_object())
        };
        own.len() == document.len() && document.iter().zip(own).all(is_same)
    }

    /// The model of such a document.
    pub fn meta_of(&self, document: &Map) -> ArrayMeta {
        ArrayMeta { document: document.clone(), ..self.meta.clone() }
    }
}

/// A document as it is stored, and what was read from it.
struct LastDocument {
    text: Box<str>,
    document: Map,
    /// Where the value of the attributes is in the text, once that was asked for; `None` where there is none.
    attributes: Once<Option<Range<usize>>>,
}

impl LastDocument {
    fn document_of(&self, text: &[u8]) -> Option<Map> {
        let own_text = self.text.as_bytes();
        if text == own_text {
            return Some(self.document.clone());
        }
        if self.attributes.known().is_none() && !self.may_differ_in_attributes(text) {
            return None;
        }
        let place = || TextObject::document(own_text, &[]).and_then(|object| object.place("attributes"));
        let place = self.attributes.get(place).clone()?;
        // What is around one value is the same, so that another value in its place makes another document of the same other members.
        let own = text.strip_prefix(&own_text[..place.start])?.strip_suffix(&own_text[place.end..])?;
        let few = own.iter().filter(|byte| matches!(byte, b'{' | b'[')).count() <= BRACKETS;
        if !few || own.first() != Some(&b'{') || own.len() > LONGEST {
            return None;
        }
        let attributes = json::parse_object(own, LONGEST).ok()?;
        let mut document = self.document.clone();
        document.make_room(0).inspect_err(|_| limits::memory_ended()).ok()?;
        document.insert("attributes".into(), Value::Object(attributes));
        Some(document)
    }

    /// Whether the name of the attributes is in front of where the texts differ first, or not far behind: finding their place takes longer.
    fn may_differ_in_attributes(&self, text: &[u8]) -> bool {
        let blocks = self.text.as_bytes().chunks(BLOCK).zip(text.chunks(BLOCK));
        let same = BLOCK * blocks.take_while(|(own, other)| own == other).count();
        let before = self.text.get(..same + BLOCK).unwrap_or(&self.text);
        before.contains("\"attributes\"")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{memory, spec};
    use super::super::{Array, Create, Group};
    use super::*;
    use crate::store::Condition;

    const TEXT: &str =
        r#"{"zarr_format":3,"node_type":"array","shape":[7,150],"x":{"attributes":1}, "attributes" : {"a":[1.50]} ,"y":[{}]}"#;

    fn read(text: &str) -> Option<Map> {
        json::parse_object(text.as_bytes(), LONGEST).ok()
    }

    fn kept(text: &str) -> Alike {
        let alike = Alike::default();
        alike.keep_document(text.as_bytes(), &read(text).unwrap());
        alike
    }

    #[test]
    fn what_is_found_is_what_the_document_says() {
        let alike = kept(TEXT);
        let deep = |n: usize| format!("{{\"b\":{}{}}}", "[".repeat(n), "]".repeat(n));
        for (attributes, is_found) in [
            (r#"{"a":[1.50]}"#, true),
            ("{}", true),
            (r#"{ "b" : "}", "ä":{"attributes":NaN}, "b":1e5 }"#, true),
            (&deep(60), true),
            (&deep(126), false),
            (r#"{"a":1},"attributes":{"a":2}"#, false),
            (r#"{"a":1},"z":{"a":2}"#, false),
            (r#"{"a":1}}"#, false),
            ("{\"a\":1", false),
            ("{\"a\":\x0c1}", false),
            ("null", false),
            ("\u{feff}{}", false),
            ("", false),
        ] {
            let text = TEXT.replace(r#"{"a":[1.50]}"#, attributes);
            let found = alike.document(text.as_bytes());
            assert_eq!(found.is_some(), is_found, "{text}");
            assert!(found.is_none() || found == read(&text), "{text}");
        }
        assert!(
            kept(&TEXT.replace(r#"{"a":[1.50]}"#, &deep(125))).document(TEXT.as_bytes()).is_some(),
            "what was read may be nested as deep"
        );
    }

    #[test]
    fn nothing_is_found_where_anything_else_differs() {
        let alike = kept(TEXT);
        for (at, byte) in TEXT.bytes().enumerate() {
            let mut text = TEXT.as_bytes().to_vec();
            text[at] = if byte == b'2' { b'3' } else { b'2' };
            let within = TEXT.find("{\"a\":").unwrap()..TEXT.find(" ,\"y\"").unwrap();
            assert!(within.contains(&at) || alike.document(&text).is_none(), "{at}");
        }
        for text in ["{}", "", &TEXT[1..], &TEXT[..TEXT.len() - 1], &format!("{TEXT} ")] {
            assert!(alike.document(text.as_bytes()).is_none() && Alike::default().document(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn of_attributes_that_are_there_twice_the_last_ones_count() {
        for text in [
            r#"{"shape":[1],"attributes":{"a":1},"data_type":"float32","attributes":{"a":2}}"#,
            r#"{"attributes":{"a":1},"data_type":"float32","shape":[1],"\u0061ttributes":{"a":2}}"#,
        ] {
            let other = text.replace("\"a\":2", "\"a\":3");
            assert_eq!(kept(text).document(other.as_bytes()).unwrap(), read(&other).unwrap());
            assert!(kept(text).document(text.replace("\"a\":1", "\"a\":4").as_bytes()).is_none());
        }
    }

    /// What a handle says of its array.
    fn said(array: &Array) -> (Vec<u64>, String, String, Vec<u64>, Map) {
        let state = array.state();
        let bound = state.bound.as_ref().map(|bound| bound.chain.shape().to_vec());
        let codecs = format!("{:?} {:?} {:?}", state.meta.codecs, state.meta.fill, state.meta.dimension_names);
        (array.shape().to_vec(), array.metadata_json().unwrap(), codecs, bound.unwrap(), array.attributes().all().unwrap())
    }

    #[test]
    fn arrays_opened_one_after_the_other_are_as_they_are_alone() {
        let store = memory();
        Array::create(&store, "first", &spec(&[8, 6], &[4, 3]), Create::New).unwrap();
        let document = store.shared().read_all("first/zarr.json", 1 << 20).unwrap().unwrap();
        let document = json::parse_object(&document, 1 << 20).unwrap();
        let changes = [
            ("attributes", r#"{"a": 1}"#),
            ("attributes", r#"{"a": 2, "attributes": {"shape": [1]}}"#),
            ("attributes", "{}"),
            ("shape", "[8, 7]"),
            ("chunk_grid", r#"{"name": "regular", "configuration": {"chunk_shape": [2, 3]}}"#),
            ("fill_value", "7"),
            ("codecs", r#"[{"name": "bytes", "configuration": {"endian": "big"}}]"#),
            ("dimension_names", r#"["y", null]"#),
            ("attributes", r#"{"b": null}"#),
        ];
        let mut paths = vec!["first".to_string()];
        for (i, (name, value)) in changes.iter().enumerate() {
            let mut other = document.clone();
            other.insert((*name).into(), json::parse_text(value).unwrap());
            let text = json::text_of_any(&Value::Object(other), 0).unwrap();
            store.shared().put(&format!("a{i}/zarr.json"), &[text.as_bytes()], Condition::None).unwrap();
            paths.push(format!("a{i}"));
        }
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let fresh = || store.below("", super::super::Mode::Read).unwrap();
        let alone: Vec<_> = paths.iter().map(|path| said(&Array::open(&fresh(), path).unwrap())).collect();
        let (mut shared, all, root) = (0, fresh(), Group::open(&fresh(), "").unwrap());
        let by_path = |path: &str| Array::open(&all, path).unwrap();
        let listed = |path: &str| root.open_array(path).unwrap();
        for open in [&by_path as &dyn Fn(&str) -> Array, &listed] {
            for (one, next) in (0..paths.len()).flat_map(|one| (0..paths.len()).map(move |next| (one, next))) {
                let opened = [one, next].map(|i| open(&paths[i]));
                assert_eq!(opened.each_ref().map(said), [one, next].map(|i| alone[i].clone()), "{one} {next}");
                let [first, second] = opened.map(|array| array.state().bound.as_ref().map(|bound| bound.chain.clone()).unwrap());
                shared += usize::from(Arc::ptr_eq(&first, &second));
            }
        }
        // The first array and those of other attributes, with each other and themselves, and each other one with itself.
        assert!(shared >= 2 * (25 + 5) || !registry::is_unused(), "{shared}");
    }
}
