//! Keys by which object stores are asked whether they keep conditions of puts. One stays where its process is killed before it erases it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What such a key holds.
pub const VALUE: &[u8] = b"ozarr asks whether conditions are kept";
/// What is behind the other key's name, and before the time and a mark that no other one has.
const ASKS: &str = ".ozarr-asks-";
/// After this time nobody waits for the answer any more.
const LONGEST: Duration = Duration::from_secs(3600);
/// The hexadecimal digits of a mark.
const MARK: usize = 32;

/// A key to ask by, beside another one.
#[cfg(any(feature = "cloud", test))]
pub(crate) fn beside(key: &str, now: SystemTime, mark: &str) -> String {
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{key}{ASKS}{seconds}-{mark}")
}

/// Whether a key has such a name; and whether it is so old that its process is gone for certain. Earlier versions gave the mark alone.
pub fn is_over(key: &str) -> Option<bool> {
    let is_mark = |mark: &str| mark.len() == MARK && mark.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let Some((_, rest)) = key.rsplit_once(ASKS) else { return is_mark(key.rsplit_once('.')?.1).then_some(false) };
    let (seconds, mark) = rest.split_once('-')?;
    let made = UNIX_EPOCH.checked_add(Duration::from_secs(seconds.parse().ok()?))?;
    is_mark(mark).then(|| SystemTime::now().duration_since(made).is_ok_and(|age| age > LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_to_ask_by_is_known_by_its_name_and_its_age() {
        let (mark, now) = ("0123456789abcdef0123456789abcdef", SystemTime::now());
        let (fresh, old) = (beside("t/zarr.json", now, mark), beside("t/zarr.json", now - LONGEST * 2, mark));
        for (key, expected) in [
            (fresh.as_str(), Some(false)),
            (&old, Some(true)),
            (&beside("c/0", now + LONGEST, mark), Some(false)),
            (&old[..old.len() - 1], None),
            ("zarr.json.0123456789abcdef0123456789abcdef", Some(false)),
            ("zarr.json.0123456789ABCDEF0123456789abcdef", None),
            ("zarr.json.ozarr-asks-99999999999999999999-0123456789abcdef0123456789abcdef", None),
            ("zarr.json", None),
            ("0123456789abcdef0123456789abcdef", None),
        ] {
            assert_eq!(is_over(key), expected, "{key}");
        }
    }
}
