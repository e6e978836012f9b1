//! The side of the worker: takes sub-tasks of its roles, calls their tools, sends the results.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, ToolOutcome};
use antiphon_runtime::queue::{Delivery, MessageLease};
use antiphon_runtime::{CancellationToken, Clock, Queue, Tool};
use tokio::task::{JoinError, JoinSet};

use super::EXTENSION;
use super::handled_ids::{HandledIds, MessageProgress};
use super::message::{SubTask, SubTaskResult};
use super::name::task_topic;
use super::result_inbox::KEPT;
use super::role_tools::RoleTools;

/// How long one look for sub-tasks waits. It is not cut short when the worker is to stop: what a
/// server has sent already would go back, and what may be delivered once is dead then.
const LOOK: Duration = Duration::from_secs(1);
/// The pause after a failure of the queue.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a result waits for a place in its topic, and for the queue.
const RESULT_WAIT: Duration = Duration::from_mins(1);

/// How a worker works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    /// How many sub-tasks of a role it carries out at a time: 4.
    pub concurrency: NonZeroUsize,
    /// How long it finishes what it has begun once it is to stop: 30 seconds.
    pub drain: Duration,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        let concurrency = NonZeroUsize::MIN.saturating_add(3);
        Self { concurrency, drain: Duration::from_secs(30) }
    }
}

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerTally {
    /// Sub-tasks whose tool has returned a value.
    pub completed: u64,
    /// Sub-tasks whose result is a failure.
    pub failed: u64,
    /// Messages that were none, or whose sub-task was cancelled or went to another worker.
    pub dropped: u64,
}

/// Carries out the sub-tasks of some roles.
pub struct SubTaskWorker {
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
    settings: WorkerSettings,
    roles: BTreeMap<String, RoleTools>,
}

impl SubTaskWorker {
    /// A worker without roles.
    pub fn new(queue: Arc<dyn Queue>, settings: WorkerSettings, clock: Arc<dyn Clock>) -> Self {
        Self { queue, clock, settings, roles: BTreeMap::new() }
    }

