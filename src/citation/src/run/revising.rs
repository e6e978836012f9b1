//! Stage 7: sentences that state no more than what is known.

use std::collections::BTreeSet;

use antiphon_figures::added;
use serde_json::json;

use super::facts::FactRecord;
use super::{AnsweredQuery, CitationRun, CitationStage, read};
use crate::claim::{RevisionKind, RevisionRecord};
use crate::hedge::{is_hedged, softened};
use crate::marker::brackets;
use crate::report::cited;
use crate::request::{CitationQuery, SentenceReply};
use crate::verdict::Verdict;
use crate::word::{content_words, names};

impl CitationRun {
    /// The claims that were taken apart, in order.
    fn revised_claims(&self) -> BTreeSet<usize> {
        self.facts.iter().map(|fact| fact.claim).collect()
    }

    fn facts_of(&self, claim: usize) -> Vec<&FactRecord> {
        self.facts.iter().filter(|fact| fact.claim == claim).collect()
    }

    /// Asks for another sentence where some facts are known and others are not.
    pub(super) fn ask_for_sentences(&mut self) -> Vec<CitationQuery> {
        let is_mixed = |index: &usize| self.kind(*index) == RevisionKind::PartiallySoftened;
        self.queue = self.revised_claims().into_iter().filter(is_mixed).collect();
        let texts = |facts: Vec<&FactRecord>| facts.into_iter().map(|it| it.text.clone()).collect();
        let query = |index: &usize| {
            let (verified, rest): (Vec<_>, Vec<_>) =
                self.facts_of(*index).into_iter().partition(|fact| fact.is_verified());
            let uncertain = rest.into_iter().filter(|fact| !fact.is_contradicted).collect();
            let sentence = self.report.claims.get(*index)?.text.clone();
            let (verified, uncertain) = (texts(verified), texts(uncertain));
            Some(CitationQuery::Revise { sentence, verified, uncertain })
        };
        self.queue.iter().filter_map(query).collect()
    }

    pub(super) fn take_sentences(&mut self, answered: Vec<AnsweredQuery>) -> CitationStage {
        let mut replies = answered.into_iter().map(|(_, reply)| reply);
        let mixed = std::mem::take(&mut self.queue);
        let mut edits = Vec::new();
        for index in self.revised_claims() {
            let reply = if mixed.contains(&index) { replies.next().flatten() } else { None };
            let proposed = read::<SentenceReply>(reply.as_ref()).map(|reply| reply.sentence);
            let sentence = self.revised(index, proposed);
            edits
                .extend(self.report.claims.get(index).and_then(|claim| claim.rewritten(&sentence)));
            self.record_revision(index, &sentence);
        }
        self.report.edit(edits);
        self.refresh();
        CitationStage::Finished
    }

    fn kind(&self, index: usize) -> RevisionKind {
        let facts = self.facts_of(index);
        let verified = facts.iter().filter(|fact| fact.is_verified()).count();
        match verified {
            0 if facts.iter().any(|fact| fact.is_contradicted) => RevisionKind::Removed,
            0 => RevisionKind::FullySoftened,
            all if all == facts.len() => RevisionKind::FullyVerified,
            _ => RevisionKind::PartiallySoftened,
        }
    }

    /// The sentence of a claim by what is known of its facts, with its citations.
    fn revised(&mut self, index: usize, proposed: Option<String>) -> String {
        let kind = self.kind(index);
        let evidence: Vec<String> =
            self.facts_of(index).into_iter().flat_map(|fact| fact.evidence.clone()).collect();
        let before = self.report.claims.get(index).cloned().unwrap_or_default();
        // Nothing supports what is softened, so nothing is cited.
        let is_loose = kind == RevisionKind::FullySoftened;
        if kind != RevisionKind::Removed {
            self.set_evidence(index, if is_loose { Vec::new() } else { evidence });
        }
        let sentence = match kind {
            RevisionKind::FullyVerified => before.sentence,
            RevisionKind::Removed => return before.sentence,
            RevisionKind::FullySoftened => softened(&before.sentence),
            RevisionKind::PartiallySoftened => self.mixed(index, &before.text, proposed),
        };
        let keys = self.report.claims.get(index).map_or_else(Vec::new, |claim| claim.keys.clone());
        let known = |label: &str| self.keys.source(label).is_some();
        cited(&sentence, &keys, &known)
    }

