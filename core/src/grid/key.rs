//! Chunk-key encodings: from a chunk's index to the end of its key, without allocation.
//! Specification: v3 core, "Chunk key encoding" (`default`, `v2`); v2, "Chunks".

use super::registered::RegisteredKeys;
use crate::error::Result;
use crate::limits::Dims;

/// How chunk indices become keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEncoding {
    /// v3 `default`: `c`, then the separator and an index for each dimension; `c` alone for rank 0.
    Default(Separator),
    /// v2: the indices joined by the separator; `0` for rank 0.
    V2(Separator),
    /// Like `Default`, with a text at the end of each key: one writer's `zarrs.default_suffix`.
    Suffixed(Separator, Suffix),
    /// Like `V2`, with a text at the end of each key: another writer's `suffix`.
    SuffixedV2(Separator, Suffix),
    /// One that a program has registered.
    Registered(&'static RegisteredKeys),
}

/// A short text behind every key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Suffix {
    bytes: [u8; Suffix::MAX],
    len: u8,
}

impl Suffix {
    /// The most bytes of a suffix.
    pub const MAX: usize = 30;

    /// Makes a suffix, or `None` if `text` is too long or has a character that the last part of a key must not have.
    pub fn new(text: &str) -> Option<Suffix> {
        let mut bytes = [0; Suffix::MAX];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        let fits = !text.chars().any(|c| c == '/' || c == '\\' || c.is_control());
        fits.then_some(Suffix { bytes, len: text.len() as u8 })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.bytes.get(..usize::from(self.len)).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or_default()
    }
}

impl std::fmt::Debug for Suffix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// The character between the indices of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// `.`
    Dot,
    /// `/`
    Slash,
}

impl Separator {
    /// The character.
    pub fn char(self) -> char {
        match self {
            Separator::Dot => '.',
            Separator::Slash => '/',
        }
    }
}

impl KeyEncoding {
    /// Returns the separator between the indices.
    pub fn separator(self) -> Separator {
        match self {
            KeyEncoding::Default(s) | KeyEncoding::V2(s) | KeyEncoding::Suffixed(s, _) | KeyEncoding::SuffixedV2(s, _) => s,
            KeyEncoding::Registered(_) => Separator::Slash,
        }
    }

    /// Returns the text behind every key.
    pub fn suffix(&self) -> &str {
        match self {
            KeyEncoding::Suffixed(_, suffix) | KeyEncoding::SuffixedV2(_, suffix) => suffix.as_str(),
            KeyEncoding::Default(_) | KeyEncoding::V2(_) | KeyEncoding::Registered(_) => "",
        }
    }

    /// Returns this encoding with `separator` instead of its own; a registered encoding stays as it is.
    pub fn with_separator(self, separator: Separator) -> KeyEncoding {
        match self {
            KeyEncoding::Default(_) => KeyEncoding::Default(separator),
            KeyEncoding::V2(_) => KeyEncoding::V2(separator),
            KeyEncoding::Suffixed(_, suffix) => KeyEncoding::Suffixed(separator, suffix),
            KeyEncoding::SuffixedV2(_, suffix) => KeyEncoding::SuffixedV2(separator, suffix),
            KeyEncoding::Registered(keys) => KeyEncoding::Registered(keys),
        }
    }

    /// The bytes that lead to the folder of all chunks between two of these keys: those of dimensions along which there is one chunk only.
    pub fn common_folder(self, first: &str, last: &str) -> usize {
        let same = match self {
            KeyEncoding::Registered(_) => 0,
            _ => first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count(),
        };
        first[..same].rfind('/').map_or(0, |at| at + 1)
    }

