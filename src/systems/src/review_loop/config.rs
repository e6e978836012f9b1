//! The settings of a review loop, checked before anything costs.

use std::time::Duration;

use antiphon_core::Fault;
use antiphon_core::budget::{BudgetDimension, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::config::{at_least_one, check_temperature, read, seconds};
use crate::system::SystemConfig;

/// How a question is worked on. Keys that do not exist are errors.
///
/// ```
/// use antiphon_systems::review_loop::Config;
/// use serde_json::json;
/// let config = Config::from_json(&json!({"retry_limit": 3, "research_mode": "parallel"})).unwrap();
/// assert_eq!(config.recursion_limit, 100);
/// assert!(Config::from_json(&json!({"retry_limit": 0})).is_err());
/// assert!(Config::from_json(&json!({"retries": 3})).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Config {
    /// Rejections and counted errors after which a question is given up; at
    /// least 1, by default 5.
    pub retry_limit: u32,
    /// Limits of rejections beside the shared one; the first that is reached
    /// ends the question.
    pub per_agent_limits: Option<AgentLimits>,
    /// Whether the researcher's own limit is for the question or begins anew
    /// with each research step.
    pub researcher_limit_scope: LimitScope,
    /// Rounds of the graph per question, by default 100. An orchestrator and
    /// the agent it sends are two; a wave of parallel research counts once.
    pub recursion_limit: u64,
    /// Calls of tools that the researcher may make per attempt, by default 20; it must conclude
    /// without them afterwards.
    pub researcher_max_tool_calls: u32,
    /// The same for the expert, by default 15.
    pub expert_max_tool_calls: u32,
    /// 0 is the least random; by default each model's own. Some models accept no other.
    pub temperature: Option<f64>,
    /// How often an agent is asked again for a reply that does not fit, by default 1.
    pub max_reasks: u32,
    /// Seconds a call of a tool may take that sets no limit itself, by default 30.
    pub tool_timeout_s: f64,
    /// Seconds a question may take, by default 600.
    pub question_timeout_s: f64,
    /// Whether research steps are done one at a time or in waves.
    pub research_mode: ResearchMode,
    /// Research steps a plan may have, by default 10.
    pub max_research_steps: usize,
    /// Expert steps a plan may have, by default 10; at least 1.
    pub max_expert_steps: usize,
    /// How much of the state a critic gets to see.
    pub critic_context: CriticContext,
    /// What the finalizer does with a question that was given up.
    pub finalizer_on_failure: OnFailure,
    /// The form of the final answer.
    pub answer_format: AnswerFormat,
    /// The type of the message that sends work back.
    pub feedback_type: FeedbackType,
    /// Whether a result that should be there and is not ends the question, by
    /// default yes; else an empty text is reviewed in its place.
    pub strict_state: bool,
    /// Whether a question is given up when rejected work is submitted again unchanged.
    pub stop_on_no_progress: bool,
    /// Whether an expert of 1 to 10 billion parameters, by its name, says first if anybody could
    /// know the answer, by default yes. It is asked where nothing can be looked up, no file is
    /// attached, and planner and expert have no instructions or prompts of the caller.
    pub check_answerability: bool,
    /// Whether a critic that rejects an answer may ask for more research, by default no: the
    /// question goes back to the planner, and all research is done again. Without effect where
    /// nothing can be looked up.
    pub escalate_to_planner: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            retry_limit: 5,
            per_agent_limits: None,
            researcher_limit_scope: LimitScope::Question,
            recursion_limit: 100,
            researcher_max_tool_calls: 20,
            expert_max_tool_calls: 15,
            temperature: None,
            max_reasks: 1,
            tool_timeout_s: 30.0,
            question_timeout_s: 600.0,
            research_mode: ResearchMode::Sequential,
            max_research_steps: 10,
            max_expert_steps: 10,
            critic_context: CriticContext::Full,
            finalizer_on_failure: OnFailure::Bypass,
            answer_format: AnswerFormat::Plain,
            feedback_type: FeedbackType::Instruction,
            strict_state: true,
            stop_on_no_progress: false,
            check_answerability: true,
            escalate_to_planner: false,
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

    /// The longest a question may take.
    pub fn question_timeout(&self) -> Duration {
        seconds("question_timeout_s", self.question_timeout_s).unwrap_or(Duration::MAX)
    }
}

impl SystemConfig for Config {
    const LABEL: &'static str = "review loop";

    fn check(&self) -> Result<(), Fault> {
        at_least_one("retry_limit", u64::from(self.retry_limit))?;
        at_least_one("recursion_limit", self.recursion_limit)?;
        at_least_one("max_expert_steps", self.max_expert_steps as u64)?;
        if let Some(limits) = self.per_agent_limits {
            let AgentLimits { planner, researcher, expert } = limits;
            let named = [
                ("per_agent_limits.planner", planner),
                ("per_agent_limits.researcher", researcher),
                ("per_agent_limits.expert", expert),
            ];
            for (key, limit) in named {
                at_least_one(key, limit.map_or(1, u64::from))?;
            }
        }
        check_temperature(self.temperature)?;
        seconds("tool_timeout_s", self.tool_timeout_s)?;
        seconds("question_timeout_s", self.question_timeout_s)?;
        Ok(())
    }

    fn limits(&self) -> Limits {
        Limits {
            supersteps: Some(self.recursion_limit),
            wall_time: Some(self.question_timeout()),
            ..Limits::default()
        }
    }

    fn setting_of(limit: BudgetDimension) -> Option<&'static str> {
        match limit {
            BudgetDimension::Supersteps => Some("recursion_limit"),
            BudgetDimension::WallTime => Some("question_timeout_s"),
            _ => None,
        }
    }
}

/// Limits of rejections by agent; none leaves an agent to the shared limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentLimits {
    /// Rejected plans.
    pub planner: Option<u32>,
    /// Rejected results of research.
    pub researcher: Option<u32>,
    /// Rejected answers.
    pub expert: Option<u32>,
}

/// What the researcher's own limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitScope {
    /// All rejections of the question.
    #[default]
    Question,
    /// The rejections of one research step.
    Step,
}

/// How research steps follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResearchMode {
    /// Each is approved before the next begins.
    #[default]
    Sequential,
    /// In waves: all that depend on nothing which is still to be found, then their critics, then
    /// what was rejected again, then those that depend on the results.
    Parallel,
}

/// How much of the state a critic gets to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CriticContext {
    /// The question, and what the work under review is based on.
    #[default]
    Full,
    /// The work under review alone.
    Minimal,
}

/// What the finalizer does with a question that was given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// It passes the fixed sentence on; no model is called.
    #[default]
    Bypass,
    /// Its model words an answer all the same. A spent budget always bypasses it.
    Model,
}

/// The form of the final answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerFormat {
    /// The expert's words. The finalizer is asked only if the caller has given it.
    #[default]
    Plain,
    /// As few words as possible, by the finalizer. If it changes a number, a date or a name, the
    /// expert's words are delivered.
    Short,
    /// As `short`, trimmed for comparison with a benchmark's answers: no quotes around it, no
    /// full stop after a single word, no thousands separators.
    Gaia,
}

/// The type of the message that sends work back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackType {
    /// As any other work.
    #[default]
    Instruction,
    /// As feedback.
    Feedback,
}
