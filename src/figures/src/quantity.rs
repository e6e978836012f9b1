//! The quantities of a sentence, one by one, with all that is said about each.

use super::number::NumeralReading;
use super::plain_text::plain;
use super::quantity_reader::QuantityReader;
use super::scan::scan;

/// What a quantity counts or measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuantityKind {
    /// A plain number, of things or of nothing in particular.
    Count,
    /// Parts of a hundred.
    Percent,
    /// A difference of two percentages.
    PercentPoint,
    /// How many times.
    Factor,
    /// An amount of money.
    Money,
    /// A number with a unit of measurement.
    Measure,
    /// A year of the calendar.
    Year,
}

/// How a number bounds the quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuantityBound {
    /// It is that number.
    Exact,
    /// `about`.
    About,
    /// `more than`, `over`.
    Above,
    /// `at least`.
    AtLeast,
    /// `less than`, `under`.
    Below,
    /// `at most`, `up to`.
    AtMost,
}

/// The direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuantityChange {
    /// `rose by`.
    Up,
    /// `fell by`.
    Down,
}

/// A quantity as a sentence states it.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedQuantity {
    /// As it is written, without its unit.
    pub text: String,
    /// What it counts or measures.
    pub kind: QuantityKind,
    /// The units that its unit can mean: `pounds` are money or a weight. Of a count, what is
    /// counted, if that is known.
    pub units: Vec<&'static str>,
    /// Whether it is the number, or more, or less.
    pub bound: QuantityBound,
    /// Whether it says by how much something rose or fell.
    pub change: Option<QuantityChange>,
    pub(crate) number: NumeralReading,
    /// The end of a range.
    pub(crate) upper: Option<NumeralReading>,
    /// Whether it is a part of a whole, such as `two thirds`, which has no digits.
    pub(crate) is_fraction: bool,
}

impl StatedQuantity {
    /// The number, the lower one of a range.
    pub fn value(&self) -> f64 {
        self.number.decimal.value()
    }

    /// The upper number of a range.
    pub fn upper(&self) -> Option<f64> {
        self.upper.as_ref().map(|upper| upper.decimal.value())
    }

    /// The number at full length with its unit, however it was written: `3200000000 USD`.
    pub fn normalized(&self) -> String {
        let mut text = self.number.decimal.written();
        if let Some(upper) = &self.upper {
            text.push('–');
            text.push_str(&upper.decimal.written());
        }
        let unit = match self.kind {
            QuantityKind::Percent => "%",
            QuantityKind::PercentPoint => "percentage points",
            QuantityKind::Factor => "times",
            _ => self.units.first().copied().unwrap_or_default(),
        };
        if unit.is_empty() { text } else { format!("{text} {unit}") }
    }
}

/// Every quantity of a text, in order. Dates, ordinal numbers, numbers of versions and of list
/// items are none; the year of a date is one.
///
/// ```
/// use antiphon_figures::{QuantityKind, quantities};
/// let found = quantities("Revenue rose by about 4.5 % to $3.2 billion in 2023.");
/// let kinds: Vec<_> = found.iter().map(|one| one.kind).collect();
/// assert_eq!(kinds, [QuantityKind::Percent, QuantityKind::Money, QuantityKind::Year]);
/// assert_eq!(found[1].normalized(), "3200000000 USD");
/// ```
pub fn quantities(text: &str) -> Vec<StatedQuantity> {
    let text = plain(text);
    QuantityReader::new(&text, &scan(&text)).read()
}
