//! Stage 7: claims without support, taken apart into facts that are searched for.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{AnsweredQuery, CitationRun, CitationStage, read};
use crate::evidence::{Evidence, PageChunk, by_words, without_instructions};
use crate::numeric::check_numbers;
use crate::ranking::bm25;
use crate::request::{
    CitationQuery, FactsReply, FoundPage, PagesReply, ScoresReply, VerificationItem,
};
use crate::source::{CitedSource, PageOrigin};
use crate::span::TextSpan;
use crate::verdict::Verdict;
use crate::word::{content_words, share, words};

/// A claim of so few words is one fact.
const ATOMIC: usize = 8;
/// Passages that are judged for one fact.
const CANDIDATES: usize = 3;
/// How close a passage has to be.
const CLOSE: f64 = 0.7;
/// Facts in one request to judge them.
const BATCH: usize = 10;
/// The score of a fact whose numbers are not in its evidence.
const RELATED: f64 = 0.4;

/// A fact of a claim, and what was found about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FactRecord {
    pub(super) claim: usize,
    pub(super) text: String,
    /// Evidence that may support it.
    candidates: Vec<String>,
    /// Evidence that does.
    pub(super) evidence: Vec<String>,
    pub(super) is_contradicted: bool,
    searches: usize,
    /// Pages that the last search has found.
    found: Vec<FoundPage>,
}

impl FactRecord {
    pub(super) const fn is_verified(&self) -> bool {
        !self.evidence.is_empty()
    }

    const fn is_open(&self) -> bool {
        !self.is_verified() && !self.is_contradicted
    }
}

impl CitationRun {
    pub(super) fn ask_for_facts(&mut self) -> Vec<CitationQuery> {
        let includes_abstained = self.input.settings.includes_abstained;
        let is_weak = |index: &usize| {
            self.report.claims.get(*index).is_some_and(|claim| {
                let weak = matches!(claim.verdict, Some(Verdict::Unsupported | Verdict::Partial));
                weak && claim.is_delivered() && (!claim.is_abstained || includes_abstained)
            })
        };
        self.queue = (0..self.report.claims.len()).filter(is_weak).collect();
        let most = self.input.settings.max_facts;
        let texts = self.long_claims().into_iter().map(|(_, text)| text);
        texts.map(|claim| CitationQuery::Decompose { claim, most }).collect()
    }

    /// The claims of the queue that may consist of several facts.
    fn long_claims(&self) -> Vec<(usize, String)> {
        let text = |index: &usize| {
            let text = &self.report.claims.get(*index)?.text;
            (words(text).len() > ATOMIC).then(|| (*index, text.clone()))
        };
        self.queue.iter().filter_map(text).collect()
    }

    pub(super) fn take_facts(&mut self, answered: Vec<AnsweredQuery>) -> CitationStage {
        let long = self.long_claims();
        let mut replies = answered.into_iter().map(|(_, reply)| reply);
        for index in std::mem::take(&mut self.queue) {
            let is_long = long.iter().any(|(own, _)| *own == index);
            let reply = if is_long { replies.next().flatten() } else { None };
            let Some(claim) = self.report.claims.get(index) else { continue };
            let named = read::<FactsReply>(reply.as_ref()).unwrap_or_default().facts;
            let facts = checked_facts(&claim.text, named, self.input.settings.max_facts);
            let data = json!({"claim_id": claim.id, "facts": facts});
            self.note("atomic_facts", data);
            let records = facts.into_iter().map(|text| FactRecord {
                claim: index,
                text,
                ..FactRecord::default()
            });
            self.facts.extend(records);
        }
        if self.facts.is_empty() {
            return CitationStage::Finished;
        }
        self.recall();
        CitationStage::Recall
    }

    /// The passages that are closest to each fact.
    fn recall(&mut self) {
        let quotes: Vec<&str> = self.evidence.iter().map(|one| one.quote.as_str()).collect();
        for fact in &mut self.facts {
            let scores = bm25(&fact.text, &quotes);
            let mut order: Vec<(usize, f64)> = scores.into_iter().enumerate().collect();
            order.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
            let close = order.into_iter().take(CANDIDATES).filter(|(_, score)| *score >= CLOSE);
            let ids = close.filter_map(|(place, _)| self.evidence.get(place));
            fact.candidates = ids.map(|one| one.id.clone()).collect();
        }
    }

