//! The queue of the writer thread.
//!
//! Work that somebody waits for wakes the thread. Other work is delayed until there is more of
//! it: a thread that wakes for each piece costs more than the piece, and may take the core from
//! the caller.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many pieces of work are not delayed any longer. It is large, because the producer of the
/// last one may lose its core to the thread: the delay should end first.
const ENOUGH: usize = 512;

/// Whether work may be delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlushMode {
    /// Somebody waits for it.
    Now,
    /// Nobody waits for it yet.
    Soon,
}

/// The producing end. When it is dropped and all work is done, the consumer is notified.
pub(super) struct Producer<J>(Arc<JobQueue<J>>);

/// The consuming end. Work that is left when it is dropped is dropped too.
pub(super) struct Consumer<J> {
    queue: Arc<JobQueue<J>>,
    /// Work that was taken out of the queue in one go, so that producers do not wait for the
    /// lock.
    taken: VecDeque<J>,
}

struct JobQueue<J> {
    state: Mutex<QueueState<J>>,
    news: Condvar,
    delay: Duration,
}

struct QueueState<J> {
    jobs: VecDeque<J>,
    /// Whether the queued work is due.
    due: bool,
    consumer: ConsumerState,
    closed: bool,
}

/// The state of the consumer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConsumerState {
    Work,
    /// It does optional work in the meantime.
    Rest,
    /// It waits for any work.
    Sleep,
    /// It waits until work is due.
    Doze,
}

/// Both ends of a queue that delays work for up to `delay`.
pub(super) fn queue<J>(delay: Duration) -> (Producer<J>, Consumer<J>) {
    let state = QueueState {
        jobs: VecDeque::new(),
        due: false,
        consumer: ConsumerState::Work,
        closed: false,
    };
    let queue = Arc::new(JobQueue { state: Mutex::new(state), news: Condvar::new(), delay });
    (Producer(Arc::clone(&queue)), Consumer { queue, taken: VecDeque::new() })
}

impl<J> JobQueue<J> {
    fn lock(&self) -> MutexGuard<'_, QueueState<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the consumer if it waits for the new state.
    fn announce(&self, state: MutexGuard<'_, QueueState<J>>) {
        let wakes = match state.consumer {
            ConsumerState::Work | ConsumerState::Rest => false,
            ConsumerState::Sleep => true,
            ConsumerState::Doze => state.due || state.closed,
        };
        // Unlocked first, or the consumer would wake only to wait for the lock.
        drop(state);
        if wakes {
            self.news.notify_one();
        }
    }
}

impl<J> Producer<J> {
    /// Puts work in. If the consumer is gone, the work is dropped.
    pub(super) fn put(&self, job: J, flush_mode: FlushMode) {
        let mut state = self.0.lock();
        if state.closed {
            drop(state);
            return drop(job);
        }
        state.jobs.push_back(job);
        state.due |= flush_mode == FlushMode::Now || state.jobs.len() >= ENOUGH;
        self.0.announce(state);
    }

    /// Whether all work that somebody waits for is done.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.0.lock();
        let is_free = matches!(state.consumer, ConsumerState::Sleep | ConsumerState::Rest);
        state.jobs.is_empty() && is_free && !state.closed
    }

    /// Lets an idle consumer call `rest` once more.
    pub(super) fn request_rest(&self) {
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
    /// The next work, once it is due; `None` once the producer is gone and the queue is empty.
    /// `rest` is called when nothing is left to do.
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
                    state.consumer = ConsumerState::Rest;
                    drop(state);
                    rest();
                    state = self.queue.lock();
                    state.consumer = ConsumerState::Work;
                    continue;
                }
                rested = false;
                state.consumer = ConsumerState::Sleep;
                state = news.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                let now = Instant::now();
                let until = *until.get_or_insert(now + *delay);
                if state.due || state.closed || now >= until {
                    drop(state);
                    return self.more();
                }
                state.consumer = ConsumerState::Doze;
                let waited = news.wait_timeout(state, until - now);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            state.consumer = ConsumerState::Work;
        }
    }

    /// Further work, due or not.
    pub(super) fn more(&mut self) -> Option<J> {
        if self.taken.is_empty() {
            let mut state = self.queue.lock();
            // Later work may be delayed again.
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
        // After the lock is released: a waiter of this work may put in more.
        drop(left);
    }
}
