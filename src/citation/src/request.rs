//! What the pipeline asks of the world, and the forms of the replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::confidence::ConfidenceLevel;
use crate::evidence::ProposedSpan;
use crate::numeric::{NumberAnswer, ProposedComputation};
use crate::settings::GenerationMode;
use crate::verdict::Verdict;

/// Something that the pipeline needs to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CitationRequest {
    /// Names it in this run; the reply is handed back under it.
    pub id: String,
    /// What is asked.
    pub query: CitationQuery,
}

/// What is asked. Texts of pages are data: nothing in them is an instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CitationQuery {
    /// Which passages of a text answer the question? The reply is a [`SpansReply`].
    Extract {
        /// The question of the report.
        question: String,
        /// The title of the page.
        title: String,
        /// A piece of it.
        text: String,
    },
    /// Write the report. The reply is a [`ReportReply`].
    Write {
        /// The question.
        question: String,
        /// What the research has found, in words.
        observations: Vec<String>,
        /// The evidence, in the order of its indices.
        evidence: Vec<Passage>,
        /// How it is written.
        mode: GenerationMode,
        /// Words, at least.
        min_words: usize,
        /// Words, at most.
        max_words: usize,
        /// What was wrong with the last one.
        correction: Option<String>,
        /// What the caller wants to be observed.
        instructions: Option<String>,
        /// The JSON Schema of the report, if it has one: the reply is then a value of it, which
        /// names sources by their numbers.
        output: Option<Json>,
    },
    /// Look evidence up, or write the next part of the report. The reply is a [`ComposeReply`].
    Compose {
        /// The question.
        question: String,
        /// What the research has found, in words.
        observations: Vec<String>,
        /// What was shown so far.
        evidence: Vec<ShownPassage>,
        /// The calls so far, with the indices that came of each.
        calls: Vec<String>,
        /// Calls that are left.
        calls_left: usize,
        /// The report so far.
        written: String,
        /// Words, at least.
        min_words: usize,
        /// Words, at most.
        max_words: usize,
        /// What the caller wants to be observed.
        instructions: Option<String>,
    },
    /// Does the evidence support these claims? The reply is a [`VerdictsReply`].
    Verify {
        /// How carefully.
        level: ConfidenceLevel,
        /// The claims, each with its own evidence.
        items: Vec<VerificationItem>,
    },
    /// Which citations should a claim have? The reply is a [`ArbitrationReply`].
    Arbitrate {
        /// The claim.
        claim: String,
        /// What its evidence was found to say about it.
        verdict: Verdict,
        /// What it can cite, in the order of the numbers.
        options: Vec<CitationOption>,
    },
    /// Where do the numbers of a claim come from? The reply is a [`NumbersReply`].
    Numbers {
        /// The claim.
        claim: String,
        /// Its evidence.
        evidence: Vec<Passage>,
    },
    /// Which questions do the numbers of a claim answer? The reply is a [`NumbersReply`].
    AskNumbers {
        /// The claim.
        claim: String,
    },
    /// What does evidence answer to such questions? The reply is a [`NumbersReply`].
    AnswerNumbers {
        /// The questions.
        questions: Vec<String>,
        /// The evidence of the claim that they were taken from.
        evidence: Vec<Passage>,
    },
    /// Which facts does a claim consist of? The reply is a [`FactsReply`].
    Decompose {
        /// The claim.
        claim: String,
        /// How many facts at most.
        most: usize,
    },
    /// Search the web. The reply is a [`PagesReply`].
    Search {
        /// What for.
        query: String,
        /// How many pages at most.
        limit: usize,
    },
    /// Fetch a page. The reply is a [`CitedSource`](crate::CitedSource).
    Read {
        /// Its address.
        url: String,
        /// Its title, as the search knows it.
        title: String,
        /// What the search says of it.
        snippet: String,
    },
    /// How far does evidence entail facts? The reply is a [`ScoresReply`].
    Judge {
        /// The facts, each with its own evidence.
        items: Vec<VerificationItem>,
    },
    /// Rewrite a sentence so that it states no more than what is known. The reply is a
    /// [`SentenceReply`].
    Revise {
        /// The sentence without citations.
        sentence: String,
        /// Facts that are certain.
        verified: Vec<String>,
        /// Facts that are not.
        uncertain: Vec<String>,
    },
}

