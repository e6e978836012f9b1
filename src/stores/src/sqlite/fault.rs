//! What can go wrong with a file.

use antiphon_core::{Category, Fault};
use rusqlite::ErrorCode;

/// A failure of SQLite, by what its reader can do about it. Its text may hold
/// a path, and never what is stored.
pub(super) fn of(error: &rusqlite::Error) -> Fault {
    let (code, hint) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => ("store_full", "make room on the disk of the store"),
        Some(ErrorCode::ReadOnly) => {
            ("store_read_only", "give the process the right to write to the file and its folder")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            ("store_locked", "end the other program that writes to the file")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            ("store_corrupt", "name another file, or restore this one from a copy")
        }
        Some(ErrorCode::CannotOpen) => {
            ("store_unavailable", "check that the folder exists and can be written to")
        }
        _ => ("store_failed", "look at the message: it is SQLite's own"),
    };
    Fault::new(Category::State, code, format!("the store does not work: {error}")).hint(hint)
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
