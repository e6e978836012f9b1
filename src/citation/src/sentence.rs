//! Where the sentences of a text begin and end.

use crate::span::TextSpan;
use crate::word::is_ideograph;

/// Words with a full stop that ends no sentence.
const ABBREVIATIONS: &str = "mr mrs ms dr prof st sr jr vs etc e.g i.e eg ie cf al approx ca no nos vol pp p fig figs \
    inc ltd corp co dept est gov gen col capt lt sen rep rev hon u.s u.k u.n e.u a.m p.m jan feb mar apr jun jul aug \
    sep sept oct nov dec z.b d.h u.a bzw usw nr str ggf vgl bspw sog mio mrd av art sec ch ed eds approx resp max min \
    ph.d m.sc b.sc d.c";
const MONTHS: &str = "january february march april may june july august september october november december \
    januar februar märz mai juni juli oktober dezember";

/// The sentences of a text, without white space around them. Decimals, abbreviations, initials and
/// addresses end none; line breaks are white space.
///
/// ```
/// use antiphon_citation::sentences;
/// let text = "Dr. J. Smith paid 3.5 % (e.g. in May). It was 2023. 东京很大。It is.";
/// let found: Vec<_> = sentences(text).into_iter().filter_map(|span| span.of(text)).collect();
/// assert_eq!(found[0], "Dr. J. Smith paid 3.5 % (e.g. in May).");
/// assert_eq!(found[1..], ["It was 2023.", "东京很大。", "It is."]);
/// ```
pub fn sentences(text: &str) -> Vec<TextSpan> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut skip = 0;
    for (at, sign) in text.char_indices() {
        if at < skip || !is_end(sign) {
            continue;
        }
        let stop = closed(text, at + sign.len_utf8());
        if ends_here(text, at, sign, stop) {
            put(text, start, stop, &mut found);
            (start, skip) = (stop, stop);
        }
    }
    put(text, start, text.len(), &mut found);
    found
}

fn put(text: &str, start: usize, end: usize, found: &mut Vec<TextSpan>) {
    let span = TextSpan::new(start, end).trimmed(text);
    if span.start < span.end {
        found.push(span);
    }
}

/// Whether a text ends with the end of a sentence, and what closes it.
pub(crate) fn is_ended(text: &str) -> bool {
    text.trim_end_matches(is_closing).ends_with(is_end)
}

const fn is_end(sign: char) -> bool {
    matches!(sign, '.' | '!' | '?' | '…' | '。' | '！' | '？' | '｡' | '।' | '؟' | '۔' | '։' | '።')
}

/// The end of what closes a sentence: more marks, quotes, brackets, and citations after them.
fn closed(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let belongs = |sign: char| is_end(sign) || is_closing(sign);
    let mut end = from + rest.find(|sign| !belongs(sign)).unwrap_or(rest.len());
    while let Some(length) = marker_length(text.get(end..).unwrap_or_default()) {
        end += length;
    }
    end
}

/// The length of a citation in brackets with the spaces before it; none for a link.
fn marker_length(text: &str) -> Option<usize> {
    let bare = text.trim_start_matches([' ', '\u{a0}']);
    let inner = bare.strip_prefix('[')?;
    let (label, rest) = inner.split_once(']')?;
    let is_label = !label.is_empty()
        && label.chars().all(|sign| sign.is_alphanumeric() || matches!(sign, '-' | ',' | ' '))
        && !rest.starts_with(['(', '[', ':'])
        || rest.starts_with('[') && marker_length(rest).is_some();
    is_label.then(|| text.len() - rest.len())
}

/// Whether the mark at a position ends a sentence that would end at `stop`.
fn ends_here(text: &str, at: usize, sign: char, stop: usize) -> bool {
    let rest = text.get(stop..).unwrap_or_default();
    if !matches!(sign, '.' | '!' | '?' | '…') {
        return true;
    }
    let Some(next) = rest.chars().next() else { return true };
    if !next.is_whitespace() {
        return is_ideograph(next);
    }
    let following = rest.trim_start();
    let begins_low = following.chars().next().is_some_and(char::is_lowercase);
    if begins_low {
        return false;
    }
    sign != '.' || !is_abbreviated(text.get(..at).unwrap_or_default(), following)
}

/// Whether a full stop belongs to the word before it.
fn is_abbreviated(before: &str, following: &str) -> bool {
    let start = before.rfind(|sign: char| sign.is_whitespace() || matches!(sign, '(' | '[' | '"'));
    let word = before.get(start.map_or(0, |start| start + 1)..).unwrap_or_default();
    let word = word.trim_start_matches(|sign: char| !sign.is_alphanumeric());
    let lower = word.to_lowercase();
    let next: String = following.chars().take_while(|sign| sign.is_alphanumeric()).collect();
    if ABBREVIATIONS.split_whitespace().any(|one| one == lower) {
        // `No. 5` and `Fig. 3`; a sentence may end with `no`.
        let needs_number =
            matches!(&*lower, "no" | "nos" | "p" | "art" | "max" | "min" | "ed" | "co" | "est");
        let may_end =
            matches!(&*lower, "etc" | "inc" | "ltd" | "corp" | "a.m" | "p.m" | "u.s" | "u.k");
        let is_number = next.starts_with(|sign: char| sign.is_ascii_digit());
        return if may_end { is_number } else { !needs_number || is_number };
    }
    let mut signs = word.chars();
    let is_initial = signs.next().is_some_and(char::is_uppercase) && signs.next().is_none();
    let is_day = word.len() <= 2
        && word.parse::<u32>().is_ok()
        && MONTHS.split_whitespace().any(|month| month == next.to_lowercase());
    is_initial || is_day
}

/// Whether a sign may stand after the last mark of a sentence and belong to it.
pub(crate) const fn is_closing(sign: char) -> bool {
    matches!(sign, '"' | '”' | '’' | '\'' | '»' | ')' | '」' | '』' | '*' | '_')
}
