//! A connection whose transactions only read.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_postgres::{CancelToken, Client};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Address;
use super::fault::PostgresResult;
use super::quoted;

/// A connection between two transactions, or within one.
pub(super) struct Connection {
    pub(super) client: Client,
    task: ConnectionTask,
    tls: MakeRustlsConnect,
    /// The login is a superuser, whose rights a transaction gives up.
    is_superuser: bool,
}

/// Drives the connection, and ends with it.
struct ConnectionTask(JoinHandle<()>);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    pub(super) async fn open(address: &Address, schema: &str) -> PostgresResult<Self> {
        let (client, connection) = address.config.connect(address.tls.clone()).await?;
        let task = ConnectionTask(tokio::spawn(async move {
            // The pending statements report how the connection ended.
            let _ = connection.await;
        }));
        // Standard behaviour, independent of the defaults of the role and the database: texts
        // without backslash escapes, values in ISO formats, a fixed search path.
        let settings = format!(
            "SET default_transaction_read_only = on; SET search_path = {}; \
             SET standard_conforming_strings = on; SET DateStyle = 'ISO, YMD'; \
             SET IntervalStyle = 'postgres'; SET TimeZone = 'UTC'; SET bytea_output = 'hex'; \
             SET extra_float_digits = 1; SET idle_in_transaction_session_timeout = '60s'",
            quoted(schema)
        );
        client.batch_execute(&settings).await?;
        let sql = "SELECT rolsuper AND current_setting('server_version_num')::int >= 140000
            FROM pg_catalog.pg_roles WHERE rolname = current_user";
        let is_superuser = client.query_opt(sql, &[]).await?.is_some_and(|row| row.get(0));
        Ok(Self { client, task, tls: address.tls.clone(), is_superuser })
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.client.is_closed() && !self.task.0.is_finished()
    }

    pub(super) async fn begin(&self, timeout: Duration) -> PostgresResult<()> {
        let milliseconds = timeout.as_millis().clamp(1, 86_400_000);
        let role = if self.is_superuser { "SET LOCAL ROLE pg_read_all_data; " } else { "" };
        let begin = format!(
            "BEGIN TRANSACTION READ ONLY; {role}SET LOCAL statement_timeout = {milliseconds}; \
             SET LOCAL lock_timeout = {milliseconds}"
        );
        Ok(self.client.batch_execute(&begin).await?)
    }

    /// Undoes also what a function of a query may have set or locked for the session.
    pub(super) async fn roll_back(&self) -> PostgresResult<()> {
        let undo = "ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()";
        Ok(self.client.batch_execute(undo).await?)
    }

    /// Cancels the running query when it is dropped.
    pub(super) fn cancel_on_drop(&self) -> CancelGuard {
        CancelGuard(Some((self.client.cancel_token(), self.tls.clone())))
    }
}

/// Asks the server to cancel the query of a connection, unless it is disarmed. The connection is
/// not used again then, so the request cannot hit another query.
pub(super) struct CancelGuard(Option<(CancelToken, MakeRustlsConnect)>);

impl CancelGuard {
    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        let Some((token, tls)) = self.0.take() else { return };
        // Without a runtime the process ends, and the server's own time limit holds.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = token.cancel_query(tls).await;
            });
        }
    }
}
