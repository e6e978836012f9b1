//! Bound values, and the rows of a query.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde_json::Value as Json;

use super::fault::SqliteFailure;
use crate::sql::fault;
use crate::sql::limits::QueryLimits;
use crate::sql::table::{CellValue, QueryColumn, QueryTable, TableBuilder};

/// A JSON value as SQLite stores it: a boolean as 0 or 1, a list or an object as its JSON text.
pub(super) fn bind(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Integer(i64::from(*value)),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Value::Integer(integer),
            (None, Some(float)) => Value::Real(float),
            (None, None) => Value::Text(number.to_string()),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(_) | Json::Object(_) => Value::Text(value.to_string()),
    }
}

/// Runs one statement that returns rows, and reads them up to the limits.
pub(super) fn read(
    connection: &Connection,
    sql: &str,
    values: &[Value],
    limits: &QueryLimits,
) -> Result<QueryTable, SqliteFailure> {
    let mut statement = connection.prepare(sql)?;
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(
            fault::refused("connection", "SQLite reports that it does not only read").into()
        );
    }
    let columns = statement
        .columns()
        .map(|column| QueryColumn {
            name: column.name().to_owned(),
            data_type: column.decl_type().unwrap_or_default().to_owned(),
        })
        .collect::<Vec<_>>();
    let width = columns.len();
    let mut table = TableBuilder::new(columns, *limits);
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        let mut cells = Vec::with_capacity(width);
        for index in 0..width {
            cells.push(cell(row.get_ref(index)?, limits.cell));
        }
        if !table.push(cells) {
            break;
        }
    }
    Ok(table.finish()?)
}

/// Copies a value, but of a long one not much more than the limit.
fn cell(value: ValueRef<'_>, limit: usize) -> CellValue {
    match value {
        ValueRef::Null => CellValue::Null,
        ValueRef::Integer(value) => CellValue::Integer(value),
        ValueRef::Real(value) => CellValue::Float(value),
        ValueRef::Text(bytes) => {
            // A character has at most four bytes.
            let most = limit.saturating_add(1).saturating_mul(4);
            let bytes = bytes.get(..most).unwrap_or(bytes);
            CellValue::Text(String::from_utf8_lossy(bytes).into_owned())
        }
        ValueRef::Blob(bytes) => {
            CellValue::Blob(bytes.get(..limit).unwrap_or(bytes).to_vec(), bytes.len())
        }
    }
}
