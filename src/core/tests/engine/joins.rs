//! Edges that wait for several sources, and nodes that wait for everything.

use antiphon_core::channel::Reducer;
use antiphon_core::command::Route;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, NodePolicy, START};
use serde_json::{Value, json};

use crate::support::{Script, chain, choose, driver, fan, name, policy};

#[test]
fn a_join_waits_for_all_of_its_sources() {
    let mut graph = fan(&["quick", "slow"], &[("log", Reducer::Append)]);
    graph.node("more");
    graph.node("both");
    graph.edge("slow", "more").join(&["quick", "more"], "both");
    let mut driver = driver(&graph.build().unwrap(), Script::new());
    driver.complete();
    assert_eq!(driver.started, ["quick", "slow", "more", "both"]);
    let edges = driver.of_kind(EventKind::EdgeTaken);
    assert!(edges.iter().any(|edge| edge.data.get("label") == Some(&json!("join"))));
}

#[test]
fn a_join_fires_once_per_completed_set_and_is_armed_again() {
    let mut graph = chain(&["hub"]);
    for name in ["a", "b", "both"] {
        graph.node(name);
    }
    graph.edge("hub", "a").edge("hub", "b").join(&["a", "b"], "both");
    graph.branch("both", "again", 0, None).channel("count", Reducer::Sum);
    let script = Script::new().writes("both", "count", json!(1)).router(0, |view| {
        choose([name(if view.named("count") == Some(&json!(3)) { "__end__" } else { "hub" })])
    });
    let mut driver = driver(&graph.build().unwrap(), script);
    assert_eq!(driver.complete()["count"], 3);
    assert_eq!(driver.started.iter().filter(|name| *name == "both").count(), 3);
}

#[test]
fn a_source_that_runs_twice_counts_once() {
    let mut graph = chain(&["a", "b", "c"]);
    graph.node("both");
    graph.join(&["a", "c"], "both");
    let turns = |view: &antiphon_core::state::View<'_, Value>| {
        choose([name(if view.named("log").is_some() { "__end__" } else { "a" })])
    };
    graph.branch("a", "twice", 0, None);
    let script = Script::new().router(0, turns).writes("b", "log", json!("b"));
    let mut driver = driver(&graph.build().unwrap(), script);
    driver.complete();
    assert_eq!(driver.started.iter().filter(|name| *name == "both").count(), 1);
}

#[test]
fn a_source_that_goes_elsewhere_does_not_count() {
    let mut graph = fan(&["a", "b"], &[]);
    graph.node("both");
    graph.join(&["a", "b"], "both");
    let script = Script::new().node("a", |call| call.route(Route::Only(vec![])));
    let mut driver = driver(&graph.build().unwrap(), script);
    driver.complete();
    assert_eq!(driver.started, ["a", "b"]);
}

#[test]
fn the_start_may_be_a_source() {
    let mut graph = Graph::<Value>::builder("start");
    graph.node("a");
    graph.node("b");
    graph.edge(START, "a").join(&[START, "a"], "b");
    let mut driver = driver(&graph.build().unwrap(), Script::new());
    driver.complete();
    assert_eq!(driver.started, ["a", "b"]);
}

#[test]
fn a_deferred_node_runs_once_when_nothing_else_is_left() {
    let mut graph = chain(&["a", "b", "c"]);
    graph.add_node(policy(NodePolicy { deferred: true, ..NodePolicy::default() }, "last"));
    graph.edge(START, "last").edge("a", "last").edge("c", "last");
    let mut driver = driver(&graph.build().unwrap(), Script::new());
    driver.complete();
    assert_eq!(driver.started, ["a", "b", "c", "last"]);
}

#[test]
fn what_a_deferred_node_leads_to_runs_as_usual() {
    let mut graph = chain(&["a"]);
    graph.add_node(policy(NodePolicy { deferred: true, ..NodePolicy::default() }, "last"));
    graph.node("after");
    graph.edge(START, "last").edge("last", "after");
    let mut driver = driver(&graph.build().unwrap(), Script::new());
    driver.complete();
    assert_eq!(driver.started, ["a", "last", "after"]);
}
