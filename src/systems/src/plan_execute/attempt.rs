//! Attempts to carry out a plan: the beginning, the end, and whether another plan is asked for.

use antiphon_core::Fault;
use antiphon_core::command::Destinations;
use serde_json::{Value as Json, json};

use super::PlanExecute;
use super::capability::ORCHESTRATOR;
use super::decide::{ReplanLimit, replan_limit};
use super::graph::{END_ATTEMPT, PLAN, START_STAGE, UPDATE_CONTEXT};
use super::planning::replan_record;
use super::record::{
    AttemptRecord, ContextEntry, ErrorSummary, FailedStep, ReplanOutcome, ReplanRecord,
};
use super::schedule::waves;
use super::state::{AnswerSource, PlanProgress, State, TaskStatus};
use super::step_output::StepStatus;
use crate::json_texts::plain_text;
use crate::node::{NodeContext, StateView, goto};
use crate::patch::Patch;

/// Begins an attempt: nothing of an earlier one stays but its completed steps.
pub(super) async fn begin_attempt(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let (system, attempt) = (cx.system(), cx.state.attempt + 1);
    let data = json!({"attempt": attempt, "revision": cx.state.revisions_used});
    let mut cwc = cx.state.cwc.clone();
    let progress = format!("Attempt {attempt} to carry out the plan begins.");
    cwc.moved(&cx.call.cx.clock.now().to_string(), progress, "Carry out the first stage.");
    let mut patch = Patch::default();
    patch.note("CWC_UPDATED_PRE_ATTEMPT", data.clone());
    if attempt == 1 {
        patch.note("EXECUTION_CYCLE_STARTED", data.clone());
        patch.note("EXECUTION_ATTEMPT_START", data.clone());
    } else {
        patch.note("REPLANNING_EXECUTION_ATTEMPT_START", data.clone());
    }
    patch
        .note("PLAN_EXECUTION_START", data)
        .set(State::attempt, attempt)
        .set(State::status, TaskStatus::Executing)
        .set(State::progress, PlanProgress::Open)
        .set(State::schedule, waves(&cx.state.plan, system.config.execution, &system.capabilities))
        .set(State::stage, 0_usize)
        .set(State::cwc, cwc)
        .reset(State::step_outputs)
        .reset(State::execution_context)
        .reset(State::failed_step_details);
    Ok(patch)
}

/// Where an attempt goes after a stage.
pub(super) fn next_stage(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let is_over = view.get(State::stage)? >= view.get(State::schedule)?.len();
    let has_failed = view.get(State::failed_step_details)?.is_some();
    Ok(goto(if is_over || has_failed { END_ATTEMPT } else { START_STAGE }))
}

/// Ends an attempt. One that has failed leads to a revised plan, as far as the limits allow.
pub(super) async fn end_attempt(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let state = &cx.state;
    let mut patch = Patch::default();
    let failed = state.failed_step_details.clone();
    let data = json!({"attempt": state.attempt, "failedStep": failed});
    patch.note("CWC_UPDATED", json!({"findings": state.cwc.key_findings.len(), "errors": state.cwc.errors_encountered.len()}));
    patch.set(
        State::attempt_history,
        [AttemptRecord {
            attempt: state.attempt,
            plan_source: state.plan_source,
            success: failed.is_none(),
            execution_context: state.execution_context.clone(),
            failed_step_details: failed.clone(),
        }],
    );
    let history = replans(state, failed.is_none());
    match failed {
        None => {
            patch
                .set(State::status, TaskStatus::Synthesizing)
                .set(State::replan_history, history)
                .note("PLAN_EXECUTION_COMPLETED", data.clone())
                .note("EXECUTION_ATTEMPT_SUCCESS", data.clone())
                .note("EXECUTION_CYCLE_COMPLETED_SUCCESS", data);
            if let Some(answer) = written_answer(state) {
                patch
                    .note(
                        "PLAN_EXECUTOR_FINAL_ANSWER_IDENTIFIED",
                        json!({"chars": answer.chars().count()}),
                    )
                    .set(State::final_answer, Some(answer))
                    .set(State::final_answer_source, Some(AnswerSource::PreSynthesized));
            }
        }
        Some(failed) => {
            patch
                .note("PLAN_EXECUTION_FAILED", data.clone())
                .note("EXECUTION_ATTEMPT_FAILED", data);
            revise_or_end(&cx, (failed, history), &mut patch);
        }
    }
    Ok(patch)
}

/// The requests for revised plans, with how the plan of this attempt did if it is such a plan.
fn replans(state: &State, success: bool) -> Vec<ReplanRecord> {
    // A run before this one may have made the plan, and been cut off.
    let last = state.replan_history.last();
    match (last.is_some_and(|last| last.outcome == ReplanOutcome::Planned), success) {
        (false, _) => state.replan_history.clone(),
        (true, true) => state.replanned(ReplanOutcome::Completed),
        (true, false) => state.replanned(ReplanOutcome::Failed),
    }
}

fn revise_or_end(
    cx: &NodeContext<PlanExecute>,
    (failed, mut history): (FailedStep, Vec<ReplanRecord>),
    patch: &mut Patch<State>,
) {
    let (state, config) = (&cx.state, &cx.system().config);
    let data = json!({"revisionsUsed": state.revisions_used, "replans": history.len()});
    let limit = replan_limit(config, &failed, state.revisions_used, &history);
    match limit {
        None => {
            let mut completed = state.completed_steps.clone();
            let done = |entry: &&ContextEntry| entry.status == StepStatus::Completed;
            completed.extend(
                state
                    .execution_context
                    .iter()
                    .filter(done)
                    .map(|it| (it.step_id.clone(), it.clone())),
            );
            history.extend(replan_record(cx));
            patch
                .set(State::completed_steps, completed)
                .set(State::replan_history, history)
                .set(State::status, TaskStatus::Planning)
                .set(State::progress, PlanProgress::Again);
            return;
        }
        Some(ReplanLimit::SameFailure) => patch.note("REPLAN_CYCLE_LIMIT_EXCEEDED", data),
        Some(ReplanLimit::Total) => patch.note("REPLAN_TOTAL_LIMIT_EXCEEDED", data),
        Some(ReplanLimit::Revisions) => patch.note("MAX_REVISIONS_REACHED", data),
    };
    let reason = format!("the step {} failed: {}", failed.step_id, failed.error_details.message);
    patch
        .note("EXECUTION_CYCLE_COMPLETED_FAILURE", json!({"reason": reason}))
        .set(State::replan_history, history)
        .set(State::status, TaskStatus::FailedExecution)
        .set(State::error_summary, Some(ErrorSummary { reason, failed_step: Some(failed) }));
}

/// Where a task goes after an attempt.
pub(super) fn attempted(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let is_revised = view.get(State::progress)? == PlanProgress::Again;
    Ok(goto(if is_revised { PLAN } else { UPDATE_CONTEXT }))
}

/// The text of the one step of the last stage, if the plan says that it is the answer.
fn written_answer(state: &State) -> Option<String> {
    let last = state.plan.stage(state.plan.0.len().saturating_sub(1));
    let [step] = last else { return None };
    let entry = state.execution_context.last().filter(|entry| entry.step_id == step.step_id)?;
    let is_written = entry.status == StepStatus::Completed
        && entry.assigned_agent_role == ORCHESTRATOR
        && step.is_model_step()
        && step.is_final_answer();
    is_written.then(|| plain_text(entry.processed()).into_owned())
}
