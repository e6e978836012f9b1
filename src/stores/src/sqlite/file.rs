//! An open file and its connections.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Fault;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};

use super::backlog::WalBacklog;
use super::file_identity::{self, FileIdentity};
use super::shared_locks::SharedLocks;
use super::{SqliteSettings, fault, schema};

pub(super) struct SqliteFile {
    connection: Connection,
    file_identity: FileIdentity,
    backlog: Arc<WalBacklog>,
    locks: Arc<SharedLocks>,
}

impl Drop for SqliteFile {
    fn drop(&mut self) {
        // The backlog has them too.
        SharedLocks::release(&self.locks, 2);
    }
}

impl SqliteFile {
    /// Opens a file, and creates it if it does not exist.
    pub(super) fn open(path: &Path, settings: SqliteSettings) -> Result<Self, Fault> {
        make_private(path);
        let mut connection = connect(path)?;
        let (file_identity, locks) = match schema::prepare(&mut connection, settings) {
            Err(_) if is_frozen(path, &connection) => {
                let file_identity = FileIdentity::of_frozen(path);
                connection = connect_frozen(path)?;
                schema::prepare(&mut connection, settings)?;
                (file_identity, Arc::default())
            }
            prepared => prepared.map(|()| (FileIdentity::of(path), SharedLocks::of(path)))?,
        };
        let mover = connect(path)?;
        let backlog = Arc::new(WalBacklog::of(&mut connection, mover, Arc::clone(&locks))?);
        Ok(Self { connection, file_identity, backlog, locks })
    }

    /// The connection for reading, if the file is still at its path.
    pub(super) fn look(&self) -> Result<&Connection, Fault> {
        self.file_identity.check().map(|()| &self.connection)
    }

    /// Begins a transaction that can write, as soon as no other process has one.
    pub(super) fn begin(&mut self) -> Result<Transaction<'_>, Fault> {
        self.file_identity.check()?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        transaction.map_err(|error| fault::of(&error))
    }

    /// Runs `work` in such a transaction; `None` if it would have to wait.
    pub(super) fn at_once<T>(
        &mut self,
        work: impl FnOnce(Transaction<'_>) -> T,
    ) -> Result<Option<T>, Fault> {
        self.file_identity.check()?;
        if self.connection.busy_timeout(Duration::ZERO).is_err() {
            return Ok(None);
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let done = transaction.ok().map(work);
        let reset = self.connection.busy_timeout(schema::BUSY_TIMEOUT);
        reset.map(|()| done).map_err(|error| fault::of(&error))
    }

    /// The backlog of the write-ahead log.
    pub(super) fn backlog(&self) -> Arc<WalBacklog> {
        Arc::clone(&self.backlog)
    }

    /// Whether the backlog is large.
    pub(super) fn wants_rest(&self) -> bool {
        self.backlog.is_large()
    }
}

fn connect(path: &Path) -> Result<Connection, Fault> {
    // SQLite would parse such a name as a URL, possibly of no file at all.
    let is_url = path.as_os_str().as_encoded_bytes().starts_with(b"file:");
    let path = if is_url { &Path::new(".").join(path) } else { path };
    Connection::open(path).map_err(|error| fault::of(&error))
}

/// Whether a file can be read only as immutable: SQLite needs to create files beside it, the
/// folder is read-only, and there is no log with contents.
fn is_frozen(path: &Path, connection: &Connection) -> bool {
    connection.is_readonly(MAIN_DB).unwrap_or(false)
        && path.exists()
        && !file_identity::has_log(path)
}

/// Characters with a special meaning in URLs.
const OUTSIDE_PATHS: AsciiSet =
    NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

fn connect_frozen(path: &Path) -> Result<Connection, Fault> {
    let start = if path.is_absolute() { "file://" } else { "file:" };
    let name = percent_encode(path.as_os_str().as_encoded_bytes(), &OUTSIDE_PATHS);
    let url = format!("{start}{name}?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(url, flags).map_err(|error| fault::of(&error))
}

/// Creates a file that only its owner can read, if it does not exist; SQLite gives the files
/// beside it the same permissions. A failure is ignored, because SQLite then fails too and
/// reports the reason.
#[cfg(unix)]
fn make_private(path: &Path) {
    use std::os::unix::fs::OpenOptionsExt;
    drop(std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path));
}

/// On other systems a file has the permissions of its folder.
#[cfg(not(unix))]
fn make_private(_: &Path) {}
