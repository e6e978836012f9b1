//! A report with its claims, and edits that keep both together.

use serde::{Deserialize, Serialize};

use crate::block::blocks;
use crate::claim::Claim;
use crate::field::ReportField;
use crate::marker::{brackets, words_end};
use crate::span::TextSpan;

/// A change of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// What is replaced.
    pub span: TextSpan,
    /// What should stand there.
    pub expected: String,
    /// What stands there afterwards.
    pub replacement: String,
}

/// What became of edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditSummary {
    /// How many were made.
    pub applied: usize,
    /// What was expected and not found, or lay within another edit.
    pub skipped: Vec<String>,
}

/// A report and its claims. The text at the span of a claim is always its sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CitedReport {
    /// Markdown with keys of sources in brackets.
    pub text: String,
    /// Its claims, in order.
    pub claims: Vec<Claim>,
    /// Its fields, if it was written in a form of the caller's.
    pub fields: Vec<ReportField>,
}

impl CitedReport {
    /// Makes edits from the end to the start. One whose text has moved within its paragraph is
    /// made there; of two that overlap the outer one is made.
    pub fn edit(&mut self, edits: Vec<TextEdit>) -> EditSummary {
        let mut summary = EditSummary::default();
        let mut placed: Vec<TextEdit> = Vec::new();
        for edit in edits {
            match self.placed(&edit) {
                Some(span) => placed.push(TextEdit { span, ..edit }),
                None => summary.skipped.push(edit.expected),
            }
        }
        // The outer one first.
        placed.sort_by_key(|edit| (edit.span.start, std::cmp::Reverse(edit.span.end)));
        let mut kept: Vec<TextEdit> = Vec::new();
        for edit in placed {
            match kept.last() {
                Some(last) if last.span.overlaps(edit.span) || last.span == edit.span => {
                    summary.skipped.push(edit.expected);
                }
                _ => kept.push(edit),
            }
        }
        for edit in kept.into_iter().rev() {
            self.text.replace_range(edit.span.start..edit.span.end, &edit.replacement);
            self.claims.iter_mut().for_each(|claim| shift(claim, &edit));
            self.fields.iter_mut().for_each(|field| field.shift(&edit));
            summary.applied += 1;
        }
        for claim in &mut self.claims {
            if let Some(sentence) = claim.span.and_then(|span| span.of(&self.text)) {
                sentence.clone_into(&mut claim.sentence);
            }
        }
        summary
    }

    /// Where an edit belongs: at its span, else where its text stands once in that paragraph.
    fn placed(&self, edit: &TextEdit) -> Option<TextSpan> {
        if edit.span.of(&self.text) == Some(&edit.expected) {
            return Some(edit.span);
        }
        if edit.expected.is_empty() {
            return None;
        }
        let near = |at: usize| blocks(&self.text).into_iter().find(|it| it.lines.end > at);
        let paragraph = near(edit.span.start.min(self.text.len().saturating_sub(1)))?.lines;
        let text = paragraph.of(&self.text)?;
        let mut found = text.match_indices(&edit.expected);
        let (at, _) = found.next()?;
        let start = paragraph.start + at;
        found.next().is_none().then(|| TextSpan::new(start, start + edit.expected.len()))
    }

    /// Whether every claim stands where it should.
    pub fn is_consistent(&self) -> bool {
        let fits = |claim: &Claim| {
            claim.span.is_none_or(|span| span.of(&self.text) == Some(&claim.sentence))
        };
        self.claims.iter().all(fits)
    }
}

impl Claim {
    /// The edit that gives it another sentence.
    pub(crate) fn rewritten(&self, sentence: &str) -> Option<TextEdit> {
        let span = self.span?;
        let (expected, replacement) = (self.sentence.clone(), sentence.to_owned());
        (expected != replacement).then_some(TextEdit { span, expected, replacement })
    }
}

fn shift(claim: &mut Claim, edit: &TextEdit) {
    let Some(span) = claim.span else { return };
    let moved = |at: usize| at - (edit.span.end - edit.span.start) + edit.replacement.len();
    if span.start >= edit.span.end && span != edit.span {
        claim.span = Some(TextSpan::new(moved(span.start), moved(span.end)));
    } else if span.holds(edit.span) {
        let span = TextSpan::new(span.start, moved(span.end));
        claim.span = (span.start < span.end).then_some(span);
    } else if edit.span.overlaps(span) {
        claim.span = None;
    }
}

/// A sentence with other keys: those that stay keep their places, new ones stand at its end.
pub(crate) fn cited(sentence: &str, keys: &[String], known: &dyn Fn(&str) -> bool) -> String {
    let mut text = sentence.to_owned();
    let all: Vec<_> = brackets(sentence).into_iter().filter(|it| known(&it.label)).collect();
    for bracket in all.iter().rev().filter(|it| !keys.contains(&it.label)) {
        let before = text.get(..bracket.span.start).unwrap_or_default();
        let start = words_end(before);
        text.replace_range(start..bracket.span.end, "");
    }
    let missing = keys.iter().filter(|key| all.iter().all(|it| it.label != **key));
    let marks = missing.fold(String::new(), |marks, key| marks + "[" + key + "]");
    if marks.is_empty() {
        return text;
    }
    let at = end_of_words(&text);
    let space =
        if text.get(..at).is_some_and(|before| before.ends_with([']', ' '])) { "" } else { " " };
    text.insert_str(at, &format!("{space}{marks}"));
    text
}

/// Where a citation belongs: before the last mark of a sentence, and in the last cell of a row.
fn end_of_words(sentence: &str) -> usize {
    let mut bare = sentence.trim_end();
    if bare.starts_with('|') && bare.ends_with('|') {
        return bare.trim_end_matches('|').trim_end().len();
    }
    // Citations after the full stop stay there.
    if !bare.ends_with(']') {
        bare = bare.trim_end_matches(['.', '!', '?', '。', '！', '？', '…']);
    }
    bare.len()
}
