//! Nodes and channels by name.

use std::cell::RefCell;

use antiphon_core::Fault;
use antiphon_core::channel::ChannelId;
use antiphon_core::checkpoint::NestedLevel;
use antiphon_core::graph::{Graph, NodeId, NodeWork};

use super::misfit;
use super::reader::ByteReader;
use super::writer::ByteWriter;

/// The names of one graph, and which of the stored ones it lacks.
pub(super) struct GraphNames<'a, V> {
    graph: &'a Graph<V>,
    missing: RefCell<MissingParts>,
}

/// What the graph lacks of what was stored, as `checkpoint_misfit`: the first of each kind.
#[derive(Clone, Debug, Default)]
pub struct MissingParts {
    /// A channel, whose values are left out.
    pub channel: Option<Fault>,
    /// Work that was under way or to be done next, of a node that is gone.
    pub work: Option<Fault>,
}

impl<'a, V> GraphNames<'a, V> {
    pub(super) fn of(graph: &'a Graph<V>) -> Self {
        Self { graph, missing: RefCell::default() }
    }

    /// The names of the nested graph at the end of `within`.
    pub(super) fn within(graph: &'a Graph<V>, within: &[NestedLevel]) -> Result<Self, Fault> {
        let mut graph = graph;
        for level in within {
            graph = inner(graph, level.node)?;
        }
        Ok(Self::of(graph))
    }

    pub(super) fn into_missing(self) -> MissingParts {
        self.missing.into_inner()
    }

    pub(super) const fn graph(&self) -> &'a Graph<V> {
        self.graph
    }

    pub(super) fn channel(&self, id: ChannelId) -> &'a str {
        self.graph.channel(id).map_or("", |channel| &channel.name)
    }

    /// The channel of that name; none if it is missing.
    pub(super) fn channel_named(&self, name: &str) -> Option<ChannelId> {
        let found = self.graph.channel_id(name);
        if found.is_none() {
            self.missing.borrow_mut().channel.get_or_insert_with(|| misfit("channel", name));
        }
        found
    }

    /// The node of that name; none if it is missing.
    pub(super) fn node_named(&self, name: &str) -> Option<NodeId> {
        let found = self.graph.node_id(name);
        if found.is_none() {
            self.lacks("node", name);
        }
        found
    }

    pub(super) fn lacks(&self, what: &str, name: &str) {
        self.missing.borrow_mut().work.get_or_insert_with(|| misfit(what, name));
    }
}

impl ByteWriter {
    pub(super) fn node<V>(&mut self, names: &GraphNames<'_, V>, node: NodeId) {
        self.text(&names.graph.node_name(Some(node)));
    }

    pub(super) fn nodes<V>(&mut self, names: &GraphNames<'_, V>, nodes: &[NodeId]) {
        self.list(nodes, |out, node| out.node(names, *node));
    }

    pub(super) fn levels<V>(&mut self, graph: &Graph<V>, within: &[NestedLevel]) {
        self.array(within.len());
        let mut around = Some(graph);
        for level in within {
            self.array(3);
            self.text(&around.map(|graph| graph.node_name(Some(level.node))).unwrap_or_default());
            self.number(level.attempt.into());
            self.number(level.key);
            around = around.and_then(|graph| inner(graph, level.node).ok());
        }
    }
}

impl ByteReader<'_> {
    /// A node; none if it is missing.
    pub(super) fn node<V>(&mut self, names: &GraphNames<'_, V>) -> Result<Option<NodeId>, Fault> {
        Ok(names.node_named(self.text()?))
    }

    /// The nodes that are not missing.
    pub(super) fn nodes<V>(&mut self, names: &GraphNames<'_, V>) -> Result<Vec<NodeId>, Fault> {
        self.present(|from| from.node(names))
    }

    pub(super) fn small(&mut self) -> Result<u32, Fault> {
        u32::try_from(self.number()?).map_err(|_| super::corrupt("a number that is too large"))
    }

    pub(super) fn levels<V>(&mut self, graph: &Graph<V>) -> Result<Vec<NestedLevel>, Fault> {
        let mut around = graph;
        self.list(|from| {
            from.expect_array(3)?;
            let name = from.text()?;
            let node = around.node_id(name).ok_or_else(|| misfit("node", name))?;
            around = inner(around, node)?;
            Ok(NestedLevel { node, attempt: from.small()?, key: from.number()? })
        })
    }
}

fn inner<V>(graph: &Graph<V>, node: NodeId) -> Result<&Graph<V>, Fault> {
    match graph.node(node).map(|node| &node.work) {
        Some(NodeWork::Graph(inner)) => Ok(inner),
        // The calls of an agent carry the name of its node.
        Some(NodeWork::Agent(_)) => Ok(graph),
        _ => Err(misfit("nested graph", &graph.node_name(Some(node)))),
    }
}
