//! The loop of model and tool calls, as a state machine. It calls nothing itself: it returns the
//! requests to make, and takes their outcomes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use crate::message::Message;
use crate::model::{FinishReason, Usage};
use crate::reply::{ParseLevel, ReplyParser};
use crate::tool::ToolSpec;

mod conversation;
mod feedback;
mod pending;
mod tool_calls;
mod truncation;

pub use conversation::{AgentStep, Conversation};
pub use pending::CallAction;

/// What an agent may do and must deliver.
#[derive(Clone, Debug)]
pub struct AgentSpec {
    /// The tools it may call.
    pub tools: Vec<AgentTool>,
    /// Tools without code: a call of one ends the loop, and its result names it.
    pub handoffs: Vec<ToolSpec>,
    /// Parses what it delivers; `None` for free text.
    pub output: Option<Arc<dyn ReplyParser>>,
    /// 0 is the least random; `None` for the model's default.
    pub temperature: Option<f64>,
    /// Where each reply is cut off, in tokens.
    pub max_output_tokens: Option<u32>,
    /// The longest a single transport attempt may take.
    pub model_timeout: Option<Duration>,
    /// How often a reply that does not fit is asked for again.
    pub max_reasks: u32,
    /// Calls of tools in all; the model then has to conclude without them.
    pub max_tool_calls: u32,
    /// Calls of the model in all; the last one is made without tools.
    pub max_model_calls: u32,
    /// Put on every request, for logs and scripted models.
    pub tags: BTreeMap<String, String>,
}

impl AgentSpec {
    /// Calls of tools unless the agent says otherwise.
    pub const MAX_TOOL_CALLS: u32 = 20;
    /// Calls of the model unless the agent says otherwise.
    pub const MAX_MODEL_CALLS: u32 = 25;
}

impl Default for AgentSpec {
    fn default() -> Self {
        Self {
            tools: Vec::new(),
            handoffs: Vec::new(),
            output: None,
            temperature: None,
            max_output_tokens: None,
            model_timeout: None,
            max_reasks: 1,
            max_tool_calls: Self::MAX_TOOL_CALLS,
            max_model_calls: Self::MAX_MODEL_CALLS,
            tags: BTreeMap::new(),
        }
    }
}

/// A tool, and its argument schema ready to check.
#[derive(Clone, Debug)]
pub struct AgentTool {
    /// What models see.
    pub spec: ToolSpec,
    /// Validates and coerces arguments.
    pub arguments: Arc<dyn ReplyParser>,
}

/// The result of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentResult {
    /// The last reply's text.
    pub text: String,
    /// The last reply as a value, if the agent declares an output schema.
    pub value: Option<Json>,
    /// Why the last reply ended.
    pub finish: FinishReason,
    /// The handoff that ended the loop, if one did.
    pub handoff: Option<String>,
    /// The messages since the conversation was opened.
    pub messages: Vec<Message>,
    /// The tools it called, in order.
    pub tool_uses: Vec<ToolCallRecord>,
    /// Tokens of all its model calls.
    pub usage: Usage,
    /// Calls of the model.
    pub turns: u32,
    /// The model that answered last, as the provider names it.
    pub model: String,
}

/// A tool call in the result of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCallRecord {
    /// The name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
    /// Whether it returned a value.
    pub ok: bool,
}

/// A reply that was parsed only after repair or coercion.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyRepair {
    /// The parser level that succeeded.
    pub level: ParseLevel,
    /// The places whose values were coerced to the schema's type.
    pub coerced: Vec<String>,
}
