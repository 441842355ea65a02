//! Finds the numbers of a text that serde_json refuses (bare `NaN`, `Infinity`, `-Infinity`) or spells its own way (`1E5` as `1e+5`).

use super::scan::string_end;
use std::borrow::Cow;

/// The bare tokens that JSON forbids and that are read as numbers.
pub(super) const TOKENS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// For each of [`TOKENS`] a number with an exponent of as many bytes, so that places in errors stay right.
const STAND_INS: [&str; TOKENS.len()] = ["-0e000000", "0e000000", "0e0"];

/// A text for serde_json, and the spelling of each of its numbers that has an exponent.
pub(super) struct Spellings<'a> {
    pub text: Cow<'a, str>,
    pub numbers: Vec<&'a str>,
}

/// Finds the numbers of `text` that have an exponent. With `tokens`, a bare token is replaced by a stand-in and counts as such a number.
/// Does not check the text: invalid JSON stays invalid.
pub(super) fn of(text: &str, tokens: bool) -> Spellings<'_> {
    let (bytes, mut numbers, mut out) = (text.as_bytes(), Vec::new(), String::new());
    let (mut at, mut copied) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at = match byte {
            b'"' => string_end(bytes, at).min(bytes.len()),
            _ => at + bytes[at..].iter().take_while(|b| is_of_word(**b)).count().max(1),
        };
        if !is_of_word(byte) {
            continue;
        }
        let word = &text[start..at];
        if let Some(i) = TOKENS.iter().position(|token| tokens && *token == word) {
            out.push_str(&text[copied..start]);
            out.push_str(STAND_INS[i]);
            copied = at;
            numbers.push(word);
        } else if matches!(byte, b'-' | b'0'..=b'9') && word.contains(['e', 'E']) {
            numbers.push(word);
        }
    }
    if out.is_empty() {
        return Spellings { text: Cow::Borrowed(text), numbers };
    }
    out.push_str(&text[copied..]);
    Spellings { text: Cow::Owned(out), numbers }
}

/// Returns whether a byte belongs to a number or a bare word.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}