    /// Appends the key of a chunk to `key` (which holds the array's prefix). Errors: those of a registered encoding's function.
    pub fn push(self, index: impl ExactSizeIterator<Item = u64>, key: &mut String) -> Result<()> {
        let rank = index.len();
        let (separator, mut first) = match self {
            KeyEncoding::Default(s) | KeyEncoding::Suffixed(s, _) => {
                key.push('c');
                (s.char(), false)
            }
            KeyEncoding::V2(s) | KeyEncoding::SuffixedV2(s, _) => (s.char(), true),
            KeyEncoding::Registered(keys) => return keys.push(&index.collect::<Dims>(), key),
        };
        for i in index {
            if !first {
                key.push(separator);
            }
            first = false;
            push_number(i, key);
        }
        if rank == 0 && first {
            key.push('0');
        }
        key.push_str(self.suffix());
        Ok(())
    }

    /// Returns the index of the chunk whose key ends in `tail` (what follows the array's prefix), or `None` if `tail` is no chunk's.
    /// Errors: those of a registered encoding's functions.
    pub fn parse(self, tail: &str, rank: usize) -> Result<Option<Dims>> {
        match self {
            KeyEncoding::Registered(keys) => keys.parse(tail, rank),
            _ => Ok(self.parse_built_in(tail, rank)),
        }
    }

    /// Does the same for the encodings of the library.
    fn parse_built_in(self, tail: &str, rank: usize) -> Option<Dims> {
        let separator = self.separator();
        let numbers = match self {
            KeyEncoding::Registered(_) => return None,
            KeyEncoding::Suffixed(_, suffix) => {
                return KeyEncoding::Default(separator).parse_built_in(tail.strip_suffix(suffix.as_str())?, rank);
            }
            KeyEncoding::SuffixedV2(_, suffix) => {
                return KeyEncoding::V2(separator).parse_built_in(tail.strip_suffix(suffix.as_str())?, rank);
            }
            KeyEncoding::Default(_) if rank == 0 => return (tail == "c").then(Dims::new),
            KeyEncoding::V2(_) if rank == 0 => return (tail == "0").then(Dims::new),
            KeyEncoding::Default(Separator::Slash) => tail.strip_prefix("c/")?,
            KeyEncoding::Default(Separator::Dot) => tail.strip_prefix("c.")?,
            KeyEncoding::V2(_) => tail,
        };
        let canonical = |n: &str| (n == "0" || !n.starts_with('0')) && n.bytes().all(|b| b.is_ascii_digit());
        let index: Option<Dims> = numbers.split(separator.char()).map(|n| if canonical(n) { n.parse().ok() } else { None }).collect();
        index.filter(|i| i.len() == rank)
    }

    /// Returns the first indices of the chunks whose keys go on behind `tail` and a slash, or `None` if no chunk's key does.
    pub fn parse_folder(self, tail: &str, rank: usize) -> Option<Dims> {
        let plain = match self {
            KeyEncoding::Registered(_) => return Some(Dims::new()),
            KeyEncoding::Suffixed(separator, _) => KeyEncoding::Default(separator),
            KeyEncoding::SuffixedV2(separator, _) => KeyEncoding::V2(separator),
            other => other,
        };
        match plain {
            _ if plain.separator() == Separator::Dot => None,
            KeyEncoding::Default(_) if tail == "c" && rank > 0 => Some(Dims::new()),
            _ => (1..rank).find_map(|outer| plain.parse_built_in(tail, outer)),
        }
    }
}

