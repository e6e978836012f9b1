//! Threads that were stored with another reducer of a key.

use std::sync::Arc;

use antiphon_core::FaultCode;
use antiphon_core::budget::BudgetUsage;
use antiphon_core::channel::{ChannelId, Reducer, Write};
use antiphon_core::checkpoint::{
    Commit, CommitChange, MergedWrites, PendingWork, RecoveredRun, SuperstepDelta, WriteSource,
};
use antiphon_core::graph::{Graph, START};
use antiphon_core::value::Value as _;
use antiphon_stores::{Codec, JsonCodec};
use proptest::prelude::*;
use serde_json::{Value, json};

const KEY: ChannelId = ChannelId(0);

fn reducers() -> Vec<Reducer> {
    let upsert = |key: &str| Reducer::Upsert { key: key.to_owned() };
    vec![
        Reducer::Set,
        Reducer::Last,
        Reducer::Once,
        Reducer::Append,
        Reducer::Extend,
        Reducer::Record,
        Reducer::Fields,
        upsert("id"),
        upsert("name"),
        Reducer::Put,
        Reducer::Sum,
        Reducer::Max,
        Reducer::Messages,
        Reducer::Foreign(0),
        Reducer::Foreign(1),
    ]
}

fn graph(reducer: &Reducer) -> Arc<Graph<Value>> {
    let mut graph = Graph::builder("app");
    graph.channel("key", reducer.clone());
    graph.node("a");
    graph.edge(START, "a");
    graph.build().unwrap()
}

/// A value that the reducer takes.
fn written(reducer: &Reducer, number: i64) -> Value {
    match reducer {
        Reducer::Extend => json!([number, number]),
        Reducer::Messages => json!([{"id": number % 3, "content": number}]),
        Reducer::Record | Reducer::Fields => json!({ (number % 3).to_string(): number }),
        Reducer::Upsert { key } => json!({ key: number % 3, "value": number }),
        Reducer::Put => json!([number % 5, number]),
        _ => json!(number),
    }
}

/// A reducer of a host that joins texts.
fn joined(old: Option<&Value>, new: &Value) -> Value {
    json!(format!("{}+{new}", old.map(Value::to_string).unwrap_or_default()))
}

/// The commit of a superstep that merges one write into what `memory` holds, and the value then.
fn step(
    graph: &Graph<Value>,
    memory: &RecoveredRun<Value>,
    value: Value,
) -> (Commit<Value>, Value) {
    let (reducer, old) = (&graph.channel(KEY).unwrap().merge, memory.root.state.get(KEY));
    let (merged, reduced) = match reducer {
        Reducer::Foreign(_) => {
            let merged = joined(old, &value);
            (merged.clone(), vec![(KEY, merged)])
        }
        reducer => (Value::merge(reducer, old.cloned(), value.clone()), Vec::new()),
    };
    let writes = vec![Write::merge(KEY, value)].into();
    let merges = vec![MergedWrites { reduced, writes, former: Vec::new() }];
    let (source, step) = (WriteSource::Step, memory.root.step + 1);
    let pending_work = PendingWork::default();
    let change = CommitChange::Step(SuperstepDelta { source, step, merges, pending_work });
    let spent = BudgetUsage::ZERO;
    (Commit { id: 0, within: Vec::new(), spent, events: 0, change }, merged)
}

/// What a thread is worth whose commits `graph` reads, in whichever graph they were stored.
fn read(graph: &Arc<Graph<Value>>, stored: &[Vec<u8>]) -> RecoveredRun<Value> {
    let mut memory = RecoveredRun::new(graph);
    for bytes in stored {
        memory.fold(graph, Codec::new(graph, &JsonCodec).decode(bytes).unwrap()).unwrap();
    }
    memory
}

/// Stores a write of a run of `graph` that continues the thread, and gives the value then.
fn store(graph: &Arc<Graph<Value>>, stored: &mut Vec<Vec<u8>>, value: Value) -> Value {
    let (commit, merged) = step(graph, &read(graph, stored), value);
    stored.push(Codec::new(graph, &JsonCodec).encode(&commit).unwrap());
    merged
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_thread_reads_the_same_with_any_other_reducer_which_merges_the_next_write(
        numbers in prop::collection::vec(-9_i64..99, 1..6),
        next in 1_i64..99,
    ) {
        for (former, declared) in reducers().into_iter().flat_map(with_each) {
            let change = format!("{former:?} -> {declared:?}");
            let (before, now) = (graph(&former), graph(&declared));
            let mut stored = Vec::new();
            let values = numbers.iter().map(|number| written(&former, number.abs()));
            let value = values.map(|value| store(&before, &mut stored, value)).last();
            prop_assert_eq!(&value_of(&now, &stored), &value, "{}", &change);
            let new = written(&declared, next);
            if Value::check(&declared, value.as_ref(), &new).is_err() {
                continue;
            }
            let merged = Some(store(&now, &mut stored, new));
            for graph in [&now, &before] {
                prop_assert_eq!(&value_of(graph, &stored), &merged, "{}", &change);
            }
        }
    }
}

fn with_each(former: Reducer) -> impl Iterator<Item = (Reducer, Reducer)> {
    reducers().into_iter().map(move |declared| (former.clone(), declared))
}

fn value_of(graph: &Arc<Graph<Value>>, stored: &[Vec<u8>]) -> Option<Value> {
    read(graph, stored).root.state.get(KEY).cloned()
}

/// What antiphon stored before writes named their reducers: `key`, to which "x" was appended.
const UNNAMED: &str =
    "950190960100020000000992009402039192909193a36b657900a1789991a161909090c29090c0c0";

#[test]
fn a_write_without_the_name_of_its_reducer_is_refused_where_a_function_merges_now() {
    let places = (0..UNNAMED.len()).step_by(2);
    let bytes: Vec<u8> =
        places.map(|place| u8::from_str_radix(&UNNAMED[place..place + 2], 16).unwrap()).collect();
    let known = read(&graph(&Reducer::Append), std::slice::from_ref(&bytes));
    assert_eq!(known.root.state.get(KEY), Some(&json!(["x"])));
    let graph = graph(&Reducer::Foreign(0));
    let commit = Codec::new(&graph, &JsonCodec).decode(&bytes).unwrap();
    let fault = RecoveredRun::new(&graph).fold(&graph, commit).unwrap_err();
    assert_eq!(fault.code, FaultCode::CheckpointMisfit);
    assert_eq!(fault.details["key"], "key");
    assert!(fault.message.contains("`key`"), "{}", fault.message);
    assert!(fault.hint.as_deref().unwrap().contains("reducer that stored it"));
}
