//! Each merge rule, on JSON.

use antiphon_core::budget::Limits;
use antiphon_core::channel::{Channel, Reducer, ValueKind, WriteOp};
use antiphon_core::graph::{Graph, START};
use antiphon_core::{Fault, FaultCode};
use serde_json::{Value, json};

use crate::support::{Script, TestDriver, chain, driver};

/// A chain of nodes that each do one thing to the channel `x`.
fn written(channel: Channel<Value>, ops: Vec<WriteOp<Value>>) -> TestDriver {
    let names: Vec<String> = (0..ops.len()).map(|place| format!("n{place}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut graph = chain(&names);
    graph.add_channel(channel);
    let script = names.iter().zip(ops).fold(Script::new(), |script, (name, op)| {
        script.node(name, move |call| call.op("x", op.clone()))
    });
    driver(&graph.build().unwrap(), script)
}

fn channel(merge: Reducer, default: Option<Value>) -> Channel<Value> {
    Channel { name: "x".into(), merge, default, kind: ValueKind::Any }
}

fn merged(merge: Reducer, values: &[Value]) -> Value {
    let ops = values.iter().cloned().map(WriteOp::Merge).collect();
    written(channel(merge, None), ops).complete()["x"].clone()
}

fn refused(merge: Reducer, values: &[Value]) -> String {
    let ops = values.iter().cloned().map(WriteOp::Merge).collect();
    let fault: Fault = written(channel(merge, None), ops).fails();
    assert_eq!(fault.code, FaultCode::WriteUnmergeable);
    fault.message.clone()
}

#[test]
fn set_and_last_keep_the_newest() {
    assert_eq!(merged(Reducer::Set, &[json!(1), json!([2])]), json!([2]));
    assert_eq!(merged(Reducer::Last, &[json!(1), json!(null)]), json!(null));
}

#[test]
fn once_takes_one_write_and_no_second() {
    assert_eq!(merged(Reducer::Once, &[json!(1)]), json!(1));
    let message = refused(Reducer::Once, &[json!(1), json!(1)]);
    assert_eq!(
        message,
        "`n1` wrote a value that cannot be merged into the key `x`: it can be written only once, and already has a value"
    );
}

#[test]
fn once_may_be_written_over_a_default_and_again_after_a_reset() {
    let with_default = channel(Reducer::Once, Some(json!(0)));
    assert_eq!(written(with_default.clone(), vec![WriteOp::Merge(json!(1))]).complete()["x"], 1);
    let ops = vec![WriteOp::Merge(json!(1)), WriteOp::Reset, WriteOp::Merge(json!(2))];
    assert_eq!(written(with_default, ops).complete()["x"], 2);
}

#[test]
fn append_adds_one_and_extend_adds_many() {
    assert_eq!(merged(Reducer::Append, &[json!([1]), json!(2)]), json!([[1], 2]));
    assert_eq!(merged(Reducer::Extend, &[json!([1]), json!([2, 3])]), json!([1, 2, 3]));
    assert!(refused(Reducer::Extend, &[json!(1)]).ends_with("needs a list, found: a number"));
}

#[test]
fn record_merges_one_level_deep() {
    let values = [json!({"a": {"b": 1}, "c": 1}), json!({"a": {"d": 2}})];
    assert_eq!(merged(Reducer::Record, &values), json!({"a": {"d": 2}, "c": 1}));
    assert!(refused(Reducer::Record, &[json!([])]).ends_with("needs an object, found: a list"));
}

#[test]
fn fields_merge_as_a_record_does() {
    let values = [json!({"a": {"b": 1}, "c": 1}), json!({"a": {"d": 2}})];
    assert_eq!(merged(Reducer::Fields, &values), json!({"a": {"d": 2}, "c": 1}));
    assert!(refused(Reducer::Fields, &[json!([])]).ends_with("needs an object, found: a list"));
}

#[test]
fn upsert_replaces_by_key_and_keeps_the_order() {
    let rule = || Reducer::Upsert { key: "id".into() };
    let values = [json!({"id": 1, "v": "a"}), json!({"id": 2}), json!({"id": 1, "v": "b"})];
    assert_eq!(merged(rule(), &values), json!([{"id": 1, "v": "b"}, {"id": 2}]));
    assert!(refused(rule(), &[json!({"no": 1})]).ends_with("with the key: id"));
}

#[test]
fn put_writes_one_slot_and_fills_with_empty_ones() {
    let values = [json!([2, "c"]), json!([0, "a"])];
    assert_eq!(merged(Reducer::Put, &values), json!(["a", null, "c"]));
    for wrong in [json!("c"), json!([1]), json!([-1, 2]), json!([9_999_999_999_u64, 1])] {
        assert!(refused(Reducer::Put, &[wrong]).contains("a pair of an index and a value"));
    }
}

#[test]
fn sum_is_exact_for_whole_numbers_and_max_keeps_the_larger() {
    let big = 9_007_199_254_740_993_i64;
    assert_eq!(merged(Reducer::Sum, &[json!(big), json!(1)]), json!(big + 1));
    assert_eq!(merged(Reducer::Sum, &[json!(1), json!(0.5)]), json!(1.5));
    assert_eq!(
        merged(Reducer::Sum, &[json!(i64::MAX), json!(1)]),
        json!(9_223_372_036_854_775_808.0)
    );
    assert_eq!(merged(Reducer::Max, &[json!(big + 1), json!(big)]), json!(big + 1));
    assert_eq!(merged(Reducer::Max, &[json!(1), json!(2.5), json!(2)]), json!(2.5));
    assert!(refused(Reducer::Sum, &[json!("1")]).ends_with("needs a number, found: a text"));
}

#[test]
fn messages_replace_by_id_and_append_what_has_none() {
    let values = [
        json!([{"id": "1", "content": "a"}, {"content": "b"}]),
        json!([{"id": "1", "content": "c"}, {"content": "b"}, {"id": null}]),
    ];
    let expected =
        json!([{"id": "1", "content": "c"}, {"content": "b"}, {"content": "b"}, {"id": null}]);
    assert_eq!(merged(Reducer::Messages, &values), expected);
}

#[test]
fn a_reset_clears_to_the_default_and_merges_of_the_same_step_follow() {
    let listed = || channel(Reducer::Append, Some(json!([0])));
    let ops = vec![WriteOp::Merge(json!(1)), WriteOp::Reset, WriteOp::Merge(json!(2))];
    assert_eq!(written(listed(), ops).complete()["x"], json!([0, 2]));
    let mut graph = Graph::builder("reset");
    graph.add_channel(listed());
    for name in ["adds", "resets"] {
        graph.node(name);
        graph.edge(START, name);
    }
    let script = Script::new()
        .node("adds", |call| call.done([("x", json!(1))]))
        .node("resets", |call| call.op("x", WriteOp::Reset));
    let graph = graph.build().unwrap();
    let mut driver = TestDriver::new(&graph, script, json!({"x": 9}), Limits::default());
    assert_eq!(driver.complete()["x"], json!([0, 1]));
    let gone = written(channel(Reducer::Set, None), vec![WriteOp::Merge(json!(1)), WriteOp::Reset])
        .complete();
    assert_eq!(gone, json!({}), "without a default the key is absent again");
}

#[test]
fn a_replacement_stands_against_merges_of_the_same_step() {
    let mut graph = crate::support::fan(&["a", "b", "c"], &[("x", Reducer::Append)]);
    graph.channel("y", Reducer::Set);
    let script = Script::new()
        .node("a", |call| call.done([("x", json!(1))]))
        .node("b", |call| call.op("x", WriteOp::Replace(json!(["only"]))))
        .node("c", |call| call.done([("x", json!(3))]));
    assert_eq!(driver(&graph.build().unwrap(), script).complete(), json!({"x": ["only"]}));
}

#[test]
fn a_foreign_rule_is_asked_in_order_and_sees_what_it_has_made() {
    let graph = crate::support::fan(&["a", "b"], &[("x", Reducer::Foreign(4))]).build().unwrap();
    let script = Script::new()
        .writes("a", "x", json!("a"))
        .writes("b", "x", json!("b"))
        .reducer(4, |old, new| Ok(json!([old.unwrap_or_default(), new])));
    let mut driver = driver(&graph, script);
    driver.finish = crate::support::Finish::Backwards;
    assert_eq!(driver.complete(), json!({"x": [[null, "a"], "b"]}));
}

#[test]
fn a_foreign_rule_begins_at_the_default_after_a_reset() {
    let mut graph = crate::support::fan(&["a", "b"], &[]);
    graph.add_channel(channel(Reducer::Foreign(0), Some(json!(100))));
    let script = Script::new()
        .writes("a", "x", json!(1))
        .node("b", |call| call.op("x", WriteOp::Reset))
        .reducer(0, |old, new| Ok(json!(old.unwrap().as_i64().unwrap() + new.as_i64().unwrap())));
    let graph = graph.build().unwrap();
    let mut driver = TestDriver::new(&graph, script, json!({"x": 5}), Limits::default());
    assert_eq!(driver.complete(), json!({"x": 101}));
}

#[test]
fn a_write_must_be_of_the_kind_its_channel_takes() {
    let kinds = [
        (ValueKind::Text, json!("a"), json!(1)),
        (ValueKind::Integer, json!(1), json!(1.5)),
        (ValueKind::Number, json!(1.5), json!("1")),
        (ValueKind::Boolean, json!(true), json!(0)),
        (ValueKind::List, json!([]), json!({})),
        (ValueKind::Record, json!({}), json!([])),
    ];
    for (kind, right, wrong) in kinds {
        let of_kind = || Channel { kind, ..channel(Reducer::Set, None) };
        written(of_kind(), vec![WriteOp::Merge(right)]).complete();
        let fault = written(of_kind(), vec![WriteOp::Merge(wrong)]).fails();
        assert_eq!(fault.code, "write_mistyped");
        assert!(fault.message.starts_with(&format!("the key `x` must be {}", kind.as_str())));
    }
}

#[test]
fn the_input_of_a_run_is_checked_like_any_write() {
    let mut graph = chain(&["a"]);
    graph.add_channel(Channel { kind: ValueKind::Text, ..channel(Reducer::Set, None) });
    let graph = graph.build().unwrap();
    let mut driver = TestDriver::new(&graph, Script::new(), json!({"x": 1}), Limits::default());
    assert_eq!(driver.fails().code, "write_mistyped");
    assert!(driver.started.is_empty());
}

#[test]
fn a_part_may_be_of_another_kind_than_the_whole() {
    let list = Channel { kind: ValueKind::List, ..channel(Reducer::Append, None) };
    assert_eq!(written(list, vec![WriteOp::Merge(json!(1))]).complete()["x"], json!([1]));
}

#[test]
fn a_channel_that_does_not_exist_is_an_error() {
    let graph = chain(&["a"]).build().unwrap();
    let script = Script::new().node("a", |_| {
        let mut update = antiphon_core::command::Update::default();
        let nowhere = antiphon_core::channel::ChannelId(99);
        update.writes.push(antiphon_core::channel::Write::merge(nowhere, json!(1)));
        antiphon_core::task::TaskOutcome::Done(update)
    });
    assert_eq!(driver(&graph, script).fails().code, "state_key_unknown");
}
