//! The nodes that check a query and run it.

use antiphon_core::{Fault, FaultCode};
use serde_json::{Value as Json, json};

use super::agreement;
use super::counted_flag::{self, COUNTED_FLAG, counted_columns, is_flag};
use super::date_difference::date_difference;
use super::identifier::{quoted, quoted_table};
use super::known_names::{unknown_column, unknown_column_hint};
use super::misplaced_value::{MISPLACED_VALUE, is_nothing, misplaced_value};
use super::multiplied_rows::multiplied_rows;
use super::outer_column::outer_column;
use super::unit_check::unit_mismatch;
use super::value_lookup::texts;
use super::whole_division::{self, WHOLE_DIVISION, is_whole, whole_division};
use super::work::{CandidateResult, CorrectedQuery, SqlAttempt, SqlWork};
use crate::data_analyst::DataAnalyst;
use crate::data_analyst::agent_result::{AgentError, AgentExecutionStatus, AgentResult};
use crate::data_analyst::deadline;
use crate::data_analyst::dispatch::finish;
use crate::data_analyst::failure::{ends_run, is_mended_by_another_query};
use crate::data_analyst::request::AgentName;
use crate::data_analyst::state::State;
use crate::data_analyst::tabular::{MOST_LISTED, TabularResult};
use crate::data_analyst::trace_event::{TraceEventKind, event};
use crate::node::NodeContext;
use crate::patch::Patch;

/// How often a query is run whose columns are gone.
const MOST_RUNS: usize = 3;
/// The kind of a failure by a unit that the question does not ask for.
const UNIT_MISMATCH: &str = "UnitMismatch";

/// Checks the query that was written, before anything else is done with it.
pub(in crate::data_analyst) async fn check(
    cx: NodeContext<DataAnalyst>,
) -> Result<Patch<State>, Fault> {
    let mut work = cx.state.sql.clone();
    if work.query.is_empty() {
        let error = AgentError::new("NoQuery", "the reply has no query");
        fail(&cx, &mut work, error, 0.0);
    } else if let Some(mismatch) = unit_mismatch(&cx.input().question, &work.query) {
        let error = AgentError::new(UNIT_MISMATCH, mismatch.message());
        fail(&cx, &mut work, error.with("hint", mismatch.hint()), 0.0);
    } else if let Some((message, hint)) = text_dates(&work) {
        fail(&cx, &mut work, AgentError::new("DateDifference", message).with("hint", hint), 0.0);
    } else if let Some((message, hint)) = outer_column(&work.query, &work.known_tables) {
        fail(&cx, &mut work, AgentError::new("QueryError", message).with("hint", hint), 0.0);
    } else if let Err(fault) = check_only(&cx, &work.query).await {
        match corrected_query(&work, &fault) {
            Some(mended) if check_only(&cx, &mended.query).await.is_ok() => {
                mend(&cx, &mut work, mended);
            }
            _ => reject(&cx, &mut work, fault, 0.0)?,
        }
    }
    Ok(patch(&cx, work))
}

/// Only SQLite subtracts texts.
fn text_dates(work: &SqlWork) -> Option<(String, String)> {
    let is_sqlite = work.dialect == "SQLite";
    is_sqlite.then(|| date_difference(&work.query, &work.known_tables)).flatten()
}

