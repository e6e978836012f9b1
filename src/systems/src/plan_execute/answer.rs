//! The end of a task: what is known, the answer, or an explanation of what failed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use antiphon_core::command::Destinations;
use antiphon_core::{Fault, Message, Schema};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::PlanExecute;
use super::collect::note_dropped;
use super::graph::{DIGEST, EXPLAIN, SAVE, SYNTHESISE};
use super::invented_number::unknown_numbers;
use super::model_step::reply_text;
use super::record::ContextEntry;
use super::reference::references;
use super::state::{AnswerSource, SavedTask, State, TaskStatus};
use super::step_output::StepStatus;
use super::working_context::preview;
use crate::builder::RoleNode;
use crate::delimited_input::DelimitedInput;
use crate::node::{NodeContext, StateView, goto};
use crate::patch::Patch;
use crate::prompts::ModelTier;
use crate::reply::{RoleReply, object, text};

/// How often the synthesiser is asked.
const ATTEMPTS: u32 = 2;
/// Characters of each result that a digest shows.
const SHOWN: usize = 500;

/// Rewrites the working context once the plans are done with.
pub(super) fn context_keeper() -> RoleNode<PlanExecute> {
    let fields = json!({
        "updatedSummaryOfProgress": text(),
        "updatedNextObjective": text(),
        "confidenceScore": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "identifiedEntities": {"type": ["object", "null"]},
        "pendingQuestions": {"type": ["array", "null"], "items": {"type": "string"}},
    });
    let required = ["updatedSummaryOfProgress", "updatedNextObjective"];
    let schema = json!({"type": "object", "properties": fields, "required": required});
    RoleNode {
        role: "context_keeper",
        schema: Schema::new("context", schema),
        max_tool_calls: 0,
        begin: |cx| cx.note("CWC_UPDATE_LLM_START", json!({})),
        conversation: |cx| {
            let resources = &cx.system().resources;
            let instructions = resources.instructions("context_keeper", "context_keeper", &[])?;
            let mut input = DelimitedInput::new();
            input
                .add("context", &cx.state.cwc.brief().to_string())
                .add("outcome", &outcome_text(&cx.state))
                .add("task", &cx.state.user_task);
            Ok(vec![
                Message::system(instructions),
                Message::user(input.then("Say how the task stands.")),
            ])
        },
        brief: |cx| {
            let state = &cx.state;
            let outcome = outcome_text(state);
            Ok(json!({"task": state.user_task, "context": state.cwc.brief(), "outcome": outcome}))
        },
        conclude: context_updated,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContextReply {
    updated_summary_of_progress: String,
    updated_next_objective: String,
    confidence_score: Option<f64>,
    identified_entities: Option<Map<String, Json>>,
    pending_questions: Option<Vec<String>>,
}

fn context_updated(
    cx: &NodeContext<PlanExecute>,
    mut reply: RoleReply,
) -> Result<Patch<State>, Fault> {
    let said: ContextReply = reply.read()?;
    let mut cwc = cx.state.cwc.clone();
    let now = cx.call.cx.clock.now().to_string();
    cwc.moved(&now, said.updated_summary_of_progress, &said.updated_next_objective);
    cwc.confidence_score = said.confidence_score.unwrap_or(cwc.confidence_score);
    cwc.identified_entities.extend(said.identified_entities.unwrap_or_default());
    cwc.pending_questions = said.pending_questions.unwrap_or(cwc.pending_questions);
    let mut patch = Patch::default();
    patch.note("CWC_UPDATED_BY_LLM", json!({"confidenceScore": cwc.confidence_score}));
    patch.set(State::cwc, cwc);
    Ok(patch)
}

/// Takes the place of an update that has failed: the context stays as it is.
pub(super) async fn keep_context(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let message = cx.call.handles.as_ref().map(|(_, fault)| fault.message.clone());
    let mut patch = Patch::default();
    patch.note("CWC_UPDATE_LLM_ERROR", json!({"message": message}));
    Ok(patch)
}

/// Says how the task stands, in place of a context keeper.
pub(super) async fn state_outcome(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let state = &cx.state;
    let mut cwc = state.cwc.clone();
    let next =
        if state.error_summary.is_some() { "Explain what failed." } else { "Answer the task." };
    cwc.moved(&cx.call.cx.clock.now().to_string(), outcome_text(state), next);
    let mut patch = Patch::default();
    patch.note("CWC_POST_EXECUTION_CYCLE", json!({"nextObjective": next}));
    patch.set(State::cwc, cwc);
    Ok(patch)
}

/// Where a task goes once its context is updated.
pub(super) fn concluded(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let has_failed = view.get(State::status)? == TaskStatus::FailedExecution;
    let is_answered = view.get(State::final_answer)?.is_some();
    Ok(goto(match (has_failed, is_answered) {
        (true, _) => EXPLAIN,
        (false, true) => SAVE,
        (false, false) => SYNTHESISE,
    }))
}

fn outcome_text(state: &State) -> String {
    match &state.error_summary {
        Some(summary) => format!("The task has failed: {}.", summary.reason),
        None if state.is_cut_off() => unfinished_text(state),
        None => "All steps of the plan were completed.".to_owned(),
    }
}

fn unfinished_text(state: &State) -> String {
    let (done, all) = (completed(state).count(), state.plan.steps().count());
    if all == 0 {
        return "The task was not finished.".to_owned();
    }
    format!("The task was not finished: {done} of {all} steps were completed.")
}

/// Words the answer from the results.
pub(super) fn synthesiser() -> RoleNode<PlanExecute> {
    RoleNode {
        role: "synthesiser",
        schema: Schema::new("answer", object(&json!({"answer": text()}))),
        max_tool_calls: 0,
        begin: |cx| {
            cx.note("SYNTHESIS_STARTED", json!({"success": true}));
            cx.note("FINAL_SYNTHESIS_START", json!({"attempt": cx.state.synthesis_attempts + 1}));
        },
        conversation: |cx| {
            let instructions =
                cx.system().resources.instructions("synthesiser", "synthesiser", &[])?;
            let mut input = DelimitedInput::new();
            add_results(cx, &mut input);
            input
                .add("context", &cx.state.cwc.brief().to_string())
                .add("task", &cx.state.user_task);
            let instruction = if cx.state.synthesis_attempts == 0 {
                "Answer the task from the results."
            } else {
                "Answer the task from the results. Copy their numbers, and calculate none."
            };
            Ok(vec![Message::system(instructions), Message::user(input.then(instruction))])
        },
        brief: |cx| {
            let state = &cx.state;
            Ok(json!({
                "task": state.user_task, "results": results(state), "context": state.cwc.brief(),
            }))
        },
        conclude: |cx, reply| Ok(worded(cx, &reply, AnswerSource::Synthesized)),
    }
}

/// What the steps have found, for a model.
fn add_results(cx: &NodeContext<PlanExecute>, input: &mut DelimitedInput) {
    for (entry, result) in shown_results(cx) {
        input.add_named("result", &entry.narrative_step, &result);
        if !entry.partial_errors.is_empty() {
            let errors: Vec<_> = entry.partial_errors.iter().map(ToString::to_string).collect();
            input.add_named("partial_errors", &entry.narrative_step, &errors.join("\n"));
        }
    }
}

fn shown_results(cx: &NodeContext<PlanExecute>) -> impl Iterator<Item = (&ContextEntry, String)> {
    let most = cx.system().config.synthesis_chars;
    completed(&cx.state).map(move |entry| (entry, preview(entry.processed(), most)))
}

/// The same, for code.
fn results(state: &State) -> Vec<Json> {
    let result = |entry: &ContextEntry| {
        json!({
            "step": entry.narrative_step, "tool": entry.tool_name,
            "result": entry.processed(), "partial_errors": entry.partial_errors,
        })
    };
    completed(state).map(result).collect()
}

/// Explains what failed.
pub(super) fn explainer() -> RoleNode<PlanExecute> {
    RoleNode {
        role: "synthesiser",
        schema: Schema::new("answer", object(&json!({"answer": text()}))),
        max_tool_calls: 0,
        begin: |cx| {
            cx.note("SYNTHESIS_STARTED", json!({"success": false}));
            cx.note("FINAL_SYNTHESIS_START", json!({"attempt": cx.state.synthesis_attempts + 1}));
        },
        conversation: |cx| {
            let resources = &cx.system().resources;
            let instructions = resources.instructions("synthesiser", "explainer", &[])?;
            let state = &cx.state;
            let mut input = DelimitedInput::new();
            if state.is_cut_off() {
                add_results(cx, &mut input);
            }
            input
                .add("context", &state.cwc.brief().to_string())
                .add("failed_step", &json!(state.failed_step_details).to_string())
                .add("outcome", &format!("{} Attempts: {}.", outcome_text(state), state.attempt))
                .add("task", &state.user_task);
            Ok(vec![
                Message::system(instructions),
                Message::user(input.then("Explain what was achieved and what failed.")),
            ])
        },
        brief: |cx| {
            let state = &cx.state;
            Ok(json!({
                "task": state.user_task, "context": state.cwc.brief(),
                "failed_step": state.failed_step_details, "failure": outcome_text(state),
                "attempts": state.attempt,
                "results": state.is_cut_off().then(|| results(state)),
            }))
        },
        conclude: |cx, reply| Ok(worded(cx, &reply, AnswerSource::FailureExplanation)),
    }
}

fn completed(state: &State) -> impl Iterator<Item = &ContextEntry> {
    state.execution_context.iter().filter(|entry| entry.status == StepStatus::Completed)
}

fn worded(cx: &NodeContext<PlanExecute>, reply: &RoleReply, source: AnswerSource) -> Patch<State> {
    let mut patch = Patch::default();
    let answer = reply_text(reply, "answer");
    if let Some(message) = objection(cx, &answer, source) {
        patch.note("FINAL_SYNTHESIS_FAILED", json!({"message": message}));
        patch.set(State::synthesis_attempts, cx.state.synthesis_attempts + 1);
        return patch;
    }
    // What a model makes of a part must not be taken for the whole.
    let answer = if cx.state.is_cut_off() {
        format!("{}\n\n{answer}", outcome_text(&cx.state))
    } else {
        answer
    };
    patch
        .note("FINAL_SYNTHESIS_SUCCESS", json!({"chars": answer.chars().count()}))
        .set(State::final_answer, Some(answer))
        .set(State::final_answer_source, Some(source));
    patch
}

/// What speaks against an answer.
fn objection(cx: &NodeContext<PlanExecute>, answer: &str, source: AnswerSource) -> Option<String> {
    if answer.is_empty() {
        return Some("the answer is empty".to_owned());
    }
    let is_small = cx.system().resources.roles.tier("synthesiser") == ModelTier::Small;
    if !is_small || source != AnswerSource::Synthesized {
        return None;
    }
    let results = shown_results(cx).map(|(_, result)| result + "\n");
    let unknown = unknown_numbers(answer, &(results.collect::<String>() + &cx.state.user_task));
    let message =
        format!("neither the task nor a result has these numbers: {}", unknown.join(", "));
    (!unknown.is_empty()).then_some(message)
}

/// Where an answer goes: one that is empty, or has numbers from nowhere, is asked for once more.
pub(super) fn answered(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let is_answered = view.get(State::final_answer)?.is_some();
    let attempts = view.get(State::synthesis_attempts)?;
    Ok(goto(if is_answered {
        SAVE
    } else if attempts < ATTEMPTS {
        "again"
    } else {
        DIGEST
    }))
}

/// An answer, or an explanation, without a model: from the same results. Also takes the place of
/// a synthesiser that has failed, and comes once the budget is spent.
pub(super) async fn digest(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let state = &cx.state;
    let mut patch = Patch::default();
    if let Some((_, fault)) = &cx.call.handles {
        patch.note("FINAL_SYNTHESIS_FAILED", json!({"message": fault.message}));
    }
    let is_done = state.error_summary.is_none()
        && !state.is_cut_off()
        && !state.execution_context.is_empty()
        && state.execution_context.iter().all(|entry| entry.status == StepStatus::Completed)
        && state.stage >= state.schedule.len();
    let source = if is_done { AnswerSource::Digest } else { AnswerSource::FailureExplanation };
    if is_done {
        let warning = "the synthesiser gave no answer: the results stand for it";
        patch.set(State::warnings, [warning.to_owned()]);
    }
    patch
        .set(State::final_answer, Some(digest_text(state, is_done)))
        .set(State::final_answer_source, Some(source));
    Ok(patch)
}

fn digest_text(state: &State, is_done: bool) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    if !is_done {
        let reason = state.error_summary.as_ref().map(|summary| &summary.reason);
        let failed = |reason| format!("The task was not completed: {reason}.");
        let _ = writeln!(text, "{}", reason.map_or_else(|| unfinished_text(state), failed));
        if state.attempt > 0 {
            let _ = writeln!(text, "Attempts: {}.", state.attempt);
        }
    }
    let known: Vec<&ContextEntry> = completed(state).collect();
    if !known.is_empty() {
        let _ = writeln!(text, "What was done:");
    }
    let worked_with = worked_with(&known);
    for entry in known {
        if worked_with.contains(entry.step_id.as_str()) {
            let _ = writeln!(text, "- {}", entry.narrative_step);
        } else {
            let result = preview(entry.processed(), SHOWN);
            let _ = writeln!(text, "- {}: {result}", entry.narrative_step);
        }
        for error in &entry.partial_errors {
            let _ = writeln!(text, "  - not done: {error}");
        }
    }
    text.trim_end().to_owned()
}

/// The steps whose outputs other steps have worked with: what came of them says more.
fn worked_with<'e>(known: &[&'e ContextEntry]) -> BTreeSet<&'e str> {
    let is_known = |id: &str| known.iter().any(|entry| entry.step_id == id);
    let read = known.iter().flat_map(|entry| references(&entry.sub_task_input, &is_known));
    read.filter_map(|(_, read)| read.ok()).map(|reference| reference.step).collect()
}

