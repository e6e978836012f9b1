//! What only a file can do, and what can happen to one.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use crate::fixtures::batch;
use crate::waiting::until;
use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{EntryBatch, EntryRange, Store};
use antiphon_runtime::{Clock, ManualClock, SystemClock};
use antiphon_stores::{SqliteSettings, SqliteStore, SyncLevel};
use tempfile::TempDir;

const TERM: Duration = Duration::from_secs(30);
const ALL: EntryRange = EntryRange { from: 0, to: u64::MAX };

fn open(path: &Path) -> Result<SqliteStore, Fault> {
    SqliteStore::open(path, SqliteSettings::default(), Arc::new(ManualClock::default()))
}

#[tokio::test]
async fn a_file_outlives_the_store() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    for sync in [SyncLevel::Process, SyncLevel::Power] {
        let settings = SqliteSettings { sync, ..SqliteSettings::default() };
        let store = SqliteStore::open(&path, settings, Arc::new(SystemClock::new())).unwrap();
        let head = store.claim("t", "me", TERM).await.unwrap();
        // Not waited for: dropping the store still writes it.
        drop(store.append(batch(head.last)));
    }
    let store = open(&path).unwrap();
    assert_eq!(store.read("t", ALL).await.unwrap().len(), 2);
}

#[tokio::test]
async fn two_stores_on_one_file_see_each_other() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let (one, two) = (open(&path).unwrap(), open(&path).unwrap());
    one.claim("t", "me", TERM).await.unwrap();
    assert_eq!(two.claim("t", "you", TERM).await.unwrap_err().code, "thread_busy");
    one.append(batch(0)).await.unwrap();
    assert_eq!(two.head("t").await.unwrap().unwrap().last, 1);
}

/// A machine whose time of day somebody sets.
struct Machine {
    of_day: ManualClock,
    shared: ManualClock,
}

impl Machine {
    fn at(of_day: u64, shared: u64) -> Arc<Self> {
        let clock = |seconds| ManualClock::at(Time::from_micros(seconds * 1_000_000));
        Arc::new(Self { of_day: clock(of_day), shared: clock(shared) })
    }
}

impl Clock for Machine {
    fn now(&self) -> Time {
        self.of_day.now()
    }

    fn shared(&self) -> Time {
        self.shared.now()
    }

    fn sleep(&self, delay: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.of_day.sleep(delay)
    }
}

