//! Dates of a claim, and numerals that its evidence does not have, or not as often.

use std::collections::BTreeMap;

use antiphon_figures::{FigureEvidence, FigureMismatch, plain, quantities};

use crate::era::unknown_eras;
use crate::label::unknown_labels;
use crate::magnitude::{unknown_counts, unknown_magnitudes};
use crate::multiplicity::unknown_multiplicities;
use crate::ordinal::{numbers_name, unknown_ordinals};
use crate::rate::unknown_rates;
use crate::word::words;

type NumeralCounts<'t> = BTreeMap<&'t str, usize>;

/// What a claim states beside quantities and its evidence, or what is known beside it, does not:
/// dates, names with a numeral, numerals that it states more often, places in an order, labels,
/// eras, rates, numbers of times, and sizes.
pub(crate) fn unknown_numerals(claim: &str, known: &[&str]) -> Vec<String> {
    let claim = &plain(claim);
    let known: Vec<String> = known.iter().map(|text| plain(text)).collect();
    let dated = dates(claim, &FigureEvidence::new());
    let mut found = if dated.is_empty() { Vec::new() } else { unknown_dates(claim, &known) };
    let own = numerals(&[claim]);
    if !own.is_empty() {
        let stated: Vec<&str> = known.iter().map(String::as_str).collect();
        let stated = numerals(&stated);
        let unknown = unknown_names(claim, &dated, (&own, &stated)).into_iter();
        found.extend(unknown.filter(|numeral| !numbers_name(claim, numeral, &known)));
        found.extend(repeated_numerals(&own, &stated));
    }
    for unknown in [
        unknown_ordinals,
        unknown_labels,
        unknown_eras,
        unknown_rates,
        unknown_multiplicities,
        unknown_magnitudes,
        unknown_counts,
    ] {
        found.extend(unknown(claim, &known));
    }
    found
}

/// Whether a sentence states something with a number, be it a quantity or not.
pub(crate) fn states_number(sentence: &str) -> bool {
    !quantities(sentence).is_empty() || !unknown_numerals(sentence, &[]).is_empty()
}

/// The dates of a claim that no text has.
fn unknown_dates(claim: &str, known: &[String]) -> Vec<String> {
    let mut evidence = FigureEvidence::new();
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
fn repeated_numerals(own: &NumeralCounts<'_>, known: &NumeralCounts<'_>) -> Vec<String> {
    let is_repeated = |(numeral, count): &(&&str, &usize)| {
        known.get(**numeral).is_some_and(|times| (1..**count).contains(times))
    };
    own.iter().filter(is_repeated).map(|(numeral, _)| (*numeral).to_owned()).collect()
}

/// The numerals that name something, as in `table 13.1` or `release 15`, and that no text has.
fn unknown_names(
    claim: &str,
    dated: &[String],
    (own, known): (&NumeralCounts<'_>, &NumeralCounts<'_>),
) -> Vec<String> {
    let is_plain =
        |numeral: &str| numeral.chars().all(|it| it.is_ascii_digit() || ".,".contains(it));
    let is_unknown =
        |(numeral, _): &(&&str, &usize)| is_plain(numeral) && !known.contains_key(**numeral);
    let mut unknown = own.iter().filter(is_unknown).peekable();
    if unknown.peek().is_none() {
        return Vec::new();
    }
    let stated: Vec<String> = quantities(claim).into_iter().map(|it| it.text).collect();
    let compared: Vec<&str> = stated.iter().chain(dated).map(String::as_str).collect();
    let compared = numerals(&compared);
    let is_name = |(numeral, count): &(&&str, &usize)| {
        compared.get(**numeral).is_none_or(|times| times < *count)
    };
    unknown.filter(is_name).map(|(numeral, _)| (*numeral).to_owned()).collect()
}

/// How often each numeral stands in texts.
fn numerals<'t>(texts: &[&'t str]) -> NumeralCounts<'t> {
    let mut counts = BTreeMap::new();
    for word in texts.iter().flat_map(|text| words(text)) {
        if word.text.starts_with(|sign: char| sign.is_ascii_digit()) {
            *counts.entry(word.text).or_default() += 1;
        }
    }
    counts
}
