//! The first nodes: what a task starts with, and a plan that needs no planner.

use antiphon_core::approval::{Decision, Proposal};
use antiphon_core::command::Destinations;
use antiphon_core::{Fault, FaultCode};
use antiphon_reply::JsonSchemas;
use serde_json::{Value as Json, json};

use super::PlanExecute;
use super::graph::{APPROVE, BEGIN_ATTEMPT, EXPLAIN, MATCH, PLANNING_FAILED, SYNTHESISE};
use super::input::ExecutionMode;
use super::plan::{PlanSource, StagedPlan};
use super::planning::{accept, check_plan, plan_schema};
use super::state::{PlanProgress, SavedTask, State, TaskStatus};
use super::validation::CheckedPlan;
use crate::node::{NodeContext, NodeExit, StateView, goto};
use crate::patch::Patch;

/// Starts a task: from nothing, with a plan that is given, or with what the thread keeps.
pub(super) async fn receive(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let (input, now) = (cx.input(), cx.call.cx.clock.now().to_string());
    let is_profile_known = cx.system().check_profiles(&input.role_profiles);
    is_profile_known.map_err(|message| Fault::new(FaultCode::InputInvalid, message))?;
    let saved = cx.state.saved.clone().filter(|_| input.needs_saved());
    if input.needs_saved() && !saved.as_ref().is_some_and(|saved| holds(saved, input.mode)) {
        return Err(nothing_saved(input.mode));
    }
    let question = input.question.trim().to_owned();
    let saved = saved.unwrap_or_default();
    let task = if question.is_empty() { saved.user_task.clone() } else { question };
    let mut patch = Patch::default();
    patch.note("TASK_RECEIVED", json!({"task": task, "mode": input.mode}));
    let mut cwc = saved.cwc.clone();
    if cwc.last_updated_at.is_empty() {
        cwc.last_updated_at.clone_from(&now);
        patch.note("CWC_INITIALIZED", json!({}));
    } else {
        patch.note("CWC_LOADED", json!({"lastUpdatedAt": cwc.last_updated_at}));
    }
    match input.mode {
        ExecutionMode::ExecutePlannedTask => {
            // The thread keeps its plan, also one that can no longer run.
            patch.set(State::plan, saved.plan.clone());
            let given = input.plan.clone().unwrap_or_else(|| json!(saved.plan));
            if saved.user_task == task && saved.status != TaskStatus::Completed {
                // The limits of a task hold for all runs that it takes.
                patch.set(State::replan_history, saved.replan_history);
            }
            take_over(&cx, check_plan(&cx, &given), PlanSource::Saved, &mut patch);
        }
        ExecutionMode::SynthesizeOnly => restore(saved, &mut patch),
        ExecutionMode::ExecuteFullPlan | ExecutionMode::PlanOnly => {}
    }
    patch.set(State::user_task, task).set(State::mode, input.mode).set(State::cwc, cwc);
    Ok(patch)
}

/// Takes over what came of the last task. One that has failed, or was cut off, stays so, and is
/// explained.
fn restore(saved: SavedTask, patch: &mut Patch<State>) {
    if let Some(summary) = saved.error_summary {
        patch
            .set(State::failed_step_details, summary.failed_step.clone())
            .set(State::error_summary, Some(summary));
    }
    patch
        .set(
            State::status,
            match saved.status {
                TaskStatus::Completed => TaskStatus::Synthesizing,
                unfinished => unfinished,
            },
        )
        .set(State::replan_history, saved.replan_history)
        .set(State::plan, saved.plan)
        .set(State::plan_source, Some(PlanSource::Saved))
        .set(State::attempt, saved.attempts)
        .set(State::execution_context, saved.execution_context);
}

/// Whether the thread keeps what a mode needs.
fn holds(saved: &SavedTask, mode: ExecutionMode) -> bool {
    match mode {
        ExecutionMode::SynthesizeOnly => !saved.execution_context.is_empty(),
        _ => !saved.plan.is_empty(),
    }
}

fn nothing_saved(mode: ExecutionMode) -> Fault {
    let message = format!("the thread keeps nothing to go on with: {}", json!(mode));
    Fault::new(FaultCode::ThreadEmpty, message)
        .hint("plan the task in the same thread before, or pass `plan`")
}