/// Runs the query, which is checked again on the way.
pub(in crate::data_analyst) async fn run(
    mut cx: NodeContext<DataAnalyst>,
) -> Result<Patch<State>, Fault> {
    cx.call.cx.attachments = Some(cx.attachments().clone());
    let mut work = cx.state.sql.clone();
    if is_late(&cx, &work) {
        give_up(&cx, &mut work, deadline::error());
        return Ok(patch(&cx, work));
    }
    let repeated = work.attempts.iter().find(|earlier| earlier.query == work.query);
    let error = repeated.and_then(|earlier| earlier.error.clone());
    if let Some(error) = error.filter(|error| !is_doubt(&error.kind)) {
        let is_of_column = unknown_column(&error.message).is_some();
        let Some(mended) = work.corrected_query().filter(|_| is_of_column) else {
            fail(&cx, &mut work, error, 0.0);
            return Ok(patch(&cx, work));
        };
        mend(&cx, &mut work, mended);
    }
    if let Some(error) = counted_flag_error(&cx, &mut work).await? {
        fail(&cx, &mut work, error, 0.0);
        return Ok(patch(&cx, work));
    }
    let start = cx.call.cx.clock.now();
    let outcome = found(&cx, &mut work).await;
    let latency_ms = cx.call.cx.clock.now().since(start).as_secs_f64() * 1e3;
    match outcome {
        Ok(found) => match table(&cx, &found) {
            Some(table) if let Some(error) = misplaced_value_error(&cx, &work, &table) => {
                fail(&cx, &mut work, error, latency_ms);
            }
            Some(table) if let Some(error) = whole_division_error(&cx, &mut work, &table) => {
                fail(&cx, &mut work, error, latency_ms);
            }
            Some(table) => {
                let digest = found.get("digest").and_then(Json::as_str).map(str::to_owned);
                succeed(&cx, &mut work, (table, digest), latency_ms);
            }
            None => work.error = Some(AgentError::new("ProtocolError", "the rows cannot be read")),
        },
        Err(fault) => reject(&cx, &mut work, fault, latency_ms)?,
    }
    Ok(patch(&cx, work))
}

/// Runs the query, in another form if it fails or finds nothing and the other form does not.
async fn found(cx: &NodeContext<DataAnalyst>, work: &mut SqlWork) -> Result<Json, Fault> {
    let finds_nothing = |found: &Json| table(cx, found).is_some_and(|table| is_nothing(&table));
    let found = rows(cx, &work.query).await;
    let by_key = |query| CorrectedQuery { query, notes: Vec::new() };
    let other = match &found {
        Err(fault) => corrected_query(work, fault),
        Ok(found) if finds_nothing(found) => work.query_by_key().map(by_key),
        Ok(_) => None,
    };
    let Some(mended) = other else { return found };
    match rows(cx, &mended.query).await {
        Err(fault) if ends_run(&fault) => Err(fault),
        Ok(other) if found.is_err() || !finds_nothing(&other) => {
            mend(cx, work, mended);
            Ok(other)
        }
        // It is about what the model has written.
        _ => found,
    }
}

/// Why a result is looked at again: it is nothing, and another column has the value that the query
/// looks for. Said once, and not after the last attempt, since nothing may be the answer.
fn misplaced_value_error(
    cx: &NodeContext<DataAnalyst>,
    work: &SqlWork,
    table: &TabularResult,
) -> Option<AgentError> {
    if was_told(work, MISPLACED_VALUE) || !is_nothing(table) || is_last(cx, work) {
        return None;
    }
    let message = misplaced_value(&work.query, &work.value_columns, &work.named_values)?;
    Some(AgentError::new(MISPLACED_VALUE, message))
}

/// Why a query is looked at again before it is run: it counts the values of a flag. Said once, and
/// not before the last attempt; in any case the reader of the result is told.
async fn counted_flag_error(
    cx: &NodeContext<DataAnalyst>,
    work: &mut SqlWork,
) -> Result<Option<AgentError>, Fault> {
    let mut error = None;
    for counted in counted_columns(&work.query, &work.known_tables) {
        let (table, name) = (quoted_table(&counted.table), quoted(&counted.name));
        let key = format!("{table}.{name}");
        let is_flag = match work.counted.get(&key) {
            Some(known) => *known,
            None => is_flag(&some_values(cx, &table, &name).await?),
        };
        work.counted.insert(key, is_flag);
        if is_flag {
            let (query, message) = (work.query.clone(), counted_flag::message(&counted));
            work.note(&query, message.clone());
            let hint = counted_flag::hint(&counted);
            error = Some(AgentError::new(COUNTED_FLAG, message).with("hint", hint));
        }
    }
    Ok(error.filter(|_| !was_told(work, COUNTED_FLAG) && !is_last(cx, work)))
}

/// Why a result is looked at again: it has whole numbers alone, and the query divides by or into an
/// aggregate. Said once, and not after the last attempt; in any case the reader is told.
fn whole_division_error(
    cx: &NodeContext<DataAnalyst>,
    work: &mut SqlWork,
    table: &TabularResult,
) -> Option<AgentError> {
    let division = whole_division(&work.query).filter(|_| is_whole(table))?;
    let (query, message) = (work.query.clone(), whole_division::message(&division));
    work.note(&query, message.clone());
    let hint = "multiply by 1.0 before the division, or take avg()";
    let is_told = was_told(work, WHOLE_DIVISION) || is_last(cx, work);
    (!is_told).then(|| AgentError::new(WHOLE_DIVISION, message).with("hint", hint))
}

