//! Stage 1: evidence out of the pages of the run.

use std::collections::BTreeSet;

use serde_json::json;

use super::{AnsweredQuery, CitationInput, CitationRun, CitationStage, read};
use crate::evidence::{
    Evidence, PageChunk, by_words, chunks, located, ranked, snippets, without_instructions,
};
use crate::request::{CitationQuery, SpansReply};
use crate::word::content_words;

impl CitationRun {
    pub(super) fn ask_for_spans(&self) -> Vec<CitationQuery> {
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

    pub(super) fn take_spans(&mut self, answered: Vec<AnsweredQuery>) -> CitationStage {
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
