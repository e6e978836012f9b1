//! The tables and their migrations.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use super::{SqliteSettings, SyncLevel, fault};

/// SQLite's application id of our files: the letters `anti`.
const APPLICATION: i64 = 0x616e_7469;

/// The version that the first migration creates. Older tables are from before the first release.
const FIRST: i64 = 4;

/// The bits of an entry's id that are its number in the thread; the higher ones are the thread's id.
pub(super) const SEQ_BITS: u32 = 32;

/// The largest id of a thread, so that no entry's id is negative.
pub(super) const LAST_THREAD: i64 = (1 << 31) - 1;

/// One migration per version. Entries have an id, because a table without a rowid gives each entry
/// larger than a kilobyte separate pages. It says thread and number, so that a commit need not
/// write to an index of those two as well.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE thread (
        id INTEGER PRIMARY KEY CHECK (id >> 31 = 0),
        name TEXT NOT NULL UNIQUE,
        last INTEGER NOT NULL,
        tag BLOB NOT NULL,
        at INTEGER NOT NULL,
        owner TEXT,
        until INTEGER
    ) STRICT;
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY,
        thread INTEGER NOT NULL AS (id >> 32),
        seq INTEGER NOT NULL AS (id & 4294967295),
        parent INTEGER NOT NULL,
        base INTEGER NOT NULL,
        kind TEXT NOT NULL,
        step INTEGER NOT NULL,
        at INTEGER NOT NULL,
        tag BLOB NOT NULL,
        body BLOB NOT NULL
    ) STRICT;
    CREATE TABLE store (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        tag BLOB NOT NULL
    ) STRICT;
    CREATE TABLE watch (
        thread INTEGER NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
        observer TEXT NOT NULL,
        owner TEXT NOT NULL,
        until INTEGER NOT NULL,
        since INTEGER NOT NULL,
        PRIMARY KEY (thread, observer)
    ) STRICT;
"];

/// The page size: a commit writes whole pages, and most commits are small.
const PAGE: u32 = 2048;

/// How long to wait for another process that writes.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Configures a connection and migrates its tables.
pub(super) fn prepare(file: &mut Connection, settings: SqliteSettings) -> Result<(), Fault> {
    let failed = |error: rusqlite::Error| fault::of(&error);
    file.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    let found = FoundFile::of(&file.transaction().map_err(failed)?)?;
    if found.tables == 0 {
        // Must be set before anything is written: later it needs a `VACUUM`.
        file.pragma_update(None, "page_size", PAGE).map_err(failed)?;
        file.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(failed)?;
    }
    keep_journal(file).map_err(failed)?;
    let level = if settings.sync == SyncLevel::Power { "FULL" } else { "NORMAL" };
    file.pragma_update(None, "synchronous", level).map_err(failed)?;
    file.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    if let Some(most) = settings.max_bytes {
        let page: i64 = file.query_row("PRAGMA page_size", [], |row| row.get(0)).map_err(failed)?;
        let pages = i64::try_from(most).unwrap_or(i64::MAX) / page.max(1);
        file.pragma_update(None, "max_page_count", pages.max(1)).map_err(failed)?;
    }
    if found.version == latest() {
        return Ok(());
    }
    let migration =
        file.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have migrated the file in the meantime.
    let found = FoundFile::of(&migration)?;
    let done = usize::try_from(found.version + 1 - FIRST).unwrap_or_default();
    for step in MIGRATIONS.iter().skip(done) {
        migration.execute_batch(step).map_err(failed)?;
    }
    migration.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    migration.pragma_update(None, "user_version", latest()).map_err(failed)?;
    migration.commit().map_err(failed)
}

/// SQLite's busy handler does not cover a change of the journal mode.
fn keep_journal(file: &Connection) -> rusqlite::Result<()> {
    /// The attempts, over about five seconds.
    const TRIES: u32 = 500;
    let mut tries = 0;
    loop {
        let kept = file.pragma_update(None, "journal_mode", "WAL");
        let code = kept.as_ref().err().and_then(rusqlite::Error::sqlite_error_code);
        tries += 1;
        if code != Some(ErrorCode::DatabaseBusy) || tries > TRIES {
            return kept;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn latest() -> i64 {
    i64::try_from(MIGRATIONS.len()).map_or(i64::MAX, |steps| steps + FIRST - 1)
}

/// A file before it is migrated.
struct FoundFile {
    version: i64,
    tables: i64,
}

impl FoundFile {
    /// Reads it, and refuses files that are not stores.
    fn of(file: &Transaction<'_>) -> Result<Self, Fault> {
        let number = |query: &str| {
            let number = file.query_row(query, [], |row| row.get::<_, i64>(0));
            number.map_err(|error| fault::of(&error))
        };
        let version = number("PRAGMA user_version")?;
        let tables = number("SELECT count(*) FROM sqlite_schema")?;
        if tables > 0 && number("PRAGMA application_id")? != APPLICATION {
            return Err(fault::corrupt("the file is a database of another program"));
        }
        if version > latest() {
            return Err(too_new(version));
        }
        if tables > 0 && version < FIRST {
            return Err(fault::too_old(version));
        }
        Ok(Self { version, tables })
    }
}

fn too_new(version: i64) -> Fault {
    let message =
        format!("the store was written by a later version of antiphon: schema version {version}");
    Fault::new(FaultCode::StoreVersion, message).hint("install that version or a later one")
}
