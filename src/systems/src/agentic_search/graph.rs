//! The graph: discover, plan, run tasks in waves, answer.

use antiphon_core::Fault;
use antiphon_core::command::Destinations;
use antiphon_core::graph::{END, START};
use serde_json::{Value as Json, json};

use super::AgenticSearch;
use super::config::{Config, NoToolsPolicy};
use super::conversation::{
    answer_schema, answering, answering_brief, plan_schema, planning, planning_brief,
};
use super::discovery::{discover, initialize};
use super::execute::{check, execute, schedule};
use super::fallback::{fallback_plan, plan, respond};
use super::history::save;
use super::plan::{PlanSource, TaskStatus, moment};
use super::planning::PlanReply;
use super::state::{SearchOutcome, State};
use super::synthesis::conclude;
use crate::builder::{RoleDefaults, RoleNode, SystemBuilder};
use crate::node::{NodeContext, NodeExit, StateView, fan_out, goto};
use crate::patch::Patch;
use crate::reply::RoleReply;
use crate::role::RoleSpec;

const INITIALIZE: &str = "initialize_search";
const DISCOVER: &str = "discover_tools";
const PLAN: &str = "create_execution_plan";
/// A person says what the question means.
const ASK: &str = "ask_person";
/// The plan without the planner.
const FALLBACK_PLAN: &str = "fallback_plan";
const SCHEDULE: &str = "schedule_tasks";
const EXECUTE: &str = "execute_task";
const GATHER: &str = "gather_information";
const SYNTHESIZE: &str = "synthesize";
/// The answer without the synthesiser.
const FALLBACK: &str = "fallback_response";
const SAVE: &str = "save_history";

/// The roles, in the order in which they work.
pub(super) const ROLES: &[RoleSpec] = &[
    RoleSpec { name: "planner", description: "Plans the calls of tools.", has_tools: false },
    RoleSpec { name: "synthesiser", description: "Words the answer.", has_tools: false },
];

/// Adds everything to the graph.
pub(super) fn build(
    config: &Config,
    graph: &mut SystemBuilder<AgenticSearch>,
) -> Result<(), Fault> {
    // A reply that does not fit is worked with: asking again would be a further request.
    let temperature = config.temperature;
    graph.defaults(RoleDefaults { temperature, max_reasks: 0, tool_timeout: None });
    graph.node(INITIALIZE, initialize).node(DISCOVER, discover);
    graph.role(PLAN, planner(config))?.node(ASK, ask_person).node(FALLBACK_PLAN, plan);
    graph.node(SCHEDULE, schedule).node(EXECUTE, execute).node(GATHER, gather);
    graph.role_of_any_reply(SYNTHESIZE, synthesiser(config))?;
    graph.node(FALLBACK, respond).node(SAVE, save);
    graph.edge(START, INITIALIZE).edge(INITIALIZE, DISCOVER);
    let on_no_tools = config.on_no_tools;
    let found = [("tools", PLAN), ("none", FALLBACK), ("answer", SYNTHESIZE)];
    graph.branch(DISCOVER, "found", &found, move |view| {
        let is_empty = view.get(State::enabled_tools)?.is_empty();
        Ok(goto(match (is_empty, on_no_tools) {
            (false, _) => "tools",
            (true, NoToolsPolicy::Canned) => "none",
            (true, NoToolsPolicy::Model) => "answer",
        }))
    });
    let planned = [("tasks", SCHEDULE), ("over", SAVE)];
    let asked = [("tasks", SCHEDULE), ("over", SAVE), ("ask", ASK)];
    graph
        .edge(ASK, PLAN)
        .branch(PLAN, "planned", &asked, has_tasks)
        .on_error_goto(PLAN, FALLBACK_PLAN);
    graph.branch(FALLBACK_PLAN, "planned", &planned, has_tasks);
    graph.branch(SCHEDULE, "wave", &[("run", EXECUTE), ("gather", GATHER)], wave);
    graph.edge(EXECUTE, SCHEDULE);
    graph.branch(GATHER, "asked", &[("ask", SYNTHESIZE), ("none", FALLBACK)], |view| {
        Ok(goto(if view.get(State::error)?.is_some() { "none" } else { "ask" }))
    });
    let answered = [("over", SAVE), ("again", PLAN), ("none", FALLBACK)];
    graph.branch(SYNTHESIZE, "answered", &answered, answered_by);
    graph.on_error_goto(SYNTHESIZE, FALLBACK);
    graph.branch(FALLBACK, "kept", &[("save", SAVE), ("end", END)], |view| {
        let outcome = view.get(State::search_outcome)?;
        Ok(goto(if outcome == Some(SearchOutcome::NoTools) { "end" } else { "save" }))
    });
    graph.edge(SAVE, END).on_budget(FALLBACK);
    Ok(())
}

/// Whether there is something to do before the answer.
fn has_tasks(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let is_open = view.get(State::clarifying_question)?.is_some()
        && view.get(State::clarification)?.is_none();
    Ok(goto(match (view.get(State::final_response)?.is_some(), is_open) {
        (true, _) => "over",
        (false, true) => "ask",
        (false, false) => "tasks",
    }))
}

