//! Dates and points in time of the Gregorian calendar.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Unit as SpanUnit, ZonedDateTime};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;

use super::error::MathError;
use super::number::Number;

/// A date, or a date with a time of day.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Moment {
    Day(Date),
    /// A time on no particular place's clock.
    Local(DateTime),
    Zoned(Box<ZonedDateTime>),
}

type MomentResult = Result<Moment, MathError>;

/// The units in which the calendar counts, in months or days.
enum CalendarStep {
    Months(i64),
    Days(i64),
}

const NANOSECONDS: i64 = 1_000_000_000;

impl Moment {
    /// The moment that a text begins with, and how many characters it takes: `2024-02-29`, with
    /// `T15:30` or ` 15:30:45` after it, and with `Z` or `+02:00` after that.
    pub(super) fn read(text: &[char]) -> Result<Option<(Self, usize)>, MathError> {
        let Some([year, month, day]) = date_parts(text) else { return Ok(None) };
        let date = date(year, month, day)?;
        let Some((hour, minute, second, length)) = time_parts(text.get(10..).unwrap_or_default())
        else {
            return Ok(Some((Self::Day(date), 10)));
        };
        let time = DateTime::new(
            date.year(),
            date.month(),
            date.day(),
            small(hour)?,
            small(minute)?,
            small(second)?,
            0,
        );
        let time = time.map_err(|_| {
            MathError::new("no time of day").hint("hours go from 00 to 23, minutes to 59")
        })?;
        let end = 10 + length;
        match offset_parts(text.get(end..).unwrap_or_default()) {
            None => Ok(Some((Self::Local(time), end))),
            Some((seconds, length)) => {
                let offset = jiff::tz::Offset::from_seconds(seconds)
                    .map_err(|_| MathError::new("no offset from UTC"))?;
                let zoned = in_zone(time, TimeZone::fixed(offset))?;
                Ok(Some((Self::Zoned(Box::new(zoned)), end + length)))
            }
        }
    }

    /// The time now, in UTC.
    pub(super) fn now(microseconds: i64) -> MomentResult {
        let now = Timestamp::from_microsecond(microseconds).map_err(out_of_range)?;
        Ok(Self::Zoned(Box::new(now.to_zoned_datetime(TimeZone::UTC))))
    }

    /// The time so many seconds after the start of 1970, in UTC.
    pub(super) fn from_unix(seconds: &Number) -> MomentResult {
        let seconds =
            seconds.as_i64().ok_or_else(|| MathError::new("no whole number of seconds"))?;
        let time = Timestamp::from_second(seconds).map_err(out_of_range)?;
        Ok(Self::Zoned(Box::new(time.to_zoned_datetime(TimeZone::UTC))))
    }

    pub(super) fn from_date(year: i64, month: i64, day: i64) -> MomentResult {
        Ok(Self::Day(date(year, month, day)?))
    }

    /// The same time of day, said to be of that zone; or the same time as that zone's clock shows
    /// it, if it has a zone already.
    pub(super) fn in_zone(self, name: &str) -> MomentResult {
        let zone = TimeZone::get(name).map_err(|_| {
            MathError::new("unknown time zone")
                .hint("write an IANA name such as Europe/Berlin, or UTC")
        })?;
        let zoned = match self {
            Self::Day(_) => {
                let hint = "add a time of day: 2024-06-01 15:00";
                return Err(MathError::new("a date without a time has no zone").hint(hint));
            }
            Self::Local(time) => in_zone(time, zone)?,
            Self::Zoned(time) => time.with_time_zone(zone),
        };
        Ok(Self::Zoned(Box::new(zoned)))
    }

    pub(super) fn date(&self) -> Date {
        match self {
            Self::Day(date) => *date,
            Self::Local(time) => time.date(),
            Self::Zoned(time) => time.date(),
        }
    }

