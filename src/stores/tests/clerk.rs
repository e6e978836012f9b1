//! Threads as lists show them, pruned, copied and deleted, over each store.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise, in what it shares too"
)]

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, Seed, Time};
use antiphon_runtime::ManualClock;
use antiphon_runtime::store::{EntryKind, Span, Store};
use antiphon_stores::clerk::{Copying, Pruning};
use antiphon_stores::{Clerk, Keep, Log, MemoryStore, Seal, Settings, SqliteStore, Vault, owner};
use tempfile::TempDir;

const TERM: Duration = Duration::from_secs(30);
const KILOBYTE: [u8; 1024] = [7; 1024];

/// A store under test, and whoever sees to it.
struct Subject {
    vault: Vault,
    clock: Arc<ManualClock>,
    clerk: Clerk,
    _folder: Option<TempDir>,
}

impl Subject {
    fn new(
        open: impl FnOnce(Arc<ManualClock>) -> Arc<dyn Store>,
        seal: Seal,
        folder: Option<TempDir>,
    ) -> Self {
        let clock = Arc::new(ManualClock::at(Time::from_micros(1_000_000)));
        let vault = Vault::new(open(clock.clone()), Arc::new(seal));
        let clerk = Clerk::new(vault.clone(), clock.clone(), "clerk".into());
        Self { vault, clock, clerk, _folder: folder }
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.vault.store()
    }

    async fn log(&self, thread: &str) -> Log {
        Log::open(self.vault.clone(), thread, "me", TERM).await.unwrap().0
    }

    /// A superstep a second, and a snapshot after each of these.
    async fn write(&self, thread: &str, steps: u64, snapshots: &[u64]) {
        let mut log = self.log(thread).await;
        for step in 1..=steps {
            self.clock.advance(Duration::from_secs(1));
            let at = Time::from_micros(1_000_000 * step);
            let mut entries = vec![(EntryKind::Step, &KILOBYTE[..])];
            if snapshots.contains(&step) {
                entries.push((EntryKind::Snapshot, &KILOBYTE[..100]));
            }
            log.append(&entries, step, at).unwrap().await.unwrap();
        }
        log.release().await.unwrap();
    }

    async fn copy(&self, from: &str, to: &str, checkpoint: Option<u64>) -> Result<(), Fault> {
        self.clerk.copy(Copying { from, checkpoint, to, run_id: "other" }).await
    }

    async fn entries(&self, thread: &str) -> Vec<u64> {
        let marks = self.store().marks(thread, Span::ALL, None).await.unwrap();
        marks.into_iter().map(|mark| mark.seq).collect()
    }
}

fn memory() -> Subject {
    Subject::new(|clock| Arc::new(MemoryStore::new(clock)), Seal::tagged(), None)
}

fn sqlite() -> Subject {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let open = move |clock: Arc<ManualClock>| -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(&path, Settings::default(), clock).unwrap())
    };
    Subject::new(open, Seal::keyed(&[7; 32]), Some(folder))
}

/// An owner whose process has ended: another one has its number by now.
fn gone() -> String {
    let own = owner::new(Seed::new(1));
    let mut parts: Vec<_> = own.split('/').collect();
    parts[2] = "0";
    parts.join("/")
}

