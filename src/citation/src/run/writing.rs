//! Stage 2: the report, written from numbered evidence.

use serde_json::{Value as Json, json};

use super::{AnsweredQuery, CitationInput, CitationRun, CitationStage, MissingReport, read};
use crate::claim::{claims, is_factual, statements};
use crate::compose::{CitedMarker, ComposedText, compose};
use crate::confidence::confidence;
use crate::layout::{LayoutEvidence, lay_out};
use crate::report::TextEdit;
use crate::request::{CitationQuery, ReportReply};
use crate::settings::GenerationMode;
use crate::source::SourceKeys;
use crate::span::TextSpan;

/// Fewer citations than one to so many sentences are too few.
const SENTENCES: usize = 5;

impl CitationRun {
    pub(super) fn ask_for_report(&self) -> Vec<CitationQuery> {
        if self.composes() {
            return vec![self.ask_for_part()];
        }
        let settings = &self.input.settings;
        vec![CitationQuery::Write {
            question: self.input.question.clone(),
            observations: self.input.observations.clone(),
            evidence: self.evidence.iter().map(|one| self.passage(one)).collect(),
            mode: settings.generation,
            min_words: settings.min_words,
            max_words: settings.max_words,
            correction: self.objection.clone(),
            instructions: self.input.instructions.clone(),
            output: self.input.output.clone(),
        }]
    }

    pub(super) fn take_report(&mut self, answered: Vec<AnsweredQuery>) -> CitationStage {
        let reply = answered.into_iter().next().and_then(|(_, reply)| reply);
        if self.composes() {
            return self.take_part(reply.as_ref());
        }
        if self.input.output.is_some() {
            return self.take_value(reply);
        }
        let written = reply.as_ref().and_then(written).filter(|text| !text.trim().is_empty());
        let Some(written) = written else {
            // Of two reports the first one is better than none.
            if self.report.text.is_empty() {
                self.write_from_evidence(MissingReport::NoReply);
            }
            return self.after_writing();
        };
        let written = self.admitted(&written);
        let mut keys = SourceKeys::default();
        let composed = compose(&written, &self.evidence, &self.input.sources, &mut keys);
        if self.repeats_pages(&composed) {
            self.write_from_evidence(MissingReport::RepeatsPages);
            return self.after_writing();
        }
        if self.objection.is_none() && self.has_too_few(&composed) {
            let text = "Too few sentences have a citation. Put the index of its evidence into \
                        brackets after each factual sentence, and leave out what has none.";
            self.objection = Some(text.to_owned());
            self.take_over(composed, keys);
            return CitationStage::Write;
        }
        self.take_over(composed, keys);
        self.after_writing()
    }

    /// Takes a report over that is a value: its texts are laid out, and cited by code.
    fn take_value(&mut self, reply: Option<Json>) -> CitationStage {
        let Some(value) = reply.filter(|it| it.is_object() || it.is_array()) else {
            self.write_from_evidence(MissingReport::NoReply);
            return self.after_writing();
        };
        let value = self.admitted_value(value);
        let CitationInput { sources, settings, .. } = &self.input;
        let evidence = LayoutEvidence { pool: &self.evidence, sources, settings };
        let mut keys = SourceKeys::default();
        let (composed, fields) = lay_out(&value, evidence, &mut keys);
        (self.report.fields, self.value) = (fields, Some(value));
        self.take_over(composed, keys);
        self.after_writing()
    }

    fn has_too_few(&self, composed: &ComposedText) -> bool {
        let is_strict = self.input.settings.generation == GenerationMode::Strict;
        let text = &composed.text;
        let sentences = statements(text).into_iter().filter_map(|span| span.of(text));
        let factual = sentences.filter(|sentence| is_factual(sentence)).count();
        is_strict && !self.evidence.is_empty() && composed.markers.len() * SENTENCES < factual
    }

    pub(super) fn take_over(&mut self, composed: ComposedText, keys: SourceKeys) {
        let settings = &self.input.settings;
        // A writer who looks evidence up says which sentences need none.
        let mode = if self.composes() { GenerationMode::Strict } else { settings.generation };
        self.keys = keys;
        self.counts.removed_markers = composed.removed;
        let mut found = claims(&composed, mode, settings.max_claims);
        found.retain(|claim| !self.is_analysis(claim));
        self.report.claims = found;
        self.report.text = composed.text;
        self.drop_orphans(&composed.markers);
    }

    /// Citations in headings, or of nothing, belong to no claim.
    fn drop_orphans(&mut self, markers: &[CitedMarker]) {
        let spans: Vec<TextSpan> =
            self.report.claims.iter().filter_map(|claim| claim.span).collect();
        let mut edits = Vec::new();
        for marker in markers.iter().filter(|it| !spans.iter().any(|own| own.holds(it.span))) {
            let expected = format!("[{}]", marker.key);
            edits.push(TextEdit { span: marker.span, expected, replacement: String::new() });
        }
        self.counts.removed_markers += self.report.edit(edits).applied;
    }

    pub(super) fn after_writing(&mut self) -> CitationStage {
        for claim in 0..self.report.claims.len() {
            self.classify(claim);
        }
        self.queue = (0..self.report.claims.len()).collect();
        if self.missing.is_some() {
            // What repeats its evidence needs no verdict.
            self.counts.verification_skipped.get_or_insert_with(|| "no_report".to_owned());
            return CitationStage::Finished;
        }
        if self.evidence.is_empty() || !self.input.settings.verifies {
            return CitationStage::Finished;
        }
        CitationStage::Verify
    }

    /// Stage 3: how carefully a claim has to be checked.
    pub(super) fn classify(&mut self, index: usize) {
        let evidence = self.evidence_of(index);
        let preview = evidence.first().map(|one| one.preview());
        let quotes: Vec<String> = evidence.into_iter().map(|one| one.quote.clone()).collect();
        let quotes: Vec<&str> = quotes.iter().map(String::as_str).collect();
        let Some(claim) = self.report.claims.get_mut(index) else { return };
        (claim.confidence_score, claim.confidence) = confidence(&claim.text, &quotes);
        let span = claim.span.unwrap_or_default();
        let data = json!({
            "claim_id": claim.id,
            "claim_text": claim.text,
            "position_start": span.in_chars(&self.report.text).start,
            "position_end": span.in_chars(&self.report.text).end,
            "confidence_level": claim.confidence,
            "evidence_preview": preview,
        });
        self.note("claim_generated", data);
    }
}

/// The text of a report in a reply of either form.
fn written(reply: &Json) -> Option<String> {
    match reply {
        Json::String(text) => Some(text.clone()),
        other => read::<ReportReply>(Some(other)).map(|reply| reply.report),
    }
}
