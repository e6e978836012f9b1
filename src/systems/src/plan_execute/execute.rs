//! Carrying out a stage: which steps start, with which input, and one step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use antiphon_core::command::Destinations;
use antiphon_core::{Fault, FaultCode};
use serde_json::{Map, Value as Json, json};

use super::PlanExecute;
use super::capability::{Capabilities, ORCHESTRATOR, RoleTool, StepAction};
use super::explore::explore;
use super::graph::{COLLECT, EXECUTE, WRITE};
use super::model_step::{previous, prompt_of};
use super::plan::PlanStep;
use super::record::{PartialError, StepResult, StepStart};
use super::reference::{references, resolved};
use super::state::State;
use super::step_input::fitting;
use super::step_output::{StepError, StepErrorKind, StepOutput, StepStatus};
use crate::node::{NodeContext, NodeExit, StateView, goto, sent_to};
use crate::patch::Patch;
use crate::planned_call::{CallProgress, call_planned};
use crate::sub_task::{SubTaskBrief, sub_task_id};

/// The fields of an event about a step.
pub(super) fn details(step: &PlanStep, stage: usize, sub_task_id: &str) -> Json {
    json!({
        "stageIndex": stage + 1, "stepId": step.step_id, "subTaskId": sub_task_id,
        "narrativeStep": step.narrative_step, "toolName": step.tool_name,
        "agentRole": step.assigned_agent_role,
    })
}

/// The fields of an event about a step, and further ones.
pub(super) fn details_with(step: &PlanStep, stage: usize, more: Json) -> Json {
    let mut fields = details(step, stage, "");
    if let (Some(fields), Json::Object(more)) = (fields.as_object_mut(), more) {
        fields.remove("subTaskId");
        fields.extend(more);
    }
    fields
}

/// Resolves the inputs of all steps of the stage before any of them starts. A step whose input
/// cannot be resolved, or that an earlier attempt has completed, does not start.
pub(super) async fn start_stage(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let (state, system) = (&cx.state, cx.system());
    let stage = state.stage;
    let steps = state.plan.stage(stage);
    let mut patch = Patch::default();
    let data = json!({"stageIndex": stage + 1, "steps": steps.len(), "attempt": state.attempt});
    patch.note("EXECUTION_STAGE_START", data);
    let carried = if system.config.carry_outputs { state.carried() } else { BTreeMap::new() };
    let preparation = StepPreparation { state, carried, capabilities: &system.capabilities };
    let (mut starts, mut results) = (Vec::new(), BTreeMap::new());
    for step in steps {
        if let Some(reused) =
            preparation.reused(step).filter(|_| system.config.reuse_completed_steps)
        {
            patch.note("EXECUTION_STEP_REUSED", details_with(step, stage, json!({})));
            results.insert(step.step_id.clone(), reused);
            continue;
        }
        match preparation.input(step) {
            Ok(input) => {
                let sub_task_id = sub_task_id(&cx.scope.run_id, state.attempt, &step.step_id);
                starts.push(StepStart { step_id: step.step_id.clone(), sub_task_id, input });
            }
            Err(error) => {
                let data = details_with(step, stage, json!({"errorDetails": error}));
                patch.note("EXECUTION_STEP_PREPARATION_FAILED", data);
                results.insert(step.step_id.clone(), StepResult::unprepared(error));
            }
        }
    }
    patch.replace(State::step_results, results).set(State::starts, starts);
    patch.reset(State::summaries).reset(State::long_steps);
    Ok(patch)
}

/// Where the steps of the stage go, in their order.
pub(super) fn dispatch(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let (starts, plan) = (view.get(State::starts)?, view.get(State::plan)?);
    if starts.is_empty() {
        return Ok(goto(COLLECT));
    }
    let sends = starts.iter().map(|start| {
        let is_model = plan.step(&start.step_id).is_some_and(|(_, step)| step.is_model_step());
        sent_to(if is_model { WRITE } else { EXECUTE }, json!(start))
    });
    Ok(sends.collect())
}

