//! Threads as lists show them, pruned, copied and deleted, over each store.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::budget::BudgetUsage;
use antiphon_core::channel::{ChannelId, Reducer, Write};
use antiphon_core::checkpoint::{
    Commit, CommitChange, MergedWrites, PendingWork, RecoveredRun, SuperstepDelta, WriteSource,
};
use antiphon_core::graph::{Graph, NodeId, START};
use antiphon_core::{Fault, Seed, Time};
use antiphon_runtime::store::{EntryKind, EntryRange, Store};
use antiphon_runtime::{Clock, ManualClock};
use antiphon_stores::admin::{CopyRequest, PruneRequest};
use antiphon_stores::{
    Cipher, Codec, JsonCodec, MemoryStore, RetentionPolicy, RunHeader, SealedStore, SqliteSettings,
    SqliteStore, ThreadAdmin, ThreadLog, owner,
};
use serde_json::Value;
use tempfile::TempDir;

const TERM: Duration = Duration::from_secs(30);

use crate::database::Schema;

/// A store under test, and its thread administration.
struct Subject {
    sealed_store: SealedStore,
    clock: Arc<ManualClock>,
    admin: ThreadAdmin,
    _folder: Option<TempDir>,
}

impl Subject {
    fn new(
        open: impl FnOnce(Arc<ManualClock>) -> Arc<dyn Store>,
        seal: Cipher,
        folder: Option<TempDir>,
    ) -> Self {
        let clock = Arc::new(ManualClock::at(Time::from_micros(1_000_000)));
        let sealed_store = SealedStore::new(open(clock.clone()), Arc::new(seal));
        let admin = ThreadAdmin::new(sealed_store.clone(), clock.clone(), "clerk".into());
        Self { sealed_store, clock, admin, _folder: folder }
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.sealed_store.store()
    }

    async fn log(&self, thread: &str) -> ThreadLog {
        ThreadLog::open(self.sealed_store.clone(), thread, "me", TERM).await.unwrap().0
    }

    /// A run of a superstep a second that is not at its end, and a snapshot after each of these.
    async fn write(&self, thread: &str, steps: u64, snapshots: &[u64]) {
        let header = RunHeader {
            run_id: "run".into(),
            seed: Seed::new(7),
            graph: "large".into(),
            key_salt: 3,
        };
        let (run, snapshot) = (header.encode(), snapshot());
        let mut log = self.log(thread).await;
        log.append([(EntryKind::Run, &run[..])], 0, Time::from_micros(1)).unwrap().await.unwrap();
        for number in 1..=steps {
            self.clock.advance(Duration::from_secs(1));
            let before = self.clock.now().as_micros() - 1_000_000;
            let (at, step) = (Time::from_micros(before), superstep(number));
            let mut entries = vec![(EntryKind::Step, &step[..])];
            if snapshots.contains(&number) {
                entries.extend([(EntryKind::Snapshot, &snapshot[..]), (EntryKind::Run, &run)]);
            }
            log.append(entries, number, at).unwrap().await.unwrap();
        }
        log.release().await.unwrap();
    }

    async fn copy(&self, from: &str, to: &str, checkpoint: Option<u64>) -> Result<(), Fault> {
        self.admin.copy(CopyRequest { from, checkpoint, to, run_id: "other" }).await
    }

    async fn entries(&self, thread: &str) -> Vec<u64> {
        let marks = self.store().marks(thread, EntryRange::ALL, None).await.unwrap();
        marks.into_iter().map(|(mark, _)| mark.seq).collect()
    }
}

fn graph() -> Arc<Graph<Value>> {
    let mut graph = Graph::builder("large");
    graph.channel("x", Reducer::Set);
    graph.node("node");
    graph.edge(START, "node").edge("node", "node");
    graph.build().unwrap()
}

