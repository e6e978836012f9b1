//! Runs that are kept, lost, and taken up again, over real stores.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::budget::BudgetUsage;
use antiphon_core::channel::{Reducer, Write};
use antiphon_core::checkpoint::{
    Call, CallOutcome, CallRecord, Callee, Commit, CommitChange, RecoveredRun, TaskKey,
};
use antiphon_core::command::{Destination, Destinations, Update};
use antiphon_core::effect::Effect;
use antiphon_core::graph::{Graph, START};
use antiphon_core::rules::{ReducerSite, Rules};
use antiphon_core::run::{Options, Run};
use antiphon_core::state::View;
use antiphon_core::task::{Failure, TaskOutcome};
use antiphon_core::{Fault, Seed, Time};
use antiphon_runtime::store::{EntryKind, EntryRange, Store};
use antiphon_runtime::{ManualClock, SystemClock};
use antiphon_stores::checkpoint_writer::read;
use antiphon_stores::{
    CheckpointView, CheckpointWriter, Cipher, Durability, HistoryReader, JsonCodec, MemoryStore,
    RetentionPolicy, RunHeader, SealedStore, SqliteSettings, SqliteStore,
};
use serde_json::{Value, json};

const TERM: Duration = Duration::from_secs(30);
const STEPS: usize = 400;

/// A node that appends until there are enough.
fn graph() -> Arc<Graph<Value>> {
    let mut graph = Graph::builder("counting");
    graph.channel("log", Reducer::Append);
    graph.node("count");
    graph.edge(START, "count").branch("count", "again", 0, None);
    graph.build().unwrap()
}

struct Again;

impl Rules<Value> for Again {
    fn reduce(
        &mut self,
        _: ReducerSite<'_, Value>,
        _: Option<Value>,
        _: Value,
    ) -> Result<Value, Fault> {
        panic!("there is no rule of the host's own")
    }

    fn route(&mut self, _: u32, view: &View<'_, Value>) -> Result<Destinations<Value>, Failure> {
        let done = view.named("log").and_then(Value::as_array).map_or(0, Vec::len);
        let on = (done < STEPS).then(|| Destination::Name("count".into()));
        Ok(on.into_iter().collect())
    }
}

fn header() -> RunHeader {
    RunHeader { run_id: "run".into(), seed: Seed::new(7), graph: "counting".into(), key_salt: 3 }
}

/// Drives a run until it ends or `crash` commits have been kept; says how
/// often its node was called.
async fn drive(
    run: &mut Run<Value>,
    checkpoint_writer: &mut CheckpointWriter<Value, JsonCodec>,
    crash: usize,
) -> (usize, bool) {
    let (mut calls, mut commits, now) = (0, 0, Time::default());
    loop {
        match run.step(now, &mut Again) {
            Effect::Start(tasks) => {
                for task in tasks {
                    let log = run.graph(0).unwrap().channel_id("log").unwrap();
                    let held = run.state().get(log).and_then(Value::as_array).map_or(0, Vec::len);
                    let write = Write::merge(log, json!({ "item": held, "text": "x".repeat(200) }));
                    calls += 1;
                    run.resolve(task.id, TaskOutcome::Done(Update::from(vec![write])), now);
                }
            }
            Effect::Commit(commit) => {
                if commits == crash {
                    return (calls, false);
                }
                commits += 1;
                if let Some(answer) =
                    checkpoint_writer.keep(&commit, || run.graph_snapshot(), now).unwrap()
                {
                    answer.await.unwrap();
                }
                run.committed(commit.id);
            }
            Effect::Done(_) => {
                checkpoint_writer.settle().await.unwrap();
                return (calls, true);
            }
            other => panic!("{other:?}"),
        }
    }
}

async fn open(
    store: Arc<dyn Store>,
    owner: &str,
    durability: Durability,
) -> (CheckpointWriter<Value, JsonCodec>, Option<RecoveredRun<Value>>) {
    open_in(SealedStore::new(store, Arc::new(Cipher::tagged())), owner, durability).await
}

