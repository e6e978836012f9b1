//! Sentences that say that they are not certain.

use crate::sentence::is_closing;

/// Words and phrases by which a sentence says that it is not certain.
const HEDGES: &[&str] = &[
    "might",
    "may",
    "could",
    "probably",
    "possibly",
    "perhaps",
    "likely",
    "unlikely",
    "allegedly",
    "reportedly",
    "apparently",
    "seems to",
    "seem to",
    "appears to",
    "appear to",
    "suggests that",
    "suggest that",
    "some say",
    "it is believed",
    "it is possible",
    "not confirmed",
    "unconfirmed",
    "according to some",
    "is said to",
    "are said to",
];
/// What an uncertain sentence begins with.
const OPENING: &str = "Reportedly, ";
/// What a sentence ends with that no source confirms.
const NOTE: &str = " (not confirmed by the sources)";

/// Whether a sentence says that it is not certain.
///
/// ```
/// use antiphon_citation::is_hedged;
/// assert!(is_hedged("It may rain."));
/// assert!(!is_hedged("The Mayor came in May 2021."));
/// ```
pub fn is_hedged(sentence: &str) -> bool {
    HEDGES.iter().any(|phrase| finds(sentence, phrase))
}

/// Whether a phrase stands in a sentence as whole words. `May` before a number is a month.
pub(crate) fn finds(sentence: &str, phrase: &str) -> bool {
    let lower = sentence.to_lowercase();
    lower.match_indices(phrase).any(|(start, found)| {
        let before = lower.get(..start).and_then(|text| text.chars().next_back());
        let rest = lower.get(start + found.len()..).unwrap_or_default();
        let is_free = |sign: Option<char>| sign.is_none_or(|sign| !sign.is_alphanumeric());
        let number = rest.trim_start().starts_with(|sign: char| sign.is_ascii_digit());
        let is_month = phrase == "may" && (number || is_dated(lower.get(..start)));
        is_free(before) && is_free(rest.chars().next()) && !is_month
    })
}

/// Whether a month follows: `in May`, `5 May`.
fn is_dated(before: Option<&str>) -> bool {
    let before = before.unwrap_or_default().trim_end();
    let word = before.rsplit(|sign: char| !sign.is_alphanumeric()).next().unwrap_or_default();
    matches!(
        word,
        "in" | "of" | "since" | "until" | "by" | "early" | "late" | "mid" | "and" | "from"
    ) || word.ends_with(|sign: char| sign.is_ascii_digit())
}

/// A sentence that says that it is not certain; one that does already stays.
///
/// ```
/// use antiphon_citation::softened;
/// assert_eq!(softened("The tea is hot."), "Reportedly, the tea is hot.");
/// assert_eq!(softened("NASA said so."), "Reportedly, NASA said so.");
/// assert_eq!(softened("It may be hot."), "It may be hot.");
/// assert_eq!(softened("| Tea | hot |"), "| Tea | hot (not confirmed by the sources) |");
/// ```
pub fn softened(sentence: &str) -> String {
    if is_hedged(sentence) {
        return sentence.to_owned();
    }
    let mark: String =
        sentence.chars().take_while(|sign| matches!(sign, '*' | '_' | '"' | '“' | '(')).collect();
    let rest = sentence.get(mark.len()..).unwrap_or_default();
    if rest.starts_with('|') {
        return noted(sentence);
    }
    if rest.is_empty() {
        return sentence.to_owned();
    }
    format!("{mark}{OPENING}{}", lowered(rest))
}

/// A sentence that says that no source confirms it, before its last mark; a row of a table says
/// so in its last cell.
pub(crate) fn noted(sentence: &str) -> String {
    let is_row = sentence.starts_with('|') && sentence.ends_with('|') && sentence.len() > 1;
    let ends: &[char] = if is_row { &['|', ' '] } else { &['.', '!', '?', '。'] };
    // A quotation or bracket at the end gives its mark to the sentence, which would end before
    // the note.
    let open = sentence.trim_end_matches(is_closing);
    let bare = open.trim_end_matches(ends);
    let mark = open.get(bare.len()..).unwrap_or_default();
    let closing = sentence.get(open.len()..).unwrap_or_default();
    if is_noted(sentence) { sentence.to_owned() } else { format!("{bare}{closing}{NOTE}{mark}") }
}

/// Whether a sentence says that no source confirms it.
pub(crate) fn is_noted(sentence: &str) -> bool {
    sentence.contains(NOTE.trim_start())
}

/// The sentence without a capital, where that was no more than its beginning.
fn lowered(sentence: &str) -> String {
    const COMMON: &str = "the a an this that these those it its they their there in on at of for from by with all \
                          most many some several both each one two three he she his her we our as after before \
                          during since while when if although however";
    let end = sentence.find(|sign: char| !sign.is_alphanumeric()).unwrap_or(sentence.len());
    let (word, rest) = sentence.split_at(end);
    let lower = word.to_lowercase();
    if COMMON.split_whitespace().any(|one| one == lower) {
        format!("{lower}{rest}")
    } else {
        sentence.to_owned()
    }
}
