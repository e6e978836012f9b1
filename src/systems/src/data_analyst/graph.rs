//! The graph: attach the time, plan, have the agents work, compose.

use antiphon_core::Fault;
use antiphon_core::graph::{END, START};

use super::config::Config;
use super::sql::{self, query};
use super::state::State;
use super::{DataAnalyst, api, compose, computation_agent, decision, dispatch};
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
const SQL_WRITE: &str = "sql_write";
const SQL_ASK: &str = "sql_ask";
const SQL_LIST: &str = "sql_list";
const SQL_CHECK: &str = "sql_check";
const SQL_REVIEW: &str = "sql_review";
const SQL_RUN: &str = "sql_run";
const SQL_ANSWER: &str = "sql_answer";
const SQL_RESULT: &str = "sql_result";

const API_FIND: &str = "api_find";
const API_PLAN: &str = "api_plan";
const API_LIST: &str = "api_list";
const API_CALL: &str = "api_call";
const API_ANSWER: &str = "api_answer";
const API_RESULT: &str = "api_result";

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
    let Config { temperature, max_reasks, max_answer_attempts, .. } = *config;
    graph.defaults(RoleDefaults { temperature, max_reasks, tool_timeout: None });
    graph.node(ATTACH_TIME, decision::attach).role(PLAN, decision::planner())?;
    graph.node(PLAN_BY_WORDS, decision::fall_back).node(AGENTS, dispatch::dispatch);
    graph.role(COMPOSE, compose::composer())?.node(COMPOSE_PLAINLY, compose::compose_plainly);
    graph.edge(START, ATTACH_TIME);
    graph.branch(ATTACH_TIME, "candidates", &[("chosen", AGENTS), ("open", PLAN)], |view| {
        Ok(goto(if view.get(State::planner)?.is_some() { "chosen" } else { "open" }))
    });
    graph.edge(PLAN, AGENTS).on_error_goto(PLAN, PLAN_BY_WORDS).edge(PLAN_BY_WORDS, AGENTS);
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
    add_sql(config.check_query, graph)?;
    add_api(graph)?;
    graph.node(COMPUTE, computation_agent::compute).edge(COMPUTE, AGENTS);
    graph.on_error_goto(COMPOSE, COMPOSE_PLAINLY).edge(COMPOSE_PLAINLY, END);
    graph.branch(
        COMPOSE,
        "composed",
        &[("over", END), ("again", COMPOSE), ("plain", COMPOSE_PLAINLY)],
        move |view| compose::next(view, max_answer_attempts),
    );
    graph.on_budget(COMPOSE_PLAINLY);
    Ok(())
}

fn add_sql(has_review: bool, graph: &mut SystemBuilder<DataAnalyst>) -> Result<(), Fault> {
    graph.node(SQL_SCHEMA, sql::schema::read_schema).node(SQL_CHECK, query::check);
    graph.node(SQL_RUN, query::run).node(SQL_RESULT, query::conclude);
    graph.role(SQL_WRITE, sql::roles::writer())?.role(SQL_REVIEW, sql::roles::reviewer())?;
    graph.role(SQL_ANSWER, sql::roles::answerer())?;
    let read = [("known", SQL_WRITE), ("list", SQL_LIST), ("over", SQL_RESULT)];
    graph.branch(SQL_SCHEMA, "schema", &read, |view| {
        let work = view.get(State::sql)?;
        Ok(goto(match (work.is_open(), &work.listing) {
            (false, _) => "over",
            (true, Some(_)) => "list",
            (true, None) => "known",
        }))
    });
    let written =
        [("known", SQL_CHECK), ("list", SQL_LIST), ("ask", SQL_ASK), ("over", SQL_RESULT)];
    graph.branch(SQL_WRITE, "written", &written, |view| {
        let work = view.get(State::sql)?;
        Ok(goto(match (work.is_open(), &work.question, &work.listing) {
            (false, _, _) => "over",
            (true, Some(_), _) => "ask",
            (true, None, Some(_)) => "list",
            (true, None, None) => "known",
        }))
    });
    graph.node(SQL_LIST, sql::listing::list);
    let listed = [("again", SQL_WRITE), ("answered", SQL_ANSWER), ("over", SQL_RESULT)];
    graph.branch(SQL_LIST, "listed", &listed, |view| query::next(view, false));
    graph.node(SQL_ASK, sql::clarification::ask);
    graph.branch(SQL_ASK, "clarified", &[("known", SQL_WRITE), ("over", SQL_RESULT)], |view| {
        Ok(goto(if view.get(State::sql)?.is_open() { "known" } else { "over" }))
    });
    graph.on_error_goto(SQL_WRITE, SQL_RESULT);
    let ways = [
        ("review", SQL_REVIEW),
        ("run", SQL_RUN),
        ("again", SQL_WRITE),
        ("answered", SQL_ANSWER),
        ("over", SQL_RESULT),
    ];
    graph.branch(SQL_CHECK, "checked", &ways, move |view| query::next(view, has_review));
    graph.edge(SQL_REVIEW, SQL_RUN).on_error_goto(SQL_REVIEW, SQL_RUN);
    graph.branch(SQL_RUN, "ran", &ways, move |view| query::next(view, has_review));
    graph.branch(SQL_ANSWER, "worded", &[("again", SQL_ANSWER), ("over", SQL_RESULT)], |view| {
        let work = view.get(State::sql)?;
        let is_over = work.answer.is_some() || work.rejected.len() > 1;
        Ok(goto(if is_over { "over" } else { "again" }))
    });
    graph.on_error_goto(SQL_ANSWER, SQL_RESULT).edge(SQL_RESULT, AGENTS);
    Ok(())
}

fn add_api(graph: &mut SystemBuilder<DataAnalyst>) -> Result<(), Fault> {
    graph.node(API_FIND, api::find).role(API_PLAN, api::planner())?.node(API_CALL, api::call);
    graph.node(API_LIST, api::endpoint_list::list);
    graph.role(API_ANSWER, api::answerer())?.node(API_RESULT, api::conclude);
    let ways = [
        ("plan", API_PLAN),
        ("list", API_LIST),
        ("call", API_CALL),
        ("answer", API_ANSWER),
        ("over", API_RESULT),
    ];
    for node in [API_FIND, API_PLAN, API_LIST, API_CALL, API_ANSWER] {
        graph.branch(node, "api", &ways, api::next);
    }
    graph.on_error_goto(API_PLAN, API_RESULT).on_error_goto(API_ANSWER, API_RESULT);
    graph.edge(API_RESULT, AGENTS);
    Ok(())
}
