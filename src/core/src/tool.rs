//! Tools and their outcomes.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::approval::Approval;
use crate::breaker::BreakerPolicy;
use crate::fault::{Fault, FaultCode};

/// The side effects of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffect {
    /// None: a pure function.
    None,
    /// It reads external state.
    Read,
    /// It changes the caller's own data.
    Write,
    /// It changes external state; the default.
    #[default]
    External,
}

/// A tool as models and the engine see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`, at most 64; unique within an agent.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON schema of its arguments, an object.
    pub parameters: Json,
    /// JSON schema of its results, if it declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Json>,
    /// Its side effects. Calls run in parallel only if all of them are `none` or `read`.
    #[serde(default)]
    pub side_effect: SideEffect,
    /// Whether a repeated call is harmless.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether results may be cached for equal calls of the same run; by default the caller decides
    /// by `side_effect`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    /// The longest one call may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// How many of its calls may be under way at once, of all agents and runs together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u32>,
    /// When it is left alone because it keeps failing, of all agents and runs together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerPolicy>,
    /// How many calls one agent run may make of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// Who has to approve each call before it is made.
    #[serde(default, skip_serializing_if = "Approval::is_none")]
    pub approval: Approval,
    /// The most characters of a result that the model sees.
    #[serde(default = "default_max_result")]
    pub max_result: usize,
}

const fn default_max_result() -> usize {
    ToolSpec::MAX_RESULT
}

impl ToolSpec {
    /// The default of `max_result`.
    pub const MAX_RESULT: usize = 20_000;

    /// Whether it may be called twice: it is idempotent, or has no side effects.
    pub const fn is_repeatable(&self) -> bool {
        self.idempotent || matches!(self.side_effect, SideEffect::None | SideEffect::Read)
    }

    /// A tool of that name, with no limit beyond the defaults.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Json) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            results: None,
            side_effect: SideEffect::default(),
            idempotent: false,
            cache: None,
            timeout: None,
            max_concurrency: None,
            breaker: None,
            max_calls: None,
            approval: Approval::None,
            max_result: Self::MAX_RESULT,
        }
    }
}

/// The failure of a call that took longer than `limit`, or, without one, than those around it may.
pub fn timed_out(name: &str, limit: Option<Duration>) -> Fault {
    let Some(limit) = limit.map(|limit| limit.as_secs_f64()) else {
        return Fault::new(FaultCode::ToolTimeout, format!("the tool took too long: {name}"));
    };
    let message = format!("tool `{name}` exceeded its time-out in seconds: {limit}");
    Fault::new(FaultCode::ToolTimeout, message).with("timeout", limit)
}

/// The outcome of a call: a value, or a fault that the model reads.
pub type ToolOutcome = Result<Json, Fault>;

/// The outcome, with a value that says that the call has failed as the failure that it is. Such
/// values are an object with nothing but `error`, a reply of JSON-RPC with an `error`, and a result
/// of MCP with `isError`. The value stays with the fault, as detail `result`.
///
/// # Errors
/// The fault of `outcome`, or `tool_failed` with the message of the value.
pub fn settle(outcome: ToolOutcome) -> ToolOutcome {
    let value = outcome?;
    match error_in(&value) {
        Some(message) => Err(Fault::new(FaultCode::ToolFailed, message).with("result", value)),
        None => Ok(value),
    }
}

/// Whether a call has succeeded; see [`settle`].
pub fn succeeded(outcome: &ToolOutcome) -> bool {
    outcome.as_ref().is_ok_and(|value| error_in(value).is_none())
}

/// The message of a value that says that a call has failed; see [`settle`].
pub fn error_in(value: &Json) -> Option<String> {
    let fields = value.as_object()?;
    if fields.get("isError") == Some(&Json::Bool(true)) {
        let texts = fields.get("content").and_then(Json::as_array).into_iter().flatten();
        let texts: Vec<_> = texts.filter_map(|part| part.get("text")?.as_str()).collect();
        return Some(if texts.is_empty() { value.to_string() } else { texts.join("\n") });
    }
    let error = fields.get("error").filter(|error| !error.is_null())?;
    let is_all = fields.len() == 1 || fields.contains_key("jsonrpc");
    is_all.then(|| match error.get("message").unwrap_or(error) {
        Json::String(text) if !text.trim().is_empty() => text.clone(),
        _ => error.to_string(),
    })
}
