//! Returns free pages to the disk.

use antiphon_core::Fault;
use rusqlite::Connection;

use super::fault;

/// `auto_vacuum` of files that can shrink in steps.
const INCREMENTAL: i64 = 2;
/// The pages of one step; others can write in between.
const PIECE: i64 = 1024;

/// Shrinks the file and its log to their contents.
pub(super) fn all(file: &Connection) -> Result<(), Fault> {
    shrink(file).map_err(|error| fault::of(&error))
}

fn shrink(file: &Connection) -> rusqlite::Result<()> {
    if number(file, "auto_vacuum")? == INCREMENTAL {
        let mut free = number(file, "freelist_count")?;
        while free > 0 {
            let mut piece = file.prepare(&format!("PRAGMA incremental_vacuum({PIECE})"))?;
            let mut pages = piece.query([])?;
            while pages.next()?.is_some() {}
            let left = number(file, "freelist_count")?;
            if left >= free {
                break;
            }
            free = left;
        }
    } else {
        file.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
        file.execute_batch("VACUUM")?;
    }
    // Pages that readers still need stay in the log; that is no error.
    file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

fn number(file: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    file.pragma_query_value(None, pragma, |row| row.get(0))
}
