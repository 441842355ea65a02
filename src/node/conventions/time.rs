//! Units of time since a moment, `hours since 2026-01-01`, in the calendars of the CF conventions.
//! Conventions: CF 4.4, "Time Coordinate"; UDUNITS for the names of units.

use crate::dtype::coding::Rule;
use crate::error::{Error, Result, bail, err};
use std::fmt;

/// Nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;
/// The first day of the Gregorian calendar, 1582-10-15, counted from 1970-01-01 of that calendar.
const REFORM: i64 = -141_427;
/// Years beyond this are refused: counts of days stay far from their limits.
const MAX_YEAR: i64 = 10_000_000;

/// A calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calendar {
    /// `standard`, `gregorian`: Julian up to 1582-10-04, Gregorian from the next day, 1582-10-15, on.
    Standard,
    /// `proleptic_gregorian`: Gregorian at all times.
    ProlepticGregorian,
    /// `julian`: each fourth year is a leap year.
    Julian,
    /// `noleap`, `365_day`.
    NoLeap,
    /// `all_leap`, `366_day`.
    AllLeap,
    /// `360_day`: twelve months of 30 days.
    Day360,
}

/// A moment: a date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Moment {
    /// The year; the standard and the Julian calendar have no year 0.
    pub year: i64,
    /// From 1.
    pub month: u32,
    /// From 1.
    pub day: u32,
    /// Nanoseconds since midnight.
    pub nanosecond: i64,
}

