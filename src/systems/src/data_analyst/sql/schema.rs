//! The node that reads the schema: which tables there are, which of them the question is about, and
//! what they hold.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::Tool;
use serde_json::{Value as Json, json};

use super::described_names;
use super::identifier::IdentifierStyle;
use super::known_names::KnownTable;
use super::listing::{SchemaRequest, SchemaScope};
use super::misplaced_value::NamedValue;
use super::query::patch;
use super::schema_linking::{ListedTable, link};
use super::value_lookup::{ColumnValues, look_up};
use super::work::SqlWork;
use crate::data_analyst::DataAnalyst;
use crate::data_analyst::agent_result::AgentError;
use crate::data_analyst::deadline;
use crate::data_analyst::failure::ends_run;
use crate::data_analyst::plain_wording::asks_for_tables;
use crate::data_analyst::request::AgentName;
use crate::data_analyst::state::State;
use crate::data_analyst::tabular::TabularResult;
use crate::data_analyst::trace_event::{TraceEventKind, event, failure};
use crate::node::NodeContext;
use crate::patch::Patch;

/// The most columns of a table that a model reads.
const MOST_COLUMNS: usize = 60;
/// Rows of each table that a model reads.
const SAMPLE_ROWS: usize = 2;

/// Reads the schema and describes it for the model that writes queries.
pub(in crate::data_analyst) async fn read_schema(
    cx: NodeContext<DataAnalyst>,
) -> Result<Patch<State>, Fault> {
    let mut work = SqlWork { started: cx.call.cx.clock.now().as_micros(), ..SqlWork::default() };
    let tool = |name: &str| cx.system().tool(name).cloned();
    let (Some(tables), Some(schema), Some(query)) =
        (tool("sql_tables"), tool("sql_schema"), tool("sql_query"))
    else {
        let message = "no database is connected";
        work.error = Some(AgentError::new("ConfigurationError", message));
        return Ok(patch(&cx, work));
    };
    match deadline::invoke(&cx, work.started, &tables, json!({})).await {
        Ok(found) => describe(&cx, &mut work, &found, (&schema, &query)).await?,
        Err(fault) if ends_run(&fault) => return Err(fault),
        Err(fault) => work.error = Some(AgentError::of(&fault)),
    }
    Ok(patch(&cx, work))
}

async fn describe(
    cx: &NodeContext<DataAnalyst>,
    work: &mut SqlWork,
    found: &Json,
    (schema, query): (&Arc<dyn Tool>, &Arc<dyn Tool>),
) -> Result<(), Fault> {
    let config = &cx.system().config;
    found.get("dialect").and_then(Json::as_str).unwrap_or("SQL").clone_into(&mut work.dialect);
    let overview = ListedTable::read(found);
    if overview.is_empty() {
        let message = "the database has no table that may be read";
        work.error = Some(AgentError::new("NoTables", message));
        return Ok(());
    }
    described_names::check(cx, work.started, found, schema).await?;
    let question = &cx.input().question;
    let is_about_tables = |name: &str| name.to_lowercase().contains("table");
    let of_data = overview
        .iter()
        .any(|it| is_about_tables(&it.name) || it.columns.iter().any(|it| is_about_tables(it)));
    if asks_for_tables(question) && !of_data {
        let listing = SchemaRequest { scope: SchemaScope::Tables, tables: Vec::new() };
        listing.note(cx, work, "");
        return Ok(());
    }
    let chosen = link(question, &overview, &config.descriptions, config.max_tables);
    let mut described = Vec::new();
    for name in &chosen {
        let asked = json!({"tables": [name], "sample_rows": SAMPLE_ROWS});
        match deadline::invoke(cx, work.started, schema, asked).await {
            Ok(found) => described.extend(found.pointer("/tables/0").cloned()),
            Err(fault) if ends_run(&fault) => return Err(fault),
            Err(fault) => {
                work.trace.push(failure(cx, AgentName::Sql, "table not described", &fault));
            }
        }
    }
    work.known_tables = overview.iter().map(|table| KnownTable::of(table, &described)).collect();
    let columns: Vec<(String, String)> = described.iter().flat_map(text_columns).collect();
    let values = look_up(cx, work.started, query, &columns).await?;
    let values: Vec<_> = columns.into_iter().zip(values).collect();
    work.value_columns = values.iter().map(|((_, column), _)| column.clone()).collect();
    work.named_values = named_values(&values);
    let style = IdentifierStyle::of(&work.dialect);
    for table in &described {
        work.tables.push_str(&table_text(table, &values, style, cx));
    }
    let others = overview.iter().filter(|table| !has(&described, &table.name));
    for ListedTable { name, columns, .. } in others.take(MOST_COLUMNS) {
        let columns: Vec<Cow<'_, str>> = columns.iter().map(|column| style.name(column)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(work.tables, "Table {}: {}, ...", style.table(name), columns.join(", "));
    }
    let data = json!({"tables": chosen});
    work.trace.push(event(cx, AgentName::Sql, TraceEventKind::Tool, "schema", data));
    Ok(())
}

