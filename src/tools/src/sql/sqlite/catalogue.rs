//! The tables of a file.

use rusqlite::{Connection, OptionalExtension, Row};

use super::fault::SqliteFailure;
use super::quoted;
use crate::sql::database::{ColumnSchema, ForeignKey, TableKind, TableSchema, TableSummary};
use crate::sql::fault;
use crate::sql::policy::{QueryPolicy, TableName};

/// Rows are counted up to this many, which takes a few milliseconds.
const COUNTED: u32 = 100_000;

/// The most columns in an overview.
const SUMMARY_COLUMNS: usize = 6;

/// A table as SQLite lists it.
pub(super) struct ListedTable {
    pub(super) name: String,
    pub(super) is_view: bool,
    pub(super) is_virtual: bool,
    pub(super) is_shadow: bool,
}

impl ListedTable {
    const fn kind(&self) -> TableKind {
        if self.is_view { TableKind::View } else { TableKind::Table }
    }
}

/// All tables and views of the main file, in the order of their names.
pub(super) fn list(connection: &Connection) -> Result<Vec<ListedTable>, SqliteFailure> {
    let sql = "SELECT name, type FROM pragma_table_list WHERE schema = 'main' ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    let read = |row: &Row<'_>| {
        let kind: String = row.get(1)?;
        Ok(ListedTable {
            name: row.get(0)?,
            is_view: kind == "view",
            is_virtual: kind == "virtual",
            is_shadow: kind == "shadow",
        })
    };
    Ok(statement.query_map([], read)?.collect::<Result<_, _>>()?)
}

/// The tables and views that the policy allows.
pub(super) fn tables(
    connection: &Connection,
    policy: &QueryPolicy,
) -> Result<Vec<TableSummary>, SqliteFailure> {
    let mut summaries = Vec::new();
    for table in list(connection)? {
        if table.is_shadow || !allows(policy, &table.name) {
            continue;
        }
        let columns: Vec<String> =
            columns(connection, &table.name)?.into_iter().map(|column| column.name).collect();
        summaries.push(TableSummary {
            name: TableName::new("main", &table.name),
            kind: table.kind(),
            column_count: columns.len(),
            columns: columns.into_iter().take(SUMMARY_COLUMNS).collect(),
            rows: row_count(connection, &table)?,
            comment: None,
        });
    }
    Ok(summaries)
}

/// One table with all its columns.
pub(super) fn schema(
    connection: &Connection,
    policy: &QueryPolicy,
    name: &TableName,
) -> Result<TableSchema, SqliteFailure> {
    let table = find_listed(connection, policy, name)?;
    Ok(TableSchema {
        kind: table.kind(),
        columns: columns(connection, &table.name)?,
        foreign_keys: foreign_keys(connection, &table.name)?,
        unique: unique(connection, &table.name)?,
        rows: row_count(connection, &table)?,
        name: TableName::new("main", table.name),
        comment: None,
    })
}

/// The name of an allowed table, as the file spells it.
pub(super) fn find(
    connection: &Connection,
    policy: &QueryPolicy,
    name: &TableName,
) -> Result<String, SqliteFailure> {
    find_listed(connection, policy, name).map(|table| table.name)
}

fn find_listed(
    connection: &Connection,
    policy: &QueryPolicy,
    name: &TableName,
) -> Result<ListedTable, SqliteFailure> {
    let is_it = |table: &ListedTable| {
        name.schema.eq_ignore_ascii_case("main") && table.name.eq_ignore_ascii_case(&name.table)
    };
    let found = list(connection)?.into_iter().find(is_it);
    found
        .filter(|table| allows(policy, &table.name))
        .ok_or_else(|| fault::forbidden_table(name, policy).into())
}

fn allows(policy: &QueryPolicy, name: &str) -> bool {
    policy.allows_table(&TableName::new("main", name.to_ascii_lowercase()))
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<ColumnSchema>, SqliteFailure> {
    // Not those of virtual tables that are hidden, which are arguments of a search.
    let sql = "SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?1, 'main')
        WHERE hidden <> 1 ORDER BY cid";
    let read = |row: &Row<'_>| {
        let (not_null, key): (bool, u32) = (row.get(2)?, row.get(3)?);
        Ok(ColumnSchema {
            name: row.get(0)?,
            data_type: row.get(1)?,
            nullable: !not_null,
            primary_key: usize::try_from(key).ok().filter(|key| *key > 0),
            comment: None,
        })
    };
    Ok(connection.prepare(sql)?.query_map([table], read)?.collect::<Result<_, _>>()?)
}

fn foreign_keys(connection: &Connection, table: &str) -> Result<Vec<ForeignKey>, SqliteFailure> {
    let sql = "SELECT id, \"table\", \"from\", coalesce(\"to\", '')
        FROM pragma_foreign_key_list(?1, 'main') ORDER BY id, seq";
    let read = |row: &Row<'_>| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get(3)?))
    };
    let mut statement = connection.prepare(sql)?;
    let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
    for row in statement.query_map([table], read)? {
        let (id, target, column, reference): (i64, String, String, String) = row?;
        match keys.last_mut() {
            Some((last, key)) if *last == id => {
                key.columns.push(column);
                key.references.push(reference);
            }
            _ => {
                let table = TableName::new("main", target);
                let key = ForeignKey { columns: vec![column], table, references: vec![reference] };
                keys.push((id, key));
            }
        }
    }
    let mut keys: Vec<_> = keys.into_iter().map(|(_, key)| key).collect();
    for key in &mut keys {
        // A reference without columns is to the primary key.
        if key.references.iter().any(String::is_empty) {
            let mut primary: Vec<_> = columns(connection, &key.table.table)?
                .into_iter()
                .filter_map(|column| Some((column.primary_key?, column.name)))
                .collect();
            primary.sort();
            key.references = primary.into_iter().map(|(_, name)| name).collect();
        }
    }
    keys.sort_by(|left, right| left.columns.cmp(&right.columns));
    Ok(keys)
}

fn unique(connection: &Connection, table: &str) -> Result<Vec<Vec<String>>, SqliteFailure> {
    let sql = "SELECT name FROM pragma_index_list(?1, 'main')
        WHERE \"unique\" AND origin <> 'pk' AND NOT partial ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    let names: Vec<String> =
        statement.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut unique = Vec::new();
    for name in names {
        let sql = "SELECT name FROM pragma_index_info(?1, 'main') ORDER BY seqno";
        let columns: Vec<Option<String>> = connection
            .prepare(sql)?
            .query_map([name], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        // An index of an expression has columns without a name.
        unique.extend(columns.into_iter().collect::<Option<Vec<_>>>());
    }
    unique.sort();
    Ok(unique)
}

/// The number of rows of a table, if there are not too many to count.
fn row_count(connection: &Connection, table: &ListedTable) -> Result<Option<u64>, SqliteFailure> {
    if table.is_view || table.is_virtual {
        return Ok(None);
    }
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM {} LIMIT {})",
        quoted(&table.name),
        COUNTED + 1
    );
    let count: u32 = connection.query_row(&sql, [], |row| row.get(0))?;
    if count <= COUNTED {
        return Ok(Some(u64::from(count)));
    }
    // What ANALYZE has counted, if it has.
    let sql = "SELECT stat FROM sqlite_stat1 WHERE tbl = ?1";
    let Ok(mut statement) = connection.prepare(sql) else { return Ok(None) };
    let stat: Option<String> = statement.query_row([&table.name], |row| row.get(0)).optional()?;
    Ok(stat.and_then(|stat| stat.split(' ').next()?.parse().ok()))
}
