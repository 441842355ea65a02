//! The header of numpy's `.npy` files (format versions 1 to 3), written and read.

use ozarr::dtype::{DataType, ElementType, Field, parse_v2};
use ozarr::node::{Value, json};
use std::io::{self, Read};

/// What a header says.
#[derive(Debug, PartialEq)]
pub struct Header {
    /// The type of the elements.
    pub data_type: DataType,
    /// Whether the most significant bytes come first.
    pub big_endian: bool,
    /// Whether the first dimension varies fastest.
    pub fortran: bool,
    /// The lengths of the dimensions.
    pub shape: Vec<u64>,
    /// The bytes of the header itself.
    pub len: u64,
}

const MAGIC: &[u8] = b"\x93NUMPY";
/// Headers are padded to a multiple of this.
const ALIGN: usize = 64;
/// A longer header is no array's of a type that Zarr arrays have, of up to 4,096 fields.
const MAX_HEADER: usize = 1 << 24;

/// The header of little-endian elements in C order.
pub fn header(data_type: DataType, shape: &[u64]) -> Vec<u8> {
    let lengths: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let shape = if shape.len() == 1 { lengths.trim_end().to_string() } else { lengths.trim_end_matches(", ").to_string() };
    let text = format!("{{'descr': {}, 'fortran_order': False, 'shape': ({shape}), }}", descr(data_type.into()));
    // Many fields need the second version, whose length has four bytes.
    let wide = text.len() + 1 + ALIGN > usize::from(u16::MAX);
    let before = MAGIC.len() + if wide { 6 } else { 4 };
    let padding = ALIGN - (before + text.len() + 1) % ALIGN;
    let len = text.len() + 1 + padding % ALIGN;
    let size = (len as u32).to_le_bytes();
    let mut out = [MAGIC, &[if wide { 2 } else { 1 }, 0], &size[..if wide { 4 } else { 2 }], text.as_bytes()].concat();
    out.resize(before + len - 1, b' ');
    out.push(b'\n');
    out
}

/// The type as Python spells it: a text, or a list of fields.
/// Whether numpy alone does not know a type: a file has its bytes, as numpy writes them for the package ml_dtypes.
pub fn has_no_name(data_type: DataType) -> bool {
    use DataType::{ComplexNarrow, Int2, Int4, Narrow, UInt2, UInt4};
    matches!(data_type, Narrow(_) | ComplexNarrow(_) | Int2 | Int4 | UInt2 | UInt4)
}

fn descr(element: ElementType) -> String {
    let s = match element.data_type {
        DataType::Struct(s) => s,
        narrow if has_no_name(narrow) => return format!("'|V{}'", narrow.size()),
        other => return format!("'{}'", other.numpy()),
    };
    let field = |f: &Field| {
        let lengths: String = f.shape.iter().map(|n| format!("{n}, ")).collect();
        let shape = if f.shape.is_empty() { String::new() } else { format!(", ({})", lengths.trim_end()) };
        format!("({}, {}{shape}), ", python_text(&f.name), descr(f.element))
    };
    format!("[{}]", s.fields().iter().map(field).collect::<String>())
}

/// A text as Python writes it, in ASCII as the first versions of the format have it.
fn python_text(text: &str) -> String {
    let escaped = |c: char| match c {
        '\'' | '\\' => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        other => format!("\\U{:08x}", u32::from(other)),
    };
    format!("'{}'", text.chars().map(escaped).collect::<String>())
}

/// Reads a header; an error says what is wrong with it.
pub fn read(input: &mut dyn Read) -> Result<Header, String> {
    let mut exactly = |n: usize| -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; n];
        input.read_exact(&mut bytes).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => "no .npy file: it ends within the header".to_string(),
            _ => e.to_string(),
        })?;
        Ok(bytes)
    };
    let start = exactly(8)?;
    if !start.starts_with(MAGIC) {
        return Err("no .npy file: it does not begin with \\x93NUMPY".into());
    }
    let size = if start[6] == 1 { 2 } else { 4 };
    if !(1..=3).contains(&start[6]) {
        return Err(format!("a .npy file of version {}, expected 1 to 3", start[6]));
    }
    let len = exactly(size)?.iter().rev().fold(0usize, |n, &b| n << 8 | usize::from(b));
    if len > MAX_HEADER {
        return Err(format!("a .npy header of {len} bytes, expected at most {MAX_HEADER}"));
    }
    let text = String::from_utf8_lossy(&exactly(len)?).into_owned();
    let mut header = parse(&text).ok_or_else(|| format!("the .npy header {:?} is not understood", text.trim()))?;
    header.len = (8 + size + len) as u64;
    Ok(header)
}

/// Reads the dictionary. numpy writes it in one form; spaces and the order of the members are free.
fn parse(text: &str) -> Option<Header> {
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    let mut rest = text.trim_start().strip_prefix('{')?.trim_start();
    while !rest.starts_with('}') {
        let (name, after) = literal(rest)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        rest = match name.as_str()? {
            "descr" => {
                let (value, after) = literal(value)?;
                descr = Some(data_type(&value)?);
                after
            }
            "shape" => {
                let (value, after) = literal(value)?;
                let lengths = value.as_array()?.iter().map(|n| n.as_u64().filter(|&n| n <= i64::MAX as u64));
                shape = Some(lengths.collect::<Option<Vec<u64>>>()?);
                after
            }
            "fortran_order" => {
                let after = value.strip_prefix("True");
                fortran = Some(after.is_some());
                after.or_else(|| value.strip_prefix("False"))?
            }
            _ => return None,
        };
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').map(str::trim_start).or_else(|| rest.starts_with('}').then_some(rest))?;
    }
    let (data_type, big_endian) = descr?;
    Some(Header { data_type, big_endian, fortran: fortran?, shape: shape?, len: 0 })
}

