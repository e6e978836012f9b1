//! The passage of a part that shows best why it was found.

use crate::document::CharRange;

/// The most characters of a passage.
const LENGTH: usize = 700;

/// How far a passage reaches back to begin with a line or a sentence.
const BACK: usize = 90;

/// A place in a text where a word of the query stands: its range in characters, and which word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WordMark {
    pub(super) range: CharRange,
    pub(super) word: usize,
}

/// The range of the passage within `text`, by where the words of the query stand in it and how rare they are.
pub(super) fn passage(text: &str, marks: &[WordMark], rarity: &[f64]) -> CharRange {
    let characters: Vec<char> = text.chars().collect();
    let best = marks.iter().enumerate().map(|(first, mark)| {
        (value(marks.get(first..).unwrap_or_default(), rarity), mark.range.start)
    });
    let best = best.fold((0.0, 0), |best, next| if next.0 > best.0 { next } else { best });
    let start = beginning(&characters, best.1);
    let end = ending(&characters, start);
    let blank = |range: &[char]| range.iter().take_while(|c| c.is_whitespace()).count();
    let start = start + blank(characters.get(start..end).unwrap_or_default());
    let tail = characters
        .get(start..end)
        .unwrap_or_default()
        .iter()
        .rev()
        .take_while(|c| c.is_whitespace())
        .count();
    CharRange { start, end: end - tail }
}

/// What a passage that begins with the first mark shows: rare words more than common ones, each once, and more if
/// they stand close together.
fn value(marks: &[WordMark], rarity: &[f64]) -> f64 {
    let Some(first) = marks.first() else { return 0.0 };
    let mut seen = Vec::new();
    let reach = marks.iter().take_while(|mark| mark.range.end <= first.range.start + LENGTH - BACK);
    reach
        .map(|mark| {
            let again = seen.contains(&mark.word);
            seen.push(mark.word);
            let distance = length(mark.range.start - first.range.start) / length(LENGTH);
            let weight = if again { 0.05 } else { 1.0 };
            rarity.get(mark.word).copied().unwrap_or(1.0) * weight * (1.0 - 0.5 * distance)
        })
        .sum()
}

#[expect(clippy::cast_precision_loss, reason = "some hundred characters")]
const fn length(characters: usize) -> f64 {
    characters as f64
}

/// Where the line or the sentence begins that a character belongs to.
fn beginning(text: &[char], at: usize) -> usize {
    let earliest = at.saturating_sub(BACK);
    let before = text.get(earliest..at).unwrap_or_default();
    if let Some(line) = before.iter().rposition(|c| *c == '\n') {
        return earliest + line + 1;
    }
    if earliest == 0 {
        return 0;
    }
    let sentence =
        before.windows(2).rposition(|pair| matches!(pair, ['.' | '!' | '?' | '。', ' ' | '\n']));
    let word = before.iter().position(|c| c.is_whitespace());
    earliest + sentence.map(|at| at + 2).or_else(|| word.map(|at| at + 1)).unwrap_or_default()
}

fn ending(text: &[char], start: usize) -> usize {
    let limit = (start + LENGTH).min(text.len());
    if limit == text.len() {
        return limit;
    }
    let window = text.get(start..limit).unwrap_or_default();
    window
        .iter()
        .rposition(|c| c.is_whitespace())
        .filter(|at| *at > LENGTH / 2)
        .map_or(limit, |at| start + at)
}
