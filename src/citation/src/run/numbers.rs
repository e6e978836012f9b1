//! Stage 6: the numbers of claims against those of their evidence.

use serde_json::json;

use super::{AnsweredQuery, CitationRun, CitationStage, read};
use crate::audit::context;
use crate::numeric::{
    NumberAnswer, NumericVerification, check_numbers, refined, verdict_after_numbers,
};
use crate::request::{CitationQuery, NumbersReply};
use crate::verdict::Verdict;

impl CitationRun {
    /// Compares by code, and asks about claims whose numbers do not stand in their evidence.
    pub(super) fn ask_about_numbers(&mut self) -> Vec<CitationQuery> {
        if self.rounds > 1 {
            return self.ask_evidence_about_numbers();
        }
        let mut open = Vec::new();
        for index in 0..self.report.claims.len() {
            let checks = self.checks(index);
            let Some(claim) = self.report.claims.get_mut(index) else { continue };
            let is_judged = claim.verdict.is_some() && !claim.is_abstained;
            if checks.is_empty() || claim.evidence.is_empty() || !is_judged {
                continue;
            }
            let is_open = checks.iter().any(|check| !check.status.is_match());
            claim.numbers = checks;
            if is_open {
                open.push(index);
            }
        }
        self.queue = open;
        if !self.input.settings.asks_about_numbers {
            return Vec::new();
        }
        let query = |index: &usize| {
            let claim = self.report.claims.get(*index)?.text.clone();
            Some(if self.input.settings.isolates_answers {
                CitationQuery::AskNumbers { claim }
            } else {
                CitationQuery::Numbers { claim, evidence: self.passages_of(*index) }
            })
        };
        self.queue.iter().filter_map(query).collect()
    }

    /// Asks the evidence what the claims were asked, and does not show it the claims.
    fn ask_evidence_about_numbers(&self) -> Vec<CitationQuery> {
        let query = |index: &usize| {
            let asked = self.asked_numbers.get(index)?.iter();
            let questions = asked.map(|answer| answer.question.clone()).collect();
            let evidence = self.passages_of(*index);
            Some(CitationQuery::AnswerNumbers { questions, evidence })
        };
        self.queue.iter().filter_map(query).collect()
    }

    /// Keeps the claims that answer questions in the queue.
    fn take_questions(&mut self, answered: Vec<AnsweredQuery>) {
        for (index, (_, reply)) in std::mem::take(&mut self.queue).into_iter().zip(answered) {
            let mut answers = read::<NumbersReply>(reply.as_ref()).unwrap_or_default().answers;
            // A question that names its number would show it to the evidence.
            answers.retain(|answer| !answer.question.contains(answer.claim_answer.trim()));
            if !answers.is_empty() {
                self.asked_numbers.insert(index, answers);
                self.queue.push(index);
            }
        }
    }

    pub(super) fn take_numbers(&mut self, answered: Vec<AnsweredQuery>) -> CitationStage {
        let answered = if self.input.settings.isolates_answers && self.rounds == 1 {
            self.take_questions(answered);
            if !self.queue.is_empty() {
                return CitationStage::Numbers;
            }
            Vec::new()
        } else {
            answered
        };
        let mut replies = answered.into_iter().map(|(_, reply)| reply);
        for index in std::mem::take(&mut self.queue) {
            let reply = replies.next().flatten();
            let Some(mut reply) = read::<NumbersReply>(reply.as_ref()) else { continue };
            if let Some(asked) = self.asked_numbers.remove(&index) {
                reply.answers = joined(asked, &reply.answers);
            }
            let quotes: Vec<String> =
                self.evidence_of(index).into_iter().map(|one| one.quote.clone()).collect();
            let quotes: Vec<&str> = quotes.iter().map(String::as_str).collect();
            let Some(claim) = self.report.claims.get_mut(index) else { continue };
            let checks = std::mem::take(&mut claim.numbers);
            let (answers, computation) = (&reply.answers, reply.computation.as_ref());
            claim.numbers = refined(checks, &claim.text, &quotes, answers, computation);
        }
        self.apply_numbers();
        if self.input.settings.revises { CitationStage::Decompose } else { CitationStage::Finished }
    }

    /// A number that is wrong lowers the verdict.
    fn apply_numbers(&mut self) {
        let mut events = Vec::new();
        for claim in self.report.claims.iter_mut().filter(|claim| !claim.numbers.is_empty()) {
            let verdict = claim.verdict.unwrap_or(Verdict::Unsupported);
            let lowered = verdict_after_numbers(verdict, &claim.numbers);
            if lowered < verdict {
                claim.issues.push("a number does not follow from the evidence".to_owned());
            }
            claim.verdict = Some(lowered);
            for check in &claim.numbers {
                events.push(json!({
                    "claim_id": claim.id,
                    "raw_value": check.claim_value,
                    "normalized_value": check.normalized_claim,
                    "derivation_type": check.status,
                    "qa_verified": check.status.is_match(),
                }));
            }
        }
        for event in events {
            self.note("numeric_claim_detected", event);
        }
    }

    /// The numbers of a claim as code compares them.
    pub(super) fn checks(&self, index: usize) -> Vec<NumericVerification> {
        let evidence = self.evidence_of(index);
        let quotes: Vec<&str> = evidence.iter().map(|one| one.quote.as_str()).collect();
        let titles = context(&evidence, &self.input.sources);
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let text = self.report.claims.get(index).map_or("", |claim| &claim.text);
        check_numbers(text, &quotes, &titles)
    }
}

/// The answers of a claim with those of its evidence to the same questions.
fn joined(mut asked: Vec<NumberAnswer>, said: &[NumberAnswer]) -> Vec<NumberAnswer> {
    for own in &mut asked {
        let found = said.iter().find(|answer| answer.question == own.question);
        own.evidence_answer = found.map_or_else(String::new, |it| it.evidence_answer.clone());
    }
    asked
}
