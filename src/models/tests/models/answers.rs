//! What a chat server answers, and how these tests ask it.

use std::sync::Arc;

use antiphon_core::{Fault, Message, ModelReply, ModelRequest, RetryPolicy};
use antiphon_models::{ModelSettings, open};
use antiphon_runtime::{CallContext, Model, ReplyChunk, SystemClock};
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::server::{Answer, Server};

pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// A whole reply that says `text`.
pub(crate) fn says(text: &str) -> Answer {
    completes(&json!({"role": "assistant", "content": text}), "stop")
}

/// A whole reply with that message and that reason to stop.
pub(crate) fn completes(message: &Json, finish: &str) -> Answer {
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    let usage = json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18});
    let body = json!({"id": "c1", "model": "m-1-2026", "choices": [choice], "usage": usage});
    Answer::json(200, &body)
}

/// An error page as providers write it.
pub(crate) fn fails(status: u16, code: &str, message: &str) -> Answer {
    let error = json!({"message": message, "type": "some_error", "code": code});
    Answer::json(status, &json!({"error": error}))
}

/// A stream of those events, as data.
pub(crate) fn streams<D: ToString>(events: impl IntoIterator<Item = D>) -> Answer {
    let frames = events.into_iter().map(|data| format!("data: {}\n\n", data.to_string()));
    Answer::pieces(200, "text/event-stream; charset=utf-8", frames)
}

/// One event of a stream.
pub(crate) fn delta(delta: &Json, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    json!({"model": "m-1-2026", "choices": [choice]}).to_string()
}

/// The event with the token counts, which has no choice.
pub(crate) fn counts() -> String {
    let usage = json!({"prompt_tokens": 11, "completion_tokens": 7});
    json!({"model": "m-1-2026", "choices": [], "usage": usage}).to_string()
}

/// Settings for `server`, with a key and a single attempt.
pub(crate) fn settings(server: &Server) -> ModelSettings {
    ModelSettings {
        base_url: Some(server.url("/v1")),
        api_key: Some(KEY.into()),
        retry: RetryPolicy::never(),
        ..ModelSettings::default()
    }
}

pub(crate) fn opened(settings: &ModelSettings) -> Arc<dyn Model> {
    open("openai:m-1", settings, &|_| None).unwrap()
}

pub(crate) fn question() -> ModelRequest {
    ModelRequest { messages: vec![Message::user("how many?")], ..ModelRequest::default() }
}

pub(crate) fn cx() -> CallContext {
    CallContext::new(Arc::new(SystemClock::new()))
}

/// A context that somebody watches.
pub(crate) fn watched(mut cx: CallContext) -> (CallContext, UnboundedReceiver<ReplyChunk>) {
    let (sender, receiver) = unbounded_channel();
    cx.chunks = Some(sender);
    (cx, receiver)
}

/// What has been passed on so far.
pub(crate) fn chunks(receiver: &mut UnboundedReceiver<ReplyChunk>) -> Vec<ReplyChunk> {
    std::iter::from_fn(|| receiver.try_recv().ok()).collect()
}

pub(crate) fn texts(receiver: &mut UnboundedReceiver<ReplyChunk>) -> Vec<String> {
    let text = |chunk| match chunk {
        ReplyChunk::Text(text) => Some(text),
        ReplyChunk::Retry { .. } | ReplyChunk::Progress { .. } => None,
    };
    chunks(receiver).into_iter().filter_map(text).collect()
}

/// Asks the server that gives this answer, whole.
pub(crate) async fn ask(answer: Answer) -> Result<ModelReply, Fault> {
    let server = Server::start([answer]).await;
    opened(&settings(&server)).call(&question(), &cx()).await
}

/// Asks the server that gives this answer, as a stream.
pub(crate) async fn ask_streamed(answer: Answer) -> Result<ModelReply, Fault> {
    let server = Server::start([answer]).await;
    let (cx, _watcher) = watched(cx());
    opened(&settings(&server)).call(&question(), &cx).await
}
