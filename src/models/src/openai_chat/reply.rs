//! Decoding of a whole reply.

use std::time::Duration;

use antiphon_core::{ContentPart, Fault, FinishReason, ModelReply, ToolCall, Usage};

use crate::failure::FaultFactory;
use crate::openai_chat::body::{ChatCompletion, WireToolCall, call_id, finish_reason};

/// Decodes the body of a successful reply.
///
/// # Errors
/// `ModelTransport` with `model_reply_malformed` if the body violates the wire's protocol; the
/// fault that the body reports, if it does; `ModelOutput` with `model_refused` if the model or a
/// filter refused.
pub fn decode(body: &[u8], failure: FaultFactory<'_>) -> Result<ModelReply, Fault> {
    let completion: ChatCompletion =
        serde_json::from_slice(body).map_err(|error| failure.malformed(&error.to_string()))?;
    if let Some(error) = completion.error.filter(|error| !error.is_null()) {
        return Err(failure.reported(&error));
    }
    let choice = completion.choices.into_iter().next();
    let choice = choice.ok_or_else(|| failure.malformed("there is no choice"))?;
    let mut said = choice.message.ok_or_else(|| failure.malformed("the choice has no message"))?;
    let (text, media) = said.take_content();
    let draft = ReplyDraft {
        text,
        media,
        refusal: said.refusal.take().unwrap_or_default(),
        tool_calls: calls(said.tool_calls.unwrap_or_default(), failure)?,
        finish: choice.finish_reason.unwrap_or_default(),
        usage: completion.usage.map(Usage::from).unwrap_or_default(),
        model: completion.model.unwrap_or_default(),
    };
    draft.conclude(failure)
}

fn calls(calls: Vec<WireToolCall>, failure: FaultFactory<'_>) -> Result<Vec<ToolCall>, Fault> {
    let call = |(position, call): (usize, WireToolCall)| {
        let mut function = call.function?;
        let name = function.name.take()?;
        Some(ToolCall { id: call_id(call.id, position), name, arguments: function.arguments() })
    };
    let named: Option<Vec<ToolCall>> = calls.into_iter().enumerate().map(call).collect();
    named.ok_or_else(|| failure.malformed("a tool call has no function name"))
}

/// A reply all of whose parts have come.
#[derive(Debug)]
pub(crate) struct ReplyDraft {
    pub(crate) text: String,
    pub(crate) media: Vec<ContentPart>,
    pub(crate) refusal: String,
    pub(crate) tool_calls: Vec<ToolCall>,
    pub(crate) finish: String,
    pub(crate) usage: Usage,
    pub(crate) model: String,
}

impl ReplyDraft {
    pub(crate) fn conclude(self, failure: FaultFactory<'_>) -> Result<ModelReply, Fault> {
        if !self.refusal.is_empty() {
            return Err(failure.refused(&self.refusal));
        }
        let finish = finish_reason(&self.finish, &self.tool_calls);
        if finish == FinishReason::ContentFilter {
            return Err(failure.refused("a content filter blocked it"));
        }
        Ok(ModelReply {
            text: self.text,
            media: self.media,
            tool_calls: self.tool_calls,
            finish,
            usage: self.usage,
            model: self.model,
            attempts: 1,
            latency: Duration::ZERO,
            provider_content: None,
        })
    }
}
