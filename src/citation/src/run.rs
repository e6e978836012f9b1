//! The pipeline as a machine: it says what it needs, gets the replies, and goes on. It decides
//! everything and has no side effects.
//!
//! | module | holds |
//! |---|---|
//! | `selection` | stage 1: evidence out of the pages |
//! | `writing` | stage 2: the report |
//! | `passages` | what may stand in a report, and the list of passages in the place of one |
//! | `composing` | stage 2 as a loop: the writer looks evidence up, and writes part after part |
//! | `structure` | a report in a caller's form, as the stages leave it |
//! | `verification` | stages 3 and 4: verdicts on claims, each with its evidence alone |
//! | `arbitration` | stage 5: a model decides about citations where scores are close |
//! | `correcting` | stage 5: other citations, kept if the verdict gets better |
//! | `numbers` | stage 6: numbers |
//! | `facts` | stage 7: facts, searches for them, entailment |
//! | `revising` | stage 7: sentences that state no more than what is known |
//! | `conclusion` | clean-up, references, summary, audit |

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::audit::AuditReport;
use crate::claim::Claim;
use crate::correction::CorrectionRecord;
use crate::evidence::Evidence;
use crate::numeric::NumberAnswer;
use crate::report::CitedReport;
use crate::request::{CitationQuery, CitationRequest, Passage};
use crate::settings::CitationSettings;
use crate::source::{CitedSource, SourceKeys};
use crate::summary::{CitationSummary, VerdictSummary};

mod arbitration;
mod composing;
mod conclusion;
mod correcting;
mod facts;
mod numbers;
mod passages;
mod revising;
mod selection;
mod structure;
mod verification;
mod writing;

use self::composing::WritingProgress;
use self::correcting::CorrectionAttempt;
use self::facts::FactRecord;
pub use self::passages::MissingReport;
use self::verification::CachedVerdict;

/// What a report is made from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CitationInput {
    /// The question.
    pub question: String,
    /// What else the question is about: the steps of a plan, a text each.
    pub topics: Vec<String>,
    /// What the research has found, in words.
    pub observations: Vec<String>,
    /// The pages that it has found.
    pub sources: Vec<CitedSource>,
    /// What the caller wants the report to observe.
    pub instructions: Option<String>,
    /// The JSON Schema of the report, if it is a value instead of a text.
    pub output: Option<Json>,
    /// The settings.
    pub settings: CitationSettings,
}

/// How far the pipeline is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CitationStage {
    /// Evidence is chosen.
    #[default]
    Extract,
    /// The report is written.
    Write,
    /// Claims are verified.
    Verify,
    /// Citations are corrected.
    Correct,
    /// Corrected claims are verified again.
    Reverify,
    /// Numbers are compared.
    Numbers,
    /// Claims are taken apart.
    Decompose,
    /// Facts are searched for among the evidence.
    Recall,
    /// Facts are searched for in the web.
    Search,
    /// What was found is read.
    Read,
    /// What was read is judged.
    Judge,
    /// Sentences are rewritten.
    Revise,
    /// All is done.
    Finished,
}

/// Something that happened, for those who watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CitationEvent {
    /// Its name in the stream of events.
    pub name: String,
    /// Its fields.
    pub data: Json,
}

/// The pipeline at some moment. It can be stored, and goes on where it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CitationRun {
    input: CitationInput,
    stage: CitationStage,
    evidence: Vec<Evidence>,
    keys: SourceKeys,
    report: CitedReport,
    /// What was written, if the report is a value; its fields stand in the report.
    value: Option<Json>,
    /// What was asked and not answered yet.
    pending: Vec<CitationRequest>,
    /// What the stage asks once that is answered.
    waiting: Vec<CitationQuery>,
    /// What the stage has asked before, in order.
    answered: Vec<AnsweredQuery>,
    /// How many requests there were.
    asked: usize,
    events: Vec<CitationEvent>,
    cache: BTreeMap<String, CachedVerdict>,
    /// The claims that a stage works on, by their index.
    queue: Vec<usize>,
    /// How often the stage has begun.
    rounds: usize,
    attempts: Vec<CorrectionAttempt>,
    corrections: Vec<CorrectionRecord>,
    /// What claims answer, by their index, before their evidence is asked the same.
    asked_numbers: BTreeMap<usize, Vec<NumberAnswer>>,
    facts: Vec<FactRecord>,
    initial: Option<VerdictSummary>,
    counts: CitationSummary,
    /// The report while it is written in parts.
    composition: WritingProgress,
    /// What was wrong with the first report.
    objection: Option<String>,
    /// Why passages stand in its place, if they do.
    missing: Option<MissingReport>,
    /// Once the report is finished.
    audit: Option<AuditReport>,
}

