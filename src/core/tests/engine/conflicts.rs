//! Two writers of one channel.

use antiphon_core::channel::{Reducer, WriteOp};
use antiphon_core::graph::Semantics;
use antiphon_core::{Fault, FaultCode};
use serde_json::{Value, json};

use crate::support::{Script, TestDriver, driver, fan};

fn two(merge: Reducer, semantics: Semantics, a: Value, b: Value) -> TestDriver {
    let mut graph = fan(&["a", "b"], &[("x", merge)]);
    let graph = graph_of(graph.semantics(semantics));
    driver(&graph, Script::new().writes("a", "x", a).writes("b", "x", b))
}

fn graph_of(
    graph: &mut antiphon_core::graph::GraphBuilder<Value>,
) -> std::sync::Arc<antiphon_core::graph::Graph<Value>> {
    std::mem::replace(graph, antiphon_core::graph::Graph::builder("")).build().unwrap()
}

fn is_conflict(fault: &Fault) {
    assert_eq!(fault.code, FaultCode::WriteConflict);
    assert_eq!(fault.details["nodes"], json!(["a", "b"]));
    assert_eq!(fault.details["key"], json!("x"));
    assert!(fault.message.contains("`a` and `b`") && fault.message.ends_with('x'));
}

/// EN-01 of `docs/engine.md`.
#[test]
fn different_values_for_one_set_channel_name_both_writers() {
    let mut driver = two(Reducer::Set, Semantics::default(), json!(1), json!(2));
    is_conflict(&driver.fails());
    assert_eq!(driver.state(), json!({}), "neither is written");
}

/// EN-01 of `docs/engine.md`.
#[test]
fn equal_json_for_one_set_channel_is_allowed() {
    let mut driver = two(Reducer::Set, Semantics::default(), json!({"k": [1]}), json!({"k": [1]}));
    assert_eq!(driver.complete(), json!({"x": {"k": [1]}}));
}

/// EN-01 of `docs/engine.md`.
#[test]
fn an_exclusive_graph_takes_no_two_writers_even_if_they_agree() {
    let semantics = Semantics { exclusive: true, ..Semantics::default() };
    is_conflict(&two(Reducer::Set, semantics, json!(1), json!(1)).fails());
}

#[test]
fn the_conflict_is_named_in_the_same_order_for_any_order_of_ends() {
    let mut driver = two(Reducer::Set, Semantics::default(), json!(1), json!(2));
    driver.finish = crate::support::Finish::Backwards;
    is_conflict(&driver.fails());
}

/// EN-01 of `docs/engine.md`.
#[test]
fn two_writers_of_fields_must_agree_on_each_that_both_write() {
    let (one, other) = (json!({"k": 1, "a": 1}), json!({"k": 2, "b": 2}));
    let fault = two(Reducer::Fields, Semantics::default(), one.clone(), other).fails();
    assert_eq!(fault.code, FaultCode::WriteConflict);
    assert_eq!(fault.details["nodes"], json!(["a", "b"]));
    assert_eq!(fault.details["key"], json!("k"), "the field is named, not the record");
    let mut driver = two(Reducer::Fields, Semantics::default(), one, json!({"k": 1, "b": 2}));
    assert_eq!(driver.complete(), json!({"x": {"k": 1, "a": 1, "b": 2}}));
}

#[test]
fn a_channel_with_a_rule_takes_any_number_of_writers() {
    let mut driver = two(Reducer::Last, Semantics::default(), json!(1), json!(2));
    assert_eq!(driver.complete(), json!({"x": 2}));
}

#[test]
fn one_writer_may_change_its_mind_before_another_agrees() {
    let graph = fan(&["a", "b"], &[("x", Reducer::Set)]).build().unwrap();
    let script = Script::new()
        .node("a", |call| call.done([("x", json!(1)), ("x", json!(2))]))
        .node("b", |call| call.done([("x", json!(3)), ("x", json!(2))]));
    assert_eq!(driver(&graph, script).complete(), json!({"x": 2}));
}

#[test]
fn two_replacements_of_a_merged_channel_must_agree() {
    let graph = fan(&["a", "b"], &[("x", Reducer::Append)]).build().unwrap();
    let script = Script::new()
        .node("a", |call| call.op("x", WriteOp::Replace(json!([1]))))
        .node("b", |call| call.op("x", WriteOp::Replace(json!([2]))));
    is_conflict(&driver(&graph, script).fails());
}

#[test]
fn one_writer_who_disagrees_with_a_thousand_is_found() {
    let names: Vec<String> = (0..1000).map(|place| format!("n{place:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let graph = fan(&names, &[("x", Reducer::Set)]).build().unwrap();
    let agree = names.iter().fold(Script::new(), |script, name| script.writes(name, "x", json!(1)));
    assert_eq!(driver(&graph, agree.clone()).complete(), json!({"x": 1}));
    let fault = driver(&graph, agree.writes("n0600", "x", json!(2))).fails();
    assert_eq!(fault.details["nodes"], json!(["n0000", "n0600"]));
}
