//! The tables, and how those of earlier versions become them.

use antiphon_core::{Category, Fault};
use rusqlite::{Connection, TransactionBehavior};

use super::{Settings, Sync, fault};

/// Tells files of ours from other databases: the letters `anti`.
const APPLICATION: i64 = 0x616e_7469;

/// One step for each version; the last is the present one. Entries have a rowid
/// because without one `SQLite` gives each that is larger than a kilobyte pages
/// of its own.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE thread (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        tip INTEGER NOT NULL,
        last INTEGER NOT NULL,
        at INTEGER NOT NULL,
        owner TEXT,
        until INTEGER
    ) STRICT;
    CREATE TABLE entry (
        thread INTEGER NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        parent INTEGER NOT NULL,
        base INTEGER NOT NULL,
        kind TEXT NOT NULL,
        step INTEGER NOT NULL,
        at INTEGER NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (thread, seq)
    ) STRICT;
"];

/// Sets a connection up and brings its tables up to date.
pub(super) fn prepare(file: &mut Connection, settings: Settings) -> Result<(), Fault> {
    let failed = |error: rusqlite::Error| fault::of(&error);
    file.busy_timeout(std::time::Duration::from_secs(5)).map_err(failed)?;
    let version: i64 =
        file.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    let application: i64 =
        file.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(failed)?;
    let tables: i64 = file
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(failed)?;
    if application != APPLICATION && tables > 0 {
        return Err(fault::corrupt("the file is a database of another program"));
    }
    let latest = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if version > latest {
        return Err(too_new(version));
    }
    if tables == 0 {
        // Before anything is written: later it takes a file written anew.
        file.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(failed)?;
    }
    file.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    let level = if settings.sync == Sync::Power { "FULL" } else { "NORMAL" };
    file.pragma_update(None, "synchronous", level).map_err(failed)?;
    file.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    if let Some(most) = settings.max_bytes {
        let page: i64 = file.query_row("PRAGMA page_size", [], |row| row.get(0)).map_err(failed)?;
        let pages = i64::try_from(most).unwrap_or(i64::MAX) / page.max(1);
        file.pragma_update(None, "max_page_count", pages.max(1)).map_err(failed)?;
    }
    if version == latest {
        return Ok(());
    }
    let migration =
        file.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Whoever opened the file at the same time may have been first.
    let version: i64 =
        migration.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    for step in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or_default()) {
        migration.execute_batch(step).map_err(failed)?;
    }
    migration.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    migration.pragma_update(None, "user_version", latest).map_err(failed)?;
    migration.commit().map_err(failed)
}

fn too_new(version: i64) -> Fault {
    let message = format!("the store was written by a later antiphon: version {version}");
    Fault::new(Category::State, "store_version", message)
        .hint("install that version or a later one")
}
