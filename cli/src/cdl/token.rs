//! The tokens of CDL: names, numbers and quoted text, as ncdump writes them.

use ozarr::dtype::DataType;

/// The atomic types of netCDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NcType {
    Byte,
    Char,
    Short,
    Int,
    Float,
    Double,
    UByte,
    UShort,
    UInt,
    Int64,
    UInt64,
    String,
}

/// Each type with its name, what follows its numbers in attributes, and the type of its elements in memory.
const TYPES: [(NcType, &str, &str, DataType); 12] = [
    (NcType::Byte, "byte", "b", DataType::Int8),
    (NcType::Char, "char", "", DataType::Bytes(1)),
    (NcType::Short, "short", "s", DataType::Int16),
    (NcType::Int, "int", "", DataType::Int32),
    (NcType::Float, "float", "f", DataType::Float32),
    (NcType::Double, "double", "", DataType::Float64),
    (NcType::UByte, "ubyte", "UB", DataType::UInt8),
    (NcType::UShort, "ushort", "US", DataType::UInt16),
    (NcType::UInt, "uint", "U", DataType::UInt32),
    (NcType::Int64, "int64", "LL", DataType::Int64),
    (NcType::UInt64, "uint64", "ULL", DataType::UInt64),
    (NcType::String, "string", "", DataType::VarText),
];

/// A number of any of the types.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    Integer(i128),
    Real(f64),
}

impl PartialEq for Number {
    /// NaN is equal to NaN.
    fn eq(&self, other: &Number) -> bool {
        match (*self, *other) {
            (Number::Integer(a), Number::Integer(b)) => a == b,
            (Number::Real(a), Number::Real(b)) => a == b || a.is_nan() && b.is_nan(),
            _ => false,
        }
    }
}

impl NcType {
    /// The type of that name.
    pub fn named(name: &str) -> Option<NcType> {
        TYPES.iter().find(|t| t.1 == name).map(|t| t.0)
    }

    /// The type of that number in netCDF-C's headers.
    pub fn numbered(number: i32) -> Option<NcType> {
        TYPES.get(usize::try_from(number).ok()?.checked_sub(1)?).map(|t| t.0)
    }

    /// The number type whose elements are of that type.
    pub fn of_numbers(data_type: DataType) -> Option<NcType> {
        TYPES.iter().find(|t| t.3 == data_type && !matches!(t.0, NcType::Char | NcType::String)).map(|t| t.0)
    }

