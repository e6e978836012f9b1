//! PostgreSQL, in read-only transactions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_net::Secret;
use async_trait::async_trait;

use super::check::CheckedQuery;
use super::database::{Database, TableSchema, TableSummary};
use super::dialect::SqlDialect;
use super::fault as faults;
use super::limits::QueryLimits;
use super::parameters::QueryParameters;
use super::policy::{QueryPolicy, TableName};
use super::table::QueryTable;

mod address;
mod catalogue;
mod connection;
mod fault;
mod pool;
mod rows;
mod tls;
mod values;

use address::Address;
use pool::Pool;

/// The longest that reading the schema may take.
const SCHEMA_TIMEOUT: Duration = Duration::from_secs(30);

/// How a database is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    /// The time limit of a connection attempt, with TLS and login; 10 seconds.
    pub connect_timeout: Duration,
    /// How many connections are kept open; 4. More are opened while more queries run at once.
    pub idle_connections: usize,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { connect_timeout: Duration::from_secs(10), idle_connections: 4 }
    }
}

/// A PostgreSQL database.
///
/// Each query runs in a read-only transaction that is rolled back, with a time limit that the
/// server enforces, as the inner part of a `SELECT`, where PostgreSQL admits nothing that
/// changes data. A superuser's session works with the rights of `pg_read_all_data`, which may
/// read tables, and neither files nor programs. A query whose future is dropped is cancelled on
/// the server.
///
/// ```no_run
/// use antiphon_tools::sql::{PostgresDatabase, PostgresOptions, QueryPolicy, SqlDialect};
/// let url = "postgresql://analyst:password@db.example.com/sales?sslmode=verify-full".into();
/// let policy = QueryPolicy::new(SqlDialect::Postgres);
/// let database = PostgresDatabase::open(&url, policy, PostgresOptions::default())?;
/// # Ok::<(), antiphon_core::Fault>(())
/// ```
#[derive(Clone)]
pub struct PostgresDatabase {
    pool: Arc<Pool>,
    policy: Arc<QueryPolicy>,
}

impl fmt::Debug for PostgresDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.pool.label();
        f.debug_struct("PostgresDatabase").field("database", &label).finish_non_exhaustive()
    }
}

impl PostgresDatabase {
    /// A database at `url`: `postgresql://user:password@host:5432/database`. Does not connect.
    ///
    /// The options of a URL are `sslmode` (`disable`, `prefer`, `require`, `verify-full`),
    /// `sslrootcert` (a PEM file), `host` (the folder of a Unix socket) and `application_name`.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid`, which never quotes the URL.
    pub fn open(
        url: &Secret,
        policy: QueryPolicy,
        options: PostgresOptions,
    ) -> Result<Self, Fault> {
        if policy.dialect() != SqlDialect::Postgres {
            let problem =
                format!("the policy of a PostgreSQL database is for: {}", policy.dialect());
            return Err(faults::setting(problem, "use a policy for PostgreSQL"));
        }
        let address = Address::parse(url.expose(), options.connect_timeout)?;
        let pool = Pool::new(address, policy.schema(), options);
        Ok(Self { pool: Arc::new(pool), policy: Arc::new(policy) })
    }
}

#[async_trait]
impl Database for PostgresDatabase {
    fn policy(&self) -> &QueryPolicy {
        &self.policy
    }

    async fn tables(&self) -> Result<Vec<TableSummary>, Fault> {
        self.pool
            .read(SCHEMA_TIMEOUT, async |client| catalogue::tables(client, &self.policy).await)
            .await
    }

    async fn schema(&self, table: &TableName) -> Result<TableSchema, Fault> {
        self.pool
            .read(SCHEMA_TIMEOUT, async |client| {
                catalogue::schema(client, &self.policy, table).await
            })
            .await
    }

    async fn sample(&self, table: &TableName, limits: &QueryLimits) -> Result<QueryTable, Fault> {
        if !self.policy.allows_table(table) {
            return Err(faults::forbidden_table(table, &self.policy));
        }
        let (schema, name) = (quoted(&table.schema), quoted(&table.table));
        let sql = format!("SELECT * FROM {schema}.{name} LIMIT {}", limits.rows);
        self.pool
            .read(limits.timeout, async |client| rows::read(client, &sql, &[], limits).await)
            .await
    }

    async fn execute(
        &self,
        query: &CheckedQuery,
        parameters: &QueryParameters,
        limits: &QueryLimits,
    ) -> Result<QueryTable, Fault> {
        let values = parameters.in_order(query.parameters())?;
        self.pool
            .read(limits.timeout, async |client| {
                rows::read(client, query.text(), &values, limits).await
            })
            .await
    }
}

/// An identifier of the catalogue in a statement.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
