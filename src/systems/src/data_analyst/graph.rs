//! The graph: attach the time, plan, have the agents work, compose.

use antiphon_core::Fault;
use antiphon_core::command::Destinations;
use antiphon_core::graph::{END, START};

use serde_json::Value as Json;

use super::api::ApiWork;
use super::config::Config;
use super::sql::{self, SqlWork, query};
use super::state::State;
use super::{
    DataAnalyst, api, compose, computation_agent, deadline, decision, dispatch, role_failure,
};
use crate::builder::{RoleDefaults, SystemBuilder};
use crate::node::goto;
use crate::role::RoleSpec;

const ATTACH_TIME: &str = "attach_time";
const PLAN: &str = "plan";
const PLAN_BY_WORDS: &str = "plan_by_words";
const AGENTS: &str = "execute_agents";
const COMPOSE: &str = "compose";
const COMPOSE_PLAINLY: &str = "compose_plainly";
const COMPUTE: &str = "compute";

const SQL_SCHEMA: &str = "sql_schema";
pub(super) const SQL_WRITE: &str = "sql_write";
const SQL_ASK: &str = "sql_ask";
const SQL_LIST: &str = "sql_list";
const SQL_CHECK: &str = "sql_check";
pub(super) const SQL_REVIEW: &str = "sql_review";
const SQL_RUN: &str = "sql_run";
const SQL_ANSWER: &str = "sql_answer";
const SQL_RESULT: &str = "sql_result";
const SQL_ROLE_FAILED: &str = "sql_role_failed";

const API_FIND: &str = "api_find";
pub(super) const API_PLAN: &str = "api_plan";
const API_LIST: &str = "api_list";
const API_CALL: &str = "api_call";
const API_ANSWER: &str = "api_answer";
const API_RESULT: &str = "api_result";
const API_ROLE_FAILED: &str = "api_role_failed";

/// The nodes of roles that share the time of their agent.
const TIMED: [&str; 5] = [SQL_WRITE, SQL_REVIEW, SQL_ANSWER, API_PLAN, API_ANSWER];

/// The labels of a branch, each with its node.
type Targets = &'static [(&'static str, &'static str)];

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

/// Where a query goes once it was checked or run.
const QUERIED: Targets = &[
    ("review", SQL_REVIEW),
    ("run", SQL_RUN),
    ("again", SQL_WRITE),
    ("answered", SQL_ANSWER),
    ("over", SQL_RESULT),
];

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
fn go(targets: Targets, label: &'static str, millis_left: usize) -> Destinations<Json> {
    let node = targets.iter().find(|(name, _)| *name == label).map(|(_, node)| *node);
    match node.filter(|node| TIMED.contains(node)) {
        Some(node) => deadline::to_role(node, millis_left),
        None => goto(label),
    }
}

fn sql_branch(
    graph: &mut SystemBuilder<DataAnalyst>,
    (source, name): (&str, &str),
    targets: Targets,
    next: impl Fn(&SqlWork) -> &'static str + Send + Sync + 'static,
) {
    graph.branch(source, name, targets, move |view| {
        let work = view.get(State::sql)?;
        Ok(go(targets, next(&work), work.time_left_ms))
    });
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

fn add_sql_nodes(graph: &mut SystemBuilder<DataAnalyst>) -> Result<(), Fault> {
    graph.node(SQL_SCHEMA, sql::schema::read_schema).node(SQL_CHECK, query::check);
    graph.node(SQL_RUN, query::run).node(SQL_RESULT, query::conclude);
    graph.node(SQL_LIST, sql::listing::list).node(SQL_ASK, sql::clarification::ask);
    graph.role(SQL_WRITE, sql::roles::writer())?.role(SQL_REVIEW, sql::roles::reviewer())?;
    graph.role(SQL_ANSWER, sql::roles::answerer())?;
    graph.node(SQL_ROLE_FAILED, role_failure::of_sql);
    for role in [SQL_WRITE, SQL_REVIEW, SQL_ANSWER] {
        graph.on_error_handle(role, SQL_ROLE_FAILED);
    }
    graph.edge(SQL_REVIEW, SQL_RUN).edge(SQL_RESULT, AGENTS);
    Ok(())
}

fn add_sql(graph: &mut SystemBuilder<DataAnalyst>, has_review: bool) -> Result<(), Fault> {
    add_sql_nodes(graph)?;
    sql_branch(
        graph,
        (SQL_SCHEMA, "schema"),
        &[("known", SQL_WRITE), ("list", SQL_LIST), ("over", SQL_RESULT)],
        |work| match (work.is_open(), &work.listing) {
            (false, _) => "over",
            (true, Some(_)) => "list",
            (true, None) => "known",
        },
    );
    sql_branch(
        graph,
        (SQL_WRITE, "written"),
        &[("known", SQL_CHECK), ("list", SQL_LIST), ("ask", SQL_ASK), ("over", SQL_RESULT)],
        |work| match (work.is_open(), &work.question, &work.listing) {
            (false, _, _) => "over",
            (true, Some(_), _) => "ask",
            (true, None, Some(_)) => "list",
            (true, None, None) => "known",
        },
    );
    sql_branch(
        graph,
        (SQL_LIST, "listed"),
        &[("again", SQL_WRITE), ("answered", SQL_ANSWER), ("over", SQL_RESULT)],
        |work| query::next(work, false),
    );
    sql_branch(
        graph,
        (SQL_ASK, "clarified"),
        &[("known", SQL_WRITE), ("over", SQL_RESULT)],
        |work| {
            if work.is_open() { "known" } else { "over" }
        },
    );
    sql_branch(graph, (SQL_CHECK, "checked"), QUERIED, move |work| query::next(work, has_review));
    sql_branch(graph, (SQL_RUN, "ran"), QUERIED, move |work| query::next(work, has_review));
    sql_branch(
        graph,
        (SQL_ANSWER, "worded"),
        &[("again", SQL_ANSWER), ("over", SQL_RESULT)],
        |work| {
            if work.answer.is_some() || work.rejected.len() > 1 { "over" } else { "again" }
        },
    );
    sql_branch(
        graph,
        (SQL_ROLE_FAILED, "failed"),
        &[("run", SQL_RUN), ("over", SQL_RESULT)],
        |work| {
            if work.is_open() && !work.query.is_empty() { "run" } else { "over" }
        },
    );
    Ok(())
}

fn add_api(graph: &mut SystemBuilder<DataAnalyst>) -> Result<(), Fault> {
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
