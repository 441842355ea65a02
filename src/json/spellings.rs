//! Finds the numbers of a text that serde_json refuses (bare `NaN`, `Infinity`, `-Infinity`) or spells its own way (`1E5` as `1e+5`).

use super::scan::string_end;
use std::borrow::Cow;

/// The bare tokens that JSON forbids and that are read as numbers.
pub(super) const TOKENS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// For each of [`TOKENS`] a number with an exponent of as many bytes, so that places in errors stay right.
const STAND_INS: [&str; TOKENS.len()] = ["-0e000000", "0e000000", "0e0"];

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

/// Finds the numbers of `text` that have an exponent. With `tokens`, a bare token is replaced by a stand-in and counts as such a number.
/// Does not check the text: invalid JSON stays invalid.
pub(super) fn of(text: &str, tokens: bool) -> Spellings<'_> {
    let (bytes, mut numbers, mut out) = (text.as_bytes(), Vec::new(), String::new());
    let (mut at, mut copied) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        if byte == b'"' {
            at = string_end(bytes, at);
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
