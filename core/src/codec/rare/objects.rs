//! `json2` and `msgpack2`: the elements of a chunk as one list (of lists, for each dimension), followed by a NumPy type and the
//! shape. An element is any JSON value; in memory it is its text.
//! Specification: numcodecs `json`, `msgpacks`.
//! Example: `{"id": "json2", "encoding": "utf-8", "ensure_ascii": true}`; of its members only `encoding` says how to read.

use super::msgpack;
use crate::codec::config::Config;
use crate::codec::stage::VariableCodec;
use crate::dtype::variable::{self, VarItem};
use crate::dtype::{ByteOrder, DataType};
use crate::error::{ErrorKind, Result, bail, err};
use crate::limits::{self, collect, push, reserve, told};
use crate::metadata::{Value, json};
use std::sync::Arc;

/// `json2`.
struct Json(Encoding);

/// How the text of a chunk is bytes.
#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Utf8,
    Latin1,
    /// With an order of bytes of its own, or that of the mark at the beginning.
    Utf16(Option<ByteOrder>),
}

/// `msgpack2`.
struct MsgPack;

/// The codec `json2` for elements of `data_type`.
pub(in crate::codec) fn build_json(config: &Config<'_>, data_type: DataType) -> Result<Arc<dyn VariableCodec>> {
    check(data_type, "json2")?;
    let name = config.text("encoding")?.unwrap_or("utf-8");
    let encoding = match name.to_ascii_lowercase().replace(['_', ' '], "-").as_str() {
        "utf-8" | "utf8" | "ascii" | "us-ascii" => Encoding::Utf8,
        "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" => Encoding::Latin1,
        "utf-16" | "utf16" => Encoding::Utf16(None),
        "utf-16-le" | "utf-16le" => Encoding::Utf16(Some(ByteOrder::Little)),
        "utf-16-be" | "utf-16be" => Encoding::Utf16(Some(ByteOrder::Big)),
        _ => bail!(Unsupported, "json2: found the encoding {name:?}, expected \"utf-8\", \"ascii\", \"latin-1\" or \"utf-16\""),
    };
    Ok(Arc::new(Json(encoding)))
}

/// The codec `msgpack2` for elements of `data_type`.
pub(in crate::codec) fn build_msgpack(data_type: DataType) -> Result<Arc<dyn VariableCodec>> {
    check(data_type, "msgpack2")?;
    Ok(Arc::new(MsgPack))
}

fn check(data_type: DataType, name: &str) -> Result<()> {
    match data_type {
        DataType::VarJson => Ok(()),
        _ => bail!(Metadata, "{name:?} does not take elements of {}", data_type.name()),
    }
}

impl VariableCodec for Json {
    fn name(&self) -> &'static str {
        "json2"
    }

    fn encode(&self, items: &[u8], shape: &[u64], dst: &mut Vec<u8>) -> Result<()> {
        dst.clear();
        let text = json::compact_of_any(&document(items, shape)?)?;
        reserve(dst, text.chars().map(|c| if c.is_ascii() { 1 } else { ESCAPE * c.len_utf16() }).sum())?;
        text.chars().for_each(|c| push_ascii(dst, c));
        self.0.encode(dst)
    }

    fn decode(&self, bytes: Vec<u8>, items: &mut [u8]) -> Result<Vec<u8>> {
        let bytes = self.0.decode(bytes)?;
        let most = usize::try_from(limits::max_chunk()).unwrap_or(usize::MAX);
        let value = json::parse(&bytes, most).map_err(|e| told(e, ErrorKind::Chunk, str::to_string))?;
        split(value, items)
    }
}

impl Encoding {
    /// ASCII in this encoding.
    fn encode(self, ascii: &mut Vec<u8>) -> Result<()> {
        let Encoding::Utf16(order) = self else { return Ok(()) };
        let mut wide = Vec::new();
        reserve(&mut wide, ascii.len().saturating_mul(2).saturating_add(2))?;
        if order.is_none() {
            wide.extend_from_slice(&[0xff, 0xfe]);
        }
        ascii.iter().for_each(|&c| wide.extend_from_slice(&if order == Some(ByteOrder::Big) { [0, c] } else { [c, 0] }));
        *ascii = wide;
        Ok(())
    }

