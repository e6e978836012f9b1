//! Numbers for the calculator. Whatever returns a number may write it for a reader: `1,260` or
//! `340 litres`.

use antiphon_figures::{QuantityBound, QuantityKind, StatedQuantity, quantities};
use serde_json::{Value as Json, json};

/// How many characters a text has at most that stands for its number.
const CHARS: usize = 60;

/// A value as a calculator reads it: for a short text that states one number, and is none itself,
/// that number.
pub(super) fn operand(value: Json) -> Json {
    let number = value.as_str().and_then(stated_number);
    number.map_or(value, |number| json!(number.to_string()))
}

fn stated_number(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.chars().count() > CHARS || text.parse::<f64>().is_ok() {
        return None;
    }
    let [only] = <[StatedQuantity; 1]>::try_from(quantities(text)).ok()?;
    let others = text.replacen(&only.text, "", 1);
    let is_plain = !others.contains(|sign: char| sign.is_ascii_digit() || "+*/^=()".contains(sign));
    let is_number =
        matches!(only.kind, QuantityKind::Count | QuantityKind::Money | QuantityKind::Measure);
    let is_exact =
        only.bound == QuantityBound::Exact && only.upper().is_none() && only.change.is_none();
    (is_plain && is_number && is_exact).then(|| only.value())
}
