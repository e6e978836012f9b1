//! Revised plans that begin with what has failed. Nothing is done before it that was not done when
//! it failed, so that it fails in the same way.

use super::PlanExecute;
use super::capability::{Capabilities, EXPLORER, StepAction};
use super::plan::{PlanStep, StagedPlan};
use super::record::ContextEntry;
use super::reference::references;
use super::state::State;
use super::step_output::{StepErrorKind, StepStatus};
use super::validation::{PlanViolation, placed};
use crate::tool_cache::only_reads;

/// What is wrong with a revised plan: its first steps that are not done yet ask what has failed in
/// the last attempt, of the same tool. Without reuse everything is done anew, and may turn out
/// otherwise.
pub(super) fn repeated_steps(
    state: &State,
    system: &PlanExecute,
    plan: &StagedPlan,
) -> Vec<PlanViolation> {
    let changed = |entry: &ContextEntry| has_changed(entry, &system.capabilities);
    let last = || state.execution_context.iter();
    let first = last().filter(|one| one.status == StepStatus::Failed).map(|one| one.stage_index);
    let first = first.min().unwrap_or_default();
    if !system.config.reuse_completed_steps
        || last().any(|one| one.stage_index >= first && changed(one))
    {
        return Vec::new();
    }
    let is_open = |step: &PlanStep| {
        let done = state.completed_steps.get(&step.step_id);
        !done.is_some_and(|done| done.step().repeats(step))
    };
    let begins = plan.0.iter().position(|stage| stage.iter().any(is_open));
    let is_new = |id: &str| plan.step(id).is_some_and(|(_, step)| is_open(step));
    let here = plan.steps().zip(placed(plan)).filter(|((stage, _), _)| Some(*stage) == begins);
    let repeated = here.filter_map(|(_, (path, step))| {
        let known = |id: &str| plan.step(id).is_some() || state.completed_steps.contains_key(id);
        let mut read = references(&step.sub_task_input, &known).into_iter();
        if read.any(|(_, read)| read.is_ok_and(|read| is_new(read.step))) {
            return None;
        }
        let error = last().filter(|entry| asks_same(entry, step)).find_map(final_error)?;
        let message = format!("the step fails in the same way again: {error}");
        Some(PlanViolation { path, message, is_soft: false })
    });
    repeated.collect()
}

/// Whether a step has changed something in this attempt, after which another may succeed.
fn has_changed(entry: &ContextEntry, capabilities: &Capabilities) -> bool {
    let tool = capabilities.tool(&entry.assigned_agent_role, &entry.tool_name);
    let changes = match tool.map(|tool| &tool.action) {
        Some(StepAction::Call(tool)) => !only_reads(tool.spec()),
        Some(StepAction::Explore(_) | StepAction::AskModel) => false,
        None => true,
    };
    changes && entry.status == StepStatus::Completed && !entry.reused
}

/// Whether a step asks the same of the same tool, whatever their ids. What explores the latest
/// search asks something else after another one.
fn asks_same(entry: &ContextEntry, step: &PlanStep) -> bool {
    let is_given = step.tool_name != EXPLORER || step.sub_task_input.contains_key("searchResults");
    is_given
        && entry.tool_name == step.tool_name
        && entry.assigned_agent_role == step.assigned_agent_role
        && entry.sub_task_input == step.sub_task_input
}

/// Why a step failed, if it may not succeed another time.
fn final_error(entry: &ContextEntry) -> Option<&str> {
    let error = entry.error_details.as_ref().filter(|_| entry.status == StepStatus::Failed)?;
    let is_final = match error.kind {
        StepErrorKind::Timeout
        | StepErrorKind::NoWorker
        | StepErrorKind::ToolTransport
        | StepErrorKind::UnknownOutcome
        | StepErrorKind::ModelTransport
        | StepErrorKind::ModelOutput => false,
        StepErrorKind::ReferenceResolution
        | StepErrorKind::UnknownTool
        | StepErrorKind::InvalidInput
        | StepErrorKind::ToolError
        | StepErrorKind::Auth
        | StepErrorKind::Policy
        | StepErrorKind::Refused => true,
    };
    is_final.then_some(error.message.as_str())
}
