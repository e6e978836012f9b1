//! Labels of letters and digits, such as `A38`, and periods that are no years, such as `Q3`.

use std::collections::BTreeSet;

use antiphon_figures::quantities;

use crate::word::{PlacedWord, periods, words};

/// The labels and periods of a claim that no text has.
pub(crate) fn unknown_labels(claim: &str, known: &[String]) -> Vec<String> {
    let is_year = |period: &String| period.starts_with(|sign: char| sign.is_ascii_digit());
    let mut found: Vec<String> = periods(claim).into_iter().filter(|it| !is_year(it)).collect();
    if !found.is_empty() {
        let stated: BTreeSet<String> = known.iter().flat_map(|text| periods(text)).collect();
        found.retain(|period| !stated.contains(period));
    }
    let all = words(claim);
    let labels: Vec<String> = all.iter().filter(|it| is_label(it.text)).map(lower).collect();
    if labels.is_empty() {
        return found;
    }
    let stated: BTreeSet<String> = known.iter().flat_map(|text| joined(text)).collect();
    found.extend(labels.into_iter().filter(|label| !stated.contains(label)));
    found
}

/// Whether a word is a name with digits, and neither an amount nor an ordinal, a period or a time.
fn is_label(word: &str) -> bool {
    let has_digit = word.contains(|sign: char| sign.is_ascii_digit());
    if !has_digit || !word.contains(char::is_alphabetic) || !periods(word).is_empty() {
        return false;
    }
    let starts_number = word.starts_with(|sign: char| sign.is_ascii_digit());
    let tail = word.trim_start_matches(|sign: char| sign.is_ascii_digit() || ".,".contains(sign));
    let is_ending = matches!(&*tail.to_lowercase(), "st" | "nd" | "rd" | "th" | "s" | "am" | "pm");
    !(starts_number && (is_ending || !quantities(word).is_empty()))
}

/// The words of a text in lower case, and each with the word before it: `B-52` is `b52` too.
fn joined(text: &str) -> Vec<String> {
    let all = words(text);
    let pairs = all.windows(2).filter_map(|pair| match pair {
        [left, right] if right.start <= left.end + 1 => Some(lower(left) + &lower(right)),
        _ => None,
    });
    pairs.chain(all.iter().map(lower)).collect()
}

fn lower(word: &PlacedWord<'_>) -> String {
    word.text.to_lowercase()
}
