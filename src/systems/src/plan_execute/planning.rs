//! Plans of the planner: the first one, and revised ones after a step has failed.

use std::collections::BTreeSet;

use antiphon_core::reply::ReplyParser;
use antiphon_core::{Fault, Message, Schema};
use antiphon_reply::CompiledSchema;
use serde_json::{Value as Json, json};

use super::PlanExecute;
use super::expression::model_calculations;
use super::invented_number::invented_numbers;
use super::plan::{PlanSource, PlanStep, StagedPlan};
use super::plan_example::examples;
use super::record::{ContextEntry, ErrorSummary, ReplanOutcome, ReplanRecord};
use super::repair::{RepairedPlan, repaired};
use super::repeated_step::repeated_steps;
use super::state::{PlanProgress, State, TaskStatus};
use super::step_output::StepStatus;
use super::validation::{CheckedPlan, PlanViolation, check};
use super::working_context::{last, preview};
use crate::builder::RoleNode;
use crate::delimited_input::DelimitedInput;
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::prompts::ModelTier;
use crate::reply::RoleReply;

/// Characters of a failed plan that a planner reads whole.
const PLAN: usize = 2_000;
/// Characters of a result that a planner reads.
const RESULT: usize = 300;

/// The schema of a plan. All else is checked by code, which says where a plan is wrong.
pub(super) fn plan_schema() -> Schema {
    let text = json!({"type": "string"});
    let step = json!({
        "type": "object",
        "properties": {
            "stepId": text, "assigned_agent_role": text, "tool_name": text,
            "sub_task_input": {"type": "object"}, "narrative_step": text,
        },
    });
    let stages = json!({"type": "array", "items": {"type": "array", "items": step}});
    let properties = json!({ "stages": stages });
    let schema = json!({"type": "object", "properties": properties, "required": ["stages"]});
    Schema::new("plan", schema)
}

/// Makes plans.
pub(super) fn planner() -> RoleNode<PlanExecute> {
    RoleNode {
        role: "planner",
        schema: plan_schema(),
        max_tool_calls: 0,
        begin: |cx| {
            if cx.state.attempt > 0 && cx.state.reasks == 0 {
                let data = json!({"isRevision": true, "revision": cx.state.revisions_used + 1});
                cx.note("REPLANNING_STARTED", data);
            }
        },
        conversation,
        brief: |cx| {
            Ok(json!({
                "task": cx.state.user_task,
                "tools": cx.system().capabilities.text(),
                "revision": (cx.state.attempt > 0).then(|| revision(&cx.state)),
                "rejected_plan": cx.state.rejected_plan,
                "violations": shown(&cx.state.violations),
            }))
        },
        conclude: |cx, reply| Ok(planned(cx, &reply)),
    }
}

fn conversation(cx: &NodeContext<PlanExecute>) -> Result<Vec<Message>, Fault> {
    let state = &cx.state;
    let is_revision = state.attempt > 0;
    let prompt = if is_revision { "replanner" } else { "planner" };
    let PlanExecute { resources, capabilities, .. } = cx.system();
    let (tools, examples) = match resources.roles.tier("planner") {
        ModelTier::Small => (capabilities.short_text(), Some(examples(capabilities))),
        ModelTier::Large => (capabilities.text(), None),
    };
    let values: Vec<_> = examples.iter().map(|text| ("examples", text.as_str())).collect();
    let instructions = resources.instructions("planner", prompt, &values)?;
    let mut input = DelimitedInput::new();
    input.add("tools", &tools);
    if is_revision {
        let revision = revision(state);
        let known = |key: &str| revision.get(key).map(Json::to_string).unwrap_or_default();
        input
            .add("context", &known("context"))
            .add("failed_plan", &known("failed_plan"))
            .add("failed_step", &known("failed_step"))
            .add("completed_steps", &known("completed_steps"))
            .add("last_steps", &known("last_steps"))
            .add("earlier_failures", &known("earlier_failures"));
    }
    input.add("task", &state.user_task);
    if let Some(rejected) = &state.rejected_plan {
        input.add("rejected_plan", &rejected.to_string());
        input.add("violations", &shown(&state.violations).join("\n"));
        let instruction = "Something is wrong in the rejected plan. Make the whole plan again, without these mistakes.";
        return Ok(vec![Message::system(instructions), Message::user(input.then(instruction))]);
    }
    Ok(vec![Message::system(instructions), Message::user(input.then("Make a plan for the task."))])
}

fn shown(violations: &[PlanViolation]) -> Vec<String> {
    violations.iter().map(ToString::to_string).collect()
}

