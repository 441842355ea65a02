//! Brings to serde_json what it refuses: the bare tokens `NaN`, `Infinity` and `-Infinity`, numbers that no double can hold, and strings that are
//! no Unicode. Finds again how numbers are spelled.

use super::scan::string_end;
use crate::error::Result;
use crate::limits::make_text_room;
use serde_core::de::IgnoredAny;
use std::ops::Range;

/// The bare tokens that JSON forbids and that are read as numbers.
pub(super) const TOKENS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The number in the place of something else, with blanks behind it, so that places in errors stay right.
const STAND_IN: &str = "0e0";

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

/// Whether a word is a number of JSON that no double can hold.
fn is_beyond(word: &str) -> bool {
    serde_json::from_str::<f64>(word).is_err() && serde_json::from_str::<IgnoredAny>(word).is_ok()
}

/// Whether a word is a number, but no integer of 64 bits as serde_json reads them.
fn is_other_number(word: &str) -> bool {
    match word.as_bytes() {
        [b'-', ..] => word == "-0" || word.parse::<i64>().is_err(),
        [b'0'..=b'9', ..] => word.parse::<u64>().is_err(),
        _ => false,
    }
}

fn is_of_word(byte: &u8) -> bool {
    OF_WORD[usize::from(*byte)]
}

/// The string or word that begins at `at`.
pub(super) fn token_at(text: &str, at: usize) -> &str {
    let bytes = text.as_bytes();
    let end = match bytes.get(at) {
        Some(b'"') => string_end(bytes, at),
        _ => at + bytes[at..].iter().take_while(|byte| is_of_word(byte)).count(),
    };
    &text[at..end]
}

/// The strings and words of a text from `at` on.
fn tokens_from(text: &str, mut at: usize) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        at += bytes.get(at..)?.iter().position(|byte| *byte == b'"' || is_of_word(byte))?;
        let begin = at;
        at += token_at(text, at).len();
        Some(begin..at)
    })
}

/// The place of the first number from `at` on, which is in no string, that is no integer of 64 bits.
pub(super) fn next_number(text: &str, at: usize) -> Option<Range<usize>> {
    tokens_from(text, at).find(|place| is_other_number(&text[place.clone()]))
}

/// Returns the text with a number in the place of each number that no double can hold and, with `tokens`, of each bare token and each string that is
/// no Unicode; `None` where it has none of them.
/// Does not check the text: invalid JSON stays invalid.
pub(super) fn with_stand_ins(text: &str, tokens: bool) -> Result<Option<String>> {
    let (bytes, mut out, mut copied) = (text.as_bytes(), String::new(), 0);
    for place in tokens_from(text, 0) {
        let token = &text[place.clone()];
        let is_refused = match token.as_bytes() {
            // Behind a part of a number the stand-in would end it.
            [b'"', ..] => tokens && !bytes[..place.start].last().is_some_and(is_of_word) && is_half_text(text, place.clone()),
            [b'-' | b'0'..=b'9', ..] if is_beyond(token) => true,
            _ => tokens && TOKENS.contains(&token),
        };
        if is_refused {
            if out.is_empty() {
                make_text_room(&mut out, text.len())?;
            }
            out.push_str(&text[copied..place.start]);
            out.push_str(STAND_IN);
            out.extend(std::iter::repeat_n(' ', token.len() - STAND_IN.len()));
            copied = place.end;
        }
    }
    if out.is_empty() {
        return Ok(None);
    }
    out.push_str(&text[copied..]);
    Ok(Some(out))
}