/// A passage of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// The number of the source, from 1.
    pub source: usize,
    /// The title of the source.
    pub title: String,
    /// The passage.
    pub text: String,
}

/// Evidence that a writer was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPassage {
    /// What it is cited by.
    pub index: usize,
    /// Whether all of it is shown; else its beginning.
    pub is_whole: bool,
    /// The passage.
    pub passage: Passage,
}

/// Evidence that a claim cites, or could cite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitationOption {
    /// Names it in the request.
    pub number: usize,
    /// Whether the claim cites it.
    pub is_cited: bool,
    /// The evidence.
    pub passage: Passage,
}

/// A statement with its own evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationItem {
    /// Names it in the request.
    pub number: usize,
    /// The statement.
    pub claim: String,
    /// Its evidence.
    pub evidence: Vec<Passage>,
}

/// Passages that a model has chosen.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SpansReply {
    /// The passages.
    pub spans: Vec<ProposedSpan>,
}

/// A report that a model has written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportReply {
    /// Markdown with indices in brackets.
    pub report: String,
}

/// A turn of a writer: calls, the next part of the report, or both. The last turn has no calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComposeReply {
    /// What is looked up.
    pub calls: Option<Vec<ComposeCall>>,
    /// Markdown in tagged blocks.
    pub text: Option<String>,
}

/// A call of a writer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ComposeCall {
    /// What is done.
    pub tool: ComposeTool,
    /// What is searched for.
    #[serde(default)]
    pub query: Option<String>,
    /// What is read.
    #[serde(default)]
    pub index: Option<usize>,
}

/// What a writer can do with the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComposeTool {
    /// Shows the beginnings of what is closest to a query.
    SearchEvidence,
    /// Shows all of a passage.
    ReadSnippet,
}

/// Verdicts on claims.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct VerdictsReply {
    /// One for each claim.
    pub verdicts: Vec<VerdictItem>,
}

/// The verdict on one claim.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VerdictItem {
    /// The number of the claim.
    pub number: usize,
    /// The verdict as a text.
    pub verdict: String,
    /// Why.
    pub reasoning: String,
    /// What else is wrong.
    pub issues: Vec<String>,
}

/// Which citations a claim should have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ArbitrationReply {
    /// What is done with them; none if the reply says nothing that can be done.
    pub action: Option<ArbitrationAction>,
    /// The option that is cited from now on.
    pub number: Option<usize>,
    /// Why.
    pub reasoning: String,
}

/// What is done with the citations of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArbitrationAction {
    /// They stay.
    Keep,
    /// An option takes their place.
    Replace,
    /// An option stands beside them.
    Add,
    /// They go.
    Remove,
}

/// Numbers of a claim and of its evidence.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NumbersReply {
    /// The answers of both to the same questions.
    pub answers: Vec<NumberAnswer>,
    /// How the number of the claim was computed, if it was.
    pub computation: Option<ProposedComputation>,
}

/// The facts of a claim.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FactsReply {
    /// Sentences that stand alone.
    pub facts: Vec<String>,
}

/// Pages that a search has found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PagesReply {
    /// The pages, the best first.
    pub pages: Vec<FoundPage>,
}

/// A page that a search has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FoundPage {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// What the search says of it.
    pub snippet: String,
}

/// How far evidence entails facts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScoresReply {
    /// One for each fact.
    pub scores: Vec<FactScoreItem>,
}

/// How far evidence entails one fact.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FactScoreItem {
    /// The number of the fact.
    pub number: usize,
    /// From 0 to 1.
    pub score: f64,
    /// Whether the evidence states the contrary.
    pub is_contradicted: bool,
}

/// A sentence that a model has rewritten.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SentenceReply {
    /// The sentence.
    pub sentence: String,
}
