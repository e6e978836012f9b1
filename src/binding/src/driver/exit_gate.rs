//! The end of the interpreter, which threads may outlive that work for us or have
//! called us: a gate that keeps ours out of it, and lets those that are inside Python
//! code end there, see [`ffi::hide_frames`].

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::driver::fork_fence::FENCE;
use crate::driver::thread_id::thread_id;
use crate::ffi;

/// How long the end of the interpreter waits for threads of ours that are on their way
/// into it or inside it.
const GRACE: Duration = Duration::from_secs(5);

/// How long a thread is kept out. The process is gone by then, unless a function that
/// runs at its end waits for this very thread, which must not wait for ever.
const DELAY: Duration = Duration::from_secs(10);

const PAUSE: Duration = Duration::from_millis(1);

/// Why work that needs other threads is refused, see [`is_exiting_here`].
pub(crate) const REASON: &str = "the interpreter is exiting";

static CLOSED: AtomicBool = AtomicBool::new(false);
/// Threads between a look at the gate and the interpreter. An interpreter that goes
/// down meanwhile may take away what a thread needs to come in.
static ENTERING: AtomicUsize = AtomicUsize::new(0);
/// The thread that ends the interpreter, by its [`thread_id`].
static CLOSER: AtomicUsize = AtomicUsize::new(0);
/// Ends the workers, given the time until which they are waited for.
static CLOSE_WORKERS: OnceLock<fn(Instant)> = OnceLock::new();

thread_local! {
    /// This thread is inside the interpreter and polls a future.
    static POLLS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Restores [`POLLS_INSIDE`].
struct PollGuard(bool);

impl Drop for PollGuard {
    fn drop(&mut self) {
        POLLS_INSIDE.set(self.0);
    }
}

struct EntryGuard;

impl EntryGuard {
    fn begin() -> Self {
        ENTERING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for EntryGuard {
    fn drop(&mut self) {
        ENTERING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Closes the gate when the interpreter ends.
///
/// # Errors
/// What Python raises if it has no `atexit`.
pub(crate) fn install(py: Python<'_>, close_workers: fn(Instant)) -> PyResult<()> {
    CLOSE_WORKERS.get_or_init(|| close_workers);
    let close = wrap_pyfunction!(close_gate, py)?;
    py.import("atexit")?.call_method1("register", (close,)).map(|_| ())
}

/// In a fork nobody else is on the way into the interpreter.
pub(crate) fn open_in_child() {
    ENTERING.store(0, Ordering::SeqCst);
}

/// Lets no thread of ours into the interpreter any more.
#[pyfunction]
fn close_gate(py: Python<'_>) {
    CLOSER.store(thread_id(), Ordering::SeqCst);
    let until = Instant::now() + GRACE;
    py.detach(|| {
        if let Some(close_workers) = CLOSE_WORKERS.get() {
            close_workers(until);
        }
        CLOSED.store(true, Ordering::SeqCst);
        while ENTERING.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
    });
    ffi::hide_frames();
}

/// Polls a future on a thread that is inside the interpreter. What it polls may enter it, as it
/// would on a native thread. To keep it out would not work: it holds the interpreter, which the
/// thread that closes the gate waits for.
pub(crate) fn poll_inside<T>(_: Python<'_>, poll: impl FnOnce() -> T) -> T {
    let _guard = PollGuard(POLLS_INSIDE.replace(true));
    poll()
}

/// Whether this thread runs functions at the end of the interpreter. It can count neither on
/// workers nor on native threads that would enter.
pub(crate) fn is_exiting_here() -> bool {
    CLOSED.load(Ordering::SeqCst) && CLOSER.load(Ordering::SeqCst) == thread_id()
}

/// Enters the interpreter, on a thread that Python does not know; nothing if it is
/// going down.
pub(crate) fn enter<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    if POLLS_INSIDE.get() {
        return Python::try_attach(work);
    }
    let fence = FENCE.guard();
    let entering = EntryGuard::begin();
    if CLOSED.load(Ordering::SeqCst) {
        return None;
    }
    Python::try_attach(|py| {
        drop((entering, fence));
        work(py)
    })
}

/// The same for a thread that has nothing else to do: it ends with the process.
pub(crate) fn enter_or_park<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    match enter(work) {
        Some(done) => done,
        None => loop {
            std::thread::park();
        },
    }
}

/// Delays a thread that Python knows and that is about to return to it, while Python
/// shuts down.
pub(crate) fn pass() {
    if !CLOSED.load(Ordering::SeqCst) || CLOSER.load(Ordering::SeqCst) == thread_id() {
        return;
    }
    std::thread::sleep(DELAY);
}
