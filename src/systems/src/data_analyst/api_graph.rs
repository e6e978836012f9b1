//! The part of the graph in which the API agent works.

use antiphon_core::Fault;

use super::api::{self, ApiWork};
use super::graph::{AGENTS, Targets, go};
use super::state::State;
use super::{DataAnalyst, role_failure};
use crate::builder::SystemBuilder;

pub(super) const API_FIND: &str = "api_find";
pub(super) const API_PLAN: &str = "api_plan";
const API_LIST: &str = "api_list";
const API_CALL: &str = "api_call";
pub(super) const API_ANSWER: &str = "api_answer";
const API_RESULT: &str = "api_result";
const API_ROLE_FAILED: &str = "api_role_failed";

/// Adds the nodes of the agent, and the ways between them.
pub(super) fn add_api(graph: &mut SystemBuilder<DataAnalyst>) -> Result<(), Fault> {
    graph.node(API_FIND, api::find).role(API_PLAN, api::planner())?;
    graph.node(API_CALL, api::call::call).node(API_LIST, api::endpoint_list::list);
    graph.role(API_ANSWER, api::answerer())?.node(API_RESULT, api::conclude);
    graph.node(API_ROLE_FAILED, role_failure::of_api);
    for role in [API_PLAN, API_ANSWER] {
        graph.on_error_handle(role, API_ROLE_FAILED);
    }
    graph.edge(API_ROLE_FAILED, API_RESULT).edge(API_RESULT, AGENTS);
    let targets: Targets = &[
        ("plan", API_PLAN),
        ("list", API_LIST),
        ("call", API_CALL),
        ("answer", API_ANSWER),
        ("over", API_RESULT),
    ];
    for node in [API_FIND, API_PLAN, API_LIST, API_CALL, API_ANSWER] {
        api_branch(graph, node, targets, api::next);
    }
    Ok(())
}

fn api_branch(
    graph: &mut SystemBuilder<DataAnalyst>,
    source: &str,
    targets: Targets,
    next: fn(&ApiWork) -> &'static str,
) {
    graph.branch(source, "api", targets, move |view| {
        let work = view.get(State::api)?;
        Ok(go(targets, next(&work), work.time_left_ms))
    });
}
