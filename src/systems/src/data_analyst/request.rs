//! What is asked of the data analyst.

use antiphon_core::{Fault, FaultCode};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};

use super::secret_name::names_secret;
use crate::system::SystemInput;

/// Who works on a question.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AgentName {
    /// Queries the database.
    Sql,
    /// Calls an HTTP API.
    ApiDocs,
    /// Computes with code in a sandbox.
    Computation,
    /// Chooses the agents.
    Planner,
    /// Words the answer.
    Composer,
}

impl AgentName {
    /// The agents that a plan consists of, in their usual order.
    pub const AGENTS: [Self; 3] = [Self::Sql, Self::ApiDocs, Self::Computation];
    const ALL: [Self; 5] =
        [Self::Sql, Self::ApiDocs, Self::Computation, Self::Planner, Self::Composer];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sql => "sql",
            Self::ApiDocs => "api_docs",
            Self::Computation => "computation",
            Self::Planner => "planner",
            Self::Composer => "composer",
        }
    }

    /// The agent of a name, in any case and with spaces around it.
    ///
    /// ```
    /// use antiphon_systems::data_analyst::AgentName;
    /// assert_eq!(AgentName::parse(" SQL "), Some(AgentName::Sql));
    /// assert_eq!(AgentName::parse("oracle"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        Self::ALL.into_iter().find(|agent| agent.as_str() == name)
    }
}

/// A question, and how it is to be answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentRequest {
    /// What is to be answered.
    pub question: String,
    /// What the models should know besides. No secrets: it is part of prompts.
    pub context: Map<String, Json>,
    /// Agents that come first if they are candidates.
    #[serde(deserialize_with = "agent_names")]
    #[schemars(with = "Vec<Option<String>>")]
    pub prefer_agents: Vec<AgentName>,
    /// Agents that are not used.
    #[serde(deserialize_with = "agent_names")]
    #[schemars(with = "Vec<Option<String>>")]
    pub disable_agents: Vec<AgentName>,
    /// How many agents may work; the rest is skipped. By default all.
    pub max_turns: Option<u32>,
    /// Whether the response has rows.
    pub include_data: bool,
    /// Whether the response has the trace.
    pub trace: bool,
    /// What the composer should heed beside its own instructions.
    pub system_prompt: Option<String>,
}

impl Default for AgentRequest {
    fn default() -> Self {
        Self {
            question: String::new(),
            context: Map::new(),
            prefer_agents: Vec::new(),
            disable_agents: Vec::new(),
            max_turns: None,
            include_data: true,
            trace: false,
            system_prompt: None,
        }
    }
}

impl From<&str> for AgentRequest {
    fn from(question: &str) -> Self {
        Self { question: question.to_owned(), ..Self::default() }
    }
}

impl SystemInput for AgentRequest {
    fn check(&self) -> Result<(), Fault> {
        let invalid = |message: String| Fault::new(FaultCode::InputInvalid, message);
        if self.question.trim().is_empty() {
            return Err(Fault::new(FaultCode::QuestionBlank, "the question is blank"));
        }
        if self.max_turns == Some(0) {
            return Err(invalid("`max_turns` must be at least 1: 0".to_owned()));
        }
        let nested = self.context.values().flat_map(keys);
        match self.context.keys().chain(nested).find(|key| names_secret(key)) {
            Some(key) => Err(invalid(format!(
                "`context` is read by models, and a key of it names a secret: {key}"
            ))
            .hint("give credentials to the tools of the API or the database")),
            None => Ok(()),
        }
    }
}

/// The keys of all that a value holds.
fn keys(value: &Json) -> Vec<&String> {
    match value {
        Json::Object(fields) => fields.keys().chain(fields.values().flat_map(keys)).collect(),
        Json::Array(items) => items.iter().flat_map(keys).collect(),
        _ => Vec::new(),
    }
}

/// Names of agents: trimmed, in any case, each once and without nulls.
fn agent_names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<AgentName>, D::Error> {
    let mut names = Vec::new();
    for given in Vec::<Option<String>>::deserialize(from)?.into_iter().flatten() {
        let unknown = || {
            let known = AgentName::ALL.map(AgentName::as_str).join(", ");
            D::Error::custom(format!("the agents are {known}; unknown agent: {given}"))
        };
        let name = AgentName::parse(&given).ok_or_else(unknown)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}
