//! Failures of SQLite.

use std::path::Path;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use rusqlite::{Error, ErrorCode};

use super::lock_owner;
use crate::sql::fault;

/// A failure on the thread that works for a query.
pub(super) enum SqliteFailure {
    /// The file cannot be opened, or is no database.
    Unopened(Error),
    /// A statement failed.
    Failed(Error),
    /// A transaction of this or of another process keeps readers out.
    Locked { by_this_process: bool },
    /// Everything else.
    Other(Fault),
}

impl From<Error> for SqliteFailure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Fault> for SqliteFailure {
    fn from(fault: Fault) -> Self {
        Self::Other(fault)
    }
}

impl SqliteFailure {
    /// The failure, with who has locked the file if that is why. Only for `work` of
    /// [`lock_owner::run`].
    pub(super) fn with_lock_owner(self, path: &Path) -> Self {
        let (Self::Failed(error) | Self::Unopened(error)) = &self else { return self };
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Locked { by_this_process: lock_owner::is_locked_by_this_process(path) }
            }
            _ => self,
        }
    }

    /// The fault for the caller; `timeout` is the limit of this query.
    pub(super) fn into_fault(self, label: &str, timeout: Duration) -> Fault {
        match self {
            Self::Other(fault) => fault,
            Self::Locked { by_this_process } => fault::locked(label, by_this_process),
            Self::Unopened(error) => fault::unreachable(label, &text(&error)),
            Self::Failed(error) => match error.sqlite_error_code() {
                Some(ErrorCode::OperationInterrupted) => fault::timeout(timeout),
                Some(
                    ErrorCode::CannotOpen
                    | ErrorCode::NotADatabase
                    | ErrorCode::DatabaseCorrupt
                    | ErrorCode::SystemIoFailure,
                ) => fault::unreachable(label, &text(&error)),
                Some(ErrorCode::AuthorizationForStatementDenied | ErrorCode::ReadOnly) => {
                    denied(&error)
                }
                _ => failed(&error),
            },
        }
    }
}

/// The connection refused what the query does.
fn denied(error: &Error) -> Fault {
    let message = format!("the connection does not allow what the query does: {}", text(error));
    Fault::new(FaultCode::QueryRefused, message)
        .hint("read only the tables that are listed, with one SELECT statement")
        .with("reason", "connection")
}

fn failed(error: &Error) -> Fault {
    let problem = text(error);
    let hint = if problem.starts_with("no such column") || problem.starts_with("no such table") {
        "look the tables and columns up in the schema; write texts in single quotes"
    } else {
        "correct the query; the message is SQLite's own"
    };
    match error {
        Error::SqlInputError { sql, offset, .. } => {
            let before = usize::try_from(*offset).ok().and_then(|offset| sql.get(..offset));
            let position = before.map(|before| before.chars().count() + 1);
            fault::failed(&problem, sql, position).hint(hint)
        }
        _ => fault::failed(&problem, "", None).hint(hint),
    }
}

/// SQLite's own words.
fn text(error: &Error) -> String {
    match error {
        Error::SqlInputError { msg, .. } => msg.clone(),
        Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}
