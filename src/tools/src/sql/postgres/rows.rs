//! The rows of a query.

use std::pin::pin;

use futures_util::TryStreamExt;
use serde_json::Value as Json;
use tokio_postgres::types::{Kind, ToSql, Type};
use tokio_postgres::{Client, Row};

use super::fault::{self, PostgresResult};
use super::values::BoundValue;
use crate::sql::fault as faults;
use crate::sql::limits::QueryLimits;
use crate::sql::table::{CellValue, QueryColumn, QueryTable, TableBuilder};

/// Runs one query and reads its rows up to the limits.
///
/// The query becomes the inner part of a `SELECT` that reads each column as text, of which the
/// server sends no more than a cell may hold. That keeps all types exact, also those of
/// extensions.
pub(super) async fn read(
    client: &Client,
    sql: &str,
    values: &[&Json],
    limits: &QueryLimits,
) -> PostgresResult<QueryTable> {
    let inner = client.prepare(sql).await.map_err(|error| fault::of_query(error, sql, 0))?;
    let types: Vec<Type> = inner.columns().iter().map(|column| column.type_().clone()).collect();
    if types.is_empty() {
        return Err(faults::refused("columns", "it returns no column").into());
    }
    let outer = OuterQuery::new(sql, &types, limits);
    let of_query = |error| fault::of_query(error, sql, outer.prefix);
    let plan = client.prepare_typed(&outer.text, inner.params()).await.map_err(of_query)?;
    let values: Vec<BoundValue<'_>> = values.iter().map(|value| BoundValue(value)).collect();
    let values = values.iter().map(|value| -> &(dyn ToSql + Sync) { value });
    let stream = client.query_raw(&plan, values).await.map_err(of_query)?;
    let mut stream = pin!(stream);
    let columns = inner.columns().iter().map(|column| QueryColumn {
        name: column.name().to_owned(),
        data_type: column.type_().name().to_owned(),
    });
    let mut table = TableBuilder::new(columns.collect(), *limits);
    while let Some(row) = stream.try_next().await.map_err(of_query)? {
        if !table.push(cells(&row, &types)?) {
            break;
        }
    }
    Ok(table.finish()?)
}

/// The query around a query.
struct OuterQuery {
    text: String,
    /// How many characters precede the inner query.
    prefix: usize,
}

impl OuterQuery {
    fn new(sql: &str, types: &[Type], limits: &QueryLimits) -> Self {
        let names: Vec<_> = (1..=types.len()).map(|number| format!("c{number}")).collect();
        let read = names.iter().zip(types).map(|(name, data_type)| {
            if *base_type(data_type) == Type::BYTEA {
                let most = limits.cell;
                format!("encode(substr({name}, 1, {most}), 'hex'), octet_length({name})")
            } else {
                format!("left({name}::text, {})", limits.cell.saturating_add(1))
            }
        });
        let before = format!("SELECT {} FROM (", read.collect::<Vec<_>>().join(", "));
        let rows = limits.rows.saturating_add(1);
        let text = format!("{before}{sql}) AS q ({}) LIMIT {rows}", names.join(", "));
        Self { text, prefix: before.chars().count() }
    }
}

/// The type that a domain restricts.
fn base_type(data_type: &Type) -> &Type {
    match data_type.kind() {
        Kind::Domain(base) => base_type(base),
        _ => data_type,
    }
}

fn cells(row: &Row, types: &[Type]) -> PostgresResult<Vec<CellValue>> {
    let mut position = 0;
    let mut cells = Vec::with_capacity(types.len());
    for data_type in types {
        let text: Option<&str> = row.try_get(position)?;
        position += 1;
        if *base_type(data_type) == Type::BYTEA {
            let length: Option<i32> = row.try_get(position)?;
            position += 1;
            cells.push(blob(text, length));
        } else {
            cells.push(text.map_or(CellValue::Null, |text| cell(text, base_type(data_type))));
        }
    }
    Ok(cells)
}

fn blob(digits: Option<&str>, length: Option<i32>) -> CellValue {
    let (Some(digits), Some(length)) = (digits, length) else { return CellValue::Null };
    let byte = |pair: &[u8]| {
        std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    let bytes = digits.as_bytes().chunks(2).filter_map(byte).collect();
    CellValue::Blob(bytes, usize::try_from(length).unwrap_or_default())
}

/// A value from its text. What cannot be read as its type, because it was cut, stays a text.
fn cell(text: &str, data_type: &Type) -> CellValue {
    let plain = || CellValue::Text(text.to_owned());
    match *data_type {
        Type::BOOL => CellValue::Boolean(text == "true"),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => {
            text.parse().map_or_else(|_| plain(), CellValue::Integer)
        }
        Type::FLOAT4 | Type::FLOAT8 => text.parse().map_or_else(|_| plain(), CellValue::Float),
        Type::NUMERIC => CellValue::Decimal(text.to_owned()),
        Type::JSON | Type::JSONB => {
            serde_json::from_str(text).map_or_else(|_| plain(), CellValue::Json)
        }
        _ => plain(),
    }
}
