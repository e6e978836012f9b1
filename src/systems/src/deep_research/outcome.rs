//! The output of a question.

use antiphon_citation::{
    AuditReport, CitationResult, CitationSummary, Claim, MissingReport, Reference,
};
use antiphon_core::Fault;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::DeepResearch;
use super::classification::{Depth, QueryClassification};
use super::draft::ReportDraft;
use super::passage::{CitedPassage, cited_passages, claims_in_chars};
use super::plan::{PlanStep, ResearchPlan};
use super::reflection::ReflectionResult;
use super::source::ResearchSource;
use super::state::{Observation, ResearchError, ResearchOutcome, State};
use super::synthesis::{BREAKS_OFF, SYNTHESIS_FAILED};
use super::unfinished_report::UnfinishedReport;
use crate::citation::CitesSources;
use crate::result::Outcome;
use crate::system::{Conclusion, FinishedRun, RunEnding, System, SystemNote};

/// The code of a report that the store did not take.
const PERSISTENCE_FAILED: &str = "PERSISTENCE_FAILED";

/// What a research returns beside what all systems do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ResearchReport {
    /// The report as Markdown, if the question was answered; else empty.
    pub answer: String,
    /// What can be shown in any case: the report, or what the steps have found.
    pub final_report: String,
    /// The report in the form of the setting `output`; none without it, and without an answer.
    pub structured_output: Option<Json>,
    /// The sources, each under its number; `is_cited` says which the report links.
    pub sources: Vec<ResearchSource>,
    /// The last plan.
    pub plan: Option<ResearchPlan>,
    /// What the steps have found.
    pub observations: Vec<Observation>,
    /// Steps that were not researched.
    pub skipped_steps: Vec<PlanStep>,
    /// What the reflector said after each step.
    pub reflection_history: Vec<ReflectionResult>,
    /// What kind of question it was.
    pub classification: Option<QueryClassification>,
    /// How thorough the research was.
    pub effective_depth: Depth,
    /// How the question ended.
    pub research_outcome: ResearchOutcome,
    /// Links of the report that were taken out because they led to no source.
    pub links_removed: usize,
    /// The claims of the report with their verdicts, and their places in characters of it; empty
    /// unless they were verified.
    pub claims: Vec<Claim>,
    /// The passages that the claims cite.
    pub passages: Vec<CitedPassage>,
    /// What the keys in the report stand for, in the order of their first use.
    pub references: Vec<Reference>,
    /// What was done with them, in numbers; none unless they were verified.
    pub verification_summary: Option<CitationSummary>,
    /// The promises that the report does not keep; none if it did not pass the stages of citation.
    pub audit: Option<AuditReport>,
    /// What went wrong on the way.
    pub errors: Vec<ResearchError>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// Why there is no report.
const UNWRITTEN: &str = "no model has written the report";
/// What a reader learns of a report that was cut short before its claims were verified.
const UNVERIFIED: &str = "the claims of the report were not verified";

/// How a question ended whose graph came to its end.
pub(super) const fn completed(state: &State) -> Outcome {
    match state.research_outcome {
        Some(
            ResearchOutcome::Completed | ResearchOutcome::Direct | ResearchOutcome::FallbackSimple,
        ) => Outcome::Answered,
        Some(ResearchOutcome::Degraded | ResearchOutcome::NothingFound) => Outcome::NoAnswer,
        Some(ResearchOutcome::TimeoutPartial) => Outcome::Budget,
        Some(ResearchOutcome::Failed) | None => Outcome::Error,
    }
}

