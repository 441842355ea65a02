//! How fast a slow store goes: when a request is carried out, and when its bytes have come. Pure: the time is the caller's.

use std::time::{Duration, Instant};

/// No single wait is longer: about what a clock can still count.
const LONGEST: Duration = Duration::from_secs(1 << 32);

/// The limits of a slow store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// What every request takes, on its own.
    pub delay: Duration,
    /// What all requests together carry, both ways; 0 sets no limit.
    pub bytes_per_second: u64,
    /// How many requests begin; 0 sets no limit.
    pub requests_per_second: u32,
}

/// The one line that all requests of a store share.
pub(super) struct Line {
    pace: Pace,
    /// Before then no further request begins.
    next: Option<Instant>,
    /// Until then it carries bytes.
    busy: Option<Instant>,
}

/// The time for `count` at `rate` in a second, rounded up.
fn time_for(count: u64, rate: u64) -> Duration {
    if rate == 0 {
        return Duration::ZERO;
    }
    let nanos = (u128::from(count) * 1_000_000_000).div_ceil(u128::from(rate));
    u64::try_from(nanos).map_or(LONGEST, Duration::from_nanos).min(LONGEST)
}

impl Line {
    pub(super) fn new(pace: Pace) -> Line {
        Line { pace, next: None, busy: None }
    }

    /// When a request that comes now is carried out. Each keeps the ones behind it waiting.
    pub(super) fn request(&mut self, now: Instant) -> Instant {
        let begins = self.next.map_or(now, |next| next.max(now));
        self.next = Some(begins + time_for(1, self.pace.requests_per_second.into()));
        begins + self.pace.delay
    }

    /// Says when `bytes` bytes, the first of which are ready now, have come. Each keeps those behind it waiting.
    pub(super) fn carry(&mut self, now: Instant, bytes: u64) -> Instant {
        let begins = self.busy.map_or(now, |busy| busy.max(now));
        let came = begins + time_for(bytes, self.pace.bytes_per_second);
        self.busy = Some(came);
        came
    }

    /// Whether bytes take time.
    pub(super) fn is_narrow(&self) -> bool {
        self.pace.bytes_per_second > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_requests_of_all_share_one_line() {
        let (delay, start) = (Duration::from_millis(5), Instant::now());
        let mut line = Line::new(Pace { delay, bytes_per_second: 1000, requests_per_second: 10 });
        let at = |ms: u64| start + Duration::from_millis(ms);
        // Requests that come together begin a tenth of a second after each other; one that comes later does not wait for nothing.
        let begun: Vec<_> = [0, 0, 0, 250, 900].map(|ms| line.request(at(ms))).to_vec();
        assert_eq!(begun, [5, 105, 205, 305, 905].map(at));
        // Bytes follow each other; time in which nothing is carried is not saved up.
        let came: Vec<_> = [(5, 100), (5, 50), (6, 0), (400, 1), (400, 1999)].map(|(ms, n)| line.carry(at(ms), n)).to_vec();
        assert_eq!(came, [105, 155, 155, 401, 2400].map(at));
        let mut free = Line::new(Pace::default());
        assert_eq!((free.request(start), free.carry(start, u64::MAX), free.request(start)), (start, start, start));
        let mut crawling = Line::new(Pace { bytes_per_second: 1, ..Pace::default() });
        assert_eq!(crawling.carry(start, u64::MAX), start + LONGEST);
        assert_eq!(time_for(1, 3), Duration::from_nanos(333_333_334), "never faster than the rate");
    }
}
