//! Stage 2 as a loop: the writer searches the evidence, reads it, and writes part after part. It
//! can cite what it has seen, and nothing else.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{CitationRun, CitationStage, read};
use crate::claim::Claim;
use crate::compose::compose;
use crate::correction::citation_score;
use crate::evidence::Evidence;
use crate::marker::{brackets, indices};
use crate::quotation::quotations;
use crate::ranking::bm25;
use crate::request::{CitationQuery, ComposeCall, ComposeReply, ComposeTool, ShownPassage};
use crate::settings::SynthesisMode;
use crate::source::SourceKeys;
use crate::tagged_report::{UNKNOWN, untagged};

/// Passages that a search shows.
const FOUND: usize = 5;
/// Characters of a passage that was found and not read.
const BEGINNING: usize = 120;
/// Calls whose passages a part is compared with.
const RECENT: usize = 3;
/// From which similarity on a sentence rests on what was read.
const GROUNDED: f64 = 0.7;
/// Below which similarity it does not.
const UNGROUNDED: f64 = 0.4;

/// How far the writer is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WritingProgress {
    /// What was written, without tags.
    text: String,
    /// Calls that count.
    calls: usize,
    turns: usize,
    /// What was asked for, and the indices that came of it.
    log: Vec<ComposeCallRecord>,
    /// Sentences that argue, and need no evidence.
    analyses: Vec<String>,
    grounded: usize,
    ungrounded: usize,
    /// Neither: the verification decides.
    undecided: usize,
    /// Whether it is over, and the report is written in one go instead.
    is_given_up: bool,
}

/// A call, and what it has shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ComposeCallRecord {
    asked: String,
    shown: Vec<usize>,
    is_read: bool,
}

impl WritingProgress {
    fn has_shown(&self, index: usize) -> bool {
        self.log.iter().any(|record| record.shown.contains(&index))
    }

    /// What was shown, in the order in which it was: what was read first, since it does not change
    /// any more.
    fn shown(&self) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        let read = self.log.iter().filter(|record| record.is_read);
        for index in read.chain(&self.log).flat_map(|record| &record.shown) {
            if !found.contains(index) {
                found.push(*index);
            }
        }
        found
    }

    fn calls(&self) -> Vec<String> {
        let call = |record: &ComposeCallRecord| {
            let shown: Vec<String> = record.shown.iter().map(|it| format!("[{it}]")).collect();
            let shown = if shown.is_empty() { "nothing".to_owned() } else { shown.join(" ") };
            format!("{}: {shown}", record.asked)
        };
        self.log.iter().map(call).collect()
    }

    fn has_read(&self, index: usize) -> bool {
        self.log.iter().any(|record| record.is_read && record.shown.contains(&index))
    }
}

impl CitationRun {
    /// Whether the report is written in a loop.
    pub(super) fn composes(&self) -> bool {
        let is_react = self.input.settings.synthesis_mode == SynthesisMode::React;
        let is_possible = self.input.output.is_none() && !self.evidence.is_empty();
        is_react && is_possible && !self.composition.is_given_up
    }

    pub(super) fn ask_for_part(&self) -> CitationQuery {
        let settings = &self.input.settings;
        let composition = &self.composition;
        let shown = composition.shown();
        let shown = shown.iter().filter_map(|index| Some((*index, self.evidence.get(*index)?)));
        let shown = shown.map(|(index, one)| {
            let mut passage = self.passage(one);
            let is_whole = composition.has_read(index);
            if !is_whole {
                passage.text = beginning(&passage.text);
            }
            ShownPassage { index, is_whole, passage }
        });
        CitationQuery::Compose {
            question: self.input.question.clone(),
            observations: self.input.observations.clone(),
            evidence: shown.collect(),
            calls: composition.calls(),
            calls_left: self.calls_left(),
            written: composition.text.clone(),
            min_words: settings.min_words,
            max_words: settings.max_words,
            instructions: self.input.instructions.clone(),
        }
    }

    fn calls_left(&self) -> usize {
        self.input.settings.max_synthesis_calls.saturating_sub(self.composition.calls)
    }

    /// Takes a turn of the writer over. Its last one has no calls, or none is left.
    pub(super) fn take_part(&mut self, reply: Option<&Json>) -> CitationStage {
        let Some(ComposeReply { calls, text }) = read(reply) else { return self.give_up() };
        let calls = calls.unwrap_or_default();
        let text = text.filter(|text| !text.trim().is_empty());
        let has_text = text.is_some();
        if let Some(text) = text {
            self.add_part(&text);
        }
        let could_call = self.calls_left() > 0;
        self.composition.turns += 1;
        // Calls that cost nothing do not go on for ever.
        let has_turns =
            self.composition.turns <= self.input.settings.max_synthesis_calls.saturating_mul(2);
        for call in &calls {
            self.look_up(call);
        }
        if has_turns && (!calls.is_empty() && (could_call || !has_text)) {
            return CitationStage::Write;
        }
        self.finish_composition()
    }

    /// Has the report written in one go.
    fn give_up(&mut self) -> CitationStage {
        self.composition = WritingProgress { is_given_up: true, ..WritingProgress::default() };
        CitationStage::Write
    }