impl Calendar {
    /// The calendar of an attribute `calendar`.
    pub fn parse(name: &str) -> Result<Calendar> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "standard" | "gregorian" => Calendar::Standard,
            "proleptic_gregorian" => Calendar::ProlepticGregorian,
            "julian" => Calendar::Julian,
            "noleap" | "365_day" => Calendar::NoLeap,
            "all_leap" | "366_day" => Calendar::AllLeap,
            "360_day" => Calendar::Day360,
            _ => {
                let e = err!(
                    Unsupported,
                    "found the calendar {name:?}, expected standard, gregorian, proleptic_gregorian, julian, noleap, 365_day, all_leap, 366_day or 360_day"
                );
                return Err(e.at_field("calendar"));
            }
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Calendar::Standard => "standard",
            Calendar::ProlepticGregorian => "proleptic_gregorian",
            Calendar::Julian => "julian",
            Calendar::NoLeap => "noleap",
            Calendar::AllLeap => "all_leap",
            Calendar::Day360 => "360_day",
        }
    }

    /// Whether years are counted ..., -1, 1, ...
    fn lacks_year_0(self) -> bool {
        matches!(self, Calendar::Standard | Calendar::Julian)
    }

    fn is_leap(self, year: i64) -> bool {
        let gregorian = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        match self {
            Calendar::NoLeap | Calendar::Day360 => false,
            Calendar::AllLeap => true,
            Calendar::Julian => year.rem_euclid(4) == 0,
            Calendar::ProlepticGregorian => gregorian,
            Calendar::Standard if year <= 1582 => year.rem_euclid(4) == 0,
            Calendar::Standard => gregorian,
        }
    }

    fn month_length(self, year: i64, month: u32) -> u32 {
        match month {
            _ if self == Calendar::Day360 => 30,
            2 if self.is_leap(year) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// Returns the days from the calendar's own 1970-01-01 to a date whose year is counted with a year 0.
    fn days(self, year: i64, month: u32, day: u32) -> i64 {
        let (m, d) = (i64::from(month), i64::from(day));
        let before = |leap: bool| [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][m as usize - 1] + i64::from(leap && m > 2);
        match self {
            Calendar::Day360 => (year - 1970) * 360 + (m - 1) * 30 + d - 1,
            Calendar::NoLeap => (year - 1970) * 365 + before(false) + d - 1,
            Calendar::AllLeap => (year - 1970) * 366 + before(true) + d - 1,
            Calendar::ProlepticGregorian => gregorian_days(year, m, d),
            Calendar::Julian => julian_days(year, m, d) - julian_days(1970, 1, 1),
            // Both count the days since one and the same.
            Calendar::Standard => {
                let days = gregorian_days(year, m, d);
                if (year, m, d) >= (1582, 10, 15) { days } else { julian_days(year, m, d) - JULIAN_SHIFT }
            }
        }
    }

    /// The date of a count of days from the calendar's own 1970-01-01, with a year 0.
    fn date(self, days: i64) -> (i64, u32, u32) {
        // A guess that is at most a little too late, then the year by looking.
        let length = if self == Calendar::Day360 { 360.0 } else { 365.2425 };
        let mut year = 1970 + (days as f64 / length).floor() as i64 + 1;
        while self.days(year, 1, 1) > days {
            year -= ((self.days(year, 1, 1) - days) / 367).max(1);
        }
        while self.days(year + 1, 1, 1) <= days {
            year += 1;
        }
        let mut month = 12;
        while self.days(year, month, 1) > days {
            month -= 1;
        }
        let mut day = (days - self.days(year, month, 1)) as u32 + 1;
        // The month in which ten days were left out.
        if self == Calendar::Standard && (year, month) == (1582, 10) && days >= REFORM {
            day = (days - REFORM) as u32 + 15;
        }
        (year, month, day)
    }

    /// Nanoseconds from the calendar's own 1970-01-01. Errors: `Argument` for a date that it does not have.
    pub fn nanoseconds(self, at: Moment) -> Result<i128> {
        let refuse = |why: &str| err!(Argument, "{at} is no moment of the calendar {}: {why}", self.name());
        if at.year.abs() > MAX_YEAR {
            return Err(refuse("the year is too far away"));
        }
        if self.lacks_year_0() && at.year == 0 {
            return Err(refuse("there is no year 0"));
        }
        let year = self.with_year_0(at.year);
        if !(1..=12).contains(&at.month) {
            return Err(refuse("there are months 1 to 12"));
        }
        let left_out = self == Calendar::Standard && (year, at.month) == (1582, 10) && (5..15).contains(&at.day);
        if at.day < 1 || at.day > self.month_length(year, at.month) || left_out {
            return Err(refuse("the month has no such day"));
        }
        if !(0..DAY).contains(&i128::from(at.nanosecond)) {
            return Err(refuse("the day has no such time"));
        }
        Ok(i128::from(self.days(year, at.month, at.day)) * DAY + i128::from(at.nanosecond))
    }

    /// Returns the moment `nanoseconds` after the calendar's own 1970-01-01.
    pub fn moment(self, nanoseconds: i128) -> Result<Moment> {
        let days = nanoseconds.div_euclid(DAY);
        let far = || err!(Range, "a moment is more than {MAX_YEAR} years away");
        let days = i64::try_from(days).ok().filter(|d| (-MAX_YEAR * 366..MAX_YEAR * 366).contains(d)).ok_or_else(far)?;
        let (year, month, day) = self.date(days);
        let year = if self.lacks_year_0() && year <= 0 { year - 1 } else { year };
        Ok(Moment { year, month, day, nanosecond: nanoseconds.rem_euclid(DAY) as i64 })
    }

    fn with_year_0(self, year: i64) -> i64 {
        if self.lacks_year_0() && year < 0 { year + 1 } else { year }
    }
}

/// Julian days of 1970-01-01 (Gregorian), counted as [`julian_days`] does.
const JULIAN_SHIFT: i64 = 719_470;

/// Days from 1970-01-01 of the proleptic Gregorian calendar.
fn gregorian_days(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    julian_days(year, month, day) - y.div_euclid(100) + y.div_euclid(400) - 719_468
}

/// Days from the Julian 0000-03-01.
fn julian_days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March, so that the leap day is their last.
    let y = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    y * 365 + y.div_euclid(4) + of_year
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (second, fraction) = (self.nanosecond.div_euclid(1_000_000_000), self.nanosecond.rem_euclid(1_000_000_000));
        let sign = if self.year < 0 { "-" } else { "" };
        write!(
            f,
            "{sign}{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
            self.year.abs(),
            self.month,
            self.day,
            second / 3600,
            second / 60 % 60,
            second % 60
        )?;
        if fraction != 0 {
            let digits = format!("{fraction:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        Ok(())
    }
}

/// A unit of time and a moment from which it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeUnits {
    /// Nanoseconds of a count.
    pub unit: i128,
    /// Nanoseconds from the calendar's own 1970-01-01 to the count 0.
    pub since: i128,
    /// The calendar of the days and years.
    pub calendar: Calendar,
}

