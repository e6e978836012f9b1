//! The graph: attach the time, plan, have the agents work, compose. `sql_graph` and `api_graph` have
//! what two of the agents do.

use antiphon_core::Fault;
use antiphon_core::command::Destinations;
use antiphon_core::graph::{END, START};
use serde_json::Value as Json;

use super::api_graph::{API_ANSWER, API_FIND, API_PLAN, add_api};
use super::config::Config;
use super::sql_graph::{SQL_ANSWER, SQL_REVIEW, SQL_SCHEMA, SQL_WRITE, add_sql};
use super::state::State;
use super::{DataAnalyst, compose, computation_agent, deadline, decision, dispatch};
use crate::builder::{RoleDefaults, SystemBuilder};
use crate::node::goto;
use crate::role::RoleSpec;

const ATTACH_TIME: &str = "attach_time";
const PLAN: &str = "plan";
const PLAN_BY_WORDS: &str = "plan_by_words";
pub(super) const AGENTS: &str = "execute_agents";
const COMPOSE: &str = "compose";
const COMPOSE_PLAINLY: &str = "compose_plainly";
const COMPUTE: &str = "compute";

/// The nodes of roles that share the time of their agent.
const TIMED: [&str; 5] = [SQL_WRITE, SQL_REVIEW, SQL_ANSWER, API_PLAN, API_ANSWER];

/// The labels of a branch, each with its node.
pub(super) type Targets = &'static [(&'static str, &'static str)];

/// The roles, in the order in which they work.
pub(super) const ROLES: &[RoleSpec] = &[
    role("planner", "Chooses the agents."),
    role("sql_writer", "Writes queries."),
    role("sql_reviewer", "Reviews queries."),
    role("sql_answerer", "Puts rows into words."),
    role("api_planner", "Plans calls of the API."),
    role("api_answerer", "Puts replies of the API into words."),
    role("coder", "Writes code that computes."),
    role("summariser", "Puts computed results into words."),
    role("composer", "Composes the answer."),
];

const fn role(name: &'static str, description: &'static str) -> RoleSpec {
    RoleSpec { name, description, has_tools: false }
}

/// Adds everything to the graph.
pub(super) fn build(config: &Config, graph: &mut SystemBuilder<DataAnalyst>) -> Result<(), Fault> {
    let Config { temperature, max_reasks, max_answer_attempts, check_query, .. } = *config;
    graph.defaults(RoleDefaults { temperature, max_reasks, tool_timeout: None });
    graph.node(ATTACH_TIME, decision::attach).role(PLAN, decision::planner())?;
    graph.node(PLAN_BY_WORDS, decision::fall_back).node(AGENTS, dispatch::dispatch);
    graph.role(COMPOSE, compose::composer())?.node(COMPOSE_PLAINLY, compose::compose_plainly);
    graph.edge(START, ATTACH_TIME);
    graph.branch(ATTACH_TIME, "candidates", &[("chosen", AGENTS), ("open", PLAN)], |view| {
        Ok(goto(if view.get(State::planner)?.is_some() { "chosen" } else { "open" }))
    });
    graph.edge(PLAN, AGENTS).on_error_handle(PLAN, PLAN_BY_WORDS).edge(PLAN_BY_WORDS, AGENTS);
    graph.branch(
        AGENTS,
        "agents",
        &[
            ("sql", SQL_SCHEMA),
            ("api_docs", API_FIND),
            ("computation", COMPUTE),
            ("wait", END),
            ("again", AGENTS),
            ("compose", COMPOSE),
            ("plain", COMPOSE_PLAINLY),
        ],
        dispatch::next,
    );
    add_sql(graph, check_query)?;
    add_api(graph)?;
    graph.node(COMPUTE, computation_agent::compute).edge(COMPUTE, AGENTS);
    graph.on_error_handle(COMPOSE, COMPOSE_PLAINLY).edge(COMPOSE_PLAINLY, END);
    graph.branch(
        COMPOSE,
        "composed",
        &[("over", END), ("again", COMPOSE), ("plain", COMPOSE_PLAINLY)],
        move |view| compose::next(view, max_answer_attempts),
    );
    graph.on_budget(COMPOSE_PLAINLY);
    Ok(())
}

/// Goes where a label leads; a role gets what is left of the time of its agent.
pub(super) fn go(targets: Targets, label: &'static str, millis_left: usize) -> Destinations<Json> {
    let node = targets.iter().find(|(name, _)| *name == label).map(|(_, node)| *node);
    match node.filter(|node| TIMED.contains(node)) {
        Some(node) => deadline::to_role(node, millis_left),
        None => goto(label),
    }
}
