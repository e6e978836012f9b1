//! Warnings of routes to nodes that a graph does not have.

use antiphon_core::command::Destination;
use antiphon_core::graph::END;
use pyo3::prelude::*;

use crate::graph::engine::Engine;
use crate::value::object::Object;

/// Warns if a lenient graph will ignore a target, because it has no such node.
pub(crate) fn warn_if_lost(
    py: Python<'_>,
    engine: &Engine,
    target: &Destination<Object>,
) -> PyResult<()> {
    let name = match target {
        Destination::Name(name) => &**name,
        Destination::Send(send) => &*send.node,
        Destination::Node(_) | Destination::End => return Ok(()),
    };
    if engine.is_strict() || name == END || engine.graph.node_id(name).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = engine.graph.nodes().iter().skip(1).map(|node| &*node.name).collect();
    let message = format!(
        "a route of the graph `{}` leads to a node that does not exist, and is ignored: {name}; \
         it has: {}",
        engine.graph.name(),
        known.join(", ")
    );
    let logger = py.import("logging")?.call_method1("getLogger", ("antiphon.graph",))?;
    // The message is an argument, so that a `%` in a name is no format.
    logger.call_method1("warning", ("%s", message)).map(|_| ())
}