#[tokio::test]
async fn a_term_is_as_long_at_any_time_of_day() {
    const DAY: u64 = 86_400;
    for of_day in [0, 1, DAY, 2 * DAY] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("runs.db");
        let (first, second) = (Machine::at(DAY, 100), Machine::at(of_day, 100));
        let open = |clock: &Arc<Machine>| {
            SqliteStore::open(&path, SqliteSettings::default(), Arc::clone(clock) as Arc<dyn Clock>)
        };
        let (one, two) = (open(&first).unwrap(), open(&second).unwrap());
        one.claim("t", "me", TERM).await.unwrap();
        second.shared.advance(Duration::from_secs(29));
        let busy = two.claim("t", "you", TERM).await.unwrap_err();
        assert_eq!(busy.code, "thread_busy");
        let ends = second.now() + Duration::from_secs(1);
        assert_eq!(busy.details["until"], ends.to_string());
        assert_eq!(two.thread("t").await.unwrap().unwrap().held, Some(("me".into(), ends)));
        assert_eq!(two.delete("t").await.unwrap_err().code, "thread_busy");
        second.shared.advance(Duration::from_secs(1));
        assert_eq!(two.thread("t").await.unwrap().unwrap().held, None);
        two.claim("t", "you", TERM).await.unwrap();
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn nobody_holds_a_thread_from_before_the_machine_was_started_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let clock = Machine::at(1_000_000, 900_000);
    let before = SqliteStore::open(&path, SqliteSettings::default(), clock).unwrap();
    let owner = antiphon_stores::owner::new(antiphon_core::Seed::new(1));
    let (machine, rest) = owner.split_once('.').unwrap();
    if machine.is_empty() {
        // Where machines have no names, another start may be another machine.
        return;
    }
    let (_, rest) = rest.split_once('/').unwrap();
    let of_another = format!("{machine}.6f9619ff-8b86-d011-b42d-00c04fc964ff-1/{rest}");
    before.claim("t", &of_another, TERM).await.unwrap();
    before.claim("u", &owner, TERM).await.unwrap();
    drop(before);
    let after =
        SqliteStore::open(&path, SqliteSettings::default(), Machine::at(1_000_060, 5)).unwrap();
    assert_eq!(after.thread("t").await.unwrap().unwrap().held, None);
    after.claim("t", "me", TERM).await.unwrap();
    assert_eq!(after.claim("u", "me", TERM).await.unwrap_err().code, "thread_busy");
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_lease_of_another_machine_is_watched_for_its_term() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let owner = "0123456789abcdef.6f9619ff-8b86-d011-b42d-00c04fc964ff-1/1/2/x";
    let there = Machine::at(1_000_000, 900_000);
    let here = Machine::at(1_000_500, 5);
    let open = |clock: &Arc<Machine>| {
        let clock = Arc::clone(clock) as Arc<dyn Clock>;
        SqliteStore::open(&path, SqliteSettings::default(), clock).unwrap()
    };
    let other = open(&there);
    other.claim("t", owner, TERM).await.unwrap();
    let (second, almost) = (Duration::from_secs(1), Duration::from_secs(29));
    let busy = open(&here).claim("t", "me", TERM).await.unwrap_err();
    assert_eq!((busy.code.as_str(), &busy.details["owner"]), ("thread_busy", &owner.into()));
    assert_eq!(busy.details["until"], (here.now() + TERM).to_string());
    here.shared.advance(almost);
    assert_eq!(open(&here).delete("t").await.unwrap_err().code, "thread_busy");
    assert_eq!(open(&here).thread("t").await.unwrap().unwrap().held.unwrap().0, owner);
    there.shared.advance(second);
    other.claim("t", owner, TERM).await.unwrap();
    here.shared.advance(second);
    assert!(open(&here).claim("t", "me", TERM).await.is_err(), "it was renewed");
    here.shared.advance(almost);
    assert!(open(&here).claim("t", "me", TERM).await.is_err(), "each process keeps looking");
    here.shared.advance(second);
    assert_eq!(open(&here).threads("", 9).await.unwrap()[0].held, None);
    open(&here).claim("t", "me", TERM).await.unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn all_processes_share_a_clock_that_keeps_running() {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let since: f64 = uptime.split_whitespace().next().unwrap().parse().unwrap();
    let shared = SystemClock::new().shared().since(Time::default()).as_secs_f64();
    assert!((since - 0.1..since + 60.0).contains(&shared), "{shared} is not near {since}");
}

#[tokio::test]
async fn what_sqlite_would_read_as_a_url_is_the_name_of_a_file() {
    // Relative to where the tests run: an absolute path is never read as one.
    let name = format!("file:{}?mode=memory", std::process::id());
    let path = std::path::PathBuf::from(&name);
    for begins in [true, false] {
        let store =
            SqliteStore::open(&path, SqliteSettings::default(), Arc::new(SystemClock::new()));
        let store = store.unwrap();
        assert_eq!(store.head("t").await.unwrap().is_none(), begins);
        store.claim("t", "me", TERM).await.unwrap();
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn no_file_is_refused() {
    for path in ["", ":memory:"] {
        let opened = open(Path::new(path));
        assert_eq!(opened.err().unwrap().code, "store_setting_invalid");
    }
}

#[test]
fn many_may_make_one_file_at_the_same_time() {
    for _ in 0..10 {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("runs.db");
        let start = Barrier::new(8);
        let made = || {
            start.wait();
            open(&path).map(drop)
        };
        std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8).map(|_| scope.spawn(made)).collect();
            for maker in makers {
                maker.join().unwrap().unwrap();
            }
        });
    }
}

#[tokio::test]
async fn the_database_of_another_program_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("theirs.db");
    let theirs = rusqlite::Connection::open(&path).unwrap();
    theirs.execute_batch("CREATE TABLE precious (x); INSERT INTO precious VALUES (1);").unwrap();
    drop(theirs);
    let before = std::fs::read(&path).unwrap();
    let Err(fault) = open(&path) else { panic!("it was opened") };
    assert_eq!(fault.code, "store_corrupt");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn what_is_no_database_is_refused_and_kept() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "my notes, in a file that is long enough to have a header".repeat(9))
        .unwrap();
    let before = std::fs::read(&path).unwrap();
    let Err(fault) = open(&path) else { panic!("it was opened") };
    assert_eq!(fault.code, "store_corrupt");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let Err(fault) = open(Path::new("/nowhere/at/all/runs.db")) else { panic!("it was opened") };
    assert_eq!(fault.code, "store_unavailable");
    assert!(fault.message.contains("/nowhere/at/all/runs.db"), "{}", fault.message);
}

#[test]
fn a_file_of_a_later_version_or_from_before_the_first_release_is_refused() {
    for (version, told) in [(99, "later version"), (3, "before the first release")] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("runs.db");
        drop(open(&path).unwrap());
        let file = rusqlite::Connection::open(&path).unwrap();
        file.pragma_update(None, "user_version", version).unwrap();
        drop(file);
        let Err(fault) = open(&path) else { panic!("it was opened: {version}") };
        assert_eq!(fault.code, "store_version");
        assert!(fault.message.contains(told), "{}", fault.message);
    }
}

