//! What events hold of requests, replies and results, so that a trace shows why a run ended as it
//! did. It is bounded, because events are kept in memory as long as the result of the run.

use serde_json::{Map, Value as Json, json};

use super::EventKind;
use crate::content::{Content, ContentPart};
use crate::message::{Message, ToolCall};
use crate::model::{ModelReply, ModelRequest};
use crate::tool::ToolSpec;

/// The most characters of one text.
pub const MAX_TEXT: usize = 20_000;
/// The most bytes of texts in all events of a run.
pub const MAX_TEXTS: usize = 4 << 20;
/// The most items of one list.
const MAX_ITEMS: usize = 1_000;
/// Texts of so many bytes are always kept: names, ids, roles.
const SHORT: usize = 64;

/// The content of a request, without its first `earlier` messages, which earlier events show.
pub fn request(request: &ModelRequest, earlier: usize) -> Map<String, Json> {
    let messages = request.messages.iter().skip(earlier).map(message);
    let mut data = Map::from_iter([("messages".to_owned(), messages.collect())]);
    if earlier > 0 {
        data.insert("earlier".into(), earlier.into());
    }
    if !request.tools.is_empty() {
        let names = request.tools.iter().map(|tool| tool.name.as_str());
        data.insert("tools".into(), names.collect());
    }
    if !request.tools.is_empty() && earlier == 0 {
        data.insert("tool_specs".into(), request.tools.iter().map(tool_spec).collect());
    }
    if let Some(schema) = &request.schema {
        data.insert("schema".into(), schema.json.clone());
    }
    let parameters = parameters(request);
    if !parameters.is_empty() {
        data.insert("parameters".into(), parameters.into());
    }
    data
}

/// The content of a reply, with what it cost.
pub fn reply(reply: &ModelReply) -> Map<String, Json> {
    let mut data = Map::new();
    data.insert("text".into(), kept(&reply.text));
    if !reply.media.is_empty() {
        data.insert("media".into(), parts(&reply.media));
    }
    if !reply.tool_calls.is_empty() {
        data.insert("tool_calls".into(), reply.tool_calls.iter().map(tool_call).collect());
    }
    data.insert("model".into(), reply.model.as_str().into());
    data.insert("finish".into(), json!(reply.finish));
    data.insert("usage".into(), json!(reply.usage));
    data.insert("attempts".into(), reply.attempts.into());
    data
}

fn parameters(request: &ModelRequest) -> Map<String, Json> {
    let mut parameters = Map::new();
    if let Some(temperature) = request.temperature {
        parameters.insert("temperature".into(), temperature.into());
    }
    if let Some(limit) = request.max_output_tokens {
        parameters.insert("max_output_tokens".into(), limit.into());
    }
    if let Some(timeout) = request.timeout {
        parameters.insert("timeout".into(), timeout.as_secs_f64().into());
    }
    parameters
}

fn message(message: &Message) -> Json {
    let mut shown = Map::new();
    shown.insert("role".into(), json!(message.role));
    shown.insert("content".into(), content(&message.content));
    if let Some(name) = &message.name {
        shown.insert("name".into(), name.as_str().into());
    }
    if !message.tool_calls.is_empty() {
        shown.insert("tool_calls".into(), message.tool_calls.iter().map(tool_call).collect());
    }
    if let Some(id) = &message.tool_call_id {
        shown.insert("tool_call_id".into(), id.as_str().into());
    }
    shown.into()
}

/// What a message says; images and files are shown by their number of bytes.
pub fn content(content: &Content) -> Json {
    match content {
        Content::Text(text) => kept(text),
        Content::Parts(said) => parts(said),
    }
}

fn parts(parts: &[ContentPart]) -> Json {
    let shown = parts.iter().map(|part| {
        let mut shown = json!(part);
        if let Some(fields) = shown.as_object_mut()
            && let Some(Json::String(base64)) = fields.remove("base64")
        {
            fields.insert("bytes".into(), decoded_len(&base64).into());
        }
        shown
    });
    shown.collect()
}

/// The number of bytes that a base64 text encodes.
fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

fn tool_call(call: &ToolCall) -> Json {
    json!({"id": call.id, "name": call.name, "arguments": kept(&call.arguments)})
}

fn tool_spec(tool: &ToolSpec) -> Json {
    json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
}

/// A text with at most about [`MAX_TEXT`] characters.
fn kept(text: &str) -> Json {
    // Characters are counted only where there may be too many of them. A text that was cut before
    // is not cut again for the mark at its end.
    if text.len() <= MAX_TEXT + SHORT || text.chars().count() <= MAX_TEXT + SHORT {
        return text.into();
    }
    let length = text.chars().count();
    let end = text.char_indices().nth(MAX_TEXT).map_or(text.len(), |(end, _)| end);
    let text = text.get(..end).unwrap_or_default();
    format!("{text}\n[truncated: {MAX_TEXT} of {length} characters]").into()
}

/// The texts that the events of a run may still hold.
#[derive(Debug)]
pub(crate) struct ContentRoom(usize);

impl Default for ContentRoom {
    fn default() -> Self {
        Self(MAX_TEXTS)
    }
}

impl ContentRoom {
    /// Bounds the data of an event about a call; other kinds stay as they are.
    pub(crate) fn bound(&mut self, kind: EventKind, data: &mut Map<String, Json>) {
        use EventKind::{ModelCall, ModelReply, ToolCall, ToolResult};
        if matches!(kind, ModelCall | ModelReply | ToolCall | ToolResult) {
            data.values_mut().for_each(|value| self.bound_value(value));
        }
    }

    fn bound_value(&mut self, value: &mut Json) {
        match value {
            Json::String(text) if text.len() > SHORT => {
                let cut = kept(text);
                let size = cut.as_str().map_or(0, str::len);
                *value = match self.0.checked_sub(size) {
                    Some(left) => {
                        self.0 = left;
                        cut
                    }
                    None => format!("[left out: {} characters]", text.chars().count()).into(),
                };
            }
            Json::Array(items) => {
                let length = items.len();
                items.truncate(MAX_ITEMS);
                for item in items.iter_mut() {
                    self.bound_value(item);
                }
                if length > MAX_ITEMS {
                    items.push(format!("[truncated: {MAX_ITEMS} of {length} items]").into());
                }
            }
            Json::Object(fields) => fields.values_mut().for_each(|item| self.bound_value(item)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
}
