//! The graph: plan, carry out stage by stage, revise, answer.

use antiphon_core::Fault;
use antiphon_core::command::Destinations;
use antiphon_core::graph::{END, START};
use serde_json::Value as Json;

use super::config::Config;
use super::input::ExecutionMode;
use super::state::{PlanProgress, State};
use super::{
    PlanExecute, answer, attempt, begin, collect, execute, model_step, planning, tool_step,
};
use crate::builder::{RoleDefaults, SystemBuilder};
use crate::node::{StateView, goto};
use crate::role::{RoleSpec, Roles};

const RECEIVE: &str = "receive_task";
pub(super) const MATCH: &str = "match_template";
pub(super) const PLAN: &str = "create_plan";
/// The task ends without a plan.
pub(super) const PLANNING_FAILED: &str = "planning_failed";
/// A person approves the plan.
pub(super) const APPROVE: &str = "approve_plan";
pub(super) const BEGIN_ATTEMPT: &str = "begin_attempt";
pub(super) const START_STAGE: &str = "start_stage";
/// One step, by its tool.
pub(super) const EXECUTE: &str = "execute_step";
/// One step, by a model.
pub(super) const WRITE: &str = "write_step";
/// A step whose model has failed.
const WRITE_FAILED: &str = "write_step_failed";
pub(super) const COLLECT: &str = "collect_results";
pub(super) const SUMMARISE: &str = "summarise_result";
/// A result whose summary has failed.
const SUMMARY_FAILED: &str = "summary_failed";
pub(super) const FINISH_STAGE: &str = "finish_stage";
pub(super) const END_ATTEMPT: &str = "end_attempt";
pub(super) const UPDATE_CONTEXT: &str = "update_context";
/// The context without its update.
const KEEP_CONTEXT: &str = "keep_context";
pub(super) const SYNTHESISE: &str = "synthesise";
pub(super) const EXPLAIN: &str = "explain_failure";
/// The answer without the synthesiser.
pub(super) const DIGEST: &str = "digest_results";
pub(super) const SAVE: &str = "save_task";

/// The most tokens of a reply of a small model: that of a long plan.
const SMALL_REPLY: u32 = 1_024;

/// The roles, in the order in which they work.
pub(super) const ROLES: &[RoleSpec] = &[
    role("planner", "Makes plans, and revises them."),
    role("step_executor", "Carries out the steps that need a model."),
    role("summariser", "Summarises long results."),
    role("context_keeper", "Says how the task stands."),
    role("synthesiser", "Words the answer, or explains what failed."),
];

const fn role(name: &'static str, description: &'static str) -> RoleSpec {
    RoleSpec { name, description, has_tools: false }
}

/// Adds everything to the graph.
pub(super) fn build(
    config: &Config,
    roles: &Roles,
    graph: &mut SystemBuilder<PlanExecute>,
) -> Result<(), Fault> {
    let temperature = config.temperature;
    graph.defaults(RoleDefaults { temperature, max_reasks: 1, tool_timeout: None });
    graph.small_reply_tokens(SMALL_REPLY);
    add_planning(config.approve_plan, graph)?;
    add_execution(graph)?;
    add_summaries(!roles.is_small_and_shared("summariser"), graph)?;
    add_context(!roles.is_small_and_shared("context_keeper"), graph)?;
    add_answer(graph)
}

fn add_planning(approves: bool, graph: &mut SystemBuilder<PlanExecute>) -> Result<(), Fault> {
    graph.node(RECEIVE, begin::receive).node(MATCH, begin::match_template);
    // A plan in which something is wrong is asked for again by the graph, with what is wrong.
    graph.role_of_any_reply(PLAN, planning::planner())?;
    graph.node(PLANNING_FAILED, planning::planning_failed).node(APPROVE, begin::approve);
    graph.edge(START, RECEIVE).edge(PLANNING_FAILED, EXPLAIN);
    graph.branch(
        RECEIVE,
        "mode",
        &same(&[MATCH, APPROVE, BEGIN_ATTEMPT, PLANNING_FAILED, SYNTHESISE, EXPLAIN]),
        move |view| begin::received(view, approves),
    );
    let planned = move |view: &StateView<'_, '_>| planned(view, approves);
    let ways = same(&[PLAN, PLANNING_FAILED, APPROVE, BEGIN_ATTEMPT, SAVE]);
    graph.branch(MATCH, "planned", &ways, planned).branch(PLAN, "planned", &ways, planned);
    graph.on_error_handle(PLAN, PLANNING_FAILED);
    graph.branch(APPROVE, "approved", &same(&[BEGIN_ATTEMPT, SAVE]), |view| {
        let is_refused = view.get(State::progress)? == PlanProgress::Refused;
        let is_over = is_refused || view.get(State::mode)? == ExecutionMode::PlanOnly;
        Ok(goto(if is_over { SAVE } else { BEGIN_ATTEMPT }))
    });
    Ok(())
}

