//! Bytes that somebody has made up: they are refused, or mean something harmless,
//! and cost no more than they weigh.

use std::process::Command;
use std::sync::Arc;

use crate::fixtures::nesting;
use antiphon_core::budget::BudgetUsage;
use antiphon_core::channel::{ChannelId, Reducer, Write, WriteOp};
use antiphon_core::checkpoint::{Call, CallOutcome, CallRecord, Callee};
use antiphon_core::checkpoint::{
    Commit, CommitChange, MergedWrites, NestedLevel, PendingWork, RecoveredRun, SuperstepDelta,
    TaskKey, WriteSource,
};
use antiphon_core::command::{Destination, Route, Send, Update};
use antiphon_core::effect::{Ending, Question};
use antiphon_core::graph::{Graph, NodeId, START};
use antiphon_core::{Category, Fault, Seed, Time};
use antiphon_runtime::store::{EntryKind, EntryTag};
use antiphon_stores::checkpoint_writer::read;
use antiphon_stores::codec::CommitSummary;
use antiphon_stores::{Cipher, Codec, EntryPosition, JsonCodec, OpenedEntry, RunHeader};
use serde_json::{Value, json};

const CASES: usize = 25_600;
/// Kilobytes that a process may map; it takes a tenth of that to start.
const ROOM: u32 = 1_000_000;

struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }
}

fn graph() -> Arc<Graph<Value>> {
    let mut graph = nesting(&["a", "b", "c"]);
    graph.channel("sum", Reducer::Sum);
    graph.channel("fields", Reducer::Record);
    graph.channel("people", Reducer::Upsert { key: "id".into() });
    graph.channel("messages", Reducer::Messages);
    graph.channel("slots", Reducer::Put);
    graph.edge(START, "a").edge(START, "b").join(&["a", "b"], "c").edge("c", "sub");
    graph.build().unwrap()
}

fn commit(within: Vec<NestedLevel>, change: CommitChange<Value>) -> Commit<Value> {
    Commit { id: 0, within, spent: BudgetUsage::ZERO, events: 3, change }
}

fn merged(reduced: Vec<(ChannelId, Value)>, writes: Vec<Write<Value>>) -> MergedWrites<Value> {
    MergedWrites { reduced, writes: writes.into(), former: Vec::new() }
}

fn commits() -> Vec<Commit<Value>> {
    let value = json!({"list": [1, -2, 2.5, null, true], "text": "a text", "deep": [[[["x"]]]]});
    let write = |channel, op| Write { channel: ChannelId(channel), op };
    let writes = vec![
        write(0, WriteOp::Merge(value.clone())),
        write(1, WriteOp::Replace(json!("y"))),
        write(2, WriteOp::Merge(json!(4))),
        write(3, WriteOp::Merge(json!({"a": 1}))),
        write(4, WriteOp::Merge(json!({"id": "1", "name": "n"}))),
        write(5, WriteOp::Merge(json!([{"role": "user", "content": "hi", "id": "m"}]))),
        write(6, WriteOp::Merge(json!([2, "slot"]))),
        write(1, WriteOp::Reset),
    ];
    let send = Send { node: "a".into(), input: json!([1]), timeout: None, limit: None };
    let pending_work = PendingWork {
        ready: vec![NodeId(1), NodeId(2)].into(),
        sends: vec![send.clone()],
        arrived: vec![(0, vec![NodeId(1)])],
        grace: Some(2),
        ..PendingWork::default()
    };
    let delta = |source, merges| {
        CommitChange::Step(SuperstepDelta {
            source,
            step: 1,
            merges,
            pending_work: pending_work.clone(),
        })
    };
    let inner = merged(Vec::new(), vec![write(0, WriteOp::Merge(json!(1)))]);
    let merged = merged(vec![(ChannelId(1), value.clone())], writes.clone());
    let task = TaskKey { key: 7, slot: 0, node: NodeId(1) };
    let level = NestedLevel { node: graph().node_id("sub").unwrap(), attempt: 1, key: 9 };
    let route = Route::Also(vec![Destination::Node(NodeId(2)), Destination::Send(send)]);
    let question = Question { id: "0".repeat(32), path: vec!["a".into()], value: value.clone() };
    let nested = SuperstepDelta {
        source: WriteSource::Begin,
        step: 0,
        merges: vec![inner],
        pending_work: PendingWork { ready: vec![NodeId(1)].into(), ..PendingWork::default() },
    };
    let call = Call { callee: Callee::Tool, name: "t".into(), digest: 9, repeatable: true };
    let outcome = Some(CallOutcome::Value(value.clone()));
    let made = CallRecord { index: 0, alone: true, call, outcome };
    vec![
        commit(Vec::new(), CommitChange::Called(task, 1, Box::new(made))),
        commit(Vec::new(), delta(WriteSource::Begin, vec![merged.clone()])),
        commit(Vec::new(), delta(WriteSource::Step, vec![merged.clone(), merged])),
        commit(vec![level], CommitChange::Step(nested)),
        commit(Vec::new(), CommitChange::Finished(task, Update { writes: writes.into(), route })),
        commit(Vec::new(), CommitChange::Asked(task, Box::new(question))),
        commit(Vec::new(), CommitChange::Answered(task, value)),
        commit(Vec::new(), CommitChange::Ended(Ok(Ending::Cancelled("enough".into())))),
        commit(
            Vec::new(),
            CommitChange::Ended(Err(Fault::foreign(Category::Tool, "broken", "it broke"))),
        ),
    ]
}

