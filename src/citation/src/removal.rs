//! Taking sentences out of a Markdown text.

use std::collections::BTreeSet;

use crate::block::{BlockKind, TextBlock, blocks};
use crate::sentence::{is_ended, sentences};
use crate::span::TextSpan;
use crate::word::words;

/// Words of a sentence that may be repeated by mistake, at least.
const SEVERAL: usize = 4;

/// A text without some of its sentences, and how many parts were taken out. A heading, code, or a row
/// of a table with such a sentence goes as a whole.
pub(crate) fn without_sentences(
    text: &str,
    mut is_out: impl FnMut(&TextBlock, &str) -> bool,
) -> (String, usize) {
    let mut gone: Vec<TextSpan> = Vec::new();
    for block in blocks(text) {
        let content = block.content.of(text).unwrap_or_default();
        let parts = sentences(content);
        let out = parts.iter().filter(|span| span.of(content).is_some_and(|it| is_out(&block, it)));
        let out: Vec<TextSpan> = out.copied().collect();
        let is_prose = matches!(block.kind, BlockKind::Paragraph | BlockKind::Item);
        if out.len() == parts.len() || !is_prose && !out.is_empty() {
            gone.push(block.lines);
            continue;
        }
        let start = block.content.start;
        gone.extend(out.into_iter().map(|it| TextSpan::new(start + it.start, start + it.end)));
    }
    let mut kept = text.to_owned();
    for span in gone.iter().rev() {
        let rest = kept.get(span.end..).unwrap_or_default();
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        kept.replace_range(span.start..span.end + spaces, "");
    }
    let kept = if gone.is_empty() { kept } else { kept.trim_end().to_owned() };
    (kept, gone.len())
}

/// A text without sentences that their paragraph or item has already, or the one before: a small
/// model may repeat one until its reply is cut off.
///
/// ```
/// use antiphon_citation::without_repetitions;
/// let text = "It is an old lamp. It is an old lamp. It is an o";
/// assert_eq!(without_repetitions(text), "It is an old lamp.");
/// ```
pub fn without_repetitions(text: &str) -> String {
    let (mut before, mut own) = (BTreeSet::new(), BTreeSet::new());
    let mut block_start = 0;
    let (kept, _) = without_sentences(text, |block, sentence| {
        if !matches!(block.kind, BlockKind::Paragraph | BlockKind::Item) {
            own.clear();
            return false;
        }
        if block.lines.start != block_start {
            block_start = block.lines.start;
            before = std::mem::take(&mut own);
        }
        if words(sentence).len() < SEVERAL {
            return false;
        }
        let spoken = sentence.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let is_cut = text.trim_end().ends_with(sentence) && !is_ended(sentence);
        let known = |all: &BTreeSet<String>| {
            let begins_one = || all.iter().any(|one| one.starts_with(&spoken));
            all.contains(&spoken) || is_cut && begins_one()
        };
        let is_known = known(&own) || known(&before);
        own.insert(spoken);
        is_known
    });
    kept
}
