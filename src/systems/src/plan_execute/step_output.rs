//! What came of a step.

use antiphon_core::{Category, Fault, FaultCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// How a step ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StepStatus {
    /// It has a result.
    Completed,
    /// It has none.
    Failed,
    /// It was not reached.
    #[default]
    Skipped,
}

/// Why a step failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StepErrorKind {
    /// A reference in its input leads to no value.
    ReferenceResolution,
    /// There is no such tool.
    UnknownTool,
    /// Its input does not fit the tool.
    InvalidInput,
    /// The tool, or its worker, reported a failure.
    ToolError,
    /// The tool could not be reached.
    ToolTransport,
    /// It took too long.
    Timeout,
    /// Nobody carries out steps of its role.
    NoWorker,
    /// A credential is missing or refused.
    Auth,
    /// It is not allowed: a path, an address, a size.
    Policy,
    /// A person did not approve the call.
    Refused,
    /// Its call began in a process that has ended, and nobody knows what came of it.
    UnknownOutcome,
    /// The model could not be reached.
    ModelTransport,
    /// The model has replied nothing that can be used.
    ModelOutput,
}

/// Why a step failed, for the planner and a reader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepError {
    /// What kind of failure it is.
    #[serde(rename = "type")]
    pub kind: StepErrorKind,
    /// One sentence.
    pub message: String,
    /// The reference that leads nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// The output of a step, for references.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepOutput {
    /// How the step ended.
    pub status: StepStatus,
    /// What its tool returned, whole.
    pub result_data: Json,
    /// A summary of it, if it was long.
    pub processed_result_data: Option<Json>,
}

impl StepOutput {
    /// The summary, else the result.
    pub fn processed(&self) -> &Json {
        self.processed_result_data
            .as_ref()
            .filter(|data| !data.is_null())
            .unwrap_or(&self.result_data)
    }
}

impl StepError {
    /// A failure of that kind.
    pub fn new(kind: StepErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), reference: None }
    }

    /// The failure of a call.
    pub fn of(fault: &Fault) -> Self {
        let kind = match (&fault.code, fault.category) {
            (FaultCode::ToolRefused, _) => StepErrorKind::Refused,
            (FaultCode::UnknownOutcome, _) => StepErrorKind::UnknownOutcome,
            (FaultCode::InvalidValue, _) => StepErrorKind::InvalidInput,
            (FaultCode::SubTaskNoWorker, _) => StepErrorKind::NoWorker,
            (FaultCode::SubTaskToolUnknown, _) => StepErrorKind::UnknownTool,
            (_, Category::Auth) => StepErrorKind::Auth,
            (FaultCode::ReplyTooLarge | FaultCode::FileTooLarge, _) | (_, Category::Policy) => {
                StepErrorKind::Policy
            }
            (_, Category::Timeout) => StepErrorKind::Timeout,
            (_, Category::ToolTransport) => StepErrorKind::ToolTransport,
            (_, Category::ModelTransport) => StepErrorKind::ModelTransport,
            (_, Category::ModelOutput) => StepErrorKind::ModelOutput,
            _ => StepErrorKind::ToolError,
        };
        Self::new(kind, fault.message.clone())
    }
}
