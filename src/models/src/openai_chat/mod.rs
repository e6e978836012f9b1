//! The wire that most providers speak: `POST …/chat/completions`, with one JSON object or a
//! stream of events as the reply.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@request`] | a request as the wire's JSON |
//! | `content` | texts, images and files of a message as the wire's JSON |
//! | [`strict_schema`] | rewrites a schema to the strict subset, and reports what it dropped |
//! | [`wire`] | the form of replies, parsed leniently |
//! | [`reply`], [`stream`] | a whole reply; a reply assembled from chunks |

mod content;
pub mod reply;
pub mod request;
pub mod stream;
pub mod strict_schema;
pub mod wire;

use std::time::Duration;

use antiphon_core::{Fault, ModelReply, ModelRequest};
use antiphon_net::{HttpClient, HttpReply, HttpRequest, SseParser, StatusKind, within};
use antiphon_runtime::{CallContext, Model, ReplyChunk};
use async_trait::async_trait;

use crate::endpoint::Endpoint;
use crate::failure::FaultFactory;
use crate::openai_chat::stream::{DeltaAssembler, StreamDelta};

pub use strict_schema::{DroppedKeyword, StrictSchema, StrictSchemaFault};

/// A model behind an endpoint of this wire. One call is one attempt; [`crate::Retrying`] repeats
/// it.
#[derive(Clone, Debug)]
pub struct OpenAiChat {
    endpoint: Endpoint,
    http: HttpClient,
}

impl OpenAiChat {
    /// A model at `endpoint`, called over `http`.
    pub const fn new(endpoint: Endpoint, http: HttpClient) -> Self {
        Self { endpoint, http }
    }

    async fn exchange(
        &self,
        request: &ModelRequest,
        cx: &CallContext,
    ) -> Result<ModelReply, Fault> {
        let streamed = cx.chunks.is_some();
        let failure = FaultFactory::of(&self.endpoint);
        let message = self.message(request, cx, streamed)?;
        let sent = self.http.send(&message).await;
        let reply = sent.map_err(|error| failure.unanswered(&error))?;
        if StatusKind::of(reply.status()) != StatusKind::Success {
            return Err(failure.status(reply, cx.clock.now()).await);
        }
        // Some servers reply whole although a stream was requested.
        if streamed && is_stream(&reply) {
            return self.read_stream(reply, cx).await;
        }
        let body = reply.body(self.endpoint.max_reply_bytes).await;
        let reply = reply::decode(&body.map_err(|error| failure.unread(&error))?, failure)?;
        cx.emit(ReplyChunk::Text(reply.text.clone()));
        Ok(reply)
    }

    fn message(
        &self,
        request: &ModelRequest,
        cx: &CallContext,
        streamed: bool,
    ) -> Result<HttpRequest, Fault> {
        let body = request::encode(request, &self.endpoint, streamed);
        let with_key = self.endpoint.idempotency_header;
        let build = || {
            let mut message = HttpRequest::post_json(self.endpoint.url.clone(), body.to_string());
            if let Some(key) = cx.idempotency_key.as_ref().filter(|_| with_key) {
                message = message.header("idempotency-key", key)?;
            }
            for (name, value) in &self.endpoint.headers {
                message = message.secret_header(name, value)?;
            }
            Ok(message)
        };
        build().map_err(|error| FaultFactory::of(&self.endpoint).unanswered(&error))
    }

    async fn read_stream(
        &self,
        mut reply: HttpReply,
        cx: &CallContext,
    ) -> Result<ModelReply, Fault> {
        let failure = FaultFactory::of(&self.endpoint);
        let (limit, idle) = (self.endpoint.max_reply_bytes, self.endpoint.idle_timeout);
        let mut parser = SseParser::new(limit);
        let mut pieces = DeltaAssembler::new(failure);
        let mut size = 0;
        loop {
            let piece = within(&*cx.clock, Some(idle), reply.chunk()).await;
            let piece = piece.ok_or_else(|| failure.late("idle", idle.as_secs_f64()))?;
            let Some(bytes) = piece.map_err(|error| failure.unread(&error))? else { break };
            size += bytes.len();
            let events = if size > limit { None } else { parser.push(&bytes).ok() };
            for event in events.ok_or_else(|| failure.too_large(limit))? {
                if forward(pieces.take(&event)?, cx) {
                    return pieces.finish();
                }
            }
        }
        if let Some(event) = parser.finish() {
            forward(pieces.take(&event)?, cx);
        }
        pieces.finish()
    }
}

/// Forwards a chunk to the observer; returns whether it was the last one.
fn forward(piece: StreamDelta, cx: &CallContext) -> bool {
    match piece {
        StreamDelta::Text(text) => cx.emit(ReplyChunk::Text(text)),
        StreamDelta::Silent => {}
        StreamDelta::Done => return true,
    }
    false
}

fn is_stream(reply: &HttpReply) -> bool {
    reply.header("content-type").is_none_or(|kind| kind.starts_with("text/event-stream"))
}

#[async_trait]
impl Model for OpenAiChat {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        let started = cx.clock.now();
        let (limit, cause) = self.limit(request, cx);
        let failure = FaultFactory::of(&self.endpoint);
        let late = || failure.late(cause, limit.as_secs_f64());
        if limit.is_zero() {
            return Err(late());
        }
        let work = Box::pin(self.exchange(request, cx));
        let reply = within(&*cx.clock, Some(limit), work).await;
        let mut reply = reply.ok_or_else(late)??;
        reply.latency = cx.clock.now().since(started);
        if reply.model.is_empty() {
            reply.model.clone_from(&self.endpoint.model);
        }
        Ok(reply)
    }
}

impl OpenAiChat {
    /// The time limit of this attempt, and the name of what sets it.
    fn limit(&self, request: &ModelRequest, cx: &CallContext) -> (Duration, &'static str) {
        let own = request.timeout.unwrap_or(self.endpoint.timeout).min(self.endpoint.timeout);
        match cx.deadline.map(|deadline| deadline.since(cx.clock.now())) {
            Some(left) if left < own => (left, "deadline"),
            _ => (own, "attempt"),
        }
    }
}
