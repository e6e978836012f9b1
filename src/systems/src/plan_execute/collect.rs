//! After a stage: long results are summarised, then everything is taken over in the order of the
//! plan.

use antiphon_core::command::Destinations;
use antiphon_core::{Fault, Message, Schema};
use serde_json::{Value as Json, json};

use super::PlanExecute;
use super::capability::{EXPLORER, ORCHESTRATOR};
use super::execute::details_with;
use super::graph::{FINISH_STAGE, SUMMARISE};
use super::model_step::reply_text;
use super::plan::PlanStep;
use super::record::{ContextEntry, StepResult};
use super::state::State;
use super::step_output::{StepError, StepErrorKind, StepOutput, StepStatus};
use super::working_context::preview;
use crate::builder::RoleNode;
use crate::delimited_input::{DelimitedInput, cut};
use crate::json_texts::plain_text;
use crate::node::{NodeContext, StateView, fan_out, goto};
use crate::patch::Patch;
use crate::reply::{RoleReply, object, text};
use crate::sub_task::DroppedResult;

/// Chooses the results that are summarised: those of workers and of explored pages that are long.
pub(super) async fn collect(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let (state, config) = (&cx.state, &cx.system().config);
    let mut patch = Patch::default();
    let is_long = |step: &&&PlanStep| {
        let result = state.step_results.get(&step.step_id);
        result.is_some_and(|result| {
            let text = plain_text(&result.result_data);
            result.status == StepStatus::Completed
                && !result.is_reused
                && text.chars().count() > config.summary_threshold_chars
        })
    };
    let is_summarised =
        |step: &&&PlanStep| step.assigned_agent_role != ORCHESTRATOR || step.tool_name == EXPLORER;
    let present = state.present_steps();
    let steps = present.iter();
    let long: Vec<String> =
        steps.filter(is_summarised).filter(is_long).map(|step| step.step_id.clone()).collect();
    patch.set(State::long_steps, long);
    if let Some(run) = &cx.data().sub_tasks {
        // The results of the stage are committed by now.
        note_dropped(run.settle().await, &mut patch);
    }
    Ok(patch)
}

/// Tells of results that were of no use.
pub(super) fn note_dropped(dropped: Vec<DroppedResult>, patch: &mut Patch<State>) {
    for result in dropped {
        patch.note("EXECUTION_STEP_RESULT_DROPPED", json!(result));
    }
}

/// Where the long results go.
pub(super) fn summarise(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let long = view.get(State::long_steps)?;
    if long.is_empty() {
        return Ok(goto(FINISH_STAGE));
    }
    Ok(fan_out(SUMMARISE, long.into_iter().map(Json::String)))
}

/// Summarises one result.
pub(super) fn summariser() -> RoleNode<PlanExecute> {
    RoleNode {
        role: "summariser",
        schema: Schema::new("summary", object(&json!({"summary": text()}))),
        max_tool_calls: 0,
        begin: |cx| {
            let data = json!({"stepId": cx.sent::<String>()});
            cx.note("EXECUTION_DATA_SUMMARIZATION_START", data);
        },
        conversation: |cx| {
            let resources = &cx.system().resources;
            let instructions = resources.instructions("summariser", "summariser", &[])?;
            let (narrative, data) = long_result(cx);
            let mut input = DelimitedInput::new();
            input.add("task", &cx.state.user_task).add("step", &narrative).add("result", &data);
            Ok(vec![
                Message::system(instructions),
                Message::user(input.then("Summarise the result.")),
            ])
        },
        brief: |cx| {
            let (narrative, data) = long_result(cx);
            Ok(json!({"task": cx.state.user_task, "step": narrative, "result": data}))
        },
        conclude: |cx, reply| Ok(summarised(cx, &reply)),
    }
}

/// What the step of a long result is for, and as much of the result as is read.
fn long_result(cx: &NodeContext<PlanExecute>) -> (String, String) {
    let id: String = cx.sent().unwrap_or_default();
    let narrative = cx.state.plan.step(&id).map(|(_, step)| step.narrative_step.clone());
    let data = cx.state.step_results.get(&id).map(|result| {
        let most = cx.system().config.summary_input_chars;
        cut(&plain_text(&result.result_data), most).into_owned()
    });
    (narrative.unwrap_or_default(), data.unwrap_or_default())
}

