//! Failures of a file, and that their reports are true.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_runtime::ManualClock;
use antiphon_runtime::store::{EntryKind, EntryRange, Store};
use antiphon_stores::{Cipher, OpenedEntry, SealedStore, SqliteSettings, SqliteStore, ThreadLog};
use rusqlite::Connection;
use tempfile::TempDir;

const TERM: Duration = Duration::from_secs(30);
const THREADS: usize = 3;
const STEPS: u64 = 60;

/// Numbers that look random, and are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

fn open(path: &Path) -> Result<SqliteStore, Fault> {
    SqliteStore::open(path, SqliteSettings::default(), Arc::new(ManualClock::default()))
}

fn sealed_store(store: SqliteStore) -> SealedStore {
    SealedStore::new(Arc::new(store), Arc::new(Cipher::tagged()))
}

fn body(thread: usize, step: u64) -> Vec<u8> {
    format!("thread {thread}, step {step}, ").repeat(20).into_bytes()
}

/// Writes some threads, and a snapshot in the middle of each.
async fn write(sealed_store: &SealedStore) {
    for thread in 0..THREADS {
        let name = format!("t{thread}");
        let (mut log, _) = ThreadLog::open(sealed_store.clone(), &name, "me", TERM).await.unwrap();
        for step in 1..=STEPS {
            let body = body(thread, step);
            let kind = if step == STEPS / 2 { EntryKind::Snapshot } else { EntryKind::Step };
            log.append([(kind, body)], step, Time::default()).unwrap().await.unwrap();
        }
        log.release().await.unwrap();
    }
}

/// What is read is what was written, up to some step, or it is said what is wrong:
/// gives back the code, or how many steps were read.
fn checked(thread: usize, way: Result<Vec<OpenedEntry>, Fault>) -> Result<u64, String> {
    let way = way.map_err(|fault| fault.code.to_string())?;
    for record in &way {
        assert_eq!(record.body, body(thread, record.seq), "thread {thread}");
    }
    let steps: Vec<u64> = way.iter().map(|record| record.seq).collect();
    let last = steps.last().copied().unwrap_or(0);
    let first = if last < STEPS / 2 { 1 } else { STEPS / 2 };
    assert_eq!(steps, (first..=last).collect::<Vec<_>>(), "thread {thread}");
    Ok(last)
}

/// Reads all there is; each thread is whole, shorter, or refused.
async fn read(path: &Path) -> Vec<Result<u64, String>> {
    let store = match open(path) {
        Ok(store) => store,
        Err(fault) => {
            assert!(fault.message.contains(&path.display().to_string()), "{}", fault.message);
            assert!(fault.hint.is_some());
            return vec![Err(fault.code.to_string()); THREADS];
        }
    };
    let sealed_store = sealed_store(store);
    let mut found = Vec::new();
    for thread in 0..THREADS {
        found.push(checked(thread, sealed_store.way_to(&format!("t{thread}"), None).await));
    }
    found
}

/// A folder with a file and, if it is still open, the log beside it.
struct Original {
    folder: TempDir,
    _store: Option<SealedStore>,
}

impl Original {
    async fn closed() -> Self {
        let folder = TempDir::new().unwrap();
        let sealed_store = sealed_store(open(&folder.path().join("runs.db")).unwrap());
        write(&sealed_store).await;
        Self { folder, _store: None }
    }

    async fn open() -> Self {
        let folder = TempDir::new().unwrap();
        let sealed_store = sealed_store(open(&folder.path().join("runs.db")).unwrap());
        write(&sealed_store).await;
        Self { folder, _store: Some(sealed_store) }
    }

    /// As a process that dies now would leave it.
    fn copy(&self, to: &TempDir) -> PathBuf {
        for name in ["runs.db", "runs.db-wal"] {
            let from = self.folder.path().join(name);
            if from.exists() {
                fs::copy(from, to.path().join(name)).unwrap();
            }
        }
        to.path().join("runs.db")
    }
}

fn is_store_code(code: &str) -> bool {
    code.starts_with("store_") || code == "checkpoint_corrupt"
}

