//! Planning: the steps of a research, and what stays of them when the plan changes.

use antiphon_core::{Fault, Schema};
use serde_json::json;

use super::DeepResearch;
use super::coordinator::{fail, goes_on_without};
use super::next_node::NextNode;
use super::plan::{PlanDraft, PlanSituation, PlanVerdict, ResearchPlan, StepDraft};
use super::prompt::{
    add_observations, agent_started, brief_with, conversation, plan_text, question_inputs,
};
use super::state::State;
use crate::builder::RoleNode;
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::reply::{RoleReply, text};

/// Characters of an observation that the planner reads.
const OBSERVATION: usize = 1_500;

/// The role that plans.
pub(super) fn planner() -> RoleNode<DeepResearch> {
    let step = json!({
        "type": "object",
        "properties": {
            "title": text(),
            "description": {"type": "string"},
            "step_type": {"enum": ["research", "analysis"]},
            "needs_search": {"type": ["boolean", "null"]},
        },
        "required": ["title"],
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "thought": {"type": "string"},
            "has_enough_context": {"type": "boolean"},
            "steps": {"type": "array", "items": step},
        },
        "required": ["steps"],
    });
    RoleNode {
        role: "planner",
        schema: Schema::new("plan", schema),
        max_tool_calls: 0,
        begin: |cx| agent_started(cx, "planner"),
        conversation: planning,
        brief: |cx| {
            let reflection = json!(cx.state.last_reflection);
            Ok(brief_with(
                &cx.state,
                [("reflection", reflection), ("steps", json!(steps_left(cx)))],
            ))
        },
        conclude: planned,
    }
}

/// The least and the most new steps.
fn steps_left(cx: &NodeContext<DeepResearch>) -> (usize, usize) {
    let depth = cx.system().config.depth(cx.state.effective_depth);
    let completed = cx.state.plan().completed().count();
    let most = depth.max_steps.saturating_sub(completed).max(1);
    (depth.min_steps.saturating_sub(completed).clamp(1, most), most)
}

fn planning(cx: &NodeContext<DeepResearch>) -> Result<Vec<antiphon_core::Message>, Fault> {
    let state = &cx.state;
    let mut inputs = question_inputs(state);
    if !state.background_investigation_results.is_empty() {
        inputs.add("background", &state.background_investigation_results);
    }
    add_observations(&mut inputs, state, usize::MAX, OBSERVATION);
    if state.current_plan.is_some() {
        inputs.add("plan", &plan_text(state));
    }
    if let Some(last) = &state.last_reflection {
        let changes = last.suggested_changes.join("\n- ");
        inputs.add("reasoning", &format!("{}\n- {changes}", last.reasoning));
    }
    let (least, most) = steps_left(cx);
    let ask = match (state.short_plan_steps, state.current_plan.is_some()) {
        (Some(had), _) => format!("Your plan had {had} steps. Plan at least {least}."),
        (None, true) => {
            "Plan the steps that are still needed. Leave out what is completed.".to_owned()
        }
        (None, false) => "Plan the steps.".to_owned(),
    };
    let (least, most) = (least.to_string(), most.to_string());
    let fields = [("min_steps", least.as_str()), ("max_steps", most.as_str())];
    conversation(cx, ("planner", "planner"), &fields, &inputs, &ask)
}

fn planned(cx: &NodeContext<DeepResearch>, mut reply: RoleReply) -> Result<Patch<State>, Fault> {
    let mut draft: PlanDraft = reply.read()?;
    let mut patch = Patch::default();
    draft.steps.iter_mut().for_each(StepDraft::drop_copied);
    draft.steps.retain(|step| !step.title.trim().is_empty());
    let named = draft.steps.len();
    if named == 0 && !draft.has_enough_context {
        draft = PlanDraft::of_question(&cx.state.query);
    }
    take_over(cx, draft, named, &mut patch);
    Ok(patch)
}

/// The plan if the planner has failed: one step, the question itself.
pub(super) async fn plan_plainly(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    goes_on_without(&cx, &mut patch, "PLANNER_FAILED")?;
    let draft = PlanDraft::of_question(&cx.state.query);
    accept(&cx, revised(&cx, draft), NextNode::RouteStep, &mut patch);
    Ok(patch)
}

fn revised(cx: &NodeContext<DeepResearch>, draft: PlanDraft) -> ResearchPlan {
    let depth = cx.system().config.depth(cx.state.effective_depth);
    let mut plan = ResearchPlan::revised(cx.state.current_plan.as_ref(), draft, depth.max_steps);
    plan.created_at = cx.call.cx.clock.now().to_string();
    plan
}

/// Notes that the planner has named no step, and what is done about it.
fn no_step_named(plan: &ResearchPlan, patch: &mut Patch<State>) {
    let message = match plan.next() {
        Some(_) => "the planner named no step: the question itself is researched",
        None => "the planner named no further step: the report is written from what was found",
    };
    fail(patch, ("PLANNER_FAILED", message), true);
}

/// Takes a plan over. `named` are the steps of the planner's own.
fn take_over(
    cx: &NodeContext<DeepResearch>,
    draft: PlanDraft,
    named: usize,
    patch: &mut Patch<State>,
) {
    let state = &cx.state;
    let config = &cx.system().config;
    let plan = revised(cx, draft);
    let is_first = state.plan_iterations == 0;
    let situation = PlanSituation {
        completed: plan.completed().count(),
        steps: plan.steps.len(),
        min_steps: config.depth(state.effective_depth).min_steps,
        has_sources: !state.sources.all().is_empty(),
        has_enough_context: plan.has_enough_context,
        is_second: state.short_plan_steps.is_some() || !is_first,
    };
    match situation.verdict() {
        PlanVerdict::AskAgain => {
            let had = if named == 0 { situation.completed } else { plan.steps.len() };
            patch.set(State::short_plan_steps, Some(had));
            cx.go_to(patch, NextNode::Plan);
        }
        PlanVerdict::Research => {
            if named == 0 && !plan.has_enough_context {
                no_step_named(&plan, patch);
            }
            accept(cx, plan, NextNode::RouteStep, patch);
        }
        PlanVerdict::Synthesize => accept(cx, plan, NextNode::Synthesize, patch),
        PlanVerdict::Respond => {
            patch.set(State::warnings, ["needs_sources".to_owned()]);
            accept(cx, plan, NextNode::Respond, patch);
        }
    }
}

fn accept(
    cx: &NodeContext<DeepResearch>,
    plan: ResearchPlan,
    next: NextNode,
    patch: &mut Patch<State>,
) {
    let steps: Vec<_> = plan
        .steps
        .iter()
        .map(|step| json!({"id": step.id, "title": step.title, "status": step.status}))
        .collect();
    let data = json!({
        "plan_id": plan.id, "title": plan.title, "thought": plan.thought,
        "steps": steps, "iteration": plan.iteration,
    });
    patch
        .note("plan_created", data)
        .set(State::plan_iterations, plan.iteration)
        .set(State::current_step_index, plan.next().unwrap_or(plan.steps.len()))
        .set(State::current_plan, Some(plan))
        .reset(State::short_plan_steps);
    cx.go_to(patch, next);
}