impl TimeUnits {
    /// Reads `UNIT since DATE`; dates are `YEAR-MONTH-DAY`, then perhaps a time of day and a time zone. Errors: `Argument`;
    /// `Unsupported` for months and years, whose lengths differ.
    pub fn parse(text: &str, calendar: Calendar) -> Result<TimeUnits> {
        let wrong = || {
            err!(
                Argument,
                "found the units {text:?}, expected weeks, days, hours, minutes, seconds, milliseconds, microseconds or nanoseconds, \"since\" and a date: \"hours since 2026-01-01\""
            )
        };
        let mut words = text.split_whitespace();
        let (Some(unit), Some(since)) = (words.next(), words.next()) else { return Err(wrong()) };
        if !since.eq_ignore_ascii_case("since") {
            return Err(wrong());
        }
        let unit = unit_length(unit, calendar)?.ok_or_else(wrong)?;
        let rest: Vec<&str> = words.collect();
        let (date, zone) = moment_of(&rest.join(" ")).ok_or_else(wrong)?;
        Ok(TimeUnits { unit, since: calendar.nanoseconds(date)? - zone, calendar })
    }

    /// Whether a text is one of units that [`TimeUnits::parse`] might read.
    pub fn is_one(text: &str) -> bool {
        text.split_whitespace().nth(1).is_some_and(|word| word.eq_ignore_ascii_case("since"))
    }

    /// The units of numbers that are packed: each means a count of these units that is `scale` times the number, plus `offset`. Errors: `Metadata`
    /// where a number means no whole count of nanoseconds, or less of them than the one before.
    pub fn packed(&self, scale: f64, offset: f64) -> Result<TimeUnits> {
        let parts = |count: f64| {
            let (whole, rest) = (count.trunc(), self.unit as f64 * count.fract());
            let is_whole = count.abs() < 1e15 && (rest - rest.round()).abs() <= 1e-12 * rest.abs();
            is_whole.then(|| whole as i128 * self.unit + rest.round() as i128)
        };
        match (parts(scale).filter(|unit| *unit > 0), parts(offset)) {
            (Some(unit), Some(add)) => Ok(TimeUnits { unit, since: self.since + add, ..*self }),
            _ => {
                bail!(Metadata, "times are packed by scale_factor {scale} and add_offset {offset}, which make no whole nanoseconds of them")
            }
        }
    }

    /// How counts of these units become counts of others.
    pub fn rule(&self, to: &TimeUnits) -> Rule {
        Rule::Time { num: self.unit, add: self.since - to.since, den: to.unit }
    }

    /// The moment of a count.
    pub fn moment(&self, count: i64) -> Result<Moment> {
        self.calendar.moment(i128::from(count) * self.unit + self.since)
    }

    /// The count of a moment, rounded down.
    pub fn count(&self, at: Moment) -> Result<i64> {
        let count = (self.calendar.nanoseconds(at)? - self.since).div_euclid(self.unit);
        i64::try_from(count).map_err(|_| err!(Range, "the count of {at} has more than 64 bits"))
    }
}

/// Reads a date and time of day as in units, without a zone.
pub fn parse_moment(text: &str) -> Result<Moment> {
    match moment_of(text) {
        Some((moment, 0)) => Ok(moment),
        _ => bail!(Argument, "found the moment {text:?}, expected \"2026-01-31\" or \"2026-01-31 12:30:00.5\""),
    }
}