#[tokio::test]
async fn a_file_that_was_cut_off_is_refused_or_read_as_far_as_it_is_whole() {
    let original = Original::closed().await;
    let bytes = fs::read(original.folder.path().join("runs.db")).unwrap();
    let (mut chance, mut refused) = (Chance(1), 0);
    for _ in 0..60 {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("runs.db");
        fs::write(&path, &bytes[..chance.below(bytes.len())]).unwrap();
        for found in read(&path).await {
            refused += usize::from(found.as_ref().is_err_and(|code| is_store_code(code)));
            assert!(
                found.as_ref().map_or_else(|code| is_store_code(code), |steps| *steps <= STEPS)
            );
        }
    }
    assert!(refused > 60, "{refused}");
}

#[tokio::test]
async fn a_log_that_was_cut_off_leaves_whole_commits() {
    let original = Original::open().await;
    let log = fs::read(original.folder.path().join("runs.db-wal")).unwrap();
    let mut chance = Chance(2);
    let mut counts = Vec::new();
    for round in 0..60 {
        let folder = TempDir::new().unwrap();
        let path = original.copy(&folder);
        let end = if round == 0 { log.len() } else { chance.below(log.len()) };
        fs::write(folder.path().join("runs.db-wal"), &log[..end]).unwrap();
        let found = read(&path).await;
        let steps: u64 = found.into_iter().map(|steps| steps.unwrap()).sum();
        counts.push(steps);
        // It can be written to again.
        let store = open(&path).unwrap();
        let head = store.claim("t0", "you", TERM).await;
        assert!(head.is_ok() || head.is_err_and(|fault| fault.code == "thread_busy"));
    }
    assert_eq!(counts[0], STEPS * THREADS as u64, "nothing that was answered is lost");
    assert!(counts.iter().any(|steps| *steps < counts[0] / 2), "some logs were short");
}

#[tokio::test]
async fn bytes_that_were_changed_are_noticed() {
    let original = Original::closed().await;
    let bytes = fs::read(original.folder.path().join("runs.db")).unwrap();
    let (mut chance, mut noticed) = (Chance(3), 0);
    for _ in 0..150 {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("runs.db");
        let mut changed = bytes.clone();
        for _ in 0..3 {
            let place = chance.below(changed.len());
            changed[place] ^= 1 << chance.below(8);
        }
        fs::write(&path, changed).unwrap();
        let found = read(&path).await;
        noticed += usize::from(found.iter().any(Result::is_err));
        assert!(
            found.iter().filter_map(|found| found.as_ref().err()).all(|code| is_store_code(code))
        );
    }
    assert!(noticed > 30, "{noticed}");
}

#[tokio::test]
async fn a_row_that_was_changed_is_noticed() {
    let original = Original::closed().await;
    let forgeries = [
        "UPDATE entry SET body = (SELECT body FROM entry WHERE seq = 41) WHERE seq = 42",
        "UPDATE entry SET body = x'' WHERE seq = 42",
        "UPDATE entry SET kind = 'end' WHERE seq = 42",
        "UPDATE entry SET kind = 'nonsense' WHERE seq = 42",
        "UPDATE entry SET parent = 40 WHERE seq = 42",
        "UPDATE entry SET parent = 60 WHERE seq = 42",
        "UPDATE entry SET id = id + 1000 WHERE seq = 42",
        "UPDATE entry SET id = -id WHERE seq = 42",
        "UPDATE entry SET id = 2 << 32 | 1000 WHERE thread = 1 AND seq = 42",
        "UPDATE entry SET base = 31 WHERE seq = 60",
        "UPDATE entry SET base = 59 WHERE seq = 60",
        "UPDATE entry SET base = 61 WHERE seq = 60",
        "DELETE FROM entry WHERE seq = 42",
        "UPDATE entry SET base = 0",
        "UPDATE entry SET step = step - 1 WHERE seq = 42",
        "UPDATE entry SET step = -1 WHERE seq = 42",
        "UPDATE entry SET at = at + 1 WHERE seq = 42",
        "UPDATE entry SET tag = x'00' WHERE seq = 42",
        "UPDATE entry SET tag = (SELECT tag FROM entry WHERE seq = 41) WHERE seq = 42",
        "UPDATE thread SET last = 1000",
        "UPDATE thread SET last = 42",
        "UPDATE thread SET last = 0, tag = x''",
        "DELETE FROM entry WHERE seq > 42",
        "UPDATE thread SET last = 42; DELETE FROM entry WHERE seq > 42",
        "UPDATE thread SET tag = (SELECT tag FROM entry WHERE seq = 42)",
        "UPDATE thread SET name = name || 'x'; UPDATE thread SET name = 't0' WHERE id = 2",
    ];
    for forgery in forgeries {
        let folder = TempDir::new().unwrap();
        let path = original.copy(&folder);
        Connection::open(&path).unwrap().execute_batch(forgery).unwrap();
        let found = read(&path).await;
        let code = found[0].clone().expect_err(forgery);
        assert!(is_store_code(&code), "{forgery}: {code}");
    }
}

