//! The settings of the tools, and the database that they name.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::database::Database;
use super::dialect::SqlDialect;
use super::fault;
use super::limits::QueryLimits;
use super::policy::QueryPolicy;
use super::postgres::{PostgresDatabase, PostgresOptions};
use super::sqlite::SqliteDatabase;
use crate::secret_text::SecretText;

/// The settings of the tools `sql`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SqlSettings {
    /// `sqlite:///relative.db`, `sqlite:////absolute.db`, the path of a SQLite file, or
    /// `postgresql://user:password@host:5432/database`. Required.
    pub url: SecretText,
    /// The tables and views that may be read; all outside of the system catalogues if left out.
    pub tables: Option<Vec<String>>,
    /// Further functions that a query may call.
    pub functions: Vec<String>,
    /// The schema of tables that are named without one; `public` in PostgreSQL.
    pub schema: Option<String>,
    /// Whether the system catalogues may be read.
    pub system_tables: bool,
    /// The most rows of a result; by default 1,000 in JSON, 100,000 as columns of Arrow. A result in
    /// JSON never has more than 100,000.
    pub max_rows: Option<usize>,
    /// The most characters of a text, or bytes of a blob, in one cell.
    pub max_cell: usize,
    /// The most bytes of all cells of a result; by default 1,000,000 in JSON, 100,000,000 as columns
    /// of Arrow. A result in JSON never has more than 100,000,000.
    pub max_bytes: Option<usize>,
    /// The longest that a query may run, in seconds.
    pub timeout: f64,
    /// The longest that connecting may take, in seconds.
    pub connect_timeout: f64,
}

impl Default for SqlSettings {
    fn default() -> Self {
        let limits = QueryLimits::default();
        Self {
            url: SecretText::default(),
            tables: None,
            functions: Vec::new(),
            schema: None,
            system_tables: false,
            max_rows: None,
            max_cell: limits.cell,
            max_bytes: None,
            timeout: limits.timeout.as_secs_f64(),
            connect_timeout: PostgresOptions::default().connect_timeout.as_secs_f64(),
        }
    }
}

impl SqlSettings {
    /// The limits of a query whose rows become JSON.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid` that names the setting.
    pub fn limits(&self) -> Result<QueryLimits, Fault> {
        let most = QueryLimits::columns();
        let limits = self.changed(QueryLimits::default())?;
        let (rows, bytes) = (limits.rows.min(most.rows), limits.bytes.min(most.bytes));
        Ok(QueryLimits { rows, bytes, ..limits })
    }

    /// The limits of a query whose rows become columns of Arrow.
    ///
    /// # Errors
    /// As [`SqlSettings::limits`].
    pub fn column_limits(&self) -> Result<QueryLimits, Fault> {
        self.changed(QueryLimits::columns())
    }

    fn changed(&self, limits: QueryLimits) -> Result<QueryLimits, Fault> {
        Ok(QueryLimits {
            rows: within("max_rows", self.max_rows.unwrap_or(limits.rows), 10_000_000)?,
            cell: within("max_cell", self.max_cell, 1_000_000)?,
            bytes: within("max_bytes", self.max_bytes.unwrap_or(limits.bytes), 1_000_000_000)?,
            preview: limits.preview,
            timeout: seconds("timeout", self.timeout)?,
        })
    }
}

pub(super) fn within(name: &str, value: usize, most: usize) -> Result<usize, Fault> {
    if (1..=most).contains(&value) {
        return Ok(value);
    }
    Err(fault::setting(format!("`{name}` must be 1 to {most}: {value}"), "choose a smaller limit"))
}

pub(super) fn seconds(name: &str, value: f64) -> Result<Duration, Fault> {
    match Duration::try_from_secs_f64(value) {
        Ok(time) if !time.is_zero() && time <= Duration::from_hours(1) => Ok(time),
        _ => {
            let problem =
                format!("`{name}` must be a number of seconds, above 0 and up to 3600: {value}");
            Err(fault::setting(problem, "choose another time limit"))
        }
    }
}

/// The database that the settings name. Does not connect.
///
/// # Errors
/// A `Validation` fault `tool_setting_invalid` that names the setting.
pub fn open_database(settings: &SqlSettings) -> Result<Arc<dyn Database>, Fault> {
    let url = settings.url.secret();
    let text = url.expose();
    if text.is_empty() {
        let hint = "set it to sqlite:///file.db or postgresql://user:password@host/database";
        return Err(fault::setting("`url` is missing", hint));
    }
    let is_postgres = text.starts_with("postgres://") || text.starts_with("postgresql://");
    let dialect = if is_postgres { SqlDialect::Postgres } else { SqlDialect::Sqlite };
    let mut policy = QueryPolicy::new(dialect)
        .functions(&settings.functions)
        .system_tables(settings.system_tables);
    if let Some(schema) = &settings.schema {
        if !is_postgres {
            return Err(fault::setting(
                "SQLite has no schemas, but `schema` is set",
                "leave it out",
            ));
        }
        policy = policy.default_schema(schema);
    }
    if let Some(tables) = &settings.tables {
        policy = policy.tables(tables)?;
    }
    if is_postgres {
        let connect_timeout = seconds("connect_timeout", settings.connect_timeout)?;
        let options = PostgresOptions { connect_timeout, ..PostgresOptions::default() };
        return Ok(Arc::new(PostgresDatabase::open(url, policy, options)?));
    }
    Ok(Arc::new(SqliteDatabase::open(sqlite_path(text)?, policy)?))
}

/// The path in a URL, as `SQLAlchemy` reads it, or a path.
fn sqlite_path(text: &str) -> Result<&str, Fault> {
    if let Some(path) = text.strip_prefix("sqlite:///") {
        return Ok(path);
    }
    if text.contains("://") || text.starts_with("sqlite:") {
        // Not the text itself: it may be the URL of another database, with a password.
        let scheme = text.split(':').next().unwrap_or_default();
        let problem =
            format!("the URL of the database has an unknown form; it begins with: {scheme}:");
        let hint = "write sqlite:///relative.db, sqlite:////absolute.db or postgresql://…";
        return Err(fault::setting(problem, hint));
    }
    Ok(text)
}
