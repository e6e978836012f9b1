//! Connections that are kept between queries.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use antiphon_core::Fault;
use tokio::time::timeout;
use tokio_postgres::Client;

use super::PostgresOptions;
use super::address::Address;
use super::connection::Connection;
use super::fault::{PostgresFault, PostgresResult};
use crate::sql::fault;

/// How much longer a caller waits for the server to notice that the time is over.
const GRACE: Duration = Duration::from_secs(2);

pub(super) struct Pool {
    address: Address,
    schema: String,
    options: PostgresOptions,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(super) fn new(address: Address, schema: &str, options: PostgresOptions) -> Self {
        let idle = Mutex::new(Vec::new());
        Self { address, schema: schema.to_owned(), options, idle }
    }

    pub(super) fn label(&self) -> &str {
        &self.address.label
    }

    /// Runs `work` in a read-only transaction, which is rolled back.
    pub(super) async fn read<T>(
        &self,
        limit: Duration,
        work: impl AsyncFnOnce(&Client) -> PostgresResult<T>,
    ) -> Result<T, Fault> {
        let outcome = self.transaction(limit, work).await;
        outcome.map_err(|failure| failure.into_fault(self.label(), limit))
    }

    async fn transaction<T>(
        &self,
        limit: Duration,
        work: impl AsyncFnOnce(&Client) -> PostgresResult<T>,
    ) -> PostgresResult<T> {
        let connection = self.begin(limit).await?;
        let cancel = connection.cancel_on_drop();
        let outcome = timeout(limit + GRACE, work(&connection.client)).await;
        // Otherwise the connection and its query end with this function.
        let outcome = outcome.map_err(|_| fault::timeout(limit))?;
        let is_over = matches!(timeout(GRACE, connection.roll_back()).await, Ok(Ok(())));
        if is_over {
            cancel.disarm();
            self.give_back(connection);
        }
        outcome
    }

    /// A connection in a new transaction. One that was cut while it was idle is replaced.
    async fn begin(&self, limit: Duration) -> PostgresResult<Connection> {
        while let Some(connection) = self.take_idle() {
            if connection.is_usable()
                && matches!(timeout(GRACE, connection.begin(limit)).await, Ok(Ok(())))
            {
                return Ok(connection);
            }
        }
        let opening = async {
            let connection = Connection::open(&self.address, &self.schema).await?;
            connection.begin(limit).await?;
            Ok(connection)
        };
        let connect_limit = self.options.connect_timeout;
        timeout(connect_limit, opening).await.unwrap_or_else(|_| {
            let problem = format!("no answer within {} s", connect_limit.as_secs_f64());
            Err(PostgresFault::Unreachable(problem))
        })
    }

    fn take_idle(&self) -> Option<Connection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if connection.is_usable() && idle.len() < self.options.idle_connections {
            idle.push(connection);
        }
    }
}
