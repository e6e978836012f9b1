//! The pool of workers: spares that wait, and forks on demand. The pool's own thread, the
//! maintenance, starts zygotes, because a zygote dies with the thread that started it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use antiphon_runtime::sandbox::{SandboxLimits, WorkerOrigin};

use super::worker::Worker;
use super::zygote_process::ZygoteProcess;
use crate::granted_files::GrantedFiles;
use crate::spec::{EngineSettings, JailReport};
use crate::wire::WorkerRequest;

/// After so many failures in a row, only a new request causes another attempt.
const MAX_FAILURES: u32 = 3;
/// The most finished workers that may wait for the maintenance; a caller with another one ends it
/// itself.
const MOST_DONE: usize = 8;
/// How long a finished worker is left alone, unless the last spare was taken. To destroy a
/// process and fork another one often takes the very core on which the caller has just received
/// the result, for longer than the job took.
const LINGER: Duration = Duration::from_millis(1);

/// Decides whether a zygote may be used.
pub(super) type ReportCheck = Box<dyn Fn(&JailReport) -> Result<(), String> + Send + Sync>;

/// A zygote and its spares. Dropping it ends both.
pub(super) struct WorkerPool {
    process: u32,
    shared: Arc<SharedPool>,
    maintenance: Mutex<Option<JoinHandle<()>>>,
}

struct SharedPool {
    settings: EngineSettings,
    limits: SandboxLimits,
    shown: GrantedFiles,
    verdict: ReportCheck,
    state: Mutex<PoolState>,
    changed: Condvar,
}

#[derive(Default)]
struct PoolState {
    parent: Option<Arc<ZygoteProcess>>,
    /// All zygotes that were started; each worker holds a reference to its own.
    started: Vec<Weak<ZygoteProcess>>,
    spares: VecDeque<Worker>,
    /// Finished workers that are to be ended.
    done: Vec<Worker>,
    /// When the last of them finished.
    last: Option<Instant>,
    /// The maintenance is doing slow work without the lock.
    is_away: bool,
    /// A caller waits for a worker and has not been refused yet.
    wanted: bool,
    failures: u32,
    failed: Option<String>,
    /// Why there will be no more workers.
    closed: Option<&'static str>,
}

impl WorkerPool {
    /// A pool that starts with the first request.
    pub(super) fn new(
        settings: EngineSettings,
        limits: SandboxLimits,
        shown: GrantedFiles,
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
        let maintenance = thread::Builder::new()
            .name("antiphon-sandbox".to_owned())
            .spawn(move || keep(&works_for))
            .ok();
        if maintenance.is_none() {
            shared.lock().closed = Some("no thread could be started");
        }
        Self { process: std::process::id(), shared, maintenance: Mutex::new(maintenance) }
    }

    /// A worker, and how it was obtained.
    pub(super) fn take(&self, request: WorkerRequest) -> Result<(Worker, WorkerOrigin), String> {
        if request == WorkerRequest::Job
            && let Some(spare) = self.shared.spare()
        {
            return Ok((spare, WorkerOrigin::Spare));
        }
        // The zygote may have died unnoticed.
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
    /// Accepts a finished worker, to end it and wait for it.
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

    /// Ends every zygote, and with it all workers. Returns when they are gone; there will be no
    /// others.
    pub(super) fn close(&self) {
        let mut maintenance = self.maintenance.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.lock().closed = Some("the sandbox is closed");
        self.shared.changed.notify_all();
        if let Some(maintenance) = maintenance.take() {
            // The maintenance ends its zygotes when it ends; it does not panic.
            let _ = maintenance.join();
        }
    }

    /// Ends a worker and waits for it.
    pub(super) fn end(&self, worker: Worker) {
        drop(worker);
        self.shared.changed.notify_all();
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // A fork does not have this thread, and another one may have its id.
            let maintenance = self.maintenance.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(maintenance.take());
            return;
        }
        self.close();
    }
}

impl PoolState {
    /// Whether a spare must be forked now. While one is left, finished workers are ended
    /// first.
    fn lacks(&self, spares: usize) -> bool {
        let is_urgent = self.spares.is_empty() || self.done.is_empty();
        is_urgent && self.spares.len() < spares && self.failures < MAX_FAILURES
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
            // A fork would take a core from the job that has just begun; while another spare is
            // left, it waits until the job has ended.
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

    /// The zygote, started if none is usable.
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

    /// Stops using a zygote.
    fn give_up(&self, parent: &Arc<ZygoteProcess>) {
        let mut state = self.lock();
        if state.parent.as_ref().is_some_and(|known| Arc::ptr_eq(known, parent)) {
            state.parent = None;
            // The maintenance holds a reference while it waits.
            self.changed.notify_all();
        }
    }
}

/// The maintenance's loop: starts a zygote when one is needed, keeps spares while there is one, and
/// ends both.
fn keep(shared: &Arc<SharedPool>) {
    let mut state = shared.lock();
    while state.closed.is_none() {
        state = match state.parent.clone() {
            None if state.wanted => start(shared, state),
            Some(parent) if parent.is_worn() || !parent.is_fit() => {
                // Its workers hold references until they are done.
                state.parent = None;
                // A zygote that has died is restarted only when it is needed.
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
    // Runs and sessions may still hold workers, and through them their zygotes.
    started.iter().filter_map(Weak::upgrade).for_each(|parent| parent.end());
    drop(rest);
}

/// Releases the lock for slow work. Workers that finish meanwhile are killed at once.
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

/// Ends finished workers, once they have lingered.
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
