//! The plan of a question: tasks, and what came of them.

use antiphon_core::{Category, Fault, FaultCode, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// The tasks of a question, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionPlan {
    /// The tasks of all plans of the question.
    pub tasks: Vec<SearchTask>,
    /// Why the planner chose them.
    pub reasoning: String,
    /// When the last plan was made, in UTC.
    pub plan_created_at: String,
    /// Who made it.
    pub source: PlanSource,
}

/// Who made a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanSource {
    /// The planner.
    #[default]
    Model,
    /// Code, because the planner gave no usable plan.
    Fallback,
}

/// One call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchTask {
    /// Its number, counted from 1 over all plans of the question.
    pub task_number: usize,
    /// What it is for.
    pub description: String,
    /// The tool.
    pub tool_name: String,
    /// The arguments: as planned until it starts, then as sent.
    pub tool_arguments: Json,
    /// Optional arguments as planned that were not sent: nothing was found with them, or their
    /// reference led to no value.
    pub left_out: Map<String, Json>,
    /// The tasks whose results it needs.
    pub depends_on: Vec<usize>,
    /// How it stands.
    pub status: TaskStatus,
    /// What the tool returned, whole; null is a result too.
    pub result: Option<Json>,
    /// Why it failed.
    pub error: Option<TaskError>,
    /// The equal task whose result it shares; the tool was called once.
    pub shares_result_of: Option<usize>,
    /// When it started, in UTC.
    pub started_at: Option<String>,
    /// When it ended, in UTC.
    pub finished_at: Option<String>,
}

/// How a task stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It has not started.
    #[default]
    Pending,
    /// It has started.
    Executing,
    /// It has a result.
    Completed,
    /// It has none.
    Failed,
}

/// Why a task has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskError {
    /// What kind of failure it is.
    #[serde(rename = "type")]
    pub kind: TaskErrorKind,
    /// One sentence.
    pub message: String,
}

/// The kinds of failures of tasks. Names on the wire are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TaskErrorKind {
    /// The tool does not exist any more.
    UnknownTool,
    /// The arguments do not fit the schema of the tool.
    InvalidArguments,
    /// The tool reported an error.
    ToolError,
    /// The tool refused the credentials.
    Auth,
    /// The reply of the tool means nothing.
    ProtocolError,
    /// The tool cannot be reached.
    Unreachable,
    /// It took too long.
    Timeout,
    /// A person or code did not approve the call.
    Refused,
    /// The call began in a process that has ended, and nobody knows what came of it.
    UnknownOutcome,
    /// A task that it depends on has failed.
    DependencyFailed,
    /// A reference to the result of another task leads nowhere.
    ReferenceError,
}

impl TaskError {
    /// A failure of that kind.
    pub fn new(kind: TaskErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The failure of a call.
    pub fn of(fault: &Fault) -> Self {
        let rpc_code = fault.details.get("rpc_code").and_then(Json::as_i64);
        let kind = match (rpc_code, &fault.code, fault.category) {
            (Some(-32_601), _, _) | (_, FaultCode::McpToolUnknown, _) => TaskErrorKind::UnknownTool,
            (Some(-32_602), _, _) | (_, FaultCode::InvalidValue, _) => {
                TaskErrorKind::InvalidArguments
            }
            (Some(-32_001 | -32_003), _, _) | (_, _, Category::Auth) => TaskErrorKind::Auth,
            (_, FaultCode::McpReplyInvalid, _) => TaskErrorKind::ProtocolError,
            (_, FaultCode::ToolRefused, _) => TaskErrorKind::Refused,
            (_, FaultCode::UnknownOutcome, _) => TaskErrorKind::UnknownOutcome,
            (_, _, Category::Timeout) => TaskErrorKind::Timeout,
            (_, _, Category::ToolTransport) => TaskErrorKind::Unreachable,
            _ => TaskErrorKind::ToolError,
        };
        Self::new(kind, fault.message.clone())
    }
}

/// What came of one call, on its way from its node into the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The arguments that were sent in the end, if they are not those of the task.
    pub sent: Option<Json>,
    /// What the tool returned, unless it failed.
    pub result: Option<Json>,
    /// Why it failed.
    pub error: Option<TaskError>,
    /// When it ended.
    pub finished_at: String,
}

