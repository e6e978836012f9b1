//! Bytes that earlier versions have written, which have to stay readable.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Seed;
use antiphon_core::budget::BudgetUsage;
use antiphon_core::channel::{ChannelId, Reducer, Write, WriteOp};
use antiphon_core::checkpoint::{
    Call, CallOutcome, CallRecord, Callee, Commit, CommitChange, MergedWrites, PendingWork,
    RecoveredRun, SuperstepDelta, TaskKey, WriteSource,
};
use antiphon_core::command::{Destination, Route, Send, Update};
use antiphon_core::graph::{Graph, NodeId, START};
use antiphon_stores::{Codec, JsonCodec, RunHeader};
use serde_json::{Value, json};

fn graph() -> Arc<Graph<Value>> {
    let mut graph = Graph::builder("pays");
    graph.channel("log", Reducer::Append);
    graph.node("a");
    graph.edge(START, "a");
    graph.build().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = (0..hex.len()).step_by(2);
    digits.map(|place| u8::from_str_radix(&hex[place..place + 2], 16).unwrap()).collect()
}

fn commit(change: CommitChange<Value>) -> Commit<Value> {
    let spent = BudgetUsage { supersteps: 1, tool_calls: 2, ..BudgetUsage::ZERO };
    Commit { id: 0, within: Vec::new(), spent, events: 9, change }
}

fn step() -> Commit<Value> {
    let writes = vec![Write::merge(ChannelId(0), json!("x"))];
    let merges = vec![MergedWrites { writes: writes.into(), ..MergedWrites::default() }];
    let pending_work = PendingWork { ready: vec![NodeId(1)].into(), ..PendingWork::default() };
    commit(CommitChange::Step(SuperstepDelta {
        source: WriteSource::Step,
        step: 3,
        merges,
        pending_work,
    }))
}

fn called(outcome: Option<CallOutcome<Value>>) -> Commit<Value> {
    let call =
        Call { callee: Callee::Tool, name: "pay".into(), digest: 0x0102_0304, repeatable: false };
    let made = CallRecord { index: 1, alone: true, call, outcome };
    let task = TaskKey { key: 5, slot: 0, node: NodeId(1) };
    commit(CommitChange::Called(task, 2, Box::new(made)))
}

const STEP: &str =
    "950190960100020000000992009402039192909193a36c6f6700a1789991a161909090c29090c0c0";
const MERGED: &str =
    "950590960100020000000992009402039192909193a36c6f6704a1789991a161909090c29090c0c0";
const SNAPSHOT: &str = "96019601000200000009039192a36c6f6791a1789991a161909090c29090c0c0";
const CALLED: &str = "95029096010002000000099205940500a161980201c3a4746f6f6ca3706179ce01020304c2c0";
const CAME: &str =
    "95029096010002000000099205940500a161980201c3a4746f6f6ca3706179ce01020304c292039107";

#[test]
fn the_first_format_is_read() {
    let graph = graph();
    let codec = Codec::new(&graph, &JsonCodec);
    let read = codec.decode(&bytes(STEP)).unwrap();
    assert_eq!(format!("{read:?}"), format!("{:?}", step()));
    assert_eq!(hex(&codec.encode(&step()).unwrap()), MERGED);
    let mut memory = RecoveredRun::new(&graph);
    memory.fold(&graph, step()).unwrap();
    assert_eq!(hex(&codec.encode_memory(&memory).unwrap()), SNAPSHOT);
    let (read, _) = codec.decode_memory(&bytes(SNAPSHOT)).unwrap();
    assert_eq!(read.root.state.get(ChannelId(0)), Some(&json!(["x"])));
}

#[test]
fn merged_writes_name_their_reducers_in_the_fifth_format() {
    let graph = graph();
    let codec = Codec::new(&graph, &JsonCodec);
    let read = codec.decode(&bytes(MERGED)).unwrap();
    assert_eq!(format!("{read:?}"), format!("{:?}", step()));
    assert_eq!(bytes(MERGED)[1], 5, "an earlier antiphon says that it is too old");
    let mut replaces = step();
    let CommitChange::Step(delta) = &mut replaces.change else { panic!() };
    delta.merges[0].writes[0].op = WriteOp::Replace(json!("x"));
    assert_eq!(codec.encode(&replaces).unwrap()[1], 1, "an earlier antiphon can read it");
}

#[test]
fn calls_are_of_the_second_format() {
    let graph = graph();
    let codec = Codec::new(&graph, &JsonCodec);
    for (stored, meant) in
        [(CALLED, called(None)), (CAME, called(Some(CallOutcome::Json(json!([7])))))]
    {
        let read = codec.decode(&bytes(stored)).unwrap();
        assert_eq!(format!("{read:?}"), format!("{meant:?}"));
        assert_eq!(hex(&codec.encode(&meant).unwrap()), stored);
        assert_eq!(bytes(stored)[1], 2, "an earlier antiphon says that it is too old");
    }
}

#[test]
fn limits_of_sends_are_of_the_fourth_format() {
    let graph = graph();
    let codec = Codec::new(&graph, &JsonCodec);
    let send = |limit| Send { node: "a".into(), input: json!(7), timeout: None, limit };
    let limit = Some(Duration::from_secs(2));
    let sends = |limit| {
        let mut commit = step();
        let CommitChange::Step(delta) = &mut commit.change else { panic!() };
        delta.merges.clear();
        delta.pending_work.sends = vec![send(limit)];
        commit
    };
    let finished = |limit| {
        let to = vec![Destination::Send(send(limit))];
        let update = Update { route: Route::Only(to), ..Update::default() };
        commit(CommitChange::Finished(TaskKey { key: 5, slot: 0, node: NodeId(1) }, update))
    };
    for (meant, format) in
        [(sends(limit), 4), (sends(None), 1), (finished(limit), 4), (finished(None), 1)]
    {
        let stored = codec.encode(&meant).unwrap();
        assert_eq!(stored[1], format, "an earlier antiphon says that it is too old");
        assert_eq!(format!("{:?}", codec.decode(&stored).unwrap()), format!("{meant:?}"));
    }
    for (limit, format) in [(limit, 4), (None, 1)] {
        let mut memory = RecoveredRun::new(&graph);
        memory.fold(&graph, sends(limit)).unwrap();
        assert_eq!(codec.encode_memory(&memory).unwrap()[1], format);
    }
}

#[test]
fn a_digest_is_the_same_in_every_version() {
    use antiphon_core::checkpoint::digest;
    let digests =
        [&b""[..], b"{}", b"{\"cents\": 1200}"].map(|bytes| format!("{:x}", digest(bytes)));
    assert_eq!(digests, ["48218226ff3cd4bf", "ef13a0669f031202", "e6252ea0315a0699"]);
}

#[test]
fn a_run_of_an_earlier_antiphon_has_no_mark() {
    let header = |key_salt| RunHeader {
        run_id: "r".into(),
        seed: Seed::new(7),
        graph: "g".into(),
        key_salt,
    };
    assert_eq!(RunHeader::decode(&bytes("93a17207a167")).unwrap(), header(0));
    assert_eq!(hex(&header(5).encode()), "94a17207a16705");
    assert_eq!(RunHeader::decode(&header(5).encode()).unwrap(), header(5));
    assert_ne!(header(5).copied("other").key_salt, 5, "its calls are others");
}
