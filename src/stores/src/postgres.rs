//! A store in a Postgres database, for threads that several machines share.
//!
//! A thread with its own event loop drives a few connections. All requests about one thread use
//! the same connection, in order; appends that arrive while it is busy are combined into the
//! next statement, so that many small commits cost little more than one. A lost connection is
//! reopened, and its pending requests are repeated after a check whether they had taken effect.
//!
//! Leases are measured by the clock of the database, so that machines with different clocks
//! agree.

use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, Store, StoreFuture,
    StoredThreadInfo, ThreadHead,
};

mod address;
mod fault;
mod group;
mod link;
mod pool;
mod protection;
mod query;
mod retry;
mod row;
mod schema;
mod statements;
mod tls;
mod work;
mod worker;

use address::Address;
use pool::ConnectionPool;
use query::{DeleteQuery, MarksQuery, ReadQuery};
use statements as sql;

/// Settings of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresSettings {
    /// The schema with the tables; it is created if it does not exist. Several stores may share
    /// a database in different schemas.
    pub schema: String,
    /// The most connections. Each is opened when it is first needed.
    pub pool: usize,
    /// The time limit of a statement. It also limits how long a request is retried after its
    /// connection was lost, and how long a database that is away is waited for.
    pub timeout: Duration,
}

impl Default for PostgresSettings {
    fn default() -> Self {
        Self { schema: "antiphon".into(), pool: 4, timeout: Duration::from_secs(30) }
    }
}

/// Threads in a database.
pub struct PostgresStore {
    name: String,
    pool: ConnectionPool,
}

impl PostgresStore {
    /// Connects to the database of a URL, and creates or migrates the tables.
    ///
    /// The URL has libpq's form `postgres://user:password@host:5432/database`, with the options
    /// `sslmode` (`disable`, `prefer`, `require`, `verify-ca` or `verify-full`) and
    /// `sslrootcert`.
    ///
    /// # Errors
    /// `store_setting_invalid` for a setting or URL that is not valid, `store_unavailable` if no
    /// database answers or every connection is cut until `timeout`, `store_refused` if the login
    /// is refused, `store_read_only` if the tables do not exist and may not be created,
    /// `store_corrupt` if the schema has other tables, `store_version` if a later antiphon has
    /// created them.
    pub fn connect(url: &str, settings: &PostgresSettings) -> Result<Self, Fault> {
        let address = Address::parse(url, settings)?;
        let name = format!("postgres:{}", address.label());
        Ok(Self { pool: ConnectionPool::start(address, settings.pool)?, name })
    }
}

impl Store for PostgresStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn claim(&self, thread: &str, owner: &str, term: Duration) -> StoreFuture<ThreadHead> {
        let (name, owner) = (thread.to_owned(), owner.to_owned());
        self.pool.ask(thread, async move |link| sql::claim(link, &name, &owner, term).await)
    }

    fn release(&self, thread: &str, owner: &str) -> StoreFuture<()> {
        let (name, owner) = (thread.to_owned(), owner.to_owned());
        // Owed: otherwise nobody could resume the thread until the lease expires.
        self.pool.ask_owed(thread, async move |link| sql::release(link, &name, &owner).await)
    }

    fn append(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.pool.append(batch)
    }

    fn append_soon(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.append(batch)
    }

    fn read(&self, thread: &str, span: EntryRange) -> StoreFuture<Vec<Entry>> {
        self.pool.read(ReadQuery { thread: thread.to_owned(), span })
    }

    fn find(&self, thread: &str, seq: u64) -> StoreFuture<Option<Entry>> {
        let found = self.read(thread, EntryRange { from: seq, to: seq });
        Box::pin(async move { Ok(found.await?.pop()) })
    }

    fn marks(
        &self,
        thread: &str,
        span: EntryRange,
        kind: Option<EntryKind>,
    ) -> StoreFuture<Vec<(EntryMark, EntryTag)>> {
        self.pool.marks(MarksQuery { thread: thread.to_owned(), span, kind })
    }

    fn head(&self, thread: &str) -> StoreFuture<Option<ThreadHead>> {
        let name = thread.to_owned();
        self.pool.ask(thread, async move |link| sql::head(link, &name).await)
    }

    fn thread(&self, thread: &str) -> StoreFuture<Option<StoredThreadInfo>> {
        let name = thread.to_owned();
        self.pool.ask(thread, async move |link| sql::thread(link, &name).await)
    }

    fn threads(&self, after: &str, limit: u32) -> StoreFuture<Vec<StoredThreadInfo>> {
        let after = after.to_owned();
        self.pool.ask_after_all(async move |link| sql::threads(link, &after, limit).await)
    }

    fn recent(&self, prefix: &str) -> StoreFuture<Vec<(String, Time)>> {
        let own = prefix.to_owned();
        self.pool.ask(prefix, async move |link| sql::recent(link, &own).await)
    }

    fn remove(&self, thread: &str, owner: &str, span: EntryRange) -> StoreFuture<u64> {
        let (name, owner) = (thread.to_owned(), owner.to_owned());
        // If the first attempt had succeeded, a repetition finds nothing.
        let mut removed = 0;
        self.pool.ask(thread, async move |link| {
            let remove = async || {
                removed = removed.max(sql::remove(link, &name, &owner, span).await?);
                Ok(removed)
            };
            link.in_transaction(remove).await
        })
    }

    fn delete(&self, thread: &str) -> StoreFuture<bool> {
        self.pool.delete(DeleteQuery { thread: thread.to_owned(), found: None, removed: false })
    }

    fn replace(&self, batch: EntryBatch) -> StoreFuture<()> {
        let thread = batch.thread.to_string();
        self.pool.ask(&thread, async move |link| {
            link.in_transaction(async || protection::replace(link, &batch).await).await
        })
    }

    fn protection(&self, proposed: EntryTag) -> StoreFuture<EntryTag> {
        self.pool.ask("", async move |link| protection::of(link, &proposed).await)
    }

    fn protect(&self, tag: EntryTag) -> StoreFuture<()> {
        self.pool.ask("", async move |link| protection::set(link, &tag).await)
    }
}
