//! What is wrong with a graph is found when it is built.

use antiphon_core::channel::Reducer;
use antiphon_core::graph::{END, Graph, GraphBuilder, GraphError, NodeId, START};
use serde_json::Value;

use crate::support::chain;

fn error(change: impl FnOnce(&mut GraphBuilder<Value>) -> &mut GraphBuilder<Value>) -> String {
    let mut graph = chain(&["a", "b"]);
    change(&mut graph);
    graph.build().unwrap_err().to_string()
}

#[test]
fn names_are_unique_and_readable_in_a_path() {
    assert_eq!(
        error(|g| {
            g.node("a");
            g
        }),
        "two nodes have the same name: a"
    );
    assert_eq!(
        error(|g| {
            g.channel("log", Reducer::Set);
            g
        }),
        "two channels have the same name: log"
    );
    for name in ["", "__start__", "__end__", "a|b", "a:b"] {
        assert!(
            error(|g| {
                g.node(name);
                g
            })
            .starts_with("a node may not be called"),
            "{name}"
        );
    }
    let twice = error(|g| g.branch("a", "way", 0, None).branch("a", "way", 1, None));
    assert_eq!(twice, "two branches of `a` have the same name: way");
}

#[test]
fn edges_begin_and_end_where_something_is() {
    assert_eq!(error(|g| g.edge("x", "a")), "an edge begins at an unknown node: x");
    assert_eq!(error(|g| g.edge("a", START)), "an edge may not lead to the start: a");
    assert_eq!(error(|g| g.edge(END, "a")), "an edge may not leave the end: __end__");
    assert_eq!(
        error(|g| g.join(&[], "a")),
        "an edge from several nodes needs at least one, target: a"
    );
    assert_eq!(error(|g| g.join(&["a", "x"], "b")), "an edge begins at an unknown node: x");
}

#[test]
fn policies_name_nodes_that_exist() {
    let expected = "a policy of `a` names an unknown node: x";
    assert_eq!(error(|g| g.on_error_goto("a", "x", None)), expected);
    assert_eq!(error(|g| g.on_error_handle("a", "x")), expected);
    assert_eq!(error(|g| g.on_budget("x")), "a policy of `chain` names an unknown node: x");
}

#[test]
fn something_has_to_begin() {
    let mut graph = Graph::<Value>::builder("idle");
    graph.node("a");
    assert_eq!(graph.build().unwrap_err(), GraphError::NoEntry("idle".into()));
}

#[test]
fn a_graph_can_be_looked_at() {
    let mut graph = chain(&["a", "b"]);
    graph.host(3).join(&["b", "a", "b"], "a").on_budget("b");
    graph.branch("b", "way", 5, Some(&[("on", "a"), ("off", END)]));
    let graph = graph.build().unwrap();
    let (a, b) = (graph.node_id("a").unwrap(), graph.node_id("b").unwrap());
    assert_eq!((graph.name(), graph.host()), ("chain", 3));
    assert_eq!(graph.successors(NodeId::START), [Some(a)]);
    assert_eq!(graph.branches(b)[0].targets.as_ref().unwrap()["off"], None);
    assert_eq!(graph.joins()[0].sources, [a, b], "each once, in order");
    assert_eq!(graph.on_budget(), Some(b));
    assert_eq!(&*graph.node_name(None), END);
    assert_eq!(format!("{graph:?}"), "Graph { name: \"chain\", nodes: [\"a\", \"b\"], .. }");
}
