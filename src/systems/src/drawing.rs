//! The graph of a system as a drawing shows it.

use antiphon_core::graph::{Graph, NodeId};
use serde::Serialize;

/// Nodes and arrows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Drawing {
    /// The names of the nodes, the start first and the end last.
    pub nodes: Vec<String>,
    /// The arrows.
    pub edges: Vec<DrawnEdge>,
}

/// An arrow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DrawnEdge {
    /// Where it begins.
    pub source: String,
    /// Where it ends.
    pub target: String,
    /// What is written on it.
    pub label: String,
    /// Whether a router decides that it is taken.
    pub conditional: bool,
}

impl Drawing {
    /// The drawing of a graph.
    pub fn of<V>(graph: &Graph<V>) -> Self {
        let name = |id: Option<NodeId>| graph.node_name(id).to_string();
        let mut drawing = Self::default();
        for (node, id) in graph.nodes().iter().zip((0_u32..).map(NodeId)) {
            drawing.nodes.push(node.name.to_string());
            let fixed = graph.successors(id).iter().map(|&target| (target, String::new(), false));
            let branches = graph.branches(id).iter().filter_map(|branch| branch.targets.as_ref());
            let routed = branches.flatten().map(|(label, &to)| (to, label.to_string(), true));
            drawing.edges.extend(fixed.chain(routed).map(|(target, label, conditional)| {
                DrawnEdge { source: name(Some(id)), target: name(target), label, conditional }
            }));
        }
        drawing.nodes.push(name(None));
        for join in graph.joins() {
            drawing.edges.extend(join.sources.iter().map(|&source| DrawnEdge {
                source: name(Some(source)),
                target: name(Some(join.target)),
                label: String::new(),
                conditional: false,
            }));
        }
        drawing
    }
}
