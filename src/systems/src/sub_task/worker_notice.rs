//! What a worker tells of its work, as it happens.

use std::time::Duration;

use antiphon_core::Fault;
use serde::Serialize;

use super::message::SubTask;

/// What a worker tells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkerNotice {
    /// What has happened.
    pub kind: WorkerNoticeKind,
    /// To the role.
    pub role: String,
    /// The sub-task; none if it is about the queue.
    pub sub_task_id: Option<String>,
    /// Its step.
    pub step_id: Option<String>,
    /// Its tool.
    pub tool_name: Option<String>,
    /// For how long it was under way.
    pub took: Duration,
    /// Why it failed.
    pub fault: Option<Fault>,
}

/// What has happened to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerNoticeKind {
    /// A sub-task is under way.
    Started,
    /// Its result is sent.
    Completed,
    /// Its failure is sent.
    Failed,
    /// Its run was cancelled, or it went to another worker.
    Dropped,
    /// It was not finished, and goes to another worker.
    GivenBack,
    /// The queue cannot be reached.
    QueueLost,
    /// The queue is back.
    QueueBack,
}

/// Who is told.
pub trait WorkerWatch: Send + Sync {
    /// Must not block.
    fn see(&self, notice: WorkerNotice);
}

impl<F: Fn(WorkerNotice) + Send + Sync> WorkerWatch for F {
    fn see(&self, notice: WorkerNotice) {
        self(notice);
    }
}

impl WorkerNotice {
    /// About a sub-task.
    pub(super) fn of(kind: WorkerNoticeKind, task: &SubTask) -> Self {
        Self {
            sub_task_id: Some(task.sub_task_id.clone()),
            step_id: Some(task.step_id.clone()),
            tool_name: Some(task.tool_name.clone()),
            ..Self::about_queue(kind, &task.assigned_agent_role)
        }
    }

    /// About the queue of a role.
    pub(super) fn about_queue(kind: WorkerNoticeKind, role: &str) -> Self {
        Self {
            kind,
            role: role.to_owned(),
            sub_task_id: None,
            step_id: None,
            tool_name: None,
            took: Duration::ZERO,
            fault: None,
        }
    }
}
