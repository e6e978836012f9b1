//! What happened while a question was worked on, in the five kinds of the specification.

use antiphon_core::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::DataAnalyst;
use super::agent_result::AgentError;
use super::request::AgentName;
use crate::node::NodeContext;

/// What an event tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceEventKind {
    /// Something that was said or noticed.
    Message,
    /// A tool was called.
    Tool,
    /// Something was decided.
    Decision,
    /// Something came out.
    Result,
    /// Something failed.
    Error,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceEvent {
    /// What it tells of.
    pub event_type: TraceEventKind,
    /// Whose event it is.
    pub agent: Option<AgentName>,
    /// Fields that depend on the event.
    pub data: Map<String, Json>,
    /// A sentence.
    pub message: Option<String>,
    /// When, RFC 3339 in UTC.
    pub timestamp: String,
}

/// An event of an agent, which watchers see at once.
pub(super) fn event(
    cx: &NodeContext<DataAnalyst>,
    agent: AgentName,
    event_type: TraceEventKind,
    message: &str,
    data: Json,
) -> TraceEvent {
    let data = match data {
        Json::Object(data) => data,
        _ => Map::new(),
    };
    let timestamp = cx.call.cx.clock.now().to_string();
    let event = TraceEvent {
        event_type,
        agent: Some(agent),
        data,
        message: Some(message.to_owned()),
        timestamp,
    };
    cx.note("trace_event", json!(event));
    event
}

/// The event of a failure that its agent bears.
pub(super) fn failure(
    cx: &NodeContext<DataAnalyst>,
    agent: AgentName,
    message: &str,
    fault: &Fault,
) -> TraceEvent {
    let kind = AgentError::of(fault).kind;
    let data = json!({"type": kind, "code": fault.code, "error": fault.message});
    event(cx, agent, TraceEventKind::Error, message, data)
}

/// The event of an agent that has no answer.
pub(super) fn agent_failure(
    cx: &NodeContext<DataAnalyst>,
    agent: AgentName,
    error: &AgentError,
) -> TraceEvent {
    let mut data = json!({"type": error.kind, "error": error.message});
    if let (Some(code), Some(fields)) = (error.details.get("code"), data.as_object_mut()) {
        fields.insert("code".to_owned(), code.clone());
    }
    event(cx, agent, TraceEventKind::Error, "failed", data)
}

/// The event of a role that has failed.
pub(super) fn role_failure(
    cx: &NodeContext<DataAnalyst>,
    agent: AgentName,
    role: &str,
    error: &AgentError,
) -> TraceEvent {
    let data = json!({
        "role": role, "type": error.kind, "error": error.message,
        "code": error.details.get("code"),
    });
    event(cx, agent, TraceEventKind::Error, "role failed", data)
}
