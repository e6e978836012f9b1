//! What is known of a question on its way.

use antiphon_core::Fault;

use super::config::Config;
use super::input_table::InputTable;
use super::outcome::{ComputationAttempt, RejectedWording};
use super::reply::{CodeReply, Summary};
use super::result_rows::FirstResult;
use super::sandbox_output::SandboxOutput;
use crate::state::{field_types, state};

state! {
    /// What is known of a question on its way.
    pub struct State {
        /// The inputs, described for the model.
        [Set] inputs: String,
        /// The inputs that have columns.
        [Set] sources: Vec<InputTable>,
        /// The code that is to run next.
        [Set] plan: CodeReply,
        /// Whether the model has to name the column that is asked for before the code runs.
        [Set] needs_column_check: bool,
        /// Whether the model was asked for that column; it is asked once.
        [Set] has_checked_column: bool,
        /// The code that has run.
        [Extend] attempts: Vec<ComputationAttempt>,
        /// The result that other code has to come to.
        [Set] first: Option<FirstResult>,
        /// The result as text.
        [Set] shown: String,
        /// What the code has printed.
        [Set] printed: String,
        /// The result in words.
        [Set] summary: Option<Summary>,
        /// Answers in words that state what the result does not.
        [Extend] rejected: Vec<RejectedWording>,
        /// Why there is no answer.
        [Set] reason: Option<String>,
        /// What the sandbox returned for the code that computed the result.
        [Set] computed: Option<SandboxOutput>,
        /// Why there are no words.
        [Set] error: Option<Fault>,
    }
}

field_types! {
    Record: SandboxOutput, CodeReply, Summary, FirstResult;
}

impl State {
    /// The code that has failed since the last result, which the next code has to do without.
    pub(super) fn failed(&self) -> &[ComputationAttempt] {
        let tried = self.first.as_ref().map_or(0, |first| first.attempts);
        self.attempts.get(tried..).unwrap_or_default()
    }

    /// Whether the model explains its approach before it writes the next code. Code that checks
    /// other code begins in the other way, else it would be the same.
    pub(super) fn has_reasoning(&self, config: &Config) -> bool {
        config.reasoning != self.first.is_some()
    }

    /// Whether the last piece of code came to a result that can be an answer, and that other code
    /// came to if it has to.
    pub(super) fn has_computed(&self) -> bool {
        let is_confirmed = self.first.as_ref().is_none_or(|it| it.is_confirmed == Some(true));
        is_confirmed && self.attempts.last().is_some_and(ComputationAttempt::has_result)
    }

    /// Why there is no answer, though nothing failed.
    pub(super) fn no_answer(&self) -> Option<String> {
        let empty = || self.attempts.last().and_then(|last| last.no_answer.clone());
        self.reason.clone().or_else(empty)
    }
}