/// Makes the output of a run that has come to rest.
pub(super) fn conclude(finished: &mut FinishedRun<'_, DeepResearch>) -> Conclusion<ResearchReport> {
    let unstored = finished.storage_fault.filter(|_| finished.state.completed_at.is_some());
    let FinishedRun { state, ending, fault, run, .. } = finished;
    if !matches!(ending, RunEnding::Completed | RunEnding::Paused) {
        keep_unfinished(state, &run.data.draft);
    }
    if let Some(fault) = unstored {
        state.errors.push(unstored_error(fault));
        state.warnings.push(format!("the report is not stored: {}", fault.message));
    }
    let ended = ending.outcome().filter(|_| unstored.is_none());
    let outcome = ended.unwrap_or_else(|| DeepResearch::completed_outcome(state));
    let is_answered = outcome == Outcome::Answered;
    let failed = || state.error.clone().or_else(|| run.requests.failure());
    let error: Option<Fault> = fault.take().or_else(|| failed().filter(|_| !is_answered));
    let reason = (outcome == Outcome::NoAnswer).then(|| reason(state, error.as_ref()));
    // A report that was cut short has claims that nobody has verified.
    let cited = state.citation.is_finished().then(|| DeepResearch::run(state).result());
    let audit = cited.as_ref().map(|it| it.audit.clone());
    if cited.as_ref().is_some_and(CitationResult::is_cut_short) && !state.final_report.is_empty() {
        state.warnings.push(UNVERIFIED.to_owned());
    }
    let cited = cited.filter(|_| outcome == Outcome::Answered);
    let output = ResearchReport {
        answer: if is_answered { state.final_report.clone() } else { String::new() },
        final_report: state.final_report.clone(),
        structured_output: state.structured_output.clone().filter(|_| is_answered),
        sources: state.sources.all().to_vec(),
        plan: state.current_plan.clone(),
        observations: state.all_observations.clone(),
        skipped_steps: state.skipped_steps.clone(),
        reflection_history: state.reflection_history.clone(),
        classification: state.query_classification.clone(),
        effective_depth: state.effective_depth,
        research_outcome: state.research_outcome.unwrap_or(ResearchOutcome::Failed),
        links_removed: state.links_removed,
        claims: cited.as_ref().map_or_else(Vec::new, claims_in_chars),
        passages: cited.as_ref().map_or_else(Vec::new, |it| cited_passages(it, &state.sources)),
        references: cited.as_ref().map_or_else(Vec::new, |it| it.references.clone()),
        verification_summary: cited.as_ref().map(|it| it.summary.clone()),
        audit,
        errors: state.errors.clone(),
        warnings: state.warnings.clone(),
    };
    Conclusion { output, outcome, reason, error }
}

/// What there is of a report whose question was cancelled, or failed.
fn keep_unfinished(state: &mut State, draft: &ReportDraft) {
    if state.final_report.is_empty() {
        state.final_report = std::mem::take(&mut state.written_report);
    }
    if !state.final_report.is_empty() {
        return;
    }
    let Some(report) = UnfinishedReport::of(state, draft) else { return };
    if report.is_cut {
        state.warnings.push(BREAKS_OFF.to_owned());
    }
    (state.final_report, state.sources) = (report.text, report.sources);
    state.links_removed = report.links_removed;
}

/// What is told once the thread has the report, or could not take it.
pub(super) fn storage_note(state: &State, fault: Option<&Fault>) -> Option<SystemNote> {
    state.completed_at.as_ref()?;
    let stored = || {
        let counts = json!({
            "messages": state.conversation_history.len(),
            "sources": state.sources.all().len(),
            "claims": state.citation.claims().len(),
        });
        SystemNote::note("persistence_completed", counts)
    };
    Some(fault.map_or_else(stored, |it| SystemNote::note("error", json!(unstored_error(it)))))
}

fn unstored_error(fault: &Fault) -> ResearchError {
    ResearchError {
        error_code: PERSISTENCE_FAILED.to_owned(),
        error_message: fault.message.clone(),
        recoverable: false,
    }
}

/// Why there is no answer.
fn reason(state: &State, error: Option<&Fault>) -> String {
    if state.research_outcome == Some(ResearchOutcome::Degraded) {
        let why = last_error(state, |code| code == SYNTHESIS_FAILED);
        let run = &state.citation;
        let is_unwritten = run.missing_report().is_none_or(|it| it == MissingReport::NoReply);
        if run.is_finished() && (!is_unwritten || run.is_written() && !run.states_something()) {
            return why.unwrap_or(UNWRITTEN).to_owned();
        }
        let what = if state.citation.is_written() { "the report is incomplete" } else { UNWRITTEN };
        let why = why.or_else(|| error.map(|fault| &*fault.message));
        return format!("{what}: {}", why.unwrap_or("no reply"));
    }
    match last_error(state, |code| code != PERSISTENCE_FAILED) {
        Some(error) => format!("no source was found: {error}"),
        None => "no source was found".to_owned(),
    }
}

/// The last error whose code is the cause; others may have come after it.
fn last_error(state: &State, is_cause: impl Fn(&str) -> bool) -> Option<&str> {
    let error = state.errors.iter().rev().find(|error| is_cause(&error.error_code));
    error.map(|error| &*error.error_message)
}
