//! The node that answers a question about the schema itself: code lists tables or columns, and no
//! query is run.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::query::{fail, patch, reject};
use super::work::SqlWork;
use crate::data_analyst::DataAnalyst;
use crate::data_analyst::agent_result::AgentError;
use crate::data_analyst::deadline;
use crate::data_analyst::request::AgentName;
use crate::data_analyst::state::State;
use crate::data_analyst::tabular::TabularResult;
use crate::data_analyst::trace_event::{TraceEventKind, event};
use crate::node::NodeContext;
use crate::patch::Patch;

/// Tables that one call of `sql_schema` describes.
const DESCRIBED_AT_ONCE: usize = 20;
/// The most rows of a list.
const MOST_ROWS: usize = 1_000;
/// Names that a refusal lists.
const MOST_NAMED: usize = 40;

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaScope {
    /// Tables, with what is said about them.
    Tables,
    /// Their columns, with types and keys.
    Columns,
}

/// What a question about the schema asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaRequest {
    /// What is listed.
    pub scope: SchemaScope,
    /// The tables that it is about; all if there are none.
    pub tables: Vec<String>,
}

impl SchemaRequest {
    /// What a reply asks for; none if it asks for no list.
    pub(super) fn read(scope: Option<&str>, tables: Vec<String>) -> Option<Self> {
        let scope = match scope?.trim().to_lowercase().as_str() {
            "tables" => SchemaScope::Tables,
            "columns" => SchemaScope::Columns,
            _ => return None,
        };
        Some(Self { scope, tables })
    }

    /// Has the list made next, in place of `query` if there is one.
    pub(super) fn note(self, cx: &NodeContext<DataAnalyst>, work: &mut SqlWork, query: &str) {
        let data = json!({"schema": self.scope, "tables": self.tables, "query": query});
        work.trace.push(event(cx, AgentName::Sql, TraceEventKind::Decision, "schema", data));
        work.listing = Some(self);
    }
}

/// Lists what the question asks for.
pub(in crate::data_analyst) async fn list(
    cx: NodeContext<DataAnalyst>,
) -> Result<Patch<State>, Fault> {
    let mut work = cx.state.sql.clone();
    let Some(listing) = work.listing.clone() else { return Ok(patch(&cx, work)) };
    match listed(&cx, &listing).await {
        Ok(Ok(table)) => {
            let data = json!({
                "schema": listing.scope, "tables": listing.tables, "row_count": table.row_count,
            });
            work.trace.push(event(
                &cx,
                AgentName::Sql,
                TraceEventKind::Tool,
                "schema listed",
                data,
            ));
            work.table = Some(table);
        }
        Ok(Err(unknown)) => fail(&cx, &mut work, unknown, 0.0),
        Err(fault) => reject(&cx, &mut work, fault, 0.0)?,
    }
    Ok(patch(&cx, work))
}

/// The list as a table, or what it names that may not be read.
async fn listed(
    cx: &NodeContext<DataAnalyst>,
    listing: &SchemaRequest,
) -> Result<Result<TabularResult, AgentError>, Fault> {
    let overview = call(cx, "sql_tables", json!({})).await?;
    let known: Vec<&Json> = rows_of(&overview, "tables").iter().collect();
    let mut chosen = Vec::new();
    for given in &listing.tables {
        let is_it = |table: &&&Json| text(table, "name").eq_ignore_ascii_case(given.trim());
        match known.iter().find(is_it) {
            Some(table) => chosen.push(*table),
            None => return Ok(Err(unknown(given, &known))),
        }
    }
    let is_whole = !chosen.is_empty() || overview.get("more_tables").is_none();
    let chosen = if chosen.is_empty() { known } else { chosen };
    let (names, rows, is_whole) = match listing.scope {
        SchemaScope::Tables => {
            let rows: Vec<_> = chosen.iter().map(|table| table_row(cx, table)).collect();
            (["table", "kind", "description"].as_slice(), rows, is_whole)
        }
        SchemaScope::Columns => {
            let (rows, has_all) = column_rows(cx, &chosen).await?;
            let names = ["table", "column", "type", "key", "description"].as_slice();
            (names, rows, is_whole && has_all)
        }
    };
    Ok(Ok(TabularResult::of_list(names, &rows, is_whole, MOST_ROWS)))
}

