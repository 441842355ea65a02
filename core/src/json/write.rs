//! JSON written as text: compact, indented, or cut short for a message.

use super::value::{List, Map, Number, Text, Value};
use crate::error::{Error, Result, err};
use crate::limits;
use std::fmt::{self, Debug, Display, Formatter, Write};

/// The most bytes of a value that a message shows.
pub(crate) const BRIEF: usize = 40;
/// The widest list that is printed on one line, in bytes.
const LINE: usize = 100;

/// Returns the text of a document that is not long: indented by two spaces, short lists of scalars on one line, no newline at the end.
pub fn to_text(value: &Value) -> String {
    to_text_within(value, 0)
}

/// Returns the text of a value like [`to_text`], its lines indented for a place `depth` levels deep in another text.
pub fn to_text_within(value: &Value, depth: usize) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = write(&mut out, value, depth);
    out
}

/// Returns the text of a value like [`to_text_within`], however long; an error instead of an abort when memory is short.
pub fn text_of_any(value: &Value, depth: usize) -> Result<String> {
    let mut out = LongText(String::new());
    write(&mut out, value, depth).map_err(|_| out.refused())?;
    Ok(out.0)
}

/// Returns the shortest text of a value that is not long.
pub fn to_compact(value: &Value) -> String {
    value.to_string()
}

/// Returns the shortest text of a value, however long; an error instead of an abort when memory is short.
pub fn compact_of_any(value: &Value) -> Result<String> {
    let mut out = LongText(String::new());
    write!(out, "{value}").map_err(|_| out.refused())?;
    Ok(out.0)
}

/// A text that fails to grow when memory is short.
struct LongText(String);

impl LongText {
    #[cold]
    fn refused(&self) -> Error {
        err!(NoMemory, "no memory for a text of more than {} bytes", self.0.len())
    }
}

impl Write for LongText {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.capacity() - self.0.len() < text.len() {
            limits::make_text_room(&mut self.0, text.len()).map_err(|_| fmt::Error)?;
        }
        self.0.push_str(text);
        Ok(())
    }
}

fn write(out: &mut impl Write, value: &Value, depth: usize) -> fmt::Result {
    match value {
        Value::Array(items) if !items.is_empty() => match one_line(items) {
            Some(line) => out.write_str(&line),
            None => write_items(out, ['[', ']'], items.iter().map(|v| (None, v)), depth),
        },
        Value::Object(members) if !members.is_empty() => write_items(out, ['{', '}'], members.iter().map(|(k, v)| (Some(k), v)), depth),
        scalar_or_empty => write!(out, "{scalar_or_empty}"),
    }
}

/// Returns a list on one line, as `[1, 2, 3]`, or `None` if it is long or has items that are lists or objects.
fn one_line(items: &[Value]) -> Option<String> {
    let mut line = String::from("[");
    for (i, item) in items.iter().enumerate() {
        let length = match item {
            Value::String(text) | Value::HalfPairs(text) => text.len(),
            Value::Number(number) => number.other_text().map_or(0, str::len),
            _ => 0,
        };
        if item.is_array() || item.is_object() || line.len() + length > LINE {
            return None;
        }
        // Writing to a `String` cannot fail.
        let _ = write!(line, "{}{item}", if i > 0 { ", " } else { "" });
    }
    line.push(']');
    (line.len() <= LINE).then_some(line)
}

fn write_items<'a, W: Write>(
    out: &mut W,
    brackets: [char; 2],
    items: impl Iterator<Item = (Option<&'a Text>, &'a Value)>,
    depth: usize,
) -> fmt::Result {
    out.write_char(brackets[0])?;
    for (i, (name, value)) in items.enumerate() {
        out.write_str(if i > 0 { ",\n" } else { "\n" })?;
        indent(out, depth + 1)?;
        if let Some(name) = name {
            write_string(out, name)?;
            out.write_str(": ")?;
        }
        write(out, value, depth + 1)?;
    }
    out.write_char('\n')?;
    indent(out, depth)?;
    out.write_char(brackets[1])
}

/// Returns `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = write_string(&mut out, text);
    out
}

pub(super) fn indent(out: &mut impl Write, depth: usize) -> fmt::Result {
    const BLANKS: &str = "                                ";
    (0..2 * depth).step_by(BLANKS.len()).try_for_each(|done| out.write_str(&BLANKS[..(2 * depth - done).min(BLANKS.len())]))
}

/// Returns a value as messages show it: compact JSON, cut to about 40 bytes.
pub fn brief(value: &Value) -> String {
    /// Keeps what fits and stops the writer then, so that a huge value is not written out for a message.
    struct Brief(String);
    impl Write for Brief {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.extend(text.chars().take(BRIEF + 1));
            if self.0.len() > BRIEF { Err(std::fmt::Error) } else { Ok(()) }
        }
    }
    let mut cut = Brief(String::new());
    let whole = write!(cut, "{value}").is_ok();
    let text = cut.0;
    if whole {
        return text;
    }
    let end = (0..=BRIEF.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// The shortest text of a value.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(is_true) => Display::fmt(is_true, f),
            Value::Number(number) => Display::fmt(number, f),
            Value::HalfPairs(text) => f.write_str(text),
            Value::String(text) => write_string(f, text),
            Value::Array(items) => {
                f.write_char('[')?;
                for (i, item) in items.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    Display::fmt(item, f)?;
                }
                f.write_char(']')
            }
            Value::Object(members) => {
                f.write_char('{')?;
                for (i, (name, value)) in members.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    write_string(f, name)?;
                    f.write_char(':')?;
                    Display::fmt(value, f)?;
                }
                f.write_char('}')
            }
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Returns whether a terminal acts on a character instead of showing it: control characters, ends of lines, and marks that turn the
/// direction of text. Names in files may have them, to hide what they are.
pub fn acts_on_terminals(c: char) -> bool {
    c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A string with its quotation marks.
fn write_string(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    if text.bytes().all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\')) {
        out.write_str(text)?;
        return out.write_char('"');
    }
    let mut written = 0;
    for (i, c) in text.char_indices().filter(|&(_, c)| matches!(c, '"' | '\\') || acts_on_terminals(c)) {
        out.write_str(&text[written..i])?;
        written = i + c.len_utf8();
        match c {
            '"' | '\\' => write!(out, "\\{c}")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\u{8}' => out.write_str("\\b")?,
            '\u{c}' => out.write_str("\\f")?,
            _ => write!(out, "\\u{:04x}", u32::from(c))?,
        }
    }
    out.write_str(&text[written..])?;
    out.write_char('"')
}

impl Debug for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl Debug for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl Debug for List {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Debug for Map {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