    /// Its name in CDL.
    pub fn name(self) -> &'static str {
        TYPES[self as usize].1
    }

    /// The type of its elements in memory.
    pub fn in_memory(self) -> DataType {
        TYPES[self as usize].3
    }

    /// Reads a number from its bytes.
    pub fn number(self, bytes: &[u8]) -> Number {
        fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
            std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0))
        }
        match self {
            NcType::Float => Number::Real(f32::from_ne_bytes(first(bytes)).into()),
            NcType::Double => Number::Real(f64::from_ne_bytes(first(bytes))),
            NcType::Byte => Number::Integer(i8::from_ne_bytes(first(bytes)).into()),
            NcType::Short => Number::Integer(i16::from_ne_bytes(first(bytes)).into()),
            NcType::Int => Number::Integer(i32::from_ne_bytes(first(bytes)).into()),
            NcType::Int64 => Number::Integer(i64::from_ne_bytes(first(bytes)).into()),
            NcType::UByte | NcType::Char | NcType::String => Number::Integer(u8::from_ne_bytes(first(bytes)).into()),
            NcType::UShort => Number::Integer(u16::from_ne_bytes(first(bytes)).into()),
            NcType::UInt => Number::Integer(u32::from_ne_bytes(first(bytes)).into()),
            NcType::UInt64 => Number::Integer(u64::from_ne_bytes(first(bytes)).into()),
        }
    }

    /// The bytes of a number of the type.
    pub fn bytes(self, number: Number) -> Vec<u8> {
        match (self, self.convert(number)) {
            (NcType::Float, Number::Real(x)) => (x as f32).to_ne_bytes().to_vec(),
            (_, Number::Real(x)) => x.to_ne_bytes().to_vec(),
            (_, Number::Integer(n)) => {
                let all = n.to_ne_bytes();
                let size = self.in_memory().size();
                if cfg!(target_endian = "big") { all[all.len() - size..].to_vec() } else { all[..size].to_vec() }
            }
        }
    }

    /// Converts a number to the type: integers keep their low bits, real numbers lose their fraction.
    pub fn convert(self, number: Number) -> Number {
        match (self, number) {
            (NcType::Float, Number::Real(x)) => Number::Real(f64::from(x as f32)),
            (NcType::Float, Number::Integer(n)) => Number::Real(f64::from(n as f32)),
            (NcType::Double, Number::Integer(n)) => Number::Real(n as f64),
            (NcType::Double, real) => real,
            (_, Number::Real(x)) => self.convert(Number::Integer(x as i128)),
            (_, Number::Integer(n)) => Number::Integer(match self {
                NcType::Byte => (n as i8).into(),
                NcType::Short => (n as i16).into(),
                NcType::Int => (n as i32).into(),
                NcType::UByte => (n as u8).into(),
                NcType::UShort => (n as u16).into(),
                NcType::UInt => (n as u32).into(),
                NcType::UInt64 => (n as u64).into(),
                _ => (n as i64).into(),
            }),
        }
    }

    /// Whether the type has a number: integers exactly, real ones rounded.
    pub fn holds(self, number: Number) -> bool {
        match (number, self.convert(number)) {
            (Number::Integer(n), Number::Integer(found)) => n == found,
            (Number::Real(x), Number::Integer(found)) => x == found as f64,
            (Number::Real(x), Number::Real(found)) => !x.is_finite() || found.is_finite(),
            (Number::Integer(_), Number::Real(_)) => true,
        }
    }

    /// The value of elements that were never written, where nothing else is said; bytes and characters have none.
    pub fn default_fill(self) -> Option<Number> {
        Some(match self {
            NcType::Byte | NcType::UByte | NcType::Char | NcType::String => return None,
            NcType::Short => Number::Integer(-32767),
            NcType::Int => Number::Integer(-2_147_483_647),
            NcType::Int64 => Number::Integer(-9_223_372_036_854_775_806),
            NcType::UShort => Number::Integer(65535),
            NcType::UInt => Number::Integer(4_294_967_295),
            NcType::UInt64 => Number::Integer(18_446_744_073_709_551_614),
            NcType::Float => self.convert(Number::Real(9.969_209_968_386_869e36)),
            NcType::Double => Number::Real(9.969_209_968_386_869e36),
        })
    }

    /// Appends a number as it is in the data section.
    pub fn push_datum(self, out: &mut Vec<u8>, number: Number) {
        match number {
            Number::Integer(n) => out.extend_from_slice(n.to_string().as_bytes()),
            Number::Real(x) => {
                out.extend_from_slice(self.real(x).as_bytes());
                if !x.is_finite() && self == NcType::Float {
                    out.push(b'f');
                }
            }
        }
    }

    /// Appends a number as it is in an attribute, where the token tells the type.
    pub fn push_attribute(self, out: &mut Vec<u8>, number: Number) {
        match number {
            Number::Integer(n) => out.extend_from_slice(n.to_string().as_bytes()),
            Number::Real(x) => {
                let mut text = self.real(x);
                if x.is_finite() && !text.contains('.') {
                    text.insert(text.find('e').unwrap_or(text.len()), '.');
                }
                out.extend_from_slice(text.as_bytes());
            }
        }
        out.extend_from_slice(TYPES[self as usize].2.as_bytes());
    }

    fn real(self, x: f64) -> String {
        match (x.is_nan(), x.is_infinite()) {
            (true, _) => "NaN".into(),
            (_, true) => if x > 0.0 { "Infinity" } else { "-Infinity" }.into(),
            _ => general(x, if self == NcType::Float { 7 } else { 15 }),
        }
    }
}

