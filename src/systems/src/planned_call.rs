//! Calls of tools that a plan makes, each once a person has approved where that is needed.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::approval::{Approval, Decision, Proposal, refused};
use antiphon_core::{Category, Fault, ToolOutcome, ToolSpec};
use antiphon_reply::JsonSchemas;
use antiphon_runtime::Tool;
use serde_json::Value as Json;

use crate::limited_tool::LimitedTool;
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
    let planned = LimitedTool::or_within(cx.tool(tool), timeout).approved();
    match cx.call.invoke(&planned, arguments).await {
        Err(fault) if ends_run(&fault) => Err(fault),
        outcome => Ok(outcome),
    }
}

/// Whether a fault is none of the tool's own.
fn ends_run(fault: &Fault) -> bool {
    matches!(fault.category, Category::Budget | Category::Cancelled | Category::State)
}
