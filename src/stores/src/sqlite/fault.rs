//! What can go wrong with a file.

use antiphon_core::{Category, Fault};
use rusqlite::ErrorCode;

/// A failure of SQLite, by what its reader can do about it. Its text may hold
/// a path, and never what is stored.
pub(super) fn of(error: &rusqlite::Error) -> Fault {
    let message = format!("the store does not work: {error}");
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Fault::new(Category::State, "store_full", message)
            .hint("make room on the disk of the store, or raise its `max_bytes`"),
        Some(ErrorCode::ReadOnly) => Fault::new(Category::State, "store_read_only", message)
            .hint("give the process the right to write to the file and its folder"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Fault::new(Category::State, "store_locked", message)
                .hint("end the other program that writes to the file")
        }
        Some(ErrorCode::CannotOpen) => Fault::new(Category::State, "store_unavailable", message)
            .hint("check that the folder exists and can be written to"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => corrupt(&error.to_string()),
        _ => Fault::new(Category::State, "store_failed", message)
            .hint("look at the message: it is SQLite's own"),
    }
}

pub(super) fn corrupt(problem: &str) -> Fault {
    Fault::new(Category::State, "store_corrupt", format!("the store is damaged: {problem}"))
        .hint("name another file, or restore this one from a copy")
}

pub(super) fn undone() -> Fault {
    let message = "a change was undone together with another one that failed";
    Fault::new(Category::State, "store_failed", message).hint("try it again")
}

pub(super) fn gone() -> Fault {
    Fault::new(Category::State, "store_failed", "the store's own thread has ended")
        .hint("open the store again")
}
