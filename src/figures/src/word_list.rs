//! Lists of words with which every word of a text is compared, each built once, so that one look
//! finds a word.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The words of a list.
pub(super) fn set(words: &'static str) -> HashSet<&'static str> {
    words.split_whitespace().collect()
}

/// The words of a table, each with the index of the first row that has it.
pub(super) fn rows(rows: &'static [&'static str]) -> HashMap<&'static str, usize> {
    let row = |(row, words): (usize, &&'static str)| {
        words.split_whitespace().map(move |word| (word, row))
    };
    rows.iter().enumerate().rev().flat_map(row).collect()
}

/// The words of a table, each with its first value.
pub(super) fn values<T: Copy>(table: &'static [(&'static str, T)]) -> HashMap<&'static str, T> {
    table.iter().rev().copied().collect()
}

/// A word in lower case; most are.
pub(super) fn lower(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}
