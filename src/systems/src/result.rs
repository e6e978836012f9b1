//! What a system returns for a question.

use std::sync::Arc;

use crate::runner::PausedRun;
use antiphon_core::Fault;
use antiphon_core::budget::BudgetUsage;
use antiphon_core::effect::Question;
use antiphon_core::event::Event;
use antiphon_runtime::Attachments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was answered.
    Answered,
    /// It waits for the answers to `questions`.
    Paused,
    /// It cannot be answered from what is known; `reason` says why.
    NoAnswer,
    /// Too much work was rejected or failed, or no attempt came to a result.
    RetryLimit,
    /// A fault ended it that another attempt does not mend.
    Error,
    /// Its steps, time, calls or tokens were spent.
    Budget,
    /// The caller cancelled.
    Cancelled,
}

impl Outcome {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Paused => "paused",
            Self::NoAnswer => "no_answer",
            Self::RetryLimit => "retry_limit",
            Self::Error => "error",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a system returns for a question. There is one for every question that could be started,
/// however it ended.
#[derive(Clone, Debug, Serialize)]
pub struct SystemResult<O, T> {
    /// The part that only this system has.
    #[serde(flatten)]
    pub output: O,
    /// The state at the end, however the question ended.
    pub state: T,
    /// How the question ended.
    pub outcome: Outcome,
    /// Why there is no answer: in words for [`Outcome::NoAnswer`], the limit's name for
    /// [`Outcome::Budget`], the caller's reason for [`Outcome::Cancelled`].
    pub reason: Option<String>,
    /// What a person is asked, if it is paused.
    pub questions: Vec<Question<Json>>,
    /// What it failed with, if anything did.
    pub error: Option<Fault>,
    /// The first 10,000 events, in order, without the chunks of replies.
    #[serde(skip)]
    pub events: Vec<Arc<Event>>,
    /// How many events came after those.
    pub events_dropped: u64,
    /// The models of the roles, each once, in the order of the roles.
    pub models: Vec<String>,
    /// What the run has spent, the times before it was resumed included.
    #[serde(skip)]
    pub spent: BudgetUsage,
    /// The run's id; a resumed run keeps its own.
    pub run_id: String,
    /// The last checkpoint of its thread; none without a thread.
    pub checkpoint: Option<u64>,
    /// Bytes that output and state name.
    #[serde(skip)]
    pub attachments: Attachments,
    /// The run itself, if it waits for answers and no thread keeps it.
    #[serde(skip)]
    pub paused: Option<PausedRun>,
}

impl<O, T> SystemResult<O, T> {
    /// The same with output and state of other types.
    pub fn map<P, U>(
        self,
        output: impl FnOnce(O) -> P,
        state: impl FnOnce(T) -> U,
    ) -> SystemResult<P, U> {
        SystemResult {
            output: output(self.output),
            state: state(self.state),
            outcome: self.outcome,
            reason: self.reason,
            questions: self.questions,
            error: self.error,
            events: self.events,
            events_dropped: self.events_dropped,
            models: self.models,
            spent: self.spent,
            run_id: self.run_id,
            checkpoint: self.checkpoint,
            attachments: self.attachments,
            paused: self.paused,
        }
    }
}
