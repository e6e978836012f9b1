//! Failures as values: one type for every failure that crosses a port or ends a task. Decisions
//! depend on its category and code, never on its text.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

mod code;
mod record;

pub use code::FaultCode;
pub use record::FaultRecord;

/// The detail that holds a question.
const QUESTION: &str = "question";

/// The category of a failure, which decides retries and routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// A bad request, setting or argument, found before the work.
    Validation,
    /// A missing field, a wrong type, an undeclared target.
    State,
    /// A model could not be reached, or answered 429 or 5xx.
    ModelTransport,
    /// A model's reply cannot be used.
    ModelOutput,
    /// A tool returned an error.
    Tool,
    /// A tool could not be reached.
    ToolTransport,
    /// A node, tool or run took too long.
    Timeout,
    /// A missing, wrong or refused credential.
    Auth,
    /// A forbidden action.
    Policy,
    /// Calls, tokens, steps or time are spent.
    Budget,
    /// The caller cancelled.
    Cancelled,
    /// A defect in antiphon or in user code.
    Internal,
}

impl Category {
    /// All categories, in the order of their declaration.
    pub const ALL: [Self; 12] = [
        Self::Validation,
        Self::State,
        Self::ModelTransport,
        Self::ModelOutput,
        Self::Tool,
        Self::ToolTransport,
        Self::Timeout,
        Self::Auth,
        Self::Policy,
        Self::Budget,
        Self::Cancelled,
        Self::Internal,
    ];

    /// The name on the wire, for instance `model_transport`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Validation => "validation",
            Self::State => "state",
            Self::ModelTransport => "model_transport",
            Self::ModelOutput => "model_output",
            Self::Tool => "tool",
            Self::ToolTransport => "tool_transport",
            Self::Timeout => "timeout",
            Self::Auth => "auth",
            Self::Policy => "policy",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }

    /// Whether a retry may succeed.
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::ModelTransport | Self::ToolTransport | Self::Timeout)
    }
}

/// A failure. It is one pointer in size; the fields are those of [`FaultDetails`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fault(Box<FaultDetails>);

/// The fields of a failure. `message` is safe to show to a user; `details` are for the trace.
/// Neither may contain a secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultDetails {
    /// Decides retry and routing.
    pub category: Category,
    /// Which failure it is, for decisions that the category is too coarse for.
    pub code: FaultCode,
    /// One sentence for a reader: lower case, no full stop, the value last.
    pub message: String,
    /// What a reader can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Fields of this failure, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Json>,
    /// The pause that the server asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    /// The host's number of the object behind this failure, such as a Python exception.
    #[serde(skip)]
    pub foreign: Option<u64>,
}

impl Fault {
    /// A failure with the category of its code.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        let category = code.category().unwrap_or(Category::Internal);
        Self::with_category(category, code, message)
    }

    /// A tool asks a person, with any JSON value: the call ends, and is made again with the answer.
    pub fn question(question: Json) -> Self {
        Self::new(FaultCode::QuestionAsked, "a tool asks a person").with(QUESTION, question)
    }

    /// The question of a tool, if this is one.
    pub(crate) fn into_question(mut self) -> Result<Json, Self> {
        let question =
            (self.code == FaultCode::QuestionAsked).then(|| self.details.remove(QUESTION));
        question.flatten().ok_or(self)
    }

    /// A failure of the host, which chooses the category. Texts of the engine's own codes become
    /// these codes.
    pub fn foreign(category: Category, code: &str, message: impl Into<String>) -> Self {
        Self::with_category(category, FaultCode::from(code), message)
    }

    fn with_category(category: Category, code: FaultCode, message: impl Into<String>) -> Self {
        Self(Box::new(FaultDetails {
            category,
            code,
            message: message.into(),
            hint: None,
            details: Map::new(),
            retry_after: None,
            foreign: None,
        }))
    }

    /// Adds a field for the trace.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Sets what the reader can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the pause that the server asked for.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.0.retry_after = Some(delay);
        self
    }
}

impl Deref for Fault {
    type Target = FaultDetails;

    fn deref(&self) -> &FaultDetails {
        &self.0
    }
}

impl DerefMut for Fault {
    fn deref_mut(&mut self) -> &mut FaultDetails {
        &mut self.0
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}
