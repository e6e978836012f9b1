//! The settings of a database behind other tools.

use antiphon_core::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dialect::SqlDialect;
use super::fault;
use super::limits::QueryLimits;
use super::policy::QueryPolicy;
use super::settings::{SqlSettings, seconds, within};

/// The settings of [`RemoteSqlTools`](super::RemoteSqlTools).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RemoteSqlSettings {
    /// `postgresql` or `sqlite`: what the server runs queries in. Required.
    pub dialect: String,
    /// The tables and views that may be read. Required.
    pub tables: Vec<String>,
    /// Further functions that a query may call.
    pub functions: Vec<String>,
    /// The schema of tables that are named without one; `public` in PostgreSQL.
    pub schema: Option<String>,
    /// The most rows of a result.
    pub max_rows: usize,
    /// The most characters of a text in one cell.
    pub max_cell: usize,
    /// The most bytes of all cells of a result.
    pub max_bytes: usize,
    /// The longest that a query may take, in seconds.
    pub timeout: f64,
}

impl Default for RemoteSqlSettings {
    fn default() -> Self {
        let SqlSettings { functions, max_cell, timeout, .. } = SqlSettings::default();
        let QueryLimits { rows: max_rows, bytes: max_bytes, .. } = QueryLimits::default();
        Self {
            dialect: String::new(),
            tables: Vec::new(),
            functions,
            schema: None,
            max_rows,
            max_cell,
            max_bytes,
            timeout,
        }
    }
}

impl RemoteSqlSettings {
    /// What queries may do, and their limits.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid` that names the setting.
    pub(super) fn read(&self) -> Result<(QueryPolicy, QueryLimits), Fault> {
        let dialect = match self.dialect.to_lowercase().as_str() {
            "postgresql" | "postgres" => SqlDialect::Postgres,
            "sqlite" => SqlDialect::Sqlite,
            other => {
                let problem = format!("`dialect` must be `postgresql` or `sqlite`: {other}");
                return Err(fault::setting(problem, "name what the server runs queries in"));
            }
        };
        let mut policy = QueryPolicy::new(dialect).functions(&self.functions);
        if let Some(schema) = &self.schema {
            policy = policy.default_schema(schema);
        }
        let limits = QueryLimits {
            rows: within("max_rows", self.max_rows, 100_000)?,
            cell: within("max_cell", self.max_cell, 1_000_000)?,
            bytes: within("max_bytes", self.max_bytes, 100_000_000)?,
            preview: None,
            timeout: seconds("timeout", self.timeout)?,
        };
        Ok((policy.tables(&self.tables)?, limits))
    }
}
