//! Dates of HTTP, as headers have them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";

/// The moment that a text such as `Sat, 28 Nov 2026 11:40:00 GMT` names. Two older forms that HTTP has are sent by nobody.
fn parse(text: &str) -> Option<SystemTime> {
    let parts: Vec<&str> = text.trim().split([' ', ':']).collect();
    let [_, day, month, year, hour, minute, second, "GMT"] = parts.as_slice() else { return None };
    let number = |text: &str| text.parse::<u16>().ok().map(u64::from);
    let month = MONTHS.find(month).filter(|at| month.len() == 3 && at % 3 == 0)? as u64 / 3;
    let (day, year) = (number(day)?, number(year)?.checked_sub(1970)?);
    // Counted from March: the days before a month follow a formula then, and a leap day is the last one of its year.
    let (march, of) = ((month + 10) % 12, year + 1970 - u64::from(month < 2));
    let days = 365 * of + of / 4 - of / 100 + of / 400 + (153 * march + 2) / 5 + day.checked_sub(1)?;
    let seconds = days.checked_sub(719_468)? * 86_400 + number(hour)? * 3600 + number(minute)? * 60 + number(second)?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// The second since 1970 that a text names.
pub(super) fn seconds(text: &str) -> Option<u64> {
    parse(text)?.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// When to come again, as `Retry-After` says it: in seconds, or by a date, which is of the server's clock.
pub(super) fn wait(retry_after: &str, date: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = retry_after.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let now = date.and_then(parse).unwrap_or_else(SystemTime::now);
    parse(retry_after)?.duration_since(now).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_http_are_understood() {
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799)),
            ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Sat, 28 Nov 2026 11:40:00 GMT", Some(1_795_866_000)),
            ("Thu, 31 Dec 2099 23:59:59 GMT", Some(4_102_444_799)),
            ("Sat, 28 Nov 2026 11:40:00 CET", None),
            ("Sat, 28 anF 2026 11:40:00 GMT", None),
            ("Sat, 00 Nov 2026 11:40:00 GMT", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(super::seconds(text), expected, "{text}");
        }
        let date = Some("Sat, 28 Nov 2026 11:40:00 GMT");
        for (text, seconds) in
            [("3", Some(3)), ("Sat, 28 Nov 2026 11:41:05 GMT", Some(65)), ("Sat, 28 Nov 2026 11:39:00 GMT", None), ("-1", None)]
        {
            assert_eq!(wait(text, date), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
