//! Finding a quote in the page that it is said to come from.

use std::collections::BTreeMap;

use crate::span::TextSpan;
use crate::word::{PlacedWord, words};

/// How like the quote a window of the page has to be.
pub(crate) const RATIO: f64 = 0.85;

/// Where a quote stands in a page: as it is, with other white space and quotation marks, or with
/// a few other words. The text of the page counts, and not that of the quote.
///
/// ```
/// use antiphon_citation::align;
/// let page = "He said:  “Tea\nis green.” Coffee is not.";
/// let span = align("\"Tea is green.\"", page).unwrap();
/// assert_eq!(span.of(page), Some("“Tea\nis green.”"));
/// assert_eq!(align("Cocoa is not green at all.", page), None);
/// ```
pub fn align(quote: &str, page: &str) -> Option<TextSpan> {
    let quote = quote.trim();
    if quote.is_empty() {
        return None;
    }
    if let Some(start) = page.find(quote) {
        return Some(TextSpan::new(start, start + quote.len()));
    }
    normalized(quote, page).or_else(|| window(quote, page))
}

/// A text with single spaces and plain quotation marks, and the position of each of its bytes.
fn plain(text: &str) -> (String, Vec<usize>) {
    let mut plain = String::with_capacity(text.len());
    let mut positions = Vec::with_capacity(text.len() + 1);
    for (at, sign) in text.char_indices() {
        let sign = match sign {
            '“' | '”' | '„' | '«' | '»' | '″' => '"',
            '‘' | '’' | '‚' | '′' | '`' => '\'',
            '–' | '—' | '‐' | '‑' | '−' => '-',
            '\u{ad}' | '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{feff}' => continue,
            sign if sign.is_whitespace() => ' ',
            sign => sign,
        };
        if sign == ' ' && plain.ends_with(' ') {
            continue;
        }
        plain.push(sign);
        positions.resize(plain.len(), at);
    }
    positions.push(text.len());
    (plain, positions)
}

fn normalized(quote: &str, page: &str) -> Option<TextSpan> {
    let (quote, _) = plain(quote);
    let quote = quote.trim();
    let (text, positions) = plain(page);
    let start = text.find(quote)?;
    let last = start + quote.len() - 1;
    let (from, until) = (*positions.get(start)?, *positions.get(last)?);
    let sign = page.get(until..)?.chars().next()?;
    Some(TextSpan::new(from, until + sign.len_utf8()))
}

/// The window of the page that has the most words of the quote in their order.
fn window(quote: &str, page: &str) -> Option<TextSpan> {
    let (wanted, all) = (words(quote), words(page));
    let size = wanted.len();
    if size < 4 || all.len() < size {
        return None;
    }
    let wanted: Vec<String> = wanted.iter().map(|word| word.text.to_lowercase()).collect();
    let lower: Vec<String> = all.iter().map(|word| word.text.to_lowercase()).collect();
    let mut left: BTreeMap<&str, i64> = BTreeMap::new();
    for word in &wanted {
        *left.entry(word).or_default() += 1;
    }
    let mut best: Option<(usize, usize)> = None;
    let mut common = 0_usize;
    for (at, word) in lower.iter().enumerate() {
        if let Some(count) = left.get_mut(word.as_str()) {
            common += usize::from(*count > 0);
            *count -= 1;
        }
        if at >= size
            && let Some(count) = lower.get(at - size).and_then(|gone| left.get_mut(gone.as_str()))
        {
            *count += 1;
            common -= usize::from(*count > 0);
        }
        if at + 1 < size || !is_alike(common, size) {
            continue;
        }
        let start = at + 1 - size;
        let same = in_order(&wanted, lower.get(start..=at).unwrap_or_default());
        if is_alike(same, size) && best.is_none_or(|(_, most)| same > most) {
            best = Some((start, same));
        }
    }
    let (start, _) = best?;
    span(&all, start, start + size - 1)
}

#[expect(clippy::cast_precision_loss, reason = "quotes have few words")]
fn is_alike(same: usize, size: usize) -> bool {
    same as f64 >= RATIO * size as f64
}

fn span(all: &[PlacedWord<'_>], first: usize, last: usize) -> Option<TextSpan> {
    Some(TextSpan::new(all.get(first)?.start, all.get(last)?.end))
}

/// The length of the longest common subsequence.
fn in_order(left: &[String], right: &[String]) -> usize {
    let mut row = vec![0_usize; right.len() + 1];
    for own in left {
        let mut diagonal = 0;
        for (at, other) in right.iter().enumerate() {
            let above = row.get(at + 1).copied().unwrap_or_default();
            let before = row.get(at).copied().unwrap_or_default();
            let next = if own == other { diagonal + 1 } else { above.max(before) };
            diagonal = above;
            if let Some(cell) = row.get_mut(at + 1) {
                *cell = next;
            }
        }
    }
    row.last().copied().unwrap_or_default()
}
