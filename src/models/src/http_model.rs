//! A model behind an HTTP endpoint, for every API.

use std::marker::PhantomData;
use std::time::Duration;

use antiphon_core::{Fault, ModelReply, ModelRequest};
use antiphon_net::{HttpClient, HttpReply, HttpRequest, SseParser, StatusKind, within};
use antiphon_runtime::redact::{self, PieceRedactor};
use antiphon_runtime::{CallContext, Model, ReplyChunk};
use async_trait::async_trait;

use crate::endpoint::Endpoint;
use crate::failure::FaultFactory;
use crate::wire::{StreamAssembler, StreamDelta, WireExchange, WireFormat};

/// A model behind an endpoint that speaks the API `W`. One call is one attempt;
/// [`crate::Retrying`] repeats it.
#[derive(Clone, Debug)]
pub struct HttpModel<W> {
    endpoint: Endpoint,
    http: HttpClient,
    wire: PhantomData<W>,
}

impl<W: WireFormat> HttpModel<W> {
    /// A model at `endpoint`, called over `http`.
    pub const fn new(endpoint: Endpoint, http: HttpClient) -> Self {
        Self { endpoint, http, wire: PhantomData }
    }

    async fn exchange(
        &self,
        request: &ModelRequest,
        cx: &CallContext,
    ) -> Result<ModelReply, Fault> {
        let streamed = cx.chunks.is_some();
        let exchange = WireExchange { request, endpoint: &self.endpoint };
        let failure = exchange.failure();
        let message = self.message(exchange, cx, streamed)?;
        let sent = self.http.send(&message).await;
        let reply = sent.map_err(|error| failure.unanswered(&error))?;
        if StatusKind::of(reply.status()) != StatusKind::Success {
            return Err(failure.status(reply, cx.clock.now()).await);
        }
        // Some servers reply whole although a stream was requested.
        if streamed && is_stream(&reply) {
            return self.read_stream(reply, exchange, cx).await;
        }
        let (status, kind) = (reply.status(), reply.header("content-type").map(str::to_owned));
        let body = reply.body(self.endpoint.max_reply_bytes).await;
        let body = body.map_err(|error| failure.unread(&error))?;
        if let Some(page) = failure.web_page(status, kind.as_deref(), &body) {
            return Err(page);
        }
        let mut reply = exchange.take_answer(W::decode(&body, exchange)?);
        redact::clean_reply(&mut reply);
        cx.emit(ReplyChunk::Text(reply.text.clone()));
        Ok(reply)
    }

    fn message(
        &self,
        exchange: WireExchange<'_>,
        cx: &CallContext,
        streamed: bool,
    ) -> Result<HttpRequest, Fault> {
        let body = W::encode(exchange, streamed);
        let with_key = self.endpoint.idempotency_header;
        let build = || {
            let mut message = HttpRequest::post_json(self.endpoint.url.clone(), body.to_string());
            if let Some(key) = cx.idempotency_key.as_ref().filter(|_| with_key) {
                message = message.header("idempotency-key", key)?;
            }
            for (name, value) in self.endpoint.fixed_headers {
                message = message.header(name, value)?;
            }
            // A user's header replaces a fixed one.
            for (name, value) in &self.endpoint.headers {
                message = message.secret_header(name, value)?;
            }
            Ok(message)
        };
        build().map_err(|error| exchange.failure().unanswered(&error))
    }

    async fn read_stream(
        &self,
        mut reply: HttpReply,
        exchange: WireExchange<'_>,
        cx: &CallContext,
    ) -> Result<ModelReply, Fault> {
        let failure = exchange.failure();
        let (limit, idle) = (self.endpoint.max_reply_bytes, self.endpoint.idle_timeout);
        let mut parser = SseParser::new(limit);
        let mut pieces = W::assembler(exchange);
        let mut shown = ShownText { redactor: PieceRedactor::default(), cx };
        let mut size = 0;
        loop {
            let piece = within(&*cx.clock, Some(idle), reply.chunk()).await;
            let piece = piece.ok_or_else(|| failure.late("idle", idle))?;
            let Some(bytes) = piece.map_err(|error| failure.unread(&error))? else { break };
            size += bytes.len();
            let events = if size > limit { None } else { parser.push(&bytes).ok() };
            for event in events.ok_or_else(|| failure.too_large(limit))? {
                if shown.forward(pieces.take(&event)?) {
                    return conclude(pieces, exchange, shown);
                }
            }
        }
        if let Some(event) = parser.finish() {
            shown.forward(pieces.take(&event)?);
        }
        conclude(pieces, exchange, shown)
    }

    /// The time limit of this attempt, and the name of what sets it.
    fn limit(&self, request: &ModelRequest, cx: &CallContext) -> (Duration, &'static str) {
        let own = request.timeout.unwrap_or(self.endpoint.timeout).min(self.endpoint.timeout);
        match cx.deadline.map(|deadline| deadline.since(cx.clock.now())) {
            Some(left) if left < own => (left, "deadline"),
            _ => (own, "attempt"),
        }
    }
}

/// The reply of a stream that has ended. A reply by the answer tool has not been shown yet.
fn conclude(
    pieces: Box<dyn StreamAssembler + Send + '_>,
    exchange: WireExchange<'_>,
    mut shown: ShownText<'_>,
) -> Result<ModelReply, Fault> {
    let reply = pieces.finish()?;
    let silent = reply.text.is_empty();
    let mut reply = exchange.take_answer(reply);
    redact::clean_reply(&mut reply);
    let rest = if silent { reply.text.clone() } else { shown.redactor.finish() };
    shown.emit(rest);
    Ok(reply)
}

/// The text of a stream as its observer sees it.
struct ShownText<'c> {
    redactor: PieceRedactor,
    cx: &'c CallContext,
}

impl ShownText<'_> {
    /// Forwards a chunk to the observer; returns whether it was the last one.
    fn forward(&mut self, piece: StreamDelta) -> bool {
        match piece {
            StreamDelta::Text(text) => {
                let text = self.redactor.push(text);
                self.emit(text);
            }
            StreamDelta::Silent => {}
            StreamDelta::Done => return true,
        }
        false
    }

    fn emit(&self, text: String) {
        if !text.is_empty() {
            self.cx.emit(ReplyChunk::Text(text));
        }
    }
}

fn is_stream(reply: &HttpReply) -> bool {
    reply.header("content-type").is_none_or(|kind| kind.starts_with("text/event-stream"))
}

#[async_trait]
impl<W: WireFormat> Model for HttpModel<W> {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        let started = cx.clock.now();
        let failure = FaultFactory::of(&self.endpoint);
        self.endpoint.capabilities.check(request, failure)?;
        let (limit, cause) = self.limit(request, cx);
        let late = || failure.late(cause, limit);
        if limit.is_zero() {
            return Err(late());
        }
        let work = Box::pin(self.exchange(request, cx));
        let reply = within(&*cx.clock, Some(limit), work).await;
        let mut reply = reply.ok_or_else(late)?.map_err(redact::clean_fault)?;
        reply.latency = cx.clock.now().since(started);
        if reply.model.is_empty() {
            reply.model.clone_from(&self.endpoint.model);
        }
        Ok(reply)
    }
}
