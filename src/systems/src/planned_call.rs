//! Calls of tools that a plan makes, each once a person has approved where that is needed.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::approval::{Approval, Decision, HostVerdict, Proposal, refused};
use antiphon_core::{Category, Fault, FaultCode, ToolOutcome, ToolSpec};
use antiphon_reply::JsonSchemas;
use antiphon_runtime::{CallContext, Tool, UserContext};
use async_trait::async_trait;
use serde_json::Value as Json;

use crate::node::NodeContext;
use crate::system::System;

/// How a call stands.
pub(crate) enum CallProgress {
    /// A person has to approve it.
    Asks(Json),
    Ended(ToolOutcome),
}

/// Calls a tool, once a person has approved if that is needed: within the limit of the tool, else
/// within `timeout`.
///
/// # Errors
/// A fault that ends the run, such as a spent budget.
pub(crate) async fn call_planned<S: System>(
    cx: &NodeContext<S>,
    tool: &Arc<dyn Tool>,
    arguments: Json,
    timeout: Duration,
) -> Result<CallProgress, Fault> {
    match approve_planned(cx, tool.spec(), arguments)? {
        PlannedApproval::Asks(question) => Ok(CallProgress::Asks(question)),
        PlannedApproval::Refused(fault) => Ok(CallProgress::Ended(Err(fault))),
        PlannedApproval::Given(arguments) => {
            Ok(CallProgress::Ended(make_approved(cx, tool, arguments, timeout).await?))
        }
    }
}

/// What a person says of a call.
pub(crate) enum PlannedApproval {
    /// Nothing yet.
    Asks(Json),
    Refused(Fault),
    /// The arguments that are to be sent, changed or not.
    Given(Json),
}

/// Whether a call may be made, and with which arguments.
///
/// # Errors
/// An answer that is no decision.
pub(crate) fn approve_planned<S: System>(
    cx: &NodeContext<S>,
    spec: &ToolSpec,
    arguments: Json,
) -> Result<PlannedApproval, Fault> {
    if spec.approval != Approval::Person {
        return Ok(PlannedApproval::Given(arguments));
    }
    let proposal = Proposal::new(&spec.name, arguments.clone(), spec.parameters.clone());
    let Some(answer) = cx.answers().first() else {
        return Ok(PlannedApproval::Asks(proposal.question()));
    };
    Ok(match proposal.decode_answer(answer, Some(&JsonSchemas))? {
        Decision::Approve => PlannedApproval::Given(arguments),
        Decision::Change(changed) => PlannedApproval::Given(changed),
        Decision::Refuse(reason) => {
            PlannedApproval::Refused(refused(&spec.name, reason.as_deref()))
        }
    })
}

/// Makes a call that needs no approval any more.
///
/// # Errors
/// As [`call_planned`].
pub(crate) async fn make_approved<S: System>(
    cx: &NodeContext<S>,
    tool: &Arc<dyn Tool>,
    arguments: Json,
    timeout: Duration,
) -> Result<ToolOutcome, Fault> {
    let planned = PlannedTool::new(cx.tool(tool), timeout);
    match cx.call.invoke(&planned, arguments).await {
        Err(fault) if ends_run(&fault) => Err(fault),
        outcome => Ok(outcome),
    }
}

/// Whether a fault is none of the tool's own.
fn ends_run(fault: &Fault) -> bool {
    matches!(fault.category, Category::Budget | Category::Cancelled | Category::State)
}

/// A tool within the time that a system allows; a person has approved the call.
struct PlannedTool {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
}

impl PlannedTool {
    fn new(tool: Arc<dyn Tool>, timeout: Duration) -> Self {
        let mut spec = tool.spec().clone();
        spec.timeout = Some(spec.timeout.unwrap_or(timeout));
        if spec.approval == Approval::Person {
            spec.approval = Approval::None;
        }
        Self { spec, tool }
    }
}

#[async_trait]
impl Tool for PlannedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn approve(&self, arguments: &Json, cx: &CallContext) -> Result<HostVerdict, Fault> {
        let verdict = self.tool.approve(arguments, cx).await;
        verdict.map_err(|fault| own_fault(&self.spec.name, fault))
    }

    fn bind(&self, user_context: &UserContext) -> Option<Arc<dyn Tool>> {
        let spec = self.spec.clone();
        Some(Arc::new(Self { spec, tool: self.tool.bind(user_context)? }))
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
