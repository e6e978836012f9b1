//! Failures of PostgreSQL. Their texts are the server's or the operating system's, and contain
//! no password.

use std::error::Error as _;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, ErrorPosition, SqlState};

use crate::sql::fault;

pub(super) type PostgresResult<T> = Result<T, PostgresFault>;

/// A failure, before it is known where it happened.
pub(super) enum PostgresFault {
    /// No connection, or none any more.
    Unreachable(String),
    /// The driver's or the server's error.
    Driver(Error),
    /// Everything else.
    Other(Fault),
}

impl From<Error> for PostgresFault {
    fn from(error: Error) -> Self {
        Self::Driver(error)
    }
}

impl From<Fault> for PostgresFault {
    fn from(fault: Fault) -> Self {
        Self::Other(fault)
    }
}

impl PostgresFault {
    pub(super) fn into_fault(self, label: &str, limit: Duration) -> Fault {
        match self {
            Self::Unreachable(problem) => fault::unreachable(label, &problem),
            Self::Other(fault) => fault,
            Self::Driver(error) => match error.as_db_error() {
                Some(reported) => of_server(reported, label, limit),
                None => of_driver(&error, label),
            },
        }
    }
}

/// The error of a query of a model, with its position in the text that it wrote. `prefix` is the
/// number of characters that precede this text in the statement.
pub(super) fn of_query(error: Error, sql: &str, prefix: usize) -> PostgresFault {
    let Some(reported) = error.as_db_error() else { return PostgresFault::Driver(error) };
    if is_of_connection(reported.code()) || is_refusal(reported.code()) {
        return PostgresFault::Driver(error);
    }
    let position = match reported.position() {
        Some(ErrorPosition::Original(position)) => usize::try_from(*position).ok(),
        _ => None,
    };
    let position = position.and_then(|position| position.checked_sub(prefix));
    let fault = fault::failed(&text(reported), sql, position);
    let hint =
        reported.hint().map_or_else(|| usual_hint(reported.code()).to_owned(), str::to_owned);
    PostgresFault::Other(fault.hint(hint))
}

fn usual_hint(code: &SqlState) -> &'static str {
    match *code {
        SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_FUNCTION => {
            "look the tables, columns and their types up in the schema"
        }
        SqlState::INSUFFICIENT_PRIVILEGE => "read only the tables that are listed",
        _ => "correct the query; the message is PostgreSQL's own",
    }
}

fn text(reported: &DbError) -> String {
    let detail = reported.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    format!("{}{detail} ({})", reported.message(), reported.code().code())
}

/// Whether the connection is lost, or the query was cancelled.
fn is_of_connection(code: &SqlState) -> bool {
    code.code().starts_with("08") || code.code().starts_with("57") || code.code().starts_with("28")
}

/// Whether the transaction did not allow what the query does.
fn is_refusal(code: &SqlState) -> bool {
    *code == SqlState::READ_ONLY_SQL_TRANSACTION
}

fn of_server(reported: &DbError, label: &str, limit: Duration) -> Fault {
    let code = reported.code();
    let problem = text(reported);
    if *code == SqlState::QUERY_CANCELED || *code == SqlState::LOCK_NOT_AVAILABLE {
        return fault::timeout(limit);
    }
    if code.code().starts_with("28") {
        return fault::login_failed(label, &problem);
    }
    if is_of_connection(code)
        || code.code().starts_with("53")
        || *code == SqlState::INVALID_CATALOG_NAME
    {
        return fault::unreachable(label, &problem);
    }
    if is_refusal(code) {
        let message = format!("the connection does not allow what the query does: {problem}");
        return Fault::new(FaultCode::QueryRefused, message)
            .hint("read only, with one SELECT statement")
            .with("reason", "connection");
    }
    fault::failed(&problem, "", None).hint(usual_hint(code))
}

/// An error without an answer of the server: no connection, TLS, the login.
fn of_driver(error: &Error, label: &str) -> Fault {
    let cause = error.source().map(ToString::to_string);
    let kind = error.to_string();
    let problem = cause.unwrap_or_else(|| kind.clone());
    if kind.starts_with("authentication error") || problem == "password missing" {
        return fault::login_failed(label, &problem);
    }
    fault::unreachable(label, &problem)
}
