//! Stage 1: evidence out of the pages of the run.

use std::collections::BTreeSet;

use serde_json::json;

use super::{AnsweredQuery, CitationRun, CitationStage, read};
use crate::evidence::{Evidence, PageChunk, by_words, chunks, located, ranked, snippets};
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
            let reply = replies.next().flatten();
            found.extend(self.evidence_in(chunk, read::<SpansReply>(reply.as_ref()), &words));
        }
        for one in ranked(found, &self.input.settings) {
            self.add_evidence(one);
        }
        if self.evidence.is_empty() {
            self.counts.verification_skipped = Some("no_evidence".to_owned());
        }
        self.note("evidence_selected", json!({"spans": self.evidence.len()}));
        CitationStage::Write
    }

    /// The evidence in a piece: what the model has chosen, else what has words of the question.
    fn evidence_in(
        &self,
        chunk: PageChunk,
        reply: Option<SpansReply>,
        words: &BTreeSet<String>,
    ) -> Vec<Evidence> {
        let Some(source) = self.input.sources.get(chunk.source) else { return Vec::new() };
        let chosen = reply.map(|reply| located(chunk, source, &reply.spans, words));
        chosen.filter(|found| !found.is_empty()).unwrap_or_else(|| by_words(chunk, source, words))
    }
}
