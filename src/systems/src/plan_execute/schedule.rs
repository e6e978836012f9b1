//! In which order the steps of a plan start.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capability::{Capabilities, StepAction};
use super::plan::{PlanStep, StagedPlan};
use super::reference::references;
use super::step_request::reads_previous;
use crate::tool_cache::only_reads;

/// What the steps of a plan wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionOrder {
    /// The stages before their own.
    #[default]
    Stages,
    /// The steps that they refer to. Steps that may change something, or that read what was done
    /// last, wait for the stages before their own nevertheless.
    Dag,
}

/// The steps of a plan that start together, by their ids: the waves in their order, the steps of
/// each in that of the plan. Steps that wait for each other are the last wave; none of
/// them finds what it refers to.
pub fn waves(
    plan: &StagedPlan,
    order: ExecutionOrder,
    capabilities: &Capabilities,
) -> Vec<Vec<String>> {
    let ids = |steps: &[PlanStep]| steps.iter().map(|step| step.step_id.clone()).collect();
    if order == ExecutionOrder::Stages {
        return plan.0.iter().map(|stage| ids(stage)).collect();
    }
    let mut open: Vec<(&str, BTreeSet<&str>)> = plan
        .steps()
        .map(|(stage, step)| (step.step_id.as_str(), sources(plan, stage, step, capabilities)))
        .collect();
    let (mut waves, mut done) = (Vec::new(), BTreeSet::new());
    while !open.is_empty() {
        let is_ready = |(_, sources): &(&str, BTreeSet<&str>)| sources.is_subset(&done);
        let (mut ready, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(is_ready);
        open = rest;
        if ready.is_empty() {
            ready.append(&mut open);
        }
        done.extend(ready.iter().map(|(id, _)| *id));
        waves.push(ready.into_iter().map(|(id, _)| id.to_owned()).collect());
    }
    waves
}

/// The steps that a step waits for.
fn sources<'p>(
    plan: &'p StagedPlan,
    stage: usize,
    step: &PlanStep,
    capabilities: &Capabilities,
) -> BTreeSet<&'p str> {
    let is_step = |id: &str| plan.step(id).is_some();
    let named = references(&step.sub_task_input, &is_step);
    let named = named.iter().filter_map(|(_, read)| read.as_ref().ok());
    let mut sources: BTreeSet<&str> = named
        .filter_map(|reference| plan.step(reference.step))
        .map(|(_, source)| source.step_id.as_str())
        .collect();
    if keeps_stages(step, capabilities) {
        let earlier = plan.steps().filter(|(other, _)| *other < stage);
        sources.extend(earlier.map(|(_, source)| source.step_id.as_str()));
    }
    sources
}

/// Whether a step depends on more than its references say.
fn keeps_stages(step: &PlanStep, capabilities: &Capabilities) -> bool {
    let tool = capabilities.tool(&step.assigned_agent_role, &step.tool_name);
    match tool.map(|tool| &tool.action) {
        Some(StepAction::Call(tool)) => !only_reads(tool.spec()),
        Some(StepAction::Explore(_)) => !step.sub_task_input.contains_key("searchResults"),
        Some(StepAction::AskModel) => step.is_final_answer() || reads_previous(step),
        None => true,
    }
}
