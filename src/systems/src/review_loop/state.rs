//! What is known of a question while it is worked on.

use std::collections::BTreeMap;

use antiphon_core::{Fault, Message};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::attachment::Attachment;
use super::message::AgentMessage;
use super::step::Worker;
use crate::result::Outcome;
use crate::state::{field_types, state};

state! {
    /// The state between two nodes; `docs/systems/review-loop.md` lists its fields.
    pub struct State {
        /// What is asked.
        [Once] question: String,
        /// The day on which it is asked, as year, month and day.
        [Once] asked_on: String,
        /// The file that came with it.
        [Once] file: Option<Attachment>,
        /// All messages so far.
        [Extend] agent_messages: Vec<AgentMessage>,
        /// The step that was done last; a [`super::StepName`], or the question ends.
        [Set] current_step: String = "input".to_owned(),
        /// The step that was chosen last.
        [Set] next_step: String = "planner".to_owned(),
        /// What must be looked up.
        [Set] research_steps: Vec<String>,
        /// How the answer is worked out.
        [Set] expert_steps: Vec<String>,
        /// The earlier research steps whose results a step needs, by step; in parallel mode.
        [Set] research_dependencies: BTreeMap<usize, Vec<usize>>,
        /// Whether the planner says that the question can be answered.
        [Set] plan_known: bool = true,
        /// The research step that was begun last, counted from 0; −1 before the first.
        [Set] current_research_index: i64 = -1,
        /// Results by research step; empty where there is none yet.
        [Put] research_results: Vec<Option<String>>,
        /// The researcher's conversations by research step.
        [Record] researcher_states: BTreeMap<usize, ResearcherState>,
        /// The expert's conversation.
        [Set] expert_state: Option<ExpertState>,
        /// The expert's answer.
        [Set] expert_answer: String,
        /// How the expert came to it.
        [Set] expert_reasoning: String,
        /// Whether the expert says that its answer is known.
        [Set] expert_known: bool = true,
        /// The verdict on the plan.
        [Set] critic_planner_decision: Decision,
        /// Why the plan was rejected.
        [Set] critic_planner_feedback: String,
        /// The last verdict on research.
        /// In a wave each critic has its say; `research_verdicts` keeps them apart.
        [Last] critic_researcher_decision: Decision,
        /// Why the research was rejected.
        [Last] critic_researcher_feedback: String,
        /// The verdict on the answer.
        [Set] critic_expert_decision: Decision,
        /// Why the answer was rejected.
        [Set] critic_expert_feedback: String,
        /// Whether the answer was rejected because research is missing.
        [Set] critic_expert_needs_research: bool,
        /// Rejections and counted errors.
        [Set] retry_count: u32,
        /// At how many of them the question is given up.
        [Once] retry_limit: u32 = 5,
        /// Rejections by whose work was rejected.
        [Record] retries_by_agent: Retries,
        /// The answer.
        [Set] final_answer: String,
        /// How it was reached.
        [Set] final_reasoning_trace: String,
        /// Why there is no answer, if nobody can know it.
        [Set] reason: Option<String>,
        /// What went wrong last, if it was not overcome.
        [Worst] error: Option<Fault>,
        /// Where the question ended without an answer.
        [Set] error_component: Option<String>,
        /// How it ended.
        [Set] outcome: Option<Outcome>,
        /// Errors that were counted.
        [Set] counted_errors: u32,
        /// Rejections by research step.
        [Record] step_rejections: BTreeMap<usize, u32>,
        /// Verdicts by research step.
        [Record] research_verdicts: BTreeMap<usize, Verdict>,
        /// The research steps that were sent out last.
        [Set] wave: Vec<usize>,
        /// What each agent delivered last, if progress is watched.
        [Record] last_products: BTreeMap<String, String>,
        /// Whether anybody could know the answer; none if nobody was asked.
        [Set] is_answerable: Option<bool>,
        /// Whether the question needs a calculation; none if nobody was asked.
        [Set] needs_calculation: Option<bool>,
        /// Whether the finalizer is to do without its model.
        [Set] bypass: bool,
    }
}

