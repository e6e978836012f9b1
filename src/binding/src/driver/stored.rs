//! Waiting for stores. Their answers come from threads of their own, so that it
//! takes no runtime, and works in a fork too.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use antiphon_core::Fault;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::fault::to_exception;

/// How long a wait may last before Ctrl-C is looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// Waits for an answer with the interpreter released. Ctrl-C ends the wait.
pub(crate) fn waited<T>(
    py: Python<'_>,
    answer: impl Future<Output = Result<T, Fault>> + Send,
) -> PyResult<T> {
    ended(py, answer)?.map_err(|fault| to_exception(py, &fault))
}

/// Waits for whatever it takes, with the interpreter released while there is
/// nothing to do. Ctrl-C ends the wait.
pub(crate) fn ended<T>(py: Python<'_>, work: impl Future<Output = T> + Send) -> PyResult<T> {
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut work = pin!(work);
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Ok(done);
        }
        py.detach(|| {
            bell.wait();
            crate::driver::exit_gate::pass();
        });
        py.check_signals()?;
    }
}

/// The same for callers that await it.
pub(crate) fn awaited<T: Send + 'static>(
    py: Python<'_>,
    answer: impl Future<Output = Result<T, Fault>> + Send + 'static,
    read: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Bound<'_, PyAny>> {
    pyo3_async_runtimes::tokio::future_into_py(py, async move {
        let answer = answer.await;
        let read = Python::try_attach(|py| match answer {
            Ok(answer) => read(py, answer),
            Err(fault) => Err(to_exception(py, &fault)),
        });
        // The interpreter is going down, and nobody waits any more.
        read.unwrap_or_else(|| Err(PyRuntimeError::new_err("the interpreter is going down")))
    })
}

/// Whatever it takes, for callers that await it.
pub(crate) fn awaited_for<T>(
    py: Python<'_>,
    work: impl Future<Output = PyResult<T>> + Send + 'static,
) -> PyResult<Bound<'_, PyAny>>
where
    T: for<'py> IntoPyObject<'py> + Send + 'static,
{
    pyo3_async_runtimes::tokio::future_into_py(py, work)
}

#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    ringing: Condvar,
}

impl Bell {
    fn wait(&self) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ringing.wait_timeout_while(rung, PATIENCE, |rung| !*rung);
        let (mut rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *rung = false;
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ringing.notify_all();
    }
}
