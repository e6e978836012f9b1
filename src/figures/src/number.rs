//! A numeral as the numbers that it can mean: `1.234` is one and a bit, or more than a thousand.

use super::decimal::Decimal;
use super::scan::{digits, is_blank, is_separator};

/// A number as it was written, and the unit of its last digit: `35.6` has a step of 0.1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NumeralReading {
    pub(super) decimal: Decimal,
    pub(super) step: f64,
}

/// What a numeral can mean: one number, or several with commas between them.
pub(super) type NumeralReadings = Vec<Vec<NumeralReading>>;

/// A rounded number may be off by this part of the value, however few digits it has.
const COARSEST: f64 = 0.1;
/// The same after words such as `about`.
const COARSEST_ABOUT: f64 = 0.05;
/// How far the same sum may be off if it is computed in another order.
const NOISE: f64 = 4.0 * f64::EPSILON;

impl NumeralReading {
    /// A number that was not rounded.
    pub(super) const fn exact(decimal: Decimal) -> Self {
        Self { decimal, step: 0.0 }
    }

    /// The number in thousands, millions, and so on.
    pub(super) fn times(&self, scale: f64) -> Self {
        Self { decimal: self.decimal.clone().times(scale), step: self.step * scale }
    }

    /// The number below zero.
    pub(super) fn negated(self) -> Self {
        Self { decimal: self.decimal.negated(), ..self }
    }

    /// Whether it is the number `known`, rounded to the digits that are shown. After `about` the
    /// zeros at its end need not be digits of `known`. Whole numbers are compared by their digits.
    pub(super) fn rounds(&self, known: &Decimal, about: bool) -> bool {
        if self.decimal == *known {
            return true;
        }
        let are_whole = self.decimal.is_whole() && known.is_whole();
        let known = known.value();
        let off = (self.decimal.value() - known).abs();
        if !self.decimal.is_whole() && off <= known.abs() * NOISE {
            return true;
        }
        let fits = |step: f64, part: f64| {
            let is_rounded = !are_whole || step > 1.0;
            is_rounded && off <= step / 2.0 * (1.0 + 1e-9) && off <= known.abs() * part
        };
        let zeros = if about { self.round_step() } else { 0.0 };
        fits(self.step, COARSEST) || fits(zeros, COARSEST_ABOUT)
    }

    /// The largest power of ten that divides the number.
    fn round_step(&self) -> f64 {
        match self.decimal.exponent() {
            exponent @ 1.. => 10_f64.powi(exponent.min(15)),
            _ => 0.0,
        }
    }
}

/// What a numeral can mean, the likeliest first.
pub(super) fn readings(numeral: &str) -> NumeralReadings {
    let (mantissa, exponent) = match numeral.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().unwrap_or(0)),
        None => (numeral, 0_i32),
    };
    let mut found: NumeralReadings = whole(mantissa).into_iter().map(|one| vec![one]).collect();
    found.extend(list(mantissa));
    let scaled_one = |one: NumeralReading| NumeralReading {
        decimal: one.decimal.shifted(exponent),
        step: one.step * 10_f64.powi(exponent),
    };
    let scaled = |ones: Vec<NumeralReading>| ones.into_iter().map(scaled_one).collect();
    found.into_iter().map(scaled).collect()
}

/// The numeral as one number.
fn whole(numeral: &str) -> Vec<NumeralReading> {
    let groups: Vec<&str> = numeral.split(is_separator_or_space).collect();
    let marks: Vec<char> = numeral.chars().filter(|sign| is_separator_or_space(*sign)).collect();
    let Some((last, earlier)) = marks.split_last() else { return read(numeral, "") };
    let Some((tail, head)) = groups.split_last() else { return Vec::new() };
    let mut found = Vec::new();
    let is_grouped = grouped(&groups, &marks);
    let has_fraction = matches!(last, '.' | ',') && (earlier.is_empty() || grouped(head, earlier));
    if has_fraction && earlier.iter().all(|mark| mark != last) {
        found.extend(read(&head.concat(), tail));
    }
    if is_grouped {
        found.extend(read(&groups.concat(), ""));
    }
    found
}

/// The numeral as several numbers with commas or spaces between them.
fn list(numeral: &str) -> Option<Vec<NumeralReading>> {
    let is_mark = |sign: char| is_separator_or_space(sign) && sign != '.';
    let parts: Vec<&str> = numeral.split(is_mark).collect();
    let parts = match parts.len() {
        // Numbers of versions.
        1 => numeral.split('.').collect(),
        _ => parts,
    };
    let is_decimal = parts.len() == 2 && !numeral.contains(is_mark);
    let marks: Vec<char> = numeral.chars().filter(|sign| is_separator_or_space(*sign)).collect();
    let groups: Vec<&str> = numeral.split(is_separator_or_space).collect();
    // With a fraction or without, the digits of one number.
    let is_one = grouped(&groups, &marks)
        || matches!((groups.split_last(), marks.split_last()), (Some((_, head)), Some((last, earlier)))
            if matches!(last, '.' | ',') && !earlier.contains(last) && grouped(head, earlier));
    if parts.len() < 2 || is_decimal || is_one {
        return None;
    }
    parts.into_iter().map(|part| whole(part).first().cloned()).collect()
}

/// The numbers between the commas of a numeral: `132,133,134` is one number, or a list of three.
pub(super) fn sequence(numeral: &str) -> Vec<Decimal> {
    let parts: Vec<Decimal> = numeral.split(',').filter_map(Decimal::parse).collect();
    if parts.len() < 3 { Vec::new() } else { parts }
}

/// Whether digits are grouped by thousands, or as in India: `12,34,567`.
fn grouped(groups: &[&str], marks: &[char]) -> bool {
    let (Some((first, rest)), Some(mark)) = (groups.split_first(), marks.first()) else {
        return false;
    };
    let Some((last, middle)) = rest.split_last() else { return false };
    let is_uniform = marks.iter().all(|other| other == mark);
    let by = |size: usize| middle.iter().all(|group| group.len() == size);
    let has_start = !first.starts_with('0');
    let western = (1..=3).contains(&first.len()) && by(3);
    let indian = *mark == ',' && (1..=2).contains(&first.len()) && by(2);
    is_uniform && has_start && last.len() == 3 && (western || indian)
}

fn read(whole: &str, fraction: &str) -> Vec<NumeralReading> {
    let (head, fraction) = match whole.split_once('.') {
        // `.5` has no separator before its point.
        Some((head, rest)) if fraction.is_empty() => (head, rest),
        _ => (whole, fraction),
    };
    let places = i32::try_from(digits(fraction)).unwrap_or(i32::MAX);
    let decimal = Decimal::parse(&format!("{head}.{fraction}"));
    let found = decimal.filter(|decimal| decimal.value().is_finite());
    found
        .map(|decimal| NumeralReading { decimal, step: 10_f64.powi(-places) })
        .into_iter()
        .collect()
}

fn is_separator_or_space(sign: char) -> bool {
    sign == ' ' || is_blank(sign) || is_separator(sign)
}
