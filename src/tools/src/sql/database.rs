//! What all databases have in common.

use std::fmt;

use antiphon_core::Fault;
use async_trait::async_trait;
use serde::Serialize;

use super::check::{CheckedQuery, check};
use super::limits::QueryLimits;
use super::parameters::QueryParameters;
use super::policy::{QueryPolicy, TableName};
use super::table::QueryTable;

/// A table or a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TableKind {
    /// A table; also one that is partitioned, foreign or virtual.
    Table,
    /// A view; also a materialised one.
    View,
}

/// A table in an overview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSummary {
    /// Its name.
    pub name: TableName,
    /// Table or view.
    pub kind: TableKind,
    /// The first columns, in their order.
    pub columns: Vec<String>,
    /// How many columns there are.
    pub column_count: usize,
    /// About how many rows it has, if the database knows without counting.
    pub rows: Option<u64>,
    /// The comment of the database.
    pub comment: Option<String>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSchema {
    /// Its name.
    pub name: String,
    /// The database's name of its type.
    pub data_type: String,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// The position in the primary key, from 1.
    pub primary_key: Option<usize>,
    /// The comment of the database.
    pub comment: Option<String>,
}

/// Columns that refer to those of another table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The columns of this table.
    pub columns: Vec<String>,
    /// The table that they refer to.
    pub table: TableName,
    /// The columns there, in the same order.
    pub references: Vec<String>,
}

/// Everything about one table that a query needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// Its name.
    pub name: TableName,
    /// Table or view.
    pub kind: TableKind,
    /// The columns, in their order.
    pub columns: Vec<ColumnSchema>,
    /// The foreign keys, in the order of their columns.
    pub foreign_keys: Vec<ForeignKey>,
    /// The columns of unique constraints and indexes, apart from the primary key.
    pub unique: Vec<Vec<String>>,
    /// About how many rows it has, if the database knows without counting.
    pub rows: Option<u64>,
    /// The comment of the database.
    pub comment: Option<String>,
}

/// A database that can only be read. Its connection refuses to write, whatever a query says, and
/// [`Database::check`] refuses what should not even be tried.
///
/// Dropping a future cancels its query.
#[async_trait]
pub trait Database: Send + Sync + fmt::Debug {
    /// What queries may read and call.
    fn policy(&self) -> &QueryPolicy;

    /// The tables and views that queries may read, in the order of their names.
    ///
    /// # Errors
    /// `database_unreachable`, `database_login_failed`, `query_timeout`, `query_failed`.
    async fn tables(&self) -> Result<Vec<TableSummary>, Fault>;

    /// One table with all its columns.
    ///
    /// # Errors
    /// `query_table_forbidden` for a table that does not exist or may not be read; otherwise as
    /// [`Database::tables`].
    async fn schema(&self, table: &TableName) -> Result<TableSchema, Fault>;

    /// The first rows of a table, to see what its values look like.
    ///
    /// # Errors
    /// As [`Database::schema`].
    async fn sample(&self, table: &TableName, limits: &QueryLimits) -> Result<QueryTable, Fault>;

    /// Runs a query that was checked against the policy of this database.
    ///
    /// # Errors
    /// `query_failed` with the message of the database, `query_timeout`,
    /// `query_parameters_invalid`, `database_unreachable`, `database_login_failed`.
    async fn execute(
        &self,
        query: &CheckedQuery,
        parameters: &QueryParameters,
        limits: &QueryLimits,
    ) -> Result<QueryTable, Fault>;

    /// Parses a query and checks each part of it against the policy. Touches no database.
    ///
    /// # Errors
    /// `query_refused` or `query_table_forbidden`, with the part that is refused.
    fn check(&self, sql: &str) -> Result<CheckedQuery, Fault> {
        check(sql, self.policy())
    }
}
