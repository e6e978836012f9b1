//! What a node wants changed and told, before the engine hears of it.

use antiphon_core::Fault;
use antiphon_core::channel::{Write, WriteOp};
use antiphon_core::command::{Route, Update};
use antiphon_runtime::NodeCall;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::channels::TOOL_RESULTS;
use super::message::AgentMessage;
use crate::tool_cache::ToolCache;

/// Writes and events of one node.
#[derive(Debug, Default)]
pub(super) struct Changes {
    writes: Vec<(&'static str, WriteOp<Json>)>,
    notes: Vec<(&'static str, Json)>,
    ends: bool,
}

impl Changes {
    /// Merges a value into a channel by its rule.
    pub(super) fn set(&mut self, key: &'static str, value: impl Serialize) -> &mut Self {
        self.writes.push((key, WriteOp::Merge(json!(value))));
        self
    }

    /// Replaces a channel whatever its rule.
    pub(super) fn replace(&mut self, key: &'static str, value: impl Serialize) -> &mut Self {
        self.writes.push((key, WriteOp::Replace(json!(value))));
        self
    }

    /// Takes a channel back to its default.
    pub(super) fn reset(&mut self, key: &'static str) -> &mut Self {
        self.writes.push((key, WriteOp::Reset));
        self
    }

    /// Adds an event to the trace.
    pub(super) fn note(&mut self, name: &'static str, data: Json) -> &mut Self {
        self.notes.push((name, data));
        self
    }

    /// Adds a message to the log and to the trace.
    pub(super) fn say(&mut self, message: &AgentMessage) -> &mut Self {
        self.set("agent_messages", [message]).note("message_sent", json!({ "message": message }))
    }

    /// Keeps what tools have returned since this was asked last.
    pub(super) fn save(&mut self, tools: &ToolCache) -> &mut Self {
        let results = tools.take_unsaved();
        if results.is_empty() { self } else { self.set(TOOL_RESULTS, results) }
    }

    /// Ends the graph.
    pub(super) const fn end(&mut self) -> &mut Self {
        self.ends = true;
        self
    }

    /// Tells the events and makes the writes an update.
    pub(super) fn commit(self, call: &NodeCall) -> Result<Update<Json>, Fault> {
        for (name, data) in self.notes {
            call.note(name, data);
        }
        let mut update = Update::default();
        for (key, op) in self.writes {
            let Some(channel) = call.state.graph().channel_id(key) else {
                return call.update([(key, Json::Null)]);
            };
            update.writes.push(Write { channel, op });
        }
        if self.ends {
            update.route = Route::End;
        }
        Ok(update)
    }
}
