//! Texts of JSON values: short ones in themselves, longer ones shared by their copies.

use std::borrow::Borrow;
use std::fmt::{self, Debug, Display, Formatter};
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A string, or the name of a member. Up to 23 bytes need no memory of their own; longer ones are shared by their copies.
///
/// It has three words: the bytes of a short text, zeros, and its length in the last byte; or address and length of an `Arc<str>`, and `LONG`. Words
/// are made whole: a processor waits before it reads as one what was just stored in pieces, and there are thirty texts in an array's document.
#[derive(Default)]
pub struct Text(Words);

type Words = [u64; 3];

/// The last word of a longer text: the last byte is the length of no short one.
const LONG: u64 = u64::MAX;

impl Text {
    /// Copies a text.
    #[inline(always)]
    pub fn new(text: &str) -> Text {
        Text::short(text).unwrap_or_else(|| Text::long(text.into()))
    }

    /// Copies a text that needs no memory of its own; `None` if it is longer.
    #[inline(always)]
    pub(super) fn short(text: &str) -> Option<Text> {
        words_of(text).map(Text)
    }

    /// Whether it is the short text with these words.
    #[inline]
    pub(super) fn has_words(&self, [first, second, last]: Words) -> bool {
        self.0[2] == last && self.0[0] == first && self.0[1] == second
    }

    #[cold]
    fn long(text: Arc<str>) -> Text {
        let length = text.len() as u64;
        Text([Arc::into_raw(text).cast::<u8>() as u64, length, LONG])
    }

    fn is_long(&self) -> bool {
        self.0[2] == LONG
    }

    /// Where the text is; that of a longer one was the address of an `Arc`.
    fn place(&self) -> *const str {
        let (address, length) = match self.is_long() {
            true => (self.0[0] as *const u8, self.0[1]),
            false => (self.0.as_ptr().cast(), self.0[2] >> 56),
        };
        std::ptr::slice_from_raw_parts(address, length as usize) as *const str
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // SAFETY: there are the bytes of a `str`, for as long as `self` is there.
        unsafe { &*self.place() }
    }
}

/// The words of a short text; `None` for a longer one.
#[inline(always)]
pub(super) fn words_of(text: &str) -> Option<Words> {
    let (bytes, length) = (text.as_bytes(), (text.len() as u64) << 56);
    let Some(last) = bytes.last_chunk().map(|last| u64::from_le_bytes(*last)) else { return Some([few(bytes), 0, length]) };
    let word = |at| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word));
    // Of the last eight bytes those that no whole word before them has.
    let rest = last.unbounded_shr(64 - 8 * (text.len() as u32 % 8));
    match text.len() {
        ..16 => Some([word(0), rest, length]),
        16..24 => Some([word(0), word(8), rest | length]),
        _ => None,
    }
}

/// Up to seven bytes as a word, zeros behind them.
fn few(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk(), bytes.last_chunk(), bytes) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (bytes.len() - 4))
        }
        (_, _, [first, .., last]) => {
            let middle = bytes.len() / 2;
            u64::from(*first) | u64::from(bytes[middle]) << (8 * middle) | u64::from(*last) << (8 * (bytes.len() - 1))
        }
        _ => bytes.first().map_or(0, |only| u64::from(*only)),
    }
}

impl Drop for Text {
    #[inline]
    fn drop(&mut self) {
        if self.is_long() {
            // SAFETY: it is that of an `Arc`, of which this text has one reference.
            drop(unsafe { Arc::from_raw(self.place()) });
        }
    }
}

impl Clone for Text {
    #[inline]
    fn clone(&self) -> Text {
        if self.is_long() {
            // SAFETY: as above; the new text has another one.
            unsafe { Arc::increment_strong_count(self.place()) };
        }
        Text(self.0)
    }
}

impl PartialEq for Text {
    #[inline]
    fn eq(&self, other: &Text) -> bool {
        self.has_words(other.0) || self.is_long() && other.is_long() && self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

/// As that of `str`: tables are asked by it.
impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl Deref for Text {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Debug for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.as_str(), f)
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self.as_str(), f)
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::new(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::new(&text)
    }
}

impl From<Text> for String {
    fn from(text: Text) -> String {
        text.as_str().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length_are_what_they_were_made_of() {
        let letters = "abcdefghijklmnopqrstuvwxyzäöü€";
        for (end, _) in letters.char_indices() {
            for begin in 0..end.min(26) {
                let (whole, text) = (&letters[begin..end], Text::new(&letters[begin..end]));
                let copy = text.clone();
                assert_eq!(text.is_long(), whole.len() > 23);
                drop(text);
                assert_eq!((copy.as_str(), copy.to_string().as_str()), (whole, whole));
                assert!(copy == Text::new(whole) && copy == *whole && copy != Text::new(&letters[begin..]), "{whole}");
            }
        }
        assert_eq!((Text::default(), Text::new("\0") == Text::default()), (Text::new(""), false));
    }
}