/// The part of a stored [`CitationRun`] that says what was asked and not answered yet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PendingRequests {
    /// As [`CitationRun::pending`].
    pub pending: Vec<CitationRequest>,
}

/// A question with its reply; none if it failed.
type AnsweredQuery = (CitationQuery, Option<Json>);

impl CitationRun {
    /// Before anything was asked.
    pub fn new(input: CitationInput) -> Self {
        Self { input, ..Self::default() }
    }

    /// Takes the replies to what was asked, by the ids of the requests, and says what is needed
    /// next; nothing once the report is finished. A request without a reply has failed.
    pub fn advance(&mut self, replies: &BTreeMap<String, Json>) -> Vec<CitationRequest> {
        let pending = std::mem::take(&mut self.pending);
        if !pending.is_empty() {
            let answered = pending.into_iter().map(|request| {
                let reply = replies.get(&request.id).filter(|reply| !reply.is_null());
                (request.query, reply.cloned())
            });
            self.answered.extend(answered);
            if !self.waiting.is_empty() {
                return self.ask_next();
            }
            let answered = std::mem::take(&mut self.answered);
            self.receive(answered);
        }
        while self.stage != CitationStage::Finished {
            let queries = self.begin();
            if queries.is_empty() {
                self.receive(Vec::new());
                continue;
            }
            self.waiting = queries;
            return self.ask_next();
        }
        Vec::new()
    }

    /// Asks as much of what waits as may be under way at once.
    fn ask_next(&mut self) -> Vec<CitationRequest> {
        let most = self.input.settings.max_parallel_requests.max(1).min(self.waiting.len());
        let next: Vec<CitationQuery> = self.waiting.drain(..most).collect();
        self.pending = next.into_iter().map(|query| self.request(query)).collect();
        self.pending.clone()
    }

    /// Takes the texts of its pages out, by their addresses: whoever stores a run stores them once
    /// beside it, and not with each of its stages.
    pub fn detach_pages(&mut self) -> BTreeMap<String, String> {
        let sources = self.input.sources.iter_mut().filter(|source| !source.text.is_empty());
        sources.map(|source| (source.url.clone(), std::mem::take(&mut source.text))).collect()
    }

    /// Gives the texts of its pages back, without which it must not go on.
    pub fn attach_pages(&mut self, pages: &BTreeMap<String, String>) {
        for source in self.input.sources.iter_mut().filter(|source| source.text.is_empty()) {
            if let Some(text) = pages.get(&source.url) {
                source.text.clone_from(text);
            }
        }
    }

    /// Ends the pipeline where it is: what code can check is checked, the rest is not verified.
    pub fn conclude(&mut self) {
        self.pending.clear();
        self.waiting.clear();
        self.answered.clear();
        if self.is_composing() {
            self.finish_composition();
        }
        if self.stage != CitationStage::Finished {
            self.finish();
        }
    }

    /// Whether the report is finished.
    pub fn is_finished(&self) -> bool {
        self.stage == CitationStage::Finished
    }

    /// How far it is.
    pub const fn stage(&self) -> CitationStage {
        self.stage
    }

    /// What was asked and not answered yet.
    pub fn pending(&self) -> &[CitationRequest] {
        &self.pending
    }

    /// What has happened since the last call.
    pub fn take_events(&mut self) -> Vec<CitationEvent> {
        std::mem::take(&mut self.events)
    }

    /// The report as it is.
    pub fn text(&self) -> &str {
        if self.is_composing() { self.written_parts() } else { &self.report.text }
    }

    /// The claims of the report as it is.
    pub fn claims(&self) -> &[Claim] {
        &self.report.claims
    }