    /// Whether parts of the report are written, and its end is not.
    pub fn is_composing(&self) -> bool {
        self.stage == CitationStage::Write && self.composes() && !self.composition.text.is_empty()
    }

    /// The parts of the report that are written.
    pub(super) fn written_parts(&self) -> &str {
        &self.composition.text
    }

    /// Makes a report of the parts that there are.
    pub(super) fn finish_composition(&mut self) -> CitationStage {
        if self.composition.text.is_empty() {
            return self.give_up();
        }
        let WritingProgress { grounded, ungrounded, undecided, calls, .. } = self.composition;
        let data = json!({
            "grounded": grounded, "ungrounded": ungrounded, "undecided": undecided, "calls": calls,
        });
        self.note("grounding_validation", data);
        let mut keys = SourceKeys::default();
        let written = self.admitted(&self.composition.text);
        let composed = compose(&written, &self.evidence, &self.input.sources, &mut keys);
        self.take_over(composed, keys);
        self.after_writing()
    }

    /// Adds a part of the report, in which only what was shown is cited.
    fn add_part(&mut self, text: &str) {
        let composition = &self.composition;
        let recent: Vec<usize> =
            composition.log.iter().rev().take(RECENT).flat_map(|it| it.shown.clone()).collect();
        let quote = |index: &usize| self.evidence.get(*index).map(|one: &Evidence| &*one.quote);
        let (pool, weight) = (&self.evidence, self.input.settings.keyword_weight);
        let score = |sentence: &str, indices: &[usize]| {
            let quotes: Vec<&str> = indices.iter().filter_map(quote).collect();
            citation_score(sentence, &quotes.join(" "), weight)
        };
        let allows = |sentence: &str, key: usize| {
            let is_known = key < pool.len() && composition.has_shown(key);
            let fits = || score(sentence, &[key]).max(score(sentence, &recent)) >= UNGROUNDED;
            is_known && fits()
        };
        let made = untagged(&self.without_unseen(text), &allows);
        let (mut grounded, mut ungrounded, mut undecided) = (0, 0, 0);
        for (sentence, keys) in &made.cited {
            let best = score(sentence, keys).max(score(sentence, &recent));
            match keys.is_empty() {
                true => ungrounded += 1,
                false if best >= GROUNDED => grounded += 1,
                false => undecided += 1,
            }
        }
        let composition = &mut self.composition;
        composition.grounded += grounded;
        composition.ungrounded += ungrounded;
        composition.undecided += undecided;
        composition.analyses.extend(made.analyses);
        if !composition.text.is_empty() {
            composition.text.push_str("\n\n");
        }
        composition.text.push_str(made.text.trim());
    }

    /// A text without indices in brackets of what was not shown.
    fn without_unseen(&self, text: &str) -> String {
        let mut kept = text.to_owned();
        for bracket in brackets(text).into_iter().rev() {
            let Some(numbers) = indices(&bracket.label) else { continue };
            let seen = numbers.iter().filter(|index| self.composition.has_shown(**index));
            let seen = seen.map(|index| format!("[{index}]")).collect::<Vec<_>>().concat();
            let marks = if seen.is_empty() { UNKNOWN } else { &seen };
            kept.replace_range(bracket.span.start..bracket.span.end, marks);
        }
        kept
    }

    /// Carries a call out, if one is left. What was asked before is shown and costs nothing.
    fn look_up(&mut self, call: &ComposeCall) {
        let (asked, shown, is_read) = match call.tool {
            ComposeTool::SearchEvidence => {
                let query = call.query.as_deref().unwrap_or_default();
                let words: Vec<&str> = query.split_whitespace().collect();
                let asked = format!("search_evidence {}", words.join(" "));
                (asked, self.found(query), false)
            }
            ComposeTool::ReadSnippet => {
                let index = call.index.filter(|index| *index < self.evidence.len());
                let asked = call.index.map_or_else(String::new, |it| it.to_string());
                (format!("read_snippet {asked}"), index.into_iter().collect::<Vec<_>>(), true)
            }
        };
        let is_known = self.composition.log.iter().any(|it| it.asked == asked);
        if is_known || self.calls_left() == 0 {
            return;
        }
        self.composition.calls += 1;
        self.composition.log.push(ComposeCallRecord { asked, shown, is_read });
    }

    /// The evidence that is closest to a query, the best first.
    fn found(&self, query: &str) -> Vec<usize> {
        let quotes: Vec<&str> = self.evidence.iter().map(|one| one.quote.as_str()).collect();
        let scores = bm25(query, &quotes);
        let mut found: Vec<(usize, f64)> =
            scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0).collect();
        found.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
        found.into_iter().take(FOUND).map(|(index, _)| index).collect()
    }

    /// Whether a claim argues only: it states nothing that evidence would have to say.
    pub(super) fn is_analysis(&self, claim: &Claim) -> bool {
        let states =
            claim.is_numeric || claim.unknown_citations > 0 || !quotations(&claim.text).is_empty();
        claim.is_free && !states && self.composition.analyses.contains(&claim.sentence)
    }
}

fn beginning(text: &str) -> String {
    let short: String = text.chars().take(BEGINNING).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}
