//! Where workers come from: spares that wait, or forks on demand. A thread of
//! the pool's own starts zygotes, because they die with whoever started them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use antiphon_runtime::sandbox::{SandboxLimits, WorkerOrigin};

use super::worker::Worker;
use super::zygote_process::ZygoteProcess;
use crate::shown::Shown;
use crate::spec::{EngineSettings, JailReport};
use crate::wire::WorkerRequest;

/// Failures in a row, after which only a new demand makes another attempt.
const PATIENCE: u32 = 3;
/// Workers done that may wait for the keeper; whoever has another waits itself.
const MOST_DONE: usize = 8;
/// How long a worker that is done is left alone, unless the last spare is taken.
/// Taking a process apart, and forking another, often gets the very processor on
/// which somebody has just got the result, and keeps it for longer than the job did.
const LINGER: Duration = Duration::from_millis(1);

/// What decides whether a zygote may be used.
pub(super) type ReportCheck = Box<dyn Fn(&JailReport) -> Result<(), String> + Send + Sync>;

/// A zygote with its spares. Dropping it ends both.
pub(super) struct WorkerPool {
    process: u32,
    shared: Arc<SharedPool>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

struct SharedPool {
    settings: EngineSettings,
    limits: SandboxLimits,
    shown: Shown,
    verdict: ReportCheck,
    state: Mutex<PoolState>,
    changed: Condvar,
}

#[derive(Default)]
struct PoolState {
    parent: Option<Arc<ZygoteProcess>>,
    /// All that have been started; a worker keeps the one that it came from.
    started: Vec<Weak<ZygoteProcess>>,
    spares: VecDeque<Worker>,
    /// Workers that have no job any more, and are to be ended.
    done: Vec<Worker>,
    /// When the last of them was done.
    last: Option<Instant>,
    /// The keeper is at something that takes its time.
    is_away: bool,
    /// Somebody wants a worker, and nobody has been told yet that there is none.
    wanted: bool,
    failures: u32,
    failed: Option<String>,
    /// Why there will be no workers any more.
    closed: Option<&'static str>,
}

impl WorkerPool {
    /// A pool that starts when it is first asked.
    pub(super) fn new(
        settings: EngineSettings,
        limits: SandboxLimits,
        shown: Shown,
        verdict: ReportCheck,
    ) -> Self {
        let shared = Arc::new(SharedPool {
            settings,
            limits,
            shown,
            verdict,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let works_for = Arc::clone(&shared);
        let keeper = thread::Builder::new()
            .name("antiphon-sandbox".to_owned())
            .spawn(move || keep(&works_for))
            .ok();
        if keeper.is_none() {
            shared.lock().closed = Some("no thread could be started");
        }
        Self { process: std::process::id(), shared, keeper: Mutex::new(keeper) }
    }

    /// A worker, and where it came from.
    pub(super) fn take(&self, request: WorkerRequest) -> Result<(Worker, WorkerOrigin), String> {
        if request == WorkerRequest::Job
            && let Some(spare) = self.shared.spare()
        {
            return Ok((spare, WorkerOrigin::Spare));
        }
        // A zygote may have died since it was last seen.
        let mut last = String::new();
        for _ in 0..2 {
            let (parent, start) = self.shared.parent()?;
            match parent.fork(request) {
                Ok(mut worker) => {
                    worker.parent = Some(parent);
                    return Ok((worker, start));
                }
                Err(error) => last = error.to_string(),
            }
            self.shared.give_up(&parent);
        }
        Err(format!("no worker could be forked: {last}"))
    }
}

impl WorkerPool {
    /// Takes a worker that is done, to end it and to wait until it is gone.
    pub(super) fn retire(&self, worker: Worker) {
        let mut state = self.shared.lock();
        if state.closed.is_none() && state.done.len() < MOST_DONE {
            if state.is_away {
                worker.kill();
            }
            state.done.push(worker);
            state.last = Some(Instant::now());
            drop(state);
            self.shared.changed.notify_all();
        } else {
            drop(state);
            self.end(worker);
        }
    }

    /// Ends every zygote, and with it all workers, whoever has them. Returns when they are
    /// gone; there will be no others.
    pub(super) fn close(&self) {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.lock().closed = Some("the sandbox is closed");
        self.shared.changed.notify_all();
        if let Some(keeper) = keeper.take() {
            // It has ended what is ours when it ends; it does not panic.
            let _ = keeper.join();
        }
    }

    /// Ends a worker, and waits until it is gone.
    pub(super) fn end(&self, worker: Worker) {
        drop(worker);
        self.shared.changed.notify_all();
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // In a fork there is no such thread, and another may have its name.
            let keeper = self.keeper.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(keeper.take());
            return;
        }
        self.close();
    }
}

impl PoolState {
    /// Whether a spare is to be forked now. While one is left, what is done goes first.
    fn lacks(&self, spares: usize) -> bool {
        let is_urgent = self.spares.is_empty() || self.done.is_empty();
        is_urgent && self.spares.len() < spares && self.failures < PATIENCE
    }
}

impl SharedPool {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A spare that is still alive.
    fn spare(&self) -> Option<Worker> {
        loop {
            let mut state = self.lock();
            let spare = state.spares.pop_front()?;
            // A fork takes a processor from the job that has just begun; while
            // another spare is left it can wait until that has ended.
            let is_last = state.spares.is_empty();
            drop(state);
            if is_last {
                self.changed.notify_all();
            }
            if spare.is_alive() {
                return Some(spare);
            }
        }
    }

