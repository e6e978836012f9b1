//! A tool within the time that a system allows for a call.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::approval::{Approval, HostVerdict};
use antiphon_core::{Category, Fault, FaultCode, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Tool, UserContext};
use async_trait::async_trait;
use serde_json::Value as Json;

/// Learns how long the host has taken to approve a call.
pub(crate) type ApprovalHandler = Arc<dyn Fn(Duration) + Send + Sync>;

/// A tool within the time that a system allows. The time that the host takes to approve a call comes
/// before it, and is not part of it.
pub(crate) struct LimitedTool {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
    observer: Option<ApprovalHandler>,
}

impl LimitedTool {
    /// For at most so long, even if the tool allows itself more.
    pub(crate) fn within(tool: Arc<dyn Tool>, most: Duration) -> Self {
        let own = tool.spec().timeout;
        Self::new(tool, own.map_or(most, |own| own.min(most)))
    }

    /// For as long as the tool says, else for the usual time of the system.
    pub(crate) fn or_within(tool: Arc<dyn Tool>, usual: Duration) -> Self {
        let own = tool.spec().timeout;
        Self::new(tool, own.unwrap_or(usual))
    }

    fn new(tool: Arc<dyn Tool>, limit: Duration) -> Self {
        let mut spec = tool.spec().clone();
        spec.timeout = Some(limit);
        Self { spec, tool, observer: None }
    }

    /// The same, whose call a person has approved.
    #[must_use]
    pub(crate) fn approved(mut self) -> Self {
        if self.spec.approval == Approval::Person {
            self.spec.approval = Approval::None;
        }
        self
    }

    /// The same, which tells how long each approval by the host took.
    #[must_use]
    pub(crate) fn observed(mut self, observer: ApprovalHandler) -> Self {
        self.observer = Some(observer);
        self
    }
}

#[async_trait]
impl Tool for LimitedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn approve(&self, arguments: &Json, cx: &CallContext) -> Result<HostVerdict, Fault> {
        let start = cx.clock.now();
        let verdict = self.tool.approve(arguments, cx).await;
        if let Some(observer) = &self.observer {
            observer(cx.clock.now().since(start));
        }
        verdict.map_err(|fault| own_fault(&self.spec.name, fault))
    }

    fn bind(&self, user_context: &UserContext) -> Option<Arc<dyn Tool>> {
        let tool = self.tool.bind(user_context)?;
        let (spec, observer) = (self.spec.clone(), self.observer.clone());
        Some(Arc::new(Self { spec, tool, observer }))
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let outcome = self.tool.call(arguments, cx).await;
        outcome.map_err(|fault| own_fault(&self.spec.name, fault))
    }
}

/// A fault of a tool. One of state is about a question or a run of the tool's own: as a fault of
/// this run it would end the question.
fn own_fault(tool: &str, mut fault: Fault) -> Fault {
    if fault.code == FaultCode::QuestionAsked {
        let message = format!("a tool cannot ask a person where no team or graph calls it: {tool}");
        fault = Fault::new(FaultCode::QuestionMisplaced, message).with("tool", tool);
    }
    if fault.category == Category::State {
        fault.category = Category::Tool;
    }
    fault
}
