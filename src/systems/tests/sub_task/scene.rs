//! A queue, an orchestrator's side, tools that count their calls, and workers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_core::tool::SideEffect;
use antiphon_core::{Time, ToolOutcome, ToolSpec};
use antiphon_queue::MemoryQueue;
use antiphon_runtime::queue::QueueSettings;
use antiphon_runtime::{CallContext, CancellationToken, Clock, ManualClock, Queue, Tool};
use antiphon_systems::sub_task::name::task_topic;
use antiphon_systems::sub_task::{
    RunDispatcher, SubTaskBrief, SubTaskDispatcher, SubTaskWorker, WorkerSettings, WorkerTally,
    queue_settings, sub_task_id,
};
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use tokio::task::JoinHandle;

pub(crate) const ROLE: &str = "ResearchAgent";
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

type Reply = dyn Fn(Json) -> ToolOutcome + Send + Sync;

/// A tool that counts, and replies after some time of its clock.
pub(crate) struct CountingTool {
    spec: ToolSpec,
    pub(crate) started: AtomicUsize,
    pub(crate) ended: AtomicUsize,
    pub(crate) most: AtomicUsize,
    /// How the task stood, as each call was told.
    pub(crate) told: Mutex<Vec<Option<Arc<str>>>>,
    delay: Duration,
    reply: Box<Reply>,
}

impl CountingTool {
    pub(crate) fn new(reply: impl Fn(Json) -> ToolOutcome + Send + Sync + 'static) -> Self {
        let parameters = json!({"type": "object", "properties": {"number": {"type": "integer"}}});
        let mut spec = ToolSpec::new("double", "Doubles a number.", parameters);
        spec.side_effect = SideEffect::Read;
        let (started, ended, most, told) = Default::default();
        Self { spec, started, ended, most, told, delay: Duration::ZERO, reply: Box::new(reply) }
    }

    /// Doubles the number that it is given.
    pub(crate) fn doubling() -> Self {
        Self::new(|input| Ok(json!(input["number"].as_i64().unwrap() * 2)))
    }

    pub(crate) fn slow(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// It must not be called twice.
    pub(crate) fn external(mut self) -> Self {
        self.spec.side_effect = SideEffect::External;
        self
    }

    pub(crate) fn calls(&self) -> (usize, usize) {
        (self.started.load(Ordering::SeqCst), self.ended.load(Ordering::SeqCst))
    }
}

#[async_trait]
impl Tool for CountingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let under_way = self.started.fetch_add(1, Ordering::SeqCst) + 1 - self.calls().1;
        self.most.fetch_max(under_way, Ordering::SeqCst);
        self.told.lock().unwrap().push(cx.context_summary.clone());
        if !self.delay.is_zero() {
            cx.clock.sleep(self.delay).await;
        }
        let outcome = (self.reply)(arguments);
        self.ended.fetch_add(1, Ordering::SeqCst);
        outcome
    }
}

/// A queue and its time.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Scene {
    /// A queue in memory, in a time that a test moves.
    pub(crate) fn memory(settings: QueueSettings) -> (Self, Arc<ManualClock>) {
        let manual = Arc::new(ManualClock::at(Time::from_micros(1_000_000)));
        let clock: Arc<dyn Clock> = manual.clone();
        let queue = Arc::new(MemoryQueue::new(settings, clock.clone()));
        // Tests take messages of the role themselves, too.
        std::mem::forget(queue.register_consumer(&task_topic(ROLE).unwrap()));
        (Self { queue, clock }, manual)
    }

    pub(crate) fn new() -> (Self, Arc<ManualClock>) {
        Self::memory(queue_settings())
    }

    pub(crate) fn run(&self) -> RunDispatcher {
        SubTaskDispatcher::new(self.queue.clone()).open()
    }

    /// The call of a tool by a worker, as a step of a run.
    pub(crate) fn call(
        &self,
        run: &RunDispatcher,
        tool: &Arc<CountingTool>,
        brief: SubTaskBrief,
        number: i64,
    ) -> JoinHandle<ToolOutcome> {
        let tool: Arc<dyn Tool> = tool.clone();
        let dispatched = run.tool(&tool, brief, TIMEOUT);
        let cx = CallContext::new(self.clock.clone());
        tokio::spawn(async move { dispatched.call(json!({"number": number}), &cx).await })
    }

    pub(crate) fn worker(&self, tool: &Arc<CountingTool>) -> SubTaskWorker {
        self.worker_with(tool, WorkerSettings::default())
    }

    pub(crate) fn worker_with(
        &self,
        tool: &Arc<CountingTool>,
        settings: WorkerSettings,
    ) -> SubTaskWorker {
        let worker = SubTaskWorker::new(self.queue.clone(), settings, self.clock.clone());
        worker.role(ROLE, [tool.clone() as Arc<dyn Tool>]).unwrap()
    }
}

/// A worker at work.
pub(crate) struct RunningWorker {
    stop: CancellationToken,
    working: JoinHandle<WorkerTally>,
}

impl RunningWorker {
    pub(crate) fn begin(worker: SubTaskWorker) -> Self {
        let stop = CancellationToken::new();
        let until = stop.clone();
        let working = tokio::spawn(async move { worker.run(until).await.unwrap() });
        Self { stop, working }
    }

    /// Ends it as the end of its process would.
    pub(crate) async fn kill(self) {
        self.working.abort();
        assert!(self.working.await.unwrap_err().is_cancelled());
    }

    pub(crate) fn ask_to_stop(&self) {
        self.stop.cancel("for a test");
    }

    pub(crate) async fn stopped(self) -> WorkerTally {
        self.ask_to_stop();
        self.working.await.unwrap()
    }

    /// The same in a time that a test moves.
    pub(crate) async fn stopped_in(self, clock: &ManualClock) -> WorkerTally {
        self.ask_to_stop();
        pass_until(clock, || self.working.is_finished()).await;
        self.working.await.unwrap()
    }
}

pub(crate) fn brief(run_id: &str, step_id: &str) -> SubTaskBrief {
    SubTaskBrief {
        sub_task_id: sub_task_id(run_id, 1, step_id),
        run_id: run_id.to_owned(),
        parent_task_id: "the task".to_owned(),
        role: ROLE.to_owned(),
        step_id: step_id.to_owned(),
        narrative_step: "double it".to_owned(),
        context_summary: None,
        key_profile: None,
        attempt: 1,
    }
}

/// Lets others go on until something holds.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if holds() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never held");
}

/// Moves time in small steps, and lets others go on in each, until something holds.
pub(crate) async fn pass_until(clock: &ManualClock, holds: impl Fn() -> bool) {
    for _ in 0..1_000 {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        if holds() {
            return;
        }
        clock.advance(Duration::from_millis(500));
    }
    panic!("it never held");
}
