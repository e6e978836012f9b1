//! SQLite files, opened read-only for each query.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use antiphon_core::Fault;
use async_trait::async_trait;
use rusqlite::Connection;

use super::check::CheckedQuery;
use super::database::{Database, TableSchema, TableSummary};
use super::dialect::SqlDialect;
use super::fault as faults;
use super::limits::QueryLimits;
use super::parameters::QueryParameters;
use super::policy::{QueryPolicy, TableName};
use super::table::QueryTable;

mod authorizer;
mod catalogue;
mod connection;
mod fault;
mod lock_owner;
mod rows;

use connection::QueryDeadline;
use fault::SqliteFailure;

/// The longest that reading the schema may take.
const SCHEMA_TIMEOUT: Duration = Duration::from_secs(30);

/// How much longer the caller waits for SQLite to notice that the time is over.
const GRACE: Duration = Duration::from_secs(1);

/// A SQLite file.
///
/// It is opened for each call with `SQLITE_OPEN_READONLY`, in defensive mode, without trust in
/// its schema, extensions or attached files. An authorizer admits only reads of allowed tables
/// and calls of allowed functions, whatever the statement is. On Linux its locks are those of
/// another process: transactions of this one, such as of Python's `sqlite3`, keep theirs.
///
/// ```no_run
/// use antiphon_tools::sql::{Database, QueryLimits, QueryParameters, QueryPolicy, SqlDialect,
///     SqliteDatabase};
/// # async fn ask() -> Result<(), antiphon_core::Fault> {
/// let database = SqliteDatabase::open("sales.db", QueryPolicy::new(SqlDialect::Sqlite))?;
/// let query = database.check("select sum(amount) from orders where region = :region")?;
/// let region = QueryParameters::from_json(serde_json::json!({"region": "north"}))?;
/// let table = database.execute(&query, &region, &QueryLimits::default()).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct SqliteDatabase {
    path: PathBuf,
    policy: Arc<QueryPolicy>,
}

impl fmt::Debug for SqliteDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteDatabase").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SqliteDatabase {
    /// A database in the file at `path`, relative to the current folder. Does not open it.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid`: there is no file, or the policy is for
    /// another dialect.
    pub fn open(path: impl AsRef<Path>, policy: QueryPolicy) -> Result<Self, Fault> {
        let path = path.as_ref();
        if policy.dialect() != SqlDialect::Sqlite {
            let problem = format!("the policy of a SQLite file is for: {}", policy.dialect());
            return Err(faults::setting(problem, "use a policy for SQLite"));
        }
        if !path.is_file() {
            let problem = format!("there is no SQLite file at: {}", path.display());
            return Err(faults::setting(problem, "check the path; the file must exist"));
        }
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { path, policy: Arc::new(policy) })
    }

    /// Runs `work` on a connection of its own, on a thread where it may block. If the future is
    /// dropped, the work is interrupted.
    async fn with_connection<T: Send + 'static>(
        &self,
        timeout: Duration,
        work: impl FnOnce(&mut Connection, &Arc<QueryPolicy>) -> Result<T, SqliteFailure>
        + Send
        + 'static,
    ) -> Result<T, Fault> {
        let stop = QueryDeadline {
            dropped: Arc::new(AtomicBool::new(false)),
            until: Instant::now() + timeout,
        };
        let _interrupt = InterruptOnDrop(Arc::clone(&stop.dropped));
        let (path, policy) = (self.path.clone(), Arc::clone(&self.policy));
        let query = move || {
            let opened = connection::open(&path, &stop);
            let outcome = opened.and_then(|mut connection| work(&mut connection, &policy));
            outcome.map_err(|failure| failure.with_lock_owner(&path))
        };
        let job = tokio::task::spawn_blocking(move || {
            lock_owner::run(query).unwrap_or_else(|problem| {
                Err(SqliteFailure::Other(faults::failed(&problem, "", None)))
            })
        });
        let place = self.path.display().to_string();
        match tokio::time::timeout(timeout + GRACE, job).await {
            Ok(Ok(outcome)) => outcome.map_err(|failure| failure.into_fault(&place, timeout)),
            Ok(Err(_)) => Err(faults::failed("SQLite's reply cannot be read", "", None)),
            Err(_) => Err(faults::timeout(timeout)),
        }
    }
}

struct InterruptOnDrop(Arc<AtomicBool>);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl Database for SqliteDatabase {
    fn policy(&self) -> &QueryPolicy {
        &self.policy
    }

    async fn tables(&self) -> Result<Vec<TableSummary>, Fault> {
        self.with_connection(SCHEMA_TIMEOUT, |connection, policy| {
            catalogue::tables(connection, policy)
        })
        .await
    }

    async fn schema(&self, table: &TableName) -> Result<TableSchema, Fault> {
        let table = table.clone();
        self.with_connection(SCHEMA_TIMEOUT, move |connection, policy| {
            catalogue::schema(connection, policy, &table)
        })
        .await
    }

    async fn sample(&self, table: &TableName, limits: &QueryLimits) -> Result<QueryTable, Fault> {
        let (table, limits) = (table.clone(), *limits);
        self.with_connection(limits.timeout, move |connection, policy| {
            let name = catalogue::find(connection, policy, &table)?;
            authorizer::install(connection, policy)?;
            let sql = format!("SELECT * FROM {} LIMIT {}", quoted(&name), limits.rows);
            rows::read(connection, &sql, &[], &limits)
        })
        .await
    }

    async fn execute(
        &self,
        query: &CheckedQuery,
        parameters: &QueryParameters,
        limits: &QueryLimits,
    ) -> Result<QueryTable, Fault> {
        let values = parameters.in_order(query.parameters())?;
        let values: Vec<_> = values.into_iter().map(rows::bind).collect();
        let (sql, limits) = (query.text().to_owned(), *limits);
        self.with_connection(limits.timeout, move |connection, policy| {
            authorizer::install(connection, policy)?;
            rows::read(connection, &sql, &values, &limits)
        })
        .await
    }
}

/// An identifier of the catalogue in a statement.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
