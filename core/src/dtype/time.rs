//! Times to times of another unit: points in time by the proleptic Gregorian calendar, spans by the lengths of the units.
//!
//! As NumPy's `astype` does: a coarser unit takes the count that is not later (towards minus infinity), a span of a year is the mean
//! year of 365.2425 days, "not a time" stays. A count that 64 bits cannot hold does not fit.

use super::run::Run;
use super::{DataType, ElementType, Unit};
use crate::error::{Result, bail, err};
use std::ops::RangeInclusive;

/// A conversion between two units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    from_swapped: bool,
    to_swapped: bool,
    rule: TimeRule,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TimeRule {
    /// Count times `num` over `den`, rounded down.
    Scale { num: i128, den: i128 },
    /// Counts of a number of months become counts of a number of days (of `per_day` parts); the other way round with `back`.
    Calendar { months: i128, parts: i128, per_day: Ratio, back: bool },
}

/// How many of a unit make how many days.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio {
    units: i128,
    days: i128,
}

/// Days in 400 years, after which the calendar repeats.
const DAYS_400: i128 = 400 * 365 + 97;

/// The length of the base unit in parts: attoseconds for units up to weeks.
fn attoseconds(name: &str) -> Option<i128> {
    const SECOND: i128 = 1_000_000_000_000_000_000;
    Some(match name {
        "W" => 7 * 86_400 * SECOND,
        "D" => 86_400 * SECOND,
        "h" => 3_600 * SECOND,
        "m" => 60 * SECOND,
        "s" => SECOND,
        "ms" => SECOND / 1_000,
        "us" => SECOND / 1_000_000,
        "ns" => SECOND / 1_000_000_000,
        "ps" => 1_000_000,
        "fs" => 1_000,
        "as" => 1,
        _ => return None,
    })
}

fn months(name: &str) -> Option<i128> {
    match name {
        "Y" => Some(12),
        "M" => Some(1),
        _ => None,
    }
}

impl Time {
    /// The conversion, if both are points in time or both are spans: a `Type` error from a unit to none (generic).
    pub fn new(from: ElementType, to: ElementType) -> Result<Option<Time>> {
        let (a, b, calendar) = match (from.data_type, to.data_type) {
            (DataType::DateTime(a), DataType::DateTime(b)) => (a, b, true),
            (DataType::TimeDelta(a), DataType::TimeDelta(b)) => (a, b, false),
            _ => return Ok(None),
        };
        let rule = rule(a, b, calendar)?;
        Ok(Some(Time { from_swapped: from.swapped(), to_swapped: to.swapped(), rule }))
    }

    /// Converts a run of elements.
    ///
    /// # Safety
    /// As for [`super::transfer::Transfer::run`].
    pub unsafe fn run(&self, run: Run) -> std::result::Result<(), usize> {
        run.blocks(1, |one| {
            // SAFETY: an element of the source.
            let count = unsafe { one.src.cast::<i64>().read_unaligned() };
            let converted = self.rule.convert(if self.from_swapped { count.swap_bytes() } else { count }).ok_or(0usize)?;
            // SAFETY: the same of the destination.
            unsafe { one.dst.cast::<i64>().write_unaligned(if self.to_swapped { converted.swap_bytes() } else { converted }) };
            Ok(())
        })
    }
}

/// Whether both types are times and count unlike units; one without a unit is like any.
pub fn unlike_units(a: DataType, b: DataType) -> bool {
    let unit = |t| match t {
        DataType::DateTime(unit) | DataType::TimeDelta(unit) if unit.name() != "generic" => Some(unit),
        _ => None,
    };
    unit(a).zip(unit(b)).is_some_and(|(a, b)| a != b)
}

/// Converts points in time to as many of another unit, or spans to spans; `None` for other types.
pub fn convert_times(from: ElementType, src: &[u8], to: ElementType, dst: &mut [u8]) -> Result<Option<()>> {
    if !unlike_units(from.data_type, to.data_type) {
        return Ok(None);
    }
    let Some(time) = Time::new(from, to)? else { return Ok(None) };
    let n = src.len().min(dst.len()) / size_of::<i64>();
    let run = Run { src: src.as_ptr(), src_stride: 8, dst: dst.as_mut_ptr(), dst_stride: 8, n };
    // SAFETY: both buffers have at least that number of elements.
    let done = unsafe { time.run(run) };
    done.map(Some).map_err(|i| err!(Range, "the time at {i} of {n} does not fit in the unit that it is converted to"))
}

