//! Axes: where the marks with numbers and dates are, and what they say.

use ozarr::node::TimeUnits;
use ozarr::node::conventions::Moment;

/// A mark of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub at: f64,
    pub label: String,
}

/// What one direction of a picture shows.
#[derive(Clone)]
pub struct Axis {
    pub label: String,
    /// The coordinates of the elements or of their bins, rising or falling.
    pub at: Vec<f64>,
    pub times: Option<TimeUnits>,
}

impl Axis {
    /// The borders between the elements, one more than there are elements.
    pub fn borders(&self) -> Vec<f64> {
        let at = &self.at;
        let middle = |i: usize| (at[i - 1] + at[i]) / 2.0;
        match at.len() {
            0 => Vec::new(),
            1 => vec![at[0] - 0.5, at[0] + 0.5],
            n => {
                let mut all = vec![at[0] - (middle(1) - at[0])];
                all.extend((1..n).map(middle));
                all.push(at[n - 1] + (at[n - 1] - middle(n - 1)));
                all
            }
        }
    }

    /// The coordinates of another axis as this one counts; `None` where one of them alone has times, or dates that this one's calendar has not.
    pub fn counted(&self, other: &Axis) -> Option<Vec<f64>> {
        let (own, others) = match (&self.times, &other.times) {
            (None, None) => return Some(other.at.clone()),
            (Some(own), Some(others)) if own != others => (own, others),
            (own, others) => return own.and(*others).map(|_| other.at.clone()),
        };
        let one = |&at: &f64| {
            let ns = match own.calendar == others.calendar {
                true => nanoseconds(others, at),
                false => own.calendar.nanoseconds(moment(others, at)?).ok()?,
            };
            Some(ns.saturating_sub(own.since) as f64 / own.unit as f64)
        };
        other.at.iter().map(one).collect()
    }

    /// Marks between two coordinates.
    pub fn ticks(&self, low: f64, high: f64, most: usize) -> Vec<Tick> {
        match &self.times {
            Some(units) => time_ticks(units, low, high, most),
            None => ticks(low, high, most),
        }
    }

    /// The label, with the date where the marks have the time of day only.
    pub fn title(&self, low: f64, high: f64) -> String {
        let moment = |at: f64| self.times.as_ref().and_then(|units| moment(units, at));
        match (moment(low), moment(high)) {
            (Some(a), Some(b)) if (a.year, a.month, a.day) == (b.year, b.month, b.day) => format!("{}, {}", self.label, date(&a)),
            _ => self.label.clone(),
        }
    }

    /// One coordinate as a text.
    pub fn shown(&self, at: f64) -> String {
        match self.times.as_ref().and_then(|units| moment(units, at)) {
            Some(moment) => moment.to_string().trim_end_matches(" 00:00:00").to_string(),
            None => number(at),
        }
    }
}

/// Where a value is between two others, as a share; their distance may be more than a double has room for. What is far outside is brought so
/// near that pictures have coordinates for it.
pub fn share(value: f64, low: f64, high: f64) -> f64 {
    let part = if (high - low).is_finite() { 1.0 } else { 0.5 };
    ((value * part - low * part) / (high * part - low * part)).clamp(-1e4, 1e4)
}

/// The value at a share of the way between two others.
pub fn between(low: f64, high: f64, share: f64) -> f64 {
    low * (1.0 - share) + high * share
}

/// The moment of a coordinate.
pub fn moment(units: &TimeUnits, at: f64) -> Option<Moment> {
    at.is_finite().then(|| units.calendar.moment(nanoseconds(units, at)).ok())?
}

fn nanoseconds(units: &TimeUnits, at: f64) -> i128 {
    // Whole counts exactly, parts of one as near as a double has them.
    (at.floor() as i128)
        .saturating_mul(units.unit)
        .saturating_add(((at - at.floor()) * units.unit as f64) as i128)
        .saturating_add(units.since)
}

fn date(at: &Moment) -> String {
    at.to_string().split(' ').next().unwrap_or_default().to_string()
}