/// Nanoseconds of a unit, by its names in UDUNITS.
fn unit_length(name: &str, calendar: Calendar) -> Result<Option<i128>> {
    let refuse = |what: &str| -> Error { err!(Unsupported, "the units are counted in {name:?}, and {what}").at_field("units") };
    Ok(Some(match name.to_ascii_lowercase().as_str() {
        "week" | "weeks" => 7 * DAY,
        "day" | "days" | "d" => DAY,
        "hour" | "hours" | "hr" | "hrs" | "h" => DAY / 24,
        "minute" | "minutes" | "min" | "mins" => DAY / 1440,
        "second" | "seconds" | "sec" | "secs" | "s" => DAY / 86_400,
        "millisecond" | "milliseconds" | "millisec" | "millisecs" | "msec" | "msecs" | "ms" => 1_000_000,
        "microsecond" | "microseconds" | "microsec" | "microsecs" | "us" => 1_000,
        "nanosecond" | "nanoseconds" | "nanosec" | "nanosecs" | "ns" => 1,
        "month" | "months" if calendar == Calendar::Day360 => 30 * DAY,
        "common_year" | "common_years" if calendar == Calendar::NoLeap => 365 * DAY,
        "month" | "months" | "mon" => return Err(refuse("months differ in length")),
        "year" | "years" | "yr" | "yrs" | "common_year" | "common_years" => return Err(refuse("years differ in length")),
        _ => return Ok(None),
    }))
}

/// `2026-01-31`, `2026-1-31T12:30:00.5 +01:00`, …: the moment, and what its zone is ahead, in nanoseconds.
fn moment_of(text: &str) -> Option<(Moment, i128)> {
    let text = text.trim();
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let end = text.find(['T', 't', ' ']).unwrap_or(text.len());
    let (date, rest) = (&text[..end], text[end..].trim_start_matches(['T', 't', ' ']));
    let mut parts = date.split('-');
    let mut number = || parts.next().filter(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))?.parse::<i64>().ok();
    let (year, month, day) = (number()?, u32::try_from(number()?).ok()?, u32::try_from(number()?).ok()?);
    if parts.next().is_some() {
        return None;
    }
    let zone_at =
        rest.char_indices().find(|(i, c)| *i > 0 && matches!(c, '+' | '-' | ' ') || c.is_ascii_alphabetic()).map_or(rest.len(), |(i, _)| i);
    // A sign in front is a zone without a time of day.
    let zone_at = if rest.starts_with(['+', '-']) { 0 } else { zone_at };
    let (time, zone) = (rest[..zone_at].trim(), rest[zone_at..].trim());
    let nanosecond = if time.is_empty() { 0 } else { time_of_day(time)? };
    Some((Moment { year: sign * year, month, day, nanosecond }, zone_of(zone)?))
}

/// `12`, `12:30`, `12:30:05.25` in nanoseconds.
fn time_of_day(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let mut whole = |limit: i64| match parts.next() {
        None => Some(0),
        Some(p) => p.parse::<i64>().ok().filter(|n| p.bytes().all(|b| b.is_ascii_digit()) && *n < limit),
    };
    let (hour, minute) = (whole(24)?, whole(60)?);
    let second = parts.next().unwrap_or("0");
    let (second, fraction) = second.split_once('.').unwrap_or((second, ""));
    if parts.next().is_some() || !second.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) || fraction.len() > 18 {
        return None;
    }
    let second = second.parse::<i64>().ok().filter(|s| *s < 60)?;
    let nine = format!("{fraction:0<9}");
    let nanos = nine[..9].parse::<i64>().ok()?;
    Some((hour * 3600 + minute * 60 + second) * 1_000_000_000 + nanos)
}