/// A kilobyte that is written.
fn superstep(step: u64) -> Vec<u8> {
    let writes = vec![Write::merge(ChannelId(0), Value::from("x".repeat(1000)))];
    let pending_work = PendingWork { ready: vec![NodeId(1)].into(), ..PendingWork::default() };
    let merges = vec![MergedWrites { writes: writes.into(), ..MergedWrites::default() }];
    let change = CommitChange::Step(SuperstepDelta {
        source: WriteSource::Step,
        step,
        merges,
        pending_work,
    });
    let commit = Commit { id: 0, within: Vec::new(), spent: BudgetUsage::ZERO, events: 0, change };
    Codec::new(&graph(), &JsonCodec).encode(&commit).unwrap()
}

fn snapshot() -> Vec<u8> {
    Codec::new(&graph(), &JsonCodec).encode_memory(&RecoveredRun::new(&graph())).unwrap()
}

fn memory() -> Subject {
    Subject::new(|clock| Arc::new(MemoryStore::new(clock)), Cipher::tagged(), None)
}

fn sqlite() -> Subject {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let open = move |clock: Arc<ManualClock>| -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(&path, SqliteSettings::default(), clock).unwrap())
    };
    Subject::new(open, Cipher::keyed(&[7; 32]), Some(folder))
}

/// An owner whose process has ended: another one has its number by now.
fn gone() -> String {
    let own = owner::new(Seed::new(1));
    let mut parts: Vec<_> = own.split('/').collect();
    parts[2] = "0";
    parts.join("/")
}

/// One whose clock cannot be set.
fn postgres() -> Subject {
    let schema = Schema::new();
    Subject::new(move |_| Arc::new(schema.open()), Cipher::tagged(), None)
}