    /// The zygote, started if there is none that can go on.
    fn parent(&self) -> Result<(Arc<ZygoteProcess>, WorkerOrigin), String> {
        let mut start = WorkerOrigin::Fork;
        let mut state = self.lock();
        state.failures = 0;
        loop {
            if let Some(why) = state.closed {
                return Err(why.to_owned());
            }
            if let Some(parent) = state.parent.clone().filter(|parent| parent.is_fit()) {
                self.changed.notify_all();
                return Ok((parent, start));
            }
            start = WorkerOrigin::Cold;
            state.parent = None;
            state.wanted = true;
            state.failed = None;
            self.changed.notify_all();
            state = self
                .changed
                .wait_while(state, |state| {
                    state.parent.is_none() && state.failed.is_none() && state.closed.is_none()
                })
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(failed) = &state.failed {
                return Err(failed.clone());
            }
        }
    }

    /// Does not use a zygote any more.
    fn give_up(&self, parent: &Arc<ZygoteProcess>) {
        let mut state = self.lock();
        if state.parent.as_ref().is_some_and(|known| Arc::ptr_eq(known, parent)) {
            state.parent = None;
            // The keeper holds on to it while it waits.
            self.changed.notify_all();
        }
    }
}

/// The life of the keeper: a zygote when one is wanted, spares while there is
/// one, and an end to both.
fn keep(shared: &Arc<SharedPool>) {
    let mut state = shared.lock();
    while state.closed.is_none() {
        state = match state.parent.clone() {
            None if state.wanted => start(shared, state),
            Some(parent) if parent.is_worn() || !parent.is_fit() => {
                // Its workers hold on to it until they are done.
                state.parent = None;
                // One that has died is not started again before it is needed.
                state.wanted |= parent.is_fit();
                let spares = std::mem::take(&mut state.spares);
                away(shared, state, || drop((spares, parent))).0
            }
            Some(parent) if state.lacks(shared.settings.spares) => refill(shared, state, &parent),
            _ if !state.done.is_empty() => clear(shared, state),
            _ => shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
    }
    let workers = (std::mem::take(&mut state.spares), std::mem::take(&mut state.done));
    let rest = (workers, state.parent.take());
    let started = std::mem::take(&mut state.started);
    drop(state);
    shared.changed.notify_all();
    // Their workers may be in the hands of runs and sessions, which keep them.
    started.iter().filter_map(Weak::upgrade).for_each(|parent| parent.end());
    drop(rest);
}

/// Lets go of the state for work that takes its time. Workers that are done before
/// it is over are killed at once.
fn away<'a, T>(
    shared: &'a SharedPool,
    mut state: MutexGuard<'_, PoolState>,
    work: impl FnOnce() -> T,
) -> (MutexGuard<'a, PoolState>, T) {
    state.is_away = true;
    state.done.iter().for_each(Worker::kill);
    drop(state);
    let made = work();
    let mut state = shared.lock();
    state.is_away = false;
    (state, made)
}

fn start<'a>(
    shared: &'a SharedPool,
    state: MutexGuard<'_, PoolState>,
) -> MutexGuard<'a, PoolState> {
    let (mut state, started) = away(shared, state, || {
        let is_closed = || shared.lock().closed.is_some();
        ZygoteProcess::start(&shared.settings, &shared.limits, &shared.shown, &is_closed)
            .and_then(|parent| (shared.verdict)(&parent.report).map(|()| parent))
    });
    state.wanted = false;
    match started {
        Ok(parent) => {
            let parent = Arc::new(parent);
            state.started.retain(|one| one.strong_count() > 0);
            state.started.push(Arc::downgrade(&parent));
            state.parent = Some(parent);
        }
        Err(why) => state.failed = Some(why),
    }
    shared.changed.notify_all();
    state
}

fn refill<'a>(
    shared: &'a SharedPool,
    state: MutexGuard<'_, PoolState>,
    parent: &Arc<ZygoteProcess>,
) -> MutexGuard<'a, PoolState> {
    let (mut state, forked) = away(shared, state, || parent.fork(WorkerRequest::Spare));
    match forked {
        Ok(mut spare) => {
            spare.parent = Some(Arc::clone(parent));
            state.failures = 0;
            state.spares.push_back(spare);
        }
        Err(_) => state.failures += 1,
    }
    state
}

/// Waits until what is done is gone, but not before it has lingered.
fn clear<'a>(
    shared: &'a SharedPool,
    mut state: MutexGuard<'a, PoolState>,
) -> MutexGuard<'a, PoolState> {
    let since = state.last.map_or(LINGER, |last| last.elapsed());
    if let Some(left) = LINGER.checked_sub(since).filter(|left| !left.is_zero()) {
        let waited = shared.changed.wait_timeout(state, left);
        return waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    let done = std::mem::take(&mut state.done);
    done.iter().for_each(Worker::kill);
    away(shared, state, || drop(done)).0
}
