//! Whether a shorter answer keeps every part of a list that the expert gave: "Paris" is not
//! "Paris and Berlin".

use std::collections::BTreeSet;

use super::faithful::{matters, words};
use super::finalize::without_separators;

const CONJUNCTIONS: [&str; 9] = ["and", "or", "und", "oder", "et", "ou", "y", "e", "o"];
const ARTICLES: [&str; 12] =
    ["a", "an", "the", "der", "die", "das", "le", "la", "les", "el", "los", "il"];
/// Words that a list of things does not have: what has one of them may be two clauses.
const CLAUSE: [&str; 13] =
    ["yes", "it", "he", "she", "they", "we", "there", "is", "are", "was", "were", "has", "to"];
/// The most words of a part that is no name.
const MAX_WORDS: usize = 3;

/// The first part of a list in `full` that `short` leaves out; none if it has all of them. If
/// `full` is more than the list, `short` may also be about something else, and have none.
pub(super) fn dropped_part(full: &str, short: &str) -> Option<String> {
    let (full, short) = (without_separators(full), without_separators(short));
    let kept: BTreeSet<String> = words(&short).map(str::to_lowercase).collect();
    let is_kept = |part: &String| words(part).all(|word| kept.contains(&word.to_lowercase()));
    if let Some(whole) = whole_list(&full) {
        return whole.into_iter().find(|part| !is_kept(part));
    }
    let partly = |list: &Vec<String>| list.iter().any(is_kept);
    let mut lists = name_lists(&full).into_iter().filter(partly);
    lists.find_map(|list| list.into_iter().find(|part| !is_kept(part)))
}

/// The parts of a text that is nothing but a list, without their articles.
fn whole_list(text: &str) -> Option<Vec<String>> {
    let mut parts = vec![Vec::new()];
    let mut is_joined = false;
    for (gap, word) in tokens(text.trim().trim_end_matches('.')) {
        let lower = word.to_lowercase();
        if CLAUSE.contains(&lower.as_str()) || gap.contains(['.', ':', '?', '!', '(']) {
            return None;
        }
        let is_conjunction = CONJUNCTIONS.contains(&lower.as_str());
        is_joined |= is_conjunction || gap.contains([';', '&', '\n']);
        if is_conjunction || gap.contains([',', ';', '&', '\n']) {
            parts.push(Vec::new());
        }
        let is_said = !is_conjunction && !ARTICLES.contains(&lower.as_str());
        if let Some(part) = parts.last_mut().filter(|_| is_said) {
            part.push(word);
        }
    }
    parts.retain(|part| !part.is_empty());
    let is_list = parts.len() > 1 && is_joined || parts.len() > 2;
    let is_short = parts.iter().all(|part| part.len() <= MAX_WORDS);
    (is_list && is_short).then(|| parts.iter().map(|part| part.join(" ")).collect())
}

/// The lists of names and numbers within a text.
fn name_lists(text: &str) -> Vec<Vec<String>> {
    let mut lists: Vec<NameList<'_>> = vec![NameList::default()];
    for (gap, word) in tokens(text) {
        let is_kept = lists.last_mut().is_some_and(|list| list.take(gap.trim(), word));
        if !is_kept {
            let mut next = NameList::default();
            next.take("", word);
            lists.push(next);
        }
    }
    lists.iter().filter_map(NameList::parts).collect()
}

/// Names that stand in a row.
#[derive(Default)]
struct NameList<'a> {
    parts: Vec<Vec<&'a str>>,
    /// Whether the next name is another part.
    is_open: bool,
    /// Whether a conjunction joins two parts.
    is_joined: bool,
}

impl<'a> NameList<'a> {
    /// Adds a word; returns whether the list goes on with it.
    fn take(&mut self, gap: &str, word: &'a str) -> bool {
        let lower = word.to_lowercase();
        let is_separator = matches!(gap, "," | ";" | "&");
        if !(self.parts.is_empty() || gap.is_empty() || is_separator || self.is_abbreviated(gap)) {
            return false;
        }
        self.is_open |= is_separator;
        self.is_joined |= matches!(gap, ";" | "&");
        if !self.parts.is_empty() && CONJUNCTIONS.contains(&lower.as_str()) {
            (self.is_open, self.is_joined) = (true, true);
            return true;
        }
        if self.is_open && ARTICLES.contains(&lower.as_str()) {
            return true;
        }
        if !matters(word) && !word.starts_with(|sign: char| sign.is_ascii_digit()) {
            return false;
        }
        match self.parts.last_mut().filter(|_| !self.is_open) {
            Some(part) => part.push(word),
            None => self.parts.push(vec![word]),
        }
        self.is_open = false;
        true
    }

    /// Whether the full stop after the last word is that of `St.` or of an initial.
    fn is_abbreviated(&self, gap: &str) -> bool {
        let last = self.parts.last().and_then(|part| part.last());
        matches!(gap, "." | "-" | "'" | "’")
            && last.is_some_and(|word| gap != "." || word.len() < 3)
    }

    fn parts(&self) -> Option<Vec<String>> {
        let is_list = self.parts.len() > 1 && self.is_joined || self.parts.len() > 2;
        is_list.then(|| self.parts.iter().map(|part| part.join(" ")).collect())
    }
}

/// The words of a text, each with what stands before it.
fn tokens(text: &str) -> Vec<(&str, &str)> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        let (gap, from) = rest.split_at(start);
        let end = from.find(|sign: char| !sign.is_alphanumeric()).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        tokens.push((gap, word));
        rest = after;
    }
    tokens
}
