//! Messages between agents, models and tools.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::content::Content;

/// The role of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool's result of one call.
    Tool,
}

/// One message of a conversation, in the shape of the OpenAI chat wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The role of the sender.
    pub role: Role,
    /// What it says; empty when an assistant only calls tools.
    pub content: Content,
    /// The calls that the assistant requests, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// For a tool's result: the id of its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The agent or tool, where several share a role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The message as the model's provider wrote it, if it wants it back like that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_content: Option<ProviderContent>,
}

/// The content of a reply as its provider wrote it, for instance signed thinking that has to go
/// back unchanged with the results of tools. Nothing but the provider's wire reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderContent {
    /// The full name of the model; others do not get it.
    pub model: String,
    /// The content in the form of the wire.
    pub content: Json,
}

impl Message {
    /// Instructions.
    pub fn system(content: impl Into<Content>) -> Self {
        Self::new(Role::System, content)
    }

    /// A message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// A tool's result of the call `id`.
    pub fn tool(id: impl Into<String>, content: impl Into<Content>) -> Self {
        Self { tool_call_id: Some(id.into()), ..Self::new(Role::Tool, content) }
    }

    fn new(role: Role, content: impl Into<Content>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
            provider_content: None,
        }
    }
}

/// A tool call that a model requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Joins the call with its result.
    pub id: String,
    /// The tool's name as the model wrote it; it may not exist.
    pub name: String,
    /// The arguments as the model wrote them: JSON text that may be malformed.
    pub arguments: String,
}
