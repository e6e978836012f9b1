//! What is known of a question on its way.

use std::collections::BTreeMap;

use antiphon_core::{Fault, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grounding::ComputedFigure;
use super::plan::{ExecutionPlan, TaskRecord, TaskStart};
use super::source::SearchSource;
use crate::state::{field_types, state};

state! {
    /// What is known of a question on its way; `docs/systems/agentic-search.md` lists its fields.
    pub struct State {
        /// What is asked.
        [Set] query: String,
        /// Earlier turns of the thread, the latest last.
        [Set] conversation_history: Vec<HistoryTurn>,
        /// Whether there were earlier turns.
        [Set] is_followup_query: bool,
        /// The names of the tools that may be used.
        [Set] enabled_tools: Vec<String>,
        /// These tools.
        [Set] available_tools: Vec<ToolSpec>,
        /// The tasks.
        [Set] execution_plan: Option<ExecutionPlan>,
        /// What came of the tasks of the present wave, by number.
        [Record] task_records: BTreeMap<usize, TaskRecord>,
        /// The tasks of the present wave.
        [Set] wave: Vec<TaskStart>,
        /// How many tasks have ended, up to the last wave.
        [Set] current_task_index: usize,
        /// What was done, for a reader.
        [Extend] thinking_steps: Vec<String>,
        /// Whether the synthesiser has replied.
        [Set] has_replied: bool,
        /// What the planner asks a person.
        [Set] clarifying_question: Option<String>,
        /// What the person answered.
        [Set] clarification: Option<String>,
        /// Plans so far.
        [Set] current_turn_iteration_count: u32,
        /// An answer for which something was missing.
        [Set] draft_response: Option<FinalResponse>,
        /// What was missing.
        [Set] missing: String,
        /// The answer.
        [Set] final_response: Option<FinalResponse>,
        /// How the question ended.
        [Set] search_outcome: Option<SearchOutcome>,
        /// Why there is no answer, or what it lacks.
        [Set] error_message: Option<String>,
        /// What the answer states that no result holds.
        [Set] unsupported: Vec<String>,
        /// What it states that follows from what results hold.
        [Set] computed: Vec<ComputedFigure>,
        /// Whether time or calls were spent before the answer.
        [Set] is_budget_spent: bool,
        /// Why a registry has no tools.
        [Set] discovery_error: Option<Fault>,
        /// Why the last plan is not the planner's.
        [Set] plan_error: Option<Fault>,
        /// Why the synthesis has no answer.
        [Worst] error: Option<Fault>,
    }
}

field_types! {
    Record: ExecutionPlan, FinalResponse;
    Text: SearchOutcome;
}

/// A question and its answer, as the thread keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryTurn {
    /// What was asked.
    pub query: String,
    /// The answer as plain text.
    pub response: String,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinalResponse {
    /// The answer as HTML that is safe to show.
    pub response_content: String,
    /// The same as Markdown.
    pub markdown: String,
    /// How it was reached.
    pub reasoning: String,
    /// The sources that the answer uses, in the order of their numbers.
    pub information_used: Vec<SearchSource>,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchOutcome {
    /// All tasks had results.
    Answered,
    /// Some tasks failed, others had results.
    AnsweredPartial,
    /// There is something to show, but no answer: a list made by code, because no model has put
    /// the results into words, or words of a model that nothing supports, because no task has a
    /// result.
    FallbackHtml,
    /// The answer states numbers, units or dates that no result holds.
    Unsupported,
    /// There was no tool.
    NoTools,
    /// A fault ended it.
    Error,
}

impl State {
    /// The plan; empty before there is one.
    pub(super) fn plan(&self) -> ExecutionPlan {
        let mut plan = self.execution_plan.clone().unwrap_or_default();
        plan.record(&self.task_records);
        plan
    }
}