/// Some values of a column, which are all if there are at most two.
async fn some_values(
    cx: &NodeContext<DataAnalyst>,
    table: &str,
    name: &str,
) -> Result<Vec<String>, Fault> {
    let Some(tool) = cx.system().tool("sql_query") else { return Ok(Vec::new()) };
    let query = format!("SELECT DISTINCT {name} FROM {table} WHERE {name} IS NOT NULL LIMIT 3");
    texts(cx, cx.state.sql.started, tool, json!({ "query": query })).await
}

/// Whether the model was told so of an earlier query.
fn was_told(work: &SqlWork, kind: &str) -> bool {
    work.attempts.iter().filter_map(|it| it.error.as_ref()).any(|error| error.kind == kind)
}

/// Whether a failure of that kind is none if the model repeats its query.
pub(super) fn is_doubt(kind: &str) -> bool {
    [MISPLACED_VALUE, COUNTED_FLAG, WHOLE_DIVISION].contains(&kind)
}

/// Whether there is no time or attempt left after a failure of this one.
fn is_last(cx: &NodeContext<DataAnalyst>, work: &SqlWork) -> bool {
    let failures = work.attempts.iter().filter(|attempt| !attempt.success).count();
    is_late(cx, work) || failures + 1 >= cx.system().config.max_sql_attempts
}

fn is_late(cx: &NodeContext<DataAnalyst>, work: &SqlWork) -> bool {
    deadline::is_late(cx, work.started)
}

/// The query with its names as the schema has them, if that may be what is wrong with it.
fn corrected_query(work: &SqlWork, fault: &Fault) -> Option<CorrectedQuery> {
    let is_of_names = matches!(
        fault.code,
        FaultCode::QueryRefused
            | FaultCode::QueryTableForbidden
            | FaultCode::QueryFailed
            | FaultCode::ToolFailed
    );
    if is_of_names { work.corrected_query() } else { None }
}

fn mend(cx: &NodeContext<DataAnalyst>, work: &mut SqlWork, mended: CorrectedQuery) {
    let CorrectedQuery { query, notes } = mended;
    for note in notes {
        work.note(&query, note);
    }
    let data = json!({"query": query, "written": work.query});
    work.trace.push(event(cx, AgentName::Sql, TraceEventKind::Decision, "query mended", data));
    work.query = query;
}

/// Runs a query. If a process has ended between the call and the end of its node, the journal has
/// the result without the columns that it names; the query runs again then.
async fn rows(cx: &NodeContext<DataAnalyst>, query: &str) -> Result<Json, Fault> {
    let is_whole = |found: &Json| arrow(found).is_none_or(|id| cx.attachments().get(id).is_some());
    let mut found = call(cx, json!({"query": query})).await?;
    for _ in 1..MOST_RUNS {
        if is_whole(&found) {
            break;
        }
        found = call(cx, json!({"query": query})).await?;
    }
    Ok(found)
}

/// The id of the attachment that has all rows of a result.
fn arrow(found: &Json) -> Option<&str> {
    found.get("arrow").and_then(Json::as_str)
}

/// The rows of a result; none if they cannot be read.
fn table(cx: &NodeContext<DataAnalyst>, found: &Json) -> Option<TabularResult> {
    let table = TabularResult::read(found)?;
    let Some(id) = arrow(found) else { return Some(table) };
    cx.attachments().get(id)?;
    let count = found.get("row_count").and_then(Json::as_u64)?;
    Some(table.with_arrow(id, usize::try_from(count).ok()?))
}

async fn check_only(cx: &NodeContext<DataAnalyst>, query: &str) -> Result<Json, Fault> {
    call(cx, json!({"query": query, "check_only": true})).await
}

