//! Stage 1: evidence out of the pages of the run.

use serde_json::json;

use super::{AnsweredQuery, CitationRun, CitationStage, read};
use crate::evidence::{Evidence, PageChunk, by_words, chunks, located, ranked, snippets, without_instructions};
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
        let mut by_code: Vec<Evidence> = Vec::new();
        for chunk in chunks(&self.input.sources, &self.input.settings) {
            let reply = read::<SpansReply>(replies.next().flatten().as_ref());
            let Some(source) = self.input.sources.get(chunk.source) else { continue };
            let chosen = reply.map(|reply| located(chunk, source, &reply.spans, &words));
            match chosen.filter(|found| !found.is_empty()) {
                Some(chosen) => found.extend(chosen),
                None => by_code.extend(by_words(chunk, source, &words)),
            }
        }
        found.extend(self.related(by_code));
        let found = without_instructions(found, &self.input.sources);
        for one in ranked(found, &self.input.settings) {
            self.add_evidence(one);
        }
        if self.evidence.is_empty() {
            self.counts.verification_skipped = Some("no_evidence".to_owned());
        }
        self.note("evidence_selected", json!({"spans": self.evidence.len()}));
        CitationStage::Write
    }

    /// Of what code has chosen for single words, what bears on the question; all if nothing does.
    fn related(&self, all: Vec<Evidence>) -> Vec<Evidence> {
        let bears: Vec<bool> = {
            let topics = self.topic_words();
            all.iter().map(|one| topics.bear_on(&one.quote, &self.heading_of(one))).collect()
        };
        if !bears.contains(&true) {
            return all;
        }
        all.into_iter().zip(bears).filter(|(_, bears)| *bears).map(|(one, _)| one).collect()
    }
}
