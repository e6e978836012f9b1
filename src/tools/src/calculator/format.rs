//! Results as text.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::number::Number;
use super::value::{Quantity, Value};

/// How the number of a result is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Notation {
    /// Decimals; a short fraction before them if they do not end.
    #[default]
    Decimal,
    /// A fraction only.
    Fraction,
    Percent,
    /// An integer to another base: 2, 8 or 16.
    Radix(u32),
}

/// Digits of approximate results, which a 53-bit number has for certain.
const DIGITS: usize = 15;
/// Decimals up to which an exact number is written out.
const MAX_DECIMALS: usize = 30;
/// Digits of numerator and denominator up to which a fraction says more than its decimals.
const MAX_FRACTION: usize = 9;

/// A text, and whether it stands for the value without rounding.
pub(super) struct FormattedText {
    pub(super) text: String,
    pub(super) exact: bool,
}

pub(super) fn write_value(value: &Value, notation: Notation) -> FormattedText {
    let exactly = |text: String| FormattedText { text, exact: true };
    match value {
        Value::Quantity(quantity) => write_quantity(quantity, notation),
        Value::Moment(moment) => exactly(moment.text()),
        Value::Truth(truth) => exactly(truth.to_string()),
        Value::Text(text) => exactly(text.clone()),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(|item| write_value(item, notation)).collect();
            let exact = items.iter().all(|item| item.exact);
            let texts: Vec<_> = items.into_iter().map(|item| item.text).collect();
            FormattedText { text: format!("[{}]", texts.join(", ")), exact }
        }
    }
}

fn write_quantity(quantity: &Quantity, notation: Notation) -> FormattedText {
    let unit = quantity.unit.text();
    let suffix = match unit.as_str() {
        "" if notation == Notation::Percent => "%".to_owned(),
        "" => String::new(),
        _ => format!(" {}", named(&unit, &quantity.number)),
    };
    let hundred = Number::integer(100);
    let number = match notation {
        Notation::Percent => quantity.number.multiply(&hundred),
        _ => Ok(quantity.number.clone()),
    };
    let number = number.unwrap_or_else(|_| quantity.number.clone());
    match &number {
        Number::Exact(value) => write_exact(value, notation, &suffix),
        Number::Approximate(value) => {
            FormattedText { text: format!("≈ {}{suffix}", round_digits(*value)), exact: false }
        }
    }
}

/// Days, weeks, months and years as words.
fn named(unit: &str, number: &Number) -> String {
    let word = matches!(unit, "day" | "week" | "month" | "year" | "decade" | "fortnight");
    let one = number.abs() == Number::one();
    if word && !one { format!("{unit}s") } else { unit.to_owned() }
}

fn write_exact(value: &BigRational, notation: Notation, suffix: &str) -> FormattedText {
    let exactly = |text: String| FormattedText { text: format!("{text}{suffix}"), exact: true };
    match notation {
        Notation::Fraction => return exactly(value.to_string()),
        Notation::Radix(radix) if value.is_integer() => {
            let sign = if value.is_negative() { "-" } else { "" };
            let mark = match radix {
                16 => "0x",
                8 => "0o",
                _ => "0b",
            };
            let digits = value.numer().abs().to_str_radix(radix);
            return exactly(format!("{sign}{mark}{digits}"));
        }
        _ => {}
    }
    if let Some(text) = finite_decimals(value) {
        return exactly(text);
    }
    let rounded = round_digits(Number::Exact(value.clone()).to_f64());
    let fraction = value.to_string();
    let (numerator, denominator) = (value.numer().abs().to_string(), value.denom().to_string());
    if numerator.len() > MAX_FRACTION || denominator.len() > MAX_FRACTION {
        return FormattedText { text: format!("≈ {rounded}{suffix}"), exact: false };
    }
    exactly(format!("{fraction}{suffix} ≈ {rounded}"))
}

/// All decimals of a number, if they end soon enough to be of use.
pub(super) fn finite_decimals(value: &BigRational) -> Option<String> {
    if value.is_integer() {
        return Some(value.numer().to_string());
    }
    let (mut rest, mut twos, mut fives) = (value.denom().clone(), 0_usize, 0_usize);
    for (prime, count) in [(2_u32, &mut twos), (5_u32, &mut fives)] {
        while *count <= MAX_DECIMALS && (&rest % prime).is_zero() {
            rest /= prime;
            *count += 1;
        }
    }
    let decimals = twos.max(fives);
    if !rest.is_one() || decimals > MAX_DECIMALS {
        return None;
    }
    let scale = BigInt::from(10).pow(u32::try_from(decimals).ok()?);
    let digits = (value.numer().abs() * scale / value.denom()).to_string();
    let digits = format!("{digits:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let sign = if value.is_negative() { "-" } else { "" };
    Some(format!("{sign}{whole}.{fraction}"))
}

/// A floating-point number to 15 digits, without zeros at the end.
pub(super) fn round_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.precision$e}", precision = DIGITS - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| {
        let point = text.contains('.');
        let trimmed = text.trim_end_matches('0').trim_end_matches('.');
        if point { trimmed.to_owned() } else { text.to_owned() }
    };
    if (-7..21).contains(&exponent) {
        let last = i32::try_from(DIGITS).unwrap_or(15) - 1;
        if exponent > last {
            let rounded: f64 = scientific.parse().unwrap_or(value);
            return format!("{rounded:.0}");
        }
        let decimals = usize::try_from(last - exponent).unwrap_or(0);
        return trim(&format!("{value:.decimals$}"));
    }
    format!("{}e{exponent}", trim(mantissa))
}