field_types! {
    Any: Attachment;
    Text: Decision, Outcome;
    Record: ExpertState, Retries;
}

impl State {
    /// The result of a research step.
    pub fn result(&self, index: usize) -> Option<&str> {
        self.research_results.get(index)?.as_deref()
    }

    /// The present verdict on a research step.
    pub fn verdict(&self, index: usize) -> Verdict {
        if let Some(verdict) = self.research_verdicts.get(&index) {
            return verdict.clone();
        }
        // A state that came from elsewhere knows the present verdict alone.
        if self.research_verdicts.is_empty() && self.current_index() == Some(index) {
            return Verdict {
                decision: self.critic_researcher_decision,
                feedback: self.critic_researcher_feedback.clone(),
            };
        }
        Verdict::default()
    }

    /// The research step that was begun last; none before the first.
    pub fn current_index(&self) -> Option<usize> {
        usize::try_from(self.current_research_index).ok()
    }

    /// Whether the state holds together: what must be true after each pass of
    /// the orchestrator.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), String> {
        let steps = i64::try_from(self.research_steps.len().max(1)).unwrap_or(i64::MAX);
        let index = self.current_research_index;
        if !(-1..steps).contains(&index) {
            return Err(format!("the research index is outside of -1..{steps}: {index}"));
        }
        let started = self.current_index().map_or(0, |index| index + 1);
        if let Some(slot) = self.research_results.iter().skip(started).position(Option::is_some) {
            return Err(format!(
                "a research step has a result before it began: {}",
                started + slot
            ));
        }
        let Retries { planner, researcher, expert } = self.retries_by_agent;
        let parts = planner + researcher + expert + self.counted_errors;
        if self.retry_count != parts {
            let count = self.retry_count;
            return Err(format!("the retry count is {count} but its parts add up to: {parts}"));
        }
        Ok(())
    }
}

/// The researcher's conversation about one step; continued when the result is
/// sent back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResearcherState {
    /// What was said, tools included.
    pub messages: Vec<Message>,
    /// The research step.
    pub step_index: usize,
    /// What it delivered last.
    pub result: Option<String>,
}

/// The expert's conversation; continued when the answer is sent back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExpertState {
    /// What was said, tools included.
    pub messages: Vec<Message>,
    /// What is asked.
    pub question: String,
    /// What was looked up.
    pub research_steps: Vec<String>,
    /// What was found.
    pub research_results: Vec<String>,
    /// The answer it delivered last.
    pub expert_answer: String,
    /// How it came to it.
    pub expert_reasoning: String,
}

/// What a critic says of a piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// Nothing yet.
    #[default]
    #[serde(rename = "")]
    None,
    /// It is good enough.
    #[serde(rename = "approve")]
    Approve,
    /// It must be done again.
    #[serde(rename = "reject")]
    Reject,
    /// Nobody can know the answer, however often the work is done again.
    #[serde(rename = "not_known")]
    NotKnown,
}

/// What a critic says, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the work is good enough.
    pub decision: Decision,
    /// What is wrong with it, or why nobody can know; may be empty if it is approved.
    #[serde(default, deserialize_with = "or_empty")]
    pub feedback: String,
}

/// A text; none is an empty one.
fn or_empty<'de, D: Deserializer<'de>>(given: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(given)?.unwrap_or_default())
}

/// Rejections by whose work was rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Retries {
    /// Rejected plans.
    pub planner: u32,
    /// Rejected results of research.
    pub researcher: u32,
    /// Rejected answers.
    pub expert: u32,
}

impl Retries {
    /// How often the work of one was rejected.
    pub const fn of(&self, worker: Worker) -> u32 {
        match worker {
            Worker::Planner => self.planner,
            Worker::Researcher => self.researcher,
            Worker::Expert => self.expert,
        }
    }

    pub(super) const fn add(&mut self, worker: Worker) {
        match worker {
            Worker::Planner => self.planner += 1,
            Worker::Researcher => self.researcher += 1,
            Worker::Expert => self.expert += 1,
        }
    }
}
