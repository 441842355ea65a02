//! Finds the numbers of a text that serde_json refuses (bare `NaN`, `Infinity`, `-Infinity`) or spells its own way (`1E5` as `1e+5`), and
//! the strings that it refuses because they are no Unicode.

use super::scan::string_end;
use crate::error::Result;
use crate::limits::{make_text_room, push};
use serde_core::de::IgnoredAny;
use std::borrow::Cow;
use std::ops::Range;

/// The bare tokens that JSON forbids and that are read as numbers.
pub(super) const TOKENS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// For each of [`TOKENS`] a number with an exponent of as many bytes, so that places in errors stay right.
const STAND_INS: [&str; TOKENS.len()] = ["-0e000000", "0e000000", "0e0"];

/// The number in the place of a string, with blanks behind it.
const TEXT_STAND_IN: &str = "0e0";

/// Whether each byte belongs to a number or a bare word.
const OF_WORD: [bool; 256] = {
    let mut of_word = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        of_word[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        byte += 1;
    }
    of_word
};

/// A text for serde_json, and the spelling of each of its numbers that has an exponent.
pub(super) struct Spellings<'a> {
    pub text: Cow<'a, str>,
    pub numbers: Vec<&'a str>,
}

/// Whether the string at `place` is the value of a member or an item, and has the escape of one half of a surrogate pair without the other,
/// which Python writes for bytes that are no UTF-8 and no `str` can hold; otherwise it is as JSON has it.
fn is_half_text(text: &str, place: Range<usize>) -> bool {
    let (mut rest, mut has_half) = (&text[place.clone()], false);
    while let Some(escape) = rest.find('\\') {
        let end = escape + if rest[escape..].starts_with("\\u") { 6 } else { 2 };
        if !rest.is_char_boundary(end) {
            return false;
        }
        let half = |at: usize, low: bool| {
            let unit = rest.get(at..at + 6).and_then(|s| s.strip_prefix("\\u")).and_then(|s| u16::from_str_radix(s, 16).ok());
            unit.is_some_and(|u| if low { (0xDC00..0xE000).contains(&u) } else { (0xD800..0xDC00).contains(&u) })
        };
        let end = if half(escape, false) && half(end, true) { end + 6 } else { end };
        let is_half = end == escape + 6 && (half(escape, false) || half(escape, true));
        has_half |= is_half;
        rest = &rest[end..];
    }
    let is_name = || text[place.end..].trim_ascii_start().starts_with(':');
    // What is not kept is read without a look at pairs.
    has_half && !is_name() && serde_json::from_str::<IgnoredAny>(&text[place.clone()]).is_ok()
}

/// Makes room for the text with stand-ins, which is as long.
fn begin_stand_ins(out: &mut String, text: &str) -> Result<()> {
    if out.is_empty() { make_text_room(out, text.len()) } else { Ok(()) }
}

/// Finds the numbers of `text` that have an exponent. With `tokens`, a bare token is replaced by a stand-in and counts as such a number,
/// and so is a string that is no Unicode.
/// Does not check the text: invalid JSON stays invalid.
pub(super) fn of(text: &str, tokens: bool) -> Result<Spellings<'_>> {
    let (bytes, mut numbers, mut out) = (text.as_bytes(), Vec::new(), String::new());
    let (mut at, mut copied) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        if byte == b'"' {
            at = string_end(bytes, at);
            // Behind a part of a number the stand-in would end it.
            let is_alone = start == 0 || !OF_WORD[usize::from(bytes[start - 1])];
            if tokens && is_alone && is_half_text(text, start..at) {
                begin_stand_ins(&mut out, text)?;
                out.push_str(&text[copied..start]);
                out.push_str(TEXT_STAND_IN);
                out.extend(std::iter::repeat_n(' ', at - start - TEXT_STAND_IN.len()));
                copied = at;
                push(&mut numbers, &text[start..at])?;
            }
            continue;
        }
        at += 1;
        if !OF_WORD[usize::from(byte)] {
            continue;
        }
        while bytes.get(at).is_some_and(|b| OF_WORD[usize::from(*b)]) {
            at += 1;
        }
        let word = &text[start..at];
        if let Some(i) = TOKENS.iter().position(|token| tokens && *token == word) {
            begin_stand_ins(&mut out, text)?;
            out.push_str(&text[copied..start]);
            out.push_str(STAND_INS[i]);
            copied = at;
            push(&mut numbers, word)?;
        } else if matches!(byte, b'-' | b'0'..=b'9') && word.contains(['e', 'E']) {
            push(&mut numbers, word)?;
        }
    }
    if out.is_empty() {
        return Ok(Spellings { text: Cow::Borrowed(text), numbers });
    }
    out.push_str(&text[copied..]);
    Ok(Spellings { text: Cow::Owned(out), numbers })
}