/// What a planner reads of an attempt that has failed.
fn revision(state: &State) -> Json {
    let failed = state.failed_step_details.as_ref();
    let whole = json!(state.plan);
    let plan = if whole.to_string().chars().count() < PLAN {
        whole
    } else {
        let is_done = |step: &PlanStep| state.completed_steps.contains_key(&step.step_id);
        let open = state.plan.steps().map(|(_, step)| step).filter(|step| !is_done(step));
        json!(open.collect::<Vec<_>>())
    };
    let entry = |entry: &ContextEntry| {
        let shown = json!({
            "stepId": entry.step_id, "step": entry.narrative_step, "status": entry.status,
            "result": preview(entry.processed(), RESULT),
            "error": entry.error_details.as_ref().map(|error| &error.message),
        });
        with_partial_errors(shown, entry)
    };
    let reached: Vec<&ContextEntry> =
        state.execution_context.iter().filter(|one| one.status != StepStatus::Skipped).collect();
    let completed = state.completed_steps.values().map(|one| {
        let result = preview(one.processed(), RESULT);
        let shown = json!({"stepId": one.step_id, "step": one.narrative_step, "result": result});
        with_partial_errors(shown, one)
    });
    json!({
        "context": state.cwc.brief(),
        "failed_plan": plan,
        "failed_step": failed,
        "completed_steps": completed.collect::<Vec<_>>(),
        "last_steps": last(&reached, 3).iter().map(|one| entry(one)).collect::<Vec<_>>(),
        "earlier_failures": last(&state.replan_history, 3),
    })
}

/// A step as a planner reads of it, with what of it has failed.
fn with_partial_errors(mut shown: Json, entry: &ContextEntry) -> Json {
    if let Some(fields) = shown.as_object_mut().filter(|_| !entry.partial_errors.is_empty()) {
        fields.insert("partialErrors".to_owned(), json!(entry.partial_errors));
    }
    shown
}

/// Checks a plan against the tools, and the outputs that it may refer to.
pub(super) fn check_plan(cx: &NodeContext<PlanExecute>, stages: &Json) -> CheckedPlan {
    let config = &cx.system().config;
    let carried = if config.carry_outputs { cx.state.carried_ids() } else { BTreeSet::new() };
    let mut checked = check(stages, &cx.system().capabilities, &carried, config.execution);
    if config.strict_plan && !checked.violations.is_empty() {
        checked.plan = None;
    }
    checked
}

/// The plan as it is meant, with what was put right as an event. A strict system takes plans as
/// they are.
fn repair_plan(cx: &NodeContext<PlanExecute>, stages: Json, patch: &mut Patch<State>) -> Json {
    let system = cx.system();
    if system.config.strict_plan {
        return stages;
    }
    let carried = cx.state.completed_steps.iter().filter(|_| system.config.carry_outputs);
    let carried = carried.map(|(id, entry)| (id.clone(), entry.tool_name.clone())).collect();
    let RepairedPlan { stages, repairs } = repaired(&stages, &system.capabilities, &carried);
    if !repairs.is_empty() {
        let shown: Vec<String> = repairs.iter().map(ToString::to_string).collect();
        patch.note("PLAN_REPAIRED", json!({"repairs": shown}));
    }
    stages
}

/// Takes over the plan of a reply, or has the planner asked again with what is wrong. What is
/// only misplaced is worked with once that has not helped.
fn planned(cx: &NodeContext<PlanExecute>, reply: &RoleReply) -> Patch<State> {
    let said = reply.messages.last().map(|message| message.content.text().into_owned());
    let stages = stages(reply.value.as_ref(), said.as_deref().unwrap_or_default());
    let raw = said.or_else(|| stages.as_ref().map(Json::to_string));
    let mut patch = Patch::default();
    let stages = stages.map(|stages| repair_plan(cx, stages, &mut patch));
    let CheckedPlan { mut plan, mut violations } = match &stages {
        Some(stages) => check_plan(cx, stages),
        None => unreadable(),
    };
    if let Some(plan) = &plan {
        let capabilities = &cx.system().capabilities;
        violations.extend(invented_numbers(plan, &cx.state.user_task, capabilities));
        violations.extend(model_calculations(plan, capabilities));
    }
    let repeated = match &plan {
        Some(plan) if cx.state.attempt > 0 => repeated_steps(&cx.state, cx.system(), plan),
        _ => Vec::new(),
    };
    let is_strict = cx.system().config.strict_plan && !violations.is_empty();
    plan = plan.filter(|_| repeated.is_empty() && !is_strict);
    violations.extend(repeated);
    patch.set_or_reset(State::raw_llm_response, raw);
    if !violations.is_empty() {
        let data = json!({"violations": shown(&violations), "canRun": plan.is_some()});
        patch.note("PLAN_VALIDATION_FAILED", data);
    }
    if !violations.is_empty() && cx.state.reasks < cx.system().config.max_reasks {
        patch
            .set(State::progress, PlanProgress::Again)
            .set(State::reasks, cx.state.reasks + 1)
            .set(State::rejected_plan, Some(stages.unwrap_or_else(|| json!([]))))
            .set(State::violations, violations);
        return patch;
    }
    let Some(plan) = plan else {
        patch.set(State::progress, PlanProgress::Failed).set(State::violations, violations);
        return patch;
    };
    let warnings = violations.iter().map(|one| format!("the plan runs although: {one}"));
    patch.set(State::warnings, warnings.collect::<Vec<_>>());
    let source = if cx.state.attempt > 0 { PlanSource::LlmRevision } else { PlanSource::Llm };
    accept(cx, plan, source, &mut patch);
    patch
}

