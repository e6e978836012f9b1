//! A connection that cannot write.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::fault::SqliteFailure;

/// How many instructions run between two looks at the clock: a fraction of a millisecond.
const STRIDE: i32 = 2_000;

/// The longest wait for another process that writes.
const BUSY: Duration = Duration::from_secs(5);

/// When a query must stop.
#[derive(Clone, Debug)]
pub(super) struct QueryDeadline {
    /// Nobody waits for it any more.
    pub(super) dropped: Arc<AtomicBool>,
    /// The end of its time.
    pub(super) until: Instant,
}

/// Opens a file read-only, with everything off that a query does not need.
pub(super) fn open(path: &Path, stop: &QueryDeadline) -> Result<Connection, SqliteFailure> {
    // Without SQLITE_OPEN_URI, so that no part of the path is read as an option.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(path, flags).map_err(SqliteFailure::Unopened)?;
    let left = stop.until.saturating_duration_since(Instant::now());
    connection.busy_timeout(left.min(BUSY))?;
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        // A text in double quotes is an error then, and not silently a text.
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        connection.set_db_config(setting, on)?;
    }
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LENGTH, 64 << 20),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 100_000),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 200),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, value)?;
    }
    // Also refuses writes that are not to the file, such as temporary tables.
    connection.pragma_update(None, "query_only", true).map_err(SqliteFailure::Unopened)?;
    let stop = stop.clone();
    connection.progress_handler(
        STRIDE,
        Some(move || stop.dropped.load(Ordering::Relaxed) || Instant::now() >= stop.until),
    )?;
    Ok(connection)
}
