//! Versions of what the functions of a program give: their tokens, or digests.

use super::Version;
use std::hash::{DefaultHasher, Hash, Hasher};

/// In the last byte of a version that is no token itself.
const TOKEN: u8 = 0xfe;
const CONTENT: u8 = 0xff;

/// Returns the version of a value that has no token: a digest of its bytes.
pub(super) fn digest_of(bytes: &[u8]) -> Version {
    digest(bytes, CONTENT)
}

/// Returns the version of a token. A short token is its own version, with its length in the last byte; a longer one has a digest.
pub(super) fn version_of_token(token: &[u8]) -> Version {
    if token.len() > 31 {
        return digest(token, TOKEN);
    }
    let mut bytes = [0; 32];
    bytes[..token.len()].copy_from_slice(token);
    bytes[31] = token.len() as u8;
    from_bytes(bytes)
}

/// Returns the token of a version that is one.
pub(super) fn short_token(version: &Version) -> Option<Vec<u8>> {
    let mut bytes = [0; 32];
    for (to, word) in bytes.chunks_exact_mut(8).zip(version.words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    bytes.get(..usize::from(bytes[31])).filter(|_| bytes[31] < 32).map(<[u8]>::to_vec)
}

fn digest(bytes: &[u8], kind: u8) -> Version {
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, bytes).hash(&mut hasher);
        hasher.finish()
    };
    let mut version = [hash(1), hash(2), bytes.len() as u64, 0];
    version[3] = u64::from_ne_bytes([0, 0, 0, 0, 0, 0, 0, kind]);
    Version::new(version)
}

fn from_bytes(bytes: [u8; 32]) -> Version {
    let mut words = [0; 4];
    for (word, from) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        let mut eight = [0; 8];
        eight.copy_from_slice(from);
        *word = u64::from_ne_bytes(eight);
    }
    Version::new(words)
}
