//! The output of a question.

use antiphon_runtime::sandbox::GuestFault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::Computation;
use super::computed::Computed;
use crate::result::Outcome;
use crate::system::{Conclusion, Finished, System};

/// One piece of code, and what went wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComputationAttempt {
    /// How the model wanted to get to the answer.
    pub reasoning: String,
    /// The code.
    pub python: String,
    /// What the code does, for a reader.
    pub explain: String,
    /// None for code that came to a result.
    pub fault: Option<GuestFault>,
}

/// What a computation returns beside what all systems do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The answer in words; the result as text if no model put it into words,
    /// and empty if there is none.
    pub answer: String,
    /// Further facts.
    pub highlights: Vec<String>,
    /// Whether a model put the result into words.
    pub is_summarised: bool,
    /// All code, in the order it was tried; the last computed the result.
    #[schemars(with = "Vec<Json>")]
    pub attempts: Vec<ComputationAttempt>,
    /// What the sandbox returned for the code that computed the result. Reported by the code;
    /// not verified.
    #[schemars(with = "Option<Json>")]
    pub computed: Option<Computed>,
}

/// Makes the output of a run that has come to rest.
pub(super) fn conclude(finished: Finished<'_, Computation>) -> Conclusion<Answer> {
    let Finished { state, ending, fault, .. } = finished;
    let outcome = ending.outcome().unwrap_or_else(|| Computation::completed_outcome(&state));
    let has_computed = state.has_computed();
    let summary = state.summary;
    let output = Answer {
        answer: match &summary {
            Some(summary) => summary.answer.clone(),
            None if outcome == Outcome::Answered => state.shown,
            None => String::new(),
        },
        is_summarised: summary.is_some(),
        highlights: summary.map(|summary| summary.highlights).unwrap_or_default(),
        attempts: state.attempts,
        computed: state.computed.filter(|_| has_computed),
    };
    Conclusion { output, outcome, error: fault.or(state.error) }
}
