//! Sub-tasks: calls of tools that a system has carried out by workers, over a queue.
//!
//! A step of a worker becomes a [`DispatchedTool`](dispatched_tool::DispatchedTool), which is
//! called in place of its tool: it publishes a [`SubTask`] to the topic of the role and waits for
//! the [`SubTaskResult`] in the topic of the run. A [`SubTaskWorker`] takes the sub-tasks of its
//! roles, in this process or another one.
//!
//! * A sub-task has the same id whenever its run comes back to it, so a resumed run finds the work
//!   under way, or its result, instead of having it done again.
//! * A result is acknowledged once the run has committed it ([`RunDispatcher::settle`]); until
//!   then another process can have it.
//! * Work is delivered again only if its tool may be called twice.
//! * Each sub-task has one result in the queue: that of a worker, or the note that the run was
//!   cancelled before. Which of the two comes first counts.
//! * A run that has waited in vain leaves a note, so that it does not wait again when it is resumed.
//! * With the end of its run ([`RunDispatcher::end`]) nothing of it stays in the queue.
//!
//! | module | holds |
//! |---|---|
//! | [`message`] | what travels, and how it is read |
//! | [`name`] | ids and topics |
//! | [`dispatcher`] | the side of the orchestrator |
//! | [`dispatched_tool`] | one sub-task as the call of a tool |
//! | [`worker`] | the side of the worker |
//! | [`worker_tools`] | what the workers of a system can do |
//! | [`worker_notice`] | what a worker tells of its work |

pub mod dispatched_tool;
pub mod dispatcher;
mod expected_result;
mod handled_ids;
pub mod message;
pub mod name;
mod result_inbox;
mod role_service;
mod role_tools;
pub mod worker;
pub mod worker_notice;
pub mod worker_tools;

use std::time::Duration;

use antiphon_runtime::queue::QueueSettings;

pub use dispatched_tool::SubTaskBrief;
pub use dispatcher::{RunDispatcher, SubTaskDispatcher};
pub use message::{SubTask, SubTaskResult, SubTaskStatus};
pub use name::sub_task_id;
pub use result_inbox::{DropReason, DroppedResult};
pub use worker::{SubTaskWorker, WorkerSettings, WorkerTally};
pub use worker_notice::{WorkerNotice, WorkerNoticeKind, WorkerWatch};
pub use worker_tools::{ToolsByRole, WorkerTools};

/// How often a lease that is held is extended: a few times in its length.
const EXTENSION: Duration = Duration::from_secs(3);

/// The settings of a queue of sub-tasks. Who works longer than the short lease extends it, and
/// what a dead worker had is soon given to another.
pub fn queue_settings() -> QueueSettings {
    QueueSettings { lease: Duration::from_secs(10), ..QueueSettings::default() }
}
