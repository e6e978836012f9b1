//! A stage: which steps start, with which input, and what is stored of each.

use std::collections::{BTreeMap, BTreeSet};

use antiphon_core::command::Destinations;
use antiphon_core::{Fault, FaultCode};
use serde_json::{Map, Value as Json, json};

use super::PlanExecute;
use super::capability::{CALCULATOR, Capabilities, StepAction, canonical};
use super::graph::{COLLECT, EXECUTE, WRITE};
use super::model_step::prepared;
use super::plan::PlanStep;
use super::record::{StepResult, StepStart};
use super::reference::{OutputResolver, references, resolved};
use super::state::State;
use super::step_input::fitting;
use super::step_output::{StepError, StepErrorKind, StepOutput, StepStatus};
use super::step_request::StepRequest;
use super::unnamed_subject::unnamed_subject;
use crate::json_texts::replace_fields;
use crate::node::{NodeContext, StateView, goto, sent_to};
use crate::patch::Patch;
use crate::prompts::ModelTier;
use crate::sub_task::sub_task_id;

/// The fields of an event about a step.
pub(super) fn details(state: &State, step: &PlanStep, sub_task_id: &str) -> Json {
    json!({
        "stageIndex": state.planned_stage(step) + 1, "stepId": step.step_id, "subTaskId": sub_task_id,
        "narrativeStep": step.narrative_step, "toolName": step.tool_name,
        "agentRole": step.assigned_agent_role,
    })
}

/// The fields of an event about a step, and further ones.
pub(super) fn details_with(state: &State, step: &PlanStep, more: Json) -> Json {
    let mut fields = details(state, step, "");
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
    let steps = state.present_steps();
    let mut patch = Patch::default();
    let data = json!({"stageIndex": stage + 1, "steps": steps.len(), "attempt": state.attempt});
    patch.note("EXECUTION_STAGE_START", data);
    let carried = if system.config.carry_outputs { state.carried() } else { BTreeMap::new() };
    let is_small = system.resources.roles.tier("step_executor") == ModelTier::Small;
    let capabilities = &system.capabilities;
    let preparation = StepPreparation { state, carried, capabilities, is_small };
    let (mut starts, mut results) = (Vec::new(), BTreeMap::new());
    for step in steps {
        if let Some(reused) =
            preparation.reused(step).filter(|_| system.config.reuse_completed_steps)
        {
            patch.note("EXECUTION_STEP_REUSED", details_with(state, step, json!({})));
            results.insert(step.step_id.clone(), reused);
            continue;
        }
        match preparation.input(step) {
            Ok(input) => {
                let sub_task_id = sub_task_id(&cx.scope.run_id, state.attempt, &step.step_id);
                starts.push(StepStart { step_id: step.step_id.clone(), sub_task_id, input });
            }
            Err(error) => {
                let data = details_with(state, step, json!({"errorDetails": error}));
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
    /// Whether a small model writes what steps ask for.
    is_small: bool,
}

impl StepPreparation<'_> {
    fn is_step(&self, id: &str) -> bool {
        self.state.plan.step(id).is_some() || self.carried.contains_key(id)
    }

    /// The input of a step, its references resolved, as its tool takes it.
    fn input(&self, step: &PlanStep) -> Result<Map<String, Json>, StepError> {
        let is_step = |id: &str| self.is_step(id);
        let output = |id: &str| self.state.output(id, &self.carried);
        let tool = self.capabilities.tool(&step.assigned_agent_role, &step.tool_name);
        let tool = tool.ok_or_else(|| unknown_tool(step))?;
        if matches!(tool.action, StepAction::AskModel) {
            let outputs = OutputResolver::new(&is_step, &output);
            if let Some(error) = unnamed_subject(self.state, step).filter(|_| self.is_small) {
                return Err(error);
            }
            let previous = self.state.earlier_steps(step).pop();
            return Ok(prepared(&StepRequest { step, previous, outputs }.messages()?));
        }
        let input = if canonical(&step.tool_name) == CALCULATOR {
            let outputs = OutputResolver::new(&is_step, &output);
            replace_fields(&step.sub_task_input, &|text| outputs.fill_numbers(text))?
        } else {
            resolved(&step.sub_task_input, &is_step, &output)?
        };
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

pub(super) fn unknown_tool(step: &PlanStep) -> StepError {
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

/// Stores what came of the step that was sent to a node.
pub(super) fn record(cx: &NodeContext<PlanExecute>, mut result: StepResult) -> Patch<State> {
    let mut patch = Patch::default();
    let Some((start, step)) = sent_step(cx) else { return patch };
    let sub_task_id = result.sub_task_id.get_or_insert_with(|| start.sub_task_id.clone()).clone();
    result.finished_at = Some(cx.call.cx.clock.now().to_string());
    let most = cx.system().config.preview_chars;
    let data = details_with(
        &cx.state,
        &step,
        json!({
            "subTaskId": sub_task_id, "status": result.status,
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

pub(super) fn nothing_sent(cx: &NodeContext<PlanExecute>) -> Fault {
    let message = format!("the node was sent no step: {}", cx.call.node);
    Fault::new(FaultCode::HostIncomplete, message)
}