struct StepPreparation<'s> {
    state: &'s State,
    carried: BTreeMap<String, StepOutput>,
    capabilities: &'s Capabilities,
}

impl StepPreparation<'_> {
    fn is_step(&self, id: &str) -> bool {
        self.state.plan.step(id).is_some() || self.carried.contains_key(id)
    }

    /// The input of a step, its references resolved, as its tool takes it.
    fn input(&self, step: &PlanStep) -> Result<Map<String, Json>, StepError> {
        let input = resolved(&step.sub_task_input, &|id| self.is_step(id), &|id| {
            self.state.output(id, &self.carried)
        })?;
        let tool = self.capabilities.tool(&step.assigned_agent_role, &step.tool_name);
        let tool = tool.ok_or_else(|| unknown_tool(step))?;
        if matches!(tool.action, StepAction::AskModel) {
            prompt_of(&input, previous(self.state))?;
            return Ok(input);
        }
        match fitting(tool, &input) {
            Ok(Json::Object(input)) => Ok(input),
            Ok(_) => Ok(input),
            Err(problems) => {
                let shown = problems.iter().map(|(path, message)| format!("{path}: {message}"));
                let message = shown.collect::<Vec<_>>().join("; ");
                let message = format!("the input does not fit the tool: {message}");
                Err(StepError::new(StepErrorKind::InvalidInput, message))
            }
        }
    }

    /// The output of an earlier attempt, if it would be the same: the step asks the same, and so
    /// does everything that it refers to.
    fn reused(&self, step: &PlanStep) -> Option<StepResult> {
        self.is_unchanged(step, &mut BTreeSet::new())
            .then(|| self.state.completed_steps.get(&step.step_id))
            .flatten()
            .map(StepResult::reused)
    }

    fn is_unchanged(&self, step: &PlanStep, seen: &mut BTreeSet<String>) -> bool {
        let known = self.state.completed_steps.get(&step.step_id);
        if !known.is_some_and(|known| known.step().repeats(step)) {
            return false;
        }
        if !seen.insert(step.step_id.clone()) {
            return true;
        }
        let sources = references(&step.sub_task_input, &|id| self.is_step(id));
        sources.into_iter().filter_map(|(_, read)| read.ok()).all(|reference| {
            let source = self.state.plan.step(reference.step);
            source.is_none_or(|(_, source)| self.is_unchanged(source, seen))
        })
    }
}

fn unknown_tool(step: &PlanStep) -> StepError {
    let message = format!("there is no such tool: {}", step.tool_name);
    StepError::new(StepErrorKind::UnknownTool, message)
}

/// The step that was sent to a node.
pub(super) fn sent_step(cx: &NodeContext<PlanExecute>) -> Option<(StepStart, PlanStep)> {
    let start: StepStart = cx.sent()?;
    let (_, step) = cx.state.plan.step(&start.step_id)?;
    let step = step.clone();
    Some((start, step))
}

/// Carries out one step with its tool. A failure is kept with the step, and the others go on.
pub(super) async fn execute(cx: NodeContext<PlanExecute>) -> Result<NodeExit<State>, Fault> {
    let (start, step) = sent_step(&cx).ok_or_else(|| nothing_sent(&cx))?;
    let capabilities = &cx.system().capabilities;
    let Some(tool) = capabilities.tool(&step.assigned_agent_role, &step.tool_name) else {
        return Ok(record(&cx, StepResult::unprepared(unknown_tool(&step))).into());
    };
    // A task that waits for a person gives its place to others.
    let _permit = cx.data().permits.acquire().await;
    let started_at = cx.call.cx.clock.now().to_string();
    let dispatched = details(&step, cx.state.stage, &start.sub_task_id);
    let result = match &tool.action {
        StepAction::Explore(pages) => {
            cx.note("EXECUTION_STEP_ORCHESTRATOR_START", dispatched);
            explore(&cx, pages, &start.input).await?
        }
        StepAction::Call(_) | StepAction::AskModel => {
            cx.note("EXECUTION_STEP_DISPATCHED", dispatched);
            match call(&cx, tool, &step, start).await? {
                CallResult::Asks(question) => return Ok(NodeExit::Ask(question)),
                CallResult::Ended(result) => *result,
            }
        }
    };
    Ok(record(&cx, StepResult { started_at: Some(started_at), ..result }).into())
}

