//! The channels of a system's graph: one per field of its state, with its rule.

use antiphon_core::channel::{Channel, ChannelId, Reducer, ValueKind};
use antiphon_core::graph::GraphBuilder;
use serde::Serialize;
use serde_json::{Value as Json, json};

/// Where failures of nodes are recorded.
pub(crate) const ERROR: &str = "error";

/// Name, rule, kind, and whether it holds a default before the first write.
pub(crate) type Row = (&'static str, Reducer, ValueKind, bool);

/// Adds a channel for each row to a graph, with the defaults of that state;
/// returns the one where failures are recorded.
pub(crate) fn declare<S: Default + Serialize>(
    graph: &mut GraphBuilder<Json>,
    rows: &[Row],
) -> Option<ChannelId> {
    let defaults = json!(S::default());
    let mut error = None;
    for (name, merge, kind, has_default) in rows {
        let default = defaults.get(name).filter(|_| *has_default).cloned();
        let (merge, kind) = (merge.clone(), *kind);
        let id = graph.add_channel(Channel { name: (*name).into(), merge, default, kind });
        error = error.or_else(|| (*name == ERROR).then_some(id));
    }
    error
}
