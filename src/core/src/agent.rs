//! The loop of model and tool calls, as a machine of its own
//!. It does not call anything: it says what to ask
//! of the model, which tools to call, and when it is done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use crate::message::Message;
use crate::model::Usage;
use crate::reply::{ParseLevel, ReplyParser};
use crate::tool::ToolSpec;

mod dialogue;
mod feedback;
mod pending;

pub use dialogue::{AgentStep, Conversation};
pub use pending::CallAction;

/// What an agent may do and must deliver.
#[derive(Clone, Debug)]
pub struct AgentSpec {
    /// The tools it may call.
    pub tools: Vec<AgentTool>,
    /// Parses what it delivers; none for free text.
    pub output: Option<Arc<dyn ReplyParser>>,
    /// 0 is the least random; none leaves it to the model.
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
    pub max_turns: u32,
    /// Put on every request, for logs and scripted models.
    pub tags: BTreeMap<String, String>,
}

impl AgentSpec {
    /// Calls of tools unless the agent says otherwise.
    pub const MAX_TOOL_CALLS: u32 = 20;
    /// Calls of the model unless the agent says otherwise.
    pub const MAX_TURNS: u32 = 25;
}

impl Default for AgentSpec {
    fn default() -> Self {
        Self {
            tools: Vec::new(),
            output: None,
            temperature: None,
            max_output_tokens: None,
            model_timeout: None,
            max_reasks: 1,
            max_tool_calls: Self::MAX_TOOL_CALLS,
            max_turns: Self::MAX_TURNS,
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

/// What an agent has come to.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentResult {
    /// The last reply's text.
    pub text: String,
    /// The last reply as a value, if the agent declares an output.
    pub value: Option<Json>,
    /// What was said since the conversation was opened.
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

/// One call of a tool as it is told afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCallRecord {
    /// The name the model wrote.
    pub name: String,
    /// The arguments the model wrote.
    pub arguments: String,
    /// Whether it returned a value.
    pub ok: bool,
}

/// A reply that could be read only after repair or coercion.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyRepair {
    /// How it could be read.
    pub level: ParseLevel,
    /// Where values were brought to the type the schema asks for.
    pub coerced: Vec<String>,
}
