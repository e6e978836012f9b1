//! Stage 4: verdicts. A verifier sees a claim and its evidence, and nothing else.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{AnsweredQuery, CitationRun, CitationStage, read};
use crate::audit::{context, is_related};
use crate::confidence::ConfidenceLevel;
use crate::request::{CitationQuery, VerdictItem, VerdictsReply, VerificationItem};
use crate::settings::GenerationMode;
use crate::summary::VerdictSummary;
use crate::verdict::Verdict;

/// A verdict that was asked for before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CachedVerdict {
    verdict: Verdict,
    reasoning: String,
    issues: Vec<String>,
}

impl CitationRun {
    /// Asks about the claims of the queue that nothing else decides; once more, one by one, about
    /// those that got no verdict.
    pub(super) fn ask_for_verdicts(&mut self) -> Vec<CitationQuery> {
        let queue = std::mem::take(&mut self.queue);
        let is_first = self.rounds == 1;
        let open: Vec<usize> =
            queue.into_iter().filter(|claim| !is_first || !self.decides_itself(*claim)).collect();
        let mut queries = Vec::new();
        for level in [ConfidenceLevel::High, ConfidenceLevel::Medium, ConfidenceLevel::Low] {
            let own: Vec<usize> =
                open.iter().copied().filter(|claim| self.level(*claim) == level).collect();
            let is_single = level == ConfidenceLevel::Low || !is_first;
            let size = if is_single { 1 } else { self.input.settings.verification_batch.max(1) };
            for batch in own.chunks(size) {
                let items = batch.iter().filter_map(|claim| self.item(*claim)).collect();
                queries.push(CitationQuery::Verify { level, items });
            }
        }
        self.queue = open;
        queries
    }

    pub(super) fn take_verdicts(&mut self, answered: Vec<AnsweredQuery>) -> CitationStage {
        for (query, reply) in answered {
            let CitationQuery::Verify { items, .. } = query else { continue };
            let reply = read::<VerdictsReply>(reply.as_ref()).unwrap_or_default();
            let is_single = items.len() == 1 && reply.verdicts.len() == 1;
            for item in items {
                let found = reply.verdicts.iter().find(|it| it.number == item.number);
                // Of a single claim the number is of no matter.
                let only = reply.verdicts.first().filter(|_| is_single);
                if let Some(verdict) = found.or(only) {
                    self.take_verdict(item.number, verdict);
                }
            }
        }
        let claims = &self.report.claims;
        self.queue.retain(|claim| claims.get(*claim).is_some_and(|claim| claim.verdict.is_none()));
        if !self.queue.is_empty() && self.rounds < 2 {
            return self.stage;
        }
        for claim in std::mem::take(&mut self.queue) {
            self.abstain(claim, "no verdict was given");
        }
        if self.stage == CitationStage::Reverify {
            self.settle();
            return CitationStage::Numbers;
        }
        self.initial = Some(VerdictSummary::of(&self.report.claims));
        CitationStage::Correct
    }

    /// Whether a verdict needs no model.
    fn decides_itself(&mut self, index: usize) -> bool {
        let evidence = self.evidence_of(index);
        if evidence.is_empty() {
            self.abstain(index, "there is no evidence");
            return true;
        }
        let quotes: Vec<&str> = evidence.iter().map(|one| one.quote.as_str()).collect();
        let titles = context(&evidence, &self.input.sources);
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let Some(claim) = self.report.claims.get(index) else { return true };
        let cached = self.cache.get(&self.cache_key(index)).cloned();
        if !is_related(&claim.text, &quotes, &titles) {
            let reasoning = "Hardly a word of it is in its evidence.".to_owned();
            let item = VerdictItem {
                verdict: "unsupported".to_owned(),
                reasoning,
                ..VerdictItem::default()
            };
            self.take_verdict(index, &item);
            return true;
        }
        let Some(cached) = cached else { return false };
        let verdict = cached.verdict.as_str().to_owned();
        let (reasoning, issues) = (cached.reasoning, cached.issues);
        self.take_verdict(index, &VerdictItem { number: index, verdict, reasoning, issues });
        true
    }

    fn level(&self, index: usize) -> ConfidenceLevel {
        let Some(claim) = self.report.claims.get(index) else { return ConfidenceLevel::Medium };
        match claim.confidence {
            ConfidenceLevel::High if claim.is_numeric => ConfidenceLevel::Medium,
            level => level,
        }
    }

    fn item(&self, index: usize) -> Option<VerificationItem> {
        let claim = self.report.claims.get(index)?;
        let evidence = self.passages_of(index);
        Some(VerificationItem { number: index, claim: claim.text.clone(), evidence })
    }

    fn take_verdict(&mut self, index: usize, item: &VerdictItem) {
        let Some(mut verdict) = Verdict::parse(&item.verdict) else { return };
        let key = self.cache_key(index);
        let cached = CachedVerdict {
            verdict,
            reasoning: item.reasoning.clone(),
            issues: item.issues.clone(),
        };
        self.cache.insert(key, cached);
        let is_strict = self.input.settings.generation == GenerationMode::Strict;
        let evidence = self.evidence_of(index);
        if is_strict && !evidence.is_empty() && evidence.iter().all(|one| one.is_snippet) {
            verdict = verdict.min(Verdict::Partial);
        }
        let preview = evidence.first().map(|one| one.preview());
        let Some(claim) = self.report.claims.get_mut(index) else { return };
        claim.verdict = Some(verdict);
        claim.is_abstained = false;
        claim.reasoning.clone_from(&item.reasoning);
        claim.issues.clone_from(&item.issues);
        let span = claim.span.unwrap_or_default().in_chars(&self.report.text);
        let data = json!({
            "claim_id": claim.id,
            "text": claim.text,
            "position_start": span.start,
            "position_end": span.end,
            "verdict": verdict,
            "confidence_level": claim.confidence,
            "reasoning": claim.reasoning,
            "citation_keys": claim.keys,
            "evidence_preview": preview,
        });
        self.note("claim_verified", data);
    }

    pub(super) fn abstain(&mut self, index: usize, reason: &str) {
        let Some(claim) = self.report.claims.get_mut(index) else { return };
        claim.verdict = Some(Verdict::Unsupported);
        claim.is_abstained = true;
        reason.clone_into(&mut claim.reasoning);
    }

    /// Names the claim with its evidence, in their order, and how carefully they are compared.
    fn cache_key(&self, index: usize) -> String {
        let words = self.report.claims.get(index).map_or("", |claim| &claim.text);
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let quotes: Vec<&str> =
            self.evidence_of(index).iter().map(|one| one.quote.as_str()).collect();
        format!("{:?}\n{}\n{}", self.level(index), words.join(" "), quotes.join("\n"))
    }
}
