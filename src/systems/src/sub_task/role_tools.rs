//! The tools of one role of a worker, and those of its key profiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::nearest::nearest;
use antiphon_core::tool::timed_out;
use antiphon_core::{Fault, FaultCode, ToolOutcome};
use antiphon_reply::JsonSchemas;
use antiphon_runtime::{CallContext, CheckedTool, Clock, Tool};
use serde_json::Value as Json;

use super::message::SubTask;

type Tools = BTreeMap<String, CheckedTool>;

/// What a worker of one role can do.
#[derive(Debug, Default)]
pub(super) struct RoleTools {
    usual: Tools,
    /// The same tools with other credentials, by the name of these.
    profiles: BTreeMap<String, Tools>,
}

impl RoleTools {
    /// Adds tools for sub-tasks without a profile, or for those that name this one.
    pub(super) fn add(
        &mut self,
        profile: Option<&str>,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<(), Fault> {
        let known = match profile {
            Some(profile) => self.profiles.entry(profile.to_owned()).or_default(),
            None => &mut self.usual,
        };
        for tool in tools {
            let name = tool.spec().name.clone();
            known.insert(name, CheckedTool::new(tool, &JsonSchemas)?);
        }
        Ok(())
    }

    fn tool(&self, task: &SubTask) -> Result<&CheckedTool, Fault> {
        let tools = match &task.api_keys_config_ref {
            Some(profile) => self.profiles.get(profile).ok_or_else(|| no_profile(profile))?,
            None => &self.usual,
        };
        tools.get(&task.tool_name).ok_or_else(|| no_tool(task, tools))
    }

    /// Calls the tool of a sub-task, which was delivered that often.
    pub(super) async fn call(
        &self,
        task: &SubTask,
        delivery: u32,
        clock: &Arc<dyn Clock>,
    ) -> ToolOutcome {
        let tool = self.tool(task)?;
        let spec = tool.tool().spec();
        if delivery > 1 && !spec.is_repeatable() {
            return Err(unknown_outcome(&spec.name));
        }
        let left = task.deadline.since(clock.now());
        if left.is_zero() {
            return Err(timed_out(&spec.name, None));
        }
        let timeout = spec.timeout.map_or(left, |own| own.min(left));
        let cx = CallContext {
            deadline: Some(task.deadline),
            idempotency_key: Some(task.sub_task_id.clone()),
            has_alternative: task.has_alternative,
            context_summary: task.context_summary.as_deref().map(Arc::from),
            ..CallContext::new(Arc::clone(clock))
        };
        tool.call(&Json::Object(task.sub_task_input.clone()), Some(timeout), &cx).await
    }

    /// The names of the tools.
    pub(super) fn names(&self) -> Vec<String> {
        self.usual.keys().cloned().collect()
    }

    /// Whether the sub-task may be carried out once more.
    pub(super) fn repeats(&self, task: &SubTask) -> bool {
        self.tool(task).is_ok_and(|tool| tool.tool().spec().is_repeatable())
    }
}

/// The fault for a call that was begun and not finished.
pub(super) fn unknown_outcome(tool: &str) -> Fault {
    let message = format!("nobody knows what came of an earlier call: {tool}");
    Fault::new(FaultCode::UnknownOutcome, message)
}

fn no_profile(profile: &str) -> Fault {
    let message = format!("the worker has no credentials of that name: {profile}");
    Fault::new(FaultCode::SubTaskProfileUnknown, message)
        .with("profile", profile)
        .hint("give the worker the profile, or name one that it has")
}

fn no_tool(task: &SubTask, known: &Tools) -> Fault {
    let names = known.keys().map(String::as_str);
    let message =
        format!("a worker of {} has no such tool: {}", task.assigned_agent_role, task.tool_name);
    let fault =
        Fault::new(FaultCode::SubTaskToolUnknown, message).with("tool", task.tool_name.as_str());
    match nearest(&task.tool_name, names) {
        Some(name) => fault.hint(format!("it has {name}")),
        None => fault.hint("start the workers of a role with the tools that its plans use"),
    }
}