/// Where a plan goes.
fn planned(view: &StateView<'_, '_>, approves: bool) -> Result<Destinations<Json>, Fault> {
    let is_plan_only = view.get(State::mode)? == ExecutionMode::PlanOnly;
    Ok(goto(match view.get(State::progress)? {
        PlanProgress::Open | PlanProgress::Again => PLAN,
        PlanProgress::Failed | PlanProgress::Refused => PLANNING_FAILED,
        PlanProgress::Ready if approves => APPROVE,
        PlanProgress::Ready if is_plan_only => SAVE,
        PlanProgress::Ready => BEGIN_ATTEMPT,
    }))
}

fn add_execution(graph: &mut SystemBuilder<PlanExecute>) -> Result<(), Fault> {
    graph.node(BEGIN_ATTEMPT, attempt::begin_attempt).node(START_STAGE, execute::start_stage);
    graph
        .node(EXECUTE, tool_step::execute)
        .role_of_any_reply(WRITE, model_step::step_executor())?;
    graph.node(WRITE_FAILED, model_step::fail_model_step).on_error_handle(WRITE, WRITE_FAILED);
    graph
        .node(COLLECT, collect::collect)
        .node(FINISH_STAGE, collect::finish_stage)
        .node(END_ATTEMPT, attempt::end_attempt);
    graph.edge(BEGIN_ATTEMPT, START_STAGE);
    let ways = same(&[EXECUTE, WRITE, COLLECT]);
    graph.branch(START_STAGE, "steps", &ways, execute::dispatch);
    graph.edge(EXECUTE, COLLECT).edge(WRITE, COLLECT).edge(WRITE_FAILED, COLLECT);
    let ways = same(&[START_STAGE, END_ATTEMPT]);
    graph.branch(FINISH_STAGE, "stage", &ways, attempt::next_stage);
    graph.branch(END_ATTEMPT, "attempt", &same(&[PLAN, UPDATE_CONTEXT]), attempt::attempted);
    Ok(())
}

/// Without a summariser, the beginning of a long result stands for its summary.
fn add_summaries(asks_model: bool, graph: &mut SystemBuilder<PlanExecute>) -> Result<(), Fault> {
    if !asks_model {
        graph.edge(COLLECT, FINISH_STAGE);
        return Ok(());
    }
    graph.role_of_any_reply(SUMMARISE, collect::summariser())?;
    graph.node(SUMMARY_FAILED, collect::leave_long).on_error_handle(SUMMARISE, SUMMARY_FAILED);
    graph.branch(COLLECT, "long", &same(&[SUMMARISE, FINISH_STAGE]), collect::summarise);
    graph.edge(SUMMARISE, FINISH_STAGE).edge(SUMMARY_FAILED, FINISH_STAGE);
    Ok(())
}

/// Without a context keeper, code says how the task stands.
fn add_context(asks_model: bool, graph: &mut SystemBuilder<PlanExecute>) -> Result<(), Fault> {
    let ways = same(&[EXPLAIN, SAVE, SYNTHESISE]);
    if asks_model {
        graph.role(UPDATE_CONTEXT, answer::context_keeper())?;
        graph.node(KEEP_CONTEXT, answer::keep_context);
        graph.on_error_handle(UPDATE_CONTEXT, KEEP_CONTEXT);
        graph.branch(KEEP_CONTEXT, "concluded", &ways, answer::concluded);
    } else {
        graph.node(UPDATE_CONTEXT, answer::state_outcome);
    }
    graph.branch(UPDATE_CONTEXT, "concluded", &ways, answer::concluded);
    Ok(())
}

fn add_answer(graph: &mut SystemBuilder<PlanExecute>) -> Result<(), Fault> {
    graph.role_of_any_reply(SYNTHESISE, answer::synthesiser())?;
    graph.role_of_any_reply(EXPLAIN, answer::explainer())?;
    for node in [SYNTHESISE, EXPLAIN] {
        let ways = [("again", node), (DIGEST, DIGEST), (SAVE, SAVE)];
        graph.branch(node, "answered", &ways, answer::answered).on_error_handle(node, DIGEST);
    }
    graph.node(DIGEST, answer::digest).node(SAVE, answer::save);
    graph.edge(DIGEST, SAVE).edge(SAVE, END).on_budget(DIGEST);
    Ok(())
}

/// Nodes under their own names.
fn same<const N: usize>(nodes: &[&'static str; N]) -> [(&'static str, &'static str); N] {
    nodes.map(|node| (node, node))
}
