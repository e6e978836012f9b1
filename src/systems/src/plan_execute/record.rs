//! What is kept of steps, attempts and revisions. Names on the wire are exact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::plan::{PlanSource, PlanStep};
use super::step_output::{StepError, StepStatus};
use crate::partial_result::PartialError;

/// A step that starts, its references resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepStart {
    /// The step.
    pub step_id: String,
    /// Identifies this execution of it.
    pub sub_task_id: String,
    /// What its tool is given.
    pub input: Map<String, Json>,
}

/// What came of the execution of a step, on its way into the context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepResult {
    /// How it ended.
    pub status: StepStatus,
    /// What its tool returned.
    pub result_data: Json,
    /// A summary that is known already.
    pub processed_result_data: Option<Json>,
    /// Why it failed.
    pub error: Option<StepError>,
    /// What failed of it.
    pub partial_errors: Vec<PartialError>,
    /// Identifies the execution; none if there was none.
    pub sub_task_id: Option<String>,
    /// Whether the output is that of an earlier attempt.
    pub is_reused: bool,
    /// When it began, in UTC.
    pub started_at: Option<String>,
    /// When it ended, in UTC.
    pub finished_at: Option<String>,
}

/// A step of an attempt, as it was carried out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextEntry {
    /// The step.
    #[serde(rename = "stepId")]
    pub step_id: String,
    /// What it is for.
    pub narrative_step: String,
    /// Who carried it out.
    pub assigned_agent_role: String,
    /// With which tool.
    pub tool_name: String,
    /// Its input as planned, with its references.
    pub sub_task_input: Map<String, Json>,
    /// How it ended.
    pub status: StepStatus,
    /// What its tool returned, whole.
    pub raw_result_data: Json,
    /// A summary of it, if it was long.
    pub processed_result_data: Option<Json>,
    /// Why it failed.
    pub error_details: Option<StepError>,
    /// What failed of it.
    pub partial_errors: Vec<PartialError>,
    /// Identifies the execution; none if there was none.
    pub sub_task_id: Option<String>,
    /// The stage, counted from 1.
    pub stage_index: usize,
    /// Whether the output is that of an earlier attempt.
    pub reused: bool,
    /// When it began, in UTC.
    pub started_at: Option<String>,
    /// When it ended, in UTC.
    pub finished_at: Option<String>,
}

/// The first step, in the order of the plan, that failed in an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailedStep {
    /// Identifies the execution; none if it was not begun.
    pub sub_task_id: Option<String>,
    /// The step.
    #[serde(rename = "stepId")]
    pub step_id: String,
    /// What it is for.
    pub narrative_step: String,
    /// Its tool.
    pub tool_name: String,
    /// Whose it is.
    pub assigned_agent_role: String,
    /// Its input as planned.
    pub sub_task_input: Map<String, Json>,
    /// Why it failed.
    pub error_details: StepError,
}

/// One attempt to carry out a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptRecord {
    /// Its number, counted from 1.
    pub attempt: u32,
    /// Who made its plan.
    pub plan_source: Option<PlanSource>,
    /// Whether all steps were completed.
    pub success: bool,
    /// The steps.
    pub execution_context: Vec<ContextEntry>,
    /// The step that failed.
    pub failed_step_details: Option<FailedStep>,
}

/// One request for a revised plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplanRecord {
    /// The number of the request, counted from 1.
    pub cycle_id: u32,
    /// The attempt that had failed.
    pub attempt_in_cycle: u32,
    /// The step that had failed.
    pub failed_step_id: String,
    /// What it was for.
    pub failed_step_narrative: String,
    /// Why it had failed.
    pub error_message: String,
    /// When it was asked for, in UTC.
    pub timestamp: String,
    /// What came of it.
    #[serde(default)]
    pub outcome: ReplanOutcome,
}

/// What came of a request for a revised plan. Names on the wire are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReplanOutcome {
    /// Nothing yet, or the task was cut off before.
    #[default]
    Requested,
    /// A plan, which was not carried out to its end.
    Planned,
    /// A plan whose steps were all completed.
    Completed,
    /// A plan of which a step failed.
    Failed,
    /// No plan that can run.
    NoPlan,
}

/// Why a task has no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorSummary {
    /// In words.
    pub reason: String,
    /// The step that failed.
    pub failed_step: Option<FailedStep>,
}

impl ContextEntry {
    /// The entry of a step with what came of it.
    pub(super) fn of(step: &PlanStep, stage: usize, result: StepResult) -> Self {
        Self {
            step_id: step.step_id.clone(),
            narrative_step: step.narrative_step.clone(),
            assigned_agent_role: step.assigned_agent_role.clone(),
            tool_name: step.tool_name.clone(),
            sub_task_input: step.sub_task_input.clone(),
            status: result.status,
            raw_result_data: result.result_data,
            processed_result_data: result.processed_result_data,
            error_details: result.error,
            partial_errors: result.partial_errors,
            sub_task_id: result.sub_task_id,
            stage_index: stage + 1,
            reused: result.is_reused,
            started_at: result.started_at,
            finished_at: result.finished_at,
        }
    }

    /// The summary, else the result.
    pub fn processed(&self) -> &Json {
        self.processed_result_data
            .as_ref()
            .filter(|data| !data.is_null())
            .unwrap_or(&self.raw_result_data)
    }

    /// The step as planned.
    pub(super) fn step(&self) -> PlanStep {
        PlanStep {
            step_id: self.step_id.clone(),
            assigned_agent_role: self.assigned_agent_role.clone(),
            tool_name: self.tool_name.clone(),
            sub_task_input: self.sub_task_input.clone(),
            narrative_step: self.narrative_step.clone(),
        }
    }

    /// The entry as the step that failed, if it did.
    pub(super) fn failure(&self) -> Option<FailedStep> {
        Some(FailedStep {
            sub_task_id: self.sub_task_id.clone(),
            step_id: self.step_id.clone(),
            narrative_step: self.narrative_step.clone(),
            tool_name: self.tool_name.clone(),
            assigned_agent_role: self.assigned_agent_role.clone(),
            sub_task_input: self.sub_task_input.clone(),
            error_details: self.error_details.clone()?,
        })
    }
}

impl StepResult {
    /// An execution that failed before it began.
    pub(super) fn unprepared(error: StepError) -> Self {
        Self { status: StepStatus::Failed, error: Some(error), ..Self::default() }
    }

    /// The output of an earlier attempt.
    pub(super) fn reused(entry: &ContextEntry) -> Self {
        Self {
            status: StepStatus::Completed,
            result_data: entry.raw_result_data.clone(),
            processed_result_data: entry.processed_result_data.clone(),
            partial_errors: entry.partial_errors.clone(),
            is_reused: true,
            started_at: entry.started_at.clone(),
            finished_at: entry.finished_at.clone(),
            ..Self::default()
        }
    }
}