    pub(super) fn weekday(&self) -> &'static str {
        match self.date().weekday() {
            Weekday::Monday => "Monday",
            Weekday::Tuesday => "Tuesday",
            Weekday::Wednesday => "Wednesday",
            Weekday::Thursday => "Thursday",
            Weekday::Friday => "Friday",
            Weekday::Saturday => "Saturday",
            Weekday::Sunday => "Sunday",
        }
    }

    /// Seconds since the start of 1970; a time without a zone counts as UTC.
    pub(super) fn unix(&self) -> Result<Number, MathError> {
        let nanoseconds = if let Self::Zoned(time) = self {
            time.timestamp().as_nanosecond()
        } else {
            in_zone(self.local(), TimeZone::UTC)?.timestamp().as_nanosecond()
        };
        Number::exact(BigRational::new(nanoseconds.into(), BigInt::from(NANOSECONDS)))
    }

    fn local(&self) -> DateTime {
        match self {
            Self::Day(date) => date.to_datetime(jiff::civil::Time::midnight()),
            Self::Local(time) => *time,
            Self::Zoned(time) => time.datetime(),
        }
    }

    /// Seconds from `earlier` to this.
    pub(super) fn seconds_since(&self, earlier: &Self) -> Result<Number, MathError> {
        if matches!(self, Self::Zoned(_)) != matches!(earlier, Self::Zoned(_)) {
            let hint =
                "write a zone behind both, or behind neither: 2024-06-01 15:00 Europe/Berlin";
            return Err(MathError::new("a time with a zone and one without").hint(hint));
        }
        self.unix()?.subtract(&earlier.unix()?)
    }

    pub(super) const fn has_time(&self) -> bool {
        !matches!(self, Self::Day(_))
    }

    /// Whole years, months and days from `earlier` to this, as people count them.
    pub(super) fn calendar_difference(&self, earlier: &Self) -> Result<String, MathError> {
        let span = earlier.date().until((SpanUnit::Year, self.date())).map_err(out_of_range)?;
        let parts = [
            (i64::from(span.get_years()), "year"),
            (i64::from(span.get_months()), "month"),
            (i64::from(span.get_days()), "day"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count != 0)
            .map(|(count, name)| {
                format!("{count} {name}{}", if count.abs() == 1 { "" } else { "s" })
            })
            .collect();
        Ok(if parts.is_empty() { "0 days".to_owned() } else { parts.join(" ") })
    }

    /// Whole years or months from `earlier` to this.
    pub(super) fn whole(&self, earlier: &Self, unit: &str) -> Result<Option<i64>, MathError> {
        let largest = if unit == "year" { SpanUnit::Year } else { SpanUnit::Month };
        let span = earlier.date().until((largest, self.date())).map_err(out_of_range)?;
        Ok(match unit {
            "year" => Some(span.get_years().into()),
            "month" => Some(span.get_months().into()),
            _ => None,
        })
    }

    /// Days from Monday to Friday from this one to before `end`.
    pub(super) fn workdays_until(&self, end: &Self) -> i64 {
        let (from, to) = (day_number(self.date()), day_number(end.date()));
        if to < from {
            return -end.workdays_until(self);
        }
        // Day 0, 1970-01-01, was a Thursday: the weeks begin on the Monday four days later.
        let workdays_before = |day: i64| {
            let since_monday = day - 4;
            since_monday.div_euclid(7) * 5 + since_monday.rem_euclid(7).min(5)
        };
        workdays_before(to) - workdays_before(from)
    }

    /// This moment and so many of a unit of time: years and months as the calendar has them (a day
    /// that the month lacks becomes its last one), others as so many seconds.
    pub(super) fn plus(&self, amount: &Number, unit: &str, seconds: &Number) -> MomentResult {
        let count = amount.as_i64().filter(|count| count.unsigned_abs() <= 1_000_000_000);
        let step = match (unit, count) {
            ("century", Some(n)) => Some(CalendarStep::Months(n * 1200)),
            ("decade", Some(n)) => Some(CalendarStep::Months(n * 120)),
            ("fortnight", Some(n)) => Some(CalendarStep::Days(n * 14)),
            ("week", Some(n)) => Some(CalendarStep::Days(n * 7)),
            ("day", Some(n)) => Some(CalendarStep::Days(n)),
            ("month", Some(n)) => Some(CalendarStep::Months(n)),
            ("year", _) => months(amount).map(CalendarStep::Months),
            _ => None,
        };
        match step {
            Some(CalendarStep::Months(n)) => self.plus_span(Span::new().try_months(n)),
            Some(CalendarStep::Days(n)) => self.plus_span(Span::new().try_days(n)),
            None if matches!(unit, "year" | "month" | "decade" | "century") => {
                let hint = "add whole parts one after the other: 2024-01-31 + 1 year + 2 months";
                Err(MathError::new("a part of a month or year on the calendar").hint(hint))
            }
            None => self.plus_seconds(seconds),
        }
    }

    fn plus_seconds(&self, seconds: &Number) -> MomentResult {
        let day = seconds.divide(&Number::integer(86_400))?;
        if let (Self::Day(_), Some(days)) = (self, day.as_i64()) {
            return self.plus_span(Span::new().try_days(days));
        }
        let nanoseconds = seconds.multiply(&Number::integer(NANOSECONDS))?;
        let nanoseconds = nanoseconds.round(0)?.to_rational().to_integer();
        let whole = (&nanoseconds / NANOSECONDS).to_i64();
        let part = (&nanoseconds % NANOSECONDS).to_i64();
        let (Some(whole), Some(part)) = (whole, part) else { return Err(beyond_years()) };
        let span = Span::new().try_seconds(whole).map_err(out_of_range)?;
        let span = span.try_nanoseconds(part);
        match self {
            Self::Day(_) => Self::Local(self.local()).plus_span(span),
            _ => self.plus_span(span),
        }
    }

    fn plus_span(&self, span: Result<Span, jiff::Error>) -> MomentResult {
        let span = span.map_err(out_of_range)?;
        Ok(match self {
            Self::Day(date) => Self::Day(date.checked_add(span).map_err(out_of_range)?),
            Self::Local(time) => Self::Local(time.checked_add(span).map_err(out_of_range)?),
            Self::Zoned(time) => {
                Self::Zoned(Box::new(time.checked_add(span).map_err(out_of_range)?))
            }
        })
    }

    pub(super) fn days_in_month(&self) -> i64 {
        self.date().days_in_month().into()
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Day(date) => date.to_string(),
            Self::Local(time) => time.strftime("%Y-%m-%d %H:%M:%S%.f").to_string(),
            Self::Zoned(time) => {
                let name = time.time_zone().iana_name().map(|name| format!(" {name}"));
                if name.as_deref() == Some(" UTC") {
                    return time.strftime("%Y-%m-%d %H:%M:%S%.f UTC").to_string();
                }
                time.strftime("%Y-%m-%d %H:%M:%S%.f%:z").to_string() + &name.unwrap_or_default()
            }
        }
    }
}

