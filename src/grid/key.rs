//! Chunk-key encodings: from a chunk's index to the end of its key, without allocation.
//! Specification: v3 core, "Chunk key encoding" (`default`, `v2`); v2, "Chunks".

/// How chunk indices become keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEncoding {
    /// v3 `default`: `c`, then the separator and an index for each dimension; `c` alone for rank 0.
    Default(Separator),
    /// v2: the indices joined by the separator; `0` for rank 0.
    V2(Separator),
}

/// What stands between the indices.
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
    /// Appends the key of a chunk to `key` (which holds the array's prefix).
    pub fn push(self, index: impl ExactSizeIterator<Item = u64>, key: &mut String) {
        let rank = index.len();
        let (separator, mut first) = match self {
            KeyEncoding::Default(s) => {
                key.push('c');
                (s.char(), false)
            }
            KeyEncoding::V2(s) => (s.char(), true),
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
    }
}

/// Decimal digits without the formatting machinery: a chunk's key is made for every chunk.
fn push_number(mut n: u64, key: &mut String) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    digits[at..].iter().for_each(|&d| key.push(d as char));
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
        ];
        for (encoding, index, want) in cases {
            let mut key = String::from("a/");
            encoding.push(index.iter().copied(), &mut key);
            assert_eq!(key, format!("a/{want}"));
        }
    }
}