    /// The text as UTF-8.
    fn decode(self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let mut text = String::new();
        match self {
            Encoding::Utf8 => return Ok(bytes),
            Encoding::Latin1 => {
                text.try_reserve(bytes.len().saturating_mul(2)).map_err(|_| err!(NoMemory, "no memory for a chunk of JSON"))?;
                text.extend(bytes.iter().map(|&b| char::from(b)));
            }
            Encoding::Utf16(order) => {
                text.try_reserve(bytes.len().saturating_mul(2)).map_err(|_| err!(NoMemory, "no memory for a chunk of JSON"))?;
                let (order, bytes) = match (order, bytes.as_slice()) {
                    (Some(order), bytes) => (order, bytes),
                    (None, [0xff, 0xfe, bytes @ ..]) => (ByteOrder::Little, bytes),
                    (None, [0xfe, 0xff, bytes @ ..]) => (ByteOrder::Big, bytes),
                    (None, bytes) => (ByteOrder::Little, bytes),
                };
                let (pairs, rest) = bytes.as_chunks();
                let unit = |&pair: &[u8; 2]| if order == ByteOrder::Big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
                for c in char::decode_utf16(pairs.iter().map(unit)) {
                    text.push(c.map_err(|e| err!(Chunk, "the text is not UTF-16: {e}"))?);
                }
                if !rest.is_empty() {
                    bail!(Chunk, "the text is not UTF-16: found an odd number of bytes");
                }
            }
        }
        Ok(text.into_bytes())
    }
}

impl VariableCodec for MsgPack {
    fn name(&self) -> &'static str {
        "msgpack2"
    }

    fn encode(&self, items: &[u8], shape: &[u64], dst: &mut Vec<u8>) -> Result<()> {
        dst.clear();
        msgpack::write(dst, &document(items, shape)?)
    }

    fn decode(&self, bytes: Vec<u8>, items: &mut [u8]) -> Result<Vec<u8>> {
        split(msgpack::read(&bytes)?, items)
    }
}

/// The most lists and objects inside each other that can be read, those of a chunk's dimensions included.
const MOST_LEVELS: usize = 127;

/// The elements as lists in lists, the type and the shape.
fn document(items: &[u8], shape: &[u64]) -> Result<Value> {
    let mut values = Vec::new();
    let most = MOST_LEVELS.saturating_sub(shape.len().max(1));
    // SAFETY: the engine passes buffers of items whose bytes it keeps.
    for (i, item) in unsafe { variable::items(items) }.enumerate() {
        // SAFETY: as above.
        let text = std::str::from_utf8(unsafe { item.bytes() }).map_err(|e| err!(Range, "element {i} is not UTF-8: {e}"))?;
        // An element that is missing, as padding is, is null.
        let value = if text.is_empty() { Ok(Value::Null) } else { json::parse_given(text) };
        let value = value.map_err(|e| told(e, ErrorKind::Range, |why| format!("element {i}: {why}")))?;
        let found = levels(&value);
        if found > most {
            bail!(
                Range,
                "element {i} has {found} lists and objects inside each other, expected at most {most}: those of the chunk come on top"
            );
        }
        push(&mut values, value)?;
    }
    for &n in shape.iter().skip(1).rev() {
        let n = usize::try_from(n).unwrap_or(usize::MAX).max(1);
        let mut inner = values.into_iter().peekable();
        let mut outer = Vec::new();
        while inner.peek().is_some() {
            push(&mut outer, Value::Array(json::List::of(collect(inner.by_ref().take(n))?)?))?;
        }
        values = outer;
    }
    push(&mut values, "|O".into())?;
    push(&mut values, shape.iter().map(|&n| Value::from(n)).collect())?;
    json::List::of(values).map(Value::Array)
}

