//! One connection to a database.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use super::address::Address;
use super::fault::{self, PostgresFault, PostgresResult};
use super::schema;

/// The placeholder of the schema in statements.
const SCHEMA: &str = "@";

/// A value to bind, and its type.
pub(super) type BoundValue<'a> = (&'a (dyn ToSql + Sync), Type);

pub(super) struct Connection {
    client: Client,
    carrier: ConnectionTask,
    /// The number of an advisory lock that the server process holds; it identifies the process
    /// after the connection is lost.
    key: i64,
    schema: String,
    /// How long to wait for a server that is silent.
    silence_limit: Duration,
    used: Cell<Instant>,
    /// The statements that are prepared on this connection.
    plans: RefCell<BTreeMap<&'static str, Statement>>,
}

/// Drives the connection. What is not yet sent when it is dropped is never sent.
struct ConnectionTask(JoinHandle<()>);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// A connection that was idle for longer may be dead, and is tested before use.
    const FRESH: Duration = Duration::from_secs(30);
    /// What an answer may take in addition to the statement's time limit.
    const WAY: Duration = Duration::from_secs(5);

    /// Connects and prepares the tables, within the time that is left.
    pub(super) async fn open(address: &Address, left: Duration) -> PostgresResult<Self> {
        let silence_limit = left + Self::WAY;
        let silent = |_| PostgresFault::Lost(format!("no answer within {silence_limit:.1?}"));
        timeout(silence_limit, Self::connect(address)).await.map_err(silent)?
    }

    async fn connect(address: &Address) -> PostgresResult<Self> {
        let silence_limit = address.timeout() + Self::WAY;
        let connecting = address.config().connect(address.tls());
        let (client, connection) = within(silence_limit, connecting).await?;
        let carrier = tokio::spawn(async move {
            // The pending statements report how the connection ended.
            let _ = connection.await;
        });
        let schema = format!("\"{}\"", address.schema());
        let used = Cell::new(Instant::now());
        let plans = RefCell::default();
        let key = RandomState::new().hash_one(address.schema()).cast_signed();
        let carrier = ConnectionTask(carrier);
        let link = Self { client, carrier, key, schema, silence_limit, used, plans };
        // Standard behaviour, independent of the defaults of the role.
        let settings = format!(
            "SET search_path = pg_catalog; SET statement_timeout = {}; \
             SET default_transaction_isolation = 'read committed'; \
             SELECT pg_advisory_lock({key})",
            address.timeout().as_millis()
        );
        link.execute_all(&settings).await?;
        schema::prepare(&link, address.schema()).await?;
        Ok(link)
    }

    /// Whether the connection can still be used, as far as is known.
    pub(super) async fn is_usable(&self) -> bool {
        if self.client.is_closed() {
            return false;
        }
        if self.used.get().elapsed() < Self::FRESH {
            return true;
        }
        within(Self::WAY, self.client.check_connection()).await.is_ok()
    }

    /// Runs a query. `@` stands for the schema.
    pub(super) async fn rows(
        &self,
        statement: &'static str,
        values: &[BoundValue<'_>],
    ) -> PostgresResult<Vec<Row>> {
        let plan = self.plan(statement, values).await?;
        let values: Vec<_> = values.iter().map(|(value, _)| *value).collect();
        within(self.silence_limit, self.client.query(&plan, &values)).await
    }

    /// As [`Self::rows`], planned for these very values: the plan depends on how many there are.
    pub(super) async fn rows_of(
        &self,
        statement: &str,
        values: &[BoundValue<'_>],
    ) -> PostgresResult<Vec<Row>> {
        self.used.set(Instant::now());
        let statement = statement.replace(SCHEMA, &self.schema);
        within(self.silence_limit, self.client.query_typed(&statement, values)).await
    }

    /// Runs a query for at most one row.
    pub(super) async fn row(
        &self,
        statement: &'static str,
        values: &[BoundValue<'_>],
    ) -> PostgresResult<Option<Row>> {
        Ok(self.rows(statement, values).await?.into_iter().next())
    }

    /// Runs a statement; returns the number of changed rows.
    pub(super) async fn change(
        &self,
        statement: &'static str,
        values: &[BoundValue<'_>],
    ) -> PostgresResult<u64> {
        let plan = self.plan(statement, values).await?;
        let values: Vec<_> = values.iter().map(|(value, _)| *value).collect();
        within(self.silence_limit, self.client.execute(&plan, &values)).await
    }

    async fn plan(
        &self,
        statement: &'static str,
        values: &[BoundValue<'_>],
    ) -> PostgresResult<Statement> {
        self.used.set(Instant::now());
        let known = self.plans.borrow().get(statement).cloned();
        if let Some(plan) = known {
            return Ok(plan);
        }
        let types: Vec<_> = values.iter().map(|(_, kind)| kind.clone()).collect();
        let text = statement.replace(SCHEMA, &self.schema);
        let plan = within(self.silence_limit, self.client.prepare_typed(&text, &types)).await?;
        self.plans.borrow_mut().insert(statement, plan.clone());
        Ok(plan)
    }

    /// Runs statements without values, one after the other.
    pub(super) async fn execute_all(&self, statements: &str) -> PostgresResult<()> {
        self.used.set(Instant::now());
        let statements = statements.replace(SCHEMA, &self.schema);
        within(self.silence_limit, self.client.batch_execute(&statements)).await
    }

    /// Runs `work` in a transaction. Its result is known before the commit, and returned only
    /// after it.
    pub(super) async fn in_transaction<T>(
        &self,
        work: impl AsyncFnOnce() -> PostgresResult<T>,
    ) -> PostgresResult<T> {
        self.execute_all("BEGIN").await?;
        match work().await {
            Ok(done) => self.execute_all("COMMIT").await.map(|()| done),
            Err(fault @ (PostgresFault::Lost(_) | PostgresFault::Absent(_))) => Err(fault),
            Err(fault) => {
                self.execute_all("ROLLBACK").await?;
                Err(fault)
            }
        }
    }

    /// The number that identifies the server process after the connection is lost.
    pub(super) const fn key(&self) -> i64 {
        self.key
    }

    /// Terminates the server process of a lost connection. A statement that it has not begun
    /// would otherwise take effect after its own repetition.
    pub(super) async fn end_process(&self, key: i64) -> PostgresResult<()> {
        let end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks
            WHERE locktype = 'advisory' AND objsubid = 1 AND pid <> pg_backend_pid()
                AND (classid::bigint << 32) + objid::bigint = $1";
        match self.rows(end, &[(&key, Type::INT8)]).await {
            // A role without the right to do this is refused; the attempt does no harm.
            Ok(_) | Err(PostgresFault::Failed(_)) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// Closes the connection.
    pub(super) async fn close(self) {
        let Self { client, mut carrier, .. } = self;
        drop(client);
        // A server that does not answer is not waited for.
        let _ = timeout(Self::WAY, &mut carrier.0).await;
    }
}

async fn within<T>(
    silence_limit: Duration,
    answer: impl Future<Output = Result<T, Error>>,
) -> PostgresResult<T> {
    if let Ok(answer) = timeout(silence_limit, answer).await {
        return answer.map_err(|error| fault::of(&error));
    }
    Err(PostgresFault::Lost(format!("no answer within {silence_limit:.1?}")))
}
