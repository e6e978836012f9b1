//! Where a task's own wish and its branches lead.

use std::sync::{Arc, Mutex};

use antiphon_core::budget::Limits;
use antiphon_core::channel::{Reducer, WriteOp};
use antiphon_core::command::{Destination, Route};
use antiphon_core::graph::{END, Graph, NodeId, RouterView, START, Semantics};
use antiphon_core::task::TaskOutcome;
use serde_json::{Value, json};

use crate::support::{Script, TestDriver, chain, choose, driver, fan, name};

fn asked(route: fn() -> Route<Value>) -> Vec<String> {
    let mut graph = chain(&["a", "b"]);
    graph.node("c");
    let script = Script::new().node("a", move |call| call.route(route()));
    let mut driver = driver(&graph.build().unwrap(), script);
    driver.complete();
    driver.started
}

#[test]
fn follow_takes_the_edges() {
    assert_eq!(asked(|| Route::Follow), ["a", "b"]);
}

#[test]
fn also_adds_to_the_edges() {
    assert_eq!(asked(|| Route::Also(vec![name("c")])), ["a", "b", "c"]);
    assert_eq!(asked(|| Route::Also(vec![name("b")])), ["a", "b"], "a node runs once a step");
}

#[test]
fn only_replaces_the_edges() {
    assert_eq!(asked(|| Route::Only(vec![name("c")])), ["a", "c"]);
    assert_eq!(asked(|| Route::Only(vec![name(END)])), ["a"]);
    assert_eq!(asked(|| Route::Only(vec![Destination::End])), ["a"]);
}

#[test]
fn end_ends_the_graph_even_if_other_nodes_were_to_follow() {
    let mut graph = fan(&["a", "b"], &[("log", Reducer::Append)]);
    graph.node("c");
    graph.edge("a", "c").edge("b", "c");
    let script =
        Script::new().node("a", |call| call.route(Route::End)).writes("b", "log", json!("b"));
    let mut driver = driver(&graph.build().unwrap(), script);
    assert_eq!(driver.complete(), json!({"log": ["b"]}), "what is done is merged");
    assert_eq!(driver.started, ["a", "b"]);
}

#[test]
fn a_branch_is_not_asked_when_its_task_has_chosen_alone() {
    let mut graph = chain(&["a"]);
    graph.branch("a", "which", 0, None);
    let script = Script::new()
        .node("a", |call| call.route(Route::Only(vec![])))
        .router(0, |_| panic!("it is not to be asked"));
    driver(&graph.build().unwrap(), script).complete();
}

#[test]
fn a_label_leads_to_the_node_it_stands_for() {
    let mut graph = chain(&["a"]);
    graph.node("b");
    graph.branch("a", "which", 0, Some(&[("left", "b"), ("right", END)]));
    let script = Script::new().router(0, |_| choose([name("left")]));
    let mut driver = driver(&graph.build().unwrap(), script);
    driver.complete();
    assert_eq!(driver.started, ["a", "b"]);
    let edge = driver.events.iter().find(|event| &*event.name == "b").unwrap();
    assert_eq!(edge.data["label"], "left");
}

#[test]
fn a_target_that_is_chosen_without_a_label_bears_its_own_name() {
    for choice in [name("b"), Destination::Node(NodeId(2))] {
        let mut graph = chain(&["a"]);
        graph.node("b");
        graph.branch("a", "which", 0, None);
        let script = Script::new().router(0, move |_| choose([choice.clone()]));
        let mut driver = driver(&graph.build().unwrap(), script);
        driver.complete();
        let edge = driver.events.iter().find(|event| &*event.name == "b").unwrap();
        assert_eq!(edge.data["label"], "b");
    }
}

#[test]
fn a_router_can_tell_whether_there_were_changes_since() {
    let mut graph = Graph::builder("counted");
    graph.channel("count", Reducer::Set);
    graph.node("again");
    graph.edge(START, "again").branch("again", "more", 0, None);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let script = Script::new().writes("again", "count", json!(1)).router(0, move |view| {
        let mut kept = kept.lock().unwrap();
        kept.push(view.revision());
        choose([name(if kept.len() < 3 { "again" } else { END })])
    });
    driver(&graph.build().unwrap(), script).complete();
    let seen = seen.lock().unwrap();
    assert!(seen.is_sorted_by(|one, next| one < next), "{seen:?}");
}

