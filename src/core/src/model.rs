//! Requests to models, and their replies.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::content::{Content, ContentPart};
use crate::message::{Message, ProviderContent, ToolCall};
use crate::schema::Schema;
use crate::tool::ToolSpec;

/// A request to a model, independent of any provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Tools that the messages call and that the model may not call any more. Only a wire that
    /// needs the definition of every tool that was called sends them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable_tools: Vec<ToolSpec>,
    /// The schema of the reply; `None` for free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// 0 is the least random; `None` for the model's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// The longest a single transport attempt may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Run, node and attempt, for logs and scripted models; never sent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// A reply of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The text; empty when the model only calls tools.
    pub text: String,
    /// Images that the model made, and texts in place of those that cannot be taken over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<ContentPart>,
    /// The tool calls that it requests, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: FinishReason,
    /// The tokens of the call.
    pub usage: Usage,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// Transport attempts, the first included.
    pub attempts: u32,
    /// From request to last byte, back-off included.
    pub latency: Duration,
    /// The reply as the provider wrote it, if it wants that back with the results of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_content: Option<ProviderContent>,
}

impl ModelReply {
    /// What it says, as a message holds it: the text, and after it the images.
    pub fn content(&self) -> Content {
        if self.media.is_empty() {
            return Content::Text(self.text.clone());
        }
        let text = Some(&self.text).filter(|text| !text.trim().is_empty());
        let text = text.map(ContentPart::text);
        Content::Parts(text.into_iter().chain(self.media.iter().cloned()).collect())
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The reply is complete.
    Stop,
    /// The token limit was reached.
    Length,
    /// It calls tools.
    ToolCalls,
    /// A filter of the provider stopped it.
    ContentFilter,
}

/// Tokens of one call, or of many added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

impl Usage {
    /// No tokens.
    pub const ZERO: Self = Self { input_tokens: 0, output_tokens: 0 };
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }
}