async fn open_in(
    sealed_store: SealedStore,
    owner: &str,
    durability: Durability,
) -> (CheckpointWriter<Value, JsonCodec>, Option<RecoveredRun<Value>>) {
    let values = (graph(), Arc::new(JsonCodec));
    let (checkpoint_writer, found) =
        CheckpointWriter::open((sealed_store, "t"), (owner, TERM), values, durability)
            .await
            .unwrap();
    if let Some(found) = &found {
        assert_eq!(found.header, Some(header()));
    }
    (checkpoint_writer, found.map(|found| found.memory))
}

fn options() -> Options {
    Options { run_id: "run".into(), seed: Seed::new(7), commits: true, ..Options::default() }
}

fn log_of(run: &Run<Value>) -> Vec<i64> {
    let log = run.graph(0).unwrap().channel_id("log").unwrap();
    let items = run.state().get(log).and_then(Value::as_array).unwrap();
    items.iter().map(|item| item["item"].as_i64().unwrap()).collect()
}

fn expected() -> Vec<i64> {
    (0..).take(STEPS).collect()
}

/// EN-11 of `docs/engine.md`.
#[tokio::test]
async fn a_run_that_is_lost_after_any_commit_resumes_from_there() {
    for crash in (1..=STEPS).step_by(37) {
        let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
        let (mut checkpoint_writer, found) = open(store.clone(), "first", Durability::Sync).await;
        assert!(found.is_none());
        checkpoint_writer.begin(&header());
        let mut run = Run::new(graph(), Vec::new(), options(), Time::default());
        let (before, ended) = drive(&mut run, &mut checkpoint_writer, crash).await;
        assert!(!ended);
        checkpoint_writer.close().await.unwrap();

        let (mut checkpoint_writer, found) = open(store, "second", Durability::Sync).await;
        let mut run = Run::resume(graph(), found.unwrap(), options(), Time::default());
        let (after, ended) = drive(&mut run, &mut checkpoint_writer, usize::MAX).await;
        assert!(ended);
        assert_eq!(log_of(&run), expected());
        assert_eq!(before + after, STEPS + 1, "only the superstep that was lost is run again");
    }
}

#[tokio::test]
async fn each_durability_ends_in_the_same_thread() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
        let (mut checkpoint_writer, _) = open(store.clone(), "first", durability).await;
        checkpoint_writer.begin(&header());
        let mut run = Run::new(graph(), Vec::new(), options(), Time::default());
        drive(&mut run, &mut checkpoint_writer, usize::MAX).await;
        checkpoint_writer.close().await.unwrap();
        let entries = store.head("t").await.unwrap().unwrap().last;
        assert_eq!(entries < 5, durability == Durability::Exit, "{durability:?}: {entries}");
        let (_, found) = open(store, "second", durability).await;
        let memory = found.unwrap();
        let log = graph().channel_id("log").unwrap();
        let kept = memory.root.state.get(log).and_then(Value::as_array).unwrap().len();
        assert_eq!((kept, memory.ended.is_some()), (STEPS, true), "{durability:?}");
    }
}

