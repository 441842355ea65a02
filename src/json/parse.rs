//! The reader of JSON: RFC 8259, and where it is asked for the bare tokens `NaN`, `Infinity` and `-Infinity`.
//!
//! A reader of our own because these tokens, numbers with their source text and values that share their contents are what no
//! library gives together, and because opening an array is little more than this.

use super::value::{List, Map, MemberList, Number, Text, Value};
use crate::error::{Error, Result, err};
use smallvec::SmallVec;

/// How deep lists and objects may be nested.
pub(super) const MAX_DEPTH: usize = 127;

/// Reads one value, with nothing but blanks around it. The error says line and column (in bytes, from 1).
pub(super) fn value(bytes: &[u8], tokens: bool) -> Result<Value> {
    let text = std::str::from_utf8(bytes).map_err(|e| at(bytes, e.valid_up_to(), "the text is not UTF-8"))?;
    let mut reader = Reader { text, bytes, at: 0, depth: 0, tokens };
    let whole = reader.value().and_then(|value| match reader.next() {
        None => Ok(value),
        Some(_) => Err("trailing characters"),
    });
    whole.map_err(|reason| at(bytes, reader.at, reason))
}

/// The error at an offset; that of a text which ends too early is its last byte.
fn at(bytes: &[u8], offset: usize, reason: &str) -> Error {
    let before = &bytes[..(offset + 1).min(bytes.len())];
    let ends_early = offset >= bytes.len();
    let newlines = before.iter().filter(|b| **b == b'\n').count();
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    let what = if ends_early { "EOF while parsing: " } else { "" };
    err!(Metadata, "invalid JSON at line {}, column {}: {what}{reason}", 1 + newlines, before.len() - start)
}

/// Why a text is no JSON; the place is where the reader stands.
type Read<T> = std::result::Result<T, &'static str>;

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    /// Bare tokens are numbers.
    tokens: bool,
}

