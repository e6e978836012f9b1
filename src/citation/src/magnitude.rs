//! Amounts of which only the size is said, such as `hundreds of sacks`, and none at all.

use std::collections::BTreeSet;

use antiphon_figures::{QuantityKind, quantities};

use crate::word::{is_stop_word, stem, words};

const SCALES: [(&str, f64); 7] = [
    ("tens", 10.0),
    ("dozens", 12.0),
    ("hundreds", 1e2),
    ("thousands", 1e3),
    ("millions", 1e6),
    ("billions", 1e9),
    ("trillions", 1e12),
];
/// How much more than its scale an amount may be.
const SPAN: f64 = 1e3;
const NEGATIONS: &str =
    "no not none nobody nothing never neither nor without zero lacks lack lacked lacking cannot";

/// The sizes of a claim that no text has, and of which no text has an amount.
pub(crate) fn unknown_magnitudes(claim: &str, known: &[String]) -> Vec<String> {
    let stated = magnitudes(claim);
    if stated.is_empty() {
        return Vec::new();
    }
    let sizes: Vec<f64> =
        known.iter().flat_map(|text| magnitudes(text)).map(|(size, _)| size).collect();
    let amounts = known.iter().flat_map(|text| quantities(text));
    let amounts: Vec<f64> =
        amounts.filter(|it| it.kind != QuantityKind::Year).map(|it| it.value().abs()).collect();
    let is_known = |size: f64| {
        sizes.iter().any(|own| (own - size).abs() < f64::EPSILON)
            || amounts.iter().any(|own| (size..size * SPAN).contains(own))
    };
    stated.into_iter().filter(|(size, _)| !is_known(*size)).map(|(_, text)| text).collect()
}

/// The sizes that a text names: `hundreds`, `tens of thousands`.
fn magnitudes(text: &str) -> Vec<(f64, String)> {
    let all = words(text);
    let scale = |place: usize| {
        let word = all.get(place)?.text.to_lowercase();
        SCALES.iter().find(|(name, _)| *name == word).map(|(_, scale)| *scale)
    };
    let mut found = Vec::new();
    let mut place = 0;
    while let Some(first) = all.get(place) {
        let joins = all.get(place + 1).is_some_and(|it| it.text == "of");
        let (size, last) = match (scale(place), scale(place + 2).filter(|_| joins)) {
            (Some(size), Some(next)) => (size * next, place + 2),
            (Some(size), None) => (size, place),
            (None, _) => {
                place += 1;
                continue;
            }
        };
        // After a number it is a part of it: `3 millions`.
        let is_counted = place > 0
            && all.get(place - 1).is_some_and(|before| !quantities(before.text).is_empty());
        let end = all.get(last).map_or(first.end, |it| it.end);
        if !is_counted {
            found.push((size, text.get(first.start..end).unwrap_or_default().to_owned()));
        }
        place = last + 1;
    }
    found
}

/// `one stone` and `no stones` of a claim where texts count other numbers of stones.
pub(crate) fn unknown_counts(claim: &str, known: &[String]) -> Vec<String> {
    let stated = counts(claim);
    let own = stated.iter().filter(|it| it.number == Some(1) || it.number == Some(0));
    let own: Vec<&NounCount> = own.collect();
    if own.is_empty() {
        return Vec::new();
    }
    let others: Vec<NounCount> = known.iter().flat_map(|text| counts(text)).collect();
    let is_negative = known.iter().any(|text| {
        words(text).iter().any(|it| {
            let word = it.text.to_lowercase();
            word.ends_with("n't") || NEGATIONS.split(' ').any(|one| one == word)
        })
    });
    // `The stone` is one of them.
    let singular: BTreeSet<String> = known.iter().flat_map(|text| singulars(text)).collect();
    let is_unknown = |it: &&&NounCount| {
        let counted = || others.iter().filter(|other| other.noun == it.noun);
        let is_other = counted().next().is_some() && counted().all(|own| own.number != it.number);
        match it.number {
            Some(0) => is_other && !is_negative,
            _ => is_other && !singular.contains(&it.noun),
        }
    };
    own.iter().filter(is_unknown).map(|it| it.text.clone()).collect()
}

/// A noun with the number before it; none if that is neither nothing nor one.
struct NounCount {
    noun: String,
    number: Option<u8>,
    text: String,
}

fn counts(text: &str) -> Vec<NounCount> {
    let all = words(text);
    let count = |pair: &[crate::word::PlacedWord<'_>]| {
        let [number, noun] = pair else { return None };
        let is_noun = !is_stop_word(noun.text) && noun.text.chars().all(char::is_alphabetic);
        let value = match &*number.text.to_lowercase() {
            "no" | "zero" | "0" => Some(0),
            "one" | "1" | "single" => Some(1),
            _ if quantities(number.text).is_empty() => return None,
            _ => None,
        };
        let text = text.get(number.start..noun.end)?.to_owned();
        is_noun.then(|| NounCount { noun: stem(noun.text), number: value, text })
    };
    all.windows(2).filter_map(count).collect()
}

/// Nouns in the singular, apart from those of `no stone`.
fn singulars(text: &str) -> Vec<String> {
    let all = words(text);
    let is_own = |place: usize| {
        let before = place.checked_sub(1).and_then(|at| all.get(at));
        !before.is_some_and(|it| matches!(&*it.text.to_lowercase(), "no" | "zero" | "0"))
    };
    let own = all
        .iter()
        .enumerate()
        .filter(|(place, word)| is_own(*place) && stem(word.text) == word.text.to_lowercase());
    own.map(|(_, word)| stem(word.text)).collect()
}