    /// Gives it a role with these tools.
    ///
    /// # Errors
    /// `queue_message_invalid` for a name that no topic can have, `schema_invalid` for a tool.
    pub fn role(
        self,
        role: &str,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Self, Fault> {
        self.with(role, None, tools)
    }

    /// Gives a role the tools that work with the credentials of a profile.
    ///
    /// # Errors
    /// As [`SubTaskWorker::role`].
    pub fn profile(
        self,
        profile: &str,
        role: &str,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Self, Fault> {
        self.with(role, Some(profile), tools)
    }

    fn with(
        mut self,
        role: &str,
        profile: Option<&str>,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Self, Fault> {
        if task_topic(role).is_none() {
            let message = format!("the role of a worker is no name: {role}");
            return Err(Fault::new(FaultCode::QueueMessageInvalid, message)
                .hint("use letters, digits, `_`, `.` and `-`, at most 48"));
        }
        self.roles.entry(role.to_owned()).or_default().add(profile, tools)?;
        Ok(self)
    }

    /// Works until it is stopped. Then it takes nothing more, and finishes what it has begun; what
    /// it cannot finish in time goes to another worker.
    ///
    /// # Errors
    /// `queue_closed`. While the queue cannot be reached, the worker waits.
    pub async fn run(self, stop: CancellationToken) -> Result<WorkerTally, Fault> {
        let Self { queue, clock, settings, roles } = self;
        let mut serving = JoinSet::new();
        for (role, tools) in roles {
            let Some(topic) = task_topic(&role) else { continue };
            let (queue, clock) = (Arc::clone(&queue), Arc::clone(&clock));
            let service =
                RoleService { queue, clock, topic, tools, handled: HandledIds::default() };
            serving.spawn(serve(Arc::new(service), settings, stop.clone()));
        }
        let (mut tally, mut ended) = (WorkerTally::default(), Ok(()));
        while let Some(served) = serving.join_next().await {
            match served {
                Ok((one, end)) => {
                    tally.completed += one.completed;
                    tally.failed += one.failed;
                    tally.dropped += one.dropped;
                    ended = ended.and(end);
                }
                Err(error) => {
                    let message = format!("a worker has stopped by itself: {error}");
                    ended = ended.and(Err(Fault::new(FaultCode::HostIncomplete, message)));
                }
            }
        }
        ended.map(|()| tally)
    }
}

/// How one delivery ended.
enum DeliveryOutcome {
    Completed,
    Failed,
    Dropped,
}

impl WorkerTally {
    fn count(&mut self, handled: Option<&Result<DeliveryOutcome, JoinError>>) {
        match handled {
            Some(Ok(DeliveryOutcome::Completed)) => self.completed += 1,
            Some(Ok(DeliveryOutcome::Failed)) => self.failed += 1,
            Some(Ok(DeliveryOutcome::Dropped) | Err(_)) => self.dropped += 1,
            None => {}
        }
    }
}

/// One role of a worker at work.
struct RoleService {
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
    topic: String,
    tools: RoleTools,
    handled: HandledIds,
}

async fn serve(
    service: Arc<RoleService>,
    settings: WorkerSettings,
    stop: CancellationToken,
) -> (WorkerTally, Result<(), Fault>) {
    let (mut tally, mut working) = (WorkerTally::default(), JoinSet::new());
    let ended = loop {
        if stop.reason().is_some() {
            break Ok(());
        }
        let free = settings.concurrency.get().saturating_sub(working.len());
        if free == 0 {
            tally.count(working.join_next().await.as_ref());
            continue;
        }
        match service.queue.take(&service.topic, free, LOOK).await {
            Ok(deliveries) => {
                for delivery in deliveries {
                    working.spawn(Arc::clone(&service).handle(delivery));
                }
            }
            Err(fault) if fault.code == FaultCode::QueueClosed => break Err(fault),
            Err(_) => service.clock.sleep(PAUSE).await,
        }
        while let Some(handled) = working.try_join_next() {
            tally.count(Some(&handled));
        }
    };
    let finish = async {
        while let Some(handled) = working.join_next().await {
            tally.count(Some(&handled));
        }
    };
    tokio::select! {
        biased;
        () = finish => {}
        () = service.clock.sleep(settings.drain) => {}
    }
    (tally, ended)
}

impl RoleService {
    async fn handle(self: Arc<Self>, delivery: Delivery) -> DeliveryOutcome {
        let Delivery { message, attempt, lease, cancellation } = delivery;
        let task = match SubTask::read(&message) {
            Ok(task) => task,
            Err(fault) => {
                // A message that cannot be buried now comes again.
                let _ = lease.bury(&fault.message).await;
                return DeliveryOutcome::Dropped;
            }
        };
        match self.handled.begin(&message.id) {
            MessageProgress::New => {}
            // Its lease ends; by then the result is there.
            MessageProgress::UnderWay => return DeliveryOutcome::Dropped,
            MessageProgress::Done => {
                self.acknowledge(&*lease).await;
                return DeliveryOutcome::Dropped;
            }
        }
        let handled = tokio::select! {
            biased;
            () = cancellation.cancelled() => DeliveryOutcome::Dropped,
            handled = self.carry_out(&task, attempt) => handled,
            () = self.keep(&*lease) => DeliveryOutcome::Dropped,
        };
        match handled {
            DeliveryOutcome::Completed | DeliveryOutcome::Failed => self.acknowledge(&*lease).await,
            DeliveryOutcome::Dropped => {
                self.handled.abandon(&message.id);
                if self.tools.repeats(&task) {
                    // Without a lease any more, it is delivered again anyway.
                    let _ = lease.give_back(PAUSE).await;
                }
            }
        }
        handled
    }

    async fn carry_out(&self, task: &SubTask, attempt: u32) -> DeliveryOutcome {
        let outcome = self.tools.call(task, attempt, &self.clock).await;
        let handled =
            if outcome.is_ok() { DeliveryOutcome::Completed } else { DeliveryOutcome::Failed };
        if self.send(task, outcome).await.is_err() {
            return DeliveryOutcome::Dropped;
        }
        self.handled.finish(&task.message_id());
        handled
    }

    /// Once the result is sent. If the lease ends before that, another worker sends the same
    /// result, which is not added.
    async fn acknowledge(&self, lease: &dyn MessageLease) {
        while let Err(fault) = lease.acknowledge().await {
            if matches!(fault.code, FaultCode::QueueLeaseLost | FaultCode::QueueClosed) {
                return;
            }
            self.clock.sleep(PAUSE).await;
        }
    }

    /// Sends a result; that it is too large, if it is.
    async fn send(&self, task: &SubTask, outcome: ToolOutcome) -> Result<(), Fault> {
        match self.publish(task, task.result(outcome)).await {
            Err(fault) if fault.code == FaultCode::QueueMessageInvalid => {
                self.publish(task, task.result(Err(fault))).await
            }
            sent => sent,
        }
    }

    async fn publish(&self, task: &SubTask, result: SubTaskResult) -> Result<(), Fault> {
        let message = result.message(&task.result_topic, self.clock.now() + KEPT);
        self.queue.publish(message, RESULT_WAIT).await.map(|_| ())
    }

    /// Extends a lease until it is lost.
    async fn keep(&self, lease: &dyn MessageLease) {
        loop {
            self.clock.sleep(EXTENSION).await;
            match lease.extend().await {
                Err(fault) if fault.code == FaultCode::QueueLeaseLost => return,
                // A queue that cannot be reached now may be back before the lease ends.
                Ok(()) | Err(_) => {}
            }
        }
    }
}