enum CallResult {
    Asks(Json),
    Ended(Box<StepResult>),
}

async fn call(
    cx: &NodeContext<PlanExecute>,
    tool: &RoleTool,
    step: &PlanStep,
    start: StepStart,
) -> Result<CallResult, Fault> {
    let StepAction::Call(tool) = &tool.action else {
        return Err(nothing_sent(cx));
    };
    let timeout = cx.system().config.step_timeout();
    let input = Json::Object(start.input);
    let sub_tasks = cx.data().sub_tasks.as_ref();
    let sub_tasks = sub_tasks.filter(|_| step.assigned_agent_role != ORCHESTRATOR);
    let tool = match sub_tasks {
        Some(run) => run.tool(tool, brief(cx, step, start.sub_task_id), timeout),
        None => Arc::clone(tool),
    };
    let result = match call_planned(cx, &tool, input, timeout).await? {
        CallProgress::Asks(question) => return Ok(CallResult::Asks(question)),
        CallProgress::Ended(Ok(value)) => StepResult {
            status: StepStatus::Completed,
            partial_errors: partial_errors(&value),
            result_data: value,
            ..StepResult::default()
        },
        CallProgress::Ended(Err(fault)) => StepResult::unprepared(StepError::of(&fault)),
    };
    Ok(CallResult::Ended(Box::new(result)))
}

/// What a worker learns of a step.
fn brief(cx: &NodeContext<PlanExecute>, step: &PlanStep, sub_task_id: String) -> SubTaskBrief {
    let run_id = cx.scope.run_id.to_string();
    SubTaskBrief {
        sub_task_id,
        parent_task_id: run_id.clone(),
        run_id,
        role: step.assigned_agent_role.clone(),
        step_id: step.step_id.clone(),
        narrative_step: step.narrative_step.clone(),
        context_summary: None,
        key_profile: None,
        attempt: cx.state.attempt,
    }
}

/// What a PDF file lacks.
fn partial_errors(value: &Json) -> Vec<PartialError> {
    let missing = value.get("missing_characters").and_then(Json::as_array).map_or(0, Vec::len);
    let path = value.get("path").and_then(Json::as_str).unwrap_or_default();
    let error = || PartialError {
        source: path.to_owned(),
        message: format!("characters that no font has: {missing}"),
    };
    (missing > 0).then(error).into_iter().collect()
}

/// Stores what came of the step that was sent to a node.
pub(super) fn record(cx: &NodeContext<PlanExecute>, mut result: StepResult) -> Patch<State> {
    let mut patch = Patch::default();
    let Some((start, step)) = sent_step(cx) else { return patch };
    result.sub_task_id = Some(start.sub_task_id.clone());
    result.finished_at = Some(cx.call.cx.clock.now().to_string());
    let most = cx.system().config.preview_chars;
    let data = details_with(
        &step,
        cx.state.stage,
        json!({
            "subTaskId": start.sub_task_id, "status": result.status,
            "resultDataPreview": super::working_context::preview(&result.result_data, most),
            "errorDetails": result.error,
        }),
    );
    if result.status == StepStatus::Completed {
        patch.note("EXECUTION_STEP_RESULT_RECEIVED", data);
    } else {
        patch.note("EXECUTION_STEP_RESULT_ERROR", data);
    }
    patch.set(State::step_results, [(start.step_id, result)]);
    patch
}

fn nothing_sent(cx: &NodeContext<PlanExecute>) -> Fault {
    let message = format!("the node was sent no step: {}", cx.call.node);
    Fault::new(FaultCode::HostIncomplete, message)
}