fn unreadable() -> CheckedPlan {
    let message = "the reply is no plan: it needs one JSON object with `stages`".to_owned();
    let violation = PlanViolation { path: String::new(), message, is_soft: false };
    CheckedPlan { plan: None, violations: vec![violation] }
}

/// The stages in a reply: in its field, or as a bare list in its text.
fn stages(value: Option<&Json>, said: &str) -> Option<Json> {
    if let Some(stages) = value.and_then(|value| value.get("stages")) {
        return Some(stages.clone());
    }
    let read = |schema: Json| {
        let schema = CompiledSchema::compile(&Schema::new("stages", schema)).ok()?;
        Some(schema.parse(said).ok()?.value)
    };
    let list = json!({"type": "array", "items": {"type": ["array", "object"]}});
    let named = json!({"type": "object", "properties": {"stages": list}, "required": ["stages"]});
    let named = read(named).and_then(|mut value| Some(value.get_mut("stages")?.take()));
    named.or_else(|| read(list))
}

/// Takes over a plan that can run.
pub(super) fn accept(
    cx: &NodeContext<PlanExecute>,
    plan: StagedPlan,
    source: PlanSource,
    patch: &mut Patch<State>,
) {
    let now = cx.call.cx.clock.now().to_string();
    let stages = plan.0.len();
    let data = json!({"source": source, "stages": stages, "plan": plan});
    let mut cwc = cx.state.cwc.clone();
    if source == PlanSource::LlmRevision {
        patch.note("REPLANNING_SUCCESS", data);
        patch
            .set(State::revisions_used, cx.state.revisions_used + 1)
            .set(State::replan_history, cx.state.replanned(ReplanOutcome::Planned));
        let progress = format!("The plan was revised; it has {stages} stages.");
        cwc.moved(&now, progress, "Execute the revised plan.");
    } else {
        patch.note("PLANNING_COMPLETED", data);
        let progress = format!("There is a plan with {stages} stages, from: {}.", json!(source));
        cwc.moved(&now, progress.replace('"', ""), "Execute the plan.");
    }
    patch
        .set(State::status, TaskStatus::PlanGenerated)
        .set(State::progress, PlanProgress::Ready)
        .set(State::plan, plan)
        .set(State::plan_source, Some(source))
        .set(State::cwc, cwc)
        .reset(State::violations)
        .reset(State::rejected_plan)
        .reset(State::reasks)
        .reset(State::error);
}

/// The request for a revised plan, for the history.
pub(super) fn replan_record(cx: &NodeContext<PlanExecute>) -> Option<ReplanRecord> {
    let failed = cx.state.failed_step_details.as_ref()?;
    Some(ReplanRecord {
        cycle_id: u32::try_from(cx.state.replan_history.len())
            .unwrap_or(u32::MAX)
            .saturating_add(1),
        attempt_in_cycle: cx.state.attempt,
        failed_step_id: failed.step_id.clone(),
        failed_step_narrative: failed.narrative_step.clone(),
        error_message: failed.error_details.message.clone(),
        timestamp: cx.call.cx.clock.now().to_string(),
        outcome: ReplanOutcome::Requested,
    })
}

/// There is no plan: the task ends with an explanation. Also takes the place of a planner that
/// has failed.
pub(super) async fn planning_failed(cx: NodeContext<PlanExecute>) -> Result<Patch<State>, Fault> {
    let state = &cx.state;
    let fault = cx.call.handles.as_ref().map(|(_, fault)| fault);
    let reason = match fault {
        Some(fault) => format!("the planner has failed: {}", fault.message),
        None => format!("there is no usable plan: {}", shown(&state.violations).join("; ")),
    };
    let now = cx.call.cx.clock.now().to_string();
    let mut cwc = state.cwc.clone();
    let planning = PlanStep {
        step_id: "plan".to_owned(),
        narrative_step: "make a plan".to_owned(),
        tool_name: "planner".to_owned(),
        ..PlanStep::default()
    };
    cwc.error(&planning, &reason, &now);
    let mut patch = Patch::default();
    let status = if state.attempt > 0 {
        patch
            .note("REPLANNING_FAILED", json!({"reason": reason}))
            .set(State::replan_history, state.replanned(ReplanOutcome::NoPlan));
        cwc.moved(&now, "The plan could not be revised.".to_owned(), "Explain what failed.");
        TaskStatus::FailedExecution
    } else {
        patch.note("PLANNING_FAILED", json!({"reason": reason}));
        cwc.moved(&now, "There is no plan.".to_owned(), "Explain what failed.");
        TaskStatus::FailedPlanning
    };
    let failed_step = state.failed_step_details.clone();
    patch
        .set(State::status, status)
        .set(State::cwc, cwc)
        .set(State::error_summary, Some(ErrorSummary { reason, failed_step }));
    if let Some(fault) = fault {
        patch.set(State::error, Some(fault.clone()));
    }
    Ok(patch)
}