fn rule(a: Unit, b: Unit, calendar: bool) -> Result<TimeRule> {
    if b.name() == "generic" && a.name() != "generic" {
        bail!(Type, "a time in {} {} cannot be converted to one without a unit", a.scale, a.name());
    }
    let (from, to) = (i128::from(a.scale), i128::from(b.scale));
    if a.name() == "generic" {
        return Ok(TimeRule::Scale { num: 1, den: 1 });
    }
    let day = attoseconds("D").unwrap_or(1);
    // A fraction of a day, or a number of days, in the smallest numbers.
    let ratio = |length: i128| if length >= day { Ratio { units: 1, days: length / day } } else { Ratio { units: day / length, days: 1 } };
    Ok(match (months(a.name()), months(b.name()), attoseconds(a.name()), attoseconds(b.name())) {
        (Some(x), Some(y), ..) => scale(x * from, y * to),
        (.., Some(x), Some(y)) => scale_lengths(x, from, y, to),
        (Some(x), _, _, Some(y)) if calendar => TimeRule::Calendar { months: x * from, parts: to, per_day: ratio(y), back: false },
        (_, Some(y), Some(x), _) if calendar => TimeRule::Calendar { months: y * to, parts: from, per_day: ratio(x), back: true },
        // Spans: 4800 months are the days of 400 years.
        (Some(x), _, _, Some(y)) => {
            let r = ratio(y);
            scale_checked(&[x, from, DAYS_400, r.units], &[4800, to, r.days])?
        }
        (_, Some(y), Some(x), _) => {
            let r = ratio(x);
            scale_checked(&[4800, from, r.days], &[y, to, DAYS_400, r.units])?
        }
        _ => bail!(Type, "a time in {} cannot be converted to one in {}", a.name(), b.name()),
    })
}

/// `from` units of x attoseconds to `to` units of y.
fn scale_lengths(x: i128, from: i128, y: i128, to: i128) -> TimeRule {
    let g = gcd(x, y);
    scale(x / g * from, y / g * to)
}

/// The products as a scale; both are too large only for units that no file has.
fn scale_checked(num: &[i128], den: &[i128]) -> Result<TimeRule> {
    let product = |all: &[i128]| all.iter().try_fold(1i128, |n, &f| n.checked_mul(f));
    match (product(num), product(den)) {
        (Some(num), Some(den)) => Ok(scale(num, den)),
        _ => bail!(Limit, "the units are too far apart to be converted"),
    }
}

