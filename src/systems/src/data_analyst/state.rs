//! What is known of a question on its way.

use antiphon_core::Fault;
use serde_json::{Map, Value as Json};

use super::agent_result::AgentResult;
use super::api::ApiWork;
use super::decision::PlannerDecision;
use super::request::AgentName;
use super::sql::SqlWork;
use super::trace_event::TraceEvent;
use crate::computation::RejectedWording;
use crate::state::{FieldType, field_types, state};

state! {
    /// What is known of a question on its way.
    pub struct State {
        /// The context with the time.
        [Set] context: Map<String, Json>,
        /// The agents that the planner may choose.
        [Set] candidates: Vec<AgentName>,
        /// What the choice is limited to.
        [Set] guardrails: Map<String, Json>,
        /// Whether a model composes the answer also if a single agent has worked.
        [Set] compose_single: bool = true,
        /// Which agents work.
        [Set] planner: Option<PlannerDecision>,
        /// The places in the plan of the agents that were begun last.
        [Set] running: Vec<usize>,
        /// Those that begin next.
        [Set] wave: Vec<usize>,
        /// The result of each agent of the plan.
        [Put] agent_results: Vec<Option<AgentResult>>,
        /// What the SQL agent knows.
        [Set] sql: SqlWork,
        /// What the API agent knows.
        [Set] api: ApiWork,
        /// Wordings of the answer that differed from what was found.
        [Extend] rejected: Vec<RejectedWording>,
        /// The answer.
        [Set] answer: Option<String>,
        /// Whether the answer was composed without a model because there was no other.
        [Set] composer_fallback: bool,
        /// What happened.
        [Extend] trace: Vec<TraceEvent>,
        /// The last failure of a role.
        [Worst] error: Option<Fault>,
    }
}

field_types! {
    Record: SqlWork, ApiWork, PlannerDecision;
}

impl FieldType for Map<String, Json> {
    const KIND: antiphon_core::channel::ValueKind = antiphon_core::channel::ValueKind::Record;
}

impl State {
    /// The agents of the plan, in its order.
    pub(super) fn plan(&self) -> &[AgentName] {
        self.planner.as_ref().map_or(&[], |planner| &planner.chosen_agents)
    }

    /// The result of a place in the plan.
    pub(super) fn result(&self, place: usize) -> Option<&AgentResult> {
        self.agent_results.get(place)?.as_ref()
    }

    /// The results so far, in the order of the plan.
    pub(super) fn results(&self) -> impl Iterator<Item = &AgentResult> {
        self.agent_results.iter().flatten()
    }
}
