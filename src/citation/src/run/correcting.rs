//! Stage 5: citations that fit better, kept if the verdict gets better.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{AnsweredQuery, CitationRun, CitationStage};
use crate::correction::{
    CorrectionAction, CorrectionRecord, decide, decide_uncited, entails_by_words,
};
use crate::report::cited;
use crate::verdict::Verdict;

/// A claim whose citations are being changed, as it was before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CorrectionAttempt {
    claim: usize,
    kind: String,
    before: Vec<String>,
    verdict: Verdict,
    is_abstained: bool,
    reasoning: String,
}

impl CitationRun {
    /// Gives claims other evidence where that fits better, and has them verified with it.
    pub(super) fn try_citations(&mut self, answered: Vec<AnsweredQuery>) -> CitationStage {
        if !self.input.settings.corrects {
            return CitationStage::Numbers;
        }
        let mut decisions = self.decisions(answered);
        for index in 0..self.report.claims.len() {
            self.try_claim(index, decisions.remove(&index));
        }
        self.queue = self.attempts.iter().map(|attempt| attempt.claim).collect();
        if self.queue.is_empty() { CitationStage::Numbers } else { CitationStage::Reverify }
    }

    /// Whether a claim is supported, and code sees that too.
    pub(super) fn is_well_cited(&self, index: usize) -> bool {
        let Some(claim) = self.report.claims.get(index) else { return false };
        let evidence = self.evidence_of(index);
        let quotes: Vec<&str> = evidence.into_iter().map(|one| one.quote.as_str()).collect();
        claim.verdict == Some(Verdict::Supported) && entails_by_words(&claim.text, &quotes)
    }

    /// The places of evidence in the pool.
    pub(super) fn places(&self, ids: &[String]) -> Vec<usize> {
        let place = |id: &String| self.evidence.iter().position(|one| one.id == *id);
        ids.iter().filter_map(place).collect()
    }

    fn try_claim(&mut self, index: usize, decision: Option<CorrectionAction>) {
        if self.is_well_cited(index) {
            return;
        }
        let Some(claim) = self.report.claims.get(index) else { return };
        let Some(verdict) = claim.verdict else { return };
        let current = self.places(&claim.evidence);
        let settings = &self.input.settings;
        let action = match decision {
            Some(decision) => decision,
            None if current.is_empty() => decide_uncited(&claim.text, &self.evidence, settings),
            None => decide(&claim.text, verdict, &current, &self.evidence, settings),
        };
        let (kind, chosen) = match action {
            CorrectionAction::Keep => return,
            CorrectionAction::Replace(other) => ("replace", vec![other]),
            CorrectionAction::AddAlternate(others) => ("add_alternate", [current, others].concat()),
            CorrectionAction::Add(fitting) => ("add", vec![fitting]),
            CorrectionAction::Remove => ("remove", Vec::new()),
        };
        let ids = chosen.iter().filter_map(|it| self.evidence.get(*it)).map(|it| it.id.clone());
        let ids: Vec<String> = ids.collect();
        let attempt = CorrectionAttempt {
            claim: index,
            kind: kind.to_owned(),
            before: claim.evidence.clone(),
            verdict,
            is_abstained: claim.is_abstained,
            reasoning: claim.reasoning.clone(),
        };
        let is_removal = ids.is_empty();
        if let Some(claim) = self.report.claims.get_mut(index) {
            claim.evidence = ids;
            claim.verdict = None;
        }
        if is_removal {
            self.remove_citations(index, &attempt);
        } else if attempt.kind == "add" && !self.has_its_numbers(index) {
            self.take_back(attempt);
        } else {
            self.attempts.push(attempt);
        }
    }

    /// Whether every number of a claim follows from its evidence.
    fn has_its_numbers(&self, index: usize) -> bool {
        self.checks(index).iter().all(|check| check.status.is_match())
    }

    fn take_back(&mut self, attempt: CorrectionAttempt) {
        if let Some(claim) = self.report.claims.get_mut(attempt.claim) {
            claim.evidence = attempt.before;
            claim.verdict = Some(attempt.verdict);
            claim.is_abstained = attempt.is_abstained;
            claim.reasoning = attempt.reasoning;
        }
    }

    /// Nothing fits the claim at all.
    fn remove_citations(&mut self, index: usize, attempt: &CorrectionAttempt) {
        if let Some(claim) = self.report.claims.get_mut(index) {
            claim.verdict = Some(attempt.verdict.min(Verdict::Unsupported));
        }
        self.set_keys(&[index]);
        self.record(attempt, Vec::new(), "remove");
    }

    /// Keeps what has made a verdict better, and takes the rest back.
    pub(super) fn settle(&mut self) {
        let mut changed = Vec::new();
        for attempt in std::mem::take(&mut self.attempts) {
            let Some(claim) = self.report.claims.get(attempt.claim) else { continue };
            let is_better = !claim.is_abstained && claim.verdict > Some(attempt.verdict);
            if is_better {
                let after = claim.evidence.clone();
                changed.push(attempt.claim);
                self.record(&attempt, after, &attempt.kind);
            } else {
                self.take_back(attempt);
            }
        }
        self.set_keys(&changed);
    }

    fn record(&mut self, attempt: &CorrectionAttempt, after: Vec<String>, kind: &str) {
        let claim = self.report.claims.get(attempt.claim);
        let claim_id = claim.map_or_else(String::new, |claim| claim.id.clone());
        self.counts.citation_corrections += 1;
        let reasoning = claim.map_or("", |claim| &claim.reasoning);
        let data = json!({"claim_id": claim_id, "correction_type": kind, "reasoning": reasoning});
        self.note("citation_corrected", data);
        let before = attempt.before.clone();
        self.corrections.push(CorrectionRecord {
            claim: claim_id,
            kind: kind.to_owned(),
            before,
            after,
        });
    }

    /// Writes the keys of their evidence into the sentences of claims.
    pub(super) fn set_keys(&mut self, claims: &[usize]) {
        let mut edits = Vec::new();
        for index in claims {
            let sources: Vec<usize> =
                self.evidence_of(*index).into_iter().map(|one| one.source).collect();
            let mut keys: Vec<String> = Vec::new();
            for source in sources {
                let Some(known) = self.input.sources.get(source) else { continue };
                let key = self.keys.key(source, known);
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
            let all = self.keys.clone();
            let known = |label: &str| all.source(label).is_some();
            let Some(claim) = self.report.claims.get_mut(*index) else { continue };
            claim.keys.clone_from(&keys);
            let sentence = cited(&claim.sentence, &keys, &known);
            edits.extend(claim.rewritten(&sentence));
        }
        self.report.edit(edits);
    }
}
