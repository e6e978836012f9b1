//! The numbers of the pipeline, each a setting.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GenerationMode {
    /// Each factual sentence has a citation.
    Strict,
    /// Factual statements have one, transitions need none.
    #[default]
    Natural,
}

/// Who looks for the evidence of each part of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SynthesisMode {
    /// The writer gets all evidence, and writes the report in one go.
    #[default]
    Interleaved,
    /// The writer searches and reads the evidence in a loop, and writes part after part.
    React,
}

/// What happens to sentences that the evidence contradicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContradictedAction {
    /// They are removed, with what is left empty by it.
    #[default]
    Remove,
    /// They stay, and say so.
    Flag,
}

/// The settings of the citation pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each stage has its own switch")]
#[serde(default, deny_unknown_fields)]
pub struct CitationSettings {
    /// Whether a model chooses the evidence; else words and numbers do.
    pub extracts_with_model: bool,
    /// Whether only passages that bear on the question or its plan are evidence, if any do; by default
    /// those of all pages are.
    pub narrows_evidence: bool,
    /// How the report is written.
    pub generation: GenerationMode,
    /// Who looks for the evidence of each part.
    pub synthesis_mode: SynthesisMode,
    /// Searches and passages of a writer who does that, by default 40.
    pub max_synthesis_calls: usize,
    /// Whether each claim is verified by a model that sees its evidence alone.
    pub verifies: bool,
    /// Whether wrong citations are replaced.
    pub corrects: bool,
    /// Whether a model decides about citations where scores are close; by default code does alone.
    pub asks_arbiter: bool,
    /// Claims that it decides about, by default 20.
    pub max_arbitrations: usize,
    /// Whether a model helps to compare numbers; code compares them in any case.
    pub asks_about_numbers: bool,
    /// Whether what the evidence answers is asked without the claim; by default both are shown.
    pub isolates_answers: bool,
    /// Whether claims without support are taken apart, searched for and rewritten.
    pub revises: bool,
    /// What happens to contradicted sentences.
    pub contradicted_action: ContradictedAction,
    /// Characters of a piece of a page, by default 8,000.
    pub chunk_chars: usize,
    /// Characters that two pieces share, by default 1,000.
    pub chunk_overlap: usize,
    /// Pieces of one page, by default 5.
    pub max_chunks: usize,
    /// Evidence of one source, by default 10.
    pub max_spans_per_source: usize,
    /// Evidence that the report is written from, by default 60.
    pub max_evidence: usize,
    /// The least relevance of evidence, by default 0.3.
    pub min_relevance: f64,
    /// Claims that are verified, by default 150.
    pub max_claims: usize,
    /// The words of the report, at least and at most.
    pub min_words: usize,
    /// The most words of the report.
    pub max_words: usize,
    /// Claims in one request to verify them, by default 1: a verifier sees one claim and its
    /// evidence. More cost fewer requests, and claims may colour each other's verdicts.
    pub verification_batch: usize,
    /// Requests of a stage that are under way at once, by default 32; others wait for them.
    pub max_parallel_requests: usize,
    /// From which score on a citation is good, by default 0.6.
    pub citation_threshold: f64,
    /// The weight of words beside that of all tokens in that score, by default 0.8.
    pub keyword_weight: f64,
    /// Facts that a claim is taken apart into, by default 5.
    pub max_facts: usize,
    /// Searches for one fact, by default 1.
    pub searches_per_fact: usize,
    /// Searches for the whole report, by default 20.
    pub max_external_searches: usize,
    /// Pages that are read for one search, by default 3.
    pub pages_per_search: usize,
    /// From which score on a fact is verified, by default 0.6.
    pub fact_threshold: f64,
    /// Whether claims without evidence are revised too.
    pub includes_abstained: bool,
}

impl Default for CitationSettings {
    fn default() -> Self {
        Self {
            extracts_with_model: true,
            narrows_evidence: false,
            generation: GenerationMode::Natural,
            synthesis_mode: SynthesisMode::Interleaved,
            max_synthesis_calls: 40,
            verifies: true,
            corrects: true,
            asks_arbiter: false,
            max_arbitrations: 20,
            asks_about_numbers: true,
            isolates_answers: false,
            revises: true,
            contradicted_action: ContradictedAction::Remove,
            chunk_chars: 8_000,
            chunk_overlap: 1_000,
            max_chunks: 5,
            max_spans_per_source: 10,
            max_evidence: 60,
            min_relevance: 0.3,
            max_claims: 150,
            min_words: 1_200,
            max_words: 2_000,
            verification_batch: 1,
            max_parallel_requests: 32,
            citation_threshold: 0.6,
            keyword_weight: 0.8,
            max_facts: 5,
            searches_per_fact: 1,
            max_external_searches: 20,
            pages_per_search: 3,
            fact_threshold: 0.6,
            includes_abstained: false,
        }
    }
}

impl CitationSettings {
    /// The first value that cannot be used, as a sentence; none if all can.
    pub fn out_of_range(&self) -> Option<String> {
        let counts = [
            ("chunk_chars", self.chunk_chars),
            ("max_chunks", self.max_chunks),
            ("max_spans_per_source", self.max_spans_per_source),
            ("max_evidence", self.max_evidence),
            ("max_claims", self.max_claims),
            ("verification_batch", self.verification_batch),
            ("max_parallel_requests", self.max_parallel_requests),
            ("max_arbitrations", self.max_arbitrations),
            ("max_synthesis_calls", self.max_synthesis_calls),
            ("max_facts", self.max_facts),
            ("pages_per_search", self.pages_per_search),
        ];
        let shares = [
            ("min_relevance", self.min_relevance),
            ("citation_threshold", self.citation_threshold),
            ("keyword_weight", self.keyword_weight),
            ("fact_threshold", self.fact_threshold),
        ];
        if let Some((key, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Some(format!("`{key}` must be at least 1: 0"));
        }
        if let Some((key, share)) = shares.iter().find(|(_, it)| !(0.0..=1.0).contains(it)) {
            return Some(format!("`{key}` must be from 0 to 1: {share}"));
        }
        (self.chunk_overlap >= self.chunk_chars)
            .then(|| format!("`chunk_overlap` must be below `chunk_chars`: {}", self.chunk_overlap))
    }

    /// For a short report: no questions about numbers, no revision.
    pub fn light() -> Self {
        Self {
            asks_about_numbers: false,
            revises: false,
            min_words: 800,
            max_words: 1_200,
            max_facts: 3,
            ..Self::default()
        }
    }

    /// For a report of medium length.
    pub fn medium() -> Self {
        Self::default()
    }

    /// For a long report in which each factual sentence is cited.
    pub fn extended() -> Self {
        Self {
            generation: GenerationMode::Strict,
            min_words: 1_500,
            max_words: 3_200,
            max_facts: 7,
            searches_per_fact: 2,
            ..Self::default()
        }
    }
}
