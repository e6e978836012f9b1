//! A sub-task as the call of a tool: all that holds for calls of tools holds for it.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::approval::HostVerdict;
use antiphon_core::{Fault, FaultCode, Time, ToolOutcome, ToolSpec};
use antiphon_runtime::queue::PublishOutcome;
use antiphon_runtime::{CallContext, Tool, UserContext};
use async_trait::async_trait;
use serde_json::{Map, Value as Json};

use super::dispatcher::RunDispatcher;
use super::expected_result::ExpectedResult;
use super::message::{LONGEST_TEXT, SubTask, SubTaskStatus, VERSION};
use super::name::result_topic;

/// What passes between the end of a call by a worker and the arrival of its result, at most.
const MARGIN: Duration = Duration::from_secs(5);

/// What a worker learns of a step beside the call of its tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubTaskBrief {
    /// Identifies it: [`sub_task_id`](super::sub_task_id).
    pub sub_task_id: String,
    /// The run.
    pub run_id: String,
    /// The task that it is a part of.
    pub parent_task_id: String,
    /// Who carries it out.
    pub role: String,
    /// The step of the plan.
    pub step_id: String,
    /// What it is for.
    pub narrative_step: String,
    /// How the task stands.
    pub context_summary: Option<String>,
    /// The name of the worker's credentials.
    pub key_profile: Option<String>,
    /// The attempt to carry out the plan.
    pub attempt: u32,
}

/// A tool that a worker calls.
pub struct DispatchedTool {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
    brief: SubTaskBrief,
    wait: Duration,
    run: RunDispatcher,
}

impl DispatchedTool {
    pub(super) fn new(
        run: RunDispatcher,
        tool: &Arc<dyn Tool>,
        brief: SubTaskBrief,
        timeout: Duration,
    ) -> Self {
        let (tool, mut spec) = (Arc::clone(tool), tool.spec().clone());
        let wait = spec.timeout.map_or(timeout, |own| own.max(timeout)).saturating_add(MARGIN);
        // The wait ends by itself before that, and tells the worker.
        spec.timeout = Some(wait.saturating_add(MARGIN));
        Self { spec, tool, brief, wait, run }
    }

    fn sub_task(
        &self,
        input: &Map<String, Json>,
        has_alternative: bool,
        (deadline, round): (Time, u32),
    ) -> SubTask {
        let brief = &self.brief;
        let short = |text: &str| text.chars().take(LONGEST_TEXT).collect::<String>();
        SubTask {
            version: VERSION,
            sub_task_id: brief.sub_task_id.clone(),
            round,
            parent_task_id: short(&brief.parent_task_id),
            assigned_agent_role: brief.role.clone(),
            tool_name: self.spec.name.clone(),
            sub_task_input: input.clone(),
            narrative_step: short(&brief.narrative_step),
            step_id: brief.step_id.clone(),
            context_summary: brief.context_summary.as_deref().map(short),
            api_keys_config_ref: brief.key_profile.clone(),
            has_alternative,
            attempt: brief.attempt,
            deadline,
            result_topic: result_topic(&brief.run_id),
        }
    }

    fn timed_out(&self) -> Fault {
        let message = format!("no worker has sent a result in time: {}", self.spec.name);
        Fault::new(FaultCode::SubTaskTimeout, message)
            .with("role", self.brief.role.as_str())
            .with("sub_task_id", self.brief.sub_task_id.as_str())
            .hint("see whether workers of the role are running, or raise the time-out of the tool")
    }
}

#[async_trait]
impl Tool for DispatchedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn approve(&self, arguments: &Json, cx: &CallContext) -> Result<HostVerdict, Fault> {
        self.tool.approve(arguments, cx).await
    }

    /// What the caller passed stays in this process: a worker has its own tools. An approval may
    /// look at it.
    fn bind(&self, user_context: &UserContext) -> Option<Arc<dyn Tool>> {
        let tool = self.tool.bind(user_context)?;
        let (spec, brief, run) = (self.spec.clone(), self.brief.clone(), self.run.clone());
        Some(Arc::new(Self { spec, tool, brief, wait: self.wait, run }))
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let Json::Object(input) = arguments else {
            let message = format!("the input of a sub-task is an object: {}", self.spec.name);
            return Err(Fault::new(FaultCode::InvalidValue, message));
        };
        let now = cx.clock.now();
        let deadline = cx.deadline.map_or(now + self.wait, |own| own.min(now + self.wait));
        let inbox = self.run.inbox(&self.brief.run_id, &cx.clock);
        for round in 1.. {
            let task = self.sub_task(&input, cx.has_alternative, (deadline, round));
            let message = task.message(self.spec.is_repeatable())?;
            let mut expected = ExpectedResult::new(inbox, task);
            let received = async {
                let wait = deadline.since(cx.clock.now());
                let published = self.run.queue().publish(message, wait).await?;
                if published == PublishOutcome::Added {
                    // What was sent before may have a result already.
                    self.run.check_role(&self.brief.role)?;
                }
                expected.received().await
            };
            let received = tokio::select! {
                biased;
                received = received => received,
                () = cx.clock.sleep(deadline.since(now)) => Err(self.timed_out()),
            };
            match received {
                // An earlier drive of the run was cancelled, and has taken it back.
                Ok(result) if result.status == SubTaskStatus::Cancelled => {}
                Ok(result) => return result.into_outcome(),
                Err(fault) => {
                    expected.give_up(&fault).await;
                    return Err(fault);
                }
            }
        }
        Err(self.timed_out())
    }
}