#[tokio::test]
async fn a_run_that_is_lost_leaves_its_thread_after_its_term_alone() {
    let clock = Arc::new(ManualClock::default());
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let (mut checkpoint_writer, _) = open(store.clone(), "first", Durability::Sync).await;
    let mut run = Run::new(graph(), Vec::new(), options(), Time::default());
    drive(&mut run, &mut checkpoint_writer, 3).await;
    let sealed_store = SealedStore::new(store.clone(), Arc::new(Cipher::tagged()));
    let values = (graph(), Arc::new(JsonCodec));
    let second =
        CheckpointWriter::open((sealed_store, "t"), ("second", TERM), values, Durability::Sync)
            .await;
    assert_eq!(second.err().unwrap().code, "thread_busy");
    clock.advance(TERM);
    let sealed_store = SealedStore::new(store, Arc::new(Cipher::tagged()));
    let values = (graph(), Arc::new(JsonCodec));
    let second =
        CheckpointWriter::open((sealed_store, "t"), ("second", TERM), values, Durability::Sync)
            .await;
    assert!(second.is_ok());
    let mut run = Run::new(graph(), Vec::new(), options(), Time::default());
    let Effect::Commit(late) = run.step(Time::default(), &mut Again) else { panic!() };
    let answer =
        checkpoint_writer.keep(&late, || run.graph_snapshot(), Time::default()).unwrap().unwrap();
    assert_eq!(answer.await.unwrap_err().code, "thread_conflict", "the first writes no more");
}

#[tokio::test]
async fn a_thread_is_pruned_while_it_is_written_to() {
    for durability in [Durability::Sync, Durability::Async] {
        let (store, sealed_store) = pruned_after(5);
        let (mut checkpoint_writer, _) = open_in(sealed_store, "first", durability).await;
        checkpoint_writer.begin(&header());
        let mut run = Run::new(graph(), Vec::new(), options(), Time::default());
        let (_, ended) = drive(&mut run, &mut checkpoint_writer, STEPS - 10).await;
        assert!(!ended);
        checkpoint_writer.settle().await.unwrap();
        let marks = store.marks("t", EntryRange::ALL, None).await.unwrap();
        assert_eq!(marks[0].0.kind, EntryKind::Snapshot, "{durability:?}");
        assert!(marks[0].0.seq > 100 && marks.len() < 300, "{}", marks.len());
        checkpoint_writer.close().await.unwrap();
        let (_, found) = open(store, "second", durability).await;
        let log = graph().channel_id("log").unwrap();
        let kept = found.unwrap().root.state.get(log).cloned().unwrap();
        assert_eq!(kept.as_array().unwrap().len(), STEPS - 11, "{durability:?}");
    }
}

#[tokio::test]
async fn a_thread_is_pruned_when_its_run_ends() {
    let (store, sealed_store) = pruned_after(1);
    for turn in 0..3 {
        let (mut checkpoint_writer, found) =
            open_in(sealed_store.clone(), "first", Durability::Exit).await;
        assert_eq!(found.is_some(), turn > 0);
        checkpoint_writer.begin(&header());
        let mut run = Run::new(graph(), Vec::new(), options(), Time::default());
        drive(&mut run, &mut checkpoint_writer, usize::MAX).await;
        checkpoint_writer.close().await.unwrap();
        let marks = store.marks("t", EntryRange::ALL, None).await.unwrap();
        let kinds: Vec<_> = marks.iter().map(|(mark, _)| mark.kind).collect();
        assert_eq!(kinds, [EntryKind::Snapshot, EntryKind::Run, EntryKind::End], "turn {turn}");
    }
    assert!(store.thread("t").await.unwrap().unwrap().held.is_none());
}

fn pruned_after(last: u64) -> (Arc<dyn Store>, SealedStore) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    let sealed_store = SealedStore::new(Arc::clone(&store), Arc::new(Cipher::tagged()));
    (
        store,
        sealed_store.keeping(RetentionPolicy { last: Some(last), ..RetentionPolicy::default() }),
    )
}

fn size(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[tokio::test]
async fn a_file_grows_with_what_is_written_and_not_with_what_is_held() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let clock = Arc::new(SystemClock::new());
    let store = SqliteStore::open(&path, SqliteSettings::default(), clock).unwrap();
    let (mut checkpoint_writer, _) = open(Arc::new(store), "first", Durability::Async).await;
    checkpoint_writer.begin(&header());
    let mut run = Run::new(graph(), Vec::new(), options(), Time::default());
    drive(&mut run, &mut checkpoint_writer, usize::MAX).await;
    checkpoint_writer.close().await.unwrap();
    drop(run);
    let written = STEPS as u64 * 200;
    let size = size(folder.path());
    assert!(size < written * 3, "{size} bytes for {written}");
}

