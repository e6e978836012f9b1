//! What is to be done, and how far.

use antiphon_core::{Fault, FaultCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::key_profile::{RoleProfiles, check_names};
use crate::system::SystemInput;

/// How much of a task is done. Names on the wire are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ExecutionMode {
    /// All of it: plan, execute, answer.
    #[default]
    ExecuteFullPlan,
    /// Only the plan, which the thread keeps.
    PlanOnly,
    /// The plan that is given, or that the thread keeps, is executed.
    ExecutePlannedTask,
    /// Only the answer, from the results that the thread keeps.
    SynthesizeOnly,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskInput {
    /// What is to be done; may be blank if the thread keeps it.
    pub question: String,
    /// How much of it is done now.
    pub mode: ExecutionMode,
    /// A plan to execute, with the mode `EXECUTE_PLANNED_TASK`.
    pub plan: Option<Json>,
    /// The key profiles that roles work with, by role, in place of those of the settings.
    pub role_profiles: RoleProfiles,
}

impl TaskInput {
    /// Whether it goes on with what the thread keeps.
    pub(super) const fn needs_saved(&self) -> bool {
        match self.mode {
            ExecutionMode::ExecuteFullPlan | ExecutionMode::PlanOnly => false,
            ExecutionMode::ExecutePlannedTask => self.plan.is_none(),
            ExecutionMode::SynthesizeOnly => true,
        }
    }
}

impl SystemInput for TaskInput {
    fn check(&self) -> Result<(), Fault> {
        if self.question.trim().is_empty() && !self.needs_saved() {
            return Err(Fault::new(FaultCode::QuestionBlank, "the task is blank"));
        }
        if self.plan.is_some() && self.mode != ExecutionMode::ExecutePlannedTask {
            let message = "a plan is only taken with the mode: EXECUTE_PLANNED_TASK";
            return Err(Fault::new(FaultCode::InputInvalid, message));
        }
        check_names(&self.role_profiles)
            .map_err(|message| Fault::new(FaultCode::InputInvalid, message))?;
        Ok(())
    }
}

impl From<&str> for TaskInput {
    fn from(task: &str) -> Self {
        Self { question: task.to_owned(), ..Self::default() }
    }
}
