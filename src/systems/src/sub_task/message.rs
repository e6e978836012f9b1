//! What travels between an orchestrator and its workers. Names on the wire are exact.

use antiphon_core::{Category, Fault, FaultCode, Time, ToolOutcome};
use antiphon_runtime::queue::QueueMessage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::name::{
    LONGEST_ID, LONGEST_NAME, is_name, is_result_topic, result_message_id, task_message_id,
    task_topic, timeout_message_id,
};
use crate::partial_result::{PartialError, PartialResult};

/// The form of the messages. A process reads no other.
pub const VERSION: u32 = 1;
/// The most characters of what a step is for, of a context and of an id of the caller.
pub const LONGEST_TEXT: usize = 4_000;

/// Work for a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubTask {
    /// [`VERSION`].
    pub version: u32,
    /// Identifies it; its result has it too.
    pub sub_task_id: String,
    /// How often it was sent, counted from 1: once more after each cancellation.
    pub round: u32,
    /// The task that it is a part of.
    pub parent_task_id: String,
    /// Who is meant.
    pub assigned_agent_role: String,
    /// Which of its tools.
    pub tool_name: String,
    /// What the tool is given; references are resolved.
    pub sub_task_input: Map<String, Json>,
    /// What it is for.
    pub narrative_step: String,
    /// The step of the plan.
    #[serde(rename = "stepId")]
    pub step_id: String,
    /// How the task stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_summary: Option<String>,
    /// The name of the worker's credentials; never a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_keys_config_ref: Option<String>,
    /// Whether other credentials are tried next: these are then not waited for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_alternative: bool,
    /// The attempt to carry out the plan.
    pub attempt: u32,
    /// When nobody waits for the result any more.
    pub deadline: Time,
    /// Where the result goes.
    pub result_topic: String,
}

/// How a sub-task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SubTaskStatus {
    /// The tool has returned a value.
    Completed,
    /// It has not.
    Failed,
    /// The run was cancelled before there was a result; it says so itself.
    Cancelled,
    /// The run has not got a result in time; it says so itself. A result may still come.
    TimedOut,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubTaskResult {
    /// [`VERSION`].
    pub version: u32,
    /// The sub-task.
    pub sub_task_id: String,
    /// Its round.
    pub round: u32,
    /// The task that it is a part of.
    pub parent_task_id: String,
    /// Whose result it is.
    pub worker_agent_role: String,
    /// How it ended.
    pub status: SubTaskStatus,
    /// What the tool returned.
    #[serde(default)]
    pub result_data: Json,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_details: Option<Fault>,
    /// What of the result has failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partial_errors: Vec<PartialError>,
}

impl SubTask {
    /// The id of its message.
    pub fn message_id(&self) -> String {
        task_message_id(&self.sub_task_id, self.round)
    }

    /// The message that carries it; it is delivered once if its tool must not be called twice.
    ///
    /// # Errors
    /// `queue_message_invalid` for a name that no message can have.
    pub fn message(&self, is_repeatable: bool) -> Result<QueueMessage, Fault> {
        let topic = task_topic(&self.assigned_agent_role);
        let topic = topic.ok_or_else(|| invalid("role", &self.assigned_agent_role))?;
        if let Some((what, text)) = self.misnamed() {
            return Err(invalid(what, text));
        }
        let body = serde_json::to_value(self).unwrap_or_default();
        let message = QueueMessage::new(self.message_id(), topic, body);
        let max_deliveries = (!is_repeatable).then_some(std::num::NonZeroU32::MIN);
        Ok(QueueMessage { deadline: Some(self.deadline), max_deliveries, ..message })
    }

    /// The sub-task in a message.
    ///
    /// # Errors
    /// `sub_task_unreadable` for anything that no dispatcher of this version sends.
    pub fn read(message: &QueueMessage) -> Result<Self, Fault> {
        check_version(&message.body)?;
        let task = Self::deserialize(&message.body).map_err(|error| unreadable(&error))?;
        if let Some((what, _)) = task.misnamed() {
            return Err(unreadable(&format!("the {what} is no name")));
        }
        if task_topic(&task.assigned_agent_role).as_ref() != Some(&message.topic) {
            return Err(unreadable(&"it is in the topic of another role"));
        }
        if task.round == 0 || task.message_id() != message.id {
            return Err(unreadable(&"its id is not that of its message"));
        }
        if !is_result_topic(&task.result_topic) {
            return Err(unreadable(&"its result would go to a topic that has none"));
        }
        let is_long = |text: &String| text.chars().count() > LONGEST_TEXT;
        let is_context_long = task.context_summary.as_ref().is_some_and(is_long);
        if is_context_long || is_long(&task.narrative_step) || is_long(&task.parent_task_id) {
            return Err(unreadable(&"a text is too long"));
        }
        Ok(task)
    }

    /// A field whose value should be a name and is none.
    fn misnamed(&self) -> Option<(&'static str, &str)> {
        let profile = self.api_keys_config_ref.as_deref().map(|name| ("key profile", name));
        let names = [("tool", self.tool_name.as_str()), ("step", self.step_id.as_str())];
        let mut names = names.into_iter().chain(profile);
        let misnamed = names.find(|(_, text)| !is_name(text, LONGEST_NAME));
        let id = ("id", self.sub_task_id.as_str());
        misnamed.or_else(|| (!is_name(id.1, LONGEST_ID)).then_some(id))
    }

