//! What differs between the APIs of providers; [`crate::HttpModel`] is what they share.

use std::fmt::Debug;

use antiphon_core::{Fault, FinishReason, ModelReply, ModelRequest, Schema, ToolSpec};
use antiphon_net::SseEvent;
use serde_json::{Map, Value as Json};

use crate::capabilities::StructuredOutput;
use crate::endpoint::Endpoint;
use crate::failure::FaultFactory;

/// The instructions for servers that accept no schema.
/// The instructions for servers that accept no schema.
const SCHEMA_PROMPT: &str = include_str!("schema_prompt.txt");
/// What a model reads about the tool that takes its reply.
const ANSWER_TOOL: &str = include_str!("answer_tool.txt");
/// The longest name that all APIs allow.
const NAME: usize = 64;

/// Which API a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireKind {
    /// `POST …/chat/completions`.
    OpenAiChat,
    /// `POST …/v1/messages`.
    AnthropicMessages,
}

impl WireKind {
    /// The name in error messages.
    pub const fn api(self) -> &'static str {
        match self {
            Self::OpenAiChat => "OpenAI chat API",
            Self::AnthropicMessages => "Anthropic messages API",
        }
    }

    /// Fields of a body that the wire sets itself: a second value would be ignored, or break the
    /// decoding of the reply.
    pub const fn own_fields(self) -> &'static [&'static str] {
        match self {
            Self::OpenAiChat => {
                &["model", "messages", "tools", "response_format", "stream", "stream_options", "n"]
            }
            Self::AnthropicMessages => {
                &["model", "messages", "system", "tools", "tool_choice", "stream"]
            }
        }
    }
}

/// An API: how its requests are encoded and its replies decoded.
pub trait WireFormat: Clone + Debug + Send + Sync + 'static {
    /// The body of a request. Equal requests have equal bytes.
    fn encode(exchange: WireExchange<'_>, streamed: bool) -> Json;

    /// The reply with this body, whose status was a success.
    ///
    /// # Errors
    /// `ModelTransport` with `model_reply_malformed` if the body violates the protocol; the fault
    /// that the body reports, if it does; `ModelOutput` with `model_refused` if the model or a
    /// filter refused.
    fn decode(body: &[u8], exchange: WireExchange<'_>) -> Result<ModelReply, Fault>;

    /// What assembles a reply from the events of a stream.
    fn assembler(exchange: WireExchange<'_>) -> Box<dyn StreamAssembler + Send + '_>;
}

/// One request and where it goes: what a wire needs to encode it and to decode its reply.
#[derive(Clone, Copy, Debug)]
pub struct WireExchange<'e> {
    /// The request.
    pub request: &'e ModelRequest,
    /// The endpoint.
    pub endpoint: &'e Endpoint,
}

impl<'e> WireExchange<'e> {
    /// Makes the faults of the endpoint.
    pub const fn failure(self) -> FaultFactory<'e> {
        FaultFactory::of(self.endpoint)
    }

    /// The tool whose arguments are the reply, where a schema is sent in this way.
    pub(crate) fn answer_tool(self) -> Option<ToolSpec> {
        let by_tool = self.endpoint.capabilities.structured_output == StructuredOutput::Tool;
        let schema = self.request.schema.as_ref().filter(|_| by_tool)?;
        takes_arguments(schema).then(|| {
            ToolSpec::new(wire_name(&schema.name), ANSWER_TOOL.trim(), schema.json.clone())
        })
    }

    /// The instructions with the schema, where it is sent in this way.
    pub(crate) fn schema_in_words(self) -> Option<String> {
        let schema = self.request.schema.as_ref()?;
        let in_words = match self.endpoint.capabilities.structured_output {
            StructuredOutput::Json | StructuredOutput::Prompt => true,
            StructuredOutput::Tool => !takes_arguments(schema),
            StructuredOutput::Strict | StructuredOutput::Schema => false,
        };
        in_words.then(|| schema_prompt(schema))
    }

    /// `reply` with the arguments of the answer tool as its text.
    pub(crate) fn take_answer(self, mut reply: ModelReply) -> ModelReply {
        let Some(tool) = self.answer_tool() else { return reply };
        let Some(position) = reply.tool_calls.iter().position(|call| call.name == tool.name) else {
            return reply;
        };
        reply.text = reply.tool_calls.swap_remove(position).arguments;
        reply.tool_calls.clear();
        reply.provider_content = None;
        if reply.finish == FinishReason::ToolCalls {
            reply.finish = FinishReason::Stop;
        }
        reply
    }
}

/// The instructions with a schema.
pub(crate) fn schema_prompt(schema: &Schema) -> String {
    format!("{SCHEMA_PROMPT}{}", schema.json)
}

/// Whether the values of a schema can be the arguments of a tool, which are an object.
fn takes_arguments(schema: &Schema) -> bool {
    schema.json.get("type").and_then(Json::as_str) == Some("object")
}

/// Assembles a reply from the events of a stream.
pub trait StreamAssembler {
    /// Adds one event.
    ///
    /// # Errors
    /// `model_reply_malformed` if it violates the protocol; the fault that the event reports, if
    /// it does.
    fn take(&mut self, event: &SseEvent) -> Result<StreamDelta, Fault>;

    /// The reply, once the stream has ended.
    ///
    /// # Errors
    /// `model_reply_cut` if the stream ended before the reply did; `model_reply_malformed`;
    /// `model_refused`.
    fn finish(self: Box<Self>) -> Result<ModelReply, Fault>;
}

/// The news of one event for an observer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamDelta {
    /// More text.
    Text(String),
    /// Nothing to show: a part of a tool call, token counts, a keep-alive.
    Silent,
    /// The stream has ended.
    Done,
}

/// Adds a user's own fields to a body. An object completes one that the body has already, so that
/// `{"output_config": {"effort": "low"}}` leaves the format of the reply as it is.
pub(crate) fn add_extra(body: &mut Map<String, Json>, extra: &Map<String, Json>) {
    for (field, value) in extra {
        match (body.get_mut(field), value) {
            (Some(Json::Object(own)), Json::Object(more)) => own.extend(more.clone()),
            _ => drop(body.insert(field.clone(), value.clone())),
        }
    }
}

/// A name in the few characters that every server accepts.
pub(crate) fn wire_name(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    name.chars().take(NAME).map(keep).collect()
}