/// A task that starts, with the arguments to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskStart {
    /// The task.
    pub task_number: usize,
    /// Its arguments, resolved and valid.
    pub arguments: Json,
}

impl SearchTask {
    /// Whether it will not change any more.
    pub const fn is_finished(&self) -> bool {
        matches!(self.status, TaskStatus::Completed | TaskStatus::Failed)
    }

    /// What the tool returned, once the task is complete. Stored, a result that is null looks like
    /// none.
    pub(super) fn returned(&self) -> Option<&Json> {
        let is_complete = self.status == TaskStatus::Completed;
        is_complete.then(|| self.result.as_ref().unwrap_or(&Json::Null))
    }

    /// Whether the task is that call, as it was planned or as it was sent.
    pub(super) fn is_call(&self, tool: &str, arguments: &Json) -> bool {
        let planned = || {
            let mut planned = self.tool_arguments.clone();
            if let Some(fields) = planned.as_object_mut() {
                fields.extend(self.left_out.clone());
            }
            planned
        };
        self.tool_name == tool && (self.tool_arguments == *arguments || planned() == *arguments)
    }

    /// Replaces the arguments by others, and notes which of them were left out.
    pub(super) fn send_instead(&mut self, sent: Json) {
        let planned = std::mem::replace(&mut self.tool_arguments, sent);
        for (name, value) in planned.as_object().into_iter().flatten() {
            if self.tool_arguments.get(name) != Some(value) {
                self.left_out.insert(name.clone(), value.clone());
            }
        }
    }

    pub(super) fn complete(&mut self, result: Json, at: &str) {
        self.status = TaskStatus::Completed;
        self.result = Some(result);
        self.finished_at = Some(at.to_owned());
    }

    pub(super) fn fail(&mut self, error: TaskError, at: &str) {
        self.status = TaskStatus::Failed;
        self.error = Some(error);
        self.finished_at = Some(at.to_owned());
    }
}

impl ExecutionPlan {
    /// The task of that number.
    pub fn task(&self, number: usize) -> Option<&SearchTask> {
        self.tasks.iter().find(|task| task.task_number == number)
    }

    /// The tasks with that status, in order.
    pub fn with_status(&self, status: TaskStatus) -> impl Iterator<Item = &SearchTask> {
        self.tasks.iter().filter(move |task| task.status == status)
    }

    /// Takes over what came of calls.
    pub(super) fn record<'r>(
        &mut self,
        records: impl IntoIterator<Item = (&'r usize, &'r TaskRecord)>,
    ) {
        for (number, record) in records {
            let task = self.tasks.iter_mut().find(|task| task.task_number == *number);
            let Some(task) = task.filter(|task| !task.is_finished()) else { continue };
            if let Some(sent) = &record.sent {
                task.send_instead(sent.clone());
            }
            match &record.error {
                Some(error) => task.fail(error.clone(), &record.finished_at),
                None => {
                    task.complete(record.result.clone().unwrap_or_default(), &record.finished_at);
                }
            }
        }
    }

    /// What to say if tasks have failed and none has a result: then nothing supports an answer.
    pub(super) fn lack(&self) -> Option<&'static str> {
        let failed = self.with_status(TaskStatus::Failed).count();
        if failed == 0 || self.with_status(TaskStatus::Completed).next().is_some() {
            return None;
        }
        let is_all = failed == self.tasks.len();
        Some(if is_all { "all tasks have failed" } else { "no task has a result" })
    }

    /// The tools that have returned results, each once, in the order of their first use.
    pub fn sources_used(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for task in self.with_status(TaskStatus::Completed) {
            if !names.contains(&task.tool_name) {
                names.push(task.tool_name.clone());
            }
        }
        names
    }
}

/// An instant as the plan shows it.
pub(super) fn moment(time: Time) -> String {
    time.to_string()
}
