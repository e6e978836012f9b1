//! What a tool is, and what came of calling it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::approval::Approval;
use crate::fault::Fault;

/// What calling a tool does to the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffect {
    /// A pure function.
    None,
    /// It looks at the world.
    Read,
    /// It changes something of the caller's.
    Write,
    /// It changes something of somebody else's; assumed unless declared.
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
    /// What it does to the world. Calls run in parallel only when all of
    /// them are `none` or `read`.
    #[serde(default)]
    pub side_effect: SideEffect,
    /// Whether a repeated call does no harm.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether a result may stand for that of an equal call later in a run.
    /// Where nothing is said, whoever calls it judges by `side_effect`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    /// The longest one call may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// How many calls one agent run may make of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// Who has to approve of each call before it is made.
    #[serde(default, skip_serializing_if = "Approval::is_none")]
    pub approval: Approval,
    /// How many characters of a result the model gets to see.
    #[serde(default = "default_max_result")]
    pub max_result: usize,
}

const fn default_max_result() -> usize {
    ToolSpec::MAX_RESULT
}

impl ToolSpec {
    /// Characters of a result that a model sees unless the tool says otherwise.
    pub const MAX_RESULT: usize = 20_000;

    /// Whether calling it twice does no harm: it says so, or changes nothing.
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

/// What came of one call: a value, or a fault that the model gets to read.
pub type ToolOutcome = Result<Json, Fault>;

/// Whether a call has succeeded: a tool that answers with nothing but an error
/// has failed.
pub fn succeeded(outcome: &ToolOutcome) -> bool {
    match outcome {
        Ok(Json::Object(fields)) => fields.len() != 1 || !fields.contains_key("error"),
        Ok(_) => true,
        Err(_) => false,
    }
}
