//! Failures of a file.

use std::path::Path;

use antiphon_core::{Category, Fault};
use rusqlite::ErrorCode;

/// Classifies a failure of SQLite by what its reader can do about it. The text may contain a
/// path, and never contents.
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

/// The fault with the name of its file.
pub(super) fn about(fault: Fault, file: &str) -> Fault {
    if !fault.code.starts_with("store_") || fault.details.contains_key("store") {
        return fault;
    }
    let message = fault.message.replacen("the store", &format!("the store {file}"), 1);
    let named = Fault::new(fault.category, fault.code.as_str(), message).with("store", file);
    match &fault.hint {
        Some(hint) => named.hint(hint),
        None => named,
    }
}

/// The path now leads to another file, or to none.
pub(super) fn moved() -> Fault {
    let message = "the store does not work: its file was moved, replaced or deleted";
    Fault::new(Category::State, "store_unavailable", message)
        .hint("put the file back, or open the store again")
}

/// Another process writes to a file that was opened as immutable.
pub(super) fn thawed() -> Fault {
    let message = "the store does not work: its file can only be read here, and was changed";
    Fault::new(Category::State, "store_unavailable", message).hint("open the store again")
}

pub(super) fn corrupt(problem: &str) -> Fault {
    Fault::new(Category::State, "store_corrupt", format!("the store is damaged: {problem}"))
        .hint("name another file, or restore this one from a copy")
}

/// The tables are from before the first release.
pub(super) fn too_old(version: i64) -> Fault {
    let message = format!("the store was written before the first release: version {version}");
    Fault::new(Category::State, "store_version", message)
        .hint("name another file, or delete this one")
}

/// The path has a meaning for SQLite other than a file.
pub(super) fn no_file(path: &Path) -> Fault {
    let message = format!("a store in a file needs the name of one, found: `{}`", path.display());
    Fault::new(Category::Validation, "store_setting_invalid", message)
        .hint("name a file, or keep threads in memory: `MemorySaver()`, or the URL `memory:`")
}

pub(super) fn undone() -> Fault {
    let message = "a change was undone together with another one that failed";
    Fault::new(Category::State, "store_failed", message).hint("try it again")
}

pub(super) fn gone() -> Fault {
    Fault::new(Category::State, "store_failed", "the store's own thread has ended")
        .hint("open the store again")
}
