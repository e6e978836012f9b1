//! The output of a question.

use antiphon_runtime::sandbox::GuestFault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::Computation;
use super::input_table::{self, InputTable};
use super::sandbox_output::SandboxOutput;
use super::value_text::plain_answer;
use crate::result::Outcome;
use crate::system::{Conclusion, FinishedRun, System};

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
    /// Why its result answers nothing; none for one that can.
    #[serde(default)]
    pub no_answer: Option<String>,
}

impl ComputationAttempt {
    /// Whether it came to a result that can be an answer.
    pub fn has_result(&self) -> bool {
        self.fault.is_none() && self.no_answer.is_none()
    }
}

/// An answer in words that was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RejectedWording {
    /// What the model wrote.
    pub answer: String,
    /// What it states beside the result, or leaves out, in a sentence each.
    pub differences: Vec<String>,
}

/// What a computation returns beside what all systems do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The answer in words; the plain value if no model put it into words, or none stated the
    /// value alone; empty if there is no answer.
    pub answer: String,
    /// Further facts.
    pub highlights: Vec<String>,
    /// Whether a model put the result into words.
    pub is_summarised: bool,
    /// Answers in words that stated numbers, units or dates beside the result, and were not
    /// delivered.
    pub rejected_wordings: Vec<RejectedWording>,
    /// The columns of the inputs that the last code reads.
    pub sources: Vec<InputTable>,
    /// What speaks against relying on the answer, as far as code can tell.
    pub doubts: Vec<String>,
    /// All code, in the order it was tried; the last computed the result.
    #[schemars(with = "Vec<Json>")]
    pub attempts: Vec<ComputationAttempt>,
    /// What the sandbox returned for the code that computed the result. Reported by the code;
    /// not verified.
    #[schemars(with = "Option<Json>")]
    pub computed: Option<SandboxOutput>,
}

/// Makes the output of a run that has come to rest.
pub(super) fn conclude(finished: &mut FinishedRun<'_, Computation>) -> Conclusion<Answer> {
    let FinishedRun { state, ending, fault, run, .. } = finished;
    let outcome = ending.outcome().unwrap_or_else(|| Computation::completed_outcome(state));
    let has_computed = state.has_computed();
    let reason = state.no_answer().filter(|_| outcome == Outcome::NoAnswer);
    let input = &run.input;
    let plain = plain_answer(state, &input.question);
    let last = state.attempts.last().map_or("", |last| &last.python);
    let sources = input_table::used(last, &state.sources);
    let doubts = input_table::doubts(&input.question, state, &sources);
    let summary = state.summary.clone().filter(|_| outcome == Outcome::Answered);
    let output = Answer {
        answer: match &summary {
            Some(summary) => summary.answer.clone(),
            None if outcome == Outcome::Answered => plain,
            None => String::new(),
        },
        is_summarised: summary.is_some(),
        highlights: summary.map(|summary| summary.highlights).unwrap_or_default(),
        rejected_wordings: state.rejected.clone(),
        sources,
        doubts,
        attempts: state.attempts.clone(),
        // Its tables can be large, and one copy is enough.
        computed: state.computed.take().filter(|_| has_computed),
    };
    Conclusion { output, outcome, reason, error: fault.take().or_else(|| state.error.clone()) }
}