/// Takes over a plan that no planner has made now, if it can run.
fn take_over(
    cx: &NodeContext<PlanExecute>,
    checked: CheckedPlan,
    source: PlanSource,
    patch: &mut Patch<State>,
) {
    if let Some(plan) = checked.plan {
        accept(cx, plan, source, patch);
    } else {
        patch.set(State::violations, checked.violations);
        patch.set(State::progress, PlanProgress::Failed);
    }
}

/// Where a task goes that was received.
pub(super) fn received(
    view: &StateView<'_, '_>,
    approves: bool,
) -> Result<Destinations<Json>, Fault> {
    let is_done = view.get(State::status)? == TaskStatus::Synthesizing;
    Ok(goto(match (view.get(State::mode)?, view.get(State::progress)?) {
        (ExecutionMode::SynthesizeOnly, _) if is_done => SYNTHESISE,
        (ExecutionMode::SynthesizeOnly, _) => EXPLAIN,
        (ExecutionMode::ExecutePlannedTask, PlanProgress::Ready) if approves => APPROVE,
        (ExecutionMode::ExecutePlannedTask, PlanProgress::Ready) => BEGIN_ATTEMPT,
        (ExecutionMode::ExecutePlannedTask, _) => PLANNING_FAILED,
        _ => MATCH,
    }))
}

/// Looks for a plan that the words of the task name.
pub(super) async fn match_template(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    patch.note("PLANNING_STARTED", json!({"isRevision": false}));
    patch.set(State::status, TaskStatus::Planning);
    if let Some((name, given)) = cx.system().templates.plan_of(&cx.state.user_task) {
        let checked = check_plan(&cx, &given);
        let is_usable = checked.plan.is_some();
        patch.note("PLAN_TEMPLATE_MATCHED", json!({"template": name, "isUsable": is_usable}));
        if is_usable {
            take_over(&cx, checked, PlanSource::Template, &mut patch);
        }
    }
    Ok(patch)
}

/// Has a person approve the plan, change it or refuse it. A changed plan in which something is
/// wrong is asked about again, with what is wrong.
pub(super) async fn approve(cx: NodeContext<PlanExecute>) -> Result<NodeExit<State>, Fault> {
    let mut proposal = proposal(&cx.state.plan);
    let mut wrong: Vec<String> = Vec::new();
    for answer in cx.answers() {
        match proposal.decode_answer(answer, Some(&JsonSchemas))? {
            Decision::Approve => return Ok(Patch::default().into()),
            Decision::Refuse(reason) => return Ok(refused(reason).into()),
            Decision::Change(changed) => {
                let stages = changed.get("stages").cloned().unwrap_or_default();
                let checked = check_plan(&cx, &stages);
                if let Some(plan) = checked.plan {
                    let mut patch = Patch::default();
                    patch.note("PLAN_CHANGED", json!({"stages": plan.0.len()}));
                    patch.set(State::plan, plan);
                    return Ok(patch.into());
                }
                wrong = checked.violations.iter().map(ToString::to_string).collect();
                proposal.arguments = changed;
            }
        }
    }
    let mut question = proposal.question();
    if let Some(fields) = question.as_object_mut() {
        let why = "the plan runs only once a person has approved of it";
        fields.insert("why".to_owned(), json!(why));
        if !wrong.is_empty() {
            fields.insert("violations".to_owned(), json!(wrong));
        }
    }
    Ok(NodeExit::Ask(question))
}

fn proposal(plan: &StagedPlan) -> Proposal {
    Proposal::new("plan", json!({"stages": plan}), plan_schema().json)
}

fn refused(reason: Option<String>) -> Patch<State> {
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let mut patch = Patch::default();
    patch.note("PLAN_REFUSED", json!({}));
    patch.set(State::progress, PlanProgress::Refused).set(State::status, TaskStatus::Cancelled);
    patch.set(
        State::error_summary,
        Some(super::record::ErrorSummary {
            reason: format!("a person refused the plan{reason}"),
            failed_step: None,
        }),
    );
    patch
}
