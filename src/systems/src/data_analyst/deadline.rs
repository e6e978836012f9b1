//! How long an agent may still work: `agent_timeout_s`, counted from its start, or from where a
//! question that was stopped goes on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::approval::HostVerdict;
use antiphon_core::command::{Destination, Destinations, Send as Sent};
use antiphon_core::{Fault, FaultCode, Time, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Tool, UserContext};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use super::DataAnalyst;
use super::agent_result::AgentError;
use crate::node::{NodeContext, goto, whole_millis};
use crate::role::{RoleImplementation, Roles};

/// The label of a branch that leads to the result of an agent.
const OVER: &str = "over";
const MESSAGE: &str = "the agent took longer than `agent_timeout_s`";

/// What is left of the time of an agent that began then, in microseconds since the epoch.
pub(super) fn time_left(cx: &NodeContext<DataAnalyst>, started: u64) -> Duration {
    let start = Time::from_micros(started).max(cx.data().opened_at);
    let spent = cx.call.cx.clock.now().since(start);
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

/// Refuses another attempt of a role whose agent has no time left.
///
/// # Errors
/// A `Timeout` fault `node_timeout`.
pub(super) fn check(cx: &NodeContext<DataAnalyst>, started: u64) -> Result<(), Fault> {
    if is_late(cx, started) { Err(Fault::new(FaultCode::NodeTimeout, MESSAGE)) } else { Ok(()) }
}

/// The error of an agent whose time is over.
pub(super) fn error() -> AgentError {
    AgentError::new("Timeout", MESSAGE)
}

/// The roles of agents by their nodes, each with the time-out that it has of its own.
#[derive(Clone)]
pub(super) struct RoleTimes(Arc<BTreeMap<&'static str, Option<Duration>>>);

impl RoleTimes {
    /// Reads the time-outs of these nodes, each given with its role.
    ///
    /// # Errors
    /// A role that there is not.
    pub(super) fn read(roles: &Roles, nodes: &[(&'static str, &str)]) -> Result<Self, Fault> {
        let own = nodes.iter().map(|(node, role)| {
            let timeout = match roles.implementation(role)? {
                RoleImplementation::Code(code) => code.policy().timeout,
                RoleImplementation::Model(model) => model.policy.timeout,
            };
            Ok((*node, timeout))
        });
        Ok(Self(Arc::new(own.collect::<Result<_, Fault>>()?)))
    }

    /// Goes where a label leads. A role gets what is left of the time of its agent, and none begins
    /// when nothing is left.
    pub(super) fn go(
        &self,
        targets: &[(&'static str, &'static str)],
        label: &'static str,
        millis_left: usize,
    ) -> Destinations<Json> {
        let node = targets.iter().find(|(name, _)| *name == label).map(|(_, node)| *node);
        let Some((node, own)) = node.and_then(|node| Some((node, self.0.get(node)?))) else {
            return goto(label);
        };
        if millis_left == 0 {
            return goto(OVER);
        }
        let left = Duration::from_millis(u64::try_from(millis_left).unwrap_or(u64::MAX));
        let timeout = Some(own.map_or(left, |own| own.min(left)));
        Destinations::from_iter([Destination::Send(Sent {
            node: node.into(),
            input: json!({}),
            timeout,
        })])
    }
}

/// Calls a tool within the time of its agent.
pub(super) async fn invoke(
    cx: &NodeContext<DataAnalyst>,
    started: u64,
    tool: &Arc<dyn Tool>,
    arguments: Json,
) -> ToolOutcome {
    check(cx, started)?;
    let tool = in_time(tool, time_left(cx, started));
    cx.call.invoke(cx.tool(&tool).as_ref(), arguments).await
}

/// A tool that has no more time than this.
pub(super) fn in_time(tool: &Arc<dyn Tool>, left: Duration) -> Arc<dyn Tool> {
    let mut spec = tool.spec().clone();
    spec.timeout = Some(spec.timeout.map_or(left, |own| own.min(left)));
    Arc::new(LimitedTool { spec, tool: Arc::clone(tool) })
}

struct LimitedTool {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
}

#[async_trait]
impl Tool for LimitedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn approve(&self, arguments: &Json, cx: &CallContext) -> Result<HostVerdict, Fault> {
        self.tool.approve(arguments, cx).await
    }

    fn bind(&self, user_context: &UserContext) -> Option<Arc<dyn Tool>> {
        let tool = self.tool.bind(user_context)?;
        Some(Arc::new(Self { spec: self.spec.clone(), tool }))
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        self.tool.call(arguments, cx).await
    }
}
