//! The form of replies. Servers omit different fields, so nothing is required that can be done
//! without.

use antiphon_core::{ContentPart, FinishReason, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::openai_chat::image::{image, image_url};

/// A whole reply, or one event of a stream.
#[derive(Debug, Deserialize)]
pub(crate) struct ChatCompletion {
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) choices: Vec<WireChoice>,
    pub(crate) usage: Option<WireUsage>,
    pub(crate) error: Option<Json>,
}

/// The choice; one is requested.
#[derive(Debug, Deserialize)]
pub(crate) struct WireChoice {
    #[serde(default)]
    pub(crate) index: u32,
    /// In a whole reply.
    pub(crate) message: Option<WireMessage>,
    /// In an event of a stream.
    pub(crate) delta: Option<WireMessage>,
    pub(crate) finish_reason: Option<String>,
}

/// The model's message, or a chunk of it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct WireMessage {
    pub(crate) content: Option<WireContent>,
    /// Images that the model made, as gateways send them.
    #[serde(default)]
    pub(crate) images: Json,
    pub(crate) refusal: Option<String>,
    pub(crate) tool_calls: Option<Vec<WireToolCall>>,
}

/// Text, or a list of parts some of which are text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum WireContent {
    Text(String),
    Parts(Vec<WirePart>),
}

/// A part of a content: a text, an image, or something else (a thought).
#[derive(Debug, Deserialize)]
pub(crate) struct WirePart {
    pub(crate) text: Option<String>,
    #[serde(default)]
    pub(crate) image_url: Json,
}

/// A tool call, or a chunk of one.
#[derive(Debug, Deserialize)]
pub(crate) struct WireToolCall {
    pub(crate) index: Option<usize>,
    pub(crate) id: Option<String>,
    pub(crate) function: Option<WireFunction>,
}

/// The function and its arguments as JSON text; some servers send them as JSON.
#[derive(Debug, Deserialize)]
pub(crate) struct WireFunction {
    pub(crate) name: Option<String>,
    pub(crate) arguments: Option<Json>,
}

/// Token counts.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct WireUsage {
    pub(crate) prompt_tokens: Option<u64>,
    pub(crate) completion_tokens: Option<u64>,
}

impl WireMessage {
    /// The text, and the images.
    pub(crate) fn take_content(&mut self) -> (String, Vec<ContentPart>) {
        let images = self.images.take();
        let mut media: Vec<ContentPart> =
            images.as_array().into_iter().flatten().filter_map(image_url).map(image).collect();
        let text = match self.content.take() {
            Some(WireContent::Text(text)) => text,
            Some(WireContent::Parts(parts)) => {
                let own = parts.iter().filter_map(|part| image_url(&part.image_url)).map(image);
                media.extend(own);
                parts.into_iter().filter_map(|part| part.text).collect()
            }
            None => String::new(),
        };
        (text, media)
    }
}

impl WireFunction {
    pub(crate) fn arguments(&mut self) -> String {
        match self.arguments.take() {
            Some(Json::String(text)) => text,
            Some(Json::Null) | None => String::new(),
            Some(json) => json.to_string(),
        }
    }
}

impl From<WireUsage> for Usage {
    fn from(tokens: WireUsage) -> Self {
        Self {
            input_tokens: tokens.prompt_tokens.unwrap_or_default(),
            output_tokens: tokens.completion_tokens.unwrap_or_default(),
        }
    }
}

/// The finish reason. If there are tool calls, it is `ToolCalls`, also if the server reports another.
pub(crate) fn finish_reason(word: &str, calls: &[ToolCall]) -> FinishReason {
    match word {
        "length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        _ if !calls.is_empty() => FinishReason::ToolCalls,
        _ => FinishReason::Stop,
    }
}

/// An id for a call without one.
pub(crate) fn call_id(id: Option<String>, position: usize) -> String {
    id.filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call_{position}"))
}
