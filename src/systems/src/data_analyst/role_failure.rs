//! The nodes that take the place of roles that have failed: the trace says so, and the agent goes on
//! with what there is.

use antiphon_core::Fault;

use super::agent_result::AgentError;
use super::api_graph::API_PLAN;
use super::failure::handled;
use super::request::AgentName;
use super::sql_graph::{SQL_REVIEW, SQL_WRITE};
use super::state::State;
use super::trace_event::role_failure;
use super::{DataAnalyst, api, deadline, sql};
use crate::node::NodeContext;
use crate::patch::Patch;

/// Without a query there is no result, unless earlier queries have found one; without a review the
/// query runs as it was written, and without words the rows are the answer.
pub(super) async fn of_sql(cx: NodeContext<DataAnalyst>) -> Result<Patch<State>, Fault> {
    let (node, fault) = handled(&cx);
    let mut work = cx.state.sql.clone();
    let error = error(&cx, work.started, &fault);
    let role = match &*node {
        SQL_WRITE => "sql_writer",
        SQL_REVIEW => "sql_reviewer",
        _ => "sql_answerer",
    };
    work.trace.push(role_failure(&cx, AgentName::Sql, role, &error));
    if node == SQL_WRITE {
        sql::query::give_up(&cx, &mut work, error);
    }
    work.is_reviewed |= node == SQL_REVIEW;
    let mut patch = sql::query::patch(&cx, work);
    patch.set(State::error, Some(fault));
    Ok(patch)
}

/// Without a plan nothing is called; without words the reply is the answer.
pub(super) async fn of_api(cx: NodeContext<DataAnalyst>) -> Result<Patch<State>, Fault> {
    let (node, fault) = handled(&cx);
    let mut work = cx.state.api.clone();
    let error = error(&cx, work.started, &fault);
    let role = if node == API_PLAN { "api_planner" } else { "api_answerer" };
    work.trace.push(role_failure(&cx, AgentName::ApiDocs, role, &error));
    if node == API_PLAN {
        work.error = Some(error);
    }
    let mut patch = api::patch(&cx, work);
    patch.set(State::error, Some(fault));
    Ok(patch)
}

fn error(cx: &NodeContext<DataAnalyst>, started: u64, fault: &Fault) -> AgentError {
    if deadline::is_late(cx, started) { deadline::error() } else { AgentError::of(fault) }
}
