//! The conversation as the API wants it: turns of the user and the assistant, each a list of
//! content blocks, beginning and ending with the user.

use std::collections::BTreeSet;

use antiphon_core::{Content, ContentPart, Media, MediaSource, Message, Role, ToolCall};
use serde_json::{Map, Value as Json, json};

use crate::wire::wire_name;

/// What the user says where the conversation needs a turn of the user and has none.
const CONTINUE: &str = include_str!("continue_prompt.txt");

/// The turns of a conversation.
#[derive(Debug, Default)]
pub struct ConversationTurns {
    turns: Vec<(Role, Vec<Json>)>,
}

impl ConversationTurns {
    /// The turns of `messages`, without instructions. Replies of `model` go back as it wrote
    /// them, signed thinking included, because the API requires that beside the results of tools.
    pub fn of(messages: &[Message], model: &str) -> Self {
        let mut turns = Self::default();
        // Images and files of replies, which the API takes from the user alone.
        let mut media = Vec::new();
        for message in messages {
            // Results of tools come first in their turn.
            if matches!(message.role, Role::User | Role::Assistant) {
                turns.push(Role::User, std::mem::take(&mut media));
            }
            match message.role {
                Role::System => {}
                Role::User => turns.push(Role::User, content(&message.content)),
                Role::Assistant => {
                    turns.push(Role::Assistant, assistant(message, model));
                    media = media_of(&message.content);
                }
                Role::Tool => turns.push(Role::User, vec![tool_result(message)]),
            }
        }
        turns.push(Role::User, media);
        turns.close();
        turns
    }

    /// The field `messages`.
    pub fn into_json(self) -> Json {
        let turn = |(role, content): (Role, Vec<Json>)| json!({"role": role, "content": content});
        self.turns.into_iter().map(turn).collect()
    }

    /// Blocks of the same speaker are one turn: results of tools must all be in the turn after
    /// their calls.
    fn push(&mut self, role: Role, blocks: Vec<Json>) {
        match self.turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => self.turns.push((role, blocks)),
        }
    }

    fn close(&mut self) {
        let speaks = |turn: Option<&(Role, Vec<Json>)>| turn.is_some_and(|(r, _)| *r == Role::User);
        if !speaks(self.turns.first()) {
            self.turns.insert(0, (Role::User, text(CONTINUE.trim())));
        }
        // Newer models refuse to continue a turn of the assistant.
        if !speaks(self.turns.last()) {
            self.push(Role::User, text(CONTINUE.trim()));
        }
    }
}

/// The names of the tools that the messages call.
pub(super) fn called_tools(messages: &[Message]) -> BTreeSet<&str> {
    messages.iter().flat_map(|message| &message.tool_calls).map(|call| call.name.as_str()).collect()
}

/// The arguments of a call as an object, also if the model wrote another value.
pub(super) fn object_arguments(text: &str) -> Json {
    match serde_json::from_str(text) {
        Ok(Json::Object(fields)) => Json::Object(fields),
        Ok(value) => json!({"value": value}),
        Err(_) if text.trim().is_empty() => Json::Object(Map::new()),
        Err(_) => json!({"malformed": text}),
    }
}

/// The blocks of what a message says.
fn content(content: &Content) -> Vec<Json> {
    match content {
        Content::Text(said) => text(said),
        Content::Parts(parts) => parts.iter().flat_map(content_part).collect(),
    }
}

fn content_part(part: &ContentPart) -> Vec<Json> {
    match part {
        ContentPart::Image(image) => source(image)
            .map(|source| json!({"type": "image", "source": source}))
            .into_iter()
            .collect(),
        ContentPart::File { filename, media } if part.as_text().is_none() => {
            let document = source(media).map(|source| {
                let mut block = json!({"type": "document", "source": source});
                if let (Json::Object(fields), Some(filename)) = (&mut block, filename) {
                    fields.insert("title".to_owned(), json!(filename));
                }
                block
            });
            document.into_iter().collect()
        }
        part => text(&part.as_text().unwrap_or_default()),
    }
}

/// The bytes or the address of a medium; a text has neither.
fn source(media: &Media) -> Option<Json> {
    match &media.source {
        MediaSource::Url(url) => Some(json!({"type": "url", "url": url})),
        MediaSource::Base64(data) => {
            let kind = media.mime_type.as_deref().unwrap_or("application/octet-stream");
            Some(json!({"type": "base64", "media_type": kind, "data": data}))
        }
        MediaSource::Text(_) => None,
    }
}

/// A block of text; none for a blank one, which the API refuses.
fn text(said: &str) -> Vec<Json> {
    if said.trim().is_empty() {
        return Vec::new();
    }
    vec![json!({"type": "text", "text": said})]
}

fn assistant(message: &Message, model: &str) -> Vec<Json> {
    if let Some(own) = message.provider_content.as_ref().filter(|own| own.model == model)
        && let Json::Array(blocks) = &own.content
    {
        return blocks.clone();
    }
    let told = |(number, part): (usize, &ContentPart)| match part.as_text() {
        Some(said) => text(&said),
        None => text(&format!("[part {number} of your reply: see below]")),
    };
    let mut blocks: Vec<Json> = match &message.content {
        Content::Text(said) => text(said),
        Content::Parts(parts) => (1..).zip(parts).flat_map(told).collect(),
    };
    blocks.extend(message.tool_calls.iter().map(tool_use));
    blocks
}

/// The images and files of a reply, each with a line that says what it is.
fn media_of(content: &Content) -> Vec<Json> {
    let Content::Parts(parts) = content else { return Vec::new() };
    let media = (1..).zip(parts).filter(|(_, part)| part.as_text().is_none());
    let labelled = media.flat_map(|(number, part)| {
        let mut blocks = text(&format!("[part {number} of your reply]"));
        blocks.extend(content_part(part));
        blocks
    });
    labelled.collect()
}

fn tool_use(call: &ToolCall) -> Json {
    json!({
        "type": "tool_use",
        "id": wire_name(&call.id),
        "name": wire_name(&call.name),
        "input": object_arguments(&call.arguments),
    })
}

fn tool_result(message: &Message) -> Json {
    let id = wire_name(message.tool_call_id.as_deref().unwrap_or_default());
    let mut block = json!({"type": "tool_result", "tool_use_id": id});
    let content = content(&message.content);
    if let (Json::Object(fields), false) = (&mut block, content.is_empty()) {
        fields.insert("content".to_owned(), Json::Array(content));
    }
    block
}
