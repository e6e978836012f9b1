//! What a connection admits, whatever the statement is.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::catalogue::{self, ListedTable};
use super::fault::SqliteFailure;
use super::quoted;
use crate::sql::functions;
use crate::sql::policy::{QueryPolicy, TableName};

/// The tables of the file, by their folded names.
struct ReadableTables {
    known: BTreeSet<String>,
    readable: BTreeSet<String>,
}

/// Admits reads of allowed tables and calls of allowed functions from now on, and nothing else.
pub(super) fn install(
    connection: &mut Connection,
    policy: &Arc<QueryPolicy>,
) -> Result<(), SqliteFailure> {
    let tables = readable_tables(connection, policy)?;
    let policy = Arc::clone(policy);
    let decide = move |context: AuthContext<'_>| {
        if admits(&policy, &tables, &context) { Authorization::Allow } else { Authorization::Deny }
    };
    Ok(connection.authorizer(Some(decide))?)
}

fn admits(policy: &QueryPolicy, tables: &ReadableTables, context: &AuthContext<'_>) -> bool {
    match context.action {
        // Full-text search asks for the pragma within each of its queries.
        AuthAction::Select
        | AuthAction::Recursive
        | AuthAction::Pragma { pragma_name: "data_version", pragma_value: None } => true,
        AuthAction::Read { table_name, column_name } => {
            let table = table_name.to_ascii_lowercase();
            // A `WITH` query of which no column is used, as in `count(*)`, is reported like a
            // table.
            let is_cte = column_name.is_empty() && !tables.known.contains(&table);
            is_cte || tables.readable.contains(&table) || policy.allows_table_function(&table)
        }
        AuthAction::Function { function_name } => {
            let name = function_name.to_ascii_lowercase();
            policy.allows_function(&name)
                || policy.allows_table_function(&name)
                || functions::is_sqlite_operator(&name)
        }
        _ => false,
    }
}

/// The allowed tables and views, what these views read, and the inner tables of virtual ones.
fn readable_tables(
    connection: &mut Connection,
    policy: &QueryPolicy,
) -> Result<ReadableTables, SqliteFailure> {
    let listed = catalogue::list(connection)?;
    let known = listed.iter().map(|table| table.name.to_ascii_lowercase()).collect();
    let is_allowed = |table: &&ListedTable| {
        policy.allows_table(&TableName::new("main", table.name.to_ascii_lowercase()))
    };
    let allowed: Vec<&ListedTable> = listed.iter().filter(is_allowed).collect();
    let mut readable = BTreeSet::new();
    for table in &allowed {
        let name = table.name.to_ascii_lowercase();
        if table.is_virtual {
            let prefix = format!("{name}_");
            let is_inner = |other: &&ListedTable| {
                other.is_shadow && other.name.to_ascii_lowercase().starts_with(&prefix)
            };
            readable.extend(
                listed.iter().filter(is_inner).map(|other| other.name.to_ascii_lowercase()),
            );
        }
        readable.insert(name);
    }
    if policy.allowed_tables().is_some() {
        let views = allowed.iter().filter(|table| table.is_view).map(|table| table.name.as_str());
        readable.extend(tables_of_views(connection, views)?);
    }
    if policy.allows_table(&TableName::new("main", "sqlite_master")) {
        readable.extend(["sqlite_master", "sqlite_schema"].map(str::to_owned));
    }
    Ok(ReadableTables { known, readable })
}

/// The tables that views read, found by preparing a query for each.
fn tables_of_views<'v>(
    connection: &mut Connection,
    views: impl Iterator<Item = &'v str>,
) -> Result<BTreeSet<String>, SqliteFailure> {
    let read = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&read);
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        if let (AuthAction::Read { table_name, .. }, Ok(mut noted)) = (context.action, noted.lock())
        {
            noted.insert(table_name.to_ascii_lowercase());
        }
        Authorization::Allow
    }))?;
    for view in views {
        // A view that is broken fails when it is queried.
        let _ = connection.prepare(&format!("SELECT * FROM {}", quoted(view)));
    }
    let mut read = read.lock().map(|read| read.clone()).unwrap_or_default();
    read.retain(|name| !name.starts_with("sqlite_") && !name.starts_with("pragma_"));
    Ok(read)
}
