//! Functions of dates.

use super::error::MathError;
use super::function::{Function, Notes, function, get};
use super::moment::{Moment, is_leap_year};
use super::number::Number;
use super::unit::Unit;
use super::value::{Quantity, Value, ValueResult};

pub(super) const FUNCTIONS: &[Function] = &[
    function(&["date"], "date(2024, 2, 29)", (1, 3), |v, _| date(v)),
    function(&["weekday", "day_of_week"], "weekday(2024-02-29)", (1, 1), |v, _| {
        Ok(Value::Text(get(v, 0)?.as_moment()?.weekday().to_owned()))
    }),
    function(&["is_leap_year", "isleap", "leap_year"], "is_leap_year(2024)", (1, 1), |v, _| {
        leap(v)
    }),
    function(&["days_in_month"], "days_in_month(2024-02-01)", (1, 1), |v, _| {
        Ok(integer(get(v, 0)?.as_moment()?.days_in_month()))
    }),
    function(&["day_of_year"], "day_of_year(2024-02-29)", (1, 1), |v, _| {
        Ok(integer(get(v, 0)?.as_moment()?.date().day_of_year()))
    }),
    function(&["iso_week", "week_of_year"], "iso_week(2024-02-29)", (1, 1), iso_week),
    function(&["year"], "year(2024-02-29)", (1, 1), |v, _| {
        Ok(integer(get(v, 0)?.as_moment()?.date().year()))
    }),
    function(&["month"], "month(2024-02-29)", (1, 1), |v, _| {
        Ok(integer(get(v, 0)?.as_moment()?.date().month()))
    }),
    function(&["day"], "day(2024-02-29)", (1, 1), |v, _| {
        Ok(integer(get(v, 0)?.as_moment()?.date().day()))
    }),
    function(&["days_between"], "days_between(2024-01-01, 2024-02-29)", (2, 2), |v, _| {
        days_between(v)
    }),
    function(
        &["date_diff", "datediff", "age"],
        "date_diff(2000-05-17, 2024-02-29)",
        (2, 3),
        date_diff,
    ),
    function(&["workdays", "business_days"], "workdays(2024-01-01, 2024-02-29)", (2, 2), workdays),
    function(&["unix_time", "timestamp"], "unix_time(2024-02-29 12:00)", (1, 1), unix),
    function(&["from_unix"], "from_unix(1709208000)", (1, 1), |v, _| {
        Ok(Value::Moment(Moment::from_unix(get(v, 0)?.as_number()?)?))
    }),
];

fn integer(value: impl Into<i64>) -> Value {
    Number::integer(value.into()).into()
}

fn date(values: &[Value]) -> ValueResult {
    if let [Value::Moment(moment)] = values {
        return Ok(Value::Moment(Moment::Day(moment.date())));
    }
    if values.len() != 3 {
        return Err(MathError::new("a date has a year, a month and a day")
            .hint("write 2024-02-29 or date(2024, 2, 29)"));
    }
    let part = |index: usize| get(values, index)?.as_integer();
    Ok(Value::Moment(Moment::from_date(part(0)?, part(1)?, part(2)?)?))
}

fn leap(values: &[Value]) -> ValueResult {
    let year = match get(values, 0)? {
        Value::Moment(moment) => moment.date().year().into(),
        value => value.as_integer()?,
    };
    Ok(Value::Truth(is_leap_year(year)))
}

fn iso_week(values: &[Value], notes: &mut Notes) -> ValueResult {
    let week = get(values, 0)?.as_moment()?.date().iso_week_date();
    notes.add(format!("week of the ISO year {}", week.year()));
    Ok(integer(week.week()))
}

fn pair(values: &[Value]) -> Result<(&Moment, &Moment), MathError> {
    Ok((get(values, 0)?.as_moment()?, get(values, 1)?.as_moment()?))
}

fn days_between(values: &[Value]) -> ValueResult {
    let (first, second) = pair(values)?;
    let days = second.seconds_since(first)?.divide(&Number::integer(86_400))?.abs();
    Ok(Value::Quantity(Quantity { number: days, unit: Unit::find("day").unwrap_or_default() }))
}

/// The difference as the calendar counts it, or in whole units of one kind.
fn date_diff(values: &[Value], notes: &mut Notes) -> ValueResult {
    let (first, second) = pair(values)?;
    let Some(unit) = values.get(2) else {
        return Ok(Value::Text(second.calendar_difference(first)?));
    };
    let unit = unit.as_quantity()?.unit.clone();
    if let Some(whole) = second.whole(first, unit.single().unwrap_or_default())? {
        notes.add("whole ones only");
        return Ok(Value::Quantity(Quantity { number: Number::integer(whole), unit }));
    }
    let second_unit = Unit::find("s").unwrap_or_default();
    let between = Quantity { number: second.seconds_since(first)?, unit: second_unit };
    Ok(Value::Quantity(between.convert(&unit)?))
}

fn workdays(values: &[Value], notes: &mut Notes) -> ValueResult {
    let (first, second) = pair(values)?;
    notes.add("Mondays to Fridays from the first date to before the second; no holidays");
    Ok(integer(first.workdays_until(second)))
}

fn unix(values: &[Value], notes: &mut Notes) -> ValueResult {
    let moment = get(values, 0)?.as_moment()?;
    if !matches!(moment, Moment::Zoned(_)) {
        notes.add("the time is read as UTC");
    }
    Ok(moment.unix()?.into())
}
