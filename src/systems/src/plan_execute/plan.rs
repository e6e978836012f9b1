//! A plan: stages in their order, each with steps that run side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::capability::{MODEL, canonical};

/// A plan that holds together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StagedPlan(pub Vec<Vec<PlanStep>>);

/// One step. Names on the wire are exact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// Its id, unique in the whole plan.
    #[serde(rename = "stepId")]
    pub step_id: String,
    /// Who carries it out.
    pub assigned_agent_role: String,
    /// With which tool.
    pub tool_name: String,
    /// What the tool is given; texts may hold references.
    pub sub_task_input: Map<String, Json>,
    /// What it is for, for a reader.
    pub narrative_step: String,
}

/// Who made a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanSource {
    /// A template.
    Template,
    /// The planner.
    Llm,
    /// The planner, after a step had failed.
    LlmRevision,
    /// The caller, or an earlier question.
    Saved,
}

impl StagedPlan {
    /// Whether there is nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The steps, with the index of their stage, in order.
    pub fn steps(&self) -> impl Iterator<Item = (usize, &PlanStep)> {
        let stages = self.0.iter().enumerate();
        stages.flat_map(|(stage, steps)| steps.iter().map(move |step| (stage, step)))
    }

    /// The step of that id, with the index of its stage.
    pub fn step(&self, id: &str) -> Option<(usize, &PlanStep)> {
        self.steps().find(|(_, step)| step.step_id == id)
    }

    /// The steps of a stage; none beyond the last.
    pub fn stage(&self, index: usize) -> &[PlanStep] {
        self.0.get(index).map_or(&[], Vec::as_slice)
    }
}

impl PlanStep {
    /// Whether a model writes its result.
    pub fn is_model_step(&self) -> bool {
        canonical(&self.tool_name) == MODEL
    }

    /// Whether its text is meant to be the answer of the task.
    pub fn is_final_answer(&self) -> bool {
        self.sub_task_input.get("isFinalAnswer") == Some(&Json::Bool(true))
    }

    /// Whether another step asks the same of the same tool.
    pub fn repeats(&self, other: &Self) -> bool {
        self.step_id == other.step_id
            && self.assigned_agent_role == other.assigned_agent_role
            && self.tool_name == other.tool_name
            && self.sub_task_input == other.sub_task_input
    }
}
