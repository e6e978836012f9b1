//! What is delivered without a model: a plan of one task, and a list of what was found.

use antiphon_html::{escape, to_markdown};
use std::fmt::Write as _;

use antiphon_core::Fault;
use serde_json::json;

use super::AgenticSearch;
use super::config::NoToolsPolicy;
use super::conversation::preview;
use super::execute::check;
use super::plan::{ExecutionPlan, PlanSource, TaskError, TaskErrorKind, TaskStatus, moment};
use super::state::{FinalResponse, SearchOutcome, State};
use super::synthesis::{deliver, unfinished};
use crate::node::NodeContext;
use crate::patch::Patch;

const STOPPED: &str = "The question was stopped before it was answered.";
const CUT: &str = "The limit of tokens cut off the answer.";
/// Characters of a result that the list shows.
const PREVIEW: usize = 500;

/// The plan without the planner, which gave none. An answer that only lacked something is
/// delivered instead.
pub(super) async fn plan(cx: NodeContext<AgenticSearch>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    let fault = cx.state.error.clone();
    let reason = fault.as_ref().map_or("the planner failed", |fault| &fault.message);
    fallback_plan(&cx, reason, &mut patch);
    patch.set(State::plan_error, fault).reset(State::error);
    Ok(patch)
}

/// Sets the plan of one task.
pub(super) fn fallback_plan(
    cx: &NodeContext<AgenticSearch>,
    reason: &str,
    patch: &mut Patch<State>,
) {
    let count = cx.state.current_turn_iteration_count + 1;
    patch.note("plan_fallback", json!({"reason": reason}));
    patch.set(State::current_turn_iteration_count, count);
    if let Some(draft) = &cx.state.draft_response {
        deliver(cx, draft.clone(), patch);
        return;
    }
    let now = moment(cx.call.cx.clock.now());
    let task = check(cx, &ExecutionPlan::default(), &now).fallback();
    let step = match &task {
        Some(task) => format!("There is no usable plan; the tool is: {}", task.tool_name),
        None => "There is no usable plan".to_owned(),
    };
    let plan = ExecutionPlan {
        tasks: task.into_iter().collect(),
        reasoning: String::new(),
        plan_created_at: now,
        source: PlanSource::Fallback,
    };
    patch
        .note("plan_created", json!({"source": plan.source, "reasoning": "", "tasks": plan.tasks}))
        .set(State::execution_plan, Some(plan))
        .set(State::thinking_steps, [step]);
}

/// The answer without the synthesiser: there was no tool, or it gave no answer, or time or calls
/// are spent.
pub(super) async fn respond(cx: NodeContext<AgenticSearch>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    let state = &cx.state;
    if let Some(draft) = &state.draft_response {
        deliver(&cx, draft.clone(), &mut patch);
        return Ok(patch);
    }
    let mut plan = state.plan();
    let no_tools = state.available_tools.is_empty();
    let asks = !no_tools || cx.system().config.on_no_tools == NoToolsPolicy::Model;
    // Without a failure or a reply, nothing but a spent budget leads here.
    let is_spent = asks && state.error.is_none() && !state.has_replied;
    let now = moment(cx.call.cx.clock.now());
    for task in plan.tasks.iter_mut().filter(|task| task.status == TaskStatus::Executing) {
        let message = "the time or the calls of the question are spent";
        task.fail(TaskError::new(TaskErrorKind::Timeout, message), &now);
    }
    let lead = match (is_spent, no_tools) {
        (true, _) => STOPPED,
        (_, true) => "No tool can be used to answer the question.",
        _ => "The results could not be put into an answer.",
    };
    let unfinished = unfinished(&cx, &mut patch);
    let lead = if unfinished.is_some() { CUT } else { lead };
    let response = unfinished.unwrap_or_else(|| without_synthesiser(&state.query, lead, &plan));
    let outcome = if no_tools { SearchOutcome::NoTools } else { SearchOutcome::FallbackHtml };
    if !no_tools {
        patch.note("synthesis_fallback", json!({"level": 4}));
        if state.execution_plan.is_some() {
            patch.set(State::execution_plan, Some(plan));
        }
    }
    let message = state.error_message.clone().unwrap_or_else(|| lead.to_owned());
    patch
        .note("response_generated", json!({"chars": response.response_content.chars().count()}))
        .set(State::thinking_steps, [lead.to_owned()])
        .set(State::search_outcome, Some(outcome))
        .set(State::is_budget_spent, is_spent)
        .set(State::error_message, Some(message))
        .set(State::final_response, Some(response));
    Ok(patch)
}

/// What is shown of a question that was stopped before even that could be written.
pub(super) fn stopped(state: &State) -> FinalResponse {
    without_synthesiser(&state.query, STOPPED, &state.plan())
}

fn without_synthesiser(question: &str, lead: &str, plan: &ExecutionPlan) -> FinalResponse {
    let html = listed(question, lead, plan);
    FinalResponse {
        markdown: to_markdown(&html),
        response_content: html,
        reasoning: String::new(),
        information_used: Vec::new(),
    }
}

/// The question, each result, each failure and a hint, as HTML.
fn listed(question: &str, lead: &str, plan: &ExecutionPlan) -> String {
    let mut html = format!("<div><h3>{}</h3><p>{lead}</p>", escape(question));
    for task in plan.with_status(TaskStatus::Completed) {
        let text = task.result.as_ref().map(|result| preview(result, PREVIEW)).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(
            html,
            "<section><h4>{}</h4><pre>{}</pre></section>",
            escape(&task.description),
            escape(&text)
        );
    }
    let failed: Vec<String> = plan
        .with_status(TaskStatus::Failed)
        .map(|task| {
            let message = task.error.as_ref().map_or("", |error| &error.message);
            format!("<li>{}: {}</li>", escape(&task.description), escape(message))
        })
        .collect();
    if !failed.is_empty() {
        let _ = write!(html, "<p>These failed:</p><ul>{}</ul>", failed.concat());
    }
    html.push_str("<p>Ask again in other words, or ask for less.</p></div>");
    html
}
