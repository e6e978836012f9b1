//! After each step: how the research goes on.

use antiphon_core::{Fault, Schema};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::DeepResearch;
use super::coordinator::role_failed;
use super::next_node::NextNode;
use super::prompt::{
    add_observations, agent_started, brief, conversation, plan_text, question_inputs,
};
use super::reflection::{ReflectionDecision, ReflectionResult, ReflectionSituation};
use super::source::ResearchSource;
use super::state::State;
use crate::builder::RoleNode;
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::reply::RoleReply;

/// Characters of an observation that the reflector reads.
const OBSERVATION: usize = 800;

/// The role that decides how the research goes on.
pub(super) fn reflector() -> RoleNode<DeepResearch> {
    let texts = json!({"type": ["array", "null"], "items": {"type": "string"}});
    let schema = json!({
        "type": "object",
        "properties": {
            "reasoning": {"type": ["string", "null"]},
            "covered_topics": texts,
            "coverage_gaps": texts,
            "remaining_topics": texts,
            "suggested_changes": texts,
            "decision": {"enum": ["continue", "adjust", "complete"]},
        },
        "required": ["decision"],
    });
    RoleNode {
        role: "reflector",
        schema: Schema::new("reflection", schema),
        max_tool_calls: 0,
        begin: |cx| agent_started(cx, "reflector"),
        conversation: |cx| {
            let state = &cx.state;
            let mut inputs = question_inputs(state);
            inputs.add("plan", &plan_text(state));
            add_observations(&mut inputs, state, usize::MAX, OBSERVATION);
            let names: Vec<_> = state.sources.all().iter().map(ResearchSource::name).collect();
            inputs.add("sources", &names.join("\n"));
            conversation(cx, ("reflector", "reflector"), &[], &inputs, "Decide how to go on.")
        },
        brief: |cx| Ok(brief(&cx.state)),
        conclude: |cx, mut reply: RoleReply| {
            let mut fields: Map<String, Json> = reply.read()?;
            fields.retain(|_, value| !value.is_null());
            let said = ReflectionResult::deserialize(Json::Object(fields)).unwrap_or_default();
            let mut patch = Patch::default();
            decide(cx, said, &mut patch);
            Ok(patch)
        },
    }
}

/// If the reflector has failed, the plan goes on.
pub(super) async fn reflect_plainly(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    role_failed(&cx, &mut patch, "REFLECTOR_FAILED");
    decide(&cx, ReflectionResult::default(), &mut patch);
    Ok(patch)
}

fn decide(cx: &NodeContext<DeepResearch>, said: ReflectionResult, patch: &mut Patch<State>) {
    let state = &cx.state;
    let config = &cx.system().config;
    let mut plan = state.plan();
    let least = config.depth(state.effective_depth).min_steps;
    let situation = ReflectionSituation {
        completed: plan.completed().count(),
        pending: plan.steps.iter().filter(|step| step.is_open()).count(),
        min_steps: if config.enforce_min_steps { least } else { 0 },
        plan_iterations: state.plan_iterations,
        max_plan_iterations: config.max_plan_iterations,
    };
    let (settled, overridden) = situation.settle(said);
    let data = json!({
        "decision": settled.decision, "reasoning": settled.reasoning,
        "suggested_changes": settled.suggested_changes, "overridden": overridden,
    });
    patch.note("reflection_decision", data);
    let next = match settled.decision {
        ReflectionDecision::Continue => NextNode::RouteStep,
        ReflectionDecision::Complete => NextNode::Synthesize,
        ReflectionDecision::Adjust => {
            patch.set(State::skipped_steps, plan.skip_open()).set(State::current_plan, Some(plan));
            NextNode::Plan
        }
    };
    patch
        .set(State::last_reflection, Some(settled.clone()))
        .set(State::reflection_history, [settled]);
    cx.go_to(patch, next);
}
