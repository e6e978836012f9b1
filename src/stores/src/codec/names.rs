//! Nodes and channels by name.

use antiphon_core::Fault;
use antiphon_core::channel::ChannelId;
use antiphon_core::checkpoint::NestedLevel;
use antiphon_core::graph::{Graph, NodeId, NodeWork};

use super::misfit;
use super::reader::ByteReader;
use super::writer::ByteWriter;

/// The names of one graph.
pub(super) struct GraphNames<'a, V>(&'a Graph<V>);

impl<'a, V> GraphNames<'a, V> {
    pub(super) const fn of(graph: &'a Graph<V>) -> Self {
        Self(graph)
    }

    /// The names of the nested graph at the end of `within`.
    pub(super) fn within(graph: &'a Graph<V>, within: &[NestedLevel]) -> Result<Self, Fault> {
        let mut graph = graph;
        for level in within {
            graph = inner(graph, level.node)?;
        }
        Ok(Self(graph))
    }

    pub(super) const fn graph(&self) -> &'a Graph<V> {
        self.0
    }

    pub(super) fn channel(&self, id: ChannelId) -> &'a str {
        self.0.channel(id).map_or("", |channel| &channel.name)
    }

    pub(super) fn channel_named(&self, name: &str) -> Result<ChannelId, Fault> {
        self.0.channel_id(name).ok_or_else(|| misfit("channel", name))
    }

    pub(super) fn node_named(&self, name: &str) -> Result<NodeId, Fault> {
        self.0.node_id(name).ok_or_else(|| misfit("node", name))
    }
}

impl ByteWriter {
    pub(super) fn node<V>(&mut self, names: &GraphNames<'_, V>, node: NodeId) {
        self.text(&names.0.node_name(Some(node)));
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
    pub(super) fn node<V>(&mut self, names: &GraphNames<'_, V>) -> Result<NodeId, Fault> {
        names.node_named(self.text()?)
    }

    pub(super) fn nodes<V>(&mut self, names: &GraphNames<'_, V>) -> Result<Vec<NodeId>, Fault> {
        self.list(|from| from.node(names))
    }

    pub(super) fn small(&mut self) -> Result<u32, Fault> {
        u32::try_from(self.number()?).map_err(|_| super::corrupt("a number that is too large"))
    }

    pub(super) fn levels<V>(&mut self, graph: &Graph<V>) -> Result<Vec<NestedLevel>, Fault> {
        let mut around = graph;
        self.list(|from| {
            from.expect_array(3)?;
            let node = from.node(&GraphNames(around))?;
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