#[tokio::test]
async fn a_file_that_another_program_writes_to_is_waited_for_and_then_named() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).unwrap();
    store.claim("t", "me", TERM).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let before = std::time::Instant::now();
    let fault = store.release("t", "me").await.unwrap_err();
    assert!(before.elapsed() >= Duration::from_secs(4), "it was waited for");
    assert_eq!(fault.code, "store_locked");
    assert!(fault.message.contains(&path.display().to_string()), "{}", fault.message);
    assert!(store.head("t").await.is_ok(), "reading is possible all the while");
    other.execute_batch("ROLLBACK").unwrap();
    store.release("t", "me").await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_gone_is_not_written_to() {
    let forms: [fn(&Path); 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::rename(path, path.with_extension("old")).unwrap(),
        |path| {
            fs::copy(path, path.with_extension("new")).unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        },
    ];
    for form in forms {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("runs.db");
        let store = open(&path).unwrap();
        store.claim("t", "me", TERM).await.unwrap();
        form(&path);
        for fault in [
            store.release("t", "me").await.unwrap_err(),
            store.head("t").await.unwrap_err(),
            store.delete("t").await.unwrap_err(),
        ] {
            assert_eq!(fault.code, "store_unavailable");
            assert!(fault.message.contains(&path.display().to_string()), "{}", fault.message);
            assert!(fault.message.contains("moved, replaced or deleted"), "{}", fault.message);
        }
    }
}

#[tokio::test]
async fn a_restored_file_is_written_to_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).unwrap();
    fs::rename(&path, folder.path().join("away")).unwrap();
    assert!(store.claim("t", "me", TERM).await.is_err());
    fs::rename(folder.path().join("away"), &path).unwrap();
    store.claim("t", "me", TERM).await.unwrap();
    drop(store);
    assert!(open(&path).unwrap().head("t").await.unwrap().is_some());
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let Err(fault) = open(folder.path()) else { panic!("a folder was opened") };
    assert_eq!(fault.code, "store_unavailable");
    assert!(fault.message.contains(&folder.path().display().to_string()), "{}", fault.message);
}

#[tokio::test]
async fn a_disk_that_is_full_takes_whole_batches_or_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let settings = SqliteSettings { max_bytes: Some(300_000), ..SqliteSettings::default() };
    let store = SqliteStore::open(&path, settings, Arc::new(ManualClock::default())).unwrap();
    let sealed_store = sealed_store(store);
    let (mut log, _) = ThreadLog::open(sealed_store.clone(), "t0", "me", TERM).await.unwrap();
    let mut kept = 0;
    let fault = loop {
        let entries = [(EntryKind::Step, vec![1; 2000]), (EntryKind::Part, vec![2; 7000])];
        match log.append(entries, 1, Time::default()).unwrap().await {
            Ok(()) => kept += 2,
            Err(fault) => break fault,
        }
    };
    assert_eq!(fault.code, "store_full");
    assert!(kept > 20, "{kept}");
    let entries = sealed_store.store().read("t0", EntryRange::ALL).await.unwrap();
    assert_eq!(entries.len(), kept);
    assert_eq!(sealed_store.store().head("t0").await.unwrap().unwrap().last, kept as u64);
    // What is removed makes room.
    sealed_store.store().remove("t0", "me", EntryRange { from: 1, to: 10 }).await.unwrap();
    let mut again = ThreadLog::open(sealed_store.clone(), "u", "me", TERM).await.unwrap().0;
    again.append([(EntryKind::Step, &[1; 2000])], 1, Time::default()).unwrap().await.unwrap();
}
