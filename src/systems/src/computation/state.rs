//! What is known of a question on its way.

use antiphon_core::Fault;

use super::computed::Computed;
use super::outcome::ComputationAttempt;
use super::reply::{Plan, Summary};
use crate::state::{field_types, state};

state! {
    /// What is known of a question on its way.
    pub struct State {
        /// The inputs, described for the model.
        [Set] inputs: String,
        /// The code that is to run next.
        [Set] plan: Plan,
        /// The code that has run.
        [Extend] attempts: Vec<ComputationAttempt>,
        /// The result as text.
        [Set] shown: String,
        /// What the code has printed.
        [Set] printed: String,
        /// The result in words.
        [Set] summary: Option<Summary>,
        /// What the sandbox returned for the code that computed the result.
        [Set] computed: Option<Computed>,
        /// Why there are no words.
        [Set] error: Option<Fault>,
    }
}

field_types! {
    Record: Computed, Plan, Summary;
}

impl State {
    /// Whether the last piece of code came to a result.
    pub(super) fn has_computed(&self) -> bool {
        self.attempts.last().is_some_and(|last| last.fault.is_none())
    }
}