    pub(super) fn ask_for_scores(&self) -> Vec<CitationQuery> {
        let mut items = Vec::new();
        for (number, fact) in self.facts.iter().enumerate().filter(|(_, fact)| fact.is_open()) {
            let evidence = self.candidates(fact);
            if !evidence.is_empty() {
                let evidence = evidence.into_iter().map(|one| self.passage(one)).collect();
                items.push(VerificationItem { number, claim: fact.text.clone(), evidence });
            }
        }
        items.chunks(BATCH).map(|items| CitationQuery::Judge { items: items.to_vec() }).collect()
    }

    fn candidates(&self, fact: &FactRecord) -> Vec<&Evidence> {
        let ids = fact.candidates.iter();
        ids.filter_map(|id| self.evidence.iter().find(|one| one.id == *id)).collect()
    }

    pub(super) fn take_scores(&mut self, answered: Vec<AnsweredQuery>) -> CitationStage {
        for (query, reply) in answered {
            let CitationQuery::Judge { items } = query else { continue };
            let reply = read::<ScoresReply>(reply.as_ref()).unwrap_or_default();
            for item in items {
                let Some(found) = reply.scores.iter().find(|it| it.number == item.number) else {
                    continue;
                };
                self.score(item.number, found.score, found.is_contradicted);
            }
        }
        for fact in self.facts.iter_mut().filter(|fact| fact.is_open()) {
            fact.candidates.clear();
        }
        if self.may_search() { CitationStage::Search } else { CitationStage::Revise }
    }

    /// Takes a score over. Whatever it is, the numbers of the fact have to be in its evidence.
    fn score(&mut self, number: usize, score: f64, is_contradicted: bool) {
        let Some(fact) = self.facts.get(number) else { return };
        let evidence = self.candidates(fact);
        let quotes: Vec<&str> = evidence.iter().map(|one| one.quote.as_str()).collect();
        let titles = crate::audit::context(&evidence, &self.input.sources);
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let checks = check_numbers(&fact.text, &quotes, &titles);
        let has_numbers = checks.iter().all(|check| check.status.is_match());
        let is_near = crate::audit::is_related(&fact.text, &quotes, &titles);
        let score = if has_numbers && is_near { score } else { score.min(RELATED) };
        let is_verified = score >= self.input.settings.fact_threshold && !is_contradicted;
        let best = best(&fact.text, &evidence);
        let source = evidence.iter().find(|one| Some(&one.id) == best.as_ref());
        let source = source.and_then(|one| self.input.sources.get(one.source));
        let source = source.map(|source| source.url.clone()).filter(|_| is_verified);
        let text = fact.text.clone();
        let claim_id = self.report.claims.get(fact.claim).map(|claim| claim.id.clone());
        if let Some(fact) = self.facts.get_mut(number) {
            fact.is_contradicted = is_contradicted && score <= 0.0;
            fact.evidence = best.into_iter().filter(|_| is_verified).collect();
        }
        let data = json!({
            "claim_id": claim_id,
            "fact": text,
            "source": source,
            "score": score,
            "verified": is_verified,
        });
        self.note("fact_verified", data);
    }

    fn may_search(&self) -> bool {
        let settings = &self.input.settings;
        let has_room = self.counts.external_searches < settings.max_external_searches;
        has_room
            && self.facts.iter().any(|it| it.is_open() && it.searches < settings.searches_per_fact)
    }

    pub(super) fn ask_for_pages(&mut self) -> Vec<CitationQuery> {
        let settings = &self.input.settings;
        let mut queries = Vec::new();
        self.queue.clear();
        for (number, fact) in self.facts.iter_mut().enumerate() {
            let has_room = self.counts.external_searches < settings.max_external_searches;
            if !has_room || !fact.is_open() || fact.searches >= settings.searches_per_fact {
                continue;
            }
            // Another try has the words of the question as well.
            let words: Vec<String> = content_words(&self.input.question).into_iter().collect();
            let query = match fact.searches {
                0 => fact.text.clone(),
                _ => format!("{} {}", fact.text, words.join(" ")),
            };
            fact.searches += 1;
            self.counts.external_searches += 1;
            self.queue.push(number);
            queries.push(CitationQuery::Search { query, limit: settings.pages_per_search });
        }
        queries
    }