    /// Whether the report consists of the passages themselves, because no model has written one.
    pub const fn is_degraded(&self) -> bool {
        self.missing.is_some()
    }

    /// Why that is so.
    pub const fn missing_report(&self) -> Option<MissingReport> {
        self.missing
    }

    /// Whether a model has written the report.
    pub const fn is_written(&self) -> bool {
        self.missing.is_none() && !self.report.text.is_empty()
    }

    fn request(&mut self, query: CitationQuery) -> CitationRequest {
        self.asked += 1;
        CitationRequest { id: format!("q{}", self.asked), query }
    }

    /// What a stage asks.
    fn begin(&mut self) -> Vec<CitationQuery> {
        if self.rounds == 0 {
            self.note("stage_started", json!({"stage": self.stage}));
        }
        self.rounds += 1;
        match self.stage {
            CitationStage::Extract => self.ask_for_spans(),
            CitationStage::Write => self.ask_for_report(),
            CitationStage::Verify | CitationStage::Reverify => self.ask_for_verdicts(),
            CitationStage::Numbers => self.ask_about_numbers(),
            CitationStage::Decompose => self.ask_for_facts(),
            CitationStage::Recall | CitationStage::Judge => self.ask_for_scores(),
            CitationStage::Search => self.ask_for_pages(),
            CitationStage::Read => self.ask_for_texts(),
            CitationStage::Revise => self.ask_for_sentences(),
            CitationStage::Correct => self.ask_for_arbitration(),
            CitationStage::Finished => Vec::new(),
        }
    }

    /// Takes the replies of a stage and goes to the next one.
    fn receive(&mut self, answered: Vec<AnsweredQuery>) {
        let asked = answered.len();
        let failed = answered.iter().filter(|(_, reply)| reply.is_none()).count();
        if failed > 0 {
            self.note(
                "stage_failed",
                json!({"stage": self.stage, "requests": asked, "failed": failed}),
            );
        }
        let before = self.stage;
        let next = match before {
            CitationStage::Extract => self.take_spans(answered),
            CitationStage::Write => self.take_report(answered),
            CitationStage::Verify | CitationStage::Reverify => self.take_verdicts(answered),
            CitationStage::Correct => self.try_citations(answered),
            CitationStage::Numbers => self.take_numbers(answered),
            CitationStage::Decompose => self.take_facts(answered),
            CitationStage::Recall | CitationStage::Judge => self.take_scores(answered),
            CitationStage::Search => self.take_pages(answered),
            CitationStage::Read => self.take_texts(answered),
            CitationStage::Revise => self.take_sentences(answered),
            CitationStage::Finished => CitationStage::Finished,
        };
        if next == before {
            return;
        }
        self.note("stage_completed", json!({"stage": before, "requests": asked}));
        self.rounds = 0;
        if next == CitationStage::Finished {
            self.finish();
        } else {
            self.stage = next;
        }
    }

    fn note(&mut self, name: &str, data: Json) {
        self.events.push(CitationEvent { name: name.to_owned(), data });
    }

    fn evidence_of(&self, claim: usize) -> Vec<&Evidence> {
        let ids = self.report.claims.get(claim).map_or(&[][..], |claim| &claim.evidence);
        ids.iter().filter_map(|id| self.evidence.iter().find(|one| one.id == *id)).collect()
    }

    fn passage(&self, evidence: &Evidence) -> Passage {
        let title = self.input.sources.get(evidence.source).map_or("", |source| &source.title);
        let (title, text) = (title.to_owned(), evidence.quote.clone());
        Passage { source: evidence.source + 1, title, text }
    }

    fn passages_of(&self, claim: usize) -> Vec<Passage> {
        self.evidence_of(claim).into_iter().map(|one| self.passage(one)).collect()
    }

    /// Evidence gets its id when it enters the pool.
    fn add_evidence(&mut self, mut one: Evidence) -> String {
        one.id = format!("e{}", self.evidence.len() + 1);
        let id = one.id.clone();
        self.evidence.push(one);
        id
    }
}

/// A reply in its form; none if it failed or does not fit.
fn read<T: DeserializeOwned>(reply: Option<&Json>) -> Option<T> {
    T::deserialize(reply?).ok()
}
