//! System 4: answers a question with the agents that it is for. A planner chooses among a SQL
//! agent, an API agent and a computation; they work one after the other or side by side, and a
//! composer makes one answer of what they have found. Numbers, units and dates of each answer are
//! compared with the rows by code.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | settings |
//! | [`request`], [`secret_name`] | the question; what it may not contain |
//! | [`temporal`], [`heuristic`], [`decision`] | the time of a question, and which agents it is for |
//! | [`sql`], [`api`], `computation_agent` | the agents |
//! | `deadline`, `role_failure` | the time of an agent; what follows when one of its roles fails |
//! | `plain_wording` | questions for all tables or endpoints that need no model |
//! | [`agent_result`], [`tabular`], [`trace_event`] | what they have come to |
//! | [`state`] | the state of a question |
//! | `graph`, `sql_graph`, `api_graph` | the graph, and its parts in which two agents work |
//! | [`outcome`] | the output |

use std::collections::BTreeSet;
use std::sync::Arc;

use antiphon_core::{Fault, Time};
use antiphon_runtime::Tool;
use antiphon_runtime::sandbox::HostCalls;

pub mod agent_result;
pub mod api;
mod api_graph;
mod compose;
mod computation_agent;
pub mod config;
mod deadline;
pub mod decision;
mod dispatch;
mod failure;
mod graph;
mod grounding;
pub mod heuristic;
pub mod outcome;
mod plain_wording;
mod prompt;
pub mod request;
mod role_failure;
pub mod secret_name;
pub mod sql;
mod sql_graph;
pub mod state;
pub mod tabular;
pub mod temporal;
pub mod trace_event;

pub use agent_result::{AgentError, AgentExecutionStatus, AgentResult};
pub use config::Config;
pub use decision::PlannerDecision;
pub use outcome::OrchestratorResponse;
pub use request::{AgentName, AgentRequest};
pub use state::State;
pub use tabular::TabularResult;
pub use trace_event::{TraceEvent, TraceEventKind};

use self::deadline::ApprovalTime;
use crate::builder::SystemBuilder;
use crate::prompts::PromptSpec;
use crate::resources::SystemResources;
use crate::result::Outcome;
use crate::role::RoleSpec;
use crate::session::Session;
use crate::system::{Conclusion, FinishedRun, System};

/// The data analyst, for a [`SystemRunner`](crate::SystemRunner).
pub struct DataAnalyst {
    config: Config,
    resources: SystemResources,
}

/// What a run of a data analyst has beside its state.
pub struct AnalystRun {
    /// When it was started or resumed: the time of an agent never begins before.
    opened_at: Time,
    /// How long the host has taken to approve calls.
    approvals: Arc<ApprovalTime>,
    /// Answers the calls that code in a sandbox makes of the host.
    host_calls: Option<Arc<dyn HostCalls>>,
}

impl DataAnalyst {
    /// A tool by its name, which may have a prefix.
    fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.resources.tools.iter().find(|tool| tool.spec().name.ends_with(name))
    }

    /// The agents that have what they need to work.
    fn available(&self) -> BTreeSet<AgentName> {
        let has = |name| self.tool(name).is_some();
        let agents = [
            (AgentName::Sql, has("sql_query")),
            (AgentName::ApiDocs, has("api_endpoints")),
            (AgentName::Computation, self.resources.sandbox.is_some()),
        ];
        agents
            .into_iter()
            .filter(|(_, is_available)| *is_available)
            .map(|(agent, _)| agent)
            .collect()
    }
}

impl System for DataAnalyst {
    const NAME: &'static str = "data_analyst";
    const DESCRIPTION: &'static str =
        "Answers a question about data with a database, an API and code, as a planner chooses.";
    const ROLES: &'static [RoleSpec] = graph::ROLES;
    const PROMPTS: &'static [PromptSpec] = prompt::PROMPTS;
    const CALLS_TOOLS: bool = true;

    type Config = Config;
    type Input = AgentRequest;
    type State = State;
    type Output = OrchestratorResponse;
    type RunData = AnalystRun;

    fn new(config: Config, resources: SystemResources) -> Result<Self, Fault> {
        Ok(Self { config, resources })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn resources(&self) -> &SystemResources {
        &self.resources
    }

    fn build(&self, graph: &mut SystemBuilder<Self>) -> Result<(), Fault> {
        graph::build(&self.config, graph)
    }

    fn open(&self, _: &Arc<AgentRequest>, session: &Session) -> AnalystRun {
        let (opened_at, host_calls) = (session.clock.now(), session.host_calls.clone());
        AnalystRun { opened_at, approvals: Arc::default(), host_calls }
    }

    fn completed_outcome(state: &State) -> Outcome {
        outcome::completed(state)
    }

    fn conclude(&self, finished: &mut FinishedRun<'_, Self>) -> Conclusion<OrchestratorResponse> {
        outcome::conclude(finished)
    }
}

/// Microseconds as milliseconds.
#[expect(clippy::cast_precision_loss, reason = "times of questions are short")]
fn milliseconds(micros: u64) -> f64 {
    micros as f64 / 1e3
}