/// `Z`, `UTC`, `+01:00`, `-0530`, `+1`: how far ahead, in nanoseconds.
fn zone_of(text: &str) -> Option<i128> {
    if text.is_empty() || ["z", "utc", "gmt"].contains(&text.to_ascii_lowercase().as_str()) {
        return Some(0);
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(both) => both,
        None if digits.len() > 2 && digits.is_ascii() => digits.split_at(digits.len() - 2),
        None => (digits, "0"),
    };
    // A number may have a sign for Rust.
    let is_number = |t: &&str| t.bytes().all(|b| b.is_ascii_digit());
    let number = |t: &str, limit: i128| Some(t).filter(is_number)?.parse::<u8>().ok().map(i128::from).filter(|n| *n < limit);
    Some(sign * (number(hours, 24)? * 60 + number(minutes, 60)?) * DAY / 1440)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use Calendar::*;

    const ALL: [Calendar; 6] = [Standard, ProlepticGregorian, Julian, NoLeap, AllLeap, Day360];

    fn at(year: i64, month: u32, day: u32) -> Moment {
        Moment { year, month, day, nanosecond: 0 }
    }

    #[test]
    fn dates_and_counts_of_days_are_each_others_inverse() {
        for calendar in ALL {
            let mut last = None;
            for day in (-1_500_000..1_500_000).step_by(97).chain(-142_000..-140_000) {
                let moment = calendar.moment(i128::from(day) * DAY).unwrap();
                assert_eq!(calendar.nanoseconds(moment).unwrap(), i128::from(day) * DAY, "{calendar:?} {moment}");
                if last == Some(day - 1) {
                    assert_ne!(moment, calendar.moment(i128::from(day - 1) * DAY).unwrap());
                }
                last = Some(day);
            }
            assert_eq!(calendar.moment(0).unwrap(), at(1970, 1, 1));
        }
    }

    /// Known differences of dates, in days.
    #[test]
    fn known_dates_are_as_far_apart_as_they_were() {
        let cases = [
            (ProlepticGregorian, at(2000, 1, 1), 10_957),
            (ProlepticGregorian, at(1600, 2, 29), -135_081),
            (ProlepticGregorian, at(1, 1, 1), -719_162),
            (Standard, at(2000, 1, 1), 10_957),
            (Standard, at(1582, 10, 15), -141_427),
            (Standard, at(1582, 10, 4), -141_428),
            (Standard, at(1, 1, 1), -719_164),
            // Noon of -4712-01-01 in a count with a year 0 is the Julian day 0.
            (Standard, at(-4713, 1, 1), -2_440_588),
            (NoLeap, at(2000, 3, 1), 30 * 365 + 59),
            (AllLeap, at(2001, 3, 1), 31 * 366 + 60),
            (Day360, at(2000, 2, 30), 30 * 360 + 59),
        ];
        for (calendar, moment, days) in cases {
            assert_eq!(calendar.nanoseconds(moment).unwrap() / DAY, days, "{calendar:?} {moment}");
        }
        let span = |c: Calendar, a: Moment, b: Moment| (c.nanoseconds(b).unwrap() - c.nanoseconds(a).unwrap()) / DAY;
        assert_eq!(span(Julian, at(1900, 2, 28), at(1900, 3, 1)), 2);
        assert_eq!(span(Standard, at(1900, 2, 28), at(1900, 3, 1)), 1);
        assert_eq!(span(Standard, at(1500, 2, 28), at(1500, 3, 1)), 2);
    }

    #[test]
    fn leap_days_are_those_of_the_calendar_of_their_century() {
        let years = [4, 100, 300, 400, 1100, 1400, 1500, 1580, 1600, 1700, 1900, 2000, 2024, 2100];
        type HasLeapDay = fn(i64) -> bool;
        let cases: [(Calendar, HasLeapDay); 6] = [
            (Standard, |year| year < 1582 || !matches!(year, 1700 | 1900 | 2100)),
            (ProlepticGregorian, |year| !matches!(year, 100 | 300 | 1100 | 1400 | 1500 | 1700 | 1900 | 2100)),
            (Julian, |_| true),
            (AllLeap, |_| true),
            (NoLeap, |_| false),
            (Day360, |_| true),
        ];
        for (calendar, has_leap_day) in cases {
            for year in years {
                assert_eq!(calendar.nanoseconds(at(year, 2, 29)).is_ok(), has_leap_day(year), "{calendar:?} {year}");
            }
        }
    }

    #[test]
    fn units_are_read_in_their_spellings() {
        let base = ProlepticGregorian.nanoseconds(at(2026, 1, 2)).unwrap();
        let hour = DAY / 24;
        let cases = [
            ("days since 2026-01-02", DAY, base),
            ("Days  since  2026-1-2", DAY, base),
            ("hours since 2026-01-02 06:00", hour, base + 6 * hour),
            ("hr since 2026-01-02T06:30:00.250Z", hour, base + 13 * hour / 2 + 250_000_000),
            ("seconds since 2026-01-02 00:00:00 UTC", DAY / 86_400, base),
            ("s since 2026-01-02 06:00:00 +01:00", DAY / 86_400, base + 5 * hour),
            ("ms since 2026-01-02 06 -0530", 1_000_000, base + 23 * hour / 2),
            ("us since 2026-01-02 +2", 1_000, base - 2 * hour),
            ("nanoseconds since 2026-01-02 0:0:0", 1, base),
            ("weeks since 2026-01-02", 7 * DAY, base),
        ];
        for (text, unit, since) in cases {
            let got = TimeUnits::parse(text, ProlepticGregorian).unwrap();
            assert_eq!((got.unit, got.since), (unit, since), "{text}");
        }
        let bad =
            ["days", "days since", "days after 2026-01-02", "furlongs since 2026-01-02", "days since 2026", "days since 2026-01-02-3"];
        let bad = bad.into_iter().chain(["days since 2026-13-01", "days since 2026-02-29", "days since 2026-01-02 24:00", "days since x"]);
        for text in bad.chain([
            "days since 2026-01-02 12:00 Berlin",
            "days since 99999999-01-01",
            "days since 2026-01-02 +25",
            "days since 2026-01-02 ++5",
        ]) {
            let e = TimeUnits::parse(text, ProlepticGregorian).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Argument, "{text}");
            assert!(!text.starts_with("furlongs") || e.message().contains("expected weeks, days, hours, "), "{e}");
        }
        assert_eq!(TimeUnits::parse("months since 2026-01-02", Standard).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(TimeUnits::parse("months since 2026-01-30", Day360).unwrap().unit, 30 * DAY);
        assert!(TimeUnits::parse("days since 1582-10-10", Standard).is_err() && TimeUnits::parse("days since 0-1-1", Standard).is_err());
        assert!(TimeUnits::parse("days since 2026-02-30", Day360).is_ok() && TimeUnits::parse("days since 2026-02-29", AllLeap).is_ok());
    }

    #[test]
    fn calendars_have_their_names() {
        for name in ["standard", "GREGORIAN", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day", "360_day"] {
            let calendar = Calendar::parse(name).unwrap();
            assert_eq!(Calendar::parse(calendar.name()).unwrap(), calendar);
        }
        assert!(Calendar::parse("mayan").unwrap_err().message().contains("mayan"));
    }

    #[test]
    fn counts_and_moments_go_both_ways() {
        let units = TimeUnits::parse("hours since 2000-02-28", NoLeap).unwrap();
        let moment = units.moment(30).unwrap();
        assert_eq!(moment.to_string(), "2000-03-01 06:00:00");
        assert_eq!(units.count(moment).unwrap(), 30);
        assert_eq!(parse_moment("2000-03-01T06:00:00.5").unwrap().to_string(), "2000-03-01 06:00:00.5");
        assert!(parse_moment("yesterday").is_err());
        assert_eq!(parse_moment("-0044-03-15").unwrap().to_string(), "-0044-03-15 00:00:00");
    }

    /// The least count is what a missing time is read as.
    #[test]
    fn counts_without_a_date_are_refused() {
        for (calendar, count) in
            ALL.into_iter().flat_map(|c| [i64::MIN, i64::MIN + 1, -MAX_YEAR * 367, MAX_YEAR * 367, i64::MAX].map(|n| (c, n)))
        {
            for units in ["days since 1970-01-01", "days since 2000-02-28", "weeks since 1970-01-01"] {
                let units = TimeUnits::parse(units, calendar).unwrap();
                assert_eq!(units.moment(count).unwrap_err().kind(), ErrorKind::Range, "{calendar:?} {count}");
            }
        }
    }
}
