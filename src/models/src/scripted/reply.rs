//! Replies of a scripted model.

use std::time::Duration;

use antiphon_core::{
    Category, Fault, FaultCode, FinishReason, ModelReply, ModelRequest, ToolCall, Usage,
};
use antiphon_runtime::{CallContext, ReplyChunk, redact};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::settings::seconds;

/// A prepared reply. A string becomes the text of a reply, a JSON value is written as text, and
/// a fault fails the call. It deserializes from a map with `text`, `json`, `tool_calls`, `finish`,
/// `usage`, `delay` or `fault`.
///
/// ```
/// use antiphon_models::ScriptedReply;
/// use serde_json::json;
/// let reply = ScriptedReply::calls([("search", json!({"query": "Lyon"}))]).usage(120, 15);
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "ReplyFields")]
pub struct ScriptedReply {
    outcome: Result<ScriptedMessage, Fault>,
    usage: Usage,
    delay: Duration,
}

#[derive(Clone, Debug)]
struct ScriptedMessage {
    text: String,
    tool_calls: Vec<ToolCall>,
    finish: FinishReason,
}

impl ScriptedReply {
    /// A reply with `text`, well-formed or not.
    pub fn text(text: impl Into<String>) -> Self {
        let said = ScriptedMessage {
            text: text.into(),
            tool_calls: Vec::new(),
            finish: FinishReason::Stop,
        };
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
        Self::of(Ok(ScriptedMessage {
            text: String::new(),
            tool_calls,
            finish: FinishReason::ToolCalls,
        }))
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

    const fn of(outcome: Result<ScriptedMessage, Fault>) -> Self {
        let usage = Usage { input_tokens: 0, output_tokens: 0 };
        Self { outcome, usage, delay: Duration::ZERO }
    }

    pub(crate) async fn run(
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
        let ScriptedMessage { text, tool_calls, finish } = self.outcome?;
        let mut reply = ModelReply {
            text,
            media: Vec::new(),
            tool_calls,
            finish,
            usage: self.usage,
            model: model.to_owned(),
            attempts: 1,
            latency: cx.clock.now().since(started),
            provider_content: None,
        };
        redact::clean_reply(&mut reply);
        for word in reply.text.split_inclusive(' ') {
            cx.emit(ReplyChunk::Text(word.to_owned()));
        }
        Ok(reply)
    }
}

fn late(model: &str) -> Fault {
    let message = format!("the model exceeded its time-out: `{model}`");
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

/// A reply as users write it; times are in seconds.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ReplyFields {
    text: Option<String>,
    json: Option<Json>,
    tool_calls: Vec<ToolCallFields>,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    delay: Option<f64>,
    fault: Option<FaultFields>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCallFields {
    name: String,
    #[serde(default)]
    arguments: Json,
    id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultFields {
    category: Category,
    code: String,
    message: String,
    retry_after: Option<f64>,
}

impl TryFrom<ReplyFields> for ScriptedReply {
    type Error = String;

    fn try_from(given: ReplyFields) -> Result<Self, String> {
        let mut reply = match (given.fault, given.json, given.tool_calls.is_empty()) {
            (Some(fault), _, _) => Self::fault(fault.try_into()?),
            (None, Some(value), _) => Self::json(&value),
            (None, None, true) => Self::text(""),
            (None, None, false) => Self::raw_calls(
                (1..).zip(given.tool_calls).map(|(number, call)| call.numbered(number)),
            ),
        };
        if let Some(text) = given.text {
            reply = reply.saying(text);
        }
        if let Some(finish) = given.finish {
            reply = reply.finish(finish);
        }
        if let Some(usage) = given.usage {
            reply.usage = usage;
        }
        if let Some(delay) = given.delay {
            reply.delay = seconds("delay", delay)?;
        }
        Ok(reply)
    }
}

impl ToolCallFields {
    /// Arguments that are a text are what the model wrote, malformed or not.
    fn numbered(self, number: usize) -> ToolCall {
        let arguments = match self.arguments {
            Json::String(text) => text,
            Json::Null => "{}".to_owned(),
            value => value.to_string(),
        };
        let id = self.id.unwrap_or_else(|| format!("call_{number}"));
        ToolCall { id, name: self.name, arguments }
    }
}

impl TryFrom<FaultFields> for Fault {
    type Error = String;

    fn try_from(given: FaultFields) -> Result<Self, String> {
        let fault = Self::foreign(given.category, &given.code, given.message);
        Ok(match given.retry_after {
            Some(delay) => fault.retry_after(seconds("retry_after", delay)?),
            None => fault,
        })
    }
}