    pub(super) fn take_pages(&mut self, answered: Vec<AnsweredQuery>) -> CitationStage {
        let limit = self.input.settings.pages_per_search;
        let facts = std::mem::take(&mut self.queue);
        for (number, (_, reply)) in facts.into_iter().zip(answered) {
            let pages = read::<PagesReply>(reply.as_ref()).unwrap_or_default().pages;
            if let Some(fact) = self.facts.get_mut(number) {
                fact.found = pages.into_iter().take(limit).collect();
            }
        }
        CitationStage::Read
    }

    pub(super) fn ask_for_texts(&self) -> Vec<CitationQuery> {
        let mut urls: Vec<&str> = Vec::new();
        let mut queries = Vec::new();
        for page in self.facts.iter().flat_map(|fact| &fact.found) {
            let is_known = self.input.sources.iter().any(|source| source.url == page.url);
            if is_known || urls.contains(&page.url.as_str()) {
                continue;
            }
            urls.push(&page.url);
            let FoundPage { url, title, snippet } = page.clone();
            queries.push(CitationQuery::Read { url, title, snippet });
        }
        queries
    }

    pub(super) fn take_texts(&mut self, answered: Vec<AnsweredQuery>) -> CitationStage {
        for (query, reply) in answered {
            let CitationQuery::Read { url, title, snippet } = query else { continue };
            let page = read::<CitedSource>(reply.as_ref()).unwrap_or_default();
            let is_fetched = page.origin == PageOrigin::Fetched && !page.text.trim().is_empty();
            let origin = if is_fetched { PageOrigin::Fetched } else { PageOrigin::Found };
            let text = if is_fetched { page.text } else { String::new() };
            let title = if page.title.is_empty() { title } else { page.title };
            let (is_unreadable, is_cited) = (!is_fetched, false);
            let source = CitedSource { url, title, text, snippet, origin, is_unreadable, is_cited };
            self.input.sources.push(source);
            self.counts.new_sources_added += 1;
        }
        for number in 0..self.facts.len() {
            self.find_in_pages(number);
        }
        CitationStage::Judge
    }

    /// The sentences of the pages that were found for a fact.
    fn find_in_pages(&mut self, number: usize) {
        let Some(fact) = self.facts.get_mut(number) else { return };
        let (found, words) = (std::mem::take(&mut fact.found), content_words(&fact.text));
        let mut passages: Vec<Evidence> = Vec::new();
        for page in found {
            let place = self.input.sources.iter().position(|source| source.url == page.url);
            let Some(index) = place else { continue };
            let Some(source) = self.input.sources.get(index) else { continue };
            let span = TextSpan::new(0, source.text.len());
            passages.extend(by_words(PageChunk { source: index, span }, source, &words));
        }
        passages.retain(|one| one.relevance >= self.input.settings.min_relevance);
        let mut passages = without_instructions(passages, &self.input.sources);
        passages.sort_by(|left, right| right.relevance.total_cmp(&left.relevance));
        let mut ids = Vec::new();
        for one in passages.into_iter().take(CANDIDATES) {
            let same = |known: &&Evidence| known.source == one.source && known.quote == one.quote;
            let known = self.evidence.iter().find(same).map(|known| known.id.clone());
            ids.push(known.unwrap_or_else(|| self.add_evidence(one)));
        }
        if let Some(fact) = self.facts.get_mut(number) {
            fact.candidates = ids;
        }
    }
}

/// The passage that has the most words of a fact.
fn best(fact: &str, evidence: &[&Evidence]) -> Option<String> {
    let words = content_words(fact);
    let score = |one: &&&Evidence| share(&words, &content_words(&one.quote));
    let order = |left: &&&Evidence, right: &&&Evidence| score(left).total_cmp(&score(right));
    evidence.iter().max_by(order).map(|one| one.id.clone())
}

/// The facts that say nothing beyond the claim; the claim itself if none is left.
fn checked_facts(claim: &str, named: Vec<String>, most: usize) -> Vec<String> {
    let known = content_words(claim);
    let is_own = |fact: &String| {
        let added = content_words(fact).difference(&known).count();
        !fact.trim().is_empty() && added == 0 && !fact.contains(['[', ']', '\n', '|'])
    };
    let facts: Vec<String> =
        named.into_iter().map(|fact| fact.trim().to_owned()).filter(is_own).take(most).collect();
    // Together they cover the claim.
    let covered = content_words(&facts.join(" "));
    if facts.is_empty() || share(&known, &covered) < 0.8 { vec![claim.to_owned()] } else { facts }
}
