//! A part of a real Postgres server for one test alone.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use antiphon_stores::{PostgresSettings, PostgresStore};
use tokio_postgres::{Client, NoTls};

/// A schema, and a name for the connections of those who use it.
pub(crate) struct Schema {
    server: String,
    name: String,
}

impl Schema {
    /// One that is not there yet.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var("ANTIPHON_TEST_POSTGRES").expect(
            "a server: run `make test-rust`, or `python tests/support/postgres.py` and the command",
        );
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { server, name: format!("test_{}_{number}", std::process::id()) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn url(&self) -> String {
        format!("{}?application_name={}", self.server, self.name)
    }

    /// The server without its scheme and login: `127.0.0.1:5432/postgres`.
    pub(crate) fn place(&self) -> &str {
        self.server.rsplit('@').next().unwrap()
    }

    /// What stands between scheme and host: `postgres:secret`.
    pub(crate) fn login(&self) -> &str {
        self.server.trim_start_matches("postgres://").split('@').next().unwrap()
    }

    pub(crate) fn settings(&self) -> PostgresSettings {
        PostgresSettings { schema: self.name.clone(), ..PostgresSettings::default() }
    }

    pub(crate) fn open(&self) -> PostgresStore {
        PostgresStore::connect(&self.url(), &self.settings()).unwrap()
    }

    /// A connection of the server's owner.
    pub(crate) async fn admin(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.server, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Does something as the server's owner; `@` stands for the schema.
    pub(crate) async fn ask(&self, statements: &str) {
        let statements = statements.replace('@', &self.name);
        self.admin().await.batch_execute(&statements).await.unwrap();
    }

    /// Moves everything that was written into the past.
    pub(crate) async fn grow_older(&self, time: Duration) {
        let time = format!("{} * interval '1 microsecond'", time.as_micros());
        self.ask(&format!("UPDATE @.thread SET at = at - {time}, until = until - {time}")).await;
    }

    /// How many connections the store has.
    pub(crate) async fn connections(&self) -> i64 {
        self.count("true").await
    }

    /// Ends the store's connections; says how many there were.
    pub(crate) async fn cut(&self) -> i64 {
        let cut = "pg_terminate_backend(pid, 10000)";
        self.count(cut).await
    }

    /// Waits until the server has seen the store's connections end.
    pub(crate) async fn left(&self) {
        while self.connections().await > 0 {}
    }

    /// Waits until a statement of the store waits for a lock.
    pub(crate) async fn blocked(&self) {
        while self.count("wait_event_type = 'Lock'").await == 0 {}
    }

    async fn count(&self, of: &str) -> i64 {
        let count = format!(
            "SELECT count(*) FILTER (WHERE {of}) FROM pg_stat_activity WHERE application_name = $1"
        );
        self.admin().await.query_one(&count, &[&self.name]).await.unwrap().get(0)
    }
}
