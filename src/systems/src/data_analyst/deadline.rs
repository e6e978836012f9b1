//! How long an agent may still work: `agent_timeout_s`, counted from its start, or from where a
//! question that was stopped goes on, without what the host takes to approve its calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antiphon_core::command::{Destination, Destinations, Send as Sent};
use antiphon_core::{Fault, FaultCode, Time, ToolOutcome};
use antiphon_runtime::Tool;
use serde_json::{Value as Json, json};

use super::DataAnalyst;
use super::agent_result::AgentError;
use crate::limited_tool::LimitedTool;
use crate::node::{NodeContext, goto, whole_millis};

/// The label of a branch that leads to the result of an agent.
const OVER: &str = "over";
const MESSAGE: &str = "the agent took longer than `agent_timeout_s`";

/// What is left of the time of an agent that began then, in microseconds since the epoch.
pub(super) fn time_left(cx: &NodeContext<DataAnalyst>, started: u64) -> Duration {
    let start = Time::from_micros(started).max(cx.data().opened_at);
    let spent = cx.call.cx.clock.now().since(start).saturating_sub(cx.data().approvals.of(started));
    cx.system().config.agent_timeout().saturating_sub(spent)
}

/// The same as a state holds it, for routers, which have no clock.
pub(super) fn millis_left(cx: &NodeContext<DataAnalyst>, started: u64) -> usize {
    whole_millis(time_left(cx, started))
}

/// Whether the time of an agent is over.
pub(super) fn is_late(cx: &NodeContext<DataAnalyst>, started: u64) -> bool {
    time_left(cx, started).is_zero()
}

/// The error of an agent whose time is over.
pub(super) fn error() -> AgentError {
    AgentError::new("Timeout", MESSAGE)
}

/// Goes to the node of a role, which has what is left of the time of its agent for all attempts;
/// none begins when nothing is left.
pub(super) fn to_role(node: &'static str, millis_left: usize) -> Destinations<Json> {
    if millis_left == 0 {
        return goto(OVER);
    }
    let limit = Some(Duration::from_millis(u64::try_from(millis_left).unwrap_or(u64::MAX)));
    let (input, timeout) = (json!({}), None);
    Destinations::from_iter([Destination::Send(Sent { node: node.into(), input, timeout, limit })])
}

/// Calls a tool within the time of its agent.
pub(super) async fn invoke(
    cx: &NodeContext<DataAnalyst>,
    started: u64,
    tool: &Arc<dyn Tool>,
    arguments: Json,
) -> ToolOutcome {
    if is_late(cx, started) {
        return Err(Fault::new(FaultCode::NodeTimeout, MESSAGE));
    }
    let tool = in_time(cx, started, tool);
    cx.call.invoke(cx.tool(&tool).as_ref(), arguments).await
}

/// A tool that has no more time than what is left for its agent.
pub(super) fn in_time(
    cx: &NodeContext<DataAnalyst>,
    started: u64,
    tool: &Arc<dyn Tool>,
) -> Arc<dyn Tool> {
    let waits = Arc::clone(&cx.data().approvals);
    let limited = LimitedTool::within(Arc::clone(tool), time_left(cx, started));
    Arc::new(limited.observed(Arc::new(move |wait| waits.add(started, wait))))
}

/// How long the host has taken to approve calls of each agent, by when the agent began. It is none
/// of the agents' time. It need not outlive the process: with a new one, their time begins anew.
#[derive(Debug, Default)]
pub(super) struct ApprovalTime(Mutex<BTreeMap<u64, Duration>>);

impl ApprovalTime {
    fn add(&self, started: u64, wait: Duration) {
        *self.of_agents().entry(started).or_default() += wait;
    }

    fn of(&self, started: u64) -> Duration {
        self.of_agents().get(&started).copied().unwrap_or_default()
    }

    fn of_agents(&self) -> MutexGuard<'_, BTreeMap<u64, Duration>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
