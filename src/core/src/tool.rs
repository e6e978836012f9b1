//! Tools and their outcomes.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::approval::Approval;
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
            side_effect: SideEffect::default(),
            idempotent: false,
            cache: None,
            timeout: None,
            max_calls: None,
            approval: Approval::None,
            max_result: Self::MAX_RESULT,
        }
    }
}

/// The failure of a call that took longer than it may.
pub fn timed_out(name: &str) -> Fault {
    Fault::new(FaultCode::ToolTimeout, format!("the tool took too long: {name}"))
}

/// The outcome of a call: a value, or a fault that the model reads.
pub type ToolOutcome = Result<Json, Fault>;

/// Whether a call has succeeded: an object with nothing but `error` is a failure.
pub fn succeeded(outcome: &ToolOutcome) -> bool {
    match outcome {
        Ok(Json::Object(fields)) => fields.len() != 1 || !fields.contains_key("error"),
        Ok(_) => true,
        Err(_) => false,
    }
}
