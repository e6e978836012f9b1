//! Faults of queries and databases. Texts of a database appear in them; connection strings do
//! not.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode};

use super::dialect::SqlDialect;
use super::foreign_functions::own_form;
use super::policy::{QueryPolicy, TableName};

/// The way to the schema.
const SCHEMA: &str =
    "the tools `sql_tables` and `sql_schema` show what can be read; select from these tables";

/// A part of a query that is not allowed.
pub(super) fn refused(reason: &str, what: &str) -> Fault {
    Fault::new(FaultCode::QueryRefused, format!("the query is refused: {what}"))
        .hint("write one SELECT statement of plain SQL that only reads")
        .with("reason", reason)
}

/// A statement that asks for the schema.
pub(super) fn asks_for_schema(word: &str) -> Fault {
    refused("statement", &format!("it is not a SELECT but: {word}")).hint(SCHEMA)
}

/// A query that the parser cannot read.
pub(super) fn unparsed(dialect: &str, problem: &str) -> Fault {
    let message = format!("the query cannot be parsed as {dialect}: {problem}");
    Fault::new(FaultCode::QueryRefused, message)
        .hint("correct the syntax, or write the query in simpler SQL")
        .with("reason", "syntax")
}

pub(super) fn forbidden_function(name: &str, dialect: SqlDialect) -> Fault {
    let message = format!("the query calls a function that is not allowed: {name}");
    let hint = match own_form(dialect, name) {
        Some(form) => format!("{dialect} has no {name}(), write instead: {form}"),
        None if name.starts_with("pragma_") => SCHEMA.to_owned(),
        None => "use functions that compute a value from their arguments".to_owned(),
    };
    Fault::new(FaultCode::QueryRefused, message)
        .hint(hint)
        .with("reason", "function")
        .with("function", name)
}

pub(super) fn forbidden_table(name: &TableName, policy: &QueryPolicy) -> Fault {
    let shown = name.short(policy.schema());
    let message = format!("the table does not exist or may not be read: {shown}");
    let fault = Fault::new(FaultCode::QueryTableForbidden, message).with("table", shown);
    match policy.allowed_tables() {
        Some(tables) => {
            let names: Vec<_> =
                tables.iter().take(50).map(|table| table.short(policy.schema())).collect();
            fault.hint(format!("use one of these tables: {}", names.join(", ")))
        }
        None => fault.hint(SCHEMA),
    }
}

pub(super) fn bad_parameters(problem: &str) -> Fault {
    Fault::new(FaultCode::QueryParametersInvalid, problem.to_owned()).hint(
        "pass a list for $1, $2, …, or an object for :name, with one value for each placeholder",
    )
}

pub(super) fn bad_table_name(text: &str) -> Fault {
    let message = format!("`tables` contains a malformed name: {text}");
    Fault::new(FaultCode::ToolSettingInvalid, message)
        .hint("write `table`, `schema.table` or `\"Schema\".\"Table\"`")
}

pub(super) fn no_tables() -> Fault {
    Fault::new(FaultCode::ToolSettingInvalid, "`tables` allows no table: []")
        .hint("name the tables that may be read, or leave the setting out to allow all")
}

pub(super) fn setting(problem: impl Into<String>, hint: &str) -> Fault {
    Fault::new(FaultCode::ToolSettingInvalid, problem.into()).hint(hint.to_owned())
}

/// The database refused the query. `position` is the character at which, from 1, in `sql`.
pub(super) fn failed(problem: &str, sql: &str, position: Option<usize>) -> Fault {
    let fault = Fault::new(FaultCode::QueryFailed, format!("the query failed: {problem}"))
        .with("query", sql);
    let Some(position) = position.filter(|position| *position > 0) else { return fault };
    let near: String = sql.chars().skip(position - 1).take(40).collect();
    let mut fault = fault.with("position", position);
    if !near.is_empty() {
        fault.message = format!("{} (at `{near}`)", fault.message);
    }
    fault
}

pub(super) fn timeout(limit: Duration) -> Fault {
    let message =
        format!("the query took longer than its time limit in seconds: {:?}", limit.as_secs_f64());
    Fault::new(FaultCode::QueryTimeout, message)
        .hint("read fewer rows: add a WHERE clause, aggregate, or avoid joins without a condition")
}

pub(super) fn unreachable(label: &str, problem: &str) -> Fault {
    let message = format!("the database `{label}` cannot be reached: {problem}");
    Fault::new(FaultCode::DatabaseUnreachable, message)
        .hint("check that it exists and runs, and the host, port and name in its URL")
}

/// A transaction keeps readers out of a SQLite file.
pub(super) fn locked(label: &str, by_this_process: bool) -> Fault {
    let hint = if by_this_process {
        "this process has an open transaction on the file, such as of `sqlite3`: commit it or \
         close its connection, then ask again"
    } else {
        "another process writes to the file: ask again when its transaction has ended"
    };
    unreachable(label, "database is locked").hint(hint)
}

pub(super) fn login_failed(label: &str, problem: &str) -> Fault {
    let message = format!("the login to the database `{label}` failed: {problem}");
    Fault::new(FaultCode::DatabaseLoginFailed, message)
        .hint("check the user, the password and the TLS options in its URL")
}
