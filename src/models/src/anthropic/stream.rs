//! Assembles a reply from the events of a stream.

use antiphon_core::{Fault, ModelReply};
use antiphon_net::SseEvent;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::anthropic::reply::{MessageBody, MessageUsage, ReplyDraft, field, kind_of};
use crate::anthropic::turns::object_arguments;
use crate::wire::{StreamAssembler, StreamDelta, WireExchange};

/// The most content blocks of one reply; more are a server's mistake.
const BLOCKS: usize = 1024;

/// Assembles content blocks from their pieces.
#[derive(Debug)]
pub struct BlockAssembler<'e> {
    exchange: WireExchange<'e>,
    draft: ReplyDraft,
    started: bool,
    finished: bool,
}

/// One event. Types and fields that are not known are skipped: the API adds new ones.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EventBody {
    #[serde(rename = "type")]
    kind: String,
    index: usize,
    message: MessageBody,
    content_block: Json,
    delta: Json,
    usage: MessageUsage,
    error: Json,
}

impl<'e> BlockAssembler<'e> {
    /// An assembler without events.
    pub fn new(exchange: WireExchange<'e>) -> Self {
        Self { exchange, draft: ReplyDraft::default(), started: false, finished: false }
    }

    fn begin_block(&mut self, index: usize, block: Json) -> Result<StreamDelta, Fault> {
        if index >= BLOCKS {
            let reason = "a content block has an index out of all bounds";
            return Err(self.exchange.failure().malformed(reason));
        }
        let text = if kind_of(&block) == "text" { field(&block, "text") } else { None };
        let delta = said(text.unwrap_or_default());
        let blocks = &mut self.draft.blocks;
        if index >= blocks.len() {
            blocks.resize_with(index + 1, || (Json::Null, None));
        }
        if let Some(place) = blocks.get_mut(index) {
            *place = (block, None);
        }
        Ok(delta)
    }

    fn extend_block(&mut self, index: usize, delta: &Json) -> StreamDelta {
        let Some((block, arguments)) = self.draft.blocks.get_mut(index) else {
            return StreamDelta::Silent;
        };
        let piece = |name: &str| field(delta, name).unwrap_or_default();
        match kind_of(delta) {
            "text_delta" => {
                append(block, "text", piece("text"));
                return said(piece("text"));
            }
            "thinking_delta" => append(block, "thinking", piece("thinking")),
            "signature_delta" => append(block, "signature", piece("signature")),
            "input_json_delta" => {
                arguments.get_or_insert_default().push_str(piece("partial_json"));
            }
            _ => {}
        }
        StreamDelta::Silent
    }

    /// The arguments of a call are complete: the block holds them as the API wants them back.
    fn end_block(&mut self, index: usize) {
        if let Some((block, arguments)) = self.draft.blocks.get_mut(index) {
            // A tool without parameters is called without a piece, or with empty ones.
            arguments.take_if(|text| text.trim().is_empty());
            if let (Some(text), Json::Object(fields)) = (arguments, block) {
                fields.insert("input".to_owned(), object_arguments(text));
            }
        }
    }

    fn update(&mut self, delta: &Json, usage: MessageUsage) {
        if let Some(reason) = field(delta, "stop_reason") {
            self.draft.stop_reason = Some(reason.to_owned());
        }
        self.draft.stop_details = delta.get("stop_details").cloned();
        self.draft.usage = self.draft.usage.updated(usage);
    }
}

impl StreamAssembler for BlockAssembler<'_> {
    fn take(&mut self, event: &SseEvent) -> Result<StreamDelta, Fault> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(StreamDelta::Silent);
        }
        let failure = self.exchange.failure();
        let malformed = |error: serde_json::Error| failure.malformed(&error.to_string());
        let body: EventBody = serde_json::from_str(data).map_err(malformed)?;
        match body.kind.as_str() {
            "message_start" => {
                self.started = true;
                self.draft.model = body.message.model;
                self.draft.usage = body.message.usage;
            }
            "content_block_start" => return self.begin_block(body.index, body.content_block),
            "content_block_delta" => return Ok(self.extend_block(body.index, &body.delta)),
            "content_block_stop" => self.end_block(body.index),
            "message_delta" => self.update(&body.delta, body.usage),
            "message_stop" => {
                self.finished = true;
                return Ok(StreamDelta::Done);
            }
            "error" => return Err(failure.reported(&body.error)),
            _ => {}
        }
        Ok(StreamDelta::Silent)
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, Fault> {
        let failure = self.exchange.failure();
        if !self.started {
            return Err(failure.malformed("there is no message"));
        }
        if !self.finished && self.draft.stop_reason.is_none() {
            return Err(failure.cut("the stream ended before the reply did"));
        }
        self.draft.conclude(self.exchange)
    }
}

fn said(text: &str) -> StreamDelta {
    if text.is_empty() { StreamDelta::Silent } else { StreamDelta::Text(text.to_owned()) }
}

fn append(block: &mut Json, name: &str, piece: &str) {
    let Json::Object(fields) = block else { return };
    match fields.get_mut(name) {
        Some(Json::String(text)) => text.push_str(piece),
        _ => drop(fields.insert(name.to_owned(), json!(piece))),
    }
}