/// How many lists and objects are inside each other.
fn levels(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(levels).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

/// The elements of such a list, each as its text.
fn split(value: Value, items: &mut [u8]) -> Result<Vec<u8>> {
    let wanted = items.len() / size_of::<VarItem>();
    let Value::Array(list) = value else { bail!(Chunk, "found {}, expected a list", json::brief(&value)) };
    let Some((Value::Array(shape), list)) = list.split_last() else { bail!(Chunk, "found a list without a shape at its end") };
    let depth = shape.len();
    let Some((Value::String(_) | Value::Array(_), list)) = list.split_last() else {
        bail!(Chunk, "found a list without a type before the shape at its end");
    };
    let mut kept = Vec::new();
    let mut ends = Vec::new();
    for value in list {
        flatten(value, depth.saturating_sub(1), &mut |value| {
            let text = json::compact_of_any(value)?;
            reserve(&mut kept, text.len())?;
            kept.extend_from_slice(text.as_bytes());
            push(&mut ends, kept.len())
        })?;
    }
    if ends.len() != wanted {
        bail!(Chunk, "found {} elements, expected {wanted}", ends.len());
    }
    let mut start = 0;
    for (i, end) in ends.into_iter().enumerate() {
        variable::set(items, i, VarItem::new(kept.get(start..end).unwrap_or_default()));
        start = end;
    }
    Ok(kept)
}

fn flatten(value: &Value, depth: usize, each: &mut dyn FnMut(&Value) -> Result<()>) -> Result<()> {
    match value {
        Value::Array(list) if depth > 0 => list.iter().try_for_each(|v| flatten(v, depth - 1, each)),
        other if depth > 0 => bail!(Chunk, "found {}, expected a list for a dimension of the chunk", json::brief(other)),
        other => each(other),
    }
}

/// The bytes of an escape.
const ESCAPE: usize = "\\u0000".len();

/// Characters beyond ASCII as Python's `ensure_ascii` writes them.
fn push_ascii(dst: &mut Vec<u8>, c: char) {
    if c.is_ascii() {
        dst.push(c as u8);
        return;
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        dst.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(codec: &dyn VariableCodec, list: &[&str], shape: &[u64]) -> (Vec<u8>, Vec<String>) {
        let buffer: Vec<u8> = list.iter().flat_map(|b| VarItem::new(b.as_bytes()).to_element()).collect();
        let mut stored = Vec::new();
        codec.encode(&buffer, shape, &mut stored).unwrap();
        let mut items = vec![0; buffer.len()];
        let kept = codec.decode(stored.clone(), &mut items).unwrap();
        // SAFETY: `kept` lives until the values are copied.
        let values = unsafe { variable::items(&items).map(|i| String::from_utf8(i.bytes().to_vec()).unwrap()).collect() };
        drop(kept);
        (stored, values)
    }

    #[test]
    fn values_come_back_from_the_bytes_of_numcodecs() {
        let list = [r#""foo""#, "null", "3", r#"{"a":[1,2.5]}"#, "NaN", "\"日\""];
        let (stored, values) = round(&Json(Encoding::Utf8), &list, &[6]);
        assert_eq!(stored, br#"["foo",null,3,{"a":[1,2.5]},NaN,"\u65e5","|O",[6]]"#);
        assert_eq!(values, list);
        let (stored, values) = round(&MsgPack, &list, &[6]);
        assert_eq!(stored[..6], [0x98, 0xa3, b'f', b'o', b'o', 0xc0]);
        assert_eq!(values, list);
    }

    #[test]
    fn dimensions_are_lists_in_lists() {
        let list = [r#""a""#, "[1,[2]]", "null", "4"];
        let (stored, values) = round(&Json(Encoding::Utf8), &list, &[2, 2]);
        assert_eq!(stored, br#"[["a",[1,[2]]],[null,4],"|O",[2,2]]"#);
        assert_eq!(values, list);
        assert_eq!(round(&MsgPack, &list, &[2, 2]).1, list);
        assert_eq!(round(&Json(Encoding::Utf8), &["5"], &[]), (br#"[5,"|O",[]]"#.to_vec(), vec!["5".to_string()]));
    }

    #[test]
    fn numbers_that_messagepack_does_not_have_are_refused() {
        let list = ["18446744073709551615", "-9223372036854775808", "1e19", "-0.0", "NaN", "-Infinity"];
        assert_eq!(round(&MsgPack, &list, &[6]).1, list);
        for text in ["18446744073709551617", "-9223372036854775809", r#"{"a":[100000000000000000000]}"#, "1e400", "-1E+400"] {
            let e = MsgPack.encode(&VarItem::new(text.as_bytes()).to_element(), &[1], &mut Vec::new()).unwrap_err();
            assert_eq!(e.kind(), crate::error::ErrorKind::Range, "{text}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_to_be_read_is_not_written() {
        let nested = |n: usize| format!("{}1{}", r#"[{"a":"#.repeat(n / 2) + &"[".repeat(n % 2), "]".repeat(n % 2) + &"}]".repeat(n / 2));
        for codec in [&Json(Encoding::Utf8) as &dyn VariableCodec, &MsgPack] {
            for (shape, most) in [(&[][..], 126), (&[1], 126), (&[1, 1], 125), (&[1, 1, 1], 124)] {
                let list = [nested(most)];
                assert_eq!(round(codec, &[&list[0]], shape).1, list, "{} {shape:?}", codec.name());
                let e = codec.encode(&VarItem::new(nested(most + 1).as_bytes()).to_element(), shape, &mut Vec::new()).unwrap_err();
                assert!(
                    e.kind() == ErrorKind::Range && e.message().contains(&format!("at most {most}")),
                    "{} {shape:?}: {e}",
                    codec.name()
                );
            }
        }
    }

    /// Values of each length of a mark, as `msgpack.packb` of Python has them.
    #[test]
    fn values_of_any_size_have_the_shortest_form_of_messagepack() {
        let (text, list) = (|n: usize| format!("\"{}\"", "x".repeat(n)), |n: usize| format!("[{}0]", "0,".repeat(n - 1)));
        let map = |n: usize| format!("{{{}}}", (0..n).map(|i| format!("\"{i}\":{i}")).collect::<Vec<_>>().join(","));
        let cases: &[(String, &[u8])] = &[
            ("127".into(), &[0x7f]),
            ("128".into(), &[0xcc, 0x80]),
            ("256".into(), &[0xcd, 1, 0]),
            ("65536".into(), &[0xce, 0, 1, 0, 0]),
            ("4294967296".into(), &[0xcf, 0, 0, 0, 1, 0, 0, 0, 0]),
            ("-32".into(), &[0xe0]),
            ("-33".into(), &[0xd0, 0xdf]),
            ("-129".into(), &[0xd1, 0xff, 0x7f]),
            ("-32769".into(), &[0xd2, 0xff, 0xff, 0x7f, 0xff]),
            ("-2147483649".into(), &[0xd3, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]),
            ("true".into(), &[0xc3]),
            ("0.5".into(), &[0xcb, 0x3f, 0xe0, 0, 0, 0, 0, 0, 0]),
            (text(31), &[0xbf, b'x']),
            (text(32), &[0xd9, 32, b'x']),
            (text(256), &[0xda, 1, 0, b'x']),
            (text(65536), &[0xdb, 0, 1, 0, 0, b'x']),
            (list(15), &[0x9f, 0]),
            (list(16), &[0xdc, 0, 16, 0]),
            (list(65536), &[0xdd, 0, 1, 0, 0, 0]),
            (map(15), &[0x8f, 0xa1, b'0', 0]),
            (map(16), &[0xde, 0, 16, 0xa1, b'0', 0]),
        ];
        for (text, bytes) in cases {
            let (stored, values) = round(&MsgPack, &[text], &[1]);
            assert_eq!(stored[1..=bytes.len()], **bytes, "{bytes:x?}");
            assert!(values == [text.as_str()], "{bytes:x?}");
        }
        let decoded = |bytes: &[u8]| {
            let mut items = vec![0; size_of::<VarItem>()];
            let list = [&[0x93][..], bytes, &[0xa2, b'|', b'O', 0x91, 1]].concat();
            MsgPack.decode(list, &mut items).map(|kept| String::from_utf8(kept).unwrap()).map_err(|e| e.kind())
        };
        let others: &[(&[u8], &str)] = &[
            (&[0xc4, 2, 1, 2], "\"AQI=\""),
            (&[0xca, 0x3f, 0, 0, 0], "0.5"),
            (&[0xd1, 0, 5], "5"),
            (&[0xcd, 0, 5], "5"),
            (&[0x82, 1, 2, 0xa1, b'1', 3], "{\"1\":3}"),
        ];
        others.iter().for_each(|(bytes, text)| assert_eq!(decoded(bytes).as_deref(), Ok(*text)));
        for (bytes, kind) in
            [(&[0xd4, 5, 0][..], ErrorKind::Unsupported), (&[0xc7, 1, 5, 0], ErrorKind::Unsupported), (&[0xa1, 0xff], ErrorKind::Chunk)]
        {
            assert_eq!(decoded(bytes), Err(kind));
        }
    }

    #[test]
    fn json_is_read_and_written_in_its_encoding() {
        let stored = |name: &str, text: &[u8]| {
            let config = crate::json::Map::from_iter([("encoding".to_string(), Value::from(name))]);
            let codec = build_json(&Config::new(&config, crate::codec::config::Style::V2), DataType::VarJson).map_err(|e| e.to_string())?;
            let mut items = vec![0; size_of::<VarItem>()];
            let kept = codec.decode(text.to_vec(), &mut items).map_err(|e| e.to_string())?;
            let mut again = Vec::new();
            codec.encode(&items, &[1], &mut again).map_err(|e| e.to_string())?;
            Ok::<_, String>((String::from_utf8(kept).unwrap(), again))
        };
        let wide = |text: &str, big: bool| -> Vec<u8> {
            text.encode_utf16().flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() }).collect()
        };
        let (text, ascii) = ("[\"\u{e9}\u{1f408}\",\"|O\",[1]]", r#"["\u00e9\ud83d\udc08","|O",[1]]"#);
        let got = ("\"\u{e9}\u{1f408}\"".to_string(), ascii.as_bytes().to_vec());
        let with = |mark: &[u8], bytes: Vec<u8>| [mark, &bytes].concat();
        assert_eq!(stored("UTF_8", text.as_bytes()).unwrap(), got);
        for (name, mark, big) in [("utf-16", &[0xff, 0xfe][..], false), ("utf-16-le", &[], false), ("utf-16-be", &[], true)] {
            assert_eq!(stored(name, &with(mark, wide(text, big))).unwrap(), (got.0.clone(), with(mark, wide(ascii, big))), "{name}");
        }
        assert_eq!(stored("utf-16", &with(&[0xfe, 0xff], wide(text, true))).unwrap().0, got.0);
        // These two bytes would be one character of UTF-8.
        assert_eq!(stored("latin-1", b"[\"\xc3\xa9\",\"|O\",[1]]").unwrap().0, "\"\u{c3}\u{a9}\"");
        assert!(stored("utf-16-le", b"[1,").unwrap_err().contains("odd number"));
        assert!(stored("utf-16-be", &[0xd8, 0, 0, b'1']).unwrap_err().contains("UTF-16"));
        assert!(stored("cp1252", b"[1,\"|O\",[1]]").unwrap_err().contains("cp1252"));
    }

    #[test]
    fn damaged_chunks_are_errors() {
        let mut items = vec![0; 2 * size_of::<VarItem>()];
        for text in ["", "{}", "[1,2]", r#"[1,"|O",[1]]"#, r#"[1,2,"|O",3]"#, r#"[[1],2,"|O",[2,1]]"#, r#"[1,2,"|O",[2]"#] {
            assert!(Json(Encoding::Utf8).decode(text.as_bytes().to_vec(), &mut items).is_err(), "{text}");
        }
        let (stored, _) = round(&MsgPack, &["1", "\"x\""], &[2]);
        for n in 0..stored.len() {
            assert!(MsgPack.decode(stored[..n].to_vec(), &mut items).is_err(), "{n}");
        }
        for bytes in [vec![0xdd, 0xff, 0xff, 0xff, 0xff], vec![0x91; 100_000], vec![0xc7, 1, 5, 0]] {
            assert!(MsgPack.decode(bytes, &mut items).is_err());
        }
    }
}
