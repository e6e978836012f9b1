//! Stage 1: evidence out of the pages of the run.

use std::collections::BTreeSet;

use serde_json::json;

use super::{AnsweredQuery, CitationInput, CitationRun, CitationStage, read};
use crate::evidence::{
    Evidence, PageChunk, by_words, chunks, located, ranked, snippets, unread_snippet,
    without_instructions,
};
use crate::request::{CitationQuery, SpansReply};
use crate::source::{CitedSource, PageOrigin};
use crate::word::{content_words, share};

/// Pages that were found and are read before evidence is chosen, at most.
const UNREAD: usize = 5;

impl CitationRun {
    /// Reads pages first that were found and not read: what a search says of one is no evidence
    /// while the page itself can be had.
    pub(super) fn ask_for_spans(&self) -> Vec<CitationQuery> {
        if self.rounds == 1 {
            let unread = self.ask_for_unread();
            if !unread.is_empty() {
                return unread;
            }
        }
        if !self.input.settings.extracts_with_model {
            return Vec::new();
        }
        let query = |chunk: PageChunk| {
            let source = self.input.sources.get(chunk.source)?;
            Some(CitationQuery::Extract {
                question: self.input.question.clone(),
                title: source.title.clone(),
                text: chunk.span.of(&source.text)?.to_owned(),
            })
        };
        chunks(&self.input.sources, &self.input.settings).into_iter().filter_map(query).collect()
    }

    /// The pages that were not read whose snippets have most words of the question.
    fn ask_for_unread(&self) -> Vec<CitationQuery> {
        let asked = content_words(&self.input.question);
        let mut unread: Vec<(f64, &CitedSource)> = Vec::new();
        for source in self.input.sources.iter().filter(|source| !source.is_unreadable) {
            let Some(snippet) = unread_snippet(source) else { continue };
            let known = content_words(&format!("{}\n{snippet}", source.title));
            let score = share(&asked, &known);
            if score > 0.0 {
                unread.push((score, source));
            }
        }
        unread.sort_by(|left, right| right.0.total_cmp(&left.0));
        let query = |(_, source): (f64, &CitedSource)| CitationQuery::Read {
            url: source.url.clone(),
            title: source.title.clone(),
            snippet: source.snippet.clone(),
        };
        unread.into_iter().take(UNREAD).map(query).collect()
    }

    /// Takes over the pages that were read now.
    fn take_unread(&mut self, answered: Vec<AnsweredQuery>) {
        for (query, reply) in answered {
            let CitationQuery::Read { url, .. } = query else { continue };
            let page: CitedSource = read(reply.as_ref()).unwrap_or_default();
            let known = self.input.sources.iter_mut().find(|source| source.url == url);
            let Some(source) = known else { continue };
            if page.origin != PageOrigin::Fetched || page.text.trim().is_empty() {
                source.is_unreadable = true;
                continue;
            }
            (source.text, source.origin) = (page.text, PageOrigin::Fetched);
            if source.title.is_empty() {
                source.title = page.title;
            }
        }
    }

    pub(super) fn take_spans(&mut self, answered: Vec<AnsweredQuery>) -> CitationStage {
        if answered.iter().any(|(query, _)| matches!(query, CitationQuery::Read { .. })) {
            self.take_unread(answered);
            return CitationStage::Extract;
        }
        let words = content_words(&self.input.question);
        let mut replies = answered.into_iter().map(|(_, reply)| reply);
        let mut found = snippets(&self.input.sources);
        for chunk in chunks(&self.input.sources, &self.input.settings) {
            let reply = read::<SpansReply>(replies.next().flatten().as_ref());
            let Some(source) = self.input.sources.get(chunk.source) else { continue };
            let chosen = reply.map(|reply| located(chunk, source, &reply.spans, &words));
            match chosen.filter(|found| !found.is_empty()) {
                Some(chosen) => found.extend(chosen),
                None => found.extend(by_words(chunk, source, &words)),
            }
        }
        if found.is_empty() {
            found = self.by_topics();
        }
        let found = without_instructions(found, &self.input.sources);
        let found = if self.input.settings.narrows_evidence { self.narrowed(found) } else { found };
        for one in ranked(found, &self.input.settings) {
            self.add_evidence(one);
        }
        if self.evidence.is_empty() {
            self.counts.verification_skipped = Some("no_evidence".to_owned());
        }
        self.note("evidence_selected", json!({"spans": self.evidence.len()}));
        CitationStage::Write
    }

    /// What bears most on the question or a step of its plan; all if nothing does.
    fn narrowed(&self, found: Vec<Evidence>) -> Vec<Evidence> {
        let topics = self.topic_words();
        let weights = |one: &Evidence| topics.weights(&one.quote, &self.heading_of(one));
        let weights: Vec<Vec<f64>> = found.iter().map(weights).collect();
        let near = topics.nearest(&weights);
        if !near.contains(&true) {
            return found;
        }
        let kept = found.into_iter().zip(near).filter(|(_, is_near)| *is_near);
        kept.map(|(one, _)| one).collect()
    }

    /// What has words of the steps of the plan, where nothing has words of the question.
    fn by_topics(&self) -> Vec<Evidence> {
        let CitationInput { topics, sources, settings, .. } = &self.input;
        let topics: Vec<BTreeSet<String>> = topics.iter().map(|it| content_words(it)).collect();
        let mut found = Vec::new();
        for chunk in chunks(sources, settings) {
            let Some(source) = sources.get(chunk.source) else { continue };
            found.extend(topics.iter().flat_map(|words| by_words(chunk, source, words)));
        }
        found
    }
}