/// Ends the task, and keeps in the thread what another question may go on with.
pub(super) async fn save(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let state = &cx.state;
    let now = cx.call.cx.clock.now().to_string();
    let mut patch = Patch::default();
    if state.final_answer_source == Some(AnswerSource::PreSynthesized) {
        patch.note("FINAL_SYNTHESIS_SKIPPED", json!({}));
    }
    if let Some(run) = &cx.data().sub_tasks {
        note_dropped(run.end(&cx.scope.run_id).await, &mut patch);
    }
    let is_answered = state.error_summary.is_none() && state.final_answer.is_some();
    let is_finished = state.final_answer_source != Some(AnswerSource::FailureExplanation);
    let status = if is_answered && is_finished { TaskStatus::Completed } else { state.status };
    let mut cwc = state.cwc.clone();
    if status == TaskStatus::Completed {
        cwc.last_updated_at = now;
        patch.note("TASK_COMPLETED_SUCCESSFULLY", json!({"status": status}));
    } else if status == TaskStatus::PlanGenerated {
        patch.note("TASK_PLANNED", json!({"status": status}));
    } else {
        patch.note(
            "TASK_FAILED_FINAL",
            json!({"status": status, "errorSummary": state.error_summary}),
        );
    }
    let saved = SavedTask {
        user_task: state.user_task.clone(),
        status,
        plan: state.plan.clone(),
        execution_context: state.execution_context.clone(),
        attempts: state.attempt,
        error_summary: state.error_summary.clone(),
        replan_history: state.replan_history.clone(),
        cwc: cwc.clone(),
    };
    patch.set(State::status, status).set(State::cwc, cwc).set(State::saved, Some(saved));
    Ok(patch)
}
