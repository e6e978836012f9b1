//! The questions that were asked after a past checkpoint.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::budget::BudgetUsage;
use antiphon_core::channel::Reducer;
use antiphon_core::checkpoint::{
    Commit, CommitChange, PendingWork, SuperstepDelta, TaskKey, WriteSource,
};
use antiphon_core::effect::Question;
use antiphon_core::graph::{Graph, NodeId, START};
use antiphon_core::{Seed, Time};
use antiphon_runtime::store::Store;
use antiphon_stores::{
    CheckpointWriter, Cipher, Durability, HistoryReader, JsonCodec, RunHeader, SealedStore,
};
use serde_json::{Value, json};

const TERM: Duration = Duration::from_secs(30);
/// More than the marks that are read at once.
const MANY: usize = 40;

type Writer = CheckpointWriter<Value, JsonCodec>;

fn graph() -> Arc<Graph<Value>> {
    let mut graph = Graph::builder("asking");
    graph.channel("x", Reducer::Set);
    graph.node("ask");
    graph.edge(START, "ask");
    graph.build().unwrap()
}

fn header() -> RunHeader {
    RunHeader { run_id: "run".into(), seed: Seed::new(7), graph: "asking".into(), key_salt: 3 }
}

fn task() -> TaskKey {
    let seed = header().seed.task(1, 0);
    TaskKey { key: seed.number(), slot: 0, node: graph().node_id("ask").unwrap() }
}

fn step(number: u64, next: &[NodeId]) -> CommitChange<Value> {
    let pending_work = PendingWork { ready: next.into(), ..PendingWork::default() };
    let source = if number == 0 { WriteSource::Begin } else { WriteSource::Step };
    let merges = Vec::new();
    CommitChange::Step(SuperstepDelta { source, step: number, merges, pending_work })
}

fn asked(id: &str) -> CommitChange<Value> {
    let (id, path) = (id.to_owned(), vec!["ask".to_owned()]);
    CommitChange::Asked(task(), Box::new(Question { id, path, value: json!("sure?") }))
}

async fn keep(writer: &mut Writer, change: CommitChange<Value>) -> u64 {
    let spent = BudgetUsage::ZERO;
    let commit = Commit { id: 0, within: Vec::new(), spent, events: 0, change };
    writer.keep(&commit, || None, Time::default()).unwrap().unwrap().await.unwrap();
    writer.checkpoint()
}

/// The checkpoint, and the questions of its tasks.
async fn questions(sealed_store: &SealedStore, from: u64) -> (u64, Vec<String>) {
    let mut reader = HistoryReader::new(sealed_store.clone(), "t", Some(from));
    reader.load().await.unwrap();
    let page = reader.page(&graph(), &JsonCodec, 1).unwrap().unwrap();
    let [view] = &page.checkpoints[..] else { panic!("one checkpoint") };
    let tasks = view.tasks(&graph(), false);
    let asked = tasks.iter().flat_map(|task| &task.questions);
    (view.seq, asked.map(|question| question.id.clone()).collect())
}

/// A case of the conformance suite.
pub(crate) async fn are_those_of_the_run_that_continued(store: Arc<dyn Store>) {
    let sealed_store = SealedStore::new(store, Arc::new(Cipher::keyed(&[7; 32])));
    let (place, values) = ((sealed_store.clone(), "t"), (graph(), Arc::new(JsonCodec)));
    let (mut writer, _) =
        CheckpointWriter::open(place, ("me", TERM), values, Durability::Sync).await.unwrap();
    writer.begin(&header());
    let first = keep(&mut writer, step(0, &[task().node])).await;
    assert_eq!(questions(&sealed_store, first).await, (first, vec![]), "none is asked yet");
    for _ in 0..MANY {
        keep(&mut writer, asked("first")).await;
        keep(&mut writer, CommitChange::Answered(task(), json!("yes"))).await;
    }
    keep(&mut writer, asked("second")).await;
    let second = keep(&mut writer, step(1, &[])).await;
    assert_eq!(questions(&sealed_store, first).await, (first, vec!["second".to_owned()]));
    assert_eq!(questions(&sealed_store, second).await, (second, vec![]));
    writer.go_back(first).await.unwrap();
    writer.begin(&header());
    keep(&mut writer, asked("branch")).await;
    assert_eq!(questions(&sealed_store, first).await, (first, vec!["second".to_owned()]));
    assert_eq!(questions(&sealed_store, second).await, (second, vec![]), "a branch follows");
}
