//! The tables of a database.

use std::collections::BTreeSet;

use tokio_postgres::{Client, Row};

use super::fault::PostgresResult;
use crate::sql::database::{ColumnSchema, ForeignKey, TableKind, TableSchema, TableSummary};
use crate::sql::fault;
use crate::sql::policy::{QueryPolicy, TableName};

/// The most columns in an overview.
const SUMMARY_COLUMNS: usize = 6;

const TABLES: &str = "
    SELECT n.nspname, c.relname, c.relkind::text, c.reltuples::float8,
        obj_description(c.oid, 'pg_class'), c.oid,
        (SELECT coalesce(array_agg(a.attname::text ORDER BY a.attnum), '{}')
         FROM pg_catalog.pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
        AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'
        AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    ORDER BY n.nspname, c.relname";

const COLUMNS: &str = "
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
        array_position(p.conkey, a.attnum)::int4, col_description(a.attrelid, a.attnum)
    FROM pg_catalog.pg_attribute a
    LEFT JOIN pg_catalog.pg_constraint p ON p.conrelid = a.attrelid AND p.contype = 'p'
    WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum";

const CONSTRAINTS: &str = "
    SELECT k.contype::text, n.nspname, c.relname,
        (SELECT array_agg(a.attname::text ORDER BY x.at)
         FROM unnest(k.conkey) WITH ORDINALITY AS x(attnum, at)
         JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = x.attnum),
        (SELECT coalesce(array_agg(a.attname::text ORDER BY x.at), '{}')
         FROM unnest(k.confkey) WITH ORDINALITY AS x(attnum, at)
         JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = x.attnum)
    FROM pg_catalog.pg_constraint k
    LEFT JOIN pg_catalog.pg_class c ON c.oid = k.confrelid
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE k.conrelid = $1 AND k.contype IN ('f', 'u')
    ORDER BY k.conkey, k.conname";

/// A table as the catalogue lists it.
struct ListedTable {
    name: TableName,
    kind: TableKind,
    rows: Option<u64>,
    comment: Option<String>,
    id: u32,
    columns: Vec<String>,
}

impl ListedTable {
    fn read(row: &Row) -> PostgresResult<Self> {
        let kind: &str = row.try_get(2)?;
        let is_view = matches!(kind, "v" | "m");
        let rows: f64 = row.try_get(3)?;
        Ok(Self {
            name: TableName::new(row.try_get::<_, &str>(0)?, row.try_get::<_, &str>(1)?),
            kind: if is_view { TableKind::View } else { TableKind::Table },
            rows: estimate(rows).filter(|_| kind != "v"),
            comment: row.try_get(4)?,
            id: row.try_get(5)?,
            columns: row.try_get(6)?,
        })
    }
}

/// The planner's number of rows; negative until the table has been analysed.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn estimate(rows: f64) -> Option<u64> {
    (0.0..1e18).contains(&rows).then_some(rows as u64)
}

async fn list(client: &Client, policy: &QueryPolicy) -> PostgresResult<Vec<ListedTable>> {
    let rows = client.query(TABLES, &[]).await?;
    let tables = rows.iter().map(ListedTable::read).collect::<PostgresResult<Vec<_>>>()?;
    Ok(tables.into_iter().filter(|table| policy.allows_table(&table.name)).collect())
}

/// The tables and views that the policy allows and the login may read.
pub(super) async fn tables(
    client: &Client,
    policy: &QueryPolicy,
) -> PostgresResult<Vec<TableSummary>> {
    let tables = list(client, policy).await?.into_iter().map(|table| TableSummary {
        name: table.name,
        kind: table.kind,
        column_count: table.columns.len(),
        columns: table.columns.into_iter().take(SUMMARY_COLUMNS).collect(),
        rows: table.rows,
        comment: table.comment,
    });
    Ok(tables.collect())
}

/// One table with all its columns.
pub(super) async fn schema(
    client: &Client,
    policy: &QueryPolicy,
    name: &TableName,
) -> PostgresResult<TableSchema> {
    let table = list(client, policy).await?.into_iter().find(|table| table.name == *name);
    let table = table.ok_or_else(|| fault::forbidden_table(name, policy))?;
    let mut schema = TableSchema {
        name: table.name,
        kind: table.kind,
        columns: Vec::new(),
        foreign_keys: Vec::new(),
        unique: Vec::new(),
        rows: table.rows,
        comment: table.comment,
    };
    for row in client.query(COLUMNS, &[&table.id]).await? {
        let key: Option<i32> = row.try_get(3)?;
        schema.columns.push(ColumnSchema {
            name: row.try_get(0)?,
            data_type: row.try_get(1)?,
            nullable: row.try_get(2)?,
            primary_key: key.and_then(|key| usize::try_from(key).ok()),
            comment: row.try_get(4)?,
        });
    }
    // By their columns: the same constraint may exist twice.
    let mut foreign_keys = BTreeSet::new();
    for row in client.query(CONSTRAINTS, &[&table.id]).await? {
        let (kind, columns): (&str, Vec<String>) = (row.try_get(0)?, row.try_get(3)?);
        if kind == "u" {
            schema.unique.push(columns);
            continue;
        }
        let (target_schema, target): (&str, &str) = (row.try_get(1)?, row.try_get(2)?);
        let table = TableName::new(target_schema, target);
        let references: Vec<String> = row.try_get(4)?;
        foreign_keys.insert((columns, table, references));
    }
    let keys = foreign_keys.into_iter();
    schema.foreign_keys = keys
        .map(|(columns, table, references)| ForeignKey { columns, table, references })
        .collect();
    schema.unique.sort();
    schema.unique.dedup();
    Ok(schema)
}
