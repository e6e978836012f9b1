//! Whether two quantities are the same, within what their digits allow.

use super::conversion::factor;
use super::number::NumeralReading;
use super::quantity::{QuantityBound, QuantityKind, StatedQuantity};

/// How far apart rounded numbers may be, as a part of the larger one.
const TOLERANCE: f64 = 0.05;
/// Whole numbers below it are counted, not rounded.
const COUNTED: f64 = 100.0;
/// How far the same product may be off if it is computed in another order.
const NOISE: f64 = 1e-9;

/// How two quantities compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantityVerdict {
    /// The same number of the same unit.
    Exact,
    /// The same up to rounding, or within the bounds that are stated.
    Approximate,
    /// Not the same.
    Different(QuantityMismatch),
}

/// In what two quantities differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantityMismatch {
    /// A percentage and a count, a year and an amount of money.
    Kind,
    /// Units that measure, or nouns that count, different things.
    Unit,
    /// A rise and a fall.
    Change,
    /// The numbers.
    Value,
    /// Digits that the other quantity does not have.
    Precision,
}

impl QuantityVerdict {
    /// Whether they are the same, up to rounding.
    pub const fn is_match(self) -> bool {
        !matches!(self, Self::Different(_))
    }
}

impl StatedQuantity {
    /// Compares two quantities of equal rank: which comes first decides only where one of them is
    /// a bound or a range, which has to hold the other.
    ///
    /// ```
    /// use antiphon_figures::{QuantityVerdict, StatedQuantity, quantities};
    /// let one = |text| quantities(text).remove(0);
    /// let compare = |left, right| one(left).compare(&one(right));
    /// assert_eq!(compare("1,000M USD", "$1B"), QuantityVerdict::Exact);
    /// assert_eq!(compare("$3.2 billion", "$3.19 billion"), QuantityVerdict::Approximate);
    /// assert!(!compare("$3.2 billion", "$3.9 billion").is_match());
    /// assert!(!compare("95 %", "99 %").is_match());
    /// assert!(!compare("25 meters", "25 million").is_match());
    /// assert!(!compare("3 %", "3 percentage points").is_match());
    /// ```
    pub fn compare(&self, other: &Self) -> QuantityVerdict {
        let scale = match self.scale_to(other) {
            Ok(scale) => scale,
            Err(mismatch) => return QuantityVerdict::Different(mismatch),
        };
        if self.change_differs(other) {
            return QuantityVerdict::Different(QuantityMismatch::Change);
        }
        let own = |reading: &NumeralReading| self.magnitude(&scaled(reading, scale));
        let theirs = |reading: &NumeralReading| other.magnitude(reading);
        let low = (own(&self.number), theirs(&other.number));
        match (&self.upper, &other.upper) {
            (Some(upper), Some(known)) => {
                let high = (own(upper), theirs(known));
                either(self.values(other, &low.0, &low.1), self.values(other, &high.0, &high.1))
            }
            (Some(upper), None) => within(&low.1, &low.0, &own(upper)),
            (None, Some(upper)) => within(&low.0, &low.1, &theirs(upper)),
            (None, None) => self.values(other, &low.0, &low.1),
        }
    }

    /// Whether a text that states `known` supports this quantity. Unlike [`Self::compare`], it
    /// may not have digits that are not known, and nothing becomes exact that was approximate.
    ///
    /// ```
    /// use antiphon_figures::{QuantityVerdict, quantities};
    /// let one = |text| quantities(text).remove(0);
    /// assert!(one("$3.2 billion").follows_from(&one("$3.19 billion")).is_match());
    /// assert!(!one("$3.19 billion").follows_from(&one("$3.2 billion")).is_match());
    /// assert!(!one("97 people").follows_from(&one("about 100 people")).is_match());
    /// assert!(one("over 3 million").follows_from(&one("3.4 million")).is_match());
    /// assert!(!one("over 5 million").follows_from(&one("3.4 million")).is_match());
    /// ```
    pub fn follows_from(&self, known: &Self) -> QuantityVerdict {
        let is_narrowed = self.upper.is_none() && known.upper.is_some();
        if is_narrowed && self.bound == QuantityBound::Exact {
            return QuantityVerdict::Different(QuantityMismatch::Precision);
        }
        let hedged = matches!(known.bound, QuantityBound::About);
        let plain = Self { bound: QuantityBound::Exact, ..known.clone() };
        let verdict = self.compare(if hedged { &plain } else { known });
        let is_close = self.bound == QuantityBound::Exact || self.bound == QuantityBound::About;
        if verdict == QuantityVerdict::Approximate && is_close && self.adds_digits(known) {
            return QuantityVerdict::Different(QuantityMismatch::Precision);
        }
        verdict
    }

