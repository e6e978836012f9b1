//! Steps that are carried out with a tool: here, or by a worker over a queue.

use std::sync::Arc;

use antiphon_core::approval::HostVerdict;
use antiphon_core::{Category, Fault, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Tool, UserContext};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use super::PlanExecute;
use super::capability::{ORCHESTRATOR, StepAction};
use super::execute::{details_with, nothing_sent, record, sent_step, unknown_tool};
use super::explore::explore;
use super::plan::PlanStep;
use super::record::{StepResult, StepStart};
use super::state::State;
use super::step_output::{StepError, StepStatus};
use crate::node::{NodeContext, NodeExit};
use crate::partial_result::PartialResult;
use crate::planned_call::{CallProgress, call_planned};
use crate::sub_task::{SubTaskBrief, sub_task_id};

/// Statuses of services whose key has no calls left: to be paid for, too many requests, and two of
/// search engines.
const USED_UP: [u64; 4] = [402, 429, 432, 433];

/// How a step stands after a call with the credentials of one profile.
enum CallResult {
    /// A person has to approve it.
    Asks(Json),
    /// The credentials were refused, or are used up.
    Refused(Box<StepResult>),
    Ended(Box<StepResult>),
}

/// Carries out one step with its tool. A failure is kept with the step, and the others go on.
/// Credentials that are refused or used up lead to the next key profile of the role.
pub(super) async fn execute(mut cx: NodeContext<PlanExecute>) -> Result<NodeExit<State>, Fault> {
    let (start, step) = sent_step(&cx).ok_or_else(|| nothing_sent(&cx))?;
    let scope = Arc::clone(&cx.scope);
    // A task that waits for a person gives its place to others.
    let _permit = scope.data.permits.acquire().await;
    let started_at = Some(cx.call.cx.clock.now().to_string());
    let profiles = scope.system.profiles_of(&scope.input, &step.assigned_agent_role);
    let mut profiles = profiles.into_iter().peekable();
    let mut sub_task = start.sub_task_id.clone();
    while let Some(profile) = profiles.next() {
        cx.call.cx.has_alternative = profiles.peek().is_some();
        let result = match call(&cx, &step, &start, (&sub_task, profile)).await? {
            CallResult::Asks(question) => return Ok(NodeExit::Ask(question)),
            CallResult::Refused(result) => {
                if let Some(Some(next)) = profiles.peek() {
                    let more = json!({"subTaskId": sub_task, "keyProfile": profile, "errorDetails": result.error});
                    let data = details_with(&cx.state, &step, more);
                    cx.note("EXECUTION_STEP_PROFILE_REFUSED", data);
                    sub_task = sub_task_id(&start.sub_task_id, cx.state.attempt, next);
                    continue;
                }
                result
            }
            CallResult::Ended(result) => result,
        };
        let result = StepResult { started_at, sub_task_id: Some(sub_task), ..*result };
        return Ok(record(&cx, result).into());
    }
    Err(nothing_sent(&cx))
}

/// Calls the tool of a step with the credentials of a profile.
async fn call(
    cx: &NodeContext<PlanExecute>,
    step: &PlanStep,
    start: &StepStart,
    (sub_task, profile): (&str, Option<&str>),
) -> Result<CallResult, Fault> {
    let capabilities = cx.system().capabilities_with(profile);
    let Some(tool) = capabilities.tool(&step.assigned_agent_role, &step.tool_name) else {
        return Ok(CallResult::Ended(Box::new(StepResult::unprepared(unknown_tool(step)))));
    };
    let mut more = json!({"subTaskId": sub_task});
    if let (Some(fields), Some(profile)) = (more.as_object_mut(), profile) {
        fields.insert("keyProfile".to_owned(), json!(profile));
    }
    let dispatched = details_with(&cx.state, step, more);
    let tool = match &tool.action {
        StepAction::Explore(pages) => {
            cx.note("EXECUTION_STEP_ORCHESTRATOR_START", dispatched);
            let result = explore(cx, pages, step, &start.input).await?;
            return Ok(CallResult::Ended(Box::new(result)));
        }
        StepAction::Call(tool) => tool,
        StepAction::AskModel => return Err(nothing_sent(cx)),
    };
    cx.note("EXECUTION_STEP_DISPATCHED", dispatched);
    let timeout = cx.system().config.step_timeout();
    let sub_tasks = cx.data().sub_tasks.as_ref();
    let sub_tasks = sub_tasks.filter(|_| step.assigned_agent_role != ORCHESTRATOR);
    let tool: Arc<dyn Tool> = match sub_tasks {
        Some(run) => run.tool(tool, brief(cx, step, sub_task, profile), timeout),
        None => match context_summary(cx) {
            Some(summary) => {
                Arc::new(ContextSummaryTool { tool: Arc::clone(tool), summary: summary.into() })
            }
            None => Arc::clone(tool),
        },
    };
    let progress = call_planned(cx, &tool, Json::Object(start.input.clone()), timeout).await?;
    Ok(match progress {
        CallProgress::Asks(question) => CallResult::Asks(question),
        CallProgress::Ended(Ok(returned)) => {
            let PartialResult { value, errors } = PartialResult::of(returned);
            CallResult::Ended(Box::new(StepResult {
                status: StepStatus::Completed,
                result_data: value,
                partial_errors: errors,
                ..StepResult::default()
            }))
        }
        CallProgress::Ended(Err(fault)) => {
            let result = Box::new(StepResult::unprepared(StepError::of(&fault)));
            if is_refused(&fault) { CallResult::Refused(result) } else { CallResult::Ended(result) }
        }
    })
}

/// Whether other credentials may well be accepted.
fn is_refused(fault: &Fault) -> bool {
    let status = fault.details.get("status").and_then(Json::as_u64);
    fault.category == Category::Auth || status.is_some_and(|status| USED_UP.contains(&status))
}

/// A summary of the task so far, if tools are to have it.
fn context_summary(cx: &NodeContext<PlanExecute>) -> Option<String> {
    cx.system().config.send_context_summary.then(|| cx.state.cwc.summary())
}

/// A tool whose calls carry a summary of the task so far.
struct ContextSummaryTool {
    tool: Arc<dyn Tool>,
    summary: Arc<str>,
}

#[async_trait]
impl Tool for ContextSummaryTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    async fn approve(&self, arguments: &Json, cx: &CallContext) -> Result<HostVerdict, Fault> {
        self.tool.approve(arguments, cx).await
    }

    fn bind(&self, user_context: &UserContext) -> Option<Arc<dyn Tool>> {
        let (tool, summary) = (self.tool.bind(user_context)?, Arc::clone(&self.summary));
        Some(Arc::new(Self { tool, summary }))
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let context_summary = Some(Arc::clone(&self.summary));
        self.tool.call(arguments, &CallContext { context_summary, ..cx.clone() }).await
    }
}

/// What a worker learns of a step.
fn brief(
    cx: &NodeContext<PlanExecute>,
    step: &PlanStep,
    sub_task: &str,
    profile: Option<&str>,
) -> SubTaskBrief {
    let run_id = cx.scope.run_id.to_string();
    SubTaskBrief {
        sub_task_id: sub_task.to_owned(),
        parent_task_id: run_id.clone(),
        run_id,
        role: step.assigned_agent_role.clone(),
        step_id: step.step_id.clone(),
        narrative_step: step.narrative_step.clone(),
        context_summary: context_summary(cx),
        key_profile: profile.map(str::to_owned),
        attempt: cx.state.attempt,
    }
}
