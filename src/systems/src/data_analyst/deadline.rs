//! How long an agent may still work: `agent_timeout_s`, counted from its start, or from where a
//! question that was stopped goes on.

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
    let left = time_left(cx, started);
    if left.is_zero() {
        return Err(Fault::new(FaultCode::NodeTimeout, MESSAGE));
    }
    let tool = in_time(tool, left);
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
