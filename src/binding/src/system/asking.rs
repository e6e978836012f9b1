//! How Python waits for a native system, and sees its events meanwhile.

use std::pin::pin;
use std::sync::Arc;

use antiphon_core::event::Event as CoreEvent;
use antiphon_runtime::{CancellationToken, Watcher};
use antiphon_systems::Session;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::driver::event::EventConverter;
use crate::driver::exit_gate;
use crate::driver::native_runtime::NativeRuntime;
use crate::driver::wait::{awaitable, block_on, block_on_task};

/// Answers on the native runtime and waits on this thread, which calls `watch` with each
/// event. Ctrl-C, or an exception of `watch`, cancels the run and is raised once it has ended.
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
    let events = EventFeed::subscribe(py, &mut session, watch.as_ref());
    let token = session.cancel.get_or_insert_with(CancellationToken::new).clone();
    if exit_gate::is_exiting_here() {
        token.cancel(exit_gate::REASON);
    }
    let mut answer = NativeRuntime::for_python(py)?.start(ask(session));
    let watched = match events {
        Some(events) => block_on(py, events.show_until(&mut answer)),
        None => block_on(py, async { Ok((&mut answer).await) }),
    };
    match watched.and_then(|watched| watched) {
        Ok(done) => block_on_task(py, async { done }),
        Err(error) => {
            token.cancel("interrupted");
            // A second Ctrl-C ends this wait too.
            if !answer.is_finished() {
                block_on_task(py, answer)?;
            }
            Err(error)
        }
    }
}

/// Answers on the native runtime; gives an awaitable of what `done` makes of the answer.
/// `watch` is called on separate threads, one event after the other. Dropping the
/// awaitable drops the run.
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
    let events = EventFeed::subscribe(py, &mut session, watch.as_ref());
    let answer = Box::pin(ask(session));
    awaitable(py, async move {
        let answer = match events {
            Some(events) => events.show_until(answer).await?,
            None => answer.await,
        };
        exit_gate::enter_or_park(|py| done(py, answer).map(Bound::unbind))
    })
}

/// The events of a run, for a Python callable.
struct EventFeed {
    events: UnboundedReceiver<Arc<CoreEvent>>,
    converter: EventConverter,
    watch: Py<PyAny>,
}

/// Sends events to an [`EventFeed`].
struct EventSender(UnboundedSender<Arc<CoreEvent>>);

impl Watcher for EventSender {
    fn see(&self, event: &Arc<CoreEvent>) {
        // Nobody receives after an interrupt.
        let _ = self.0.send(Arc::clone(event));
    }
}

impl EventFeed {
    fn subscribe(py: Python<'_>, session: &mut Session, watch: Option<&Py<PyAny>>) -> Option<Self> {
        let watch = watch?.clone_ref(py);
        let (sender, events) = unbounded_channel();
        session.watchers.push(Arc::new(EventSender(sender)));
        Some(Self { events, converter: EventConverter::new(&session.run_id), watch })
    }

    /// Waits for an answer; shows all events before it. An exception of the callable ends it.
    async fn show_until<T>(mut self, answer: impl Future<Output = T>) -> PyResult<T> {
        let mut answer = pin!(answer);
        let answer = loop {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => self.show(event)?,
                answer = &mut answer => break answer,
            }
        };
        while let Ok(event) = self.events.try_recv() {
            self.show(event)?;
        }
        Ok(answer)
    }

    fn show(&mut self, event: Arc<CoreEvent>) -> PyResult<()> {
        let event = self.converter.convert(Arc::unwrap_or_clone(event));
        exit_gate::enter_or_park(|py| self.watch.call1(py, (event,)).map(|_| ()))
    }
}
