//! The settings of a data analyst, checked before anything costs.

use std::collections::BTreeMap;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_core::budget::{BudgetDimension, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::heuristic::{KeywordMode, default_keywords};
use super::request::AgentName;
use crate::config::{at_least_one, check_temperature, invalid, read, seconds};
use crate::system::SystemConfig;

/// How a question is worked on. Keys that do not exist are errors.
///
/// ```
/// use antiphon_systems::data_analyst::Config;
/// use serde_json::json;
/// assert_eq!(Config::from_json(&json!({})).unwrap().max_sql_attempts, 4);
/// assert!(Config::from_json(&json!({"max_sql_attempts": 0})).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Config {
    /// The words by which agents are chosen, by agent.
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub keywords: BTreeMap<AgentName, Vec<String>>,
    /// Whether keywords also count within words.
    pub keyword_mode: KeywordMode,
    /// Whether agents that are preferred are candidates whatever the question says.
    pub add_preferred: bool,
    /// The confidence of a plan that no model has made, by default 0.4.
    pub fallback_confidence: f64,
    /// What tables and columns mean, by `table` and `table.column`, for the model that queries.
    pub descriptions: BTreeMap<String, String>,
    /// Tables whose columns a model sees, by default 8.
    pub max_tables: usize,
    /// Queries that are tried, 1 to 10, by default 4.
    pub max_sql_attempts: usize,
    /// Queries that have to come to the same result, 1 to 5, by default 1. Most of them decide; if
    /// none is most, the agent abstains.
    pub candidate_queries: usize,
    /// Whether a person is asked what is meant if the database does not hold it, by default no.
    pub clarify: bool,
    /// Whether a model reviews each query before it is run, by default yes.
    pub check_query: bool,
    /// Rows of a result that models see, by default 5.
    pub preview_rows: usize,
    /// Whether a read of an API is tried though the plan says that the documentation lacks
    /// something, by default yes.
    pub force_attempt: bool,
    /// Pieces of code that are tried, 1 to 10, by default 2.
    pub max_computation_attempts: u32,
    /// Whether code is written twice and both have to come to the same result; by default for
    /// small models.
    pub cross_check: Option<bool>,
    /// Packages that code may import, for the model to know of.
    pub packages: Vec<String>,
    /// Agents that work at a time if they do not depend on each other, by default 1.
    pub max_parallel_agents: usize,
    /// Whether an agent is skipped if one that it depends on has failed.
    pub require_dependencies: bool,
    /// Seconds that an agent may take, by default 120: no call of its models and tools goes past them.
    pub agent_timeout_s: f64,
    /// Wordings of the answer that are tried before it is composed without a model, by default 2.
    pub max_answer_attempts: usize,
    /// Whether a model composes the answer also if a single agent has worked, by default yes; else
    /// its own answer is delivered.
    pub compose_single: bool,
    /// Whether a context that has a date gets its first and last hour, by default yes.
    pub fill_hours: bool,
    /// 0 is the least random; by default each model's own. Some models accept no other.
    pub temperature: Option<f64>,
    /// How often a model is asked again for a reply that does not fit, by default 1.
    pub max_reasks: u32,
    /// Seconds a question may take, by default 180.
    pub question_timeout_s: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            keywords: default_keywords(),
            keyword_mode: KeywordMode::Substring,
            add_preferred: false,
            fallback_confidence: 0.4,
            descriptions: BTreeMap::new(),
            max_tables: 8,
            max_sql_attempts: 4,
            candidate_queries: 1,
            clarify: false,
            check_query: true,
            preview_rows: 5,
            force_attempt: true,
            max_computation_attempts: 2,
            cross_check: None,
            packages: Vec::new(),
            max_parallel_agents: 1,
            require_dependencies: false,
            agent_timeout_s: 120.0,
            max_answer_attempts: 2,
            compose_single: true,
            fill_hours: true,
            temperature: None,
            max_reasks: 1,
            question_timeout_s: 180.0,
        }
    }
}

impl Config {
    /// Reads and checks settings; what is left out keeps its default.
    ///
    /// # Errors
    /// A `Validation` fault `system_setting_invalid`.
    pub fn from_json(settings: &Json) -> Result<Self, Fault> {
        read(settings)
    }

    /// How long an agent may make attempts.
    pub(super) fn agent_timeout(&self) -> Duration {
        Duration::try_from_secs_f64(self.agent_timeout_s).unwrap_or(Duration::MAX)
    }
}

impl SystemConfig for Config {
    const LABEL: &'static str = "data analyst";

    fn check(&self) -> Result<(), Fault> {
        for (key, value) in [
            ("max_sql_attempts", self.max_sql_attempts),
            ("max_computation_attempts", self.max_computation_attempts as usize),
            ("max_answer_attempts", self.max_answer_attempts),
        ] {
            if !(1..=10).contains(&value) {
                return Err(invalid(format!("`{key}` must be from 1 to 10: {value}")));
            }
        }
        if !(1..=5).contains(&self.candidate_queries) {
            let value = self.candidate_queries;
            return Err(invalid(format!("`candidate_queries` must be from 1 to 5: {value}")));
        }
        for (key, value) in [
            ("max_tables", self.max_tables),
            ("preview_rows", self.preview_rows),
            ("max_parallel_agents", self.max_parallel_agents),
        ] {
            at_least_one(key, value as u64)?;
        }
        if !(0.0..=1.0).contains(&self.fallback_confidence) {
            let value = self.fallback_confidence;
            return Err(invalid(format!("`fallback_confidence` must be from 0 to 1: {value}")));
        }
        if let Some(agent) = self.keywords.keys().find(|it| !AgentName::AGENTS.contains(it)) {
            return Err(invalid(format!(
                "`keywords` has an agent that is never planned: {}",
                agent.as_str()
            )));
        }
        check_temperature(self.temperature)?;
        seconds("agent_timeout_s", self.agent_timeout_s)?;
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