async fn call(cx: &NodeContext<DataAnalyst>, arguments: Json) -> Result<Json, Fault> {
    let tool = cx.system().tool("sql_query").ok_or_else(|| {
        let message = "no database is connected";
        Fault::new(FaultCode::DatabaseUnreachable, message)
    })?;
    deadline::invoke(cx, cx.state.sql.started, tool, arguments).await
}

/// Writes what is known, and how long the agent may still work.
pub(in crate::data_analyst) fn patch(
    cx: &NodeContext<DataAnalyst>,
    mut work: SqlWork,
) -> Patch<State> {
    work.time_left_ms = deadline::millis_left(cx, work.started);
    let mut patch = Patch::default();
    patch.set(State::sql, work);
    patch
}

fn succeed(
    cx: &NodeContext<DataAnalyst>,
    work: &mut SqlWork,
    (table, digest): (TabularResult, Option<String>),
    latency_ms: f64,
) {
    let attempt = work.attempts.len() + 1;
    let data = json!({
        "query": work.query, "row_count": table.row_count, "elapsed_ms": latency_ms,
    });
    work.trace.push(event(cx, AgentName::Sql, TraceEventKind::Tool, "query", data));
    let data = json!({"attempt": attempt, "row_count": table.row_count});
    work.trace.push(event(cx, AgentName::Sql, TraceEventKind::Message, "succeeded", data));
    work.attempts.push(SqlAttempt {
        attempt,
        query: work.query.clone(),
        row_count: Some(table.row_count),
        success: true,
        error: None,
        latency_ms,
    });
    let query = std::mem::take(&mut work.query);
    work.is_reviewed = false;
    work.candidates.push(CandidateResult { query, table, digest });
    if work.candidates.len() >= cx.system().config.candidate_queries {
        settle(cx, work);
    }
}

/// Takes the result over that most queries came to, or abstains; a lone NULL says nothing.
fn settle(cx: &NodeContext<DataAnalyst>, work: &mut SqlWork) {
    let all = work.candidates.len();
    let agreed = agreement::agreed(&work.candidates).map(|(one, count)| (one.clone(), count));
    if all > 1 {
        let data = json!({"queries": all, "agree": agreed.as_ref().map_or(0, |(_, count)| *count)});
        work.trace.push(event(cx, AgentName::Sql, TraceEventKind::Decision, "candidates", data));
    }
    if let Some((CandidateResult { query, table, .. }, _)) = agreed {
        if table.single_cell().is_some_and(Json::is_null) {
            let message = "the database has no value there: the query found NULL";
            work.error = Some(AgentError::new("NoValue", message).with("query", query));
        } else {
            warn(cx, work, &query);
            (work.query, work.table) = (query, Some(table));
        }
        return;
    }
    let queries: Vec<&str> = work.candidates.iter().map(|one| one.query.as_str()).collect();
    let message = "queries for the same question came to different results";
    let error = AgentError::new("CandidatesDisagree", message).with("queries", json!(queries));
    work.error = Some(error);
}

/// Keeps what a reader has to know of the query whose rows are the result.
fn warn(cx: &NodeContext<DataAnalyst>, work: &mut SqlWork, query: &str) {
    let of_it = work.notes.iter().filter(|one| one.query == query).map(|one| one.note.clone());
    work.warnings = of_it.chain(multiplied_rows(query, &work.known_tables)).collect();
    for warning in &work.warnings {
        let data = json!({ "warning": warning });
        work.trace.push(event(cx, AgentName::Sql, TraceEventKind::Message, "warning", data));
    }
}

/// Takes a fault as a failed attempt, or as the failure of the agent if no other query mends it.
pub(super) fn reject(
    cx: &NodeContext<DataAnalyst>,
    work: &mut SqlWork,
    fault: Fault,
    latency_ms: f64,
) -> Result<(), Fault> {
    if ends_run(&fault) {
        return Err(fault);
    }
    let mut error = AgentError::of(&fault);
    let is_mended = is_mended_by_another_query(&fault.code);
    let hint = unknown_column_hint(&fault.message, &work.known_tables, &work.dialect);
    if let Some(hint) = hint.as_deref().or(fault.hint.as_deref()).filter(|_| is_mended) {
        error = error.with("hint", hint);
    }
    if is_mended {
        fail(cx, work, error, latency_ms);
    } else if is_late(cx, work) {
        give_up(cx, work, deadline::error());
    } else if work.candidates.is_empty() {
        work.error = Some(error);
    } else {
        record_failure(cx, work, error, latency_ms);
        settle(cx, work);
    }
    Ok(())
}

