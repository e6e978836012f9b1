//! Stage 5, if an arbiter is asked: which citations a claim should have where scores are close. What
//! it says is tried like any other change, and kept if the verdict gets better.

use std::collections::BTreeMap;

use serde_json::json;

use super::{AnsweredQuery, CitationRun, read};
use crate::correction::{CorrectionAction, open_options};
use crate::request::{ArbitrationAction, ArbitrationReply, CitationOption, CitationQuery};
use crate::verdict::Verdict;

impl CitationRun {
    /// Asks about the claims whose citations the scores leave open.
    pub(super) fn ask_for_arbitration(&mut self) -> Vec<CitationQuery> {
        self.queue.clear();
        let settings = &self.input.settings;
        if !settings.corrects || !settings.asks_arbiter {
            return Vec::new();
        }
        let most = settings.max_arbitrations;
        let mut queries = Vec::new();
        for index in 0..self.report.claims.len() {
            if queries.len() < most
                && let Some(query) = self.arbitration_query(index)
            {
                self.queue.push(index);
                queries.push(query);
            }
        }
        queries
    }

    fn arbitration_query(&self, index: usize) -> Option<CitationQuery> {
        let claim = self.report.claims.get(index)?;
        // Of a claim that nobody could judge, there is no verdict to get better.
        let is_judged = !claim.is_abstained || claim.evidence.is_empty();
        let verdict = claim.verdict.filter(|_| is_judged && !self.is_well_cited(index))?;
        let options = self.options(index)?;
        let options = (0..).zip(&options).filter_map(|(number, place)| {
            let one = self.evidence.get(*place)?;
            let is_cited = claim.evidence.contains(&one.id);
            Some(CitationOption { number, is_cited, passage: self.passage(one) })
        });
        let options = options.collect();
        Some(CitationQuery::Arbitrate { claim: claim.text.clone(), verdict, options })
    }

    /// The evidence that an arbiter chooses from; the same when it is asked and when it replies.
    fn options(&self, index: usize) -> Option<Vec<usize>> {
        let claim = self.report.claims.get(index)?;
        let current = self.places(&claim.evidence);
        let settings = &self.input.settings;
        open_options(&claim.text, claim.verdict?, &current, &self.evidence, settings)
    }

    /// What was decided about claims, by their index. A decision that cannot be carried out is none.
    pub(super) fn decisions(
        &mut self,
        answered: Vec<AnsweredQuery>,
    ) -> BTreeMap<usize, CorrectionAction> {
        let asked = std::mem::take(&mut self.queue);
        let mut decisions = BTreeMap::new();
        for (index, (_, reply)) in asked.into_iter().zip(answered) {
            let Some(reply) = read::<ArbitrationReply>(reply.as_ref()) else { continue };
            let Some(action) = self.decision(index, &reply) else { continue };
            let id = self.report.claims.get(index).map_or("", |claim| &claim.id);
            let data =
                json!({"claim_id": id, "action": reply.action, "reasoning": reply.reasoning});
            self.note("citation_arbitrated", data);
            decisions.insert(index, action);
        }
        decisions
    }

    fn decision(&self, index: usize, reply: &ArbitrationReply) -> Option<CorrectionAction> {
        let claim = self.report.claims.get(index)?;
        let chosen = || {
            let place = *self.options(index)?.get(reply.number?)?;
            let one = self.evidence.get(place)?;
            (!claim.evidence.contains(&one.id)).then_some(place)
        };
        Some(match reply.action? {
            ArbitrationAction::Keep => CorrectionAction::Keep,
            ArbitrationAction::Replace | ArbitrationAction::Add if claim.evidence.is_empty() => {
                CorrectionAction::Add(chosen()?)
            }
            ArbitrationAction::Replace => CorrectionAction::Replace(chosen()?),
            ArbitrationAction::Add => CorrectionAction::AddAlternate(vec![chosen()?]),
            // Nobody verifies a claim again that has lost its evidence.
            ArbitrationAction::Remove if claim.verdict > Some(Verdict::Unsupported) => return None,
            ArbitrationAction::Remove => CorrectionAction::Remove,
        })
    }
}