    /// Its result, with that outcome.
    pub fn result(&self, outcome: ToolOutcome) -> SubTaskResult {
        match outcome.map(PartialResult::of) {
            Ok(PartialResult { value: result_data, errors: partial_errors }) => {
                let status = SubTaskStatus::Completed;
                SubTaskResult { status, result_data, partial_errors, ..self.cancelled() }
            }
            Err(fault) => {
                let (status, error_details) = (SubTaskStatus::Failed, Some(fault));
                SubTaskResult { status, error_details, ..self.cancelled() }
            }
        }
    }

    /// The note that its run does not wait any more.
    pub fn timed_out(&self, fault: Fault) -> SubTaskResult {
        let (status, error_details) = (SubTaskStatus::TimedOut, Some(fault));
        SubTaskResult { status, error_details, ..self.cancelled() }
    }

    /// The note that its run was cancelled.
    pub fn cancelled(&self) -> SubTaskResult {
        SubTaskResult {
            version: VERSION,
            sub_task_id: self.sub_task_id.clone(),
            round: self.round,
            parent_task_id: self.parent_task_id.clone(),
            worker_agent_role: self.assigned_agent_role.clone(),
            status: SubTaskStatus::Cancelled,
            result_data: Json::Null,
            error_details: None,
            partial_errors: Vec::new(),
        }
    }
}

impl SubTaskResult {
    /// The id of the message of its sub-task.
    pub fn task_message_id(&self) -> String {
        task_message_id(&self.sub_task_id, self.round)
    }

    /// The id of its own message.
    pub fn message_id(&self) -> String {
        let task_message = self.task_message_id();
        match self.status {
            SubTaskStatus::TimedOut => timeout_message_id(&task_message),
            SubTaskStatus::Completed | SubTaskStatus::Failed | SubTaskStatus::Cancelled => {
                result_message_id(&task_message)
            }
        }
    }

    /// Whether the run says it itself, to the drive that resumes it.
    pub(super) fn is_note(&self) -> bool {
        matches!(self.status, SubTaskStatus::Cancelled | SubTaskStatus::TimedOut)
    }

    /// The message that carries it to a topic of results, and is kept until then.
    pub fn message(&self, topic: &str, until: Time) -> QueueMessage {
        let body = serde_json::to_value(self).unwrap_or_default();
        let message = QueueMessage::new(self.message_id(), topic, body);
        // A run that is resumed over and over must find it each time.
        let max_deliveries = Some(std::num::NonZeroU32::MAX);
        QueueMessage { deadline: Some(until), max_deliveries, ..message }
    }

    /// The result in a message.
    ///
    /// # Errors
    /// `sub_task_unreadable` for anything that no worker of this version sends.
    pub fn read(message: &QueueMessage) -> Result<Self, Fault> {
        check_version(&message.body)?;
        let result = Self::deserialize(&message.body).map_err(|error| unreadable(&error))?;
        let is_id = is_name(&result.sub_task_id, LONGEST_ID) && result.round > 0;
        if !is_id || result.message_id() != message.id {
            return Err(unreadable(&"its id is not that of its message"));
        }
        let has_value = !result.result_data.is_null() || !result.partial_errors.is_empty();
        let fits = match (result.status, &result.error_details) {
            (SubTaskStatus::Completed, error) => error.is_none(),
            (SubTaskStatus::Failed | SubTaskStatus::TimedOut, error) => {
                error.is_some() && !has_value
            }
            (SubTaskStatus::Cancelled, error) => error.is_none() && !has_value,
        };
        if fits { Ok(result) } else { Err(unreadable(&"its status and its fields disagree")) }
    }

    /// What the tool returned. A failure of a worker is one of its tool, and never ends the run.
    pub(super) fn into_outcome(self) -> ToolOutcome {
        let Some(mut fault) = self.error_details else {
            let result = PartialResult { value: self.result_data, errors: self.partial_errors };
            return Ok(result.into_returned());
        };
        if matches!(fault.category, Category::Budget | Category::Cancelled | Category::State) {
            fault.category = Category::Tool;
        }
        Err(fault)
    }
}

/// Before anything else: a later version may have fields that this one does not know.
fn check_version(body: &Json) -> Result<(), Fault> {
    match body.get("version") {
        Some(version) if version.as_u64() == Some(u64::from(VERSION)) => Ok(()),
        Some(version) => Err(unreadable(&format!("its version is not {VERSION} but {version}"))),
        None => Err(unreadable(&"it has no version")),
    }
}

fn unreadable(reason: &dyn std::fmt::Display) -> Fault {
    let message = format!("a message of the queue is no sub-task and no result: {reason}");
    Fault::new(FaultCode::SubTaskUnreadable, message)
        .hint("run the same version of antiphon on both sides of the queue")
}

fn invalid(what: &str, text: &str) -> Fault {
    let message = format!("the {what} of a sub-task is no name: {text}");
    Fault::new(FaultCode::QueueMessageInvalid, message)
        .hint("use letters, digits, `_`, `.` and `-`, at most 48")
}
