//! Giving back the room of what was removed.

use antiphon_core::Fault;
use rusqlite::Connection;

use super::fault;

/// `auto_vacuum` of files that can shrink piece by piece.
const INCREMENTAL: i64 = 2;
/// So many pages at a time: others may write in between.
const PIECE: i64 = 1024;

/// Makes the file, and the log beside it, as small as what they hold.
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
    // What readers still need stays in the log, without being an error.
    file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

fn number(file: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    file.pragma_query_value(None, pragma, |row| row.get(0))
}
