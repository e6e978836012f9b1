//! The settings, checked before anything costs.

use std::collections::BTreeMap;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_core::budget::{BudgetDimension, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::capability::WorkerRole;
use super::key_profile::{RoleProfiles, check_names};
use super::plan_template::PlanTemplate;
use super::schedule::ExecutionOrder;
use crate::config::{at_least_one, check_temperature, invalid, read, seconds};
use crate::system::SystemConfig;

/// How a task is carried out. Keys that do not exist are errors.
///
/// ```
/// use antiphon_systems::plan_execute::Config;
/// use serde_json::json;
/// assert_eq!(Config::from_json(&json!({})).unwrap().max_revisions, 2);
/// assert!(Config::from_json(&json!({"pages_to_explore": 0})).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Config {
    /// Plans that are tried before the built-in ones, by the words of a task.
    pub templates: Vec<PlanTemplate>,
    /// Workers beside `ResearchAgent` and `UtilityAgent`, by name, with the tools that they claim.
    pub workers: BTreeMap<String, WorkerRole>,
    /// The key profiles that roles work with, by role: a name, or several that are tried in order. By
    /// default none: each role has its usual tools.
    pub role_profiles: RoleProfiles,
    /// Revised plans of a task, by default 2; so there are three attempts at most.
    pub max_revisions: u32,
    /// Requests for revised plans in all, by default 5.
    pub max_total_replans: u32,
    /// Requests for revised plans after the same failure of the same step, by default 2.
    pub max_replans_same_failure: u32,
    /// How often the planner is asked again for a plan in which something is wrong, by default 1.
    pub max_reasks: u32,
    /// Whether plans are taken only as they are, by default no: what can mean only one thing is put
    /// right, and a plan whose references or final answer are misplaced runs with a warning.
    pub strict_plan: bool,
    /// Whether a person approves or changes each plan before it runs, by default no.
    pub approve_plan: bool,
    /// What steps wait for: the stages before their own (`stages`, the default), or the steps that they
    /// refer to (`dag`).
    pub execution: ExecutionOrder,
    /// Calls of tools of a stage that are made at a time, by default 8.
    pub stage_concurrency: usize,
    /// Seconds a call of a tool may take that has no limit of its own, by default 30.
    pub step_timeout_s: f64,
    /// Whether workers are sent how the task stands with each step, by default no.
    pub send_context_summary: bool,
    /// Whether a step of a revised plan is not repeated if an earlier attempt has completed it, by
    /// default yes.
    pub reuse_completed_steps: bool,
    /// Whether a revised plan may refer to completed steps of earlier attempts, by default yes.
    pub carry_outputs: bool,
    /// Characters from which on a result is summarised, by default 1,000.
    pub summary_threshold_chars: usize,
    /// Characters of a result that the summariser reads, by default 12,000.
    pub summary_input_chars: usize,
    /// Characters of a finding, by default 500.
    pub finding_chars: usize,
    /// Characters of a result that an event shows, by default 100.
    pub preview_chars: usize,
    /// Characters of each result that the synthesiser reads, by default 2,000.
    pub synthesis_chars: usize,
    /// Pages that are read of a search, 1 to 10, by default 2.
    pub pages_to_explore: usize,
    /// Whether reading the pages of an empty search counts as done or as failed.
    pub explore_empty: EmptySearchPolicy,
    /// 0 is the least random; by default each model's own.
    pub temperature: Option<f64>,
    /// Seconds a task may take, by default 600.
    pub question_timeout_s: f64,
}

/// What reading the pages of an empty search comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmptySearchPolicy {
    /// A text that says so.
    #[default]
    Completed,
    /// A failure.
    Failed,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            templates: Vec::new(),
            workers: BTreeMap::new(),
            role_profiles: RoleProfiles::new(),
            max_revisions: 2,
            max_total_replans: 5,
            max_replans_same_failure: 2,
            max_reasks: 1,
            strict_plan: false,
            approve_plan: false,
            execution: ExecutionOrder::Stages,
            stage_concurrency: 8,
            step_timeout_s: 30.0,
            send_context_summary: false,
            reuse_completed_steps: true,
            carry_outputs: true,
            summary_threshold_chars: 1_000,
            summary_input_chars: 12_000,
            finding_chars: 500,
            preview_chars: 100,
            synthesis_chars: 2_000,
            pages_to_explore: 2,
            explore_empty: EmptySearchPolicy::Completed,
            temperature: None,
            question_timeout_s: 600.0,
        }
    }
}

impl Config {
    /// Reads and checks settings; what is left out keeps its default.
    ///
    /// # Errors
    /// A `Validation` fault `system_setting_invalid` that names the key.
    pub fn from_json(settings: &Json) -> Result<Self, Fault> {
        read(settings)
    }

    /// The longest call of a tool that has no limit of its own.
    pub(super) fn step_timeout(&self) -> Duration {
        seconds("step_timeout_s", self.step_timeout_s).unwrap_or(Duration::MAX)
    }
}

impl SystemConfig for Config {
    const LABEL: &'static str = "plan and execute";

    fn check(&self) -> Result<(), Fault> {
        for (key, value) in [
            ("stage_concurrency", self.stage_concurrency),
            ("summary_threshold_chars", self.summary_threshold_chars),
            ("summary_input_chars", self.summary_input_chars),
            ("finding_chars", self.finding_chars),
            ("preview_chars", self.preview_chars),
            ("synthesis_chars", self.synthesis_chars),
        ] {
            at_least_one(key, value as u64)?;
        }
        if !(1..=10).contains(&self.pages_to_explore) {
            let value = self.pages_to_explore;
            return Err(invalid(format!("`pages_to_explore` must be from 1 to 10: {value}")));
        }
        check_names(&self.role_profiles).map_err(invalid)?;
        check_temperature(self.temperature)?;
        seconds("step_timeout_s", self.step_timeout_s)?;
        seconds("question_timeout_s", self.question_timeout_s)?;
        Ok(())
    }

    fn limits(&self) -> Limits {
        let wall_time = seconds("question_timeout_s", self.question_timeout_s).ok();
        Limits { wall_time, ..Limits::default() }
    }

    fn setting_of(limit: BudgetDimension) -> Option<&'static str> {
        (limit == BudgetDimension::WallTime).then_some("question_timeout_s")
    }
}
