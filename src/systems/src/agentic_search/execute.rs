//! Running tasks: which start, and one call.

use antiphon_core::{Category, Fault, FaultCode, ToolOutcome};
use serde_json::{Value as Json, json};

use super::AgenticSearch;
use super::catalogue::ToolCatalogue;
use super::plan::{ExecutionPlan, TaskError, TaskRecord, TaskStart, moment};
use super::planning::PlanCheck;
use super::source::{finds_nothing, result_text};
use super::state::State;
use super::wave::WavePlan;
use crate::delimited_input::cut;
use crate::node::{NodeContext, NodeExit};
use crate::patch::Patch;
use crate::planned_call::{CallProgress, call_planned};

/// What a plan is checked against in this run.
pub(super) fn check<'c>(
    cx: &'c NodeContext<AgenticSearch>,
    plan: &ExecutionPlan,
    now: &'c str,
) -> PlanCheck<'c> {
    let AgenticSearch { config, parsers, .. } = cx.system();
    PlanCheck {
        catalogue: ToolCatalogue { specs: &cx.state.available_tools, parsers },
        question: &cx.state.query,
        max_tasks: config.max_tasks,
        last: plan.tasks.last().map_or(0, |task| task.task_number),
        now,
    }
}

/// Takes over what came of the last wave, and chooses the next.
pub(super) async fn schedule(cx: NodeContext<AgenticSearch>) -> Result<Patch<State>, Fault> {
    let now = moment(cx.call.cx.clock.now());
    let mut plan = cx.state.execution_plan.clone().unwrap_or_default();
    let check = check(&cx, &plan, &now);
    let wave = WavePlan { check, config: &cx.system().config };
    let (dispatched, notes) = wave.advance(&mut plan, &cx.state.task_records);
    let mut patch = Patch::default();
    let steps = notes.move_into(&mut patch);
    if !dispatched.is_empty() {
        let numbers: Vec<usize> = dispatched.iter().map(|one| one.task_number).collect();
        patch.note("wave", json!({"numbers": numbers}));
    }
    match plan.lack().filter(|_| dispatched.is_empty()) {
        Some(lack) => patch.set(State::error_message, Some(lack.to_owned())),
        None => patch.reset(State::error_message),
    };
    patch
        .set(State::current_task_index, wave.index(&plan))
        .set(State::execution_plan, Some(plan))
        .set(State::wave, dispatched)
        .set(State::thinking_steps, steps)
        .reset(State::task_records);
    Ok(patch)
}

/// Calls the tool of one task. A failure is kept with the task, and the others go on.
pub(super) async fn execute(cx: NodeContext<AgenticSearch>) -> Result<NodeExit<State>, Fault> {
    let TaskStart { task_number, arguments } = cx.sent().ok_or_else(|| nothing_sent(&cx))?;
    let plan = cx.state.execution_plan.as_ref();
    let task = plan.and_then(|plan| plan.task(task_number)).ok_or_else(|| nothing_sent(&cx))?;
    let (name, clock) = (task.tool_name.clone(), &cx.call.cx.clock);
    let data = json!({"task_number": task_number, "tool": name, "arguments": arguments});
    cx.note("task_started", data);
    let started = clock.now();
    let mut steps = vec![format!("Task {task_number}: {name}({arguments})")];
    let mut outcome = match call(&cx, &name, arguments.clone()).await? {
        CallProgress::Asks(question) => return Ok(NodeExit::Ask(question)),
        CallProgress::Ended(outcome) => outcome,
    };
    let wide = wide_search(&cx, &name, &arguments, &outcome);
    let mut sent = None;
    if let Some(wide) = wide {
        steps.push(format!("Task {task_number} found nothing and is repeated: {name}({wide})"));
        if let Some(found) = repeated(&cx, task_number, &name, wide.clone()).await? {
            (sent, outcome) = (Some(wide), Ok(found));
        }
    }
    let (ended, mut patch) = (clock.now(), Patch::default());
    let finished_at = moment(ended);
    let elapsed = u64::try_from(ended.since(started).as_millis()).unwrap_or(u64::MAX);
    let record = match outcome {
        Ok(result) => {
            let text = result_text(&result);
            let limit = cx.system().config.thinking_result_chars;
            steps.push(format!("Result of task {task_number}: {}", cut(&text, limit)));
            let data = json!({"task_number": task_number, "elapsed_ms": elapsed, "result": result});
            patch.note("task_completed", data);
            TaskRecord { sent, result: Some(result), error: None, finished_at }
        }
        Err(fault) => {
            let error = TaskError::of(&fault);
            steps.push(format!("Task {task_number} failed: {}", error.message));
            patch.note("task_failed", json!({"task_number": task_number, "error": error}));
            TaskRecord { sent, result: None, error: Some(error), finished_at }
        }
    };
    patch.set(State::task_records, [(task_number, record)]).set(State::thinking_steps, steps);
    Ok(patch.into())
}

/// The arguments of a wider search after one that has found nothing, if it can be wider.
fn wide_search(
    cx: &NodeContext<AgenticSearch>,
    name: &str,
    arguments: &Json,
    outcome: &ToolOutcome,
) -> Option<Json> {
    let has_found = outcome.as_ref().map_or(true, |result| !finds_nothing(result));
    if has_found || !cx.answers().is_empty() {
        return None;
    }
    let specs = &cx.state.available_tools;
    let catalogue = ToolCatalogue { specs, parsers: &cx.system().parsers };
    catalogue.widened(name, arguments, &cx.state.query)
}

/// Searches once more with wider arguments. Nothing if that finds nothing either, fails, or is one
/// call too many: then the first result counts.
///
/// # Errors
/// As [`call`], but for a spent budget of calls.
async fn repeated(
    cx: &NodeContext<AgenticSearch>,
    task_number: usize,
    name: &str,
    wide: Json,
) -> Result<Option<Json>, Fault> {
    let data = json!({"task_number": task_number, "tool": name, "arguments": wide});
    cx.note("search_repeated", data);
    match call(cx, name, wide).await {
        Ok(CallProgress::Ended(Ok(found))) if !finds_nothing(&found) => Ok(Some(found)),
        Err(fault) if fault.category != Category::Budget => Err(fault),
        _ => Ok(None),
    }
}

/// Calls a tool, once a person has approved if that is needed.
///
/// # Errors
/// A fault that ends the run, such as a spent budget.
async fn call(
    cx: &NodeContext<AgenticSearch>,
    name: &str,
    arguments: Json,
) -> Result<CallProgress, Fault> {
    let tool = match cx.data().tool(name, cx).await {
        Ok(tool) => tool,
        Err(fault) => return Ok(CallProgress::Ended(Err(fault))),
    };
    let called = call_planned(cx, &tool, arguments, cx.system().config.tool_timeout()).await?;
    if let CallProgress::Ended(Err(fault)) = &called {
        cx.data().forget_if_unknown(&TaskError::of(fault)).await;
    }
    Ok(called)
}

fn nothing_sent(cx: &NodeContext<AgenticSearch>) -> Fault {
    let message = format!("the node was sent no task: {}", cx.call.node);
    Fault::new(FaultCode::HostIncomplete, message)
}
