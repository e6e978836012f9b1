//! Calls of nodes and roles by their kinds, digests and events.

use antiphon_core::checkpoint::{self, Call, Callee};
use antiphon_core::event::EventKind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value as Json;

/// What is called, by its name.
pub(crate) fn callee(kind: &str) -> PyResult<Callee> {
    let known = Callee::ALL.into_iter().filter(|callee| *callee != Callee::Graph);
    let mut known = known;
    let found = known.find(|callee| callee.as_str() == kind);
    found.ok_or_else(|| {
        PyValueError::new_err(format!("a call is `model`, `tool` or `step`, found: {kind}"))
    })
}

/// A call as the trace shows it; a step as a tool that no model has asked for.
pub(crate) fn shown(call: &Call, mut data: Json, ended: bool) -> (EventKind, Json) {
    let kind = match (call.callee, ended) {
        (Callee::Model, false) => EventKind::ModelCall,
        (Callee::Model, true) => EventKind::ModelReply,
        (Callee::Tool | Callee::Step | Callee::Graph, false) => EventKind::ToolCall,
        (Callee::Tool | Callee::Step | Callee::Graph, true) => EventKind::ToolResult,
    };
    if let (Callee::Step, Some(fields)) = (call.callee, data.as_object_mut()) {
        fields.insert("step".to_owned(), true.into());
    }
    (kind, data)
}

/// The digest of what a call is given that is part of another one: it is not taken for the
/// same call beside that one, which does not make it once what came of it is known.
pub(crate) fn digest_within(digest: u64, within: Option<&str>) -> u64 {
    within
        .map_or(digest, |key| checkpoint::digest(&[&digest.to_be_bytes(), key.as_bytes()].concat()))
}
