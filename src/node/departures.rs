//! The places that calls of this process have taken away lately, by numbers that rise: for arrays whose documents were read before. No memory is
//! asked for, and no lock is taken to look.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many are kept: an opening takes a round trip or two.
const KEPT: usize = 1024;

/// Those of this process.
pub(super) static DEPARTURES: Departures = Departures::none();

pub(super) struct Departures {
    /// How many have ended so far.
    count: AtomicU64,
    /// The last ones, each in the slot of its number.
    ended: [Ended; KEPT],
}

struct Ended {
    number: AtomicU64,
    /// The hashes of the place by the name of its store, and by the folders that links lead to.
    places: [AtomicU64; 2],
}

impl Departures {
    const fn none() -> Departures {
        Departures { count: AtomicU64::new(0), ended: [const { Ended::none() }; KEPT] }
    }

    /// How many calls have taken nodes away, or tried.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Counts a call that took a place away, or tried, when it is as it leaves it. One thread at a time.
    pub fn end(&self, place: &str, real: Option<&str>) {
        let number = self.count() + 1;
        let slot = self.slot(number);
        slot.number.store(0, Ordering::SeqCst);
        for (kept, place) in slot.places.iter().zip([Some(place), real]) {
            kept.store(place.and_then(|place| hashes(place).last()).unwrap_or_default(), Ordering::SeqCst);
        }
        slot.number.store(number, Ordering::SeqCst);
        self.count.store(number, Ordering::SeqCst);
    }

    /// Whether a place, by one of its names, or one above it was taken away since so many calls had ended; so it may have been where they are not
    /// kept any more.
    pub fn have_taken(&self, places: [Option<&str>; 2], since: u64) -> bool {
        let now = self.count();
        let may_be_above = |number: u64| {
            let slot = self.slot(number);
            let taken = slot.places.each_ref().map(|place| place.load(Ordering::SeqCst));
            let is_above = places.iter().flatten().any(|place| hashes(place).any(|hash| taken.contains(&hash)));
            is_above || slot.number.load(Ordering::SeqCst) != number
        };
        now.wrapping_sub(since) >= KEPT as u64 || (since + 1..=now).any(may_be_above)
    }

    fn slot(&self, number: u64) -> &Ended {
        &self.ended[(number % KEPT as u64) as usize]
    }
}

impl Ended {
    const fn none() -> Ended {
        Ended { number: AtomicU64::new(0), places: [const { AtomicU64::new(0) }; 2] }
    }
}

/// The hashes of all places above one, and its own last. Places end in `/`.
fn hashes(place: &str) -> impl Iterator<Item = u64> + '_ {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let hashed = place.bytes().map(move |byte| {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        (byte, hash)
    });
    hashed.filter(|(byte, _)| *byte == b'/').map(|(_, hash)| hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_below_one_that_was_taken_are_known_and_no_others() {
        let all = Departures::none();
        all.end("s3://b/x/", None);
        let since = all.count();
        let taken = |place: &str| all.have_taken([Some(place), None], since);
        assert!(!taken("s3://b/x/"));
        all.end("s3://b/g/", Some("/real/g/"));
        assert!(["s3://b/g/", "s3://b/g/a/", "s3://b/g/b/c/"].iter().all(|place| taken(place)));
        assert!(all.have_taken([Some("s3://b/other/"), Some("/real/g/a/")], since));
        assert!(!["s3://b/", "s3://b/g_/a/", "s3://b/h/", "/real/"].iter().any(|place| taken(place)));
        (2..KEPT).for_each(|_| all.end("s3://b/x/", None));
        assert!(!taken("s3://b/h/"));
        all.end("s3://b/x/", None);
        assert!(taken("s3://b/h/"), "the first one is forgotten");
    }
}