async fn call(cx: &NodeContext<DataAnalyst>, name: &str, arguments: Json) -> Result<Json, Fault> {
    let tool: Option<&Arc<dyn Tool>> = cx.system().tool(name);
    let tool =
        tool.ok_or_else(|| Fault::new(FaultCode::DatabaseUnreachable, "no database is connected"))?;
    deadline::invoke(cx, cx.state.sql.started, tool, arguments).await
}

fn unknown(given: &str, known: &[&Json]) -> AgentError {
    let names: Vec<&str> = known.iter().map(|table| text(table, "name")).take(MOST_NAMED).collect();
    let message = format!("the database has no such table, or it may not be read: {given}");
    let hint = format!("it has {}", names.join(", "));
    AgentError::new("TableNotAllowed", message).with("hint", hint)
}

fn table_row(cx: &NodeContext<DataAnalyst>, table: &Json) -> Vec<String> {
    let name = text(table, "name");
    let kind = text(table, "kind").to_owned();
    vec![name.to_owned(), kind, described(cx, name, text(table, "comment"))]
}

/// A row for each column, and whether there are no more columns than those.
async fn column_rows(
    cx: &NodeContext<DataAnalyst>,
    tables: &[&Json],
) -> Result<(Vec<Vec<String>>, bool), Fault> {
    let names: Vec<&str> = tables.iter().map(|table| text(table, "name")).collect();
    let (mut rows, mut has_all) = (Vec::new(), true);
    for names in names.chunks(DESCRIBED_AT_ONCE) {
        if rows.len() > MOST_ROWS {
            break;
        }
        let found = call(cx, "sql_schema", json!({ "tables": names })).await?;
        for table in rows_of(&found, "tables") {
            has_all &= table.get("more_columns").is_none();
            let of_table = rows_of(table, "columns").iter();
            rows.extend(of_table.map(|column| column_row(cx, table, column)));
        }
    }
    Ok((rows, has_all))
}

fn column_row(cx: &NodeContext<DataAnalyst>, table: &Json, column: &Json) -> Vec<String> {
    let (of, name) = (text(table, "name"), text(column, "name"));
    let description = described(cx, &format!("{of}.{name}"), text(column, "comment"));
    let kind = text(column, "type").to_owned();
    vec![of.to_owned(), name.to_owned(), kind, keys(table, column), description]
}

/// The keys that a column is a part of.
fn keys(table: &Json, column: &Json) -> String {
    let mut keys = Vec::new();
    if column.get("primary_key").is_some() {
        keys.push("primary key".to_owned());
    }
    for key in rows_of(table, "foreign_keys") {
        let of_it = rows_of(key, "columns").iter().zip(rows_of(key, "references"));
        let mut of_it = of_it.filter(|(own, _)| *own == &column["name"]);
        let other = of_it.find_map(|(_, other)| other.as_str());
        keys.extend(other.map(|other| format!("refers to {}.{other}", text(key, "table"))));
    }
    keys.join(", ")
}

/// What the database and the settings say about a table or a column.
fn described(cx: &NodeContext<DataAnalyst>, name: &str, comment: &str) -> String {
    let told = cx.system().config.descriptions.get(name).map_or("", String::as_str);
    let said = [comment, told].into_iter().filter(|text| !text.is_empty());
    said.collect::<Vec<_>>().join("; ")
}

fn rows_of<'v>(value: &'v Json, key: &str) -> &'v [Json] {
    value.get(key).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Json, key: &str) -> &'v str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}
