//! The settings of a search, checked before anything costs.

use std::time::Duration;

use antiphon_core::Fault;
use antiphon_core::budget::{BudgetDimension, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::config::{at_least_one, check_temperature, invalid, read, seconds};
use crate::system::SystemConfig;

/// How a question is searched for. Keys that do not exist are errors.
///
/// ```
/// use antiphon_systems::agentic_search::Config;
/// use serde_json::json;
/// assert_eq!(Config::from_json(&json!({})).unwrap().max_tasks, 5);
/// assert!(Config::from_json(&json!({"max_tasks": 0})).is_err());
/// assert!(Config::from_json(&json!({"tasks": 3})).is_err());
/// ```
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Tasks of one plan; further ones are left out. At least 1, by default 5.
    pub max_tasks: usize,
    /// Whether tasks run in waves or one after the other.
    pub execution: ExecutionMode,
    /// Tasks of one wave, by default 5.
    pub max_parallel_tasks: usize,
    /// Whether no further task starts once one has failed, by default no.
    pub stop_on_error: bool,
    /// Plans per question, each followed by one synthesis. With 1, the default, a question makes
    /// two model requests; with more, the synthesis may say that something is missing.
    pub max_turn_iterations: u32,
    /// Seconds for which the tools of a registry are known, by default 60; a change that it tells
    /// counts at once.
    pub tools_cache_s: f64,
    /// Seconds that a registry may take to list its tools, by default 10.
    pub discover_timeout_s: f64,
    /// Seconds a call of a tool may take that sets no limit itself, by default 60.
    pub tool_timeout_s: f64,
    /// Seconds a question may take, by default 120.
    pub question_timeout_s: f64,
    /// 0 is the least random; by default each model's own. Some models accept no other.
    pub temperature: Option<f64>,
    /// Turns of a conversation that its thread keeps, by default 10.
    pub history_turns: usize,
    /// The last turns that the planner reads, by default 3; the synthesis reads one less.
    pub history_prompt_turns: usize,
    /// Characters of an earlier answer that a prompt shows, by default 300.
    pub history_prompt_chars: usize,
    /// Characters of all descriptions of tools that the planner reads, by default 24,000.
    pub planning_chars: usize,
    /// Characters of all results that the synthesis reads, by default 12,000.
    pub synthesis_chars: usize,
    /// Whether the synthesis reads 200 characters of the first two results only, by default no.
    pub compact_synthesis: bool,
    /// Whether an answer counts only if its numbers, units and dates stand in the results, by
    /// default yes.
    pub check_figures: bool,
    /// Characters of a result in `thinking_steps`, by default 100,000.
    pub thinking_result_chars: usize,
    /// What to heed when the answer is written; by default nothing.
    pub guidance: String,
    /// Whether the planner may ask a person what the question means, once; then it plans again,
    /// which is one more model request. By default no.
    pub clarify: bool,
    /// What happens without tools.
    pub on_no_tools: NoToolsPolicy,
    /// What happens to a question whose thread another one holds.
    pub session_concurrency: SessionPolicy,
}

/// How tasks follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// In waves of tasks whose dependencies are complete.
    #[default]
    Parallel,
    /// One after the other, in the order of the plan.
    Sequential,
}

/// What happens to a question for which there is no tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoToolsPolicy {
    /// A fixed text says so; no model is asked.
    #[default]
    Canned,
    /// One model request answers from the conversation.
    Model,
}

/// What happens to a question whose thread another one holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionPolicy {
    /// It waits, at most as long as a question may take.
    #[default]
    Wait,
    /// It fails with `thread_busy`.
    Reject,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_tasks: 5,
            execution: ExecutionMode::Parallel,
            max_parallel_tasks: 5,
            stop_on_error: false,
            max_turn_iterations: 1,
            tools_cache_s: 60.0,
            discover_timeout_s: 10.0,
            tool_timeout_s: 60.0,
            question_timeout_s: 120.0,
            temperature: None,
            history_turns: 10,
            history_prompt_turns: 3,
            history_prompt_chars: 300,
            planning_chars: 24_000,
            synthesis_chars: 12_000,
            compact_synthesis: false,
            check_figures: true,
            thinking_result_chars: 100_000,
            guidance: String::new(),
            clarify: false,
            on_no_tools: NoToolsPolicy::Canned,
            session_concurrency: SessionPolicy::Wait,
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

    /// The longest call of a tool that sets no limit itself.
    pub fn tool_timeout(&self) -> Duration {
        seconds("tool_timeout_s", self.tool_timeout_s).unwrap_or(Duration::MAX)
    }

    /// The longest a question may take, and wait for another one in its thread.
    pub(super) fn question_timeout(&self) -> Duration {
        seconds("question_timeout_s", self.question_timeout_s).unwrap_or(Duration::MAX)
    }

    /// How long the tools of a registry are known.
    pub(super) fn tools_cache(&self) -> Duration {
        Duration::try_from_secs_f64(self.tools_cache_s).unwrap_or_default()
    }

    /// How long a registry may take.
    pub(super) fn discover_timeout(&self) -> Duration {
        seconds("discover_timeout_s", self.discover_timeout_s).unwrap_or(Duration::MAX)
    }

    /// The most tasks that start together.
    pub(super) fn wave_size(&self) -> usize {
        match self.execution {
            ExecutionMode::Parallel => self.max_parallel_tasks,
            ExecutionMode::Sequential => 1,
        }
    }

    /// Whether the synthesis may ask for another plan.
    pub(super) const fn replans(&self) -> bool {
        self.max_turn_iterations > 1
    }
}

impl SystemConfig for Config {
    const LABEL: &'static str = "agentic search";

    fn check(&self) -> Result<(), Fault> {
        let counts = [
            ("max_tasks", self.max_tasks),
            ("max_parallel_tasks", self.max_parallel_tasks),
            ("max_turn_iterations", self.max_turn_iterations as usize),
            ("history_turns", self.history_turns),
            ("planning_chars", self.planning_chars),
            ("synthesis_chars", self.synthesis_chars),
        ];
        for (key, count) in counts {
            at_least_one(key, count as u64)?;
        }
        check_temperature(self.temperature)?;
        if Duration::try_from_secs_f64(self.tools_cache_s).is_err() {
            let given = self.tools_cache_s;
            return Err(invalid(format!("`tools_cache_s` must be a time in seconds: {given}")));
        }
        seconds("discover_timeout_s", self.discover_timeout_s)?;
        seconds("tool_timeout_s", self.tool_timeout_s)?;
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
