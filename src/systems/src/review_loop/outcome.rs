//! The output of a question.

use antiphon_core::Fault;
use schemars::JsonSchema;
use serde::Serialize;

use super::ReviewLoop;
use super::state::Retries;
use crate::result::Outcome;
use crate::system::{Conclusion, FinishedRun, System};

/// Both texts of an answer to a question that was given up.
pub const FAILURE_TEXT: &str = "The question could not be answered.";

/// What a review loop returns beside what all systems do.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The answer, or [`FAILURE_TEXT`].
    pub final_answer: String,
    /// How it was reached, or [`FAILURE_TEXT`].
    pub final_reasoning_trace: String,
    /// Rejections and counted errors.
    pub retry_count: u32,
    /// Rejections by whose work was rejected.
    pub retries_by_agent: Retries,
    /// Where the question ended without an answer: a step's name.
    pub error_component: Option<String>,
}

/// Makes the output of a run that has come to rest.
pub(super) fn conclude(finished: &mut FinishedRun<'_, ReviewLoop>) -> Conclusion<Answer> {
    let FinishedRun { state, ending, fault, .. } = finished;
    if let Some(fault) = fault.take() {
        state.error = Some(fault);
    }
    let ended = ending.outcome();
    let outcome = ended.unwrap_or_else(|| ReviewLoop::completed_outcome(state));
    if outcome != Outcome::Paused && (ended.is_some() || state.outcome.is_none()) {
        FAILURE_TEXT.clone_into(&mut state.final_answer);
        FAILURE_TEXT.clone_into(&mut state.final_reasoning_trace);
        state.error_component.get_or_insert_with(|| state.current_step.clone());
        state.outcome = Some(outcome);
    }
    let error: Option<Fault> = state.error.clone();
    let reason = state.reason.clone().filter(|_| outcome == Outcome::NoAnswer);
    let output = Answer {
        final_answer: state.final_answer.clone(),
        final_reasoning_trace: state.final_reasoning_trace.clone(),
        retry_count: state.retry_count,
        retries_by_agent: state.retries_by_agent,
        error_component: state.error_component.clone(),
    };
    Conclusion { output, outcome, reason, error }
}