fn scale(num: i128, den: i128) -> TimeRule {
    let g = gcd(num, den);
    TimeRule::Scale { num: num / g, den: den / g }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

impl TimeRule {
    fn convert(self, count: i64) -> Option<i64> {
        if count == i64::MIN {
            return Some(count);
        }
        let count = i128::from(count);
        let value = match self {
            TimeRule::Scale { num, den } => count.checked_mul(num)?.div_euclid(den),
            TimeRule::Calendar { months, parts, per_day, back: false } => {
                let days = days_before_month(count.checked_mul(months)?);
                days.checked_mul(per_day.units)?.div_euclid(parts.checked_mul(per_day.days)?)
            }
            TimeRule::Calendar { months, parts, per_day, back: true } => {
                let days = count.checked_mul(parts)?.checked_mul(per_day.days)?.div_euclid(per_day.units);
                month_of_day(days).div_euclid(months)
            }
        };
        // The least count means "not a time".
        i64::try_from(value).ok().filter(|&v| v != i64::MIN)
    }
}

/// Days from 1970-01-01 to the first day of the month that comes that many months after January 1970.
fn days_before_month(month: i128) -> i128 {
    let (year, month) = (1970 + month.div_euclid(12), month.rem_euclid(12));
    // Years begin in March here, so that a leap day is the last.
    let shifted = (month + 10) % 12;
    let year = if month < 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * shifted + 2) / 5;
    era * DAYS_400 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The month, counted from January 1970, of that day.
fn month_of_day(day: i128) -> i128 {
    let since = day + 719_468;
    let (era, of_era) = (since.div_euclid(DAYS_400), since.rem_euclid(DAYS_400));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    // March of that year is month 2 of it.
    (era * 400 + year - 1970) * 12 + shifted + 2
}

/// The count of a point in time that is written as NumPy does (ISO 8601, without a zone), rounded down to the unit; `None` for other texts and types.
pub(super) fn count_of_date(data_type: DataType, text: &str) -> Option<i64> {
    let DataType::DateTime(unit) = data_type else { return None };
    let (date, clock) = text.split_once(['T', ' ']).map_or((text, None), |(date, clock)| (date, Some(clock)));
    let (sign, date) = date.strip_prefix('-').map_or((1, date.strip_prefix('+').unwrap_or(date)), |date| (-1, date));
    let mut parts = date.split('-');
    // A minus counts for one of NumPy's four digits.
    let year = parts.next().filter(|year| year.len() >= if sign < 0 { 3 } else { 4 }).and_then(digits)?;
    let of_year = parts.next();
    if of_year.is_none() && unit.name() != "Y" {
        return None;
    }
    let month = (sign * year - 1970) * 12 + two_digits(of_year, 1..=12)? - 1;
    let first = days_before_month(month);
    let day = first + two_digits(parts.next(), 1..=31)? - 1;
    if parts.next().is_some() || day >= days_before_month(month + 1) {
        return None;
    }
    let count = match (months(unit.name()), attoseconds(unit.name())) {
        (Some(months), _) => month.div_euclid(months * i128::from(unit.scale)),
        (_, Some(length)) => {
            let (whole, time) = (attoseconds("D")?, clock.map_or(Some(0), time_of_day)?);
            day.checked_mul(whole)?.checked_add(time)?.div_euclid(length * i128::from(unit.scale))
        }
        _ => return None,
    };
    i64::try_from(count).ok().filter(|&count| count != i64::MIN)
}

/// The attoseconds of `hh`, `hh:mm`, `hh:mm:ss` or that with a fraction.
fn time_of_day(text: &str) -> Option<i128> {
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) if clock.len() == 8 && fraction.len() <= 18 => {
            (clock, digits(fraction)? * 10i128.pow(18 - fraction.len() as u32))
        }
        Some(_) => return None,
        None => (text, 0),
    };
    let mut parts = clock.split(':');
    let (hours, minutes) = (two_digits(parts.next(), 0..=23)?, two_digits(parts.next(), 0..=59)?);
    let seconds = two_digits(parts.next(), 0..=59)?;
    let whole = ((hours * 60 + minutes) * 60 + seconds) * attoseconds("s")?;
    parts.next().is_none().then_some(whole + fraction)
}

/// A part of a date or time in a range; the least where it is left out.
fn two_digits(part: Option<&str>, range: RangeInclusive<i128>) -> Option<i128> {
    part.map_or(Some(*range.start()), |part| digits(part).filter(|n| part.len() == 2 && range.contains(n)))
}

