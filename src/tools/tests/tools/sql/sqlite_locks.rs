//! Locks of other connections of this process, which belong to other copies of SQLite or to this.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_tools::sql::{
    CellValue, Database, QueryLimits, QueryParameters, QueryPolicy, SqlDialect, SqliteDatabase,
};
use rusqlite::Connection;
use rustix::fs::{FlockOperation, fcntl_lock};

const JOURNALS: [&str; 2] = ["delete", "wal"];

fn made(folder: &Path, journal: &str) -> (PathBuf, Connection) {
    let path = folder.join(format!("{journal}.db"));
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "journal_mode", journal).unwrap();
    connection
        .execute_batch("create table t (id integer primary key); insert into t values (1), (2)")
        .unwrap();
    (path, connection)
}

async fn count(path: &Path) -> Result<CellValue, Fault> {
    let database = SqliteDatabase::open(path, QueryPolicy::new(SqlDialect::Sqlite))?;
    let query = database.check("select count(*) from t")?;
    let limits = QueryLimits { timeout: Duration::from_millis(200), ..QueryLimits::default() };
    let table = database.execute(&query, &QueryParameters::None, &limits).await?;
    Ok(table.rows[0][0].clone())
}

/// The locks that descriptors of this process hold on a file and those beside it.
fn held(path: &Path) -> Vec<String> {
    let files = ["", "-wal", "-shm"].map(|ending| format!("{}{ending}", path.display()));
    let inodes: Vec<_> =
        files.iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.ino()).collect();
    let mut held = Vec::new();
    for entry in fs::read_dir("/proc/self/fdinfo").unwrap() {
        let about = fs::read_to_string(entry.unwrap().path()).unwrap_or_default();
        let locks = about.lines().filter(|line| line.starts_with("lock:"));
        held.extend(
            locks
                .filter(|line| inodes.iter().any(|inode| line.contains(&format!(":{inode} "))))
                .map(|line| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")),
        );
    }
    held.sort();
    held
}

#[tokio::test]
async fn a_query_drops_no_lock_of_another_library() {
    let folder = tempfile::tempdir().unwrap();
    for journal in JOURNALS {
        let (path, connection) = made(folder.path(), journal);
        drop(connection);
        let file = File::open(&path).unwrap();
        fcntl_lock(&file, FlockOperation::LockShared).unwrap();
        let about = format!("/proc/self/fdinfo/{}", file.as_raw_fd());
        assert!(fs::read_to_string(&about).unwrap().contains("lock:"));
        assert_eq!(count(&path).await.unwrap(), CellValue::Integer(2));
        assert!(fs::read_to_string(&about).unwrap().contains("lock:"), "{journal}");
    }
}

#[tokio::test]
async fn a_transaction_of_the_same_library_keeps_its_locks() {
    let folder = tempfile::tempdir().unwrap();
    for journal in JOURNALS {
        let (path, connection) = made(folder.path(), journal);
        connection.execute_batch("begin immediate; insert into t values (3)").unwrap();
        let before = held(&path);
        assert!(!before.is_empty());
        let counts = tokio::join!(count(&path), count(&path), count(&path));
        for found in [counts.0, counts.1, counts.2] {
            assert_eq!(found.unwrap(), CellValue::Integer(2), "{journal}");
        }
        assert_eq!(held(&path), before, "{journal}");
        connection.execute_batch("commit").unwrap();
        assert_eq!(count(&path).await.unwrap(), CellValue::Integer(3));
    }
}

#[tokio::test]
async fn an_exclusive_lock_of_this_process_keeps_queries_out() {
    let folder = tempfile::tempdir().unwrap();
    let (path, connection) = made(folder.path(), "delete");
    connection.execute_batch("begin exclusive; delete from t").unwrap();
    let fault = count(&path).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::DatabaseUnreachable);
    assert!(fault.message.ends_with("cannot be reached: database is locked"), "{fault}");
    assert!(fault.hint.as_ref().unwrap().contains("this process has an open transaction"));
    connection.execute_batch("rollback").unwrap();
    assert_eq!(count(&path).await.unwrap(), CellValue::Integer(2));
}