fn named_values(values: &[((String, String), ColumnValues)]) -> Vec<NamedValue> {
    let of_column = |((table, column), values): &((String, String), ColumnValues)| {
        let named = values.named.iter().map(|value| NamedValue {
            table: table.clone(),
            column: column.clone(),
            value: value.clone(),
        });
        named.collect::<Vec<_>>()
    };
    values.iter().flat_map(of_column).collect()
}

fn has(described: &[Json], name: &str) -> bool {
    described.iter().any(|table| text(table, "name") == name)
}

/// The columns of a table that hold texts, with the table.
fn text_columns(table: &Json) -> Vec<(String, String)> {
    const TEXTS: [&str; 5] = ["text", "char", "clob", "string", "enum"];
    let is_text = |column: &&Json| {
        let kind = text(column, "type").to_lowercase();
        TEXTS.iter().any(|name| kind.contains(name))
    };
    let columns = columns(table).iter().filter(is_text);
    columns
        .map(|column| (text(table, "name").to_owned(), text(column, "name").to_owned()))
        .collect()
}

fn columns(table: &Json) -> &[Json] {
    table.get("columns").and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Json, key: &str) -> &'v str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// A table as a model reads it: a line for each column, and its first rows.
fn table_text(
    table: &Json,
    values: &[((String, String), ColumnValues)],
    style: IdentifierStyle,
    cx: &NodeContext<DataAnalyst>,
) -> String {
    let descriptions = &cx.system().config.descriptions;
    let name = text(table, "name");
    let mut lines = String::new();
    let rows = table.get("rows").and_then(Json::as_u64);
    let rows = rows.map_or_else(String::new, |rows| format!(" ({rows} rows)"));
    let about = about(&[text(table, "comment"), descriptions.get(name).map_or("", String::as_str)]);
    let _ = writeln!(lines, "Table {}{rows}{about}", style.table(name));
    let all = columns(table);
    for column in all.iter().take(MOST_COLUMNS) {
        let column_name = text(column, "name");
        let key = format!("{name}.{column_name}");
        let told = descriptions.get(&key).map_or("", String::as_str);
        let told = self::about(&[text(column, "comment"), told]);
        let of_it = values.iter().find(|((of, it), _)| of == name && it == column_name);
        let listed = of_it.map_or_else(String::new, |(_, values)| values_text(values));
        let kind = text(column, "type");
        let (shown, key) = (style.name(column_name), key_text(table, column_name, style));
        let _ = writeln!(lines, "- {shown} {kind}{told}{listed}{key}");
    }
    if let Some(more) = all.len().checked_sub(MOST_COLUMNS).filter(|more| *more > 0) {
        let _ = writeln!(lines, "- and {more} more columns");
    }
    if let Some(sample) = table.get("sample").and_then(TabularResult::read) {
        let preview = sample.preview(SAMPLE_ROWS);
        let rows: Vec<&str> = preview.lines().take(sample.rows.len() + 1).collect();
        let _ = writeln!(lines, "First rows:\n{}", rows.join("\n"));
    }
    lines.push('\n');
    lines
}

fn about(texts: &[&str]) -> String {
    let said: Vec<&str> = texts.iter().copied().filter(|text| !text.is_empty()).collect();
    if said.is_empty() { String::new() } else { format!(": {}", said.join("; ")) }
}

fn values_text(values: &ColumnValues) -> String {
    let quoted = |values: &[String]| {
        let quoted = values.iter().map(|value| format!("'{}'", value.replace('\'', "''")));
        quoted.collect::<Vec<_>>().join(", ")
    };
    match (&*values.groups, &*values.named) {
        ([], []) => String::new(),
        ([], named) => format!("; has {}", quoted(named)),
        (groups, _) => format!("; one of {}", quoted(groups)),
    }
}

/// What a foreign key says about a column.
fn key_text(table: &Json, column: &str, style: IdentifierStyle) -> String {
    let keys = table.get("foreign_keys").and_then(Json::as_array);
    for key in keys.into_iter().flatten() {
        let texts = |name: &str| -> Vec<String> {
            let list = key.get(name).and_then(Json::as_array).into_iter().flatten();
            list.filter_map(|one| one.as_str().map(str::to_owned)).collect()
        };
        let place = texts("columns").iter().position(|one| one == column);
        if let Some(other) = place.and_then(|place| texts("references").get(place).cloned()) {
            let table = style.table(text(key, "table"));
            return format!("; refers to {table}.{}", style.name(&other));
        }
    }
    String::new()
}
