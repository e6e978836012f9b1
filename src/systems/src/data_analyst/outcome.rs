//! The output of a question.

use antiphon_core::Fault;
use antiphon_core::budget::BudgetDimension;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::DataAnalyst;
use super::agent_result::{AgentError, AgentExecutionStatus, AgentResult, UNFINISHED};
use super::decision::PlannerDecision;
use super::request::AgentRequest;
use super::state::State;
use super::tabular::TabularResult;
use super::trace_event::TraceEvent;
use crate::result::Outcome;
use crate::system::{Conclusion, FinishedRun, RunEnding, System};

/// What a data analyst returns beside what all systems do.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct OrchestratorResponse {
    /// The answer in words, also if it is that there is none.
    pub answer: String,
    /// The rows of the first agent that has some.
    pub data: Option<TabularResult>,
    /// The results of all agents of the plan, in its order.
    pub agent_results: Vec<AgentResult>,
    /// What happened; empty unless the request asks for it.
    pub trace: Vec<TraceEvent>,
    /// Which agents were chosen, and why.
    pub planner: Option<PlannerDecision>,
    /// `confidence`, `agents`, `skipped`, `partial`, `limit`, `turns`, `truncated`, `cells_cut`,
    /// `composer_fallback`, `rejected_answers`.
    pub metadata: Map<String, Json>,
}

/// How a question ended whose graph came to its end.
pub(super) fn completed(state: &State) -> Outcome {
    let is_unfinished = (0..state.plan().len()).any(|place| state.result(place).is_none());
    if state.results().any(AgentResult::is_success) {
        Outcome::Answered
    } else if is_unfinished {
        Outcome::Budget
    } else {
        Outcome::NoAnswer
    }
}

/// Makes the output of a run that has come to rest.
pub(super) fn conclude(
    finished: &mut FinishedRun<'_, DataAnalyst>,
) -> Conclusion<OrchestratorResponse> {
    let FinishedRun { state, ending, fault, spent, run, .. } = finished;
    let limit = spent.map(BudgetDimension::as_str);
    let outcome = ending.outcome().unwrap_or_else(|| DataAnalyst::completed_outcome(state));
    let request: &AgentRequest = &run.input;
    let results = results(state, *ending, limit);
    let reason = (outcome == Outcome::NoAnswer).then(|| reason(state, &results));
    let data =
        results.iter().filter(|result| result.is_success()).find_map(|it| it.tabular.clone());
    let shown = |result: &AgentResult| {
        let mut result = result.clone();
        if !request.include_data {
            result.tabular = result.tabular.as_ref().map(TabularResult::without_rows);
        }
        if !request.trace {
            result.trace.clear();
        }
        result
    };
    let output = OrchestratorResponse {
        answer: state.answer.clone().unwrap_or_default(),
        data: data.filter(|_| request.include_data),
        metadata: metadata(state, &results, limit),
        agent_results: results.iter().map(shown).collect(),
        trace: if request.trace { state.trace.clone() } else { Vec::new() },
        planner: state.planner.clone(),
    };
    Conclusion { output, outcome, reason, error: fault.take().or_else(|| failure(state, outcome)) }
}

/// The fault of a role, if it kept the question from being answered.
fn failure(state: &State, outcome: Outcome) -> Option<Fault> {
    state.error.clone().filter(|_| outcome != Outcome::Answered)
}

/// The results of all agents of the plan; one that was not finished was skipped.
fn results(state: &State, ending: RunEnding, limit: Option<&str>) -> Vec<AgentResult> {
    let unfinished = |agent| {
        let mut error = AgentError::unfinished();
        if ending == RunEnding::Paused {
            "it waits for a person".clone_into(&mut error.message);
        } else if let Some(limit) = limit {
            error.message = format!("the question reached a limit before: {limit}");
        }
        AgentResult::unanswered(agent, AgentExecutionStatus::Skipped, error)
    };
    let plan = state.plan().iter().enumerate();
    plan.map(|(place, agent)| state.result(place).cloned().unwrap_or_else(|| unfinished(*agent)))
        .collect()
}

fn reason(state: &State, results: &[AgentResult]) -> String {
    let failed = results.iter().filter_map(|result| {
        Some(format!("{}: {}", result.agent.as_str(), result.error.as_ref()?.public_text()))
    });
    let failed: Vec<String> = failed.collect();
    if failed.is_empty() {
        return state.planner.as_ref().map_or_else(String::new, |it| it.rationale.clone());
    }
    failed.join("; ")
}

fn metadata(state: &State, results: &[AgentResult], limit: Option<&str>) -> Map<String, Json> {
    let is_skipped = |result: &&AgentResult| result.status == AgentExecutionStatus::Skipped;
    let names = |skipped: bool| -> Vec<&str> {
        let those = results.iter().filter(|result| is_skipped(result) == skipped);
        those.map(|result| result.agent.as_str()).collect()
    };
    let has_success = results.iter().any(AgentResult::is_success);
    let is_unfinished =
        |one: &AgentResult| one.error.as_ref().is_some_and(|error| error.kind == UNFINISHED);
    let is_partial = results.iter().any(is_unfinished)
        || (has_success && results.iter().any(|result| !result.is_success()));
    let those = |is_so: fn(&TabularResult) -> bool| -> Vec<&str> {
        let cut = results.iter().filter(|one| one.tabular.as_ref().is_some_and(is_so));
        cut.map(|result| result.agent.as_str()).collect()
    };
    let fields = [
        ("confidence", json!(state.planner.as_ref().and_then(|planner| planner.confidence))),
        ("agents", json!(names(false))),
        ("skipped", json!(names(true))),
        ("partial", json!(is_partial)),
        ("limit", json!(limit)),
        ("turns", json!(names(false).len())),
        ("truncated", json!(those(|table| table.truncated))),
        ("cells_cut", json!(those(|table| table.cells_cut))),
        ("warnings", json!(state.sql.warnings)),
        ("composer_fallback", json!(state.composer_fallback)),
        ("rejected_answers", json!(state.rejected)),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