    /// Whether this is the `sum`, the `difference`, the `ratio` or the `growth` of others, to the
    /// digits that are shown. A ratio may be a percentage or a factor, a growth is a percentage.
    ///
    /// ```
    /// use antiphon_figures::quantities;
    /// let one = |text| quantities(text).remove(0);
    /// assert!(one("30 users").is_computed("sum", &[&one("10 users"), &one("20 users")]));
    /// assert!(one("50 %").is_computed("growth", &[&one("$10"), &one("$15")]));
    /// assert!(!one("31 users").is_computed("sum", &[&one("10 users"), &one("20 users")]));
    /// ```
    pub fn is_computed(&self, operation: &str, operands: &[&Self]) -> bool {
        let Some((first, rest)) = operands.split_first().filter(|(_, rest)| !rest.is_empty())
        else {
            return false;
        };
        let Some(scales) =
            operands.iter().map(|it| it.scale_to(first).ok()).collect::<Option<Vec<f64>>>()
        else {
            return false;
        };
        let values: Vec<f64> =
            operands.iter().zip(scales).map(|(it, scale)| it.value() * scale).collect();
        let (start, second) = (first.value(), rest.first().map_or(0.0, |it| it.value()));
        let is_share = self.kind == QuantityKind::Percent;
        let is_plain = is_share || matches!(self.kind, QuantityKind::Factor | QuantityKind::Count);
        let (value, scale) = match operation {
            "sum" => (values.iter().sum(), self.scale_to(first).ok()),
            "difference" => (start - values.iter().skip(1).sum::<f64>(), self.scale_to(first).ok()),
            "ratio" if is_plain && second != 0.0 => {
                (start / second * if is_share { 100.0 } else { 1.0 }, Some(1.0))
            }
            "growth" if is_share && start != 0.0 => {
                ((second - start) / start.abs() * 100.0, Some(1.0))
            }
            _ => return false,
        };
        let Some(scale) = scale else { return false };
        let own = self.value().abs() * scale;
        let rounding = self.number.step * scale / 2.0;
        (own - f64::abs(value)).abs() <= rounding.min(own * TOLERANCE) + own * NOISE
    }

    /// What the own number is multiplied by to be in the unit of the other.
    pub(super) fn scale_to(&self, other: &Self) -> Result<f64, QuantityMismatch> {
        if self.kind != other.kind {
            return Err(QuantityMismatch::Kind);
        }
        if self.units.is_empty() || other.units.is_empty() {
            let are_named = self.kind == QuantityKind::Measure || self.kind == QuantityKind::Money;
            return if are_named { Err(QuantityMismatch::Unit) } else { Ok(1.0) };
        }
        if self.units.iter().any(|unit| other.units.contains(unit)) {
            return Ok(1.0);
        }
        let mut factors =
            self.units.iter().flat_map(|own| other.units.iter().map(move |it| (own, it)));
        let found = factors.find_map(|(own, it)| factor(own, it));
        found.ok_or(QuantityMismatch::Unit)
    }

    /// Whether one falls and the other rises. A number without a direction may be either, unless
    /// it has the sign of the other direction.
    fn change_differs(&self, other: &Self) -> bool {
        use super::quantity::QuantityChange::{Down, Up};
        let own = |it: &Self| if it.is_negative() { Some(Down) } else { it.change };
        match (own(self), own(other)) {
            (Some(Down), Some(Up)) | (Some(Up), Some(Down)) => true,
            (Some(Down), None) => self.is_negative(),
            (None, Some(Down)) => other.is_negative(),
            _ => false,
        }
    }

    fn is_negative(&self) -> bool {
        self.number.decimal.is_negative()
    }

