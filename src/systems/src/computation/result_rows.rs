//! Whether independent pieces of code came to the same result.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value_text::cut;

/// How far equal numbers may be apart, as a part of the larger one: sums in another order differ
/// in their last digits.
const TOLERANCE: f64 = 1e-9;
/// How far a number may be from one that it was rounded from, as a part of the larger one.
const MOST_ROUNDED: f64 = 0.01;

/// Values and characters that a person reads of a result that differs.
const MOST_TOLD: usize = 5;
const LONGEST_TOLD: usize = 120;

/// The first result of a question, which other code has to come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FirstResult {
    /// How many pieces of code were tried until then.
    pub attempts: usize,
    /// What it consists of.
    pub result: ResultRows,
    /// Whether other code came to the same; none while it has come to nothing.
    pub is_confirmed: Option<bool>,
}

/// A result as rows of single values, as `result_rows.py` finds them: a number is a row, an entry
/// of a dict is a row of its key and its value, and so is a row of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResultRows {
    /// How many rows it has.
    pub count: u64,
    /// The first 1,000 of them. The first sign of a value tells its kind: `n` for a number, `t`
    /// for a text, a date or a time, `b` for true and false, `-` for none.
    pub rows: Vec<Vec<String>>,
}

impl ResultRows {
    /// Whether both are the same, regardless of the order of rows. Beside a name, one may tell
    /// more than the other. `is_share` says that shares may be percentages.
    pub(super) fn agrees_with(&self, other: &Self, is_share: bool) -> bool {
        if self.count != other.count {
            return self.is_listed_in(other) || other.is_listed_in(self);
        }
        if self.rows.len() < usize::try_from(self.count).unwrap_or(usize::MAX) {
            return true;
        }
        // What is exactly the same goes first: a rounded value may fit several.
        let mut rest: Vec<&Vec<String>> = other.rows.iter().collect();
        let mut open: Vec<&Vec<String>> = self.rows.iter().collect();
        open.retain(|row| !takes(&mut rest, |other| other == row));
        open.iter().all(|row| takes(&mut rest, |other| are_same_rows(row, other, is_share)))
    }

    /// Whether its only value is a text that lists the rows of the other: `north, south`.
    fn is_listed_in(&self, other: &Self) -> bool {
        let [row] = &*self.rows else { return false };
        let [value] = &**row else { return false };
        let Some(text) = value.strip_prefix('t') else { return false };
        let listed: BTreeSet<String> = text.split(',').map(plain).collect();
        let rows = other.rows.iter();
        let single = rows.map(|row| Some(plain(row.first().filter(|_| row.len() == 1)?.get(1..)?)));
        single.collect::<Option<BTreeSet<String>>>() == Some(listed)
    }

    /// The first values, for a person.
    pub(super) fn told(&self) -> String {
        let rows = self.rows.iter().take(MOST_TOLD);
        let mut told: Vec<String> = rows
            .map(|row| row.iter().map(|value| told(value)).collect::<Vec<_>>().join(" "))
            .collect();
        if self.rows.len() > MOST_TOLD {
            told.push("...".to_owned());
        }
        format!("`{}`", cut(&told.join(", "), LONGEST_TOLD).replace('\n', " "))
    }
}

/// Removes the first item that fits; says whether there is one.
fn takes<T>(items: &mut Vec<T>, fits: impl Fn(&T) -> bool) -> bool {
    let place = items.iter().position(fits);
    place.map(|place| items.swap_remove(place)).is_some()
}

fn told(value: &str) -> String {
    match value.get(1..) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => "nothing".to_owned(),
    }
}

/// Whether two rows have the same values, in any order where they are not all numbers; or whether
/// the one is a name in the other, or a number beside a name.
fn are_same_rows(one: &[String], other: &[String], is_share: bool) -> bool {
    let (fewer, more) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let is_number = |value: &String| value.starts_with('n');
    if fewer.len() == more.len() && one.iter().all(is_number) {
        return one.iter().zip(other).all(|(one, other)| are_same(one, other, is_share));
    }
    if fewer.len() < more.len() {
        let is_name = fewer.iter().all(|value| value.starts_with('t'));
        let is_value = more.len() == 2 && more.iter().any(|value| value.starts_with('t'));
        if !is_name && !is_value {
            return false;
        }
    }
    let mut rest: Vec<&String> = more.iter().collect();
    fewer.iter().all(|value| takes(&mut rest, |other| are_same(value, other, is_share)))
}

