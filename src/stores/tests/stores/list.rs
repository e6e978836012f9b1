//! What lists say of threads, without the graph that wrote them.

use std::sync::Arc;
use std::time::Duration;

use crate::fixtures::nesting;
use antiphon_core::agent::AgentSpec;
use antiphon_core::budget::BudgetUsage;
use antiphon_core::channel::{ChannelId, Write};
use antiphon_core::checkpoint::{
    Commit, CommitChange, GraphSnapshot, MergedWrites, NestedLevel, PendingWork, SuperstepDelta,
    TaskKey, WriteSource,
};
use antiphon_core::command::Update;
use antiphon_core::effect::{Ending, Question};
use antiphon_core::graph::{Graph, Node, NodeId, NodePolicy, NodeWork, START};
use antiphon_core::{Category, Fault, Seed, Time};
use antiphon_runtime::ManualClock;
use antiphon_runtime::store::Store;
use antiphon_stores::admin::{CopyRequest, ThreadFilter, ThreadSummary};
use antiphon_stores::{
    CheckpointWriter, Cipher, Durability, JsonCodec, MemoryStore, RunHeader, SealedStore,
    ThreadAdmin, owner,
};
use serde_json::{Value, json};

const TERM: Duration = Duration::from_secs(30);

type Writer = CheckpointWriter<Value, JsonCodec>;

struct Subject {
    store: Arc<dyn Store>,
    seal: Arc<Cipher>,
    clock: Arc<ManualClock>,
}

