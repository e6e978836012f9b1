//! The tables of an index file.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// Files of other versions are built again.
pub(super) const VERSION: i64 = 2;

/// How long a statement waits for another process.
const BUSY: Duration = Duration::from_secs(10);

/// Documents, and what they are made of. The texts of the chunks of a document, in their order, are its text.
///
/// `chunk_words` finds words by their stems; `chunk_signs` finds runs of characters in scripts that put no
/// spaces between words, for which each character is a word of its own.
const TABLES: &str = "
CREATE TABLE documents(
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    format TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    checked INTEGER NOT NULL,
    hash BLOB,
    title TEXT,
    characters INTEGER NOT NULL,
    truncated INTEGER NOT NULL,
    outline TEXT NOT NULL,
    refusal TEXT
);
CREATE TABLE chunks(
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    start INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    anchor TEXT,
    links REAL NOT NULL,
    has_signs INTEGER NOT NULL,
    title TEXT NOT NULL,
    heading TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX chunks_of_document ON chunks(document, start);
CREATE VIRTUAL TABLE chunk_signs USING fts5(
    body, content='', contentless_delete=1, tokenize=\"unicode61 remove_diacritics 2\"
);
CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
";

const WORDS: &str = "CREATE VIRTUAL TABLE chunk_words USING fts5(
    title, heading, body, content='chunks', content_rowid='id', tokenize=\"{tokenizer}\"
);";

/// Opens a file for writing, and creates its tables.
pub(super) fn open_writer(path: &Path, stemming: bool) -> rusqlite::Result<Connection> {
    let mut database = Connection::open(path)?;
    database.busy_timeout(BUSY)?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "NORMAL")?;
    database.pragma_update(None, "cache_size", -65_536)?;
    if version(&database)? != VERSION {
        let tables: i64 =
            database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables > 0 {
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error { code: ErrorCode::NotADatabase, extended_code: 26 },
                Some("the file has the tables of another version".to_owned()),
            ));
        }
        let tokenizer = if stemming {
            "porter unicode61 remove_diacritics 2"
        } else {
            "unicode61 remove_diacritics 2"
        };
        let change = database.transaction()?;
        change.execute_batch(TABLES)?;
        change.execute_batch(&WORDS.replace("{tokenizer}", tokenizer))?;
        change.pragma_update(None, "user_version", VERSION)?;
        change.commit()?;
    }
    Ok(database)
}

/// Opens a file for reading, beside a process that writes.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags)?;
    database.busy_timeout(BUSY)?;
    database.pragma_update(None, "query_only", true)?;
    database.pragma_update(None, "mmap_size", 1_i64 << 30)?;
    Ok(database)
}

fn version(database: &Connection) -> rusqlite::Result<i64> {
    database.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether an error means that the file has to be built again.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    if let rusqlite::Error::SqliteFailure(inner, _) = error {
        return matches!(inner.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase);
    }
    // A column that holds what was never written there.
    matches!(
        error,
        rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::FromSqlConversionFailure(..)
    )
}