/// A number as short as six digits tell it.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.5e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits });
    }
    let decimals = (5 - size.log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// Marks at round numbers.
pub fn ticks(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return vec![Tick { at: low, label: number(low) }];
    }
    let rough = span / most.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|f| f * power).find(|step| span / step <= most as f64).unwrap_or(10.0 * power);
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    let largest = low.abs().max(high.abs());
    (first..=last.min(first.saturating_add(100)))
        .map(|k| {
            let at = k as f64 * step;
            // As many digits as tell neighbours apart.
            let decimals =
                (-(step.log10() + 1e-9).floor()).max(0.0) as usize + usize::from((step / power - 2.5).abs() < 1e-9 && power <= 1.0);
            let label = if (1e-3..1e6).contains(&largest) && decimals <= 6 { format!("{at:.decimals$}") } else { number(at) };
            Tick { at, label: label.replace('-', "\u{2212}") }
        })
        .collect()
}

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;
/// Distances of marks within days.
const STEPS: [i128; 16] = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/// Marks at round dates and times of day.
pub fn time_ticks(units: &TimeUnits, low: f64, high: f64, most: usize) -> Vec<Tick> {
    let (from, to) = (nanoseconds(units, low), nanoseconds(units, high));
    let span = to.saturating_sub(from);
    if span < most as i128 * SECOND / 4 {
        return ticks(low, high, most);
    }
    let place = |ns: i128, label: String| Tick { at: (ns - units.since) as f64 / units.unit as f64, label };
    let fits = |step: i128| span / step <= most as i128;
    let days = [1, 2, 5, 10].map(|n| n * DAY);
    if let Some(step) = STEPS.map(|s| s * SECOND).into_iter().chain(days).find(|&step| fits(step)) {
        let first = from.div_euclid(step) + i128::from(from.rem_euclid(step) != 0);
        let label = |ns: i128| {
            let text = units.calendar.moment(ns).map(|m| m.to_string()).unwrap_or_default();
            let (date, time) = text.split_once(' ').unwrap_or((&text, ""));
            let short = if step % (60 * SECOND) == 0 { time.get(..5).unwrap_or(time) } else { time };
            if step >= DAY || ns.rem_euclid(DAY) == 0 { date.to_string() } else { short.to_string() }
        };
        return (first..=to.div_euclid(step)).map(|k| place(k * step, label(k * step))).collect();
    }
    months(units, from, to, most, &place)
}

