//! What is asked of the thread that owns a file, until it gets there.
//!
//! Work that somebody waits for wakes the thread. Other work is put off for a
//! moment, until there is more of it: a thread that wakes for each piece alone
//! costs more than the piece, and may take the core of whoever has asked.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many pieces of work are put off no longer. Whoever puts in the last of them
/// may lose its core to the one it wakes: the delay should come first.
const ENOUGH: usize = 512;

/// Whether work can be put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlushMode {
    /// Somebody waits for it.
    Now,
    /// Nobody waits for it yet.
    Soon,
}

/// The end that work is put into. Once it is dropped and all is done, the other
/// one is told so.
pub(super) struct Producer<J>(Arc<JobQueue<J>>);

/// The end of the thread that does the work. What is left when it is dropped is
/// dropped too.
pub(super) struct Consumer<J> {
    queue: Arc<JobQueue<J>>,
    /// What was taken out of it: nobody who puts something in waits meanwhile.
    taken: VecDeque<J>,
}

struct JobQueue<J> {
    state: Mutex<QueueState<J>>,
    news: Condvar,
    delay: Duration,
}

struct QueueState<J> {
    jobs: VecDeque<J>,
    /// What is there is to be done now.
    due: bool,
    doer: ConsumerState,
    closed: bool,
}

/// What the consumer does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConsumerState {
    Work,
    /// It does what can be put off.
    Rest,
    /// It waits for anything.
    Sleep,
    /// It waits for something that is due, or until what is there is.
    Doze,
}

/// Both ends of a queue that puts work off for up to `delay`.
pub(super) fn queue<J>(delay: Duration) -> (Producer<J>, Consumer<J>) {
    let state =
        QueueState { jobs: VecDeque::new(), due: false, doer: ConsumerState::Work, closed: false };
    let queue = Arc::new(JobQueue { state: Mutex::new(state), news: Condvar::new(), delay });
    (Producer(Arc::clone(&queue)), Consumer { queue, taken: VecDeque::new() })
}

impl<J> JobQueue<J> {
    fn lock(&self) -> MutexGuard<'_, QueueState<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the consumer, if it waits for what has changed.
    fn announce(&self, state: MutexGuard<'_, QueueState<J>>) {
        let wakes = match state.doer {
            ConsumerState::Work | ConsumerState::Rest => false,
            ConsumerState::Sleep => true,
            ConsumerState::Doze => state.due || state.closed,
        };
        // It would only wait for the lock.
        drop(state);
        if wakes {
            self.news.notify_one();
        }
    }
}

impl<J> Producer<J> {
    /// Puts work in. Once the consumer is gone, it is dropped.
    pub(super) fn put(&self, job: J, haste: FlushMode) {
        let mut state = self.0.lock();
        if state.closed {
            drop(state);
            return drop(job);
        }
        state.jobs.push_back(job);
        state.due |= haste == FlushMode::Now || state.jobs.len() >= ENOUGH;
        self.0.announce(state);
    }

    /// Whether everything is done that somebody has asked for.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.0.lock();
        let is_free = matches!(state.doer, ConsumerState::Sleep | ConsumerState::Rest);
        state.jobs.is_empty() && is_free && !state.closed
    }

    /// Lets the consumer rest once more, if it does nothing else.
    pub(super) fn nudge(&self) {
        self.0.announce(self.0.lock());
    }
}

impl<J> Drop for Producer<J> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        self.0.announce(state);
    }
}

impl<J> Consumer<J> {
    /// What is to be done next, once it is due; nothing if nobody can ask any
    /// more. `rest` is called whenever nothing is left to do.
    pub(super) fn next(&mut self, mut rest: impl FnMut()) -> Option<J> {
        if let Some(job) = self.taken.pop_front() {
            return Some(job);
        }
        let JobQueue { news, delay, .. } = &*self.queue;
        let (mut rested, mut until) = (false, None);
        let mut state = self.queue.lock();
        loop {
            if state.jobs.is_empty() {
                if state.closed {
                    return None;
                }
                if !std::mem::replace(&mut rested, true) {
                    state.doer = ConsumerState::Rest;
                    drop(state);
                    rest();
                    state = self.queue.lock();
                    state.doer = ConsumerState::Work;
                    continue;
                }
                rested = false;
                state.doer = ConsumerState::Sleep;
                state = news.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                let now = Instant::now();
                let until = *until.get_or_insert(now + *delay);
                if state.due || state.closed || now >= until {
                    drop(state);
                    return self.more();
                }
                state.doer = ConsumerState::Doze;
                let waited = news.wait_timeout(state, until - now);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            state.doer = ConsumerState::Work;
        }
    }

    /// What else there is, due or not.
    pub(super) fn more(&mut self) -> Option<J> {
        if self.taken.is_empty() {
            let mut state = self.queue.lock();
            // What comes later can be put off again.
            state.due = false;
            std::mem::swap(&mut state.jobs, &mut self.taken);
        }
        self.taken.pop_front()
    }
}

impl<J> Drop for Consumer<J> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.closed = true;
        let left = std::mem::take(&mut state.jobs);
        drop(state);
        // Whoever waits for it may ask for something else.
        drop(left);
    }
}