/// What is stored, by kind.
fn stored() -> Vec<(EntryKind, Vec<u8>)> {
    let graph = graph();
    let codec = Codec::new(&graph, &JsonCodec);
    let mut memory = RecoveredRun::new(&graph);
    let mut stored: Vec<_> = commits()
        .into_iter()
        .map(|commit| {
            let bytes = codec.encode(&commit).unwrap();
            memory.fold(&graph, commit).unwrap();
            (EntryKind::Step, bytes)
        })
        .collect();
    stored.push((EntryKind::Snapshot, codec.encode_memory(&memory).unwrap()));
    let header =
        RunHeader { run_id: "run".into(), seed: Seed::new(7), graph: "outer".into(), key_salt: 3 };
    stored.push((EntryKind::Run, header.encode()));
    stored
}

/// Lengths that promise more than there is.
const PROMISES: [&[u8]; 8] = [
    &[0xDD, 0xFF, 0xFF, 0xFF, 0xFF],
    &[0xDF, 0xFF, 0xFF, 0xFF, 0xFF],
    &[0xDB, 0xFF, 0xFF, 0xFF, 0xFF],
    &[0xC6, 0xFF, 0xFF, 0xFF, 0xFF],
    &[0xC9, 0xFF, 0xFF, 0xFF, 0xFF, 0x07],
    &[0xDC, 0xFF, 0xFF],
    &[0xDE, 0xFF, 0xFF],
    &[0xCF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
];

fn forge(chance: &mut Chance, bytes: &mut Vec<u8>) {
    for _ in 0..=chance.below(3) {
        let place = chance.below(bytes.len());
        let promise = PROMISES.get(chance.below(PROMISES.len())).unwrap().to_vec();
        match chance.below(7) {
            0 => bytes.truncate(place),
            1 => drop(bytes.splice(place..place, promise)),
            2 if place < bytes.len() => drop(bytes.splice(place..=place, promise)),
            3 => {
                let end = place + chance.below(bytes.len() - place);
                let copy = bytes.get(place..end).unwrap_or_default().to_vec();
                let to = chance.below(bytes.len());
                drop(bytes.splice(to..to, copy));
            }
            4 => {
                let end = place + chance.below(bytes.len() - place);
                drop(bytes.drain(place..end));
            }
            5 => drop(bytes.splice(place..place, vec![0x91; chance.below(400)])),
            _ => {
                let byte = chance.byte();
                if let Some(at) = bytes.get_mut(place) {
                    *at = byte;
                }
            }
        }
    }
}

fn expect_refused(fault: &Fault) {
    let known = ["checkpoint_corrupt", "checkpoint_misfit", "store_version"];
    assert!(known.contains(&fault.code.as_str()), "{fault:?}");
    assert!(fault.message.len() < 2_000, "{}", fault.message.len());
}

/// Reads forged bytes in every way there is; says whether they mean nothing.
fn look_at(about: &(Arc<Graph<Value>>, Vec<u8>), kind: EntryKind, bytes: &[u8]) -> bool {
    let (graph, before) = about;
    let record = |kind, body: &[u8], seq| OpenedEntry {
        seq,
        parent: seq - 1,
        kind,
        step: seq,
        at: Time::default(),
        body: body.to_vec(),
    };
    let alone = read(graph, &JsonCodec, &[record(kind, bytes, 1)]);
    let way = [record(EntryKind::Step, before, 1), record(kind, bytes, 2)];
    let further = read(graph, &JsonCodec, &way);
    let summary = match kind {
        EntryKind::Snapshot => CommitSummary::at_memory(bytes).map(|_| ()),
        EntryKind::Run => RunHeader::decode(bytes).map(|_| ()),
        _ => CommitSummary::at_commit(bytes).map(|_| ()),
    };
    let found = [alone.map(|_| ()), further.map(|_| ()), summary];
    found.iter().filter_map(|found| found.as_ref().err()).for_each(expect_refused);
    found[..2].iter().all(Result::is_err)
}

/// The graph, and what was stored first.
fn about() -> (Arc<Graph<Value>>, Vec<u8>) {
    let first = commits().into_iter().find(|commit| matches!(commit.change, CommitChange::Step(_)));
    let bytes = Codec::new(&graph(), &JsonCodec).encode(&first.unwrap()).unwrap();
    (graph(), bytes)
}

#[test]
fn forged_bytes_are_refused_or_harmless_within_little_memory() {
    if std::env::var_os("ANTIPHON_FORGED").is_none() {
        let itself = std::env::current_exe().unwrap();
        let name = "hostile::forged_bytes_are_refused_or_harmless_within_little_memory";
        let script = format!("ulimit -v {ROOM} && exec \"$0\" --exact {name} --nocapture");
        let done = Command::new("sh")
            .args(["-c", &script, &itself.to_string_lossy()])
            .env("ANTIPHON_FORGED", "1")
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{error}");
        return;
    }
    let (about, stored, mut chance) = (about(), stored(), Chance(5));
    let mut refused = 0;
    for case in 0..CASES {
        let (kind, original) = &stored[case % stored.len()];
        let mut bytes = original.clone();
        forge(&mut chance, &mut bytes);
        refused += usize::from(look_at(&about, *kind, &bytes));
    }
    assert!(refused > CASES / 2, "most of them mean nothing: {refused}");
    assert!(refused < CASES, "some of them are other values");
}

#[test]
fn what_is_stored_is_read_in_every_way() {
    let about = about();
    for (kind, bytes) in stored() {
        assert!(!look_at(&about, kind, &bytes), "{kind:?}");
        for end in 0..bytes.len() {
            let cut = &bytes[..end];
            let is_short_header = kind == EntryKind::Run && RunHeader::decode(cut).is_ok();
            assert!(look_at(&about, kind, cut) || is_short_header, "{kind:?} cut at {end}");
        }
    }
}

#[test]
fn noise_opens_no_seal() {
    let (kind, at) = (EntryKind::Step, Time::from_micros(5));
    let place = EntryPosition { thread: "t", seq: 1, parent: 0, base: 0, kind, step: 1, at };
    let mut chance = Chance(6);
    for seal in [Cipher::tagged(), Cipher::keyed(&[7; 32])] {
        let mut sealed = vec![1; 100];
        let tag = seal.close(place, &mut sealed).unwrap();
        for _ in 0..5_000 {
            let (mut forged, mut noise) = (sealed.clone(), tag.as_bytes().to_vec());
            if chance.below(2) == 0 {
                forge(&mut chance, &mut forged);
            } else {
                forge(&mut chance, &mut noise);
            }
            let noise = EntryTag::new(&noise);
            if (&forged, &noise) != (&sealed, &tag) {
                let fault = seal.open(place, &noise, forged).unwrap_err();
                assert!(fault.code.is_of_checkpoint(), "{fault:?}");
            }
        }
    }
}
