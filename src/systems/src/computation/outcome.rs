//! What comes of a question.

use std::sync::Arc;

use antiphon_core::event::Event;
use antiphon_core::{Fault, Usage};
use antiphon_runtime::sandbox::{self, GuestFault};
use serde::{Deserialize, Serialize};

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was answered.
    Answered,
    /// No attempt at the code came to a result.
    Failed,
    /// Something failed that other code does not mend.
    Error,
    /// The time, the calls or the tokens of the question were spent.
    Budget,
    /// The caller cancelled.
    Cancelled,
}

impl Outcome {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One piece of code, and what went wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// How the model wanted to get to the answer.
    pub reasoning: String,
    /// The code.
    pub python: String,
    /// What the code does, for a reader.
    pub explain: String,
    /// None for code that came to a result.
    pub trouble: Option<GuestFault>,
}

/// What came of a question.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The answer in words; the result as text if no model put it into words,
    /// and empty if there is none.
    pub answer: String,
    /// Further facts.
    pub highlights: Vec<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether a model put the result into words.
    pub is_summarised: bool,
    /// All code, in the order it was tried; the last came to the result.
    pub attempts: Vec<Attempt>,
    /// What the sandbox brought out of the code that came to a result. Its
    /// value, variables, tables and figures are the code's word.
    pub computed: Option<sandbox::JobOutcome>,
    /// What ended it, or why no model put the result into words.
    pub fault: Option<Fault>,
    /// What happened.
    pub trace: Vec<Arc<Event>>,
    /// Events that were too many to keep.
    pub trace_dropped: u64,
    /// Tokens.
    pub usage: Usage,
    /// Names the run in its events.
    pub run_id: String,
}
