//! Failures of a file.

use std::path::Path;

use antiphon_core::{Fault, FaultCode};
use rusqlite::ErrorCode;

/// Classifies a failure of SQLite by what its reader can do about it. The text may contain a
/// path, and never contents.
pub(super) fn of(error: &rusqlite::Error) -> Fault {
    let message = format!("the store does not work: {error}");
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Fault::new(FaultCode::StoreFull, message)
            .hint("make room on the disk of the store, or raise its `max_bytes`"),
        Some(ErrorCode::ReadOnly) => Fault::new(FaultCode::StoreReadOnly, message)
            .hint("give the process the right to write to the file and its folder"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Fault::new(FaultCode::StoreLocked, message)
                .hint("end the other program that writes to the file")
        }
        Some(ErrorCode::CannotOpen) => Fault::new(FaultCode::StoreUnavailable, message)
            .hint("check that the folder exists and can be written to"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => corrupt(&error.to_string()),
        _ => Fault::new(FaultCode::StoreFailed, message)
            .hint("look at the message: it is SQLite's own"),
    }
}

/// The fault with the name of its file.
pub(super) fn about(fault: Fault, file: &str) -> Fault {
    if !fault.code.is_of_store() || fault.details.contains_key("store") {
        return fault;
    }
    let message = fault.message.replacen("the store", &format!("the store {file}"), 1);
    let named = Fault::new(fault.code.clone(), message).with("store", file);
    match &fault.hint {
        Some(hint) => named.hint(hint),
        None => named,
    }
}

/// The path now leads to another file, or to none.
pub(super) fn moved() -> Fault {
    let message = "the store does not work: its file was moved, replaced or deleted";
    Fault::new(FaultCode::StoreUnavailable, message)
        .hint("put the file back, or open the store again")
}

/// Another process writes to a file that was opened as immutable.
pub(super) fn thawed() -> Fault {
    let message = "the store does not work: its file can only be read here, and was changed";
    Fault::new(FaultCode::StoreUnavailable, message).hint("open the store again")
}

pub(super) fn corrupt(problem: &str) -> Fault {
    Fault::new(FaultCode::StoreCorrupt, format!("the store is damaged: {problem}"))
        .hint("name another file, or restore this one from a copy")
}

/// The tables are from before the first release.
pub(super) fn too_old(version: i64) -> Fault {
    let message = format!("the store was written before the first release: version {version}");
    Fault::new(FaultCode::StoreVersion, message).hint("name another file, or delete this one")
}

/// The path has a meaning for SQLite other than a file.
pub(super) fn no_file(path: &Path) -> Fault {
    let message = format!("a store in a file needs the name of one, found: `{}`", path.display());
    Fault::new(FaultCode::StoreSettingInvalid, message)
        .hint("name a file, or keep threads in memory: `MemorySaver()`, or the URL `memory:`")
}

pub(super) fn undone() -> Fault {
    let message = "a change was undone together with another one that failed";
    Fault::new(FaultCode::StoreFailed, message).hint("try it again")
}

pub(super) fn gone() -> Fault {
    Fault::new(FaultCode::StoreFailed, "the store's own thread has ended")
        .hint("open the store again")
}