impl Subject {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Time::from_micros(1_000_000)));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self { store, seal: Arc::new(Cipher::keyed(&[7; 32])), clock }
    }

    fn sealed_store(&self) -> SealedStore {
        SealedStore::new(Arc::clone(&self.store), Arc::clone(&self.seal))
    }

    fn admin(&self) -> ThreadAdmin {
        ThreadAdmin::new(self.sealed_store(), self.clock.clone(), "clerk".into())
    }

    /// A run of the graph that has begun, and merged its input.
    async fn run(&self, thread: &str, run_id: &str) -> Writer {
        let values = (graph(), Arc::new(JsonCodec));
        let place = (self.sealed_store(), thread);
        let (mut writer, found) =
            CheckpointWriter::open(place, ("me", TERM), values, Durability::Sync).await.unwrap();
        let header = RunHeader {
            run_id: run_id.into(),
            seed: Seed::new(7),
            graph: "outer".into(),
            key_salt: 3,
        };
        writer.begin(&header);
        let source = if found.is_some() { WriteSource::Turn } else { WriteSource::Begin };
        self.keep(&mut writer, step(source, &[1])).await;
        writer
    }

    async fn keep(&self, writer: &mut Writer, commit: Commit<Value>) {
        self.clock.advance(Duration::from_secs(1));
        let now = antiphon_runtime::Clock::now(&*self.clock);
        let graph_snapshot = || Some(GraphSnapshot::new(&graph()));
        if let Some(answer) = writer.keep(&commit, graph_snapshot, now).unwrap() {
            answer.await.unwrap();
        }
    }

    async fn listed(&self, thread: &str) -> ThreadSummary {
        self.admin().listed(thread).await.unwrap()
    }

    async fn status(&self, thread: &str) -> String {
        let status = self.listed(thread).await.status;
        [Some(status.as_str()), status.outcome()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// An owner whose process has ended: another one has its number by now.
fn gone() -> String {
    let own = owner::new(Seed::new(1));
    let mut parts: Vec<_> = own.split('/').collect();
    parts[2] = "0";
    parts.join("/")
}

fn graph() -> Arc<Graph<Value>> {
    let mut graph = nesting(&["ask", "work"]);
    graph.add_node(Node {
        name: "agent".into(),
        work: NodeWork::Agent(Arc::new(AgentSpec::default())),
        policy: NodePolicy::default(),
    });
    graph.edge(START, "ask").edge("ask", "work").edge("work", "sub").edge("sub", "agent");
    graph.build().unwrap()
}

fn node(name: &str) -> NodeId {
    graph().node_id(name).unwrap()
}

fn commit(change: CommitChange<Value>) -> Commit<Value> {
    Commit { id: 0, within: Vec::new(), spent: BudgetUsage::ZERO, events: 0, change }
}

/// A superstep that wrote its number to both channels; the nodes that are next.
fn step(source: WriteSource, next: &[u32]) -> Commit<Value> {
    let ready = next.iter().map(|node| NodeId(*node)).collect();
    let writes =
        vec![Write::merge(ChannelId(0), json!("piece")), Write::merge(ChannelId(1), json!(1))];
    let merges = vec![MergedWrites { writes: writes.into(), ..MergedWrites::default() }];
    let pending_work = PendingWork { ready, ..PendingWork::default() };
    commit(CommitChange::Step(SuperstepDelta { source, step: 1, merges, pending_work }))
}

fn task(key: u64) -> TaskKey {
    TaskKey { key, slot: 0, node: NodeId(1) }
}

fn asked(key: u64, id: &str) -> Commit<Value> {
    let (id, path) = (id.to_owned(), vec!["ask".to_owned()]);
    commit(CommitChange::Asked(task(key), Box::new(Question { id, path, value: json!("sure?") })))
}

fn ended(how: Result<Ending, Fault>) -> Commit<Value> {
    commit(CommitChange::Ended(how))
}

#[tokio::test]
async fn a_run_is_running_while_somebody_drives_it_and_orphaned_afterwards() {
    let subject = Subject::new();
    let writer = subject.run("t", "one").await;
    assert_eq!(subject.status("t").await, "running");
    subject.clock.advance(TERM);
    assert_eq!(subject.status("t").await, "orphaned", "its lease is over");
    writer.renew(TERM).await.unwrap();
    assert_eq!(subject.status("t").await, "running");
    writer.close().await.unwrap();
    assert_eq!(subject.status("t").await, "orphaned");
    subject.store.claim("t", &gone(), TERM).await.unwrap();
    assert_eq!(subject.status("t").await, "orphaned", "nobody is there any more");
}

#[tokio::test]
async fn a_run_that_asks_is_paused_until_all_is_answered() {
    let subject = Subject::new();
    let mut writer = subject.run("t", "one").await;
    subject.keep(&mut writer, step(WriteSource::Step, &[1, 2])).await;
    subject.keep(&mut writer, asked(1, "first")).await;
    subject.store.release("t", "me").await.unwrap();
    assert_eq!(subject.status("t").await, "orphaned", "the other task was at work");
    subject.store.claim("t", "me", TERM).await.unwrap();
    subject.keep(&mut writer, asked(2, "second")).await;
    subject.store.release("t", "me").await.unwrap();
    let listed = subject.listed("t").await;
    assert_eq!(listed.status.as_str(), "paused");
    let ids: Vec<_> = listed.asking.iter().map(|asking| asking.id.as_str()).collect();
    assert_eq!((ids, &listed.asking[0].path), (vec!["first", "second"], &vec!["ask".to_owned()]));
    assert_eq!(listed.asking[0].value, b"\xa5sure?");
    subject.store.claim("t", "me", TERM).await.unwrap();
    subject.keep(&mut writer, commit(CommitChange::Answered(task(1), json!("yes")))).await;
    subject.store.release("t", "me").await.unwrap();
    let listed = subject.listed("t").await;
    assert_eq!((listed.status.as_str(), listed.asking.len()), ("orphaned", 1), "it can go on");
    subject.store.claim("t", "me", TERM).await.unwrap();
    subject.keep(&mut writer, commit(CommitChange::Answered(task(2), json!("yes")))).await;
    writer.close().await.unwrap();
    assert!(subject.listed("t").await.asking.is_empty());
}

#[tokio::test]
async fn what_a_nested_graph_asked_is_over_when_its_superstep_is() {
    let subject = Subject::new();
    let mut writer = subject.run("t", "one").await;
    subject.keep(&mut writer, step(WriteSource::Step, &[3, 3])).await;
    let level = |key| vec![NestedLevel { node: node("sub"), attempt: 1, key }];
    let within = |commit: Commit<Value>, key| Commit { within: level(key), ..commit };
    let inner = |key: u64| {
        let task = TaskKey { key, slot: 0, node: NodeId(1) };
        let question = Question { id: key.to_string(), path: Vec::new(), value: json!(null) };
        commit(CommitChange::Asked(task, Box::new(question)))
    };
    let merged = |source, key, next: &[u32]| within(step(source, next), key);
    subject.keep(&mut writer, merged(WriteSource::Begin, 5, &[1])).await;
    subject.keep(&mut writer, merged(WriteSource::Begin, 6, &[1])).await;
    subject.keep(&mut writer, within(inner(50), 5)).await;
    subject.keep(&mut writer, within(inner(60), 6)).await;
    subject.store.release("t", "me").await.unwrap();
    let listed = subject.listed("t").await;
    assert_eq!((listed.status.as_str(), listed.asking.len()), ("paused", 2));
    subject.store.claim("t", "me", TERM).await.unwrap();
    subject.keep(&mut writer, merged(WriteSource::Step, 5, &[])).await;
    let update = CommitChange::Finished(task(5), Update::default());
    subject.keep(&mut writer, commit(update)).await;
    writer.close().await.unwrap();
    let listed = subject.listed("t").await;
    assert_eq!((listed.status.as_str(), listed.asking.len()), ("paused", 1));
    assert_eq!(listed.asking[0].id, "60");
}

#[tokio::test]
async fn an_agent_whose_calls_wait_for_approval_rests_until_one_is_answered() {
    let subject = Subject::new();
    let mut writer = subject.run("t", "one").await;
    subject.keep(&mut writer, step(WriteSource::Step, &[1, 4])).await;
    let level = vec![NestedLevel { node: node("agent"), attempt: 1, key: 5 }];
    let call = |key: u64, slot| TaskKey { key, slot, node: node("agent") };
    let of_agent = |change| Commit { within: level.clone(), ..commit(change) };
    let asks = |key: u64, slot| {
        let question = Question { id: key.to_string(), path: Vec::new(), value: json!("pay?") };
        of_agent(CommitChange::Asked(call(key, slot), Box::new(question)))
    };
    subject.keep(&mut writer, asks(52, 0)).await;
    subject.keep(&mut writer, asks(51, 1)).await;
    subject.store.release("t", "me").await.unwrap();
    assert_eq!(subject.status("t").await, "orphaned", "the other task was at work");
    subject.store.claim("t", "me", TERM).await.unwrap();
    subject.keep(&mut writer, asked(1, "other")).await;
    subject.store.release("t", "me").await.unwrap();
    let listed = subject.listed("t").await;
    let ids: Vec<_> = listed.asking.iter().map(|asking| asking.id.as_str()).collect();
    assert_eq!((listed.status.as_str(), ids), ("paused", vec!["other", "52", "51"]));
    subject.store.claim("t", "me", TERM).await.unwrap();
    subject.keep(&mut writer, of_agent(CommitChange::Answered(call(52, 0), json!(true)))).await;
    subject.store.release("t", "me").await.unwrap();
    let listed = subject.listed("t").await;
    assert_eq!((listed.status.as_str(), listed.asking.len()), ("orphaned", 1), "it goes on");
    subject.store.claim("t", "me", TERM).await.unwrap();
    subject.keep(&mut writer, asks(51, 1)).await;
    writer.close().await.unwrap();
    let listed = subject.listed("t").await;
    assert_eq!((listed.status.as_str(), listed.asking.len()), ("paused", 2));
}

#[tokio::test]
async fn a_run_that_failed_and_was_taken_up_is_paused_once_it_only_asks() {
    let subject = Subject::new();
    let mut writer = subject.run("t", "one").await;
    subject.keep(&mut writer, step(WriteSource::Step, &[1, 2])).await;
    subject.keep(&mut writer, asked(1, "first")).await;
    let fault = Fault::foreign(Category::Tool, "broken", "it broke");
    subject.keep(&mut writer, ended(Err(fault))).await;
    subject.keep(&mut writer, commit(CommitChange::Finished(task(3), Update::default()))).await;
    writer.close().await.unwrap();
    let listed = subject.listed("t").await;
    let ids: Vec<_> = listed.asking.iter().map(|asking| asking.id.as_str()).collect();
    assert_eq!((listed.status.as_str(), ids), ("paused", vec!["first"]));
}

#[tokio::test]
async fn what_an_agent_asked_before_the_run_failed_is_asked_again() {
    let subject = Subject::new();
    let mut writer = subject.run("t", "one").await;
    subject.keep(&mut writer, step(WriteSource::Step, &[2, 4])).await;
    let asks = |id: &str| {
        let within = vec![NestedLevel { node: node("agent"), attempt: 1, key: 5 }];
        Commit { within, ..asked(52, id) }
    };
    subject.keep(&mut writer, asks("before")).await;
    let fault = Fault::foreign(Category::Tool, "broken", "it broke");
    subject.keep(&mut writer, ended(Err(fault))).await;
    subject.keep(&mut writer, commit(CommitChange::Finished(task(3), Update::default()))).await;
    subject.store.release("t", "me").await.unwrap();
    let listed = subject.listed("t").await;
    assert_eq!((listed.status.as_str(), listed.asking.len()), ("orphaned", 0), "it was at work");
    subject.store.claim("t", "me", TERM).await.unwrap();
    subject.keep(&mut writer, asks("again")).await;
    writer.close().await.unwrap();
    let listed = subject.listed("t").await;
    let ids: Vec<_> = listed.asking.iter().map(|asking| asking.id.as_str()).collect();
    assert_eq!((listed.status.as_str(), ids), ("paused", vec!["again"]));
}

#[tokio::test]
async fn an_edited_thread_that_failed_and_was_taken_up_does_not_wait_for_anybody() {
    let subject = Subject::new();
    let mut writer = subject.run("t", "one").await;
    subject.keep(&mut writer, step(WriteSource::Edit, &[1, 2])).await;
    let fault = Fault::foreign(Category::Tool, "broken", "it broke");
    subject.keep(&mut writer, ended(Err(fault))).await;
    subject.keep(&mut writer, commit(CommitChange::Finished(task(3), Update::default()))).await;
    writer.close().await.unwrap();
    assert_eq!(subject.status("t").await, "orphaned");
}

#[tokio::test]
async fn a_run_that_is_over_says_how_it_ended() {
    let subject = Subject::new();
    let fault = Fault::foreign(Category::Tool, "broken", "it broke");
    let ends = [
        (Ok(Ending::Completed), "ended completed"),
        (Ok(Ending::Cancelled("enough".into())), "ended cancelled"),
        (Err(fault), "failed failed"),
    ];
    for (end, status) in ends {
        let mut writer = subject.run("t", "one").await;
        subject.keep(&mut writer, ended(end)).await;
        writer.close().await.unwrap();
        assert_eq!(subject.status("t").await, status);
    }
    let listed = subject.listed("t").await;
    assert_eq!(listed.status.fault().unwrap().message, "it broke");
    assert_eq!((listed.graph.as_str(), listed.run_id.as_str(), listed.step), ("outer", "one", 1));
    assert_eq!(
        (listed.began, listed.at),
        (Time::from_micros(2_000_000), Time::from_micros(7_000_000))
    );
}

#[tokio::test]
async fn an_edited_thread_waits_only_if_something_is_next() {
    let subject = Subject::new();
    for (next, status) in [(&[2][..], "paused"), (&[], "ended completed")] {
        let mut writer = subject.run("t", "one").await;
        subject.keep(&mut writer, step(WriteSource::Edit, next)).await;
        writer.close().await.unwrap();
        assert_eq!(subject.status("t").await, status);
    }
}

#[tokio::test]
async fn a_page_says_where_the_next_one_begins() {
    let subject = Subject::new();
    for name in ["", "a", "b", "c", "d", "e"] {
        let mut writer = subject.run(name, "one").await;
        if matches!(name, "b" | "d") {
            subject.keep(&mut writer, ended(Ok(Ending::Completed))).await;
        }
        writer.close().await.unwrap();
    }
    let page = async |status: Option<&str>, graph: Option<&str>, after, limit| {
        let filter = ThreadFilter { status: status.map(Into::into), graph: graph.map(Into::into) };
        let page = subject.admin().list(&filter, after, limit).await.unwrap();
        let names: Vec<_> = page.threads.into_iter().map(|listed| listed.thread).collect();
        (names.join(","), page.next)
    };
    let next = |name: &str| Some(name.to_owned());
    assert_eq!(page(None, None, None, 9).await, (",a,b,c,d,e".into(), None));
    assert_eq!(page(None, None, None, 6).await, (",a,b,c,d,e".into(), None));
    assert_eq!(page(None, None, None, 2).await, (",a".into(), next("a")));
    assert_eq!(page(None, None, Some("b"), 2).await, ("c,d".into(), next("d")));
    assert_eq!(page(Some("ended"), None, None, 1).await, ("b".into(), next("b")));
    assert_eq!(page(Some("ended"), None, Some("b"), 1).await, ("d".into(), next("d")));
    assert_eq!(page(Some("ended"), None, Some("d"), 1).await, (String::new(), None));
    assert_eq!(page(None, Some("outer"), None, 9).await.0, ",a,b,c,d,e");
    for hostile in ["outer' OR '1'='1", "%", "outer\0", "\"; DROP TABLE thread; --", ""] {
        assert_eq!(page(None, Some(hostile), None, 9).await, (String::new(), None));
        let filter = ThreadFilter { status: Some(hostile.into()), graph: None };
        let refused = subject.admin().list(&filter, None, 9).await.unwrap_err();
        assert_eq!(refused.code, "call_invalid");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_listed_all_the_same() {
    let subject = Subject::new();
    subject.run("t", "one").await.close().await.unwrap();
    let other = Subject { seal: Arc::new(Cipher::keyed(&[8; 32])), ..subject };
    let listed = other.listed("t").await;
    assert_eq!((listed.status.as_str(), listed.graph.as_str()), ("unreadable", ""));
    assert_eq!(listed.status.fault().unwrap().code, "checkpoint_corrupt");
    assert_eq!(other.admin().show("t", 9).await.unwrap_err().code, "checkpoint_corrupt");
}

#[tokio::test]
async fn a_thread_in_detail_has_runs_and_checkpoints_newest_first() {
    let subject = Subject::new();
    let mut writer = subject.run("t", "one").await;
    subject.keep(&mut writer, step(WriteSource::Step, &[2])).await;
    subject
        .keep(&mut writer, ended(Err(Fault::foreign(Category::Tool, "broken", "it broke"))))
        .await;
    writer.close().await.unwrap();
    let mut writer = subject.run("t", "two").await;
    subject.keep(&mut writer, step(WriteSource::Step, &[2, 3])).await;
    subject.keep(&mut writer, step(WriteSource::Step, &[])).await;
    subject.keep(&mut writer, ended(Ok(Ending::Completed))).await;
    writer.close().await.unwrap();

    let detail = subject.admin().show("t", 9).await.unwrap();
    let turns: Vec<_> = detail
        .turns
        .iter()
        .map(|turn| (turn.run_id.as_str(), turn.status.as_str(), turn.checkpoints))
        .collect();
    assert_eq!(turns, [("two", "ended", 3), ("one", "failed", 2)]);
    let size: u64 = detail.turns.iter().map(|turn| turn.size).sum();
    assert_eq!(size, detail.listed.size);
    let seen: Vec<_> = detail
        .checkpoints
        .iter()
        .map(|one| {
            (one.seq, one.parent, one.source.unwrap(), one.ran.join("+"), one.next.join("+"))
        })
        .collect();
    let row = |seq, parent, source, ran: &str, next: &str| {
        (seq, parent, source, ran.to_owned(), next.to_owned())
    };
    assert_eq!(
        seen,
        [
            row(8, 7, WriteSource::Step, "work+sub", ""),
            row(7, 6, WriteSource::Step, "ask", "work+sub"),
            row(6, 3, WriteSource::Turn, "", "ask"),
            row(3, 2, WriteSource::Step, "ask", "work"),
            row(2, 0, WriteSource::Begin, "", "ask"),
        ]
    );
    let two = subject.admin().show("t", 2).await.unwrap();
    assert_eq!(two.checkpoints, detail.checkpoints[..2]);
    let written = &detail.written;
    assert_eq!(written.keys().collect::<Vec<_>>(), ["log", "x"]);
    assert_eq!(written["log"].value.as_deref(), Some(&b"\xa5piece"[..]));
    assert_eq!(written["x"].value.as_deref(), Some(&b"\x01"[..]));
    assert!(written["x"].whole && !written["log"].whole);
}

#[tokio::test]
async fn a_run_that_is_kept_only_at_its_end_is_one_run() {
    let subject = Subject::new();
    for run_id in ["one", "two"] {
        let values = (graph(), Arc::new(JsonCodec));
        let place = (subject.sealed_store(), "t");
        let (mut writer, _) =
            CheckpointWriter::open(place, ("me", TERM), values, Durability::Exit).await.unwrap();
        let header = RunHeader {
            run_id: run_id.into(),
            seed: Seed::new(7),
            graph: "outer".into(),
            key_salt: 3,
        };
        writer.begin(&header);
        subject.keep(&mut writer, step(WriteSource::Begin, &[1])).await;
        subject.keep(&mut writer, ended(Ok(Ending::Completed))).await;
        writer.settle().await.unwrap();
        writer.close().await.unwrap();
    }
    let detail = subject.admin().show("t", 9).await.unwrap();
    let turns: Vec<_> = detail
        .turns
        .iter()
        .map(|turn| (turn.run_id.as_str(), turn.status.as_str(), turn.checkpoints))
        .collect();
    assert_eq!(turns, [("two", "ended", 1), ("one", "ended", 1)]);
    assert_eq!(detail.checkpoints.len(), 2);
    assert!(detail.checkpoints.iter().all(|one| one.source.is_none()));
}

#[tokio::test]
async fn a_copy_is_of_another_run_that_does_not_resume_by_itself() {
    let subject = Subject::new();
    let mut writer = subject.run("t", "one").await;
    subject.keep(&mut writer, step(WriteSource::Step, &[1])).await;
    let copy = async |to: &str, checkpoint| {
        let copying = CopyRequest { from: "t", checkpoint, to, run_id: "other" };
        subject.admin().copy(copying).await.unwrap();
        let listed = subject.listed(to).await;
        (subject.status(to).await, listed.run_id)
    };
    let other = || "other".to_owned();
    assert_eq!(subject.status("t").await, "running");
    assert_eq!(copy("going on", None).await, ("ended cancelled".to_owned(), other()));
    subject.keep(&mut writer, asked(1, "first")).await;
    assert_eq!(copy("asks", None).await, ("paused".to_owned(), other()));
    assert_eq!(subject.listed("asks").await.asking[0].id, "first");
    assert_eq!(copy("earlier", Some(3)).await, ("ended cancelled".to_owned(), other()));
    subject.keep(&mut writer, ended(Ok(Ending::Completed))).await;
    assert_eq!(copy("over", None).await, ("ended completed".to_owned(), other()));
    writer.close().await.unwrap();
    let values = (graph(), Arc::new(JsonCodec));
    let place = (subject.sealed_store(), "earlier");
    let (_, found) =
        CheckpointWriter::open(place, ("me", TERM), values, Durability::Sync).await.unwrap();
    let found = found.unwrap();
    assert_eq!((found.checkpoint, found.header.unwrap().seed), (3, Seed::new(7)));
    assert_eq!(found.memory.ended, Some(Ok(Ending::Cancelled("forked".into()))));
}
