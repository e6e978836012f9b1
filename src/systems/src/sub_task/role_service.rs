//! A role of a worker at work: takes sub-tasks, calls their tools, sends the results.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, ToolOutcome};
use antiphon_runtime::queue::{Delivery, MessageLease};
use antiphon_runtime::{CancellationToken, Clock, Queue};
use tokio::task::{JoinError, JoinSet};

use super::EXTENSION;
use super::handled_ids::{HandledIds, MessageProgress};
use super::message::{SubTask, SubTaskResult};
use super::result_inbox::KEPT;
use super::role_tools::{RoleTools, unknown_outcome};
use super::worker::{WorkerSettings, WorkerTally};
use super::worker_notice::{WorkerNotice, WorkerNoticeKind, WorkerWatch};

/// How long one look for sub-tasks waits. It is not cut short when the worker is to stop: what a
/// server has sent already would go back, and what may be delivered once is dead then.
const LOOK: Duration = Duration::from_millis(500);
/// The pause after a failure of the queue.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a result waits for a place in its topic, and for the queue.
const RESULT_WAIT: Duration = Duration::from_mins(1);

/// How one delivery ended.
enum DeliveryOutcome {
    Completed,
    Failed(Fault),
    Dropped,
    GivenBack,
}

impl WorkerTally {
    fn count(&mut self, handled: Option<&Result<DeliveryOutcome, JoinError>>) {
        match handled {
            Some(Ok(DeliveryOutcome::Completed)) => self.completed += 1,
            Some(Ok(DeliveryOutcome::Failed(_))) => self.failed += 1,
            Some(Ok(DeliveryOutcome::Dropped | DeliveryOutcome::GivenBack) | Err(_)) => {
                self.dropped += 1;
            }
            None => {}
        }
    }
}

/// One role of a worker at work.
pub(super) struct RoleService {
    pub(super) queue: Arc<dyn Queue>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) role: String,
    pub(super) topic: String,
    pub(super) tools: RoleTools,
    pub(super) handled: HandledIds,
    pub(super) watch: Arc<dyn WorkerWatch>,
    /// Once it is cancelled, what is under way is given back.
    pub(super) give_up: CancellationToken,
}

/// Takes and carries out sub-tasks until it is stopped.
pub(super) async fn serve(
    service: Arc<RoleService>,
    settings: WorkerSettings,
    stop: CancellationToken,
) -> (WorkerTally, Result<(), Fault>) {
    let (mut tally, mut working) = (WorkerTally::default(), JoinSet::new());
    let mut is_lost = false;
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
                if std::mem::take(&mut is_lost) {
                    let notice =
                        WorkerNotice::about_queue(WorkerNoticeKind::QueueBack, &service.role);
                    service.watch.see(notice);
                }
                for delivery in deliveries {
                    working.spawn(Arc::clone(&service).handle(delivery));
                }
            }
            Err(fault) if fault.code == FaultCode::QueueClosed => break Err(fault),
            Err(fault) => {
                if !std::mem::replace(&mut is_lost, true) {
                    let notice =
                        WorkerNotice::about_queue(WorkerNoticeKind::QueueLost, &service.role);
                    service.watch.see(WorkerNotice { fault: Some(fault), ..notice });
                }
                service.clock.sleep(PAUSE).await;
            }
        }
        while let Some(handled) = working.try_join_next() {
            tally.count(Some(&handled));
        }
    };
    let overdue = async {
        service.clock.sleep(settings.drain).await;
        service.give_up.cancel("the worker stops");
        std::future::pending::<()>().await;
    };
    let finish = async {
        while let Some(handled) = working.join_next().await {
            tally.count(Some(&handled));
        }
    };
    tokio::select! {
        biased;
        () = finish => {}
        () = overdue => {}
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
        let started = self.clock.now();
        self.tell(WorkerNotice::of(WorkerNoticeKind::Started, &task));
        let handled = tokio::select! {
            biased;
            () = cancellation.cancelled() => DeliveryOutcome::Dropped,
            handled = self.carry_out(&task, attempt) => handled,
            () = self.keep(&*lease) => DeliveryOutcome::Dropped,
            () = self.give_up.cancelled() => self.leave(&task).await,
        };
        match &handled {
            DeliveryOutcome::Completed | DeliveryOutcome::Failed(_) => {
                self.acknowledge(&*lease).await;
            }
            DeliveryOutcome::Dropped | DeliveryOutcome::GivenBack => {
                self.handled.abandon(&message.id);
                if self.tools.repeats(&task) {
                    // Not to this worker, which may still look for sub-tasks.
                    let delay = LOOK + PAUSE;
                    // Without a lease any more, it is delivered again anyway.
                    let _ = lease.give_back(delay).await;
                }
            }
        }
        let (kind, fault) = match &handled {
            DeliveryOutcome::Completed => (WorkerNoticeKind::Completed, None),
            DeliveryOutcome::Failed(fault) => (WorkerNoticeKind::Failed, Some(fault.clone())),
            DeliveryOutcome::Dropped => (WorkerNoticeKind::Dropped, None),
            DeliveryOutcome::GivenBack => (WorkerNoticeKind::GivenBack, None),
        };
        let took = self.clock.now().since(started);
        self.tell(WorkerNotice { took, fault, ..WorkerNotice::of(kind, &task) });
        handled
    }

    fn tell(&self, notice: WorkerNotice) {
        self.watch.see(notice);
    }

    /// Does not finish a sub-task: another worker does, unless its tool must not be called twice.
    async fn leave(&self, task: &SubTask) -> DeliveryOutcome {
        if self.tools.repeats(task) {
            return DeliveryOutcome::GivenBack;
        }
        let fault = unknown_outcome(&task.tool_name);
        match self.send(task, Err(fault.clone())).await {
            Ok(()) => DeliveryOutcome::Failed(fault),
            Err(_) => DeliveryOutcome::Dropped,
        }
    }

    async fn carry_out(&self, task: &SubTask, attempt: u32) -> DeliveryOutcome {
        let outcome = self.tools.call(task, attempt, &self.clock).await;
        let handled = match &outcome {
            Ok(_) => DeliveryOutcome::Completed,
            Err(fault) => DeliveryOutcome::Failed(fault.clone()),
        };
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
