//! What is known of a task on its way.

use std::collections::{BTreeMap, BTreeSet};

use antiphon_core::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::input::ExecutionMode;
use super::plan::{PlanSource, PlanStep, StagedPlan};
use super::record::{
    AttemptRecord, ContextEntry, ErrorSummary, FailedStep, ReplanOutcome, ReplanRecord, StepResult,
    StepStart,
};
use super::step_output::StepOutput;
use super::validation::PlanViolation;
use super::working_context::CurrentWorkingContext;
use crate::state::{field_types, state};

state! {
    /// What is known of a task on its way; `docs/systems/plan-execute.md` lists its fields.
    pub struct State {
        /// What is to be done.
        [Set] user_task: String,
        /// How much of it.
        [Set] mode: ExecutionMode,
        /// How far it is.
        [Set] status: TaskStatus,
        /// How planning stands.
        [Set] progress: PlanProgress,
        /// The plan of the present attempt.
        [Set] plan: StagedPlan,
        /// Who made it.
        [Set] plan_source: Option<PlanSource>,
        /// What the planner has replied last.
        [Set] raw_llm_response: Option<String>,
        /// The last plan in which something was wrong.
        [Set] rejected_plan: Option<Json>,
        /// What was wrong.
        [Set] violations: Vec<PlanViolation>,
        /// How often the planner was asked again for the present plan.
        [Set] reasks: u32,
        /// The attempt, counted from 1.
        [Set] attempt: u32,
        /// Revised plans so far.
        [Set] revisions_used: u32,
        /// The requests for them.
        [Set] replan_history: Vec<ReplanRecord>,
        /// The steps of the plan that start together, in the order in which they do.
        [Set] schedule: Vec<Vec<String>>,
        /// The present ones of these, counted from 0.
        [Set] stage: usize,
        /// Those of them that start.
        [Set] starts: Vec<StepStart>,
        /// What came of the steps of the stage, by id.
        [Record] step_results: BTreeMap<String, StepResult>,
        /// The steps of the stage whose results are summarised.
        [Set] long_steps: Vec<String>,
        /// Their summaries, by id.
        [Record] summaries: BTreeMap<String, String>,
        /// The outputs of the attempt, by step.
        [Set] step_outputs: BTreeMap<String, StepOutput>,
        /// The completed steps of earlier attempts, by id.
        [Set] completed_steps: BTreeMap<String, ContextEntry>,
        /// The steps of the attempt as they were carried out.
        [Set] execution_context: Vec<ContextEntry>,
        /// All attempts.
        [Extend] attempt_history: Vec<AttemptRecord>,
        /// The first step of the attempt that failed.
        [Set] failed_step_details: Option<FailedStep>,
        /// What is known across all attempts.
        [Set] cwc: CurrentWorkingContext,
        /// The answer, or the explanation.
        [Set] final_answer: Option<String>,
        /// Where it comes from.
        [Set] final_answer_source: Option<AnswerSource>,
        /// How often the synthesiser was asked.
        [Set] synthesis_attempts: u32,
        /// Why there is no answer.
        [Set] error_summary: Option<ErrorSummary>,
        /// What a reader should know.
        [Extend] warnings: Vec<String>,
        /// The last failure of a role.
        [Worst] error: Option<Fault>,
        /// What the thread keeps for another question.
        [Set] saved: Option<SavedTask>,
    }
}

field_types! {
    Text: ExecutionMode, TaskStatus, PlanProgress, PlanSource, AnswerSource;
    List: StagedPlan;
    Record: FailedStep, CurrentWorkingContext, ErrorSummary, SavedTask;
}

/// How far a task is. Names on the wire are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskStatus {
    /// It was received.
    #[default]
    Received,
    /// A plan is made.
    Planning,
    /// There is a plan.
    PlanGenerated,
    /// The plan is carried out.
    Executing,
    /// The answer is written.
    Synthesizing,
    /// It is done.
    Completed,
    /// There was no plan.
    FailedPlanning,
    /// No plan could be carried out.
    FailedExecution,
    /// A person refused the plan.
    Cancelled,
}