#[tokio::test]
async fn a_run_waits_for_its_store_once_too_many_bytes_are_on_their_way() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let clock = Arc::new(SystemClock::new());
    let store = SqliteStore::open(&path, SqliteSettings::default(), clock).unwrap();
    let (mut checkpoint_writer, _) = open(Arc::new(store), "first", Durability::Async).await;
    let answered = |text: String| {
        let task = TaskKey { key: 1, slot: 0, node: graph().node_id("count").unwrap() };
        let change = CommitChange::Answered(task, text.into());
        Commit { id: 1, within: Vec::new(), spent: BudgetUsage::default(), events: 0, change }
    };
    // Nothing is written for as long as another program has the file.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut keep = |megabytes: usize| {
        let commit = answered("x".repeat(megabytes * 1_000_000));
        checkpoint_writer.keep(&commit, || None, Time::default()).unwrap()
    };
    assert!((0..16).all(|_| keep(1).is_none()));
    let waits = keep(9).expect("more than 16 MB are on their way");
    assert!(keep(0).is_none(), "beside what is waited for there is no more than that");
    other.execute_batch("COMMIT").unwrap();
    waits.await.unwrap();
    checkpoint_writer.settle().await.unwrap();
}

fn called(outcome: Option<CallOutcome<Value>>) -> Commit<Value> {
    let call = Call { callee: Callee::Tool, name: "pay".into(), digest: 1, repeatable: false };
    let task = TaskKey { key: 1, slot: 0, node: graph().node_id("count").unwrap() };
    let made = CallRecord { index: 0, alone: true, call, outcome };
    let change = CommitChange::Called(task, 1, Box::new(made));
    Commit { id: 0, within: Vec::new(), spent: BudgetUsage::ZERO, events: 0, change }
}

#[tokio::test]
async fn what_must_not_happen_twice_waits_until_it_is_known_that_it_begins() {
    for (durability, started, ended) in [
        (Durability::Sync, true, true),
        (Durability::Async, true, false),
        (Durability::Exit, false, false),
    ] {
        let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
        let (mut checkpoint_writer, _) = open(store.clone(), "first", durability).await;
        checkpoint_writer.begin(&header());
        let mut waits = |outcome| {
            let kept = checkpoint_writer.keep(&called(outcome), || None, Time::default());
            kept.unwrap().is_some()
        };
        assert_eq!(waits(None), started, "{durability:?}");
        assert_eq!(waits(Some(CallOutcome::Json(Value::Null))), ended, "{durability:?}");
        checkpoint_writer.settle().await.unwrap();
        checkpoint_writer.close().await.unwrap();
        let (_, found) = open(store, "second", durability).await;
        let journals = found
            .map_or(0, |found| found.tasks.values().filter(|kept| kept.journal.is_some()).count());
        assert_eq!(journals, usize::from(durability != Durability::Exit));
    }
}

#[tokio::test]
async fn a_branch_marks_its_calls_as_its_own() {
    let (_, sealed_store) = pruned_after(1000);
    let (mut checkpoint_writer, _) = open_in(sealed_store.clone(), "first", Durability::Sync).await;
    checkpoint_writer.begin(&header());
    let mut run = Run::new(graph(), Vec::new(), options(), Time::default());
    drive(&mut run, &mut checkpoint_writer, 5).await;
    let last = checkpoint_writer.checkpoint();
    assert_eq!(checkpoint_writer.key_salt(3), 3, "a resumed run keeps its key salt");
    let found = checkpoint_writer.go_back(last - 2).await.unwrap().unwrap();
    let first = checkpoint_writer.key_salt(3);
    assert_ne!(first, 3);
    let mut run = Run::resume(graph(), found.memory, options(), Time::default());
    drive(&mut run, &mut checkpoint_writer, 1).await;
    checkpoint_writer.go_back(last - 2).await.unwrap();
    assert_ne!(checkpoint_writer.key_salt(3), first, "another branch from the same place");
}

