//! Messages as writes of the review loop.

use serde_json::json;

use super::message::AgentMessage;
use super::state::State;

/// The result of a node of the review loop.
pub(super) type Patch = crate::patch::Patch<State>;

impl Patch {
    /// Adds a message to the log and to the trace.
    pub(super) fn say(&mut self, message: AgentMessage) -> &mut Self {
        let note = json!({ "message": message });
        self.set(State::agent_messages, [message]).note("message_sent", note)
    }
}