/// Whether two values are the same, however they are written.
fn are_same(one: &str, other: &str, is_share: bool) -> bool {
    if one == other {
        return true;
    }
    match (SingleValue::of(one), SingleValue::of(other)) {
        (SingleValue::Number(one), SingleValue::Number(other)) => {
            are_same_numbers(&one, &other, is_share)
        }
        (SingleValue::Number(number), SingleValue::Text(text))
        | (SingleValue::Text(text), SingleValue::Number(number)) => {
            let is_share = is_share || text.contains('%');
            number_in(&text).is_some_and(|stated| are_same_numbers(&number, &stated, is_share))
        }
        (SingleValue::Truth(one), SingleValue::Truth(other)) => one == other,
        (SingleValue::Truth(truth), SingleValue::Text(text))
        | (SingleValue::Text(text), SingleValue::Truth(truth)) => truth_in(&text) == Some(truth),
        (SingleValue::Text(one), SingleValue::Text(other)) => {
            let (one, other) = (plain(&one), plain(&other));
            one == other || is_stated_in(&one, &other) || is_stated_in(&other, &one)
        }
        _ => false,
    }
}

/// A single value.
enum SingleValue {
    Number(String),
    Text(String),
    Truth(bool),
    Nothing,
}

impl SingleValue {
    fn of(value: &str) -> Self {
        let text = value.get(1..).unwrap_or_default();
        match value.get(..1) {
            Some("n") => Self::Number(text.to_owned()),
            Some("t") => Self::Text(text.to_owned()),
            Some("b") => Self::Truth(text == "true"),
            _ => Self::Nothing,
        }
    }
}

/// A text without what tells nothing: case, spaces, a full stop.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ").to_lowercase();
    text.trim_end_matches(['.', '!']).trim_matches(['"', '\'', '`']).to_owned()
}

/// Whether a sentence, which denies nothing, states a text: `the type is van`.
fn is_stated_in(text: &str, sentence: &str) -> bool {
    const DENIALS: [&str; 10] =
        ["not", "no", "non", "never", "nicht", "kein", "keine", "pas", "nie", "without"];
    let words: Vec<&str> = sentence.split(' ').collect();
    let parts: Vec<&str> = text.split(' ').collect();
    let is_sentence = words.len() > parts.len() + 2;
    let denies = words.iter().any(|word| DENIALS.contains(word));
    let has_digits = text.contains(|sign: char| sign.is_ascii_digit());
    is_sentence && !denies && !has_digits && words.windows(parts.len()).any(|it| it == parts)
}

/// The digits of the only number in a text, without separators of thousands. A number in a name
/// such as `A38` or `007` is none.
fn number_in(text: &str) -> Option<String> {
    let is_part = |sign: char| sign.is_ascii_digit() || matches!(sign, '.' | ',');
    let parts = text.split(|sign: char| !is_part(sign)).map(|part| part.trim_matches(['.', ',']));
    let numbers: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let [digits] = *numbers else { return None };
    let before = text.get(..text.find(digits)?)?.trim_end_matches(['$', '€', '£']);
    let is_name = before.ends_with(char::is_alphabetic)
        || digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    let minus = if before.ends_with(['-', '−']) { "-" } else { "" };
    let number = format!("{minus}{}", digits.replace(',', ""));
    (!is_name && number.parse::<f64>().is_ok()).then_some(number)
}

fn truth_in(text: &str) -> Option<bool> {
    match &*plain(text) {
        "yes" | "true" | "ja" | "oui" | "sí" | "sì" => Some(true),
        "no" | "false" | "nein" | "non" => Some(false),
        _ => None,
    }
}

/// Whether numbers are equal, or the one is the other rounded. Whole ones have the same digits.
fn are_same_numbers(one: &str, other: &str, is_share: bool) -> bool {
    let (Ok(first), Ok(second)) = (one.parse::<f64>(), other.parse::<f64>()) else { return false };
    let is_near =
        |one: f64, other: f64| (one - other).abs() <= TOLERANCE * one.abs().max(other.abs());
    if is_share {
        let [percent, other_percent] = [first, second].map(|share| (share * 100.0).to_string());
        return are_same_numbers(one, other, false)
            || are_same_numbers(&percent, other, false)
            || are_same_numbers(one, &other_percent, false);
    }
    let digits = |number: &str| number.strip_suffix(".0").unwrap_or(number).to_owned();
    let is_whole =
        |number: &str| digits(number).bytes().all(|sign| sign.is_ascii_digit() || sign == b'-');
    if is_whole(one) && is_whole(other) {
        return digits(one) == digits(other);
    }
    is_near(first, second) || is_rounded(one, other) || is_rounded(other, one)
}

