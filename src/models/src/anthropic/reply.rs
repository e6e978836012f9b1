//! Decoding of replies.

use std::time::Duration;

use antiphon_core::{Fault, FinishReason, ModelReply, ProviderContent, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::wire::WireExchange;

/// A whole reply, or the beginning of a stream.
#[derive(Debug, Default, Deserialize)]
pub(super) struct MessageBody {
    #[serde(default)]
    pub(super) model: String,
    content: Option<Vec<Json>>,
    stop_reason: Option<String>,
    stop_details: Option<Json>,
    #[serde(default)]
    pub(super) usage: MessageUsage,
    error: Option<Json>,
}

/// Token counts; running totals in a stream.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageUsage {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_creation: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
}

impl MessageUsage {
    /// These counts, with those that `later` has instead.
    pub(super) fn updated(self, later: Self) -> Self {
        Self {
            input: later.input.or(self.input),
            cache_creation: later.cache_creation.or(self.cache_creation),
            cache_read: later.cache_read.or(self.cache_read),
            output: later.output.or(self.output),
        }
    }
}

/// What was read from the cache counts as read.
impl From<MessageUsage> for Usage {
    fn from(counts: MessageUsage) -> Self {
        let read = [counts.input, counts.cache_creation, counts.cache_read];
        Self {
            input_tokens: read.into_iter().flatten().sum(),
            output_tokens: counts.output.unwrap_or_default(),
        }
    }
}

/// Decodes the body of a successful reply; see [`crate::wire::WireFormat::decode`].
///
/// # Errors
/// As there.
pub fn decode(body: &[u8], exchange: WireExchange<'_>) -> Result<ModelReply, Fault> {
    let failure = exchange.failure();
    let message: MessageBody =
        serde_json::from_slice(body).map_err(|error| failure.malformed(&error.to_string()))?;
    if let Some(error) = message.error.filter(|error| !error.is_null()) {
        return Err(failure.reported(&error));
    }
    let content = message.content.ok_or_else(|| failure.malformed("there is no content"))?;
    let draft = ReplyDraft {
        blocks: content.into_iter().map(|json| (json, None)).collect(),
        stop_reason: message.stop_reason,
        stop_details: message.stop_details,
        usage: message.usage,
        model: message.model,
    };
    draft.conclude(exchange)
}

/// A reply all of whose parts have come.
#[derive(Debug, Default)]
pub(super) struct ReplyDraft {
    /// The content blocks, each with the arguments of its tool call as the model wrote them, if
    /// they came in pieces.
    pub(super) blocks: Vec<(Json, Option<String>)>,
    pub(super) stop_reason: Option<String>,
    pub(super) stop_details: Option<Json>,
    pub(super) usage: MessageUsage,
    pub(super) model: String,
}

impl ReplyDraft {
    pub(super) fn conclude(self, exchange: WireExchange<'_>) -> Result<ModelReply, Fault> {
        let failure = exchange.failure();
        let reason = self.stop_reason.as_deref().unwrap_or_default();
        if reason == "refusal" {
            let details = self.stop_details.as_ref();
            let words = details.and_then(|details| details.get("explanation"));
            let words = words.and_then(Json::as_str).unwrap_or("a classifier stopped it");
            return Err(failure.refused(words));
        }
        let (mut text, mut tool_calls, mut thinks) = (String::new(), Vec::new(), false);
        for (block, arguments) in &self.blocks {
            match kind_of(block) {
                "text" => text.push_str(field(block, "text").unwrap_or_default()),
                "thinking" | "redacted_thinking" => thinks = true,
                "tool_use" => {
                    let call = tool_call(block, arguments.as_deref(), tool_calls.len());
                    let nameless = || failure.malformed("a tool call has no name");
                    tool_calls.push(call.ok_or_else(nameless)?);
                }
                // Blocks of tools that the provider runs itself; none of them is requested.
                _ => {}
            }
        }
        let provider_content = (thinks && !tool_calls.is_empty()).then(|| ProviderContent {
            model: exchange.endpoint.name.clone(),
            content: self.blocks.into_iter().map(|(block, _)| block).collect(),
        });
        Ok(ModelReply {
            finish: finish_reason(reason, &tool_calls),
            text,
            media: Vec::new(),
            tool_calls,
            usage: self.usage.into(),
            model: self.model,
            attempts: 1,
            latency: Duration::ZERO,
            provider_content,
        })
    }
}

pub(super) fn kind_of(block: &Json) -> &str {
    field(block, "type").unwrap_or_default()
}

pub(super) fn field<'b>(block: &'b Json, name: &str) -> Option<&'b str> {
    block.get(name).and_then(Json::as_str)
}

fn tool_call(block: &Json, arguments: Option<&str>, position: usize) -> Option<ToolCall> {
    let name = field(block, "name").filter(|name| !name.is_empty())?;
    let id = field(block, "id").filter(|id| !id.is_empty());
    let whole = || block.get("input").map_or_else(|| "{}".to_owned(), Json::to_string);
    Some(ToolCall {
        id: id.map_or_else(|| format!("call_{position}"), str::to_owned),
        name: name.to_owned(),
        arguments: arguments.map_or_else(whole, str::to_owned),
    })
}

/// The finish reason. If there are tool calls and the reply is complete, it is `ToolCalls`.
fn finish_reason(reason: &str, calls: &[ToolCall]) -> FinishReason {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        _ if !calls.is_empty() => FinishReason::ToolCalls,
        _ => FinishReason::Stop,
    }
}