fn summarised(cx: &NodeContext<PlanExecute>, reply: &RoleReply) -> Patch<State> {
    let mut patch = Patch::default();
    let id: String = cx.sent().unwrap_or_default();
    let summary = reply_text(reply, "summary");
    if summary.is_empty() {
        patch.note(
            "EXECUTION_DATA_SUMMARIZATION_FAILED",
            json!({"stepId": id, "message": "the summary is empty"}),
        );
        return patch;
    }
    patch
        .note("EXECUTION_DATA_SUMMARIZATION_SUCCESS", json!({"stepId": id}))
        .set(State::summaries, [(id, summary)]);
    patch
}

/// Takes the place of a summary whose model has failed: the beginning of the result stands for it.
pub(super) async fn leave_long(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let message = cx.call.handles.as_ref().map(|(_, fault)| fault.message.clone());
    let mut patch = Patch::default();
    let data = json!({"stepId": cx.sent::<String>(), "message": message});
    patch.note("EXECUTION_DATA_SUMMARIZATION_FAILED", data);
    Ok(patch)
}

/// Takes over what came of the steps of the stage. The first that failed, in the order of the
/// plan, ends the attempt; what comes after is skipped.
pub(super) async fn finish_stage(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let (state, config) = (&cx.state, &cx.system().config);
    let (stage, now) = (state.stage, cx.call.cx.clock.now().to_string());
    let mut patch = Patch::default();
    let mut context = state.execution_context.clone();
    let mut outputs = state.step_outputs.clone();
    let mut cwc = state.cwc.clone();
    let mut failed = None;
    for step in state.present_steps() {
        let result = result_of(state, step, config.summary_threshold_chars);
        let entry = ContextEntry::of(step, state.planned_stage(step), result);
        note_step(state, (&entry, step), config.preview_chars, &mut patch);
        if !entry.reused {
            cwc.add(&entry, config.finding_chars, &now);
        }
        let output = StepOutput {
            status: entry.status,
            result_data: entry.raw_result_data.clone(),
            processed_result_data: entry.processed_result_data.clone(),
        };
        outputs.insert(step.step_id.clone(), output);
        failed = failed.or_else(|| entry.failure());
        context.push(entry);
    }
    let data =
        json!({"stageIndex": stage + 1, "failedStep": failed.as_ref().map(|it| &it.step_id)});
    if failed.is_some() {
        patch.note("EXECUTION_STAGE_FAILED", data);
        let rest = state.plan.steps().filter(|(_, step)| !outputs.contains_key(&step.step_id));
        context
            .extend(rest.map(|(index, step)| ContextEntry::of(step, index, StepResult::default())));
    } else {
        patch.note("EXECUTION_STAGE_COMPLETED", data);
    }
    patch
        .set(State::execution_context, context)
        .set(State::step_outputs, outputs)
        .set(State::cwc, cwc)
        .set_or_reset(State::failed_step_details, failed)
        .set(State::stage, stage + 1)
        .set(State::starts, Vec::new())
        .reset(State::step_results);
    Ok(patch)
}

/// What came of a step, with its summary if the result is long.
fn result_of(state: &State, step: &PlanStep, most: usize) -> StepResult {
    let known = state.step_results.get(&step.step_id).cloned();
    let mut result = known.unwrap_or_else(|| {
        let message = "nothing is known of the step";
        StepResult::unprepared(StepError::new(StepErrorKind::UnknownOutcome, message))
    });
    if state.long_steps.contains(&step.step_id) {
        let summary = state.summaries.get(&step.step_id).cloned();
        let summary = summary.unwrap_or_else(|| preview(&result.result_data, most));
        result.processed_result_data = Some(json!(summary));
    }
    result
}

fn note_step(
    state: &State,
    (entry, step): (&ContextEntry, &PlanStep),
    most: usize,
    patch: &mut Patch<State>,
) {
    if !entry.partial_errors.is_empty() {
        let more = json!({"partialErrors": entry.partial_errors});
        patch.note("EXECUTION_STEP_PARTIAL_ERRORS", details_with(state, step, more));
    }
    let more = json!({
        "subTaskId": entry.sub_task_id, "status": entry.status,
        "resultDataPreview": preview(entry.processed(), most), "errorDetails": entry.error_details,
    });
    let data = details_with(state, step, more);
    if entry.status == StepStatus::Completed {
        patch.note("EXECUTION_STEP_COMPLETED", data);
    } else {
        patch.note("EXECUTION_STEP_FAILED", data);
    }
}
