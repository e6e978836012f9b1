//! Numbers for the calculator. Whatever returns a number may write it for a reader: `1,260` or
//! `340 litres`.

use std::collections::BTreeSet;

use antiphon_figures::{QuantityBound, QuantityKind, StatedQuantity, quantities};
use serde_json::{Value as Json, json};

use crate::json_texts::{TextPart, visit};

/// How a step asks a model for a number out of a text, in the examples and in repairs.
pub(super) const ONLY_NUMBER: &str = "only the number";
/// The most words of a text that a calculator may be able to read: `3.5 hours in minutes`.
const MOST_WORDS: usize = 20;
/// The most words after a number with a unit: `tonnes of salt a year`.
const UNIT_WORDS: usize = 5;
/// The same after a number without one: `pupils`.
const COUNTED_WORDS: usize = 1;

/// Whether a value is or has a text for readers, such as a page or the hits of a search.
pub(super) fn is_prose(value: &Json) -> bool {
    let mut is_prose = false;
    visit(value, &mut |_, text| {
        let words = text.split_whitespace().filter(|word| word.contains(char::is_alphabetic));
        is_prose |= words.count() > MOST_WORDS;
    });
    is_prose
}

/// An expression with the numbers in place of the texts that state them. All stay if they have
/// several units: nothing converts them, and the result would be wrong without a word.
pub(super) fn with_operands(parts: Vec<TextPart<'_, Json>>) -> Vec<TextPart<'_, Json>> {
    let read = |part: &TextPart<'_, Json>| match part {
        TextPart::Text(_) => None,
        TextPart::Value(value) => value.as_str().and_then(stated_number),
    };
    let numbers: Vec<Option<StatedQuantity>> = parts.iter().map(read).collect();
    let units: BTreeSet<&str> = numbers.iter().flatten().filter_map(unit).collect();
    if units.len() > 1 {
        return parts;
    }
    let stated = |(part, number): (_, Option<StatedQuantity>)| {
        number.map_or(part, |number| TextPart::Value(json!(number.value().to_string())))
    };
    parts.into_iter().zip(numbers).map(stated).collect()
}

/// The number that a text is, with what it counts or its unit; none for a plain number, which a
/// calculator reads itself.
fn stated_number(text: &str) -> Option<StatedQuantity> {
    let text = text.trim();
    if text.parse::<f64>().is_ok() {
        return None;
    }
    let [only] = <[StatedQuantity; 1]>::try_from(quantities(text)).ok()?;
    let (before, after) = text.split_once(&only.text)?;
    let words = match only.kind {
        QuantityKind::Count => COUNTED_WORDS,
        QuantityKind::Money | QuantityKind::Measure => UNIT_WORDS,
        _ => return None,
    };
    let is_bare = matches!(before.trim(), "" | "$" | "€" | "£" | "¥")
        && after.chars().all(|sign| sign.is_alphabetic() || " .".contains(sign))
        && after.split_whitespace().count() <= words;
    let is_exact =
        only.bound == QuantityBound::Exact && only.upper().is_none() && only.change.is_none();
    (is_bare && is_exact).then_some(only)
}

fn unit(number: &StatedQuantity) -> Option<&'static str> {
    let is_counted = number.kind == QuantityKind::Count;
    number.units.first().copied().filter(|_| !is_counted)
}
