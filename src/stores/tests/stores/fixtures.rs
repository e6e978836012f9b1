//! Entries and graphs that several tests store.

use antiphon_core::Time;
use antiphon_core::channel::Reducer;
use antiphon_core::graph::{Graph, GraphBuilder, Node, NodePolicy, NodeWork, START};
use antiphon_runtime::store::{Entry, EntryBatch, EntryKind, EntryTag};
use serde_json::Value;

/// One step of the thread `t`, after the entry `after`.
pub(crate) fn batch(after: u64) -> EntryBatch {
    let kind = EntryKind::Step;
    let (seq, at) = (after + 1, Time::default());
    let (tag, body) = (EntryTag::new(&seq.to_be_bytes()), b"body".to_vec());
    let entry = Entry { seq, parent: after, base: 0, kind, step: seq, at, tag: tag.clone(), body };
    EntryBatch {
        thread: "t".into(),
        owner: "me".into(),
        after,
        expected: None,
        entries: vec![entry],
        tag,
    }
}

/// A graph with these nodes, and after them `sub`, which is a graph with the node `deep`.
pub(crate) fn nesting(nodes: &[&str]) -> GraphBuilder<Value> {
    let mut inner = Graph::builder("inner");
    inner.channel("log", Reducer::Append);
    inner.node("deep");
    inner.edge(START, "deep");
    let mut graph = Graph::builder("outer");
    graph.channel("log", Reducer::Append);
    graph.channel("x", Reducer::Set);
    for &name in nodes {
        graph.node(name);
    }
    graph.add_node(Node {
        name: "sub".into(),
        work: NodeWork::Graph(inner.build().unwrap()),
        policy: NodePolicy::default(),
    });
    graph
}