/// Whether a number is another one with fewer decimals; a whole one, of at least three digits.
fn is_rounded(rounded: &str, exact: &str) -> bool {
    let decimals = |number: &str| {
        let number = number.strip_suffix(".0").unwrap_or(number);
        number.split_once('.').map_or(0, |(_, decimals)| decimals.len())
    };
    let (Ok(one), Ok(other)) = (rounded.parse::<f64>(), exact.parse::<f64>()) else { return false };
    let (few, many) = (decimals(rounded), decimals(exact));
    let is_shorter = if few == 0 { many > 1 && other.abs() >= 100.0 } else { many > few };
    let step = 0.1_f64.powi(i32::try_from(few).unwrap_or(i32::MAX));
    let distance = (one - other).abs();
    is_shorter
        && distance <= step * (0.5 + TOLERANCE)
        && distance <= MOST_ROUNDED * one.abs().max(other.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows are apart by `;`, their values by `|`; what is a number is one.
    fn rows(text: &str) -> ResultRows {
        let single = |value: &str| match value {
            "-" => "-".to_owned(),
            "true" | "false" => format!("b{value}"),
            value if value.parse::<f64>().is_ok() => format!("n{value}"),
            value => format!("t{value}"),
        };
        let rows: Vec<Vec<String>> =
            text.split(';').map(|row| row.split('|').map(single).collect()).collect();
        ResultRows { count: rows.len() as u64, rows }
    }

    fn agree(one: &str, other: &str) -> bool {
        let (one, other) = (rows(one), rows(other));
        let agree = one.agrees_with(&other, false);
        assert_eq!(agree, other.agrees_with(&one, false), "{one:?} {other:?}");
        agree
    }

    #[test]
    fn results_agree_however_they_are_written() {
        for (one, other) in [
            ("4", "4"),
            ("4", "4.0"),
            ("45.6", "45.59585492227979"),
            ("103483", "103483.33333333333"),
            ("0.30000000000000004", "0.3"),
            ("1200.5", "$1,200.50"),
            ("65", "Total: 65"),
            ("3", "There are 3 rows."),
            ("-5", "−5 kg"),
            ("25", "25%"),
            ("0.25", "25%"),
            ("true", "Yes"),
            ("Ugo", "ugo"),
            ("Ugo", "Ugo|20"),
            ("20", "Ugo|20"),
            ("van", "The type is van."),
            ("north;south", "south;north"),
            ("north;south", "south, north"),
            ("north|3;south|4", "south|4;north|3"),
            ("north;south", "south|4;north|3"),
            ("1.25;1.3;1.34", "1.34;1.3;1.25"),
            ("-", "-"),
        ] {
            assert!(agree(one, other), "{one} {other}");
        }
    }

    #[test]
    fn results_disagree_in_a_value_its_sign_or_its_place() {
        for (one, other) in [
            ("4", "5"),
            ("12", "12.4"),
            ("0.1", "0.05"),
            ("0.5", "0.45"),
            ("3.5", "3.54"),
            ("1000", "1000.5"),
            ("100", "99.6"),
            ("30", "3000"),
            ("25", "0.25"),
            ("1234567890", "1234567891"),
            ("4", "four"),
            ("7", "007"),
            ("38", "A38"),
            ("5", "-5 kg"),
            ("Ugo", "Piet|20"),
            ("3", "3|Cy|30"),
            ("smoker", "non-smoker"),
            ("Ireland", "Northern Ireland"),
            ("van", "the type is not van"),
            ("A+", "A-"),
            ("a|1;b|2", "a|2;b|1"),
            ("1|2", "2|1"),
            ("3", "3;4;5;6"),
            ("3;3", "3;4"),
            ("2024-05-01", "2024-05-01 23:59:00"),
            ("true", "false"),
            ("-", "0"),
        ] {
            assert!(!agree(one, other), "{one} {other}");
        }
    }

    #[test]
    fn shares_may_be_percentages() {
        assert!(rows("0.25").agrees_with(&rows("25"), true));
        assert!(rows("45.6").agrees_with(&rows("0.4559585492227979"), true));
        assert!(!rows("0.25").agrees_with(&rows("26"), true));
    }

    #[test]
    fn of_more_rows_than_are_known_their_number_is_compared() {
        let long = |count: u64, text: &str| ResultRows { count, ..rows(text) };
        assert!(long(2_000, "1;2").agrees_with(&long(2_000, "2;3"), false));
        assert!(!long(2_000, "1;2").agrees_with(&long(2_001, "1;2"), false));
    }

    #[test]
    fn a_person_reads_the_first_values() {
        assert_eq!(rows("Ugo|20").told(), "`Ugo 20`");
        assert_eq!(rows("1;2;3;4;5;6;7").told(), "`1, 2, 3, 4, 5, ...`");
        assert_eq!(rows("-").told(), "`nothing`");
    }
}
