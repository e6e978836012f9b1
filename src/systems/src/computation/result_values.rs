//! Whether independent pieces of code came to the same result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far equal numbers may be apart, as a part of the larger one: sums in another order differ
/// in their last digits.
const TOLERANCE: f64 = 1e-9;

/// Values that a person reads of a result that differs.
const MOST_TOLD: usize = 5;
const LONGEST_TOLD: usize = 80;

/// The first result of a question, which other code has to come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstResult {
    /// How many pieces of code were tried until then.
    pub attempts: usize,
    /// What it consists of.
    pub values: ResultValues,
    /// Whether other code came to the same; none while it has come to nothing.
    pub is_confirmed: Option<bool>,
}

/// The single values of a result, as `inspect.py` finds them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultValues {
    /// How many things it lists: a name with its number is one.
    pub items: u64,
    /// All values in it, and the labels of its rows.
    pub values: Vec<ResultValue>,
}

/// A number, or anything else as words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ResultValue {
    /// A number, also one that was a text.
    Number(f64),
    /// Lower-case words and digits.
    Text(String),
}

impl ResultValues {
    /// Whether both are the same, regardless of order and rounding. Of a single thing, one may
    /// tell more than the other: a name alone, and with its number.
    pub(super) fn agree_with(&self, other: &Self) -> bool {
        let is_fewer = self.values.len() < other.values.len();
        let (fewer, more) = if is_fewer { (self, other) } else { (other, self) };
        let is_one = fewer.items == 1 && more.items == 1 && !fewer.values.is_empty();
        if fewer.values.len() < more.values.len() && !is_one {
            return false;
        }
        let mut rest: Vec<&ResultValue> = more.values.iter().collect();
        fewer.values.iter().all(|value| {
            let place = rest.iter().position(|other| value.is_same(other));
            place.map(|place| rest.swap_remove(place)).is_some()
        })
    }

    /// The first values, for a person.
    pub(super) fn told(&self) -> String {
        let mut told: Vec<String> =
            self.values.iter().take(MOST_TOLD).map(ResultValue::told).collect();
        if self.values.len() > MOST_TOLD {
            told.push("...".to_owned());
        }
        format!("`{}`", told.join(", "))
    }
}

impl ResultValue {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => is_same_number(*one, *other),
            (Self::Text(one), Self::Text(other)) => {
                let is_within = |part: &str, whole: &str| {
                    !part.is_empty() && format!(" {whole} ").contains(&format!(" {part} "))
                };
                one == other || is_within(one, other) || is_within(other, one)
            }
            _ => false,
        }
    }

    fn told(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.chars().take(LONGEST_TOLD).collect(),
        }
    }
}

/// Whether numbers are equal, or the one is the other rounded: to decimals, or if it has at least
/// three digits.
fn is_same_number(one: f64, other: f64) -> bool {
    let distance = (one - other).abs();
    if distance <= TOLERANCE * one.abs().max(other.abs()) {
        return true;
    }
    let decimals =
        |number: f64| number.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let decimals = decimals(one).min(decimals(other));
    let is_rounded = decimals > 0 || one.abs() >= 100.0;
    let step = 0.1_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX));
    is_rounded && distance <= step * (0.5 + TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(items: u64, values: &str) -> ResultValues {
        let values = values.split(", ").map(|text| match text.parse() {
            Ok(number) => ResultValue::Number(number),
            Err(_) => ResultValue::Text(text.to_owned()),
        });
        ResultValues { items, values: values.collect() }
    }

    #[test]
    fn results_agree_but_for_order_rounding_and_what_one_tells_beside() {
        for (one, other) in [
            (values(1, "4"), values(1, "4")),
            (values(1, "45.6"), values(1, "45.59585492227979")),
            (values(1, "103483"), values(1, "103483.33333333333")),
            (values(1, "0.30000000000000004"), values(1, "0.3")),
            (values(1, "ugo"), values(1, "20, ugo")),
            (values(1, "fe"), values(1, "iron fe")),
            (values(2, "north, south"), values(2, "south, north")),
            (values(2, "north, 3, south, 4"), values(2, "north, south, 3, 4")),
        ] {
            assert!(one.agree_with(&other) && other.agree_with(&one), "{one:?} {other:?}");
        }
    }

    #[test]
    fn results_disagree_in_a_value_and_in_how_many_there_are() {
        for (one, other) in [
            (values(1, "4"), values(1, "5")),
            (values(1, "12"), values(1, "12.4")),
            (values(1, "45.6"), values(1, "45.7")),
            (values(1, "30"), values(1, "3000")),
            (values(1, "4"), values(1, "four")),
            (values(1, "ugo"), values(1, "20, piet")),
            (values(1, "hugo"), values(1, "ugo")),
            (values(1, "3"), values(4, "3, 4, 5, 6")),
            (values(2, "3, 3"), values(2, "3, 4")),
        ] {
            assert!(!one.agree_with(&other) && !other.agree_with(&one), "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_person_reads_the_first_values() {
        assert_eq!(values(1, "ugo, 20").told(), "`ugo, 20`");
        assert_eq!(values(7, "1, 2, 3, 4, 5, 6, 7").told(), "`1, 2, 3, 4, 5, ...`");
    }
}