/// Runs each test against each store; that in a file is encrypted too. Those
/// after the line set the clock.
macro_rules! each_store {
    ($($any:ident)* / $($test:ident)*) => {
        mod in_postgres {
            $(#[tokio::test] async fn $any() { super::$any(super::postgres()).await })*
        }
        mod in_memory_too {
            $(#[tokio::test] async fn $any() { super::$any(super::memory()).await })*
        }
        mod in_sqlite_too {
            $(#[tokio::test] async fn $any() { super::$any(super::sqlite()).await })*
        }
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
    old_checkpoints_go
    what_weighs_too_much_goes
    branches_that_nobody_wants_go
    writers_are_not_disturbed
    a_thread_that_somebody_gone_holds_is_pruned_and_deleted
    a_copy_is_a_separate_thread
    a_copy_ends_at_the_checkpoint_that_is_named
    a_copy_of_a_pruned_thread_begins_where_that_does
    a_copy_takes_no_name_that_is_taken
    what_is_not_there_is_not_copied
    threads_without_anything_are_seen_to
    /
    the_last_checkpoint_stays_under_any_limits
    a_dry_run_removes_nothing
    idle_threads_are_removed_whole
    a_damaged_thread_is_neither_pruned_nor_in_the_way
    what_another_engine_keeps_is_not_pruned
}

fn keep(last: u64) -> PruneRequest {
    let keep = RetentionPolicy { last: Some(last), ..RetentionPolicy::default() };
    PruneRequest { keep, ..PruneRequest::default() }
}

/// Steps 1 to 30 and snapshots after 10 and 20: entries 1..=35, snapshots 12 and 24.
async fn thirty(subject: &Subject, thread: &str) {
    subject.write(thread, 30, &[10, 20]).await;
}

async fn the_last_checkpoints_stay_and_what_they_are_read_from(subject: Subject) {
    thirty(&subject, "t").await;
    let kept = async |last| {
        subject.admin.prune("t", &keep(last)).await.unwrap();
        subject.entries("t").await
    };
    assert_eq!(kept(30).await.len(), 35, "thirty are all there are");
    assert_eq!(
        kept(20).await,
        (12..=35).collect::<Vec<_>>(),
        "the eleventh is read from the tenth"
    );
    let pruned = subject.admin.prune("t", &keep(11)).await.unwrap();
    assert_eq!((pruned.threads, pruned.entries, pruned.deleted), (1, 12, 0));
    assert!(pruned.bytes > 10 * 1024 && pruned.bytes < 12 * 1024, "{}", pruned.bytes);
    assert_eq!(subject.entries("t").await, (24..=35).collect::<Vec<_>>());
    for seq in (24..=35).filter(|seq| *seq != 25) {
        assert!(subject.sealed_store.way_to_checkpoint("t", seq).await.is_ok(), "{seq}");
    }
    let gone = subject.sealed_store.way_to_checkpoint("t", 14).await.unwrap_err();
    assert_eq!(gone.code, "checkpoint_unknown");
    assert_eq!(subject.log("t").await.tip(), 35, "it can be gone on with");
}

async fn the_last_checkpoint_stays_under_any_limits(subject: Subject) {
    thirty(&subject, "t").await;
    subject.clock.advance(Duration::from_hours(1));
    let none = RetentionPolicy { last: Some(0), age: Some(Duration::ZERO), bytes: Some(0) };
    subject
        .admin
        .prune("t", &PruneRequest { keep: none, ..PruneRequest::default() })
        .await
        .unwrap();
    assert_eq!(subject.entries("t").await, (24..=35).collect::<Vec<_>>());
    let refused = subject.admin.prune("t", &PruneRequest::default()).await.unwrap_err();
    assert_eq!(refused.code, "call_invalid", "a request without a limit");
}

async fn old_checkpoints_go(subject: Subject) {
    thirty(&subject, "t").await;
    // It is second 31, and the first snapshot is of second 10.
    let older = |seconds| {
        let keep = RetentionPolicy {
            age: Some(Duration::from_secs(seconds)),
            ..RetentionPolicy::default()
        };
        PruneRequest { keep, ..PruneRequest::default() }
    };
    assert_eq!(subject.admin.prune("t", &older(22)).await.unwrap().entries, 0);
    assert_eq!(subject.admin.prune("t", &older(21)).await.unwrap().entries, 11);
    assert_eq!(subject.entries("t").await[0], 12);
}

async fn what_weighs_too_much_goes(subject: Subject) {
    thirty(&subject, "t").await;
    let lighter = |kilobytes: u64| {
        let keep = RetentionPolicy { bytes: Some(kilobytes * 1024), ..RetentionPolicy::default() };
        PruneRequest { keep, ..PruneRequest::default() }
    };
    assert_eq!(subject.admin.prune("t", &lighter(40)).await.unwrap().entries, 0);
    subject.admin.prune("t", &lighter(25)).await.unwrap();
    assert_eq!(subject.entries("t").await[0], 12);
    let size = subject.store().thread("t").await.unwrap().unwrap().size;
    assert!(size <= 25 * 1024, "{size}");
}

async fn branches_that_nobody_wants_go(subject: Subject) {
    subject.write("t", 20, &[]).await;
    let mut log = subject.log("t").await;
    log.go_back(6).await.unwrap();
    for step in 6..=10 {
        let at = Time::from_micros(100_000_000);
        log.append([(EntryKind::Step, b"x")], step, at).unwrap().await.unwrap();
    }
    log.release().await.unwrap();
    subject.admin.prune("t", &keep(5)).await.unwrap();
    let kept: Vec<u64> = (1..=6).chain(22..=26).collect();
    assert_eq!(subject.entries("t").await, kept, "not the way that was left at 6");
    assert_eq!(subject.sealed_store.way_to("t", None).await.unwrap().len(), 11);
    assert!(subject.sealed_store.way_to("t", Some(4)).await.is_ok());
}

async fn a_dry_run_removes_nothing(subject: Subject) {
    thirty(&subject, "t").await;
    let dry_run = PruneRequest { dry_run: true, ..keep(1) };
    let report = subject.admin.prune_all(&dry_run).await.unwrap();
    assert_eq!(subject.entries("t").await.len(), 35);
    assert_eq!(subject.admin.prune_all(&keep(1)).await.unwrap(), report);
    let dry_run =
        PruneRequest { dry_run: true, idle: Some(Duration::ZERO), ..PruneRequest::default() };
    subject.clock.advance(TERM);
    assert_eq!(subject.admin.prune_all(&dry_run).await.unwrap().deleted, 1);
    assert!(subject.store().head("t").await.unwrap().is_some());
}

async fn writers_are_not_disturbed(subject: Subject) {
    for thread in ["", "b", "c"] {
        thirty(&subject, thread).await;
    }
    let held = subject.log("b").await;
    let pruned = subject.admin.prune_all(&keep(1)).await.unwrap();
    assert_eq!((pruned.threads, pruned.entries, pruned.busy), (3, 46, vec!["b".to_owned()]));
    assert_eq!(subject.entries("b").await.len(), 35);
    held.release().await.unwrap();
    assert_eq!(subject.admin.prune_all(&keep(1)).await.unwrap().entries, 23);
    assert!(subject.admin.prune_all(&keep(1)).await.unwrap().busy.is_empty());
}

async fn idle_threads_are_removed_whole(subject: Subject) {
    thirty(&subject, "old").await;
    subject.clock.advance(Duration::from_hours(2));
    thirty(&subject, "new").await;
    thirty(&subject, "held").await;
    let _held = subject.log("held").await;
    subject.clock.advance(Duration::from_secs(20));
    let pruning = PruneRequest { idle: Some(Duration::from_hours(1)), ..PruneRequest::default() };
    let pruned = subject.admin.prune_all(&pruning).await.unwrap();
    assert_eq!((pruned.deleted, pruned.entries, pruned.busy.len()), (1, 35, 0));
    assert!(subject.store().head("old").await.unwrap().is_none());
    assert_eq!(subject.entries("new").await.len(), 35);
    let at_once = PruneRequest { idle: Some(Duration::ZERO), ..PruneRequest::default() };
    let pruned = subject.admin.prune_all(&at_once).await.unwrap();
    assert_eq!((pruned.deleted, pruned.busy), (1, vec!["held".to_owned()]));
}

async fn a_damaged_thread_is_neither_pruned_nor_in_the_way(subject: Subject) {
    for thread in ["a", "b", "c"] {
        thirty(&subject, thread).await;
    }
    let span = EntryRange { from: 35, to: 35 };
    subject.store().claim("b", "me", TERM).await.unwrap();
    subject.store().remove("b", "me", span).await.unwrap();
    subject.store().release("b", "me").await.unwrap();
    let pruning = PruneRequest { idle: Some(Duration::ZERO), ..PruneRequest::default() };
    subject.clock.advance(Duration::from_secs(1));
    let pruned = subject.admin.prune_all(&pruning).await.unwrap();
    assert_eq!((pruned.deleted, pruned.damaged), (2, vec!["b".to_owned()]));
    let fault = subject.admin.prune("b", &pruning).await.unwrap_err();
    assert_eq!(fault.code, "checkpoint_corrupt");
    assert!(
        subject.admin.delete("b").await.unwrap(),
        "an explicit delete removes a damaged thread"
    );
}

async fn a_thread_that_somebody_gone_holds_is_pruned_and_deleted(subject: Subject) {
    thirty(&subject, "t").await;
    subject.store().claim("t", &gone(), TERM).await.unwrap();
    assert_eq!(subject.admin.prune("t", &keep(1)).await.unwrap().entries, 23);
    subject.store().claim("t", &gone(), TERM).await.unwrap();
    assert!(subject.admin.delete("t").await.unwrap());
    assert!(!subject.admin.delete("t").await.unwrap());
    subject.store().claim("u", "there", TERM).await.unwrap();
    assert_eq!(subject.admin.delete("u").await.unwrap_err().code, "thread_busy");
}

async fn a_copy_is_a_separate_thread(subject: Subject) {
    thirty(&subject, "t").await;
    subject.copy("t", "a copy", None).await.unwrap();
    let mut way = subject.sealed_store.way_to("a copy", None).await.unwrap();
    let added: Vec<_> = way.split_off(12).into_iter().map(|record| record.kind).collect();
    assert_eq!(
        added,
        [EntryKind::Run, EntryKind::End],
        "the copy of a run that was continued is over"
    );
    assert_eq!(way, subject.sealed_store.way_to("t", None).await.unwrap());
    assert_eq!(subject.entries("a copy").await, (1..=37).collect::<Vec<_>>());
    assert!(subject.admin.delete("t").await.unwrap());
    let mut log = subject.log("a copy").await;
    log.append([(EntryKind::Step, b"more")], 31, Time::default()).unwrap().await.unwrap();
    assert_eq!(log.tip(), 38);
    assert!(subject.sealed_store.way_to("a copy", Some(6)).await.is_ok(), "its past is there too");
}

async fn a_copy_ends_at_the_checkpoint_that_is_named(subject: Subject) {
    subject.write("t", 20, &[8]).await;
    let mut log = subject.log("t").await;
    log.go_back(6).await.unwrap();
    log.append([(EntryKind::Step, superstep(6))], 6, Time::default()).unwrap().await.unwrap();
    log.release().await.unwrap();
    subject.copy("t", "early", Some(14)).await.unwrap();
    assert_eq!(subject.entries("early").await, (1..=16).collect::<Vec<_>>());
    subject.copy("t", "branch", None).await.unwrap();
    assert_eq!(subject.entries("branch").await, [1, 2, 3, 4, 5, 6, 24, 25, 26]);
    let way = subject.sealed_store.way_to("branch", None).await.unwrap();
    assert_eq!(way[6].body, superstep(6));
    assert!(subject.admin.prune("early", &keep(1)).await.unwrap().entries > 0);
}

async fn a_copy_of_a_pruned_thread_begins_where_that_does(subject: Subject) {
    thirty(&subject, "t").await;
    subject.admin.prune("t", &keep(1)).await.unwrap();
    subject.copy("t", "u", Some(27)).await.unwrap();
    assert_eq!(subject.entries("u").await, (24..=29).collect::<Vec<_>>());
    let way = subject.sealed_store.way_to("u", None).await.unwrap();
    assert_eq!((way[0].parent, way.len()), (0, 6));
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
    assert_eq!(subject.entries("u").await, [1, 2]);
}

async fn what_is_not_there_is_not_copied(subject: Subject) {
    subject.write("t", 3, &[]).await;
    let code = async |thread, seq| subject.copy(thread, "u", seq).await.unwrap_err().code.clone();
    assert_eq!(code("nowhere", None).await, "thread_empty");
    assert_eq!(code("t", Some(99)).await, "checkpoint_unknown");
    assert_eq!(code("t", Some(0)).await, "checkpoint_unknown");
    assert_eq!(subject.store().thread("u").await.unwrap(), None, "not even its name");
    assert_eq!(subject.admin.prune("nowhere", &keep(1)).await.unwrap_err().code, "thread_empty");
    assert!(!subject.admin.delete("nowhere").await.unwrap());
}

async fn threads_without_anything_are_seen_to(subject: Subject) {
    subject.store().claim("t", &gone(), TERM).await.unwrap();
    assert_eq!(subject.admin.prune("t", &keep(1)).await.unwrap().entries, 0);
    assert_eq!(subject.copy("t", "u", None).await.unwrap_err().code, "thread_empty");
    subject.admin.check_idle("t").await.unwrap();
    subject.admin.check_idle("nowhere").await.unwrap();
    subject.store().claim("begins", "there", TERM).await.unwrap();
    assert_eq!(subject.copy("begins", "u", None).await.unwrap_err().code, "thread_busy");
    assert_eq!(subject.admin.check_idle("begins").await.unwrap_err().code, "thread_busy");
    assert_eq!(subject.admin.listed("t").await.unwrap().status.as_str(), "empty");
}

async fn what_another_engine_keeps_is_not_pruned(subject: Subject) {
    let mut log = subject.log("t").await;
    for kind in [EntryKind::Step, EntryKind::Step, EntryKind::Snapshot, EntryKind::Step] {
        log.append([(kind, b"theirs")], 0, Time::default()).unwrap().await.unwrap();
    }
    log.release().await.unwrap();
    assert_eq!(subject.admin.listed("t").await.unwrap().status.as_str(), "foreign");
    assert_eq!(subject.admin.show("t", 9).await.unwrap().checkpoints, []);
    assert_eq!(subject.admin.prune_all(&keep(1)).await.unwrap().entries, 0);
    subject.clock.advance(TERM);
    let idle = PruneRequest { idle: Some(Duration::ZERO), ..PruneRequest::default() };
    assert_eq!(subject.admin.prune_all(&idle).await.unwrap().deleted, 1);
}
