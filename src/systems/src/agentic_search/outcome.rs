//! The output of a question.

use antiphon_core::Fault;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::AgenticSearch;
use super::fallback::stopped;
use super::grounding::ComputedFigure;
use super::plan::{ExecutionPlan, TaskError, TaskStatus};
use super::source::SearchSource;
use super::state::{FinalResponse, SearchOutcome, State};
use crate::result::Outcome;
use crate::system::{Conclusion, FinishedRun, System};

/// Characters of the answer that a summary has.
const SUMMARY: usize = 500;

/// What a search returns beside what all systems do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchAnswer {
    /// The answer as Markdown; empty if there is none.
    pub answer: String,
    /// What can be shown in any case: the answer, or what was found, as HTML that is safe to show;
    /// empty if a fault other than a spent budget ended the question.
    pub html: String,
    /// How the answer was reached.
    pub reasoning: String,
    /// The sources that the answer uses.
    pub sources: Vec<SearchSource>,
    /// How the question ended.
    pub search_outcome: SearchOutcome,
    /// Why there is no answer, or what it lacks.
    pub error_message: Option<String>,
    /// What the answer states that no result holds.
    pub unsupported: Vec<String>,
    /// Numbers of the answer that no result holds, and from which of the results they follow.
    pub computed: Vec<ComputedFigure>,
    /// The tasks with their results.
    pub execution_plan: Option<ExecutionPlan>,
    /// The results, gathered.
    pub gathered_information: GatheredInformation,
    /// What was done, for a reader.
    pub thinking_steps: Vec<String>,
    /// Whether the question follows others in its thread.
    pub is_followup: bool,
}

/// The results of all tasks.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct GatheredInformation {
    /// The results, in the order of the tasks.
    pub task_results: Vec<TaskResult>,
    /// The beginning of the answer.
    pub summary: Option<String>,
    /// The tools that returned them, each once, in the order of their first use.
    pub sources_used: Vec<String>,
    /// The tasks without a result.
    pub failed: Vec<FailedTask>,
}

/// The result of one task.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TaskResult {
    /// The task.
    pub task_number: usize,
    /// Its tool.
    pub tool_name: String,
    /// What it was for.
    pub description: String,
    /// The arguments that were sent.
    pub arguments: Json,
    /// What the tool returned.
    pub result: Json,
}

/// A task without a result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FailedTask {
    /// The task.
    pub task_number: usize,
    /// Its tool.
    pub tool_name: String,
    /// Why it failed.
    pub error: Option<TaskError>,
}

/// Makes the output of a run that has come to rest.
pub(super) fn conclude(finished: &mut FinishedRun<'_, AgenticSearch>) -> Conclusion<SearchAnswer> {
    let FinishedRun { state, ending, fault, .. } = finished;
    let outcome = ending.outcome().unwrap_or_else(|| AgenticSearch::completed_outcome(state));
    let reason = state.error_message.clone().filter(|_| outcome == Outcome::NoAnswer);
    let error: Option<Fault> = fault
        .take()
        .or_else(|| state.error.clone())
        .or_else(|| state.plan_error.clone())
        .or_else(|| state.discovery_error.clone());
    let fault_message = error.as_ref().filter(|_| outcome == Outcome::Error);
    let fault_message = fault_message.map(|fault| fault.message.clone());
    let stopped = || (outcome == Outcome::Budget).then(|| stopped(state));
    let response = state.final_response.clone().or_else(stopped).unwrap_or_default();
    let is_answered = outcome == Outcome::Answered;
    let FinalResponse { response_content, markdown, reasoning, information_used } = response;
    let output = SearchAnswer {
        gathered_information: gathered(state, &markdown, is_answered),
        answer: if is_answered { markdown } else { String::new() },
        html: response_content,
        reasoning,
        sources: information_used,
        search_outcome: state.search_outcome.unwrap_or(SearchOutcome::Error),
        error_message: state.error_message.clone().or(fault_message),
        unsupported: state.unsupported.clone(),
        computed: state.computed.clone(),
        execution_plan: state.execution_plan.as_ref().map(|_| state.plan()),
        thinking_steps: state.thinking_steps.clone(),
        is_followup: state.is_followup_query,
    };
    Conclusion { output, outcome, reason, error }
}

fn gathered(state: &State, answer: &str, is_answered: bool) -> GatheredInformation {
    let plan = state.plan();
    let results = plan.with_status(TaskStatus::Completed).map(|task| TaskResult {
        task_number: task.task_number,
        tool_name: task.tool_name.clone(),
        description: task.description.clone(),
        arguments: task.tool_arguments.clone(),
        result: task.returned().cloned().unwrap_or_default(),
    });
    let failed = plan.with_status(TaskStatus::Failed).map(|task| FailedTask {
        task_number: task.task_number,
        tool_name: task.tool_name.clone(),
        error: task.error.clone(),
    });
    GatheredInformation {
        task_results: results.collect(),
        summary: is_answered.then(|| answer.chars().take(SUMMARY).collect()),
        sources_used: plan.sources_used(),
        failed: failed.collect(),
    }
}
