//! Threads that their store could not release.

use std::path::Path;
use std::sync::Arc;

use crate::waiting::until;
use antiphon_core::Time;
use antiphon_runtime::SystemClock;
use antiphon_runtime::store::EntryKind;
use antiphon_stores::{
    Cipher, SealedStore, SqliteSettings, SqliteStore, TERM, ThreadAdmin, ThreadLog,
};
use rusqlite::Connection;
use tempfile::TempDir;

const REFUSE: &str = "CREATE TRIGGER refuse BEFORE UPDATE OF owner ON thread
    WHEN NEW.owner IS NULL BEGIN SELECT RAISE(ABORT, 'no room'); END";

fn open(path: &Path) -> SealedStore {
    let clock = Arc::new(SystemClock::new());
    let store = SqliteStore::open(path, SqliteSettings::default(), clock).unwrap();
    SealedStore::new(Arc::new(store), Arc::new(Cipher::tagged()))
}

fn admin(sealed_store: SealedStore) -> ThreadAdmin {
    ThreadAdmin::new(sealed_store, Arc::new(SystemClock::new()), "me".into())
}

fn say(path: &Path, words: &str) {
    Connection::open(path).unwrap().execute_batch(words).unwrap();
}

/// Takes a thread and cannot release it; what was answered.
async fn hold(sealed_store: &SealedStore, thread: &str) -> String {
    written(sealed_store, thread).await.release().await.unwrap_err().code.to_string()
}

/// A thread that was taken, and holds something.
async fn written(sealed_store: &SealedStore, thread: &str) -> ThreadLog {
    let (mut log, _) = ThreadLog::open(sealed_store.clone(), thread, thread, TERM).await.unwrap();
    let entries = [(EntryKind::Run, *b"run")];
    log.append(entries, 0, Time::from_micros(1)).unwrap().await.unwrap();
    log
}

#[tokio::test]
async fn this_process_takes_it_as_soon_as_the_store_can_be_written() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let sealed_store = open(&path);
    say(&path, REFUSE);
    assert_eq!(hold(&sealed_store, "t").await, "store_failed");
    drop(written(&sealed_store, "u").await.release());
    let admin = admin(sealed_store.clone());
    assert_eq!(admin.delete("t").await.unwrap_err().code, "store_failed");
    say(&path, "DROP TRIGGER refuse");
    for thread in ["t", "u"] {
        assert!(admin.delete(thread).await.unwrap(), "{thread}");
    }
}

#[tokio::test]
async fn it_is_released_for_other_processes_too() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let sealed_store = open(&path);
    say(&path, REFUSE);
    hold(&sealed_store, "t").await;
    say(&path, "DROP TRIGGER refuse");
    let held = async || sealed_store.store().thread("t").await.unwrap().unwrap().held;
    let free = until("it is still held", async || held().await.is_none());
    tokio::time::timeout(TERM / 2, free).await.unwrap();
}

#[tokio::test]
async fn it_is_free_for_this_process_once_the_store_was_closed() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let sealed_store = open(&path);
    say(&path, REFUSE);
    hold(&sealed_store, "t").await;
    drop(sealed_store);
    say(&path, "DROP TRIGGER refuse");
    let admin = admin(open(&path));
    assert!(admin.delete("t").await.unwrap());
}
