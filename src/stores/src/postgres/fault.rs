//! Failures of a database.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

/// The result of a request, with failures by how to continue.
pub(super) type PostgresResult<T> = Result<T, PostgresFault>;

/// A failure, by how to continue after it.
pub(super) enum PostgresFault {
    /// The connection was lost, for this reason; whether the statement took effect is unknown.
    Lost(String),
    /// No server answers, for this reason.
    Absent(String),
    /// The database rolled it back in favour of another transaction.
    Undone(Fault),
    /// It did not take effect, and would not if it were repeated.
    Failed(Fault),
}

impl PostgresFault {
    pub(super) fn into_fault(self) -> Fault {
        match self {
            Self::Lost(cause) | Self::Absent(cause) => unavailable(&cause),
            Self::Undone(fault) | Self::Failed(fault) => fault,
        }
    }

    /// The fault to report after this many attempts.
    pub(super) fn after(self, attempts: u32, spent: Duration) -> Fault {
        let fault = match self {
            Self::Lost(cause) | Self::Absent(cause) => {
                let tries = format!(" after {attempts} attempts in {:.1} s", spent.as_secs_f64());
                unreached(&tries, &cause)
            }
            Self::Undone(fault) | Self::Failed(fault) => fault,
        };
        fault.with("attempts", attempts)
    }
}

impl From<Fault> for PostgresFault {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

/// Classifies the failure of a statement or of a login. The text is the server's or the
/// operating system's; neither contains a password.
pub(super) fn of(error: &Error) -> PostgresFault {
    if let Some(reported) = error.as_db_error() {
        return reported_fault(reported);
    }
    let cause = error.source().map(ToString::to_string);
    let problem = cause.unwrap_or_else(|| error.to_string());
    if error.is_closed() {
        return PostgresFault::Lost(problem);
    }
    if let Some(of_the_way) = error.source().and_then(|cause| cause.downcast_ref::<io::Error>()) {
        let of_tls = of_the_way.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
        if let Some(of_tls) = of_tls {
            return PostgresFault::Failed(untrusted(of_tls));
        }
        return match of_the_way.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => PostgresFault::Lost(problem),
            _ => PostgresFault::Absent(problem),
        };
    }
    PostgresFault::Failed(unusable(&error.to_string(), &problem))
}

/// The fault of a connection that cannot be made, in the driver's words.
fn unusable(kind: &str, problem: &str) -> Fault {
    if kind == "invalid configuration" && problem == "password missing" {
        let message = "the database requires a password, but the URL of the store has none";
        return Fault::new(FaultCode::StoreRefused, message)
            .hint("write it into the URL: postgres://user:password@host:5432/database");
    }
    if kind == "authentication error" {
        let message = format!("the login to the database failed: {problem}");
        return Fault::new(FaultCode::StoreRefused, message).hint(
            "use `scram-sha-256` or `md5` in pg_hba.conf, and check `channel_binding` in the URL",
        );
    }
    Fault::new(FaultCode::StoreFailed, format!("the database cannot be used: {problem}"))
        .hint("check `sslmode` in the URL")
}

/// The fault of a server whose certificate is not accepted.
fn untrusted(error: &rustls::Error) -> Fault {
    let message = format!("the database's certificate or TLS is not accepted: {error}");
    Fault::new(FaultCode::StoreCertificateInvalid, message).hint(
        "set `sslrootcert` to the file of its issuer, and connect with a host name that the certificate \
         contains; `sslmode` defines what is checked",
    )
}

fn reported_fault(reported: &DbError) -> PostgresFault {
    let code = reported.code();
    let problem = format!("{} ({})", reported.message(), code.code());
    if code.code().starts_with("08")
        || [
            &SqlState::ADMIN_SHUTDOWN,
            &SqlState::CRASH_SHUTDOWN,
            &SqlState::CANNOT_CONNECT_NOW,
            &SqlState::IDLE_SESSION_TIMEOUT,
            &SqlState::TOO_MANY_CONNECTIONS,
        ]
        .contains(&code)
    {
        return PostgresFault::Lost(problem);
    }
    let message = format!("the database refused the request: {problem}");
    let state = |code, hint: &str| Fault::new(code, message.clone()).hint(hint);
    match *code {
        SqlState::T_R_DEADLOCK_DETECTED | SqlState::T_R_SERIALIZATION_FAILURE => {
            let hint = "use fewer processes on one thread";
            PostgresFault::Undone(state(FaultCode::StoreLocked, hint))
        }
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            PostgresFault::Failed(
                Fault::new(FaultCode::StoreRefused, message)
                    .hint("check the user and the password in the URL of the store"),
            )
        }
        _ => PostgresFault::Failed(refused(code, &problem, state)),
    }
}

fn refused(code: &SqlState, problem: &str, state: impl Fn(FaultCode, &str) -> Fault) -> Fault {
    match *code {
        SqlState::INVALID_CATALOG_NAME => unavailable(problem),
        SqlState::INSUFFICIENT_PRIVILEGE | SqlState::READ_ONLY_SQL_TRANSACTION => state(
            FaultCode::StoreReadOnly,
            "grant the role write permission for the schema of the store",
        ),
        SqlState::DISK_FULL => {
            state(FaultCode::StoreFull, "free space on the disk of the database")
        }
        SqlState::QUERY_CANCELED => timeout(problem),
        SqlState::LOCK_NOT_AVAILABLE => {
            state(FaultCode::StoreLocked, "stop the program that locks the tables")
        }
        SqlState::DUPLICATE_TABLE | SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_COLUMN => {
            corrupt(problem)
        }
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => corrupt(problem),
        _ => state(FaultCode::StoreFailed, "the message is the database's own"),
    }
}

/// The fault of a database that does not answer.
fn unavailable(problem: &str) -> Fault {
    unreached("", problem)
}

fn unreached(tries: &str, problem: &str) -> Fault {
    let message = format!("the database cannot be reached{tries}: {problem}");
    Fault::new(FaultCode::StoreUnavailable, message)
        .hint("check that the database runs, and the host, port and database in the URL")
}

/// The fault of a statement that took too long.
fn timeout(problem: &str) -> Fault {
    let message = format!("the database took too long: {problem}");
    Fault::new(FaultCode::StoreTimeout, message)
        .hint("raise the store's `timeout`, or check what blocks the database")
}

/// The fault of a schema in which something was dropped or altered.
pub(super) fn altered(schema: &str, lacks: &str) -> Fault {
    let message = format!("tables of the store were altered; the schema {schema} lacks: {lacks}");
    Fault::new(FaultCode::StoreCorrupt, message)
        .hint("restore the schema from a backup, choose another schema, or drop this one")
}

pub(super) fn corrupt(problem: &str) -> Fault {
    let message = format!("the schema does not belong to a store: {problem}");
    Fault::new(FaultCode::StoreCorrupt, message)
        .hint("choose another schema, or restore this one from a backup")
}

pub(super) fn setting(problem: &str) -> Fault {
    let message = format!("invalid settings of the store: {problem}");
    Fault::new(FaultCode::StoreSettingInvalid, message)
        .hint("a URL has the form postgres://user:password@host:5432/database")
}

pub(super) fn gone() -> Fault {
    Fault::new(FaultCode::StoreFailed, "the store's background thread has ended")
        .hint("open the store again")
}

pub(super) fn thread_not_started(error: &io::Error) -> Fault {
    let message = format!("a thread for the store could not be started: {error}");
    Fault::new(FaultCode::StoreFailed, message).hint("stop some threads or processes")
}
