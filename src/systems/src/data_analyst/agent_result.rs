//! What an agent has come to.

use antiphon_core::{Category, Fault, FaultCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::request::AgentName;
use super::tabular::TabularResult;
use super::trace_event::TraceEvent;
use crate::base64_bytes::Base64Bytes;
use crate::request_tally::is_request_failure;

/// What the fault of a call names that does not fill the path of its endpoint.
const PATH_PARAMETERS: &str = "path_parameters";
/// The detail of a failure of a request to a model: the model has said nothing.
const NOT_ASKED: &str = "not_asked";

/// The kind of failure of an agent whose question ended before.
pub(super) const UNFINISHED: &str = "Unfinished";

/// How the work of an agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentExecutionStatus {
    /// It has not begun.
    Pending,
    /// It works.
    Running,
    /// It has an answer.
    Succeeded,
    /// It has none.
    Failed,
    /// It was left out.
    Skipped,
}

/// Why an agent has no answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentError {
    /// What went wrong; for a log, not for the reader of the answer.
    pub message: String,
    /// The kind of failure, such as `QueryError`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Further facts.
    pub details: Map<String, Json>,
}

/// The result of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentResult {
    /// Whose result it is.
    pub agent: AgentName,
    /// How it ended.
    pub status: AgentExecutionStatus,
    /// The answer in words.
    pub answer: Option<String>,
    /// The rows that were found.
    pub tabular: Option<TabularResult>,
    /// PNG images that code has drawn.
    #[schemars(with = "Vec<String>")]
    #[serde(default)]
    pub figures: Vec<Base64Bytes>,
    /// Why there is no answer.
    pub error: Option<AgentError>,
    /// What happened.
    pub trace: Vec<TraceEvent>,
    /// How long it took, in milliseconds.
    pub latency_ms: Option<f64>,
}

impl AgentError {
    /// An error of a kind.
    pub(super) fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { message: message.into(), kind: kind.to_owned(), details: Map::new() }
    }

    /// With a further fact.
    #[must_use]
    pub(super) fn with(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// That of an agent whose question ended before.
    pub(super) fn unfinished() -> Self {
        Self::new(UNFINISHED, "the question ended before")
    }

    /// The failure of a role that no agent bears.
    pub(super) fn of_role(kind: &str, fault: &Fault) -> Self {
        Self::new(kind, fault.message.clone()).with("code", fault.code.as_str())
    }

    /// The error that a fault is.
    pub(super) fn of(fault: &Fault) -> Self {
        let kind = match fault.code {
            FaultCode::QueryRefused => "UnsafeQuery",
            FaultCode::QueryTableForbidden => "TableNotAllowed",
            FaultCode::QueryFailed | FaultCode::QueryParametersInvalid => "QueryError",
            FaultCode::DatabaseUnreachable | FaultCode::DatabaseLoginFailed => {
                "DatabaseUnavailable"
            }
            FaultCode::ApiCallInvalid if fault.details.contains_key(PATH_PARAMETERS) => {
                "PathResolutionError"
            }
            FaultCode::ApiEndpointUnknown | FaultCode::ApiCallInvalid => "PlanningValidationError",
            FaultCode::ApiCallRejected
            | FaultCode::ApiUnauthorized
            | FaultCode::ApiTokenFailed
            | FaultCode::ApiServerFailed => "HttpError",
            FaultCode::ApiTimeout => "HttpRequestError",
            FaultCode::McpUnreachable | FaultCode::McpConnectionLost => "McpUnavailable",
            FaultCode::McpReplyInvalid => "ProtocolError",
            FaultCode::ToolRefused => "Refused",
            FaultCode::SandboxUnavailable | FaultCode::SandboxMissing => "ConfigurationError",
            _ => match fault.category {
                Category::ModelTransport | Category::ModelOutput => "ModelError",
                Category::Auth | Category::Validation if is_request_failure(fault) => "ModelError",
                Category::ToolTransport => "HttpRequestError",
                Category::Timeout => "Timeout",
                _ => "ToolError",
            },
        };
        let mut error = Self::new(kind, fault.message.clone()).with("code", fault.code.as_str());
        for key in ["status", "url", PATH_PARAMETERS] {
            if let Some(value) = fault.details.get(key) {
                error = error.with(key, value.clone());
            }
        }
        if matches!(fault.code, FaultCode::ApiUnauthorized | FaultCode::ApiTokenFailed) {
            error = error.with("auth", true);
        }
        if error.kind == "ModelError" && is_request_failure(fault) {
            error = error.with(NOT_ASKED, true);
        }
        error
    }

    /// What the reader of the answer is told about the failure.
    pub fn public_text(&self) -> String {
        match &*self.kind {
            "NotInData" | "NoValue" | "UnitMismatch" | "NoTables" | "MissingRows" => {
                self.message.clone()
            }
            "CandidatesDisagree" => "two ways to find it out came to different results".to_owned(),
            "QueryError" | "UnsafeQuery" | "TableNotAllowed" | "NoQuery" => {
                "no query was found that the database accepts".to_owned()
            }
            "DatabaseUnavailable" | "McpUnavailable" => {
                "the database could not be reached".to_owned()
            }
            "Timeout" | "SandboxTimeout" => "it took too long".to_owned(),
            "MissingContext" | "ConfigurationError" => "it is not set up".to_owned(),
            "PlanningDeclined"
            | "PlanningValidationError"
            | "PathResolutionError"
            | "MethodNotAllowed" => "the API has no suitable endpoint".to_owned(),
            "ProtocolError" => "the database did not answer as expected".to_owned(),
            "HttpError" | "HttpRequestError" => "the API did not answer as expected".to_owned(),
            "Refused" => "a person refused the call".to_owned(),
            "MaxTurns" => "the limit of agents was reached".to_owned(),
            "DependencyFailed" => "it needs the result of an agent that failed".to_owned(),
            "ModelError" if self.details.contains_key(NOT_ASKED) => {
                "the model could not be asked".to_owned()
            }
            "ModelError" => "the model gave no usable reply".to_owned(),
            _ => "it failed".to_owned(),
        }
    }
}

/// The variable that holds the rows of an agent in a computation.
pub(super) fn rows_variable(agent: AgentName) -> String {
    format!("{}_rows", agent.as_str())
}

impl AgentResult {
    /// A result without an answer.
    pub(super) fn unanswered(
        agent: AgentName,
        status: AgentExecutionStatus,
        error: AgentError,
    ) -> Self {
        Self {
            agent,
            status,
            answer: None,
            tabular: None,
            figures: Vec::new(),
            error: Some(error),
            trace: Vec::new(),
            latency_ms: None,
        }
    }

    /// A result with an answer.
    pub(super) fn succeeded(agent: AgentName, answer: String) -> Self {
        Self {
            agent,
            status: AgentExecutionStatus::Succeeded,
            answer: Some(answer),
            tabular: None,
            figures: Vec::new(),
            error: None,
            trace: Vec::new(),
            latency_ms: None,
        }
    }

    /// Whether it was computed from the rows of another agent, by the code that was written for it.
    pub(super) fn uses(&self, other: AgentName) -> bool {
        let rows = rows_variable(other);
        let mut code = self.trace.iter().filter_map(|event| event.data.get("python")?.as_str());
        self.agent == AgentName::Computation
            && self.is_success()
            && code.next_back().is_some_and(|code| code.contains(&rows))
    }

    /// Whether it has an answer.
    pub fn is_success(&self) -> bool {
        self.status == AgentExecutionStatus::Succeeded
    }
}