/// A number of at most 18 digits.
fn digits(text: &str) -> Option<i128> {
    text.parse().ok().filter(|_| text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::ByteOrder;
    use crate::dtype::transfer::Transfer;
    use crate::error::ErrorKind;

    fn unit(name: &str, scale: u64) -> Unit {
        Unit::new(name, scale).unwrap()
    }

    fn convert(from: DataType, to: DataType, count: i64) -> std::result::Result<i64, usize> {
        let mut results = Vec::new();
        for (a, b) in [(ByteOrder::Little, ByteOrder::Little), (ByteOrder::Big, ByteOrder::Little), (ByteOrder::Little, ByteOrder::Big)] {
            let transfer = Transfer::new(ElementType::new(from, a), ElementType::new(to, b)).unwrap();
            let src = [0, count].map(|v: i64| if a == ByteOrder::Big { v.to_be_bytes() } else { v.to_le_bytes() });
            let mut dst = [[0u8; 8]; 2];
            // SAFETY: two elements on either side.
            let done =
                unsafe { transfer.run(Run { src: src.as_ptr().cast(), src_stride: 8, dst: dst.as_mut_ptr().cast(), dst_stride: 8, n: 2 }) };
            results.push(done.map(|()| if b == ByteOrder::Big { i64::from_be_bytes(dst[1]) } else { i64::from_le_bytes(dst[1]) }));
        }
        assert!(results.iter().all(|r| *r == results[0]));
        results[0]
    }

    /// A unit, another one, a number of the first, and what it is in the second.
    type Case = ((&'static str, u64), (&'static str, u64), i64, std::result::Result<i64, usize>);

    fn check(of_unit: fn(Unit) -> DataType, table: &[Case]) {
        for (a, b, count, want) in table {
            let (from, to) = (of_unit(unit(a.0, a.1)), of_unit(unit(b.0, b.1)));
            assert_eq!(convert(from, to, *count), *want, "{count} of {a:?} in {b:?}");
        }
    }

    #[test]
    fn points_in_time_follow_the_calendar() {
        let table = [
            (("D", 1), ("s", 1), 18_262, Ok(1_577_836_800)),
            (("s", 1), ("D", 1), -1, Ok(-1)),
            (("ns", 1), ("s", 10), -10_000_000_001, Ok(-2)),
            (("Y", 1), ("D", 1), 50, Ok(18_262)),
            (("M", 1), ("D", 1), -1, Ok(-31)),
            (("M", 1), ("D", 1), 361, Ok(10_988)),
            (("M", 2), ("h", 12), 1, Ok(118)),
            (("D", 1), ("M", 1), 59, Ok(2)),
            (("D", 1), ("M", 1), 58, Ok(1)),
            (("D", 1), ("Y", 1), -1, Ok(-1)),
            (("s", 1), ("Y", 10), 1_577_836_800, Ok(5)),
            (("ns", 1), ("M", 1), 951_782_400_000_000_000, Ok(361)),
            (("D", 1), ("W", 1), 13, Ok(1)),
            (("Y", 1), ("M", 5), 1, Ok(2)),
            (("s", 1), ("ns", 1), 9_223_372_037, Err(1)),
            (("Y", 1), ("as", 1), 10, Err(1)),
            (("Y", 1), ("M", 1), i64::MAX, Err(1)),
            (("generic", 1), ("s", 7), 5, Ok(5)),
            (("s", 1), ("ms", 1), i64::MIN, Ok(i64::MIN)),
            (("Y", 1), ("D", 1), i64::MIN, Ok(i64::MIN)),
        ];
        check(DataType::DateTime, &table);
    }

    #[test]
    fn spans_scale_by_the_mean_year() {
        let table = [
            (("Y", 1), ("D", 1), 400, Ok(146_097)),
            (("M", 1), ("D", 1), 1, Ok(30)),
            (("D", 1), ("M", 1), 365, Ok(11)),
            (("h", 1), ("m", 30), 3, Ok(6)),
            (("ms", 1), ("s", 1), -1, Ok(-1)),
            (("Y", 1), ("s", 1), 1, Ok(31_556_952)),
            (("W", 1), ("as", 1), 1, Err(1)),
        ];
        check(DataType::TimeDelta, &table);
    }

    #[test]
    fn every_day_of_a_thousand_years_has_its_month() {
        for month in -9600..9600 {
            let (first, next) = (days_before_month(month), days_before_month(month + 1));
            assert!((28..=31).contains(&(next - first)), "{month}");
            assert!((first..next).all(|day| month_of_day(day) == month), "{month}");
        }
        assert_eq!((days_before_month(0), month_of_day(0)), (0, 0));
    }

    #[test]
    fn units_become_no_unit_and_points_become_no_spans() {
        let e = Transfer::new(DataType::DateTime(unit("s", 1)).into(), DataType::DateTime(unit("generic", 1)).into()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Type);
        assert!(Transfer::new(DataType::DateTime(unit("s", 1)).into(), DataType::TimeDelta(unit("ms", 1)).into()).is_err());
    }
}
