//! Failures of a file.

use std::path::Path;

use antiphon_core::{Fault, FaultCode};
use rusqlite::ErrorCode;

/// Classifies a failure of SQLite by what its reader can do about it. The text may contain a
/// path, and never contents.
pub(super) fn of(error: &rusqlite::Error) -> Fault {
    let message = format!("the store failed: {error}");
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Fault::new(FaultCode::StoreFull, message)
            .hint("free space on the disk of the store, or raise its `max_bytes`"),
        Some(ErrorCode::ReadOnly) => Fault::new(FaultCode::StoreReadOnly, message)
            .hint("give the process write permission for the file and its folder"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Fault::new(FaultCode::StoreLocked, message)
                .hint("stop the other program that writes to the file")
        }
        Some(ErrorCode::CannotOpen) => Fault::new(FaultCode::StoreUnavailable, message)
            .hint("check that the folder exists and is writable"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => corrupt(&error.to_string()),
        _ => Fault::new(FaultCode::StoreFailed, message).hint("the message is SQLite's own"),
    }
}

/// The fault with the name of its file.
pub(super) fn about(fault: Fault, file: &str) -> Fault {
    if !fault.code.is_of_store() || fault.details.contains_key("store") {
        return fault;
    }
    let mut named = fault.with("store", file);
    named.message = named.message.replacen("the store", &format!("the store {file}"), 1);
    named
}

/// The path now leads to another file, or to none.
pub(super) fn moved() -> Fault {
    let message = "the store failed: its file was moved, replaced or deleted";
    Fault::new(FaultCode::StoreUnavailable, message)
        .hint("put the file back, or open the store again")
}

/// Another process writes to a file that was opened as immutable.
pub(super) fn thawed() -> Fault {
    let message = "the store failed: its read-only file was changed";
    Fault::new(FaultCode::StoreUnavailable, message).hint("open the store again")
}

pub(super) fn corrupt(problem: &str) -> Fault {
    Fault::new(FaultCode::StoreCorrupt, format!("the store is damaged: {problem}"))
        .hint("choose another file, or restore this one from a backup")
}

/// The numbers of a thread's entries are used up.
pub(super) fn no_more_entries(thread: &str, last: u64) -> Fault {
    let message = format!("the store takes no entry of the thread `{thread}` after number {last}");
    Fault::new(FaultCode::StoreFull, message)
        .hint("continue in another thread; a fork of this one begins with its state")
        .with("thread", thread)
}

/// The ids of threads are used up.
pub(super) fn no_more_threads(last: i64) -> Fault {
    let message = format!("the store takes no thread after the one with the id {last}");
    Fault::new(FaultCode::StoreFull, message)
        .hint("open another file for new threads; those that are in this one go on")
}

/// The tables are from before the first release.
pub(super) fn too_old(version: i64) -> Fault {
    let message = format!("the store was written before the first release: version {version}");
    Fault::new(FaultCode::StoreVersion, message).hint("choose another file, or delete this one")
}

/// The path has a meaning for SQLite other than a file.
pub(super) fn no_file(path: &Path) -> Fault {
    let message = format!("the path is not a file path: `{}`", path.display());
    Fault::new(FaultCode::StoreSettingInvalid, message)
        .hint("pass the path of a file, or store threads in memory with `MemorySaver()` or the URL `memory:`")
}

pub(super) fn undone() -> Fault {
    let message = "a change was rolled back together with another one that failed";
    Fault::new(FaultCode::StoreFailed, message).hint("try it again")
}

pub(super) fn gone() -> Fault {
    Fault::new(FaultCode::StoreFailed, "the store's background thread has ended")
        .hint("open the store again")
}