impl Reader<'_> {
    /// The next byte that is no blank, without taking it.
    fn next(&mut self) -> Option<u8> {
        loop {
            match *self.bytes.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1 + spaces(&self.bytes[self.at + 1..]),
                byte => return Some(byte),
            }
        }
    }

    /// Takes the next byte that is no blank, if it is this.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.next() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self) -> Read<Value> {
        match self.next().ok_or("expected value")? {
            b'"' => self.string().map(Value::String),
            b'{' => self.nested(Reader::object),
            b'[' => self.nested(Reader::list),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            b'N' if self.tokens => self.token("NaN"),
            b'I' if self.tokens => self.token("Infinity"),
            _ => Err("expected value"),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Read<Value>) -> Read<Value> {
        if self.depth == MAX_DEPTH {
            return Err("recursion limit exceeded");
        }
        self.at += 1;
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn list(&mut self) -> Read<Value> {
        let mut items = SmallVec::new();
        if !self.takes(b']') {
            loop {
                let item = self.value()?;
                items.push(item);
                if self.ends(b']', "expected `,` or `]`")? {
                    break;
                }
            }
        }
        Ok(Value::Array(List::of_read(items)))
    }

    fn object(&mut self) -> Read<Value> {
        let mut members = MemberList::new();
        if !self.takes(b'}') {
            loop {
                if self.next().ok_or("expected a string")? != b'"' {
                    return Err("the name of a member must be a string");
                }
                let name = self.string()?;
                if !self.takes(b':') {
                    return Err("expected `:`");
                }
                let value = self.value()?;
                members.push((name, value));
                if self.ends(b'}', "expected `,` or `}`")? {
                    break;
                }
            }
        }
        Ok(Value::Object(Map::of_read(members)))
    }

    /// Whether a list or object ends behind a value, or goes on.
    fn ends(&mut self, closing: u8, otherwise: &'static str) -> Read<bool> {
        match self.next() {
            Some(b',') => {
                self.at += 1;
                match self.next() {
                    Some(byte) if byte == closing => Err("trailing comma"),
                    _ => Ok(false),
                }
            }
            Some(byte) if byte == closing => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(otherwise),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Read<Value> {
        for expected in word.bytes() {
            if self.bytes.get(self.at) != Some(&expected) {
                return Err("expected ident");
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn token(&mut self, token: &'static str) -> Read<Value> {
        self.word(token, Value::Number(Number::of_text(Text::new_static(token))))
    }

    /// As it is written: `-? (0 | [1-9] [0-9]*) (\. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
    fn number(&mut self) -> Read<Value> {
        let start = self.at;
        self.at += usize::from(self.bytes[start] == b'-');
        match self.bytes.get(self.at) {
            Some(b'0') => {
                self.at += 1;
                if matches!(self.bytes.get(self.at), Some(b'0'..=b'9')) {
                    return Err("invalid number");
                }
            }
            Some(b'I') if self.tokens && self.at > start => {
                self.word("Infinity", Value::Null)?;
                return Ok(Value::Number(Number::of_text(Text::new_static("-Infinity"))));
            }
            _ => self.digits()?,
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(Value::Number(Number::of_text(Text::new(&self.text[start..self.at]))))
    }

    /// One digit or more.
    fn digits(&mut self) -> Read<()> {
        let count = self.bytes[self.at.min(self.bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err("invalid number") } else { Ok(()) }
    }

    /// The string whose quotation mark is next.
    fn string(&mut self) -> Read<Text> {
        self.at += 1;
        let start = self.at;
        self.plain()?;
        if self.bytes[self.at] == b'"' {
            self.at += 1;
            return Ok(Text::new(&self.text[start..self.at - 1]));
        }
        let mut out = String::from(&self.text[start..self.at]);
        loop {
            let is_end = self.bytes[self.at] == b'"';
            self.at += 1;
            if is_end {
                return Ok(out.into());
            }
            out.push(self.escaped()?);
            let start = self.at;
            self.plain()?;
            out.push_str(&self.text[start..self.at]);
        }
    }

    /// Goes on to the next quotation mark or backslash, which is there.
    fn plain(&mut self) -> Read<()> {
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1F);
        let rest = &self.bytes[self.at..];
        let (words, last) = rest.as_chunks::<8>();
        let found = words.iter().enumerate().find_map(|(i, word)| Some(i * 8 + first_special(u64::from_le_bytes(*word))?));
        let found = found.or_else(|| Some(words.len() * 8 + last.iter().position(is_special)?));
        self.at += found.ok_or("a string without end")?;
        if self.bytes[self.at] < 0x20 {
            return Err("control character (\\u0000-\\u001F) found while parsing a string");
        }
        Ok(())
    }

    /// The character of an escape whose backslash was taken.
    fn escaped(&mut self) -> Read<char> {
        let byte = *self.bytes.get(self.at).ok_or("a string without end")?;
        let character = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err("invalid escape"),
        };
        self.at += 1;
        Ok(character)
    }

    /// The character of a `u` and four digits, or of two such that make a pair of surrogates.
    fn unicode(&mut self) -> Read<char> {
        const LONE: &str = "lone surrogate in hex escape";
        let first = self.hexadecimal()?;
        if !(0xD800..0xE000).contains(&first) {
            return char::from_u32(first).ok_or(LONE);
        }
        if first >= 0xDC00 || !self.bytes[self.at..].starts_with(b"\\u") {
            return Err(LONE);
        }
        self.at += 1;
        let second = self.hexadecimal()?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(LONE);
        }
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or(LONE)
    }

    /// Four digits behind a `u`.
    fn hexadecimal(&mut self) -> Read<u32> {
        self.at += 1;
        let mut number = 0;
        for _ in 0..4 {
            let byte = *self.bytes.get(self.at).ok_or("a string without end")?;
            number = number * 16 + char::from(byte).to_digit(16).ok_or("invalid escape")?;
            self.at += 1;
        }
        Ok(number)
    }
}

/// How many spaces stand at the beginning, of the next eight bytes: the margins of indented lines are long.
fn spaces(bytes: &[u8]) -> usize {
    let word = bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    (word ^ u64::from_ne_bytes([b' '; 8])).trailing_zeros() as usize / 8
}

/// Which of eight bytes, the lowest first, is the first to end a stretch of plain characters of a string.
fn first_special(word: u64) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = ONES << 7;
    // The top bit of each byte that is less than `n`; above such a byte also of others.
    let less = |word: u64, n: u64| word.wrapping_sub(ONES * n) & !word & TOPS;
    let is = |byte: u8| less(word ^ (ONES * u64::from(byte)), 1);
    let special = less(word, 0x20) | is(b'"') | is(b'\\');
    (special != 0).then(|| special.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What serde_json makes of the same text; `None` where it is none.
    fn peer(bytes: &[u8]) -> Option<String> {
        let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
        Some(with_one_exponent(&value.to_string()))
    }

    fn own(bytes: &[u8]) -> Option<String> {
        value(bytes, false).ok().map(|value| with_one_exponent(&value.to_string()))
    }

    /// serde_json's numbers have an exponent of one spelling. (That the texts' letters change, too, is no matter here.)
    fn with_one_exponent(text: &str) -> String {
        text.replace('E', "e").replace("e+", "e")
    }

    const WHOLE: &[&str] = &[
        r#"{"a":[1,2.5,-0.0,1e+5,{"b":null}],"c":"é\u00e9\ud83d\ude00\n\"\\\/\b\f\r\t","":{"x":[]},"long":"0123456789012345678901234567890123456789"}"#,
        " [ true , false , null , \"\u{1F600}\" , 18446744073709551615 , -9223372036854775808 ]\n",
        r#"{"a":1,"b":2,"a":{"a":1,"a":2},"c":3}"#,
        "\"\\u0000\\u001f\\u007f\\uffff\"",
        "0",
    ];

    #[test]
    fn texts_are_read_as_serde_json_reads_them() {
        let cases = [
            "",
            " ",
            "{",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{a:1}",
            "{1:1}",
            "[1 2]",
            "tru",
            "nul",
            "truex",
            "01",
            "-",
            "-01",
            "1.",
            ".5",
            "1.5.",
            "1e",
            "1e+",
            "+1",
            "0x1",
            "--1",
            "\"",
            "\"\\",
            "\"\\u",
            "\"\\u12\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\\ud800\\u0041\"",
            "\"\\ud800x\"",
            "\"a\nb\"",
            "\"\u{7f}\"",
            "NaN",
            "[Infinity]",
            "-Infinity",
            "1 2",
            "[1]]",
            "{}{}",
            "'a'",
            "/**/1",
            "[\u{a0}1]",
            "1e400",
            "-0",
            "1E5",
            "1e5",
            "123456789012345678901234567890.5",
            "[[[[]]]]",
        ];
        for text in cases.iter().chain(WHOLE) {
            let (found, expected) = (own(text.as_bytes()), peer(text.as_bytes()));
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn damaged_texts_are_read_as_serde_json_reads_them() {
        let mut seed = 1u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % below
        };
        let letters = b"\"\\{}[],:0123456789-+.eEutrfalsn \n\x00\x1f\x80\xc3\xa9\xf0";
        for round in 0..20_000 {
            let mut bytes = WHOLE[round % WHOLE.len()].as_bytes().to_vec();
            for _ in 0..=random(3) {
                let (place, letter) = (random(bytes.len()), letters[random(letters.len())]);
                match random(3) {
                    0 => bytes[place] = letter,
                    1 => bytes.insert(place, letter),
                    _ => drop(bytes.remove(place)),
                }
                if bytes.is_empty() {
                    bytes.push(b'1');
                }
            }
            assert_eq!(own(&bytes), peer(&bytes), "{:?}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn of_many_members_with_one_name_the_last_counts_in_the_place_of_the_first() {
        for count in [3, 100] {
            let mut text = String::from("{");
            (0..count).for_each(|i| text.push_str(&format!("\"n{i}\":{i},")));
            text.push_str("\"n1\":\"last\"}");
            let value = value(text.as_bytes(), false).unwrap();
            let members = value.as_object().unwrap();
            assert_eq!((members.len(), &members["n1"]), (count, &Value::from("last")));
            assert_eq!(members.keys().nth(1).unwrap(), "n1");
        }
    }
}
