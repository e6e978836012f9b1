//! Running tasks: which start, and one call.

use antiphon_core::approval::{Approval, Decision, Proposal, refused};
use antiphon_core::{Category, Fault, FaultCode, ToolOutcome, ToolSpec};
use antiphon_reply::JsonSchemas;
use antiphon_runtime::{CallContext, Tool, UserContext};
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use std::sync::Arc;

use super::AgenticSearch;
use super::catalogue::ToolCatalogue;
use super::plan::{ExecutionPlan, TaskError, TaskRecord, TaskStart, moment};
use super::planning::PlanCheck;
use super::source::result_text;
use super::state::State;
use super::wave::WavePlan;
use crate::delimited_input::cut;
use crate::node::{NodeContext, NodeExit};
use crate::patch::Patch;

/// What a plan is checked against in this run.
pub(super) fn check<'c>(
    cx: &'c NodeContext<AgenticSearch>,
    plan: &ExecutionPlan,
    now: &'c str,
) -> PlanCheck<'c> {
    let AgenticSearch { config, parsers, .. } = cx.system();
    PlanCheck {
        catalogue: ToolCatalogue { specs: &cx.state.available_tools, parsers },
        question: &cx.state.query,
        max_tasks: config.max_tasks,
        last: plan.tasks.last().map_or(0, |task| task.task_number),
        now,
    }
}

/// Takes over what came of the last wave, and chooses the next.
pub(super) async fn schedule(cx: NodeContext<AgenticSearch>) -> Result<Patch<State>, Fault> {
    let now = moment(cx.call.cx.clock.now());
    let mut plan = cx.state.execution_plan.clone().unwrap_or_default();
    let check = check(&cx, &plan, &now);
    let wave = WavePlan { check, config: &cx.system().config };
    let (dispatched, notes) = wave.advance(&mut plan, &cx.state.task_records);
    let mut patch = Patch::default();
    let steps = notes.move_into(&mut patch);
    if !dispatched.is_empty() {
        let numbers: Vec<usize> = dispatched.iter().map(|one| one.task_number).collect();
        patch.note("wave", json!({"numbers": numbers}));
    }
    match plan.lack().filter(|_| dispatched.is_empty()) {
        Some(lack) => patch.set(State::error_message, Some(lack.to_owned())),
        None => patch.reset(State::error_message),
    };
    patch
        .set(State::current_task_index, wave.index(&plan))
        .set(State::execution_plan, Some(plan))
        .set(State::wave, dispatched)
        .set(State::thinking_steps, steps)
        .reset(State::task_records);
    Ok(patch)
}

/// Calls the tool of one task. A failure is kept with the task, and the others go on.
pub(super) async fn execute(cx: NodeContext<AgenticSearch>) -> Result<NodeExit<State>, Fault> {
    let TaskStart { task_number, arguments } = cx.sent().ok_or_else(|| nothing_sent(&cx))?;
    let plan = cx.state.execution_plan.as_ref();
    let task = plan.and_then(|plan| plan.task(task_number)).ok_or_else(|| nothing_sent(&cx))?;
    let (name, clock) = (task.tool_name.clone(), &cx.call.cx.clock);
    let data = json!({"task_number": task_number, "tool": name, "arguments": arguments});
    cx.note("task_started", data);
    let started = clock.now();
    let mut steps = vec![format!("Task {task_number}: {name}({arguments})")];
    let outcome = match call(&cx, &name, arguments).await? {
        CallProgress::Asks(question) => return Ok(NodeExit::Ask(question)),
        CallProgress::Ended(outcome) => outcome,
    };
    let (ended, mut patch) = (clock.now(), Patch::default());
    let finished_at = moment(ended);
    let elapsed = u64::try_from(ended.since(started).as_millis()).unwrap_or(u64::MAX);
    let record = match outcome {
        Ok(result) => {
            let text = result_text(&result);
            let limit = cx.system().config.thinking_result_chars;
            steps.push(format!("Result of task {task_number}: {}", cut(&text, limit)));
            let data = json!({"task_number": task_number, "elapsed_ms": elapsed, "result": result});
            patch.note("task_completed", data);
            TaskRecord { result: Some(result), error: None, finished_at }
        }
        Err(fault) => {
            let error = TaskError::of(&fault);
            steps.push(format!("Task {task_number} failed: {}", error.message));
            patch.note("task_failed", json!({"task_number": task_number, "error": error}));
            TaskRecord { result: None, error: Some(error), finished_at }
        }
    };
    patch.set(State::task_records, [(task_number, record)]).set(State::thinking_steps, steps);
    Ok(patch.into())
}

/// How a call stands.
enum CallProgress {
    /// A person has to approve it.
    Asks(Json),
    Ended(ToolOutcome),
}

/// Calls a tool, once a person has approved if that is needed.
///
/// # Errors
/// A fault that ends the run, such as a spent budget.
async fn call(
    cx: &NodeContext<AgenticSearch>,
    name: &str,
    mut arguments: Json,
) -> Result<CallProgress, Fault> {
    let tool = match cx.data().tool(name, cx).await {
        Ok(tool) => tool,
        Err(fault) => return Ok(CallProgress::Ended(Err(fault))),
    };
    let spec = tool.spec();
    if spec.approval == Approval::Person {
        let proposal = Proposal::new(name, arguments.clone(), spec.parameters.clone());
        let Some(answer) = cx.answers().first() else {
            return Ok(CallProgress::Asks(proposal.question()));
        };
        match proposal.decode_answer(answer, Some(&JsonSchemas))? {
            Decision::Approve => {}
            Decision::Change(changed) => arguments = changed,
            Decision::Refuse(reason) => {
                return Ok(CallProgress::Ended(Err(refused(name, reason.as_deref()))));
            }
        }
    }
    let planned = PlannedTool::new(cx.tool(&tool), cx.system().config.tool_timeout());
    let outcome = cx.call.invoke(&planned, arguments).await;
    if let Err(fault) = &outcome {
        cx.data().forget_if_unknown(&TaskError::of(fault)).await;
    }
    match outcome {
        Err(fault) if ends_run(&fault) => Err(fault),
        outcome => Ok(CallProgress::Ended(outcome)),
    }
}

/// Whether a fault is none of the tool's own.
fn ends_run(fault: &Fault) -> bool {
    matches!(fault.category, Category::Budget | Category::Cancelled | Category::State)
}

fn nothing_sent(cx: &NodeContext<AgenticSearch>) -> Fault {
    let message = format!("the node was sent no task: {}", cx.call.node);
    Fault::new(FaultCode::HostIncomplete, message)
}

/// A tool within the time that the search allows; a person has approved the call.
struct PlannedTool {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
}

impl PlannedTool {
    fn new(tool: Arc<dyn Tool>, timeout: std::time::Duration) -> Self {
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

    async fn approve(
        &self,
        arguments: &Json,
        cx: &CallContext,
    ) -> Result<antiphon_core::approval::HostVerdict, Fault> {
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