#[test]
fn a_branch_at_the_start_sees_the_input() {
    let mut graph = Graph::builder("entry");
    graph.channel("mode", Reducer::Set);
    graph.node("deep");
    graph.branch(START, "mode", 0, None);
    let script = Script::new()
        .router(0, |view| choose([name(view.named("mode").unwrap().as_str().unwrap())]));
    let graph = graph.build().unwrap();
    let mut driver = TestDriver::new(&graph, script, json!({"mode": "deep"}), Limits::default());
    driver.complete();
    assert_eq!(driver.started, ["deep"]);
}

/// What the routers of two parallel tasks see of a list that both add to.
fn seen(router_view: RouterView) -> Value {
    let mut graph = fan(&["a", "b"], &[("log", Reducer::Append), ("seen", Reducer::Append)]);
    graph.semantics(Semantics { router_view, ..Semantics::default() });
    graph.channel("sum", Reducer::Foreign(0));
    for (router, source) in [(0, "a"), (1, "b")] {
        graph.branch(source, "look", router, None);
    }
    graph.node("a says");
    graph.node("b says");
    let look = |who: &'static str| {
        move |view: &antiphon_core::state::View<'_, Value>| {
            let count = view.named("log").map_or(0, |log| log.as_array().unwrap().len());
            let sum = view.named("sum").unwrap();
            let keys: Vec<_> = view.iter().map(|(channel, _)| channel.name.to_string()).collect();
            assert!(keys.contains(&"log".to_owned()));
            choose([crate::support::send(who, json!([who, count, sum]))])
        }
    };
    let add = |old: Option<Value>, new: Value| {
        Ok(json!(old.map_or(0, |old| old.as_i64().unwrap()) + new.as_i64().unwrap()))
    };
    let script = Script::new()
        .node("a", |call| call.done([("log", json!("a")), ("sum", json!(1))]))
        .node("b", |call| call.done([("log", json!("b")), ("sum", json!(10))]))
        .router(0, look("a says"))
        .router(1, look("b says"))
        .reducer(0, add)
        .node("a says", |call| call.done([("seen", call.sent().unwrap())]))
        .node("b says", |call| call.done([("seen", call.sent().unwrap())]));
    driver(&graph.build().unwrap(), script).complete()["seen"].clone()
}

#[test]
fn merged_sight_shows_all_writes_of_the_superstep() {
    assert_eq!(seen(RouterView::Merged), json!([["a says", 2, 11], ["b says", 2, 11]]));
}

#[test]
fn own_sight_shows_the_task_its_own_writes_alone() {
    assert_eq!(seen(RouterView::Own), json!([["a says", 1, 1], ["b says", 1, 10]]));
}

#[test]
fn own_sight_takes_resets_first_as_the_merge_does() {
    let mut graph = fan(&["a", "b"], &[("log", Reducer::Append)]);
    graph.semantics(Semantics { router_view: RouterView::Own, ..Semantics::default() });
    graph.branch("a", "look", 0, None).branch("b", "look", 0, None);
    let graph = graph.build().unwrap();
    let script = Script::new().router(0, |_| choose([]));
    let script = script.node("a", |call| {
        let mut update = call.update([("log", json!("new"))]);
        let channel = update.writes[0].channel;
        update.writes.push(antiphon_core::channel::Write { channel, op: WriteOp::Reset });
        TaskOutcome::Done(update)
    });
    let mut driver = TestDriver::new(&graph, script, json!({"log": "old"}), Limits::default());
    assert_eq!(driver.complete(), json!({"log": ["new"]}));
}

#[test]
fn own_sight_merges_nothing_where_no_branch_looks() {
    let mut graph = fan(&["a", "b"], &[("sum", Reducer::Foreign(0))]);
    graph.semantics(Semantics { router_view: RouterView::Own, ..Semantics::default() });
    let merged = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&merged);
    let script = Script::new()
        .writes("b", "sum", json!("b"))
        .node("a", |call| {
            let mut update = call.update([("sum", json!("a"))]);
            update.route = Route::Also(vec![name(END)]);
            TaskOutcome::Done(update)
        })
        .reducer(0, move |_, new| {
            seen.lock().unwrap().push(new.clone());
            Ok(new)
        });
    driver(&graph.build().unwrap(), script).complete();
    assert_eq!(*merged.lock().unwrap(), [json!("a"), json!("b")]);
}