    /// A number without its sign, which [`Self::change_differs`] has compared. The signs of a
    /// range stay.
    fn magnitude(&self, reading: &NumeralReading) -> NumeralReading {
        let mut reading = reading.clone();
        if self.upper.is_none() {
            reading.decimal = reading.decimal.magnitude();
        }
        reading
    }

    /// Compares two numbers of the same unit by the bounds of their quantities.
    fn values(
        &self,
        other: &Self,
        own: &NumeralReading,
        known: &NumeralReading,
    ) -> QuantityVerdict {
        use QuantityBound::{Above, AtLeast, AtMost, Below};
        let (left, right) = (own.decimal.value(), known.decimal.value());
        let close = || self.close(other, own, known);
        let decided = match (self.bound, other.bound) {
            (Above | AtLeast, Below | AtMost) | (Below | AtMost, Above | AtLeast) => false,
            // What is stated more loosely follows from what is stated more tightly.
            (Above | AtLeast, Above | AtLeast) => left <= right,
            (Below | AtMost, Below | AtMost) => left >= right,
            (Above, _) => right > left,
            (AtLeast, _) => right >= left,
            (Below, _) => right < left,
            (AtMost, _) => right <= left,
            // A bound says no more than that the number lies beyond it.
            (_, Above | AtLeast | Below | AtMost) => return bounded(close()),
            _ => return close(),
        };
        if decided {
            let is_same = self.bound == other.bound && own.decimal == known.decimal;
            if is_same { QuantityVerdict::Exact } else { QuantityVerdict::Approximate }
        } else {
            QuantityVerdict::Different(QuantityMismatch::Value)
        }
    }

    fn close(&self, other: &Self, own: &NumeralReading, known: &NumeralReading) -> QuantityVerdict {
        if own.decimal == known.decimal {
            return QuantityVerdict::Exact;
        }
        let off = own.decimal.distance(&known.decimal);
        let largest = own.decimal.value().abs().max(known.decimal.value().abs());
        if off <= largest * NOISE && !(own.decimal.is_whole() && known.decimal.is_whole()) {
            return QuantityVerdict::Exact;
        }
        let is_hedged = self.bound == QuantityBound::About || other.bound == QuantityBound::About;
        let is_counted = largest < COUNTED
            && own.decimal.is_whole()
            && known.decimal.is_whole()
            && self.kind == QuantityKind::Count;
        let rounding = own.step.max(known.step) / 2.0 * (1.0 + NOISE);
        let allowed = match self.kind {
            QuantityKind::Year => 0.0,
            _ if is_hedged => largest * TOLERANCE,
            _ if is_counted => 0.0,
            _ => rounding.min(largest * TOLERANCE),
        };
        if off <= allowed {
            QuantityVerdict::Approximate
        } else {
            QuantityVerdict::Different(QuantityMismatch::Value)
        }
    }

    /// Whether the own number is finer than the known one.
    fn adds_digits(&self, known: &Self) -> bool {
        if self.is_fraction {
            return false;
        }
        let scale = self.scale_to(known).unwrap_or(1.0);
        let (own, theirs) = (self.number.step * scale, known.number.step);
        own < theirs * (1.0 - NOISE) && self.bound != QuantityBound::About
    }
}

/// A reading in another unit.
fn scaled(reading: &NumeralReading, scale: f64) -> NumeralReading {
    if (scale - 1.0).abs() < NOISE { reading.clone() } else { reading.times(scale) }
}

/// A number against a range.
fn within(number: &NumeralReading, low: &NumeralReading, high: &NumeralReading) -> QuantityVerdict {
    let value = number.decimal.value();
    if (low.decimal.value()..=high.decimal.value()).contains(&value) {
        QuantityVerdict::Approximate
    } else {
        QuantityVerdict::Different(QuantityMismatch::Value)
    }
}

/// A number that stands beside a bound is at most approximately known.
const fn bounded(verdict: QuantityVerdict) -> QuantityVerdict {
    match verdict {
        QuantityVerdict::Exact => QuantityVerdict::Approximate,
        other => other,
    }
}

/// The worse of two.
const fn either(left: QuantityVerdict, right: QuantityVerdict) -> QuantityVerdict {
    match (left, right) {
        (QuantityVerdict::Different(_), _) | (_, QuantityVerdict::Exact) => left,
        _ => right,
    }
}
