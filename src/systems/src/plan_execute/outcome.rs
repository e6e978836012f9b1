//! The output of a task.

use schemars::JsonSchema;
use serde::Serialize;

use super::PlanExecute;
use super::input::ExecutionMode;
use super::plan::{PlanSource, StagedPlan};
use super::record::{AttemptRecord, ContextEntry, ErrorSummary, ReplanRecord};
use super::state::{AnswerSource, State, TaskStatus};
use super::working_context::CurrentWorkingContext;
use crate::result::Outcome;
use crate::system::{Conclusion, FinishedRun, System};

/// What a task returns beside what all systems do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TaskOutput {
    /// The answer; empty if there is none.
    pub answer: String,
    /// Whether the task is done, or its plan made if only that was asked for.
    pub success: bool,
    /// One sentence about how it ended.
    pub message: String,
    /// What was to be done.
    pub original_task: String,
    /// How far it came.
    pub status: TaskStatus,
    /// The plan that was tried last.
    pub plan: StagedPlan,
    /// Who made it.
    pub plan_source: Option<PlanSource>,
    /// Its steps as they were carried out.
    pub executed_plan: Vec<ContextEntry>,
    /// The answer, or an explanation of what failed.
    pub final_answer: Option<String>,
    /// Where that comes from.
    pub final_answer_source: Option<AnswerSource>,
    /// What is known across all attempts.
    pub current_working_context: CurrentWorkingContext,
    /// Attempts to carry out a plan.
    pub attempts: u32,
    /// All of them.
    pub attempt_history: Vec<AttemptRecord>,
    /// The requests for revised plans.
    pub replan_history: Vec<ReplanRecord>,
    /// Why there is no answer.
    pub error_summary: Option<ErrorSummary>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// How a task ended whose graph came to its end.
pub(super) fn completed(state: &State) -> Outcome {
    match state.status {
        TaskStatus::Completed => Outcome::Answered,
        TaskStatus::PlanGenerated if state.mode == ExecutionMode::PlanOnly => Outcome::Answered,
        TaskStatus::FailedPlanning | TaskStatus::Cancelled => Outcome::NoAnswer,
        TaskStatus::FailedExecution => Outcome::RetryLimit,
        TaskStatus::Received
        | TaskStatus::Planning
        | TaskStatus::PlanGenerated
        | TaskStatus::Executing
        | TaskStatus::Synthesizing => Outcome::Budget,
    }
}

/// Makes the output of a run that has come to rest.
pub(super) fn conclude(finished: &mut FinishedRun<'_, PlanExecute>) -> Conclusion<TaskOutput> {
    let FinishedRun { state, ending, fault, .. } = finished;
    let outcome = ending.outcome().unwrap_or_else(|| PlanExecute::completed_outcome(state));
    let success = outcome == Outcome::Answered;
    let reason = state.error_summary.as_ref().map(|summary| summary.reason.clone());
    let message = match (&reason, fault.as_ref()) {
        (_, Some(fault)) => fault.message.clone(),
        (Some(reason), None) => reason.clone(),
        (None, None) if state.status == TaskStatus::PlanGenerated => "the plan is made".to_owned(),
        (None, None) if success => "the task is done".to_owned(),
        (None, None) => "the task was not finished".to_owned(),
    };
    let is_answered = success && state.status == TaskStatus::Completed;
    let output = TaskOutput {
        answer: state.final_answer.clone().filter(|_| is_answered).unwrap_or_default(),
        success,
        message,
        original_task: state.user_task.clone(),
        status: state.status,
        plan: state.plan.clone(),
        plan_source: state.plan_source,
        executed_plan: state.execution_context.clone(),
        final_answer: state.final_answer.clone(),
        final_answer_source: state.final_answer_source,
        current_working_context: state.cwc.clone(),
        attempts: state.attempt,
        attempt_history: state.attempt_history.clone(),
        replan_history: state.replan_history.clone(),
        error_summary: state.error_summary.clone(),
        warnings: state.warnings.clone(),
    };
    let error = fault.take().or_else(|| state.error.clone().filter(|_| !success));
    let reason = reason.filter(|_| outcome == Outcome::NoAnswer);
    Conclusion { output, outcome, reason, error }
}
