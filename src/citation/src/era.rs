//! Years and centuries before and after Christ.

use crate::ordinal::ordinal;
use crate::word::{PlacedWord, words};

/// How each era is written, with whether it is the one before Christ.
const WRITTEN: [(&str, &str, bool); 7] = [
    ("B.C.E.", "BCE", true),
    ("B.C.", "BC", true),
    ("v. Chr.", "BC", true),
    ("A.D.", "AD", false),
    ("C.E.", "CE", false),
    ("n. Chr.", "AD", false),
    ("before Christ", "BC", true),
];

/// The years of a claim with an era that texts give the other era, or none where it is the one
/// before Christ.
pub(crate) fn unknown_eras(claim: &str, known: &[String]) -> Vec<String> {
    let stated = dated(claim);
    if stated.is_empty() {
        return Vec::new();
    }
    let known: Vec<DatedNumber> = known.iter().flat_map(|text| dated(text)).collect();
    let is_unknown = |it: &DatedNumber| {
        let mut own = known.iter().filter(|other| other.number == it.number);
        let is_other = own.clone().next().is_some() || it.is_before;
        is_other && !own.any(|other| other.is_before == it.is_before)
    };
    stated.into_iter().filter(is_unknown).map(|it| it.text).collect()
}

/// Whether a word names an era.
pub(crate) fn is_era(word: &str) -> bool {
    WRITTEN.iter().any(|(_, era, _)| era.eq_ignore_ascii_case(word))
}

/// A year or the number of a century, with its era.
struct DatedNumber {
    number: u64,
    is_before: bool,
    text: String,
}

fn dated(text: &str) -> Vec<DatedNumber> {
    let short = WRITTEN
        .iter()
        .fold(text.to_owned(), |text, (written, short, _)| text.replace(written, short));
    let all = words(&short);
    let number = |place: usize| number(&short, &all, place);
    let mut found = Vec::new();
    for (place, word) in all.iter().enumerate() {
        let Some((.., is_before)) = WRITTEN.iter().find(|(_, era, _)| *era == word.text) else {
            continue;
        };
        let mut numbers = before(&all, place, number);
        if !is_before {
            numbers.extend(number(place + 1));
        }
        found.extend(numbers.into_iter().map(|number| DatedNumber {
            text: format!("{number} {}", word.text),
            number,
            is_before: *is_before,
        }));
    }
    found
}

/// The numbers that an era after them belongs to: `from 300 to 200 BC`, `the 3rd century BC`.
fn before(all: &[PlacedWord<'_>], place: usize, number: impl Fn(usize) -> Option<u64>) -> Vec<u64> {
    const BETWEEN: &str = "century centuries millennium millennia to until till and or the bis und";
    let mut found = Vec::new();
    for (at, word) in all.iter().enumerate().take(place).rev() {
        match number(at) {
            Some(number) => found.push(number),
            None if BETWEEN.split(' ').any(|one| one == word.text) => {}
            None => break,
        }
    }
    found
}

/// A number in digits, or an ordinal.
fn number(text: &str, all: &[PlacedWord<'_>], place: usize) -> Option<u64> {
    let digits = all.get(place)?.text.replace(',', "");
    digits.parse().ok().or_else(|| Some(ordinal(text, all, place)?.value))
}