/// How planning stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanProgress {
    /// There is no plan yet.
    #[default]
    Open,
    /// The planner is asked again.
    Again,
    /// There is a plan.
    Ready,
    /// There is none.
    Failed,
    /// A person refused it.
    Refused,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerSource {
    /// The last step of the plan.
    PreSynthesized,
    /// The synthesiser.
    Synthesized,
    /// Code, because the synthesiser gave none.
    Digest,
    /// It is none: it explains what failed.
    FailureExplanation,
}

/// What a thread keeps of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedTask {
    /// What was to be done.
    pub user_task: String,
    /// How far it was.
    pub status: TaskStatus,
    /// The last plan.
    pub plan: StagedPlan,
    /// Its steps as they were carried out.
    pub execution_context: Vec<ContextEntry>,
    /// Attempts to carry it out.
    pub attempts: u32,
    /// Why there was no answer.
    pub error_summary: Option<ErrorSummary>,
    /// The requests for revised plans.
    pub replan_history: Vec<ReplanRecord>,
    /// What was known.
    pub cwc: CurrentWorkingContext,
}

impl State {
    /// Whether results are worded again of a task that was cut off before its plan was carried out.
    pub(super) fn is_cut_off(&self) -> bool {
        self.mode == ExecutionMode::SynthesizeOnly
            && self.error_summary.is_none()
            && self.status != TaskStatus::Synthesizing
    }

    /// The requests for revised plans, with what came of the last one.
    pub(super) fn replanned(&self, outcome: ReplanOutcome) -> Vec<ReplanRecord> {
        let mut history = self.replan_history.clone();
        if let Some(last) = history.last_mut() {
            last.outcome = outcome;
        }
        history
    }

    /// The steps of the present stage.
    pub(super) fn present_steps(&self) -> Vec<&PlanStep> {
        let ids = self.schedule.get(self.stage).into_iter().flatten();
        ids.filter_map(|id| self.plan.step(id)).map(|(_, step)| step).collect()
    }

    /// The index of the stage in which a step was planned.
    pub(super) fn planned_stage(&self, step: &PlanStep) -> usize {
        self.plan.step(&step.step_id).map_or(self.stage, |(stage, _)| stage)
    }

    /// What was carried out of the stages before that of a step, in the order of the plan.
    pub(super) fn earlier_steps(&self, step: &PlanStep) -> Vec<&ContextEntry> {
        // Stages of records are counted from 1.
        let stage = self.planned_stage(step);
        let earlier = self.execution_context.iter().filter(|entry| entry.stage_index <= stage);
        let mut earlier: Vec<_> = earlier.collect();
        earlier.sort_by_key(|entry| entry.stage_index);
        earlier
    }

    /// The output of a step, of this attempt or of an earlier one if the plan has no such step.
    pub(super) fn output<'s>(
        &'s self,
        id: &str,
        carried: &'s BTreeMap<String, StepOutput>,
    ) -> Option<&'s StepOutput> {
        self.step_outputs
            .get(id)
            .or_else(|| carried.get(id).filter(|_| self.plan.step(id).is_none()))
    }

    /// The outputs of completed steps of earlier attempts.
    pub(super) fn carried(&self) -> BTreeMap<String, StepOutput> {
        let output = |entry: &ContextEntry| StepOutput {
            status: entry.status,
            result_data: entry.raw_result_data.clone(),
            processed_result_data: entry.processed_result_data.clone(),
        };
        self.completed_steps.iter().map(|(id, entry)| (id.clone(), output(entry))).collect()
    }

    /// The ids of completed steps of earlier attempts.
    pub(super) fn carried_ids(&self) -> BTreeSet<String> {
        self.completed_steps.keys().cloned().collect()
    }
}
