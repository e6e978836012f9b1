//! Keeps forks of the process apart from what native threads do. A child has none of its
//! parent's threads: a lock that one of them held at the fork stays locked in it for ever.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_micros(50);

thread_local! {
    /// The guards of this thread.
    static OWN_GUARDS: Cell<usize> = const { Cell::new(0) };
}

/// Lets forks happen only while no other thread has a [`FenceGuard`], and lets no guard begin
/// during a fork. A process has one.
///
/// Both waits end: code of others that runs before a fork may wait for a thread that waits here.
/// A fork that has waited in vain happens all the same, and its child may find a lock locked. A
/// guard that has waited in vain begins all the same, with the same risk for that child. The
/// parent loses nothing in either case.
#[derive(Debug)]
pub struct ForkFence {
    /// Forks that are about to happen.
    forks: AtomicUsize,
    /// The guards of all threads.
    guards: AtomicUsize,
    fork_timeout: Duration,
    guard_timeout: Duration,
}

impl ForkFence {
    /// A fence where forks wait for guards, and guards for forks, for at most so long.
    pub const fn new(fork_timeout: Duration, guard_timeout: Duration) -> Self {
        let (forks, guards) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { forks, guards, fork_timeout, guard_timeout }
    }

    /// Announces a fork and waits for the guards of other threads. False if one is left.
    pub fn close(&self) -> bool {
        self.forks.fetch_add(1, Ordering::SeqCst);
        let (own, until) = (OWN_GUARDS.get(), Instant::now() + self.fork_timeout);
        while self.guards.load(Ordering::SeqCst) > own {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }

    /// The fork has happened, in the parent.
    pub fn open(&self) {
        self.forks.fetch_sub(1, Ordering::SeqCst);
    }

    /// The same in the child, which has no other threads.
    pub fn open_in_child(&self) {
        self.forks.store(0, Ordering::SeqCst);
        self.guards.store(OWN_GUARDS.get(), Ordering::SeqCst);
    }

    /// Keeps forks away until the guard is dropped. For a moment in which a thread may hold a lock
    /// that a child would need.
    pub fn guard(&'static self) -> FenceGuard {
        let own = OWN_GUARDS.replace(OWN_GUARDS.get() + 1);
        let until = Instant::now() + self.guard_timeout;
        loop {
            self.guards.fetch_add(1, Ordering::SeqCst);
            // A fork that waits for the guards of this thread is not waited for.
            let waits = own == 0 && self.forks.load(Ordering::SeqCst) > 0;
            if !waits || Instant::now() >= until {
                return FenceGuard(self);
            }
            self.guards.fetch_sub(1, Ordering::SeqCst);
            std::thread::sleep(PAUSE);
        }
    }
}

/// Keeps forks away, see [`ForkFence::guard`].
#[derive(Debug)]
pub struct FenceGuard(&'static ForkFence);

impl Drop for FenceGuard {
    fn drop(&mut self) {
        self.0.guards.fetch_sub(1, Ordering::SeqCst);
        OWN_GUARDS.set(OWN_GUARDS.get() - 1);
    }
}

/// A task that is polled and dropped between forks.
#[derive(Debug)]
pub struct FencedTask<F>(Option<Pin<Box<F>>>, &'static ForkFence);

impl<F: Future> FencedTask<F> {
    /// The task behind this fence.
    pub fn new(fence: &'static ForkFence, task: F) -> Self {
        Self(Some(Box::pin(task)), fence)
    }
}

impl<F: Future> Future for FencedTask<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let _guard = self.1.guard();
        let Some(task) = &mut self.0 else { return Poll::Pending };
        let polled = task.as_mut().poll(cx);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<F> Drop for FencedTask<F> {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            let _guard = self.1.guard();
            drop(task);
        }
    }
}
