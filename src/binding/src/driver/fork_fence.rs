//! Keeps forks of the process apart from what native threads do. A child has none of its
//! parent's threads: a lock that one of them held at the fork stays locked there for ever. Among
//! them are pyo3's, for references dropped without the interpreter, and that of the interpreter
//! for its list of threads.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// How long a fork waits for guards, and a guard for forks. A hook of other code for forks may
/// wait for a thread that is kept waiting here.
const PATIENCE: Duration = Duration::from_millis(200);

const PAUSE: Duration = Duration::from_micros(50);

/// Forks that are about to happen.
static FORKS: AtomicUsize = AtomicUsize::new(0);
/// The guards of all threads.
static GUARDS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The guards of this thread.
    static OWN_GUARDS: Cell<usize> = const { Cell::new(0) };
}

/// Announces a fork and waits until other threads have no guard.
pub(crate) fn close() {
    FORKS.fetch_add(1, Ordering::SeqCst);
    let own = OWN_GUARDS.get();
    wait_while(|| GUARDS.load(Ordering::SeqCst) > own);
}

/// The fork has happened, in the parent.
pub(crate) fn open() {
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// The same in the child, which has no other threads.
pub(crate) fn open_in_child() {
    FORKS.store(0, Ordering::SeqCst);
    GUARDS.store(OWN_GUARDS.get(), Ordering::SeqCst);
}

fn wait_while(condition: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while condition() && Instant::now() < until {
        std::thread::sleep(PAUSE);
    }
}

/// A task that is polled and dropped between forks.
pub(crate) struct FencedTask<F>(Option<Pin<Box<F>>>);

impl<F: Future> FencedTask<F> {
    pub(crate) fn new(task: F) -> Self {
        Self(Some(Box::pin(task)))
    }
}

impl<F: Future> Future for FencedTask<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let _fence = FenceGuard::begin();
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
            let _fence = FenceGuard::begin();
            drop(task);
        }
    }
}

/// Keeps forks away until it is dropped. For a moment in which a thread may hold a lock that a
/// child would need, such as that of the interpreter's list of threads when it enters.
pub(crate) struct FenceGuard(());

impl FenceGuard {
    pub(crate) fn begin() -> Self {
        let own = OWN_GUARDS.replace(OWN_GUARDS.get() + 1);
        GUARDS.fetch_add(1, Ordering::SeqCst);
        // A fork that waits for the guards of this thread is not waited for.
        if own == 0 && FORKS.load(Ordering::SeqCst) > 0 {
            GUARDS.fetch_sub(1, Ordering::SeqCst);
            wait_while(|| FORKS.load(Ordering::SeqCst) > 0);
            GUARDS.fetch_add(1, Ordering::SeqCst);
        }
        Self(())
    }
}

impl Drop for FenceGuard {
    fn drop(&mut self) {
        GUARDS.fetch_sub(1, Ordering::SeqCst);
        OWN_GUARDS.set(OWN_GUARDS.get() - 1);
    }
}