/// Marks at the first of months and years.
fn months(units: &TimeUnits, from: i128, to: i128, most: usize, place: &dyn Fn(i128, String) -> Tick) -> Vec<Tick> {
    let (Ok(first), Ok(last)) = (units.calendar.moment(from), units.calendar.moment(to)) else { return Vec::new() };
    let count = |m: &Moment| m.year * 12 + i64::from(m.month) - 1;
    let (begin, end) = (count(&first), count(&last));
    let steps = [1, 2, 3, 6].into_iter().chain((0..7).flat_map(|k| [12, 24, 60].map(|n| n * 10i64.pow(k))));
    let step = steps.into_iter().find(|step| (end - begin) / step <= most as i64).unwrap_or(i64::MAX / 2);
    let all = (begin.div_euclid(step)..=end.div_euclid(step)).filter_map(|k| {
        let (year, month) = ((k * step).div_euclid(12), (k * step).rem_euclid(12) as u32 + 1);
        let at = units.calendar.nanoseconds(Moment { year, month, day: 1, nanosecond: 0 }).ok()?;
        (from..=to).contains(&at).then(|| place(at, if step % 12 == 0 { format!("{year}") } else { format!("{year}-{month:02}") }))
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ozarr::node::Calendar;

    #[test]
    fn marks_are_round_numbers() {
        let labels = |low, high| ticks(low, high, 6).into_iter().map(|t| t.label).collect::<Vec<_>>().join(" ");
        for (low, high, want) in [
            (0.0, 10.0, "0 2 4 6 8 10"),
            (-90.0, 90.0, "\u{2212}50 0 50"),
            (0.0, 1.0, "0.0 0.2 0.4 0.6 0.8 1.0"),
            (273.15, 273.19, "273.15 273.16 273.17 273.18 273.19"),
            (0.0, 1.5, "0.00 0.25 0.50 0.75 1.00 1.25 1.50"),
            (0.0, 3e9, "0 5e8 1e9 1.5e9 2e9 2.5e9 3e9"),
            (5.0, 5.0, "5"),
        ] {
            assert_eq!(labels(low, high), want, "{low} to {high}");
        }
    }

    #[test]
    fn marks_of_times_are_round_dates() {
        let labels = |text: &str, calendar, low, high| {
            let units = TimeUnits::parse(text, calendar).unwrap_or_else(|e| panic!("{e}"));
            time_ticks(&units, low, high, 5).into_iter().map(|t| format!("{}={}", t.at, t.label)).collect::<Vec<_>>().join(" ")
        };
        let standard = Calendar::Standard;
        assert_eq!(labels("hours since 2026-03-01", standard, 0.0, 30.0), "0=2026-03-01 6=06:00 12=12:00 18=18:00 24=2026-03-02 30=06:00");
        assert_eq!(labels("days since 2026-03-01", standard, 0.0, 8.0), "1=2026-03-02 3=2026-03-04 5=2026-03-06 7=2026-03-08");
        assert_eq!(labels("days since 2026-01-01", standard, 0.0, 100.0), "0=2026-01 31=2026-02 59=2026-03 90=2026-04");
        assert_eq!(labels("days since 2000-01-01", Calendar::Day360, 0.0, 1440.0), "0=2000 360=2001 720=2002 1080=2003 1440=2004");
        assert_eq!(labels("seconds since 2026-01-01", standard, 0.0, 240.0), "0=2026-01-01 60=00:01 120=00:02 180=00:03 240=00:04");
        assert_eq!(
            labels("seconds since 2026-01-01", standard, 3590.0, 3610.0),
            "3590=00:59:50 3595=00:59:55 3600=01:00:00 3605=01:00:05 3610=01:00:10"
        );
    }

    #[test]
    fn coordinates_are_counted_as_another_axis_does() {
        let axis = |units: &str, calendar, at: &[f64]| {
            let times = Some(units).filter(|u| !u.is_empty()).map(|u| TimeUnits::parse(u, calendar).unwrap_or_else(|e| panic!("{e}")));
            Axis { label: String::new(), at: at.to_vec(), times }
        };
        let (standard, year) = (Calendar::Standard, Calendar::NoLeap);
        let days = axis("days since 2000-01-01", standard, &[]);
        for (units, calendar, at, want) in [
            ("days since 2000-01-01", standard, [0.0, 1.5], Some([0.0, 1.5])),
            ("seconds since 1999-12-31", standard, [0.0, 129_600.0], Some([-1.0, 0.5])),
            ("hours since 2000-01-02", standard, [12.0, 36.0], Some([1.5, 2.5])),
            // No 29 February 2000 there.
            ("days since 2000-02-28", year, [0.0, 1.0], Some([58.0, 60.0])),
            ("days since 2001-02-28", Calendar::Day360, [0.0, 2.0], None),
            ("", standard, [0.0, 1.0], None),
        ] {
            assert_eq!(days.counted(&axis(units, calendar, &at)), want.map(Vec::from), "{units}");
        }
        let numbers = axis("", standard, &[3.0]);
        assert_eq!((numbers.counted(&numbers), numbers.counted(&days)), (Some(vec![3.0]), None));
    }

    #[test]
    fn shares_have_room_for_all_doubles() {
        let far = 2f64.powi(1023);
        for (value, low, high, want) in
            [(1.0, 0.0, 4.0, 0.25), (0.0, -far, far, 0.5), (far / 2.0, -far, far, 0.75), (5e-324, 0.0, 1e-323, 0.5)]
        {
            assert_eq!((share(value, low, high), between(low, high, want)), (want, value));
        }
        for value in [1.0, -1.0, 1e300] {
            assert_eq!(share(value, 0.0, 1e-306), 1e4_f64.copysign(value), "far outside");
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, want) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (273.15, "273.15"),
            (1e-9, "1e-9"),
            (123456789.0, "1.23457e8"),
            (100000.0, "100000"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(value), want);
        }
    }
}
