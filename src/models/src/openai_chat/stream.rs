//! Assembles a reply from the events of a stream.

use antiphon_core::{Fault, ModelReply, ToolCall, Usage};
use antiphon_net::SseEvent;
use serde_json::Value as Json;

use crate::failure::FaultFactory;
use crate::openai_chat::body::{
    ChatCompletion, WireChoice, WireMessage, WireToolCall, WireUsage, call_id,
};
use crate::openai_chat::reply::ReplyDraft;
use crate::wire::{StreamAssembler, StreamDelta};

/// The most calls in one reply; more are a server's mistake.
const CALLS: usize = 1024;

/// Assembles chunks.
#[derive(Debug)]
pub struct DeltaAssembler<'e> {
    failure: FaultFactory<'e>,
    draft: ReplyDraft,
    calls: Vec<PartialCall>,
    finished: bool,
}

#[derive(Debug, Default)]
struct PartialCall {
    id: Option<String>,
    name: String,
    arguments: String,
}

impl<'e> DeltaAssembler<'e> {
    /// An assembler without chunks.
    pub const fn new(failure: FaultFactory<'e>) -> Self {
        let draft = ReplyDraft {
            text: String::new(),
            media: Vec::new(),
            refusal: String::new(),
            tool_calls: Vec::new(),
            finish: String::new(),
            usage: Usage { input_tokens: 0, output_tokens: 0 },
            model: String::new(),
        };
        Self { failure, draft, calls: Vec::new(), finished: false }
    }

    fn read(
        &mut self,
        model: Option<String>,
        usage: Option<WireUsage>,
        choices: Vec<WireChoice>,
    ) -> Result<StreamDelta, Fault> {
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            self.draft.model = model;
        }
        // Some servers report running totals with every event: the last one is complete.
        if let Some(tokens) = usage {
            self.draft.usage = tokens.into();
        }
        let mut text = String::new();
        for choice in choices.into_iter().filter(|choice| choice.index == 0) {
            text.push_str(&self.say(choice.delta.or(choice.message).unwrap_or_default())?);
            if let Some(word) = choice.finish_reason {
                self.draft.finish = word;
                self.finished = true;
            }
        }
        Ok(if text.is_empty() { StreamDelta::Silent } else { StreamDelta::Text(text) })
    }

    fn say(&mut self, mut said: WireMessage) -> Result<String, Fault> {
        let (text, media) = said.take_content();
        self.draft.text.push_str(&text);
        for part in media {
            // Some servers repeat an image with the last event.
            if !self.draft.media.contains(&part) {
                self.draft.media.push(part);
            }
        }
        self.draft.refusal.push_str(said.refusal.as_deref().unwrap_or_default());
        for call in said.tool_calls.unwrap_or_default() {
            self.extend(call)?;
        }
        Ok(text)
    }

    fn extend(&mut self, piece: WireToolCall) -> Result<(), Fault> {
        let index = piece.index.unwrap_or_else(|| self.position(piece.id.as_deref()));
        if index >= CALLS {
            return Err(self.failure.malformed("a tool call has an index out of all bounds"));
        }
        if index >= self.calls.len() {
            self.calls.resize_with(index + 1, PartialCall::default);
        }
        let (Some(call), Some(mut function)) = (self.calls.get_mut(index), piece.function) else {
            return Ok(());
        };
        if call.id.is_none() {
            call.id = piece.id;
        }
        // Names arrive whole; some servers repeat them with every chunk.
        if let (Some(name), true) = (function.name.take(), call.name.is_empty()) {
            call.name = name;
        }
        call.arguments.push_str(&function.arguments());
        Ok(())
    }

    /// The call that a chunk without an index belongs to: the one with its id, a new one for a
    /// new id, or the last one without an id.
    fn position(&self, id: Option<&str>) -> usize {
        let Some(id) = id else { return self.calls.len().saturating_sub(1) };
        let same = self.calls.iter().position(|call| call.id.as_deref() == Some(id));
        same.unwrap_or(self.calls.len())
    }
}

impl StreamAssembler for DeltaAssembler<'_> {
    fn take(&mut self, event: &SseEvent) -> Result<StreamDelta, Fault> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.finished = true;
            return Ok(StreamDelta::Done);
        }
        if data.is_empty() {
            return Ok(StreamDelta::Silent);
        }
        let malformed = |error: serde_json::Error| self.failure.malformed(&error.to_string());
        if event.event == "error" {
            let error: Json = serde_json::from_str(data).map_err(malformed)?;
            return Err(self.failure.reported(error.get("error").unwrap_or(&error)));
        }
        let completion: ChatCompletion = serde_json::from_str(data).map_err(malformed)?;
        if let Some(error) = completion.error.filter(|error| !error.is_null()) {
            return Err(self.failure.reported(&error));
        }
        self.read(completion.model, completion.usage, completion.choices)
    }

    fn finish(mut self: Box<Self>) -> Result<ModelReply, Fault> {
        if !self.finished {
            return Err(self.failure.cut("the stream ended before the reply did"));
        }
        let empty = self.draft.text.is_empty() && self.draft.refusal.is_empty();
        let empty = empty && self.draft.media.is_empty();
        if empty && self.calls.is_empty() && self.draft.finish.is_empty() {
            return Err(self.failure.malformed("there is no choice"));
        }
        for (position, call) in self.calls.into_iter().enumerate() {
            if call.name.is_empty() {
                return Err(self.failure.malformed("a tool call has no function name"));
            }
            let PartialCall { id, name, arguments } = call;
            self.draft.tool_calls.push(ToolCall { id: call_id(id, position), name, arguments });
        }
        self.draft.conclude(self.failure)
    }
}