/// The time on the clocks of a zone. Those that a change of the clocks skips or shows twice are refused.
fn in_zone(time: DateTime, zone: TimeZone) -> Result<ZonedDateTime, MathError> {
    zone.into_ambiguous_zoned_datetime(time).unambiguous().map_err(|_| {
        let hint = "write the offset from UTC instead of the zone: 2024-10-27 02:30+01:00";
        MathError::new("the clocks of that zone show this time twice or never").hint(hint)
    })
}

pub(super) fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days since 1970-01-01.
fn day_number(day: Date) -> i64 {
    let start = jiff::civil::date(1970, 1, 1);
    start.until((SpanUnit::Day, day)).map_or(0, |span| span.get_days().into())
}

/// A number of years as months, if that is a whole number.
fn months(years: &Number) -> Option<i64> {
    let months = years.multiply(&Number::integer(12)).ok()?.as_i64()?;
    (months.unsigned_abs() <= 1_000_000_000).then_some(months)
}

fn date(year: i64, month: i64, day: i64) -> Result<Date, MathError> {
    let error = MathError::new("no date of the calendar");
    let found = match (i16::try_from(year), i8::try_from(month), i8::try_from(day)) {
        (Ok(year), Ok(month), Ok(day)) => Date::new(year, month, day).ok(),
        _ => None,
    };
    found.ok_or_else(|| {
        if month == 2 && day == 29 {
            return error.hint(format!("{year} is not a leap year"));
        }
        match i8::try_from(month).ok().and_then(|month| Date::new(2023, month, 1).ok()) {
            None => error.hint("months go from 01 to 12: 2024-02-29 is year, month, day"),
            Some(first) => error.hint(format!("that month has {} days", first.days_in_month())),
        }
    })
}

fn small(value: i64) -> Result<i8, MathError> {
    i8::try_from(value).map_err(|_| MathError::new("no time of day"))
}

fn out_of_range(_: jiff::Error) -> MathError {
    beyond_years()
}

fn beyond_years() -> MathError {
    MathError::new("the date lies beyond the calendar")
        .hint("dates go from -9999-01-01 to 9999-12-31")
}

/// The digits of `text` from `start` on as a number.
fn digits(text: &[char], start: usize, length: usize) -> Option<i64> {
    let digits = text.get(start..start + length)?;
    digits.iter().try_fold(0, |value, c| Some(value * 10 + i64::from(c.to_digit(10)?)))
}

fn date_parts(text: &[char]) -> Option<[i64; 3]> {
    let parts = [digits(text, 0, 4)?, digits(text, 5, 2)?, digits(text, 8, 2)?];
    let dashes = text.get(4) == Some(&'-') && text.get(7) == Some(&'-');
    let ends = !text.get(10).is_some_and(|c| c.is_ascii_digit() || *c == '.');
    (dashes && ends).then_some(parts)
}

/// Hour, minute, second, and the characters that they take.
fn time_parts(text: &[char]) -> Option<(i64, i64, i64, usize)> {
    let separator = matches!(text.first(), Some('T' | 't' | ' '));
    let (hour, colon) = match digits(text, 1, 2) {
        Some(hour) => (hour, 3),
        None => (digits(text, 1, 1)?, 2),
    };
    let minute = digits(text, colon + 1, 2)?;
    if !separator || text.get(colon) != Some(&':') {
        return None;
    }
    match (text.get(colon + 3), digits(text, colon + 4, 2)) {
        (Some(':'), Some(second)) => Some((hour, minute, second, colon + 6)),
        _ => Some((hour, minute, 0, colon + 3)),
    }
}

/// Seconds east of Greenwich, and the characters that say so.
fn offset_parts(text: &[char]) -> Option<(i32, usize)> {
    let sign = match text.first()? {
        'Z' | 'z' => return Some((0, 1)),
        '+' => 1,
        '-' | '−' => -1,
        _ => return None,
    };
    let (hours, minutes) = (digits(text, 1, 2)?, digits(text, 4, 2)?);
    let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
    (text.get(3) == Some(&':')).then_some((sign * seconds, 6))
}
