//! Commits to bytes and back.

use std::sync::Arc;

use crate::fixtures::nesting;
use antiphon_core::budget::{BudgetDimension, BudgetUsage};
use antiphon_core::channel::{ChannelId, Reducer, Write, WriteOp};
use antiphon_core::checkpoint::{
    Call, CallOutcome, CallRecord, Callee, Commit, CommitChange, MergedWrites, NestedLevel,
    PendingWork, RecoveredRun, SubrunCommit, SuperstepDelta, TaskKey, WriteSource,
};
use antiphon_core::command::{Destination, Route, Send, Update};
use antiphon_core::effect::{Ending, Question};
use antiphon_core::graph::{Graph, NodeId, START};
use antiphon_core::model::{FinishReason, ModelReply, Usage};
use antiphon_core::{Category, Fault, ToolCall};
use antiphon_stores::codec::{ByteReader, CommitEvent, CommitSummary, DecodedCommit, ValueCodec};
use antiphon_stores::{Codec, JsonCodec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Three nodes, a join, a nested graph, and a channel of each kind.
fn graph() -> Arc<Graph<Value>> {
    let mut graph = nesting(&["a", "b", "c"]);
    graph.edge(START, "a").edge(START, "b").join(&["a", "b"], "c").edge("c", "sub");
    graph.build().unwrap()
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no others", |x| x.is_finite()).prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn nodes() -> impl Strategy<Value = Vec<NodeId>> {
    prop::collection::vec((1_u32..5).prop_map(NodeId), 0..4)
}

fn writes() -> impl Strategy<Value = Vec<Write<Value>>> {
    let op = prop_oneof![
        values().prop_map(WriteOp::Merge),
        values().prop_map(WriteOp::Replace),
        Just(WriteOp::Reset),
    ];
    let write = ((0_u32..2).prop_map(ChannelId), op);
    prop::collection::vec(write.prop_map(|(channel, op)| Write { channel, op }), 0..4)
}

fn send() -> impl Strategy<Value = Send<Value>> {
    let timeout = prop::option::of((0_u64..1 << 40).prop_map(std::time::Duration::from_micros));
    let node = prop::sample::select(&["a", "sub"][..]);
    (node, values(), timeout.clone(), timeout).prop_map(|(node, input, timeout, limit)| Send {
        node: node.into(),
        input,
        timeout,
        limit,
    })
}

fn pending_work() -> impl Strategy<Value = PendingWork<Value>> {
    let arrived = prop::option::of(prop::sample::select(vec![vec![NodeId(1)], vec![NodeId(2)]]));
    let rest = (arrived, any::<bool>(), prop::option::of(any::<u64>()), any::<bool>());
    (nodes(), nodes(), prop::collection::vec(send(), 0..3), rest).prop_map(
        |(ready, deferred, sends, (arrived, over, grace, odd))| PendingWork {
            ready: ready.into(),
            deferred,
            sends,
            arrived: arrived.into_iter().map(|sources| (0, sources)).collect(),
            over,
            sealed: odd.then_some(ChannelId(1)).into_iter().collect(),
            exempt: odd.then_some(BudgetDimension::Retries).into_iter().collect(),
            grace,
            detour: odd.then_some(NodeId(3)),
        },
    )
}

fn choices() -> impl Strategy<Value = Vec<Destination<Value>>> {
    let choice = prop_oneof![
        Just(Destination::Node(NodeId(2))),
        Just(Destination::Name("label".into())),
        send().prop_map(Destination::Send),
        Just(Destination::End),
    ];
    prop::collection::vec(choice, 0..3)
}

fn changes() -> impl Strategy<Value = CommitChange<Value>> {
    let source = [WriteSource::Begin, WriteSource::Turn, WriteSource::Step, WriteSource::Edit];
    let reduced = prop::collection::vec((Just(ChannelId(1)), values()), 0..2);
    let merged = (reduced, writes()).prop_map(|(reduced, writes)| MergedWrites {
        reduced,
        writes: writes.into(),
        former: Vec::new(),
    });
    let merges = prop::collection::vec(merged, 0..3);
    let delta = (prop::sample::select(source.to_vec()), any::<u64>(), merges, pending_work());
    let task = || {
        (any::<u64>(), any::<u32>()).prop_map(|(key, slot)| TaskKey { key, slot, node: NodeId(1) })
    };
    let route = prop_oneof![
        Just(Route::Follow),
        choices().prop_map(Route::Also),
        choices().prop_map(Route::Only),
        Just(Route::End),
    ];
    let question = ("[0-9a-f]{32}", values()).prop_map(|(id, value)| Question {
        id,
        path: vec!["sub".into(), "deep".into()],
        value,
    });
    let fault = Fault::foreign(Category::Tool, "broken", "it broke").with("why", "it was old");
    let ended = prop::sample::select(vec![
        Ok(Ending::Completed),
        Ok(Ending::Budget(BudgetDimension::WallTime)),
        Ok(Ending::Cancelled("the user left".into())),
        Ok(Ending::Breakpoint),
        Err(fault),
    ]);
    prop_oneof![
        delta.prop_map(|(source, step, merges, pending_work)| CommitChange::Step(SuperstepDelta {
            source,
            step,
            merges,
            pending_work
        })),
        (task(), writes(), route).prop_map(|(task, writes, route)| {
            CommitChange::Finished(task, Update { writes: writes.into(), route })
        }),
        (task(), question)
            .prop_map(|(task, question)| CommitChange::Asked(task, Box::new(question))),
        (task(), values()).prop_map(|(task, value)| CommitChange::Answered(task, value)),
        ended.prop_map(CommitChange::Ended),
        (task(), 1_u32..9, calls()).prop_map(|(task, attempt, made)| CommitChange::Called(
            task,
            attempt,
            Box::new(made)
        )),
        (task(), 1_u32..9, subruns()).prop_map(|(task, attempt, commit)| CommitChange::Subrun(
            task,
            attempt,
            Box::new(commit)
        )),
    ]
}

fn subruns() -> impl Strategy<Value = SubrunCommit> {
    let bytes = prop::collection::vec(any::<u8>(), 0..300);
    (any::<u32>(), any::<bool>(), any::<bool>(), bytes).prop_map(
        |(index, repeatable, ended, bytes)| SubrunCommit {
            index,
            // It tells the store when to write, and is not written itself.
            must_be_durable: false,
            repeatable,
            ended,
            bytes,
        },
    )
}

fn calls() -> impl Strategy<Value = CallRecord<Value>> {
    let reply = ".{0,20}".prop_map(|text| ModelReply {
        text,
        media: Vec::new(),
        tool_calls: vec![ToolCall { id: "1".into(), name: "pay".into(), arguments: "{".into() }],
        finish: FinishReason::ToolCalls,
        usage: Usage { input_tokens: 7, output_tokens: 1 },
        model: "scripted".into(),
        attempts: 2,
        latency: std::time::Duration::from_millis(12),
        provider_content: None,
    });
    let outcome = prop_oneof![
        values().prop_map(CallOutcome::Value),
        values().prop_map(CallOutcome::Raised),
        reply.prop_map(|reply| CallOutcome::Reply(Box::new(reply))),
        values().prop_map(CallOutcome::Json),
        Just(CallOutcome::Failed(Fault::foreign(Category::Tool, "broken", "it broke"))),
        Just(CallOutcome::Interrupted),
    ];
    let call = (prop::sample::select(&Callee::ALL), ".{0,9}", any::<u64>(), any::<bool>());
    let call = call.prop_map(|(callee, name, digest, repeatable)| Call {
        callee,
        name,
        digest,
        repeatable,
    });
    (any::<u32>(), any::<bool>(), call, prop::option::of(outcome))
        .prop_map(|(index, alone, call, outcome)| CallRecord { index, alone, call, outcome })
}

fn commits() -> impl Strategy<Value = Commit<Value>> {
    let counts =
        (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(one, two, three)| BudgetUsage {
            supersteps: one,
            model_calls: two,
            tool_calls: three,
            retries: 1,
            usage: Usage { input_tokens: two, output_tokens: one },
        });
    (counts, any::<u64>(), changes()).prop_map(|(spent, events, change)| Commit {
        id: 0,
        within: Vec::new(),
        spent,
        events,
        change,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_summary_agrees_with_the_commit(commit in commits()) {
        let graph = graph();
        let bytes = Codec::new(&graph, &JsonCodec).encode(&commit).unwrap();
        let note = CommitSummary::at_commit(&bytes).unwrap().note;
        match (&commit.change, note) {
            (CommitChange::Step(delta), CommitEvent::Checkpoint { source, step, written, next }) => {
                prop_assert_eq!((source, step), (Some(delta.source), delta.step));
                let writes = delta.merges.iter().map(|one| one.reduced.len() + one.writes.len());
                prop_assert_eq!(written.len(), writes.sum::<usize>());
                let (ready, sends) = delta.pending_work.upcoming();
                let mut expected: Vec<_> =
                    ready.iter().map(|node| graph.node_name(Some(*node)).to_string()).collect();
                expected.extend(sends.iter().map(|send| send.node.to_string()));
                if let Some(detour) = delta.pending_work.detour {
                    expected = vec![graph.node_name(Some(detour)).to_string()];
                }
                prop_assert_eq!(next, expected);
            }
            (CommitChange::Finished(task, _), CommitEvent::Finished(key))
            | (CommitChange::Answered(task, _), CommitEvent::Answered(key)) => prop_assert_eq!(task.key, key),
            (CommitChange::Asked(asked, question), CommitEvent::Asked { task, slot, id, path, value }) => {
                prop_assert_eq!((asked.key, u64::from(asked.slot)), (task, slot));
                prop_assert_eq!(&question.id, id);
                prop_assert_eq!(&question.path, &path);
                let value = JsonCodec.read(&mut ByteReader::new(value)).unwrap();
                prop_assert_eq!(&question.value, &value);
            }
            (CommitChange::Ended(ended), CommitEvent::Ended(seen)) => prop_assert_eq!(ended, &seen),
            (CommitChange::Called(..) | CommitChange::Subrun(..), CommitEvent::Other) => {}
            (change, note) => prop_assert!(false, "{change:?} seen as {note:?}"),
        }
    }

    #[test]
    fn what_is_read_is_what_was_written(commit in commits()) {
        let graph = graph();
        let codec = Codec::new(&graph, &JsonCodec);
        let bytes = codec.encode(&commit).unwrap();
        let read = codec.decode(&bytes).unwrap();
        prop_assert_eq!(format!("{:?}", read), format!("{:?}", commit));
    }

    #[test]
    fn bytes_that_were_cut_or_changed_are_an_error_or_a_commit_and_nothing_else(
        commit in commits(),
        place in any::<prop::sample::Index>(),
        bits in 1_u8..,
    ) {
        let graph = graph();
        let codec = Codec::new(&graph, &JsonCodec);
        let mut bytes = codec.encode(&commit).unwrap();
        let place = place.index(bytes.len());
        prop_assert!(codec.decode(&bytes[..place]).is_err(), "it was cut");
        bytes[place] ^= bits;
        if let Err(fault) = codec.decode(&bytes) {
            let known = ["checkpoint_corrupt", "checkpoint_misfit", "store_version"];
            prop_assert!(known.contains(&fault.code.as_str()), "{}", fault.code);
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let graph = graph();
        let codec = Codec::new(&graph, &JsonCodec);
        // Nothing is claimed of the outcome but that there is one.
        let _ = codec.decode(&bytes);
        let _ = codec.decode_memory(&bytes);
    }
}

fn step(writes: Vec<Write<Value>>, ready: Vec<NodeId>) -> Commit<Value> {
    let merges = vec![MergedWrites { writes: writes.into(), ..MergedWrites::default() }];
    let pending_work = PendingWork { ready: ready.into(), ..PendingWork::default() };
    let change = CommitChange::Step(SuperstepDelta {
        source: WriteSource::Step,
        step: 1,
        merges,
        pending_work,
    });
    Commit { id: 0, within: Vec::new(), spent: BudgetUsage::ZERO, events: 0, change }
}

#[test]
fn a_superstep_costs_little_more_than_what_it_wrote() {
    let graph = graph();
    let message = "x".repeat(200);
    let write = Write::merge(ChannelId(0), json!(message));
    let bytes = Codec::new(&graph, &JsonCodec).encode(&step(vec![write], vec![NodeId(1)])).unwrap();
    assert!(bytes.len() <= 200 + 60, "{}", bytes.len());
}

#[test]
fn a_nested_graph_is_stored_with_its_own_names() {
    let graph = graph();
    let codec = Codec::new(&graph, &JsonCodec);
    let level = NestedLevel { node: graph.node_id("sub").unwrap(), attempt: 2, key: u64::MAX };
    let write = Write::merge(ChannelId(0), json!(1));
    let commit = Commit { within: vec![level], ..step(vec![write], vec![NodeId(1)]) };
    let bytes = codec.encode(&commit).unwrap();
    assert!(bytes.windows(4).any(|name| name == b"deep"));
    let read = codec.decode(&bytes).unwrap();
    assert_eq!(format!("{read:?}"), format!("{commit:?}"));
}

#[test]
fn a_name_that_the_graph_no_longer_has_is_named() {
    let graph = graph();
    let commit = step(vec![Write::merge(ChannelId(1), json!(1))], vec![NodeId(1)]);
    let bytes = Codec::new(&graph, &JsonCodec).encode(&commit).unwrap();
    let smaller = smaller();
    let fault = Codec::new(&smaller, &JsonCodec).decode(&bytes).unwrap_err();
    assert_eq!(fault.code, "checkpoint_misfit");
    assert!(fault.message.ends_with("channel: x"), "{}", fault.message);
}

/// A later version of [`graph`], which has lost the channel `x` and all nodes but `a`.
fn smaller() -> Arc<Graph<Value>> {
    let mut graph = Graph::builder("g");
    graph.channel("log", Reducer::Append);
    graph.node("a");
    graph.edge(START, "a");
    graph.build().unwrap()
}

#[test]
fn what_the_graph_still_has_of_a_commit_is_decoded() {
    let (graph, smaller) = (graph(), smaller());
    let present = |commit: &Commit<Value>| {
        let bytes = Codec::new(&graph, &JsonCodec).encode(commit).unwrap();
        Codec::new(&smaller, &JsonCodec).decode_present(&bytes).unwrap()
    };
    let ends_with = |fault: Option<Fault>, name: &str| fault.unwrap().message.ends_with(name);
    let writes =
        vec![Write::merge(ChannelId(1), json!([1, {}])), Write::merge(ChannelId(0), json!("kept"))];
    let (a, sub) = (graph.node_id("a").unwrap(), graph.node_id("sub").unwrap());
    let DecodedCommit { commit, missing } = present(&step(writes, vec![sub, a]));
    let Some(CommitChange::Step(delta)) = commit.map(|commit| commit.change) else { panic!() };
    assert_eq!(delta.merges[0].writes.len(), 1);
    assert_eq!(delta.merges[0].writes[0].op, WriteOp::Merge(json!("kept")));
    assert_eq!(delta.pending_work.ready.as_slice(), [smaller.node_id("a").unwrap()]);
    assert!(ends_with(missing.channel, "channel: x"));
    assert!(ends_with(missing.work, "node: sub"));

    let task = TaskKey { key: 7, slot: 0, node: sub };
    let of_task = CommitChange::Finished(task, Update::from(Vec::new()));
    let decoded = present(&Commit { change: of_task, ..step(Vec::new(), Vec::new()) });
    assert!(decoded.commit.is_none());
    assert!(ends_with(decoded.missing.work, "node: sub"));

    let level = NestedLevel { node: sub, attempt: 1, key: 7 };
    let decoded = present(&Commit { within: vec![level], ..step(Vec::new(), Vec::new()) });
    assert!(decoded.commit.is_none());
    assert!(ends_with(decoded.missing.work, "node: sub"));
}

#[test]
fn a_later_format_is_refused_by_its_number() {
    let graph = graph();
    let codec = Codec::new(&graph, &JsonCodec);
    let mut bytes = codec.encode(&step(Vec::new(), Vec::new())).unwrap();
    bytes[1] = 9;
    let fault = codec.decode(&bytes).unwrap_err();
    assert_eq!((fault.code.as_str(), fault.message.ends_with('9')), ("store_version", true));
}

#[test]
fn bytes_that_nest_without_end_are_refused() {
    let graph = graph();
    let mut bytes = vec![0x95, 1, 0x90, 0x96, 0, 0, 0, 0, 0, 0, 0, 0x92, 3, 0x94, 0, 0, 0xa1, b'a'];
    bytes.extend(std::iter::repeat_n(0x91, 1_000_000));
    let fault = Codec::new(&graph, &JsonCodec).decode(&bytes).unwrap_err();
    assert_eq!(fault.code, "checkpoint_corrupt");
    assert!(fault.message.ends_with("nested too deeply"), "{}", fault.message);
}

#[test]
fn a_length_that_lies_allocates_nothing() {
    let graph = graph();
    // A list of four thousand million values, and none of them.
    let mut bytes = vec![0x95, 1, 0x90, 0x96, 0, 0, 0, 0, 0, 0, 0, 0x92, 3, 0x94, 0, 0, 0xa1, b'a'];
    bytes.extend([0xdd, 0xff, 0xff, 0xff, 0xff]);
    let fault = Codec::new(&graph, &JsonCodec).decode(&bytes).unwrap_err();
    assert!(fault.message.ends_with("it ends too early"), "{}", fault.message);
}

#[test]
fn a_snapshot_holds_the_state_and_what_comes_next() {
    let graph = graph();
    let codec = Codec::new(&graph, &JsonCodec);
    let mut memory = RecoveredRun::new(&graph);
    let writes = vec![
        Write::merge(ChannelId(0), json!("one")),
        Write::merge(ChannelId(1), json!({"two": [2, 2.5, null]})),
    ];
    memory.fold(&graph, step(writes, vec![NodeId(3)])).unwrap();
    let (read, _) = codec.decode_memory(&codec.encode_memory(&memory).unwrap()).unwrap();
    for channel in [ChannelId(0), ChannelId(1)] {
        assert_eq!(read.root.state.get(channel), memory.root.state.get(channel));
    }
    assert_eq!((read.root.step, read.root.pending_work.ready.as_slice()), (1, &[NodeId(3)][..]));
}
