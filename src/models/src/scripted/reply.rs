//! Replies of a scripted model.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode, FinishReason, ModelReply, ModelRequest, ToolCall, Usage};
use antiphon_runtime::{CallContext, ReplyChunk};
use serde_json::Value as Json;

/// A prepared reply. A string becomes the text of a reply, a JSON value is written as text, and
/// a fault fails the call.
///
/// ```
/// use antiphon_models::ScriptedReply;
/// use serde_json::json;
/// let reply = ScriptedReply::calls([("search", json!({"query": "Lyon"}))]).usage(120, 15);
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedReply {
    outcome: Result<Said, Fault>,
    usage: Usage,
    delay: Duration,
}

#[derive(Clone, Debug)]
struct Said {
    text: String,
    tool_calls: Vec<ToolCall>,
    finish: FinishReason,
}

impl ScriptedReply {
    /// A reply with `text`, well-formed or not.
    pub fn text(text: impl Into<String>) -> Self {
        let said = Said { text: text.into(), tool_calls: Vec::new(), finish: FinishReason::Stop };
        Self::of(Ok(said))
    }

    /// A reply with `value` as JSON text.
    pub fn json(value: &Json) -> Self {
        Self::text(value.to_string())
    }

    /// A reply that calls tools by name with arguments; the ids are `call_0`, `call_1`, ….
    pub fn calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Json)>) -> Self {
        let call = |(position, (name, arguments)): (usize, (N, Json))| ToolCall {
            id: format!("call_{position}"),
            name: name.into(),
            arguments: arguments.to_string(),
        };
        Self::raw_calls(calls.into_iter().enumerate().map(call))
    }

    /// A reply that calls tools with ids and arguments as given, malformed ones too.
    pub fn raw_calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let tool_calls = calls.into_iter().collect();
        Self::of(Ok(Said { text: String::new(), tool_calls, finish: FinishReason::ToolCalls }))
    }

    /// A failure.
    pub fn fault(fault: Fault) -> Self {
        Self::of(Err(fault))
    }

    /// Adds `text` to calls of tools.
    #[must_use]
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        if let Ok(said) = &mut self.outcome {
            said.text = text.into();
        }
        self
    }

    /// Sets the finish reason.
    #[must_use]
    pub fn finish(mut self, reason: FinishReason) -> Self {
        if let Ok(said) = &mut self.outcome {
            said.finish = reason;
        }
        self
    }

    /// Sets the token counts, which are 0 by default.
    #[must_use]
    pub const fn usage(mut self, input_tokens: u64, output_tokens: u64) -> Self {
        self.usage = Usage { input_tokens, output_tokens };
        self
    }

    /// Delays the reply by the clock of the call. A deadline or time-out that is earlier ends
    /// it.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    const fn of(outcome: Result<Said, Fault>) -> Self {
        let usage = Usage { input_tokens: 0, output_tokens: 0 };
        Self { outcome, usage, delay: Duration::ZERO }
    }

    pub(crate) async fn play(
        self,
        model: &str,
        request: &ModelRequest,
        cx: &CallContext,
    ) -> Result<ModelReply, Fault> {
        let started = cx.clock.now();
        let left = cx.deadline.map(|deadline| deadline.since(started));
        let limit = request.timeout.into_iter().chain(left).min();
        if limit.is_some_and(|limit| limit.is_zero() || limit < self.delay) {
            cx.clock.sleep(limit.unwrap_or_default()).await;
            return Err(late(model));
        }
        cx.clock.sleep(self.delay).await;
        let Said { text, tool_calls, finish } = self.outcome?;
        for word in text.split_inclusive(' ') {
            cx.emit(ReplyChunk::Text(word.to_owned()));
        }
        Ok(ModelReply {
            text,
            tool_calls,
            finish,
            usage: self.usage,
            model: model.to_owned(),
            attempts: 1,
            latency: cx.clock.now().since(started),
        })
    }
}

fn late(model: &str) -> Fault {
    let message = format!("the model took longer than it may: `{model}`");
    Fault::new(FaultCode::ModelTimeout, message).with("model", model)
}

impl From<&str> for ScriptedReply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ScriptedReply {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Json> for ScriptedReply {
    fn from(value: Json) -> Self {
        Self::json(&value)
    }
}

impl From<Fault> for ScriptedReply {
    fn from(fault: Fault) -> Self {
        Self::fault(fault)
    }
}