/// Counts a failed attempt, and gives up after the last one.
pub(super) fn fail(
    cx: &NodeContext<DataAnalyst>,
    work: &mut SqlWork,
    error: AgentError,
    latency_ms: f64,
) {
    record_failure(cx, work, error, latency_ms);
    let config = &cx.system().config;
    let is_late = is_late(cx, work);
    let failures = work.attempts.iter().filter(|attempt| !attempt.success).count();
    let is_over = is_late || failures >= config.max_sql_attempts;
    if is_over && !work.candidates.is_empty() {
        settle(cx, work);
    } else if is_late {
        give_up(cx, work, deadline::error());
    } else if is_over {
        let last = work.attempts.last().and_then(|last| last.error.clone()).unwrap_or_default();
        let kind = if last.kind == UNIT_MISMATCH { UNIT_MISMATCH } else { "QueryError" };
        let error = AgentError::new(kind, last.message);
        work.error = Some(error.with("attempts", json!(work.attempts)));
    }
}

/// Puts a failed attempt into the trace and the attempts.
fn record_failure(
    cx: &NodeContext<DataAnalyst>,
    work: &mut SqlWork,
    error: AgentError,
    latency_ms: f64,
) {
    let data = json!({
        "attempt": work.attempts.len() + 1, "query": work.query, "error": error.message,
        "type": error.kind,
    });
    work.trace.push(event(cx, AgentName::Sql, TraceEventKind::Error, "attempt", data));
    work.fail(error, latency_ms);
}

/// Where a query goes once it was written, checked or run.
pub(in crate::data_analyst) const fn next(work: &SqlWork, has_review: bool) -> &'static str {
    if work.table.is_some() {
        "answered"
    } else if work.error.is_some() {
        "over"
    } else if work.query.is_empty() {
        "again"
    } else if has_review && !work.is_reviewed {
        "review"
    } else {
        "run"
    }
}

/// Ends the agent: with what queries have found until then, else with this error.
pub(in crate::data_analyst) fn give_up(
    cx: &NodeContext<DataAnalyst>,
    work: &mut SqlWork,
    error: AgentError,
) {
    if work.candidates.is_empty() {
        work.error = Some(error.with("attempts", json!(work.attempts)));
    } else {
        settle(cx, work);
    }
}

/// Makes the result of the agent of all that it has come to.
pub(in crate::data_analyst) async fn conclude(
    cx: NodeContext<DataAnalyst>,
) -> Result<Patch<State>, Fault> {
    Ok(finish(&cx, result(&cx)))
}

/// The result of the agent. A model that cannot put rows into words takes them away from nobody.
pub(in crate::data_analyst) fn result(cx: &NodeContext<DataAnalyst>) -> AgentResult {
    let mut work = cx.state.sql.clone();
    if work.is_open() {
        give_up(cx, &mut work, deadline::error());
    }
    let answer = work.answer.clone().or_else(|| plain_answer(&work));
    let latency = cx.call.cx.clock.now().as_micros().saturating_sub(work.started);
    let mut result = match work.error {
        Some(error) => AgentResult::unanswered(AgentName::Sql, AgentExecutionStatus::Failed, error),
        None => AgentResult::succeeded(AgentName::Sql, answer.unwrap_or_default()),
    };
    result.tabular = work.table.filter(|_| result.is_success());
    result.latency_ms = Some(crate::data_analyst::milliseconds(latency));
    result.trace = work.trace;
    result
}

/// Rows in words without a model.
fn plain_answer(work: &SqlWork) -> Option<String> {
    const MOST: usize = 5;
    let table = work.table.as_ref()?;
    if let Some(cell) = table.single_cell() {
        let name = table.columns.first().map_or("", String::as_str);
        return Some(format!("{name}: {}", crate::data_analyst::tabular::shown(cell)));
    }
    Some(match (table.row_count, &work.listing) {
        (0, _) => "The query found no rows.".to_owned(),
        (_, None) => format!("The query found:\n{}", table.preview(MOST)),
        (_, Some(_)) => table.preview(MOST_LISTED),
    })
}