/// A thread's checkpoints, newest first, read in pages of at most so many.
async fn history_of(
    sealed_store: &SealedStore,
    from: Option<u64>,
    most: usize,
) -> (Vec<CheckpointView<Value>>, Vec<usize>) {
    let mut reader = HistoryReader::new(sealed_store.clone(), "t", from);
    let (mut found, mut sizes) = (Vec::new(), Vec::new());
    while !reader.is_finished() {
        reader.load().await.unwrap();
        while let Some(page) = reader.page(&graph(), &JsonCodec, most).unwrap() {
            assert_eq!(page.tip.is_some(), sizes.is_empty(), "the first page has the tip");
            sizes.push(page.checkpoints.len());
            found.extend(page.checkpoints);
        }
    }
    (found, sizes)
}

#[tokio::test]
async fn a_history_gives_every_checkpoint_for_any_pages() {
    for durability in [Durability::Sync, Durability::Exit] {
        let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
        let (mut checkpoint_writer, _) = open(store.clone(), "first", durability).await;
        checkpoint_writer.begin(&header());
        let mut run = Run::new(graph(), Vec::new(), options(), Time::default());
        assert!(drive(&mut run, &mut checkpoint_writer, usize::MAX).await.1);
        checkpoint_writer.close().await.unwrap();
        let sealed_store = SealedStore::new(store, Arc::new(Cipher::tagged()));
        let (all, _) = history_of(&sealed_store, None, usize::MAX).await;
        let steps: Vec<u64> = all.iter().map(|view| view.graph_snapshot.step).collect();
        let expected: Vec<u64> = match durability {
            Durability::Exit => vec![STEPS as u64],
            _ => (0..=STEPS as u64).rev().collect(),
        };
        assert_eq!(steps, expected);
        for pair in all.windows(2) {
            let [newer, older] = pair else { panic!("windows of two") };
            assert_eq!(newer.parent, older.seq);
            assert_eq!(newer.header, Some(header()));
        }
        for view in all.iter().step_by(13) {
            let way = sealed_store.way_to_checkpoint("t", view.seq).await.unwrap();
            let alone = read(&graph(), &JsonCodec, &way).unwrap().unwrap();
            assert_eq!(view.graph_snapshot.state.snapshot(), alone.memory.root.state.snapshot());
            assert_eq!(view.graph_snapshot.step, alone.memory.root.step);
        }
        for most in [1, 2, 7, 16] {
            let (paged, sizes) = history_of(&sealed_store, None, most).await;
            assert!(sizes.iter().all(|size| (1..=most).contains(size)));
            let about = |views: &[CheckpointView<Value>]| -> Vec<_> {
                views.iter().map(|v| (v.seq, v.parent, v.source, v.wrote.clone())).collect()
            };
            assert_eq!(about(&paged), about(&all));
            let states = paged.iter().zip(&all).step_by(29);
            for (one, other) in states {
                assert_eq!(
                    one.graph_snapshot.state.snapshot(),
                    other.graph_snapshot.state.snapshot()
                );
            }
        }
        let middle = &all[all.len() / 2];
        let (older, _) = history_of(&sealed_store, Some(middle.seq), 5).await;
        let seqs =
            |views: &[CheckpointView<Value>]| views.iter().map(|v| v.seq).collect::<Vec<_>>();
        assert_eq!(seqs(&older), seqs(&all[all.len() / 2..]));
    }
}

#[tokio::test]
async fn an_empty_thread_has_no_history() {
    let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    let sealed_store = SealedStore::new(store, Arc::new(Cipher::tagged()));
    assert!(history_of(&sealed_store, None, 16).await.0.is_empty());
}