/// Runs each test against each store; that in a file is encrypted too.
macro_rules! each_store {
    ($($test:ident)*) => {
        mod in_memory {
            $(#[tokio::test] async fn $test() { super::$test(super::memory()).await })*
        }
        mod in_sqlite {
            $(#[tokio::test] async fn $test() { super::$test(super::sqlite()).await })*
        }
    };
}

each_store! {
    the_last_checkpoints_stay_and_what_they_are_read_from
    the_last_checkpoint_stays_whatever_the_limits
    old_checkpoints_go
    what_weighs_too_much_goes
    branches_that_nobody_wants_go
    a_rehearsal_removes_nothing
    whoever_writes_is_not_disturbed
    idle_threads_are_removed_whole
    a_thread_that_somebody_gone_holds_is_pruned_and_deleted
    a_copy_is_a_thread_of_its_own
    a_copy_ends_at_the_checkpoint_that_is_named
    a_copy_of_a_pruned_thread_begins_where_that_does
    a_copy_takes_no_name_that_is_taken
    what_is_not_there_is_not_copied
    threads_without_anything_are_seen_to
}

fn keep(last: u64) -> Pruning {
    let keep = Keep { last: Some(last), ..Keep::default() };
    Pruning { keep, ..Pruning::default() }
}

/// Steps 1 to 30 and snapshots after 10 and 20: entries 1..=32, snapshots 11 and 22.
async fn thirty(subject: &Subject, thread: &str) {
    subject.write(thread, 30, &[10, 20]).await;
}

async fn the_last_checkpoints_stay_and_what_they_are_read_from(subject: Subject) {
    thirty(&subject, "t").await;
    let kept = async |last| {
        subject.clerk.prune("t", &keep(last)).await.unwrap();
        subject.entries("t").await
    };
    assert_eq!(kept(30).await.len(), 32, "thirty are all there are");
    assert_eq!(kept(20).await, (11..=32).collect::<Vec<_>>(), "the snapshot is the twentieth");
    let pruned = subject.clerk.prune("t", &keep(11)).await.unwrap();
    assert_eq!((pruned.threads, pruned.entries, pruned.deleted), (1, 11, 0));
    assert!(pruned.bytes > 10 * 1024 && pruned.bytes < 12 * 1024, "{}", pruned.bytes);
    assert_eq!(subject.entries("t").await, (22..=32).collect::<Vec<_>>());
    for seq in 22..=32 {
        assert!(subject.vault.way_to_checkpoint("t", seq).await.is_ok(), "{seq}");
    }
    let gone = subject.vault.way_to_checkpoint("t", 12).await.unwrap_err();
    assert_eq!(gone.code, "checkpoint_unknown");
    assert_eq!(subject.log("t").await.tip(), 32, "it can be gone on with");
}

async fn the_last_checkpoint_stays_whatever_the_limits(subject: Subject) {
    thirty(&subject, "t").await;
    subject.clock.advance(Duration::from_hours(1));
    let none = Keep { last: Some(0), age: Some(Duration::ZERO), bytes: Some(0) };
    subject.clerk.prune("t", &Pruning { keep: none, ..Pruning::default() }).await.unwrap();
    assert_eq!(subject.entries("t").await, (22..=32).collect::<Vec<_>>());
    let nothing = subject.clerk.prune("t", &Pruning::default()).await.unwrap();
    assert_eq!((nothing.threads, nothing.entries), (1, 0), "no limits, no pruning");
}

async fn old_checkpoints_go(subject: Subject) {
    thirty(&subject, "t").await;
    // It is second 31, and the first snapshot is of second 10.
    let older = |seconds| {
        let keep = Keep { age: Some(Duration::from_secs(seconds)), ..Keep::default() };
        Pruning { keep, ..Pruning::default() }
    };
    assert_eq!(subject.clerk.prune("t", &older(22)).await.unwrap().entries, 0);
    assert_eq!(subject.clerk.prune("t", &older(21)).await.unwrap().entries, 10);
    assert_eq!(subject.entries("t").await[0], 11);
}

async fn what_weighs_too_much_goes(subject: Subject) {
    thirty(&subject, "t").await;
    let lighter = |kilobytes: u64| {
        let keep = Keep { bytes: Some(kilobytes * 1024), ..Keep::default() };
        Pruning { keep, ..Pruning::default() }
    };
    assert_eq!(subject.clerk.prune("t", &lighter(40)).await.unwrap().entries, 0);
    subject.clerk.prune("t", &lighter(25)).await.unwrap();
    assert_eq!(subject.entries("t").await[0], 11);
    let size = subject.store().thread("t").await.unwrap().unwrap().size;
    assert!(size <= 25 * 1024, "{size}");
}

async fn branches_that_nobody_wants_go(subject: Subject) {
    subject.write("t", 20, &[]).await;
    let mut log = subject.log("t").await;
    log.go_back(5).await.unwrap();
    for step in 6..=10 {
        let at = Time::from_micros(100_000_000);
        log.append(&[(EntryKind::Step, b"x")], step, at).unwrap().await.unwrap();
    }
    log.release().await.unwrap();
    subject.clerk.prune("t", &keep(5)).await.unwrap();
    let kept: Vec<u64> = (1..=5).chain(21..=25).collect();
    assert_eq!(subject.entries("t").await, kept, "not the way that was left at 5");
    assert_eq!(subject.vault.way_to("t", None).await.unwrap().len(), 10);
    assert!(subject.vault.way_to("t", Some(3)).await.is_ok());
}

async fn a_rehearsal_removes_nothing(subject: Subject) {
    thirty(&subject, "t").await;
    let rehearsal = Pruning { rehearsal: true, ..keep(1) };
    let told = subject.clerk.prune_all(&rehearsal).await.unwrap();
    assert_eq!(subject.entries("t").await.len(), 32);
    assert_eq!(subject.clerk.prune_all(&keep(1)).await.unwrap(), told);
    let rehearsal = Pruning { rehearsal: true, idle: Some(Duration::ZERO), ..Pruning::default() };
    subject.clock.advance(TERM);
    assert_eq!(subject.clerk.prune_all(&rehearsal).await.unwrap().deleted, 1);
    assert!(subject.store().head("t").await.unwrap().is_some());
}

async fn whoever_writes_is_not_disturbed(subject: Subject) {
    for thread in ["a", "b", "c"] {
        thirty(&subject, thread).await;
    }
    let held = subject.log("b").await;
    let pruned = subject.clerk.prune_all(&keep(1)).await.unwrap();
    assert_eq!((pruned.threads, pruned.entries, pruned.busy), (3, 42, vec!["b".to_owned()]));
    assert_eq!(subject.entries("b").await.len(), 32);
    held.release().await.unwrap();
    assert_eq!(subject.clerk.prune_all(&keep(1)).await.unwrap().entries, 21);
    assert!(subject.clerk.prune_all(&keep(1)).await.unwrap().busy.is_empty());
}

async fn idle_threads_are_removed_whole(subject: Subject) {
    thirty(&subject, "old").await;
    subject.clock.advance(Duration::from_hours(2));
    thirty(&subject, "new").await;
    thirty(&subject, "held").await;
    let _held = subject.log("held").await;
    subject.clock.advance(Duration::from_secs(20));
    let pruning = Pruning { idle: Some(Duration::from_hours(1)), ..Pruning::default() };
    let pruned = subject.clerk.prune_all(&pruning).await.unwrap();
    assert_eq!((pruned.deleted, pruned.entries, pruned.busy.len()), (1, 32, 0));
    assert!(subject.store().head("old").await.unwrap().is_none());
    assert_eq!(subject.entries("new").await.len(), 32);
    let at_once = Pruning { idle: Some(Duration::ZERO), ..Pruning::default() };
    let pruned = subject.clerk.prune_all(&at_once).await.unwrap();
    assert_eq!((pruned.deleted, pruned.busy), (1, vec!["held".to_owned()]));
}

async fn a_thread_that_somebody_gone_holds_is_pruned_and_deleted(subject: Subject) {
    thirty(&subject, "t").await;
    subject.store().claim("t", &gone(), TERM).await.unwrap();
    assert_eq!(subject.clerk.prune("t", &keep(1)).await.unwrap().entries, 21);
    subject.store().claim("t", &gone(), TERM).await.unwrap();
    assert!(subject.clerk.delete("t").await.unwrap());
    assert!(!subject.clerk.delete("t").await.unwrap());
    subject.store().claim("u", "there", TERM).await.unwrap();
    assert_eq!(subject.clerk.delete("u").await.unwrap_err().code, "thread_busy");
}

async fn a_copy_is_a_thread_of_its_own(subject: Subject) {
    thirty(&subject, "t").await;
    subject.copy("t", "a copy", None).await.unwrap();
    let way = subject.vault.way_to("a copy", None).await.unwrap();
    assert_eq!(way, subject.vault.way_to("t", None).await.unwrap());
    assert_eq!(subject.entries("a copy").await, subject.entries("t").await);
    assert!(subject.clerk.delete("t").await.unwrap());
    let mut log = subject.log("a copy").await;
    log.append(&[(EntryKind::Step, b"more")], 31, Time::default()).unwrap().await.unwrap();
    assert_eq!(log.tip(), 33);
    assert!(subject.vault.way_to("a copy", Some(5)).await.is_ok(), "its past is there too");
}

async fn a_copy_ends_at_the_checkpoint_that_is_named(subject: Subject) {
    subject.write("t", 20, &[8]).await;
    let mut log = subject.log("t").await;
    log.go_back(5).await.unwrap();
    log.append(&[(EntryKind::Step, b"branch")], 6, Time::default()).unwrap().await.unwrap();
    log.release().await.unwrap();
    subject.copy("t", "early", Some(12)).await.unwrap();
    assert_eq!(subject.entries("early").await, (1..=12).collect::<Vec<_>>());
    subject.copy("t", "branch", None).await.unwrap();
    assert_eq!(subject.entries("branch").await, [1, 2, 3, 4, 5, 22]);
    let last = subject.vault.way_to("branch", None).await.unwrap().pop().unwrap();
    assert_eq!(last.body, b"branch");
    assert!(subject.clerk.prune("early", &keep(1)).await.unwrap().entries > 0);
}

async fn a_copy_of_a_pruned_thread_begins_where_that_does(subject: Subject) {
    thirty(&subject, "t").await;
    subject.clerk.prune("t", &keep(1)).await.unwrap();
    subject.copy("t", "u", Some(25)).await.unwrap();
    assert_eq!(subject.entries("u").await, [22, 23, 24, 25]);
    let way = subject.vault.way_to("u", None).await.unwrap();
    assert_eq!((way[0].parent, way.len()), (0, 4));
}

async fn a_copy_takes_no_name_that_is_taken(subject: Subject) {
    thirty(&subject, "t").await;
    subject.write("u", 1, &[]).await;
    for name in ["u", "t"] {
        let taken = subject.copy("t", name, None).await.unwrap_err();
        assert_eq!(taken.code, "thread_taken", "{name}");
    }
    subject.store().claim("held", "me", TERM).await.unwrap();
    assert_eq!(subject.copy("t", "held", None).await.unwrap_err().code, "thread_busy");
    assert_eq!(subject.entries("u").await, [1]);
}

async fn what_is_not_there_is_not_copied(subject: Subject) {
    subject.write("t", 3, &[]).await;
    let code = async |thread, seq| subject.copy(thread, "u", seq).await.unwrap_err().code.clone();
    assert_eq!(code("nowhere", None).await, "thread_empty");
    assert_eq!(code("t", Some(99)).await, "checkpoint_unknown");
    assert_eq!(code("t", Some(0)).await, "checkpoint_unknown");
    assert_eq!(subject.store().thread("u").await.unwrap(), None, "not even its name");
    assert_eq!(subject.clerk.prune("nowhere", &keep(1)).await.unwrap_err().code, "thread_empty");
    assert!(!subject.clerk.delete("nowhere").await.unwrap());
}

async fn threads_without_anything_are_seen_to(subject: Subject) {
    subject.store().claim("t", &gone(), TERM).await.unwrap();
    assert_eq!(subject.clerk.prune("t", &keep(1)).await.unwrap().entries, 0);
    assert_eq!(subject.copy("t", "u", None).await.unwrap_err().code, "thread_empty");
    assert_eq!(subject.clerk.listed("t").await.unwrap().status.as_str(), "empty");
}
