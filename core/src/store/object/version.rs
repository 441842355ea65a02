//! What a server says of an object's state, as a [`Version`]: its ETag, so that it can be had back, or what else there is.

use crate::store::Version;
use crate::store::os::hash;
use object_store::ObjectMeta;

const MD5: u8 = 1;
const MD5_OF_PARTS: u8 = 2;
const SHORT: u8 = 3;
const HASHED: u8 = 4;
/// In the first word of a version by hash: the tag is weak. The hash is of the strong one.
const HASHED_WEAK: u64 = 1 << 8;

/// The version of what a server told. An object without an ETag is known by its time and length.
pub(super) fn version_of(meta: &ObjectMeta) -> Version {
    match &meta.e_tag {
        Some(tag) => version_of_tag(tag),
        None => Version::untagged(u64::try_from(meta.last_modified.timestamp()).unwrap_or(0), meta.size),
    }
}

fn version_of_tag(tag: &str) -> Version {
    if let Some(version) = timed(tag) {
        return version;
    }
    let mut bytes = [0; 32];
    pack(tag, &mut bytes);
    let word = |i: usize| bytes[8 * i..8 * i + 8].iter().rev().fold(0, |all, &b| all << 8 | u64::from(b));
    Version::new([word(0), word(1), word(2), word(3)])
}

/// Whether two versions are of one object by the weak comparison of RFC 9110, 8.8.3.2: servers make the tag of a file weak while it is young,
/// and proxies that of what they pack. This is enough for a read, not for a put on a condition, nor for a body of two answers.
pub(super) fn are_of_one(a: Version, b: Version) -> bool {
    a == b || weakened(a) == weakened(b)
}

/// The version that the weak tag of the same characters gives.
fn weakened(version: Version) -> Version {
    let [first, b, c, d] = version.words;
    match tag_of(version) {
        Some(tag) if tag.starts_with("W/") => version,
        Some(tag) => version_of_tag(&format!("W/{tag}")),
        None if first == u64::from(HASHED) => Version::new([first | HASHED_WEAK, b, c, d]),
        None => version,
    }
}

/// The version of an ETag as nginx makes it, of a time and a length: it tells no more than these do.
fn timed(tag: &str) -> Option<Version> {
    let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let weak = tag.starts_with("W/");
    let (seconds, len) = tag.trim_start_matches("W/").trim_matches('"').split_once('-')?;
    let (seconds, len) = (number(seconds)?, number(len)?);
    (seconds <= u64::from(u32::MAX) && timed_tag(seconds, len, weak) == tag).then(|| Version::timed(seconds, len, weak))
}

/// The ETag that is made of a time and a length.
fn timed_tag(seconds: u64, len: u64, weak: bool) -> String {
    format!("{}\"{seconds:x}-{len:x}\"", if weak { "W/" } else { "" })
}

/// The ETag of a version, where it can be had back.
pub(super) fn tag_of(version: Version) -> Option<String> {
    if let Some((seconds, len, weak)) = version.as_timed() {
        return Some(timed_tag(seconds, len, weak));
    }
    let mut bytes = [0; 32];
    for (i, word) in version.words.iter().enumerate() {
        bytes[8 * i..8 * i + 8].copy_from_slice(&word.to_le_bytes());
    }
    let hex = || bytes[1..17].iter().map(|b| format!("{b:02x}")).collect::<String>();
    match bytes[0] {
        MD5 => Some(format!("\"{}\"", hex())),
        MD5_OF_PARTS => Some(format!("\"{}-{}\"", hex(), u32::from_le_bytes([bytes[17], bytes[18], bytes[19], bytes[20]]))),
        SHORT => String::from_utf8(bytes.get(2..2 + usize::from(bytes[1]))?.to_vec()).ok(),
        _ => None,
    }
}

/// As [`tag_of`], if it may be asked for: weak tags never match.
pub(super) fn strong_tag_of(version: Version) -> Option<String> {
    tag_of(version).filter(|tag| !tag.starts_with("W/"))
}

fn pack(tag: &str, bytes: &mut [u8; 32]) {
    if pack_md5(tag, bytes).is_some() {
        return;
    }
    *bytes = [0; 32];
    if let Some(room) = bytes.get_mut(2..2 + tag.len()) {
        room.copy_from_slice(tag.as_bytes());
        (bytes[0], bytes[1]) = (SHORT, tag.len() as u8);
        return;
    }
    let (strong, is_weak) = tag.strip_prefix("W/").map_or((tag, false), |strong| (strong, true));
    bytes[..8].copy_from_slice(&(u64::from(HASHED) | if is_weak { HASHED_WEAK } else { 0 }).to_le_bytes());
    for (i, room) in bytes[8..].chunks_mut(8).enumerate() {
        room.copy_from_slice(&hash(format!("{i}{strong}").as_bytes()).to_le_bytes());
    }
}

/// A tag of 32 hexadecimal digits, and perhaps a number of parts.
fn pack_md5(tag: &str, bytes: &mut [u8; 32]) -> Option<()> {
    let inside = tag.strip_prefix('"')?.strip_suffix('"')?;
    let (digits, parts) = inside.split_once('-').map_or((inside, None), |(digits, parts)| (digits, Some(parts)));
    if digits.len() != 32 || !digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    for (byte, pair) in bytes[1..17].iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    bytes[0] = MD5;
    if let Some(parts) = parts {
        let number = parts.parse::<u32>().ok().filter(|n| n.to_string() == parts)?;
        bytes[17..21].copy_from_slice(&number.to_le_bytes());
        bytes[0] = MD5_OF_PARTS;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(tag: Option<&str>, size: u64) -> Version {
        version_of(&ObjectMeta {
            location: Default::default(),
            last_modified: Default::default(),
            size,
            e_tag: tag.map(str::to_string),
            version: None,
        })
    }

    #[test]
    fn tags_come_back_as_they_were() {
        let md5 = "\"0123456789abcdef0123456789abcdef\"";
        let tags = [
            md5,
            "\"0123456789abcdef0123456789abcdef-17\"",
            "\"0x8DC1\"",
            "W/\"65a-1f4\"",
            "plain",
            "",
            "\"0123456789ABCDEF\"",
            "\"x-007\"",
        ];
        for tag in tags {
            assert_eq!(tag_of(version(Some(tag), 1)).as_deref(), Some(tag));
        }
        assert!(strong_tag_of(version(Some("W/\"1\""), 1)).is_none());
        for (tag, settled) in [
            ("\"f0000000-1\"", false),
            ("W/\"f0000000-1f4\"", false),
            ("\"60000000-1f4\"", true),
            ("\"f00000000-1f4\"", true),
            ("\"F0000000-1\"", true),
            ("\"f0000000-1-2\"", true),
        ] {
            let found = version(Some(tag), 1).seen_at(Some(0x7000_0000));
            assert_eq!((found.is_settled(), tag_of(found).as_deref()), (settled, Some(tag)), "what is made of a time and a length: {tag}");
        }
        let long = format!("\"{}\"", "t".repeat(60));
        assert!(tag_of(version(Some(&long), 1)).is_none());
        let mut all: Vec<_> = tags.iter().map(|tag| version(Some(tag), 1)).collect();
        all.extend([version(Some(&long), 1), version(Some(&format!("{long}x")), 1), version(None, 1), version(None, 2)]);
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b), "{i}");
        }
    }
}
