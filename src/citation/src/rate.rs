//! What an amount is per: `50 sacks an hour`, `340 litres a year`.

use antiphon_figures::quantities;

use crate::multiplicity::times_of;
use crate::sentence::sentences;
use crate::word::{PlacedWord, words};

/// What amounts are per, a row for each, with the forms that say so elsewhere.
const UNITS: [&str; 11] = [
    "second seconds sec s sekunde",
    "minute minutes min minütlich",
    "hour hours hourly h hr stunde stündlich heure hora",
    "day days daily diem tag täglich jour día",
    "night nights nightly nacht nuit noche",
    "week weeks weekly woche wöchentlich semaine semana",
    "month months monthly monat monatlich mois mes",
    "quarter quarters quarterly quartal",
    "year years yearly annual annually annum a y yr jahr jährlich an année año",
    "decade decades jahrzehnt",
    "century centuries jahrhundert",
];
/// Words before `a year` that make it a length of time.
const DURATIONS: &str =
    "after within for about half than of nearly almost over around before once quarter only just";
/// Words behind it that do.
const TIMES: &str = "later ago earlier after before old long since";
/// How many words may stand between an amount and what it is per.
const REACH: usize = 6;

/// The rates of a claim that texts do not state: they say the amount per something else, or
/// nowhere name what it is per.
pub(crate) fn unknown_rates(claim: &str, known: &[String]) -> Vec<String> {
    let stated = rates(claim);
    if stated.is_empty() {
        return Vec::new();
    }
    let known_rates: Vec<AmountRate> = known.iter().flat_map(|text| rates(text)).collect();
    let is_unknown = |rate: &AmountRate| {
        let mut own = known_rates.iter().filter(|it| it.amount == rate.amount).peekable();
        if own.peek().is_some() {
            return !own.any(|it| it.unit == rate.unit);
        }
        let forms = UNITS.get(rate.unit).copied().unwrap_or_default();
        // A letter alone may be any word.
        let names = |word: &PlacedWord<'_>| {
            word.text.len() > 1 && forms.split(' ').any(|one| one.eq_ignore_ascii_case(word.text))
        };
        !known.iter().any(|text| words(text).iter().any(names))
    };
    stated.into_iter().filter(is_unknown).map(|rate| rate.text).collect()
}

/// An amount, and the row of what it is per.
struct AmountRate {
    amount: String,
    unit: usize,
    text: String,
}

fn rates(text: &str) -> Vec<AmountRate> {
    let all = sentences(text).into_iter().filter_map(|span| span.of(text));
    all.flat_map(rates_of).collect()
}

fn rates_of(sentence: &str) -> Vec<AmountRate> {
    let all = words(sentence);
    let rate = |place: usize| {
        let unit = unit(sentence, &all, place)?;
        let mark = all.get(place)?;
        // What a comma or a verb's object separates is another matter.
        let first = all.get(place.saturating_sub(REACH))?.start;
        let near = sentence.get(first..mark.start)?;
        let near = near.rsplit([';', ':', '(']).next()?.rsplit(", ").next()?;
        let amount = times_at_end(near).or_else(|| Some(quantities(near).pop()?.normalized()))?;
        let end = all.get(place + 1).filter(|_| !is_slash(sentence, mark)).unwrap_or(mark).end;
        Some(AmountRate { amount, unit, text: sentence.get(mark.start..end)?.to_owned() })
    };
    (0..all.len()).filter_map(rate).collect()
}

/// `twice`, as a quantity is written.
fn times_at_end(text: &str) -> Option<String> {
    let times = times_of(words(text).last()?.text)?;
    Some(format!("{} times", times / 100))
}

/// The unit that an amount is per by the word at a place: `per`, an article, or a unit after `/`.
fn unit(sentence: &str, all: &[PlacedWord<'_>], place: usize) -> Option<usize> {
    let word = |at: Option<usize>| {
        at.and_then(|at| all.get(at)).map(|it| it.text.to_lowercase()).unwrap_or_default()
    };
    let has = |list: &str, word: &str| list.split_whitespace().any(|one| one == word);
    if is_slash(sentence, all.get(place)?) {
        return row(&word(Some(place)));
    }
    let (mark, unit) = (word(Some(place)), word(Some(place + 1)));
    let is_article = matches!(&*mark, "a" | "an");
    let is_length = is_article
        && (has(DURATIONS, &word(place.checked_sub(1))) || has(TIMES, &word(Some(place + 2))));
    let is_mark = is_article || matches!(&*mark, "per" | "each" | "every");
    (is_mark && !is_length && unit.len() > 1).then(|| row(&unit)).flatten()
}

fn is_slash(sentence: &str, word: &PlacedWord<'_>) -> bool {
    sentence.get(..word.start).is_some_and(|before| before.ends_with('/'))
}

fn row(unit: &str) -> Option<usize> {
    UNITS.iter().position(|row| row.split(' ').any(|one| one == unit))
}
