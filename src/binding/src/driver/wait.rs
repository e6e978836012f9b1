//! How Python code waits for Rust: [`block_on`] for a thread, [`awaitable`] for a
//! coroutine. All other waits of the binding are built on these two.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use antiphon_core::Fault;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::task::{AbortHandle, JoinHandle};

use crate::driver::exit_gate;
use crate::driver::native_runtime::NativeRuntime;
use crate::fault::to_exception;

/// The longest wait between two checks for signals such as Ctrl-C.
pub(crate) const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Polls a future on this thread and releases the interpreter in between. Ctrl-C ends the
/// wait. It takes no runtime, so it works in a forked process too.
pub(crate) fn block_on<T>(py: Python<'_>, work: impl Future<Output = T>) -> PyResult<T> {
    let signal = Arc::new(WakeSignal::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut work = pin!(work);
    loop {
        let mut cx = Context::from_waker(&waker);
        if let Poll::Ready(done) = exit_gate::poll_inside(py, || work.as_mut().poll(&mut cx)) {
            return Ok(done);
        }
        release(py, || signal.wait());
        py.check_signals()?;
    }
}

/// The same for work that can fail; raises its fault.
pub(crate) fn block_on_result<T>(
    py: Python<'_>,
    work: impl Future<Output = Result<T, Fault>>,
) -> PyResult<T> {
    block_on(py, work)?.map_err(|fault| to_exception(py, &fault))
}

/// The same for work that needs the native runtime. Ctrl-C aborts it.
pub(crate) fn block_on_native<T: Send + 'static>(
    py: Python<'_>,
    work: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let task = NativeRuntime::for_python(py)?.start(work);
    let _abort = AbortOnDrop(task.abort_handle());
    block_on_task(py, task)
}

/// The same for a task of the native runtime, which Ctrl-C does not abort.
pub(crate) fn block_on_task<T>(
    py: Python<'_>,
    task: impl Future<Output = <JoinHandle<T> as Future>::Output>,
) -> PyResult<T> {
    block_on(py, task)?.map_err(|_| lost_task())
}

/// The same for a call that blocks, which gets a separate thread. After Ctrl-C nothing
/// waits for that thread.
pub(crate) fn block_on_thread<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::Builder::new().name("antiphon-open".into()).spawn(move || {
        // The receiver is gone if Ctrl-C ended the wait.
        let _ = sender.send(work());
    })?;
    block_on(py, receiver)?.map_err(|_| lost_task())
}

/// Waits on this thread with the interpreter released.
pub(crate) fn release<T: Send>(py: Python<'_>, wait: impl FnOnce() -> T + Send) -> T {
    py.detach(|| {
        let waited = wait();
        exit_gate::pass();
        waited
    })
}

/// A future as an awaitable of the caller's event loop.
pub(crate) fn awaitable<T>(
    py: Python<'_>,
    work: impl Future<Output = PyResult<T>> + Send + 'static,
) -> PyResult<Bound<'_, PyAny>>
where
    T: for<'py> IntoPyObject<'py> + Send + 'static,
{
    NativeRuntime::for_python(py)?;
    if exit_gate::is_exiting_here() {
        return Err(PyRuntimeError::new_err(exit_gate::REASON));
    }
    pyo3_async_runtimes::generic::future_into_py::<NativeRuntime, _, _>(py, work)
}

/// The same for work that can fail; `convert` turns what it returned into a Python object.
pub(crate) fn awaitable_result<T: Send + 'static, C>(
    py: Python<'_>,
    work: impl Future<Output = Result<T, Fault>> + Send + 'static,
    convert: impl FnOnce(Python<'_>, T) -> PyResult<C> + Send + 'static,
) -> PyResult<Bound<'_, PyAny>>
where
    C: for<'py> IntoPyObject<'py> + Send + 'static,
{
    awaitable(py, async move {
        let result = work.await;
        exit_gate::enter_or_park(|py| match result {
            Ok(value) => convert(py, value),
            Err(fault) => Err(to_exception(py, &fault)),
        })
    })
}

fn lost_task() -> PyErr {
    PyRuntimeError::new_err("the native task ended without a result")
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    /// Does nothing to a task that has ended.
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Default)]
struct WakeSignal {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl WakeSignal {
    /// Waits until the future asks to be polled, or it is time to check for signals.
    fn wait(&self) {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_set, SIGNAL_INTERVAL, |is_set| !*is_set);
        let (mut is_set, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *is_set = false;
    }
}

impl Wake for WakeSignal {
    fn wake(self: Arc<Self>) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }
}
