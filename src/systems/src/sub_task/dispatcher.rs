//! The side of the orchestrator: what sends sub-tasks and gets their results.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Clock, Queue, Tool};

use super::dispatched_tool::{DispatchedTool, SubTaskBrief};
use super::name::{result_topic, task_topic};
use super::result_inbox::{DroppedResult, InboxReader, ResultInbox};

/// Sends the sub-tasks of a system to its workers.
#[derive(Clone)]
pub struct SubTaskDispatcher {
    queue: Arc<dyn Queue>,
}

impl SubTaskDispatcher {
    /// Sends to the workers of a queue.
    pub fn new(queue: Arc<dyn Queue>) -> Self {
        Self { queue }
    }

    /// The dispatcher for one drive of a run; it begins to read with the first sub-task.
    pub fn open(&self) -> RunDispatcher {
        RunDispatcher { dispatcher: self.clone(), reader: Arc::default() }
    }
}

/// Sends the sub-tasks of one run. With its last clone it stops reading; what was sent and what
/// has come then waits in the queue for the drive that resumes the run.
#[derive(Clone)]
pub struct RunDispatcher {
    dispatcher: SubTaskDispatcher,
    reader: Arc<OnceLock<InboxReader>>,
}

impl RunDispatcher {
    /// A tool whose call is a sub-task: a worker calls `tool` for at most `timeout`, and a little
    /// more passes until its result is here. Approvals by the host are asked for here.
    pub fn tool(
        &self,
        tool: &Arc<dyn Tool>,
        brief: SubTaskBrief,
        timeout: Duration,
    ) -> Arc<dyn Tool> {
        Arc::new(DispatchedTool::new(self.clone(), tool, brief, timeout))
    }

    /// Acknowledges the results that calls have returned so far: the run has committed them.
    /// Returns what has come meanwhile and is of no use to anybody.
    pub async fn settle(&self) -> Vec<DroppedResult> {
        match self.reader.get() {
            Some(reader) => reader.inbox().settle().await,
            None => Vec::new(),
        }
    }

    /// The run has ended for good, and its last result is committed: the same, and nothing of the
    /// run stays in the queue. The dispatcher is of no use any more.
    pub async fn end(&self, run_id: &str) -> Vec<DroppedResult> {
        let dropped = match self.reader.get() {
            Some(reader) => reader.end().await,
            None => Vec::new(),
        };
        // What cannot be removed now ends with its deadline.
        let _ = self.queue().retire(&result_topic(run_id)).await;
        dropped
    }

    pub(super) fn queue(&self) -> &Arc<dyn Queue> {
        &self.dispatcher.queue
    }

    /// Whether anybody can be there to carry out sub-tasks of a role.
    pub(super) fn check_role(&self, role: &str) -> Result<(), Fault> {
        let has_consumer = task_topic(role).and_then(|topic| self.queue().has_consumer(&topic));
        if has_consumer != Some(false) {
            return Ok(());
        }
        let message = format!("no worker carries out sub-tasks of the role: {role}");
        Err(Fault::new(FaultCode::SubTaskNoWorker, message)
            .with("role", role)
            .hint("start a worker of the role, or give its steps to another one"))
    }

    /// The results of the run; reading begins with the first call.
    pub(super) fn inbox(&self, run_id: &str, clock: &Arc<dyn Clock>) -> &Arc<ResultInbox> {
        let open = || {
            let (queue, clock) = (Arc::clone(self.queue()), Arc::clone(clock));
            InboxReader::start(ResultInbox::new(queue, clock, result_topic(run_id)))
        };
        self.reader.get_or_init(open).inbox()
    }
}
