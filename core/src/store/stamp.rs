//! Which bytes an object is, and what a look at it told: how a later change is noticed.

use std::time::SystemTime;

/// An opaque token of what a key held when it was looked at; equal tokens mean equal bytes.
///
/// | | [`Version`] | [`Stamp`] |
/// |---|---|---|
/// | names | the bytes of an object | what a look at an opened object told |
/// | a file's is made of | device, inode, generation, size, times | number of names, time of writing, inode, device; length and time of change |
/// | used for | conditions of puts, one version for all reads of an item | telling whether what is kept of an object still counts |
/// | a later change | gives another version | gives another stamp, if the stamp is settled ([`Stamp::is_settled`]) |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version(pub [u64; 4]);

/// What an opened object was like at one moment: while a later look gives the same, its key holds it still, and its bytes are
/// those that were there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The length in bytes.
    pub len: u64,
    /// Whether the key still held the object.
    pub current: bool,
    /// Of a file the number of its names, when it was written, its inode and device; else the version.
    pub(super) state: [u64; 4],
    /// Of a file when it was changed last, in nanoseconds since 1970; else 0.
    pub(super) changed: u64,
}

/// The step of file systems' clocks in nanoseconds: two changes within one step may have the same time.
const TICK: u64 = 20_000_000;

/// The step of file systems that count in seconds.
const COARSE_TICK: u64 = 2_100_000_000;

impl Stamp {
    /// Says that the file was changed at another time.
    #[cfg(test)]
    pub(crate) fn set_changed(&mut self, nanos: u64) {
        self.changed = nanos;
    }

    /// Returns whether every later change gives another stamp. It does not where the file was changed less than one step of its clock ago:
    /// a second change within that step has the same time.
    pub fn is_settled(&self) -> bool {
        if self.changed == 0 {
            return true;
        }
        let tick = if self.changed.is_multiple_of(1_000_000_000) { COARSE_TICK } else { TICK };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
        now.saturating_sub(self.changed) > tick
    }
}