/// The tasks of the wave, in their order.
fn wave(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let wave = view.get(State::wave)?;
    if wave.is_empty() {
        return Ok(goto("gather"));
    }
    Ok(fan_out(EXECUTE, wave.iter().map(|task| json!(task))))
}

fn answered_by(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let is_answered = view.get(State::final_response)?.is_some();
    let is_draft = view.get(State::draft_response)?.is_some();
    Ok(goto(match (is_answered, is_draft) {
        (true, _) => "over",
        (false, true) => "again",
        (false, false) => "none",
    }))
}

fn planner(config: &Config) -> RoleNode<AgenticSearch> {
    RoleNode {
        role: "planner",
        schema: plan_schema(config),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| planning(cx.system(), &cx.state, cx.call.cx.clock.now()),
        brief: |cx| Ok(planning_brief(&cx.system().config, &cx.state)),
        conclude: planned,
    }
}

/// Takes over the plan of the planner, as far as it holds together.
fn planned(cx: &NodeContext<AgenticSearch>, mut reply: RoleReply) -> Result<Patch<State>, Fault> {
    let PlanReply { reasoning, tasks, question } = reply.read()?;
    let question = question.filter(|question| !question.trim().is_empty());
    let may_ask = cx.system().config.clarify && cx.state.clarification.is_none();
    if let Some(question) = question.filter(|_| may_ask && tasks.is_empty()) {
        let mut patch = Patch::default();
        patch
            .note("clarification_requested", json!({"question": question}))
            .set(State::thinking_steps, [format!("A person is asked: {question}")])
            .set(State::clarifying_question, Some(question));
        return Ok(patch);
    }
    let now = moment(cx.call.cx.clock.now());
    let mut plan = cx.state.plan();
    let was_empty = tasks.is_empty();
    let check = check(cx, &plan, &now);
    let (tasks, notes) = check.tasks(tasks, &plan);
    let mut patch = Patch::default();
    let mut steps = notes.move_into(&mut patch);
    // An empty plan says that the conversation holds the answer, if there is one.
    let is_answerable = was_empty && !cx.state.conversation_history.is_empty();
    let has_draft = cx.state.draft_response.is_some();
    // With an answer at hand, tasks whose results it has seen already add nothing.
    let is_repeated = has_draft && tasks.iter().all(|task| check.repeats(task, &plan));
    if is_repeated || (tasks.is_empty() && !is_answerable) {
        let reason = match (was_empty, tasks.is_empty()) {
            (true, _) => "the plan has no task",
            (_, true) => "no task of the plan can be used",
            (_, false) => "the plan repeats tasks",
        };
        patch.set(State::thinking_steps, steps);
        fallback_plan(cx, reason, &mut patch);
        return Ok(patch);
    }
    plan.reasoning = reasoning.unwrap_or_default();
    plan.plan_created_at = now;
    plan.source = PlanSource::Model;
    let data = json!({"source": plan.source, "reasoning": plan.reasoning, "tasks": tasks});
    steps.insert(0, format!("Plan: {}", plan.reasoning));
    let line = |task: &super::plan::SearchTask| {
        format!("{}. {}: {}", task.task_number, task.tool_name, task.description)
    };
    steps.extend(tasks.iter().map(line));
    plan.tasks.extend(tasks);
    patch
        .note("plan_created", data)
        .set(State::current_turn_iteration_count, cx.state.current_turn_iteration_count + 1)
        .set(State::execution_plan, Some(plan))
        .reset(State::draft_response)
        .set(State::thinking_steps, steps);
    Ok(patch)
}

/// Asks a person what the question means.
async fn ask_person(cx: NodeContext<AgenticSearch>) -> Result<NodeExit<State>, Fault> {
    let question = cx.state.clarifying_question.clone().unwrap_or_default();
    let Some(answer) = cx.answers().first() else { return Ok(NodeExit::Ask(json!(question))) };
    let answer = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
    let mut patch = Patch::default();
    patch
        .set(State::thinking_steps, [format!("The person answered: {answer}")])
        .set(State::clarification, Some(answer));
    Ok(patch.into())
}

/// Counts what was found, before the answer is asked for. A model that cannot be asked is not.
async fn gather(cx: NodeContext<AgenticSearch>) -> Result<Patch<State>, Fault> {
    let plan = cx.state.plan();
    let completed = plan.with_status(TaskStatus::Completed).count();
    let failed = plan.with_status(TaskStatus::Failed).count();
    let sources = plan.sources_used();
    let step = format!("{completed} results, {failed} failures, from: {}", sources.join(", "));
    let data = json!({"completed": completed, "failed": failed, "sources_used": sources});
    let mut patch = Patch::default();
    let roles = &cx.system().resources.roles;
    patch
        .note("information_gathered", data)
        .set(State::error, cx.scope.requests.dead_end(roles, &["synthesiser"]))
        .set(State::thinking_steps, [step]);
    Ok(patch)
}

fn synthesiser(config: &Config) -> RoleNode<AgenticSearch> {
    RoleNode {
        role: "synthesiser",
        schema: answer_schema(config),
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| answering(cx.system(), &cx.state, cx.call.cx.clock.now()),
        brief: |cx| Ok(answering_brief(&cx.state)),
        conclude,
    }
}
