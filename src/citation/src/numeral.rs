//! Dates of a claim, and numerals that its evidence does not have, or not as often.

use std::collections::BTreeMap;

use antiphon_figures::{FigureEvidence, FigureMismatch, quantities};

use crate::word::words;

/// The dates of a claim that neither its evidence nor what is known beside it has.
pub(crate) fn unknown_dates(claim: &str, known: &[&str]) -> Vec<String> {
    let mut evidence = FigureEvidence::new();
    if dates(claim, &evidence).is_empty() {
        return Vec::new();
    }
    for text in known {
        evidence.text(text);
    }
    dates(claim, &evidence)
}

fn dates(claim: &str, known: &FigureEvidence) -> Vec<String> {
    let is_date = |found| match found {
        FigureMismatch::Date(text) => Some(text),
        _ => None,
    };
    known.mismatches(claim).into_iter().filter_map(is_date).collect()
}

/// The numerals that a claim takes from its evidence and states more often: one of them stands in
/// the place of another number.
pub(crate) fn repeated_numerals(claim: &str, known: &[&str]) -> Vec<String> {
    let own = numerals(&[claim]);
    if own.is_empty() {
        return Vec::new();
    }
    let known = numerals(known);
    let is_repeated = |(numeral, count): &(&str, usize)| {
        known.get(numeral).is_some_and(|times| (1..*count).contains(times))
    };
    let repeated = own.into_iter().filter(is_repeated);
    repeated.map(|(numeral, _)| numeral.to_owned()).collect()
}

/// The numerals that name something, as in `table 13.1` or `release 15`, and that no text has.
pub(crate) fn unknown_names(claim: &str, known: &[&str]) -> Vec<String> {
    let own = numerals(&[claim]);
    if own.is_empty() {
        return Vec::new();
    }
    let known = numerals(known);
    let stated: Vec<String> = quantities(claim).into_iter().map(|it| it.text).collect();
    let dated = dates(claim, &FigureEvidence::new());
    let compared: Vec<&str> = stated.iter().chain(&dated).map(String::as_str).collect();
    let compared = numerals(&compared);
    let is_plain =
        |numeral: &str| numeral.chars().all(|it| it.is_ascii_digit() || ".,".contains(it));
    let is_unknown = |(numeral, count): &(&str, usize)| {
        is_plain(numeral)
            && !known.contains_key(numeral)
            && compared.get(numeral).is_none_or(|times| times < count)
    };
    let unknown = own.into_iter().filter(is_unknown);
    unknown.map(|(numeral, _)| numeral.to_owned()).collect()
}

/// How often each numeral stands in texts.
fn numerals<'t>(texts: &[&'t str]) -> BTreeMap<&'t str, usize> {
    let mut counts = BTreeMap::new();
    for word in texts.iter().flat_map(|text| words(text)) {
        if word.text.starts_with(|sign: char| sign.is_ascii_digit()) {
            *counts.entry(word.text).or_default() += 1;
        }
    }
    counts
}