/// Decimal digits without the formatting machinery: a chunk's key is made for every chunk.
fn push_number(n: u64, key: &mut String) {
    if n >= 10 {
        push_number(n / 10, key);
    }
    key.push((b'0' + (n % 10) as u8) as char);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_specifications() {
        let cases: &[(KeyEncoding, &[u64], &str)] = &[
            (KeyEncoding::Default(Separator::Slash), &[1, 23, 45], "c/1/23/45"),
            (KeyEncoding::Default(Separator::Dot), &[1, 23, 45], "c.1.23.45"),
            (KeyEncoding::Default(Separator::Slash), &[], "c"),
            (KeyEncoding::V2(Separator::Dot), &[2, 4], "2.4"),
            (KeyEncoding::V2(Separator::Slash), &[2, 40], "2/40"),
            (KeyEncoding::V2(Separator::Dot), &[], "0"),
            (KeyEncoding::V2(Separator::Dot), &[0, 10, u64::MAX], "0.10.18446744073709551615"),
            (KeyEncoding::Suffixed(Separator::Slash, Suffix::new(".tiff").unwrap()), &[1, 23], "c/1/23.tiff"),
            (KeyEncoding::Suffixed(Separator::Dot, Suffix::new(".c").unwrap()), &[], "c.c"),
            (KeyEncoding::Suffixed(Separator::Dot, Suffix::new("").unwrap()), &[7], "c.7"),
            (KeyEncoding::SuffixedV2(Separator::Slash, Suffix::new(".c").unwrap()), &[1, 23], "1/23.c"),
            (KeyEncoding::SuffixedV2(Separator::Dot, Suffix::new(".c").unwrap()), &[], "0.c"),
        ];
        for (encoding, index, want) in cases {
            let mut key = String::from("a/");
            encoding.push(index.iter().copied(), &mut key).unwrap();
            assert_eq!(key, format!("a/{want}"));
        }
    }

    #[test]
    fn chunk_keys_are_recognised_exactly() {
        let cases: &[(KeyEncoding, usize, &str, Option<&[u64]>)] = &[
            (KeyEncoding::Default(Separator::Slash), 2, "c/1/20", Some(&[1, 20])),
            (KeyEncoding::Default(Separator::Slash), 2, "c/1", None),
            (KeyEncoding::Default(Separator::Slash), 2, "c/01/2", None),
            (KeyEncoding::Default(Separator::Slash), 1, "zarr.json", None),
            (KeyEncoding::Default(Separator::Dot), 2, "c.1.2", Some(&[1, 2])),
            (KeyEncoding::Default(Separator::Dot), 0, "c", Some(&[])),
            (KeyEncoding::V2(Separator::Dot), 2, "0.0", Some(&[0, 0])),
            (KeyEncoding::V2(Separator::Dot), 2, "0.+1", None),
            (KeyEncoding::V2(Separator::Dot), 0, "0", Some(&[])),
            (KeyEncoding::V2(Separator::Slash), 2, "3/4", Some(&[3, 4])),
            (KeyEncoding::V2(Separator::Slash), 1, ".zarray", None),
            (KeyEncoding::V2(Separator::Slash), 1, "", None),
            (KeyEncoding::V2(Separator::Dot), 1, "99999999999999999999", None),
            (KeyEncoding::Suffixed(Separator::Slash, Suffix::new(".c").unwrap()), 2, "c/1/20.c", Some(&[1, 20])),
            (KeyEncoding::Suffixed(Separator::Slash, Suffix::new(".c").unwrap()), 2, "c/1/20", None),
            (KeyEncoding::Suffixed(Separator::Slash, Suffix::new("5").unwrap()), 1, "c/15", Some(&[1])),
            (KeyEncoding::Suffixed(Separator::Dot, Suffix::new(".c").unwrap()), 0, "c.c", Some(&[])),
            (KeyEncoding::SuffixedV2(Separator::Slash, Suffix::new(".c").unwrap()), 2, "1/20.c", Some(&[1, 20])),
            (KeyEncoding::SuffixedV2(Separator::Dot, Suffix::new(".c").unwrap()), 2, "1.20", None),
            (KeyEncoding::SuffixedV2(Separator::Dot, Suffix::new(".c").unwrap()), 0, "0.c", Some(&[])),
        ];
        for (keys, rank, tail, want) in cases {
            assert_eq!(keys.parse(tail, *rank).unwrap().as_deref(), *want, "{tail}");
        }
    }

    #[test]
    fn suffixes_are_short_and_stay_in_their_folder() {
        for bad in ["/x", "a\\b", "\0", "\n", "0123456789012345678901234567890"] {
            assert_eq!(Suffix::new(bad), None, "{bad:?}");
        }
        assert_eq!(Suffix::new("012345678901234567890123456789").unwrap().as_str().len(), Suffix::MAX);
        assert_eq!(Suffix::new(".é").unwrap().as_str(), ".é");
    }
}