/// A finite number with that number of significant digits, as C's `%g` prints it.
pub fn general(x: f64, digits: usize) -> String {
    let scientific = format!("{:.*e}", digits - 1, x);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    trimmed(&format!("{:.*}", (digits as i32 - 1 - exponent).max(0) as usize, x))
}

/// Appends text in quotes. `ascii`: bytes beyond ASCII by their number.
pub fn push_quoted(out: &mut Vec<u8>, text: &[u8], ascii: bool) {
    out.push(b'"');
    for &b in text {
        match b {
            b'\x08' => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\x0b' => out.extend_from_slice(b"\\v"),
            b'\x0c' => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'"' | b'\'' | b'\\' => out.extend_from_slice(&[b'\\', b]),
            0..0x20 | 0x7f => out.extend_from_slice(format!("\\{b:03o}").as_bytes()),
            0x80.. if ascii => out.extend_from_slice(format!("\\{b:03o}").as_bytes()),
            _ => out.push(b),
        }
    }
    out.push(b'"');
}

/// A name with a backslash before what CDL would take for something else, also before `%`, which ncgen refuses as ncdump writes it.
pub fn name(text: &str) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        match c {
            '0'..='9' if i == 0 => out.extend(['\\', c]),
            c if c.is_ascii_control() => out.push_str(&format!("\\%{:02x}", c as u32)),
            c if " !\"#$&'()*,:;<=>?[]\\^`{|}~%".contains(c) => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_of_printf() {
        let cases: &[(f64, usize, &str)] = &[
            (0.0, 7, "0"),
            (-0.0, 15, "-0"),
            (1e15, 15, "1e+15"),
            (123456789.0, 7, "1.234568e+08"),
            (9999999.5, 7, "1e+07"),
            (1.0 / 3.0, 15, "0.333333333333333"),
            (1e-5, 7, "1e-05"),
            (0.0001, 7, "0.0001"),
            (1e300, 15, "1e+300"),
            (-273.15, 7, "-273.15"),
            (100.0, 7, "100"),
        ];
        for (x, digits, want) in cases {
            assert_eq!(general(*x, *digits), *want);
        }
    }

    #[test]
    fn attributes_tell_their_type() {
        let cases: &[(NcType, Number, &str, &str)] = &[
            (NcType::Float, Number::Real(1.0), "1.f", "1"),
            (NcType::Double, Number::Real(1e300), "1.e+300", "1e+300"),
            (NcType::Float, Number::Real(f64::NAN), "NaNf", "NaNf"),
            (NcType::Double, Number::Real(f64::NEG_INFINITY), "-Infinity", "-Infinity"),
            (NcType::UInt64, Number::Integer(u64::MAX.into()), "18446744073709551615ULL", "18446744073709551615"),
            (NcType::Byte, NcType::Byte.convert(Number::Integer(255)), "-1b", "-1"),
            (NcType::Int, NcType::Int.convert(Number::Real(-2.9)), "-2", "-2"),
        ];
        for (nc, number, attribute, datum) in cases {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            nc.push_attribute(&mut a, *number);
            nc.push_datum(&mut b, *number);
            assert_eq!((String::from_utf8_lossy(&a).as_ref(), String::from_utf8_lossy(&b).as_ref()), (*attribute, *datum));
        }
        assert!(TYPES.iter().enumerate().all(|(i, t)| t.0 as usize == i && NcType::named(t.1) == Some(t.0)));
    }

    #[test]
    fn text_and_names_are_escaped() {
        let quoted = |text: &str, ascii| {
            let mut out = Vec::new();
            push_quoted(&mut out, text.as_bytes(), ascii);
            String::from_utf8_lossy(&out).into_owned()
        };
        assert_eq!(quoted("a\"b\\\n\x01'é", false), r#""a\"b\\\n\001\'é""#);
        assert_eq!(quoted("é", true), r#""\303\251""#);
        assert_eq!(name("8 a-b:é 50%"), r"\8\ a-b\:é\ 50\%");
    }
}
