//! Leases from another machine, whose clock cannot be compared with this one's. A process that wants
//! the thread watches whether such a lease is renewed for as long as it would last, by the local
//! clock. The observation is stored in the file, because each look may be by another process.

use std::time::Duration;

use antiphon_core::Time;
use rusqlite::{Connection, OptionalExtension, params};

use crate::owner;

/// A lease as stored.
pub(super) struct LeaseRow<'a> {
    /// The row of its thread.
    pub(super) thread: i64,
    pub(super) owner: &'a str,
    /// When it expires, by the clock of its owner's machine.
    pub(super) until: i64,
}

/// When a lease expires by the local clock, if it is not renewed before; `None` if it has
/// expired.
pub(super) fn end_of(
    file: &Connection,
    lease: &LeaseRow<'_>,
    shared: Time,
    term: Duration,
) -> rusqlite::Result<Option<Time>> {
    let LeaseRow { thread, owner, until } = lease;
    let here = owner::start().unwrap_or_default();
    let seen = "SELECT since FROM watch
        WHERE thread = ?1 AND observer = ?2 AND owner = ?3 AND until = ?4";
    let seen = file
        .prepare_cached(seen)?
        .query_row(params![thread, here, owner, until], |row| row.get::<_, i64>(0))
        .optional()?;
    let seen = seen.and_then(|seen| u64::try_from(seen).ok()).map(Time::from_micros);
    let since = if let Some(since) = seen.filter(|seen| *seen <= shared) {
        since
    } else {
        let now = i64::try_from(shared.as_micros()).unwrap_or(i64::MAX);
        let look = "INSERT OR REPLACE INTO watch (thread, observer, owner, until, since)
            VALUES (?1, ?2, ?3, ?4, ?5)";
        file.prepare_cached(look)?.execute(params![thread, here, owner, until, now])?;
        shared
    };
    let end = since + term;
    Ok((end > shared).then_some(end))
}