#[tokio::test]
async fn a_thread_whose_numbers_are_used_up_is_named_and_others_go_on() {
    const LAST: u64 = u32::MAX as u64;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).unwrap();
    for thread in ["t", "u"] {
        store.claim(thread, "me", TERM).await.unwrap();
    }
    let file = rusqlite::Connection::open(&path).unwrap();
    let advance = "UPDATE thread SET last = ?1 WHERE name = 't'";
    file.execute(advance, [i64::try_from(LAST - 1).unwrap()]).unwrap();
    drop(file);
    store.append(batch(LAST - 1)).await.unwrap();
    let fault = store.append(batch(LAST)).await.unwrap_err();
    assert_eq!(fault.code, "store_full");
    assert!(fault.message.contains("thread `t`"), "{}", fault.message);
    assert!(fault.message.contains("runs.db"), "{}", fault.message);
    assert_eq!(fault.details["thread"], "t");
    let head = store.head("t").await.unwrap().unwrap();
    assert_eq!((head.last, head.stored), (LAST, LAST));
    assert_eq!(store.read("t", ALL).await.unwrap()[0].seq, LAST);
    assert!(store.read("t", EntryRange { from: LAST + 1, to: u64::MAX }).await.unwrap().is_empty());
    let other = EntryBatch { thread: "u".into(), ..batch(0) };
    store.append(other).await.unwrap();
    assert_eq!(store.read("u", ALL).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_file_whose_ids_of_threads_are_used_up_says_so_and_keeps_its_threads_going() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).unwrap();
    for thread in ["t", "u"] {
        store.claim(thread, "me", TERM).await.unwrap();
    }
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute("UPDATE thread SET id = 2147483647 WHERE name = 'u'", []).unwrap();
    drop(file);
    let fault = store.claim("v", "me", TERM).await.unwrap_err();
    assert_eq!(fault.code, "store_full");
    assert!(fault.message.contains("2147483647"), "{}", fault.message);
    for thread in ["t", "u"] {
        assert_eq!(store.claim(thread, "me", TERM).await.unwrap().last, 0);
        let step = EntryBatch { thread: thread.into(), ..batch(0) };
        store.append(step).await.unwrap();
        assert_eq!(store.read(thread, ALL).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_full_disk_loses_nothing_that_was_answered() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let settings = SqliteSettings { max_bytes: Some(100_000), ..SqliteSettings::default() };
    let store = SqliteStore::open(&path, settings, Arc::new(ManualClock::default())).unwrap();
    store.claim("t", "me", TERM).await.unwrap();
    store.append(batch(0)).await.unwrap();
    let mut huge = batch(1);
    huge.entries[0].body = vec![7; 1 << 20];
    assert_eq!(store.append(huge).await.unwrap_err().code, "store_full");
    assert_eq!(store.read("t", ALL).await.unwrap().len(), 1);
    assert_eq!(store.head("t").await.unwrap().unwrap().last, 1);
}

#[tokio::test]
async fn a_compacted_file_is_as_small_as_what_it_holds() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).unwrap();
    store.claim("t", "me", TERM).await.unwrap();
    for after in 0..100 {
        let mut large = batch(after);
        large.entries[0].body = vec![7; 50_000];
        store.append(large).await.unwrap();
    }
    store.remove("t", "me", EntryRange { from: 1, to: 99 }).await.unwrap();
    let size = || -> u64 {
        let files = std::fs::read_dir(folder.path()).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    };
    assert!(size() > 5_000_000, "removed pages are kept for later: {}", size());
    store.compact().await.unwrap();
    assert!(size() < 200_000, "{}", size());
    assert_eq!(store.read("t", ALL).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_file_that_could_not_shrink_can_after_it_was_compacted() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    drop(open(&path).unwrap());
    let file = || rusqlite::Connection::open(&path).unwrap();
    let mode =
        || -> i64 { file().pragma_query_value(None, "auto_vacuum", |row| row.get(0)).unwrap() };
    file().execute_batch("PRAGMA auto_vacuum = NONE; VACUUM").unwrap();
    assert_eq!(mode(), 0);
    let store = open(&path).unwrap();
    store.compact().await.unwrap();
    drop(store);
    assert_eq!(mode(), 2);
}

#[tokio::test]
async fn the_log_beside_a_file_becomes_part_of_it_once_nobody_waits() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).unwrap();
    store.claim("t", "me", TERM).await.unwrap();
    let mut large = batch(0);
    large.entries[0].body = vec![1; 10_000_000];
    let written = large.entries[0].body.len() as u64;
    store.append(large).await.unwrap();
    let is_part = async || path.metadata().unwrap().len() > written;
    until("the file is still small", is_part).await;
}
