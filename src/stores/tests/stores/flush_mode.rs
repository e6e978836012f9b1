//! What of a file's work is put off, what is done together, and what at once.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::fixtures::batch;
use crate::waiting::until;
use antiphon_core::Fault;
use antiphon_runtime::ManualClock;
use antiphon_runtime::store::{EntryRange, Store};
use antiphon_stores::{SqliteSettings, SqliteStore};
use futures_util::FutureExt;
use futures_util::future::join_all;
use tempfile::TempDir;

const TERM: Duration = Duration::from_secs(30);
/// Longer than any test: what is put off is not written by itself.
const LONG: Duration = Duration::from_hours(1);

fn open(path: &Path, delay: Duration) -> SqliteStore {
    let settings = SqliteSettings { delay, ..SqliteSettings::default() };
    SqliteStore::open(path, settings, Arc::new(ManualClock::default())).unwrap()
}

/// A store with a thread that is held.
async fn held(delay: Duration) -> (TempDir, SqliteStore) {
    let folder = TempDir::new().unwrap();
    let store = open(&folder.path().join("runs.db"), delay);
    store.claim("t", "me", TERM).await.unwrap();
    (folder, store)
}

async fn count(store: &SqliteStore) -> usize {
    store.read("t", EntryRange::ALL).await.unwrap().len()
}

/// How many transactions the log beside the file holds: the last page of each is marked.
fn transactions(folder: &TempDir) -> usize {
    let log = std::fs::read(folder.path().join("runs.db-wal")).unwrap();
    let frames = log[32..].chunks(24 + 2048);
    frames.filter(|frame| frame[4..8] != [0; 4]).count()
}

#[tokio::test]
async fn what_nobody_waits_for_is_written_together() {
    let (folder, store) = held(LONG).await;
    let before = transactions(&folder);
    for after in 0..40 {
        drop(store.append_soon(batch(after)));
    }
    assert_eq!(count(&store).await, 40);
    assert_eq!(transactions(&folder), before + 1);
}

#[tokio::test]
async fn what_somebody_waits_for_takes_along_what_came_before() {
    let (folder, store) = held(LONG).await;
    let before = transactions(&folder);
    let soon: Vec<_> = (0..3).map(|after| store.append_soon(batch(after))).collect();
    store.append(batch(3)).await.unwrap();
    assert!(join_all(soon).await.iter().all(Result::is_ok));
    assert_eq!((count(&store).await, transactions(&folder)), (4, before + 1));
}

#[tokio::test]
async fn what_nobody_waits_for_is_written_all_the_same() {
    let (folder, store) = held(SqliteSettings::default().delay).await;
    drop(store.append_soon(batch(0)));
    let file = rusqlite::Connection::open(folder.path().join("runs.db")).unwrap();
    let entries =
        || -> i64 { file.query_row("SELECT count(*) FROM entry", [], |row| row.get(0)).unwrap() };
    until("nothing was written", async || entries() == 1).await;
    drop(store);
}

#[tokio::test]
async fn enough_of_it_is_put_off_no_longer() {
    let (_folder, store) = held(LONG).await;
    let soon: Vec<_> = (0..512).map(|after| store.append_soon(batch(after))).collect();
    assert!(join_all(soon).await.iter().all(Result::is_ok));
}

#[tokio::test]
async fn what_was_put_off_is_written_when_the_store_is_closed() {
    let (folder, store) = held(LONG).await;
    drop(store.append_soon(batch(0)));
    drop(store);
    let store = open(&folder.path().join("runs.db"), LONG);
    assert_eq!(count(&store).await, 1);
}

#[tokio::test]
async fn one_that_cannot_be_added_takes_none_with_it() {
    let (_folder, store) = held(LONG).await;
    // The third follows the second, and has a number that is taken.
    let mut taken = batch(2);
    taken.entries[0].seq = 2;
    let soon =
        [batch(0), batch(1), taken, batch(7), batch(2)].map(|batch| store.append_soon(batch));
    store.head("t").await.unwrap();
    let done = join_all(soon).await;
    let codes: Vec<_> = done
        .iter()
        .map(|done| done.as_ref().map_or_else(|fault: &Fault| fault.code.as_str(), |()| "done"))
        .collect();
    assert_eq!(codes, ["done", "done", "store_failed", "thread_conflict", "done"]);
    assert_eq!(count(&store).await, 3);
}

#[tokio::test]
async fn a_small_change_is_made_by_the_thread_that_waits_for_it() {
    let (_folder, store) = held(LONG).await;
    // The store's own thread may still be at something else.
    let at_once = (0..10_000).find(|after| {
        let answer = store.append(batch(*after));
        std::thread::yield_now();
        answer.now_or_never().is_some()
    });
    let last = at_once.expect("it always took a thread");
    assert_eq!(store.head("t").await.unwrap().unwrap().last, last + 1);
}

#[tokio::test]
async fn nobody_is_held_up_by_another_program_that_writes() {
    let (folder, store) = held(LONG).await;
    let other = rusqlite::Connection::open(folder.path().join("runs.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut answer = store.append(batch(0));
    assert!((&mut answer).now_or_never().is_none());
    other.execute_batch("COMMIT").unwrap();
    answer.await.unwrap();
}

#[tokio::test]
async fn the_log_of_small_changes_becomes_part_of_the_file_once_nobody_waits() {
    let (folder, store) = held(LONG).await;
    let size = |name: &str| folder.path().join(name).metadata().unwrap().len();
    // The file grows only by what was in the log.
    let before = size("runs.db");
    for after in 0.. {
        let mut large = batch(after);
        large.entries[0].body = vec![7; 60_000];
        store.append(large).await.unwrap();
        if size("runs.db-wal") > 2_010 * 4_120 || size("runs.db") > before {
            break;
        }
    }
    until("the file is still small", async || size("runs.db") > before + 1_000_000).await;
}
