//! How Python waits for a native system, and sees its events meanwhile.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use antiphon_core::event::Event as CoreEvent;
use antiphon_runtime::{CancellationToken, Watcher};
use antiphon_systems::Session;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::driver::event::Named;
use crate::driver::exit_gate;

/// How long a wait may last before Ctrl-C is looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// Asks on antiphon's own threads and waits on this one, where `watch` is
/// called with each event. Ctrl-C stops the question.
pub(crate) fn wait<T, F>(
    py: Python<'_>,
    mut session: Session,
    watch: Option<Py<PyAny>>,
    ask: impl FnOnce(Session) -> F,
) -> PyResult<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (sender, letters) = mpsc::channel();
    if watch.is_some() {
        session.watchers.push(Arc::new(Passing(sender.clone())));
    }
    let named = Mutex::new(Named::new(&session.run_id));
    let stop = session.stop.get_or_insert_with(CancellationToken::new).clone();
    let asking = ask(session);
    crate::driver::native_runtime::for_python(py)?.spawn(async move {
        // An answer is large.
        let _ = sender.send(Letter::Done(Box::new(asking.await)));
    });
    let watch = watch.as_ref().map(|watch| watch.bind(py));
    Waiting { letters: Mutex::new(letters), stop, named, watch }.wait(py)
}

/// Asks on antiphon's own threads; gives an awaitable of what `done` makes of
/// the answer. `watch` is called on threads of its own, one event after the
/// other. Whoever drops the awaitable drops the question.
pub(crate) fn awaited<T, F>(
    py: Python<'_>,
    mut session: Session,
    watch: Option<Py<PyAny>>,
    ask: impl FnOnce(Session) -> F,
    done: impl FnOnce(Python<'_>, T) -> PyResult<Bound<'_, PyDict>> + Send + 'static,
) -> PyResult<Bound<'_, PyAny>>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let named = Named::new(&session.run_id);
    let (sender, seen) = tokio::sync::mpsc::unbounded_channel();
    if watch.is_some() {
        session.watchers.push(Arc::new(Posting(sender)));
    }
    let asking = Box::pin(ask(session));
    crate::driver::native_runtime::for_python(py)?;
    pyo3_async_runtimes::tokio::future_into_py(py, async move {
        let answer = match watch {
            Some(watch) => shown(asking, seen, watch, named).await?,
            None => asking.await,
        };
        exit_gate::enter_or_park(|py| done(py, answer).map(Bound::unbind))
    })
}

/// What a question sends to the thread that waits for it.
enum Letter<T> {
    Seen(Arc<CoreEvent>),
    Done(Box<T>),
}

/// Passes events on to the thread that waits.
struct Passing<T>(mpsc::Sender<Letter<T>>);

impl<T: Send> Watcher for Passing<T> {
    fn see(&self, event: &Arc<CoreEvent>) {
        // Whoever waited may have been interrupted.
        let _ = self.0.send(Letter::Seen(Arc::clone(event)));
    }
}

/// Passes events on to the task that awaits.
struct Posting(tokio::sync::mpsc::UnboundedSender<Arc<CoreEvent>>);

impl Watcher for Posting {
    fn see(&self, event: &Arc<CoreEvent>) {
        // Whoever awaited may be gone.
        let _ = self.0.send(Arc::clone(event));
    }
}

/// Awaits an answer and shows events meanwhile, all of them before it is over.
/// What the watcher raises ends it.
async fn shown<T>(
    mut asking: impl Future<Output = T> + Unpin,
    mut seen: tokio::sync::mpsc::UnboundedReceiver<Arc<CoreEvent>>,
    watch: Py<PyAny>,
    mut named: Named,
) -> PyResult<T> {
    let mut show = |event: Arc<CoreEvent>| {
        let event = named.event(Arc::unwrap_or_clone(event));
        exit_gate::enter_or_park(|py| watch.call1(py, (event,)).map(|_| ()))
    };
    let answer = loop {
        tokio::select! {
            biased;
            Some(event) = seen.recv() => show(event)?,
            answer = &mut asking => break answer,
        }
    };
    while let Ok(event) = seen.try_recv() {
        show(event)?;
    }
    Ok(answer)
}

/// A thread that waits for an answer and shows events meanwhile.
struct Waiting<'a, 'py, T> {
    letters: Mutex<mpsc::Receiver<Letter<T>>>,
    stop: CancellationToken,
    named: Mutex<Named>,
    watch: Option<&'a Bound<'py, PyAny>>,
}

impl<T: Send> Waiting<'_, '_, T> {
    fn wait(&self, py: Python<'_>) -> PyResult<T> {
        let mut interrupted = None;
        loop {
            let letters = &self.letters;
            let letter = py.detach(|| {
                let letters = letters.lock().unwrap_or_else(PoisonError::into_inner);
                let letter = letters.recv_timeout(PATIENCE);
                exit_gate::pass();
                letter
            });
            let trouble = match letter {
                Ok(Letter::Done(answer)) => return interrupted.map_or(Ok(*answer), Err),
                Ok(Letter::Seen(event)) if interrupted.is_none() => self.show(&event),
                Ok(Letter::Seen(_)) => Ok(()),
                Err(mpsc::RecvTimeoutError::Timeout) => py.check_signals(),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the question ended without an answer"));
                }
            };
            if let Err(error) = trouble {
                // A second Ctrl-C does not wait for anything any more.
                if interrupted.is_some() {
                    return Err(error);
                }
                self.stop.stop("interrupted");
                interrupted = Some(error);
            }
        }
    }

    fn show(&self, event: &CoreEvent) -> PyResult<()> {
        match self.watch {
            Some(watch) => {
                let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
                let event = named.event(event.clone());
                drop(named);
                watch.call1((event,)).map(|_| ())
            }
            None => Ok(()),
        }
    }
}
