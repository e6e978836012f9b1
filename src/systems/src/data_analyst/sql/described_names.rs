//! The names that `descriptions` describe, compared with those of the database.

use std::sync::Arc;

use antiphon_core::nearest::nearest;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::Tool;
use serde_json::{Value as Json, json};

use super::schema_linking::ListedTable;
use crate::data_analyst::DataAnalyst;
use crate::data_analyst::deadline;
use crate::data_analyst::failure::ends_run;
use crate::node::NodeContext;

/// Names that a refusal lists.
const LISTED: usize = 40;

/// Refuses the name of a table or a column that the database does not have. `found` is what
/// `sql_tables` has returned.
pub(super) async fn check(
    cx: &NodeContext<DataAnalyst>,
    started: u64,
    found: &Json,
    schema: &Arc<dyn Tool>,
) -> Result<(), Fault> {
    let tables = ListedTable::read(found);
    let tables: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    // An overview of very many tables says how many it leaves out.
    let is_whole = found.get("more_tables").is_none();
    for given in cx.system().config.descriptions.keys() {
        if tables.contains(&given.as_str()) {
            continue;
        }
        let has_it =
            |table: &&&str| given.strip_prefix(**table).is_some_and(|rest| rest.starts_with('.'));
        // A table with its schema may begin like another one.
        match tables.iter().filter(has_it).max_by_key(|table| table.len()) {
            Some(table) => check_column(cx, started, (given, table), schema).await?,
            None if is_whole => return Err(unknown(given, &tables)),
            None => {}
        }
    }
    Ok(())
}

async fn check_column(
    cx: &NodeContext<DataAnalyst>,
    started: u64,
    (given, table): (&str, &str),
    schema: &Arc<dyn Tool>,
) -> Result<(), Fault> {
    let asked = json!({"tables": [table]});
    let found = match deadline::invoke(cx, started, schema, asked).await {
        Ok(found) => found,
        Err(fault) if ends_run(&fault) => return Err(fault),
        // The agent says so itself, of the tables that it needs.
        Err(_) => return Ok(()),
    };
    let Some(described) = found.pointer("/tables/0") else { return Ok(()) };
    let columns = described.get("columns").and_then(Json::as_array).into_iter().flatten();
    let names = columns.filter_map(|column| column.get("name")?.as_str());
    let names: Vec<String> = names.map(|name| format!("{table}.{name}")).collect();
    if described.get("more_columns").is_some() || names.iter().any(|name| name == given) {
        return Ok(());
    }
    Err(unknown(given, &names))
}

fn unknown(given: &str, known: &[impl AsRef<str>]) -> Fault {
    let known = known.iter().map(AsRef::as_ref);
    let ends: Vec<&str> = known.clone().map(end).collect();
    let meant = nearest(end(given), ends.iter().copied());
    let meant = meant.and_then(|meant| known.clone().find(|name| end(name) == meant));
    let hint = meant.map_or_else(
        || format!("it has {}", known.take(LISTED).collect::<Vec<_>>().join(", ")),
        |meant| format!("did you mean `{meant}`?"),
    );
    let message = format!("`descriptions` names what the database does not have: {given}");
    Fault::new(FaultCode::SystemSettingInvalid, message).hint(hint)
}

/// A name without its table: columns have that in common, which says nothing.
fn end(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}
