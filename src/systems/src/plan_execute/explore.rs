//! Steps that read the pages of a search, side by side.

use std::sync::Arc;

use antiphon_core::approval::Approval;
use antiphon_core::{Fault, FaultCode, ToolOutcome};
use antiphon_runtime::Tool;
use futures_util::future::join_all;
use serde_json::{Map, Value as Json, json};

use super::PlanExecute;
use super::capability::SEARCH;
use super::config::EmptySearchPolicy;
use super::plan::PlanStep;
use super::record::StepResult;
use super::state::State;
use super::step_output::{StepError, StepErrorKind, StepStatus};
use crate::json_texts::plain_text;
use crate::node::NodeContext;
use crate::partial_result::PartialError;
use crate::planned_call::{CallProgress, call_planned};

/// Reads the first pages of a search.
///
/// # Errors
/// A fault that ends the run.
pub(super) async fn explore(
    cx: &NodeContext<PlanExecute>,
    tool: &Arc<dyn Tool>,
    step: &PlanStep,
    input: &Map<String, Json>,
) -> Result<StepResult, Fault> {
    let config = &cx.system().config;
    if tool.spec().approval == Approval::Person {
        let message = "a person approves each page: plan steps with ReadWebpageTool";
        return Ok(failed(StepErrorKind::InvalidInput, message));
    }
    let most = input.get("pagesToExplore").and_then(Json::as_u64);
    let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(config.pages_to_explore);
    let links: Vec<String> = links(&cx.state, step, input).into_iter().take(most).collect();
    if links.is_empty() {
        let message = "there are no search results with links to explore";
        return Ok(match config.explore_empty {
            EmptySearchPolicy::Completed => completed(message, Vec::new()),
            EmptySearchPolicy::Failed => failed(StepErrorKind::ToolError, message),
        });
    }
    let read = |link: &String| {
        let arguments = json!({"url": link});
        async move { call_planned(cx, tool, arguments, config.step_timeout()).await }
    };
    let mut sections = Vec::new();
    let mut errors = Vec::new();
    for (link, progress) in links.iter().zip(join_all(links.iter().map(read)).await) {
        match outcome(progress?) {
            Ok(text) => sections.push(format!("## {link}\n{}", plain_text(&text))),
            Err(fault) => {
                sections.push(format!("## {link}\nNot read: {}", fault.message));
                errors.push(PartialError { source: link.clone(), message: fault.message.clone() });
            }
        }
    }
    if errors.len() == links.len() {
        let result = failed(StepErrorKind::ToolError, "no page of the search could be read");
        return Ok(StepResult { partial_errors: errors, ..result });
    }
    Ok(completed(&sections.join("\n\n"), errors))
}

fn outcome(progress: CallProgress) -> ToolOutcome {
    match progress {
        CallProgress::Ended(outcome) => outcome,
        CallProgress::Asks(_) => {
            Err(Fault::new(FaultCode::ToolRefused, "no person can be asked for each page"))
        }
    }
}

/// The links of the results that are given, else of the latest search of an earlier stage.
fn links(state: &State, step: &PlanStep, input: &Map<String, Json>) -> Vec<String> {
    let is_search = |entry: &&super::record::ContextEntry| {
        entry.tool_name == SEARCH && entry.status == StepStatus::Completed
    };
    let latest = || {
        let found = state.earlier_steps(step).into_iter().rev().find(is_search);
        found.map(|entry| &entry.raw_result_data)
    };
    let results = input.get("searchResults").or_else(latest);
    let results = results.and_then(Json::as_array).into_iter().flatten();
    results.filter_map(|one| one.get("link")?.as_str().map(str::to_owned)).collect()
}

fn completed(text: &str, partial_errors: Vec<PartialError>) -> StepResult {
    StepResult {
        status: StepStatus::Completed,
        result_data: json!(text),
        partial_errors,
        ..StepResult::default()
    }
}

fn failed(kind: StepErrorKind, message: &str) -> StepResult {
    StepResult::unprepared(StepError::new(kind, message))
}
