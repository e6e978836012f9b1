//! What comes of a question.

use std::sync::Arc;

use antiphon_core::event::Event;
use antiphon_core::{Fault, Usage};
use serde::{Deserialize, Serialize};

use super::state::{Retries, State};

/// Both texts of an answer to a question that was given up.
pub const FAILURE_TEXT: &str = "The question could not be answered.";

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was answered.
    Answered,
    /// Too much work was rejected, or failed and was counted.
    RetryLimit,
    /// Something failed that trying again does not mend.
    Error,
    /// The rounds or the time of the question were spent.
    Budget,
    /// The caller cancelled.
    Cancelled,
}

impl Outcome {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::RetryLimit => "retry_limit",
            Self::Error => "error",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a question came to. There is one for every question that could be
/// begun, however it ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The answer in short, or [`FAILURE_TEXT`].
    pub final_answer: String,
    /// How it was reached, or [`FAILURE_TEXT`].
    pub final_reasoning_trace: String,
    /// How the question ended.
    pub outcome: Outcome,
    /// Rejections and counted errors.
    pub retry_count: u32,
    /// Rejections by whose work was rejected.
    pub retries_by_agent: Retries,
    /// What the question failed with; after `retry_limit` what failed last, if
    /// it was an error.
    pub error: Option<Fault>,
    /// Where the question ended without an answer: a step's name.
    pub error_component: Option<String>,
    /// The first 10,000 events, in order; pieces of replies are left out.
    pub trace: Vec<Arc<Event>>,
    /// How many events came after those.
    pub trace_dropped: u64,
    /// The models behind the roles, each once, in the order of the roles.
    pub models: Vec<String>,
    /// Tokens of all models.
    pub usage: Usage,
    /// Everything that is known of the question, also when it was given up.
    pub state: State,
    /// The run's id; one that goes on keeps that with which it began.
    pub run_id: String,
}