    /// A sentence of known facts and of others that it says are not certain.
    fn mixed(&self, index: usize, before: &str, proposed: Option<String>) -> String {
        let facts = self.facts_of(index);
        let has_loose = facts.iter().any(|fact| !fact.is_verified() && !fact.is_contradicted);
        let fits = |text: &String| {
            is_faithful(text, before, has_loose) && !self.tells_dropped(index, text)
        };
        let proposed = proposed.map(|text| text.trim().to_owned()).filter(fits);
        proposed.unwrap_or_else(|| {
            let told = facts.iter().filter(|fact| !fact.is_contradicted);
            let sentence = |fact: &&FactRecord| {
                let text = fact.text.trim().trim_end_matches('.');
                let text = format!("{text}.");
                if fact.is_verified() { self.cited_fact(fact, &text) } else { softened(&text) }
            };
            told.map(sentence).collect::<Vec<_>>().join(" ")
        })
    }

    /// A fact with the keys of its own evidence.
    fn cited_fact(&self, fact: &FactRecord, text: &str) -> String {
        let own = self.evidence.iter().filter(|one| fact.evidence.contains(&one.id));
        let keys = own.filter_map(|one| self.keys.of(one.source)).map(str::to_owned);
        let keys: Vec<String> = keys.collect();
        cited(text, &keys, &|label: &str| self.keys.source(label).is_some())
    }

    /// Whether a sentence still has what only a contradicted fact says.
    fn tells_dropped(&self, index: usize, sentence: &str) -> bool {
        let facts = self.facts_of(index);
        let kept: Vec<&str> = facts
            .iter()
            .filter(|fact| !fact.is_contradicted)
            .map(|fact| fact.text.as_str())
            .collect();
        let kept = content_words(&kept.join(" "));
        let own = content_words(sentence);
        facts
            .iter()
            .filter(|fact| fact.is_contradicted)
            .any(|fact| content_words(&fact.text).difference(&kept).any(|word| own.contains(word)))
    }

    fn set_evidence(&mut self, index: usize, evidence: Vec<String>) {
        let mut keys: Vec<String> = Vec::new();
        for id in &evidence {
            let source = self.evidence.iter().find(|one| one.id == *id).map(|one| one.source);
            let Some(known) = source.and_then(|source| self.input.sources.get(source)) else {
                continue;
            };
            let key = self.keys.key(source.unwrap_or_default(), known);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        if let Some(claim) = self.report.claims.get_mut(index) {
            (claim.evidence, claim.keys) = (evidence, keys);
            claim.evidence.dedup();
        }
    }

    fn record_revision(&mut self, index: usize, sentence: &str) {
        let kind = self.kind(index);
        let facts = self.facts_of(index);
        let (total, verified) = (facts.len(), facts.iter().filter(|it| it.is_verified()).count());
        let Some(claim) = self.report.claims.get_mut(index) else { return };
        claim.verdict = Some(match kind {
            RevisionKind::FullyVerified => Verdict::Supported,
            RevisionKind::PartiallySoftened => Verdict::Partial,
            RevisionKind::FullySoftened => Verdict::Unsupported,
            RevisionKind::Removed => Verdict::Contradicted,
        });
        claim.is_abstained &= kind == RevisionKind::FullySoftened;
        let (before, after) = (claim.sentence.clone(), sentence.to_owned());
        let data =
            json!({"claim_id": claim.id, "revision_type": kind, "before": before, "after": after});
        claim.revision = Some(RevisionRecord { kind, before, after, facts: total, verified });
        self.counts.atomic_facts_total += total;
        self.counts.atomic_facts_verified += verified;
        self.counts.atomic_facts_softened += total - verified;
        self.note("claim_revised", data);
    }

    /// Takes the sentences of all claims from the report again.
    pub(super) fn refresh(&mut self) {
        let keys = self.keys.clone();
        let known = |label: &str| keys.source(label).is_some();
        for claim in self.report.claims.iter_mut().filter(|claim| claim.is_delivered()) {
            let sentence = claim.sentence.clone();
            claim.set_sentence(&sentence, &known);
        }
    }
}

/// Whether a sentence adds no number and no name, is not much longer, and says that it is not
/// certain if it has to.
fn is_faithful(sentence: &str, before: &str, has_loose: bool) -> bool {
    let size = |text: &str| text.chars().count();
    let is_short = size(sentence) * 2 <= size(before) * 3;
    let adds_name = names(sentence).difference(&content_words(before)).next().is_some();
    let is_plain = brackets(sentence).is_empty() && !sentence.contains(['\n', '|', '`']);
    let has_words = !content_words(sentence).is_empty();
    is_short
        && is_plain
        && has_words
        && !adds_name
        && added(sentence, before).is_empty()
        && (!has_loose || is_hedged(sentence))
}
