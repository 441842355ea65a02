//! Which bytes an object is, and what a look at it told: how a later change is noticed.

use super::os::hash;
use std::hash::{Hash, Hasher};
use std::time::{Duration, SystemTime};

/// An opaque token of what a key held when it was looked at; equal tokens mean equal bytes.
///
/// | | [`Version`] | [`Stamp`] |
/// |---|---|---|
/// | names | the bytes of an object | what a look at an opened object told |
/// | a file's is made of | device, inode, generation, size, times | number of names, time of writing, inode, device; length and time of change |
/// | used for | conditions of puts, one version for all reads of an item | telling whether what is kept of an object still counts |
/// | a later change | gives another version, if the version is settled ([`Version::is_settled`]) | gives another stamp, if that is settled ([`Stamp::is_settled`]) |
#[derive(Clone, Copy, Debug, Eq)]
pub struct Version {
    /// What equal versions have in common.
    pub words: [u64; 4],
    /// Whether every later change gives another version, as far as the look could tell that told this one.
    is_settled: bool,
}

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        self.words == other.words
    }
}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.words.hash(state);
    }
}

/// What an opened object was like at one moment: while a later look gives the same, its key holds it still, and its bytes are
/// those that were there.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// The length in bytes.
    pub len: u64,
    /// Whether the key still held the object.
    pub current: bool,
    /// Of a file the number of its names, when it was written, its inode and device; else the version.
    pub(super) state: [u64; 4],
    /// Of a file when it was changed last, in nanoseconds since 1970; else 0.
    pub(super) changed: u64,
    /// Whether every change since then gives another stamp. It is said by the look, not later: what changed behind the look, in the same step
    /// of the clock, would count as seen once that step is over.
    pub(super) settled: bool,
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Stamp) -> bool {
        (self.len, self.current, self.state, self.changed) == (other.len, other.current, other.state, other.changed)
    }
}

/// The step of file systems' clocks in nanoseconds: two changes within one step may have the same time.
const TICK: u64 = 20_000_000;

/// The step of file systems that count in seconds.
const COARSE_TICK: u64 = 2_100_000_000;

/// The first word of versions that are made of a time and a length: bytes that no other version begins with.
const UNTAGGED: u64 = u64::from_le_bytes(*b"\x05no ETag");

/// The first word of versions that are made of an ETag which says no more than a time and a length.
const TIMED: u64 = u64::from_le_bytes(*b"\x06timetag");

/// How long ago an object was changed, in seconds, of which no later change has the same second: one more, and what reading it takes.
const SETTLED: u64 = 10;

impl Version {
    /// The version of these words, of which no other value of the key has the same.
    pub fn new(words: [u64; 4]) -> Version {
        Version { words, is_settled: true }
    }

    /// The version of an object of which its server tells no more than when it was changed, in seconds since 1970 (0: not even that), and its length.
    pub fn untagged(seconds: u64, len: u64) -> Version {
        Version { words: [UNTAGGED, seconds, len, 0], is_settled: false }
    }

    /// The version of an object whose ETag is `"SECONDS-LENGTH"` in hexadecimal digits, weak or not.
    pub fn timed(seconds: u64, len: u64, weak: bool) -> Version {
        Version { words: [TIMED, seconds, len, u64::from(weak)], is_settled: false }
    }

    /// The version as an answer told it, at a moment of the server's clock in seconds since 1970, if the answer tells that. The clock of this machine
    /// may be another one.
    pub fn seen_at(self, moment: Option<u64>) -> Version {
        let seconds = self.words[1];
        let is_over = seconds != 0 && moment.is_some_and(|moment| moment.saturating_sub(seconds) > SETTLED);
        Version { is_settled: self.is_settled || is_over, ..self }
    }

    /// Returns a number that is another one for another version.
    #[cfg(feature = "cloud")]
    pub(super) fn told(&self) -> u64 {
        hash(&self.words.map(u64::to_le_bytes).concat())
    }

    /// What [`Version::timed`] was given, if this is one of those.
    pub fn as_timed(&self) -> Option<(u64, u64, bool)> {
        let [kind, seconds, len, weak] = self.words;
        (kind == TIMED).then_some((seconds, len, weak != 0))
    }

    /// Returns whether every later change gives another version, so that what was read may be kept by it. Without an ETag, or with one that says
    /// no more, it does not where the object was changed just before it was looked at, for a second change may have the same time and length, or
    /// where the server does not say when, or what time it is ([`Version::seen_at`]).
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

impl Stamp {
    /// Returns the stamp of an object that is no file.
    pub(super) fn of_version(version: Version, len: u64, current: bool) -> Stamp {
        Stamp { len, current, state: version.words, changed: 0, settled: version.is_settled() }
    }

    /// Says that the file was changed at another time.
    #[cfg(test)]
    pub(crate) fn set_changed(&mut self, nanos: u64) {
        self.changed = nanos;
        self.settled = is_settled_at(nanos_now(), nanos);
    }

    /// Returns whether the other stamp is of the same file.
    pub(super) fn is_of_same_file(&self, other: &Stamp) -> bool {
        self.state[2..] == other.state[2..]
    }

    /// Returns a number that is another one where the file was written anew: of its length, inode and time of writing, which no second name changes.
    pub(super) fn told(&self) -> u64 {
        let [_, written, inode, _] = self.state;
        hash(format!("{} {written} {inode}", self.len).as_bytes())
    }

    /// Returns whether every change since the look gives another stamp. It does not where the file had been changed less than one step of its
    /// clock before: a second change within that step has the same time.
    pub fn is_settled(&self) -> bool {
        self.settled
    }
}

/// Returns what time it is, in nanoseconds since 1970.
pub(super) fn nanos_now() -> u64 {
    now().as_nanos() as u64
}

/// Returns whether every change from a moment on gives a file another time than the one when it was changed last.
pub(super) fn is_settled_at(moment: u64, changed: u64) -> bool {
    let tick = if changed.is_multiple_of(1_000_000_000) { COARSE_TICK } else { TICK };
    moment.saturating_sub(changed) > tick
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_etag_tells_apart_is_settled_when_its_second_was_over_at_the_server() {
        const NOW: u64 = 1_700_000_000;
        for (version, moment, settled) in [
            (Version::new([5, NOW, 1, 0]), None, true),
            (Version::untagged(0, 1), Some(NOW), false),
            (Version::untagged(NOW + 3600, 1), Some(NOW), false),
            (Version::untagged(NOW, 1), Some(NOW), false),
            (Version::untagged(NOW - 2, 1), Some(NOW), false),
            (Version::untagged(NOW - 60, 1), Some(NOW), true),
            (Version::untagged(NOW - 60, 1), None, false),
            (Version::timed(NOW - 2, 1, false), Some(NOW), false),
            (Version::timed(NOW - 60, 1, true), Some(NOW), true),
            (Version::timed(NOW - 60, 1, true), None, false),
        ] {
            let seen = version.seen_at(moment);
            assert_eq!(seen.is_settled(), settled, "{version:?}");
            let [stamp, other] = [seen, version].map(|version| Stamp::of_version(version, 1, true));
            assert_eq!((stamp.is_settled(), seen, stamp, seen.as_timed()), (settled, version, other, version.as_timed()));
        }
    }
}