/// The Python value at the start of a text, a text, or texts and numbers in lists and tuples, as JSON, and what follows it.
fn literal(text: &str) -> Option<(Value, &str)> {
    let (mut out, mut depth, mut quote) = (String::new(), 0usize, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\'' | '"', None) => {
                quote = Some(c);
                out.push('"');
            }
            (c, Some(begun)) if c == begun => {
                quote = None;
                out.push('"');
            }
            ('\\', Some(_)) => out.push_str(&escaped(&mut chars)?),
            ('"', Some(_)) => out.push_str("\\\""),
            ('[' | '(', None) => {
                depth += 1;
                out.push('[');
            }
            (']' | ')', None) => {
                depth = depth.checked_sub(1)?;
                // Python allows a comma after the last item, and has one after an only one.
                out.truncate(out.trim_end().trim_end_matches(',').len());
                out.push(']');
            }
            (c, _) => out.push(c),
        }
        if depth == 0 && quote.is_none() {
            break;
        }
    }
    Some((json::parse_text(&out).ok()?, chars.as_str()))
}

/// What an escape of a Python text stands for, as JSON has it.
fn escaped(chars: &mut std::str::Chars<'_>) -> Option<String> {
    let kind = chars.next()?;
    let digits = match kind {
        '\'' => return Some("'".into()),
        '\\' => return Some("\\\\".into()),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let code: String = chars.take(digits).collect();
    let c = char::from_u32(u32::from_str_radix(&code, 16).ok()?)?;
    let text = json::to_text(&Value::from(c.to_string()));
    Some(text[1..text.len() - 1].to_string())
}

fn data_type(descr: &Value) -> Option<(DataType, bool)> {
    let element = parse_v2::parse(descr).ok()?;
    Some((element.data_type, element.swapped()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back() {
        for data_type in DataType::numbers() {
            for shape in [&[][..], &[5], &[0, 3], &[i64::MAX as u64; 64]] {
                let bytes = header(data_type, shape);
                assert_eq!(bytes.len() % ALIGN, 0);
                let got = read(&mut bytes.as_slice()).unwrap();
                let len = bytes.len() as u64;
                let data_type = if descr(data_type.into()).starts_with("'|V") { DataType::Raw(data_type.size() as u32) } else { data_type };
                assert_eq!(got, Header { data_type, big_endian: false, fortran: false, shape: shape.to_vec(), len });
            }
        }
        let times = "{'descr': '<M8[25s]', 'fortran_order': False, 'shape': (1,), }";
        assert_eq!(parse(times).unwrap().data_type.numpy(), "<M8[25s]");
        assert!(header(DataType::Float64, &[5]).windows(19).any(|w| w == b"'<f8', 'fortran_ord"));
    }

    #[test]
    fn headers_of_as_many_fields_as_structs_have_come_back() {
        let list: Vec<String> = (0..4096).map(|i| format!(r#"["a long name {i}", "<i2"]"#)).collect();
        let data_type = parse_v2::parse(&json::parse_text(&format!("[{}]", list.join(","))).unwrap()).unwrap().data_type;
        assert_eq!(read(&mut header(data_type, &[2]).as_slice()).unwrap().data_type, data_type);
    }

    #[test]
    fn fields_are_read_with_their_names_and_shapes() {
        let descr = r"[('a', '>i2'), ('it\'s \u00e9\\', [('x', '<f8')], (2, 3)), ('n', '|u1', (4,)), ]";
        let got = parse(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,)}}")).unwrap();
        let DataType::Struct(s) = got.data_type else { panic!("{got:?}") };
        let fields: Vec<_> = s.fields().iter().map(|f| (f.name.as_str(), f.size(), f.shape.len())).collect();
        assert_eq!(fields, [("a", 2, 0), ("it's \u{e9}\\", 48, 2), ("n", 4, 1)]);
    }

    #[test]
    fn fields_may_have_the_names_of_the_headers_members() {
        let descr = r#"[('shape', '<f4'), ('fortran_order', '|b1'), ("it's: (", '<i2'), ('descr', '<u8')]"#;
        let got = parse(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (7,), }}")).unwrap();
        let DataType::Struct(s) = got.data_type else { panic!("{got:?}") };
        assert_eq!(s.fields().iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["shape", "fortran_order", "it's: (", "descr"]);
        assert_eq!((got.fortran, got.shape), (false, vec![7]));
        let own = header(DataType::Struct(s), &[7]);
        assert_eq!(read(&mut own.as_slice()).unwrap().data_type, got.data_type);
    }

    #[test]
    fn other_headers_are_understood_or_refused() {
        let got = parse("{'shape': (2,3), 'fortran_order': True , 'descr':'>c16'}").unwrap();
        assert_eq!(got, Header { data_type: DataType::Complex128, big_endian: true, fortran: true, shape: vec![2, 3], len: 0 });
        for bad in [
            "",
            "{}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': [('a', '<f8'], 'fortran_order': False, 'shape': (1,)}",
            "{'descr': [('a', '<f8'",
            "{'descr': [('a\\",
            "{'descr': )",
            "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        ] {
            assert!(parse(bad).is_none(), "{bad}");
        }
        for bad in [&b""[..], b"\x93NUMPY\x01", b"\x93NUMPY\x09\x00\x00\x00", b"PK\x03\x04\0\0\0\0", b"\x93NUMPY\x02\x00\xff\xff\xff\xff"] {
            assert!(read(&mut &*bad).is_err());
        }
    }
}
