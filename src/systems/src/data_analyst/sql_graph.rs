//! The part of the graph in which the SQL agent works.

use antiphon_core::Fault;

use super::graph::{AGENTS, Targets, go};
use super::sql::{self, SqlWork, query};
use super::state::State;
use super::{DataAnalyst, role_failure};
use crate::builder::SystemBuilder;

pub(super) const SQL_SCHEMA: &str = "sql_schema";
pub(super) const SQL_WRITE: &str = "sql_write";
const SQL_ASK: &str = "sql_ask";
const SQL_LIST: &str = "sql_list";
const SQL_CHECK: &str = "sql_check";
pub(super) const SQL_REVIEW: &str = "sql_review";
const SQL_RUN: &str = "sql_run";
pub(super) const SQL_ANSWER: &str = "sql_answer";
const SQL_RESULT: &str = "sql_result";
const SQL_ROLE_FAILED: &str = "sql_role_failed";

/// Where a query goes once it was checked or run.
const QUERIED: Targets = &[
    ("review", SQL_REVIEW),
    ("run", SQL_RUN),
    ("again", SQL_WRITE),
    ("answered", SQL_ANSWER),
    ("over", SQL_RESULT),
];

/// Adds the nodes of the agent, and the ways between them.
pub(super) fn add_sql(
    graph: &mut SystemBuilder<DataAnalyst>,
    has_review: bool,
) -> Result<(), Fault> {
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
