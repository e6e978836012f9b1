//! The review loop as Python holds it: settings and roles in, an answer out.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_core::event::Event as CoreEvent;
use antiphon_runtime::{Stop, Watcher};
use antiphon_systems::review_loop::{Answer, Config, ReviewLoop as System};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::event::{Event, Named};
use crate::fault::to_exception;
use crate::put::{Put, put};
use crate::role;
use crate::role_call::{Carried, RAISED};

/// How long a wait may last before Ctrl-C is looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// The review loop, ready for any number of questions at once.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct ReviewLoop {
    system: Arc<System>,
}

/// What a question sends to the thread that waits for it.
enum Letter {
    Seen(Arc<CoreEvent>),
    Done(Box<Result<Answer, Fault>>),
}

/// Passes events on to the thread that waits.
struct Passing(mpsc::Sender<Letter>);

impl Watcher for Passing {
    fn see(&self, event: &Arc<CoreEvent>) {
        // Whoever waited may have been interrupted.
        let _ = self.0.send(Letter::Seen(Arc::clone(event)));
    }
}

#[pymethods]
impl ReviewLoop {
    /// Checks settings and roles; nothing is called yet.
    #[new]
    fn new(
        py: Python<'_>,
        settings: &Bound<'_, PyDict>,
        roles: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let settings = crate::json::read(settings.as_any())?;
        let config = Config::from_json(&settings).map_err(|fault| to_exception(py, &fault))?;
        let system = System::new(config, role::read(roles)?);
        let system = system.map_err(|fault| to_exception(py, &fault))?;
        Ok(Self { system: Arc::new(system) })
    }

    /// Answers a question and waits for it. Ctrl-C stops it. Options: `place`
    /// (where it is kept), `how` (`once`: a question that `place` holds is not
    /// begun again; `again`: unless it is over; `resume`: the question in `place` goes on, whichever it
    /// is, and the one that is given does not count), `file`, `run_id`, `seed`, `watch` (called with each event), and `about` (what
    /// the Python code of roles gets to see of the caller).
    #[pyo3(signature = (question, **options))]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        question: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Put { wanted, mut session, carried, watch } = put(question, options)?;
        let named = Mutex::new(Named::new(&session.run_id));
        let (sender, letters) = mpsc::channel();
        if watch.is_some() {
            session.watchers.push(Arc::new(Passing(sender.clone())));
        }
        let stop = session.stop.get_or_insert_with(Stop::new).clone();
        let system = Arc::clone(&self.system);
        crate::native_runtime::for_python(py)?.spawn(async move {
            let answer = wanted.of(&system, session).await;
            let _ = sender.send(Letter::Done(Box::new(answer)));
        });
        let watch = watch.as_ref().map(|watch| watch.bind(py));
        let answer = Waiting { letters: Mutex::new(letters), stop, named, watch }.wait(py)?;
        as_dict(py, answer, &carried.0)
    }

    /// Answers a question, awaited. Cancelling the caller's task drops it at
    /// once; `stop`, a `Stopper`, has it end in order.
    /// Options as for `ask`; `watch` is called on threads of its own, one
    /// event after the other.
    #[pyo3(signature = (question, **options))]
    fn aask<'py>(
        &self,
        py: Python<'py>,
        question: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Put { wanted, mut session, carried, watch } = put(question, options)?;
        let named = Named::new(&session.run_id);
        let (sender, seen) = tokio::sync::mpsc::unbounded_channel();
        if watch.is_some() {
            session.watchers.push(Arc::new(Posting(sender)));
        }
        let system = Arc::clone(&self.system);
        crate::native_runtime::for_python(py)?;
        pyo3_async_runtimes::tokio::future_into_py(py, async move {
            let asking = Box::pin(async move { wanted.of(&system, session).await });
            let answer = match watch {
                Some(watch) => shown(asking, seen, watch, named).await?,
                None => asking.await,
            };
            Python::attach(|py| as_dict(py, answer, &carried.0).map(Bound::unbind))
        })
    }

    fn __repr__(&self) -> String {
        format!("ReviewLoop({:?})", self.system.graph().name())
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
        Python::attach(|py| watch.call1(py, (event,)).map(|_| ()))
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
struct Waiting<'a, 'py> {
    letters: Mutex<mpsc::Receiver<Letter>>,
    stop: Stop,
    named: Mutex<Named>,
    watch: Option<&'a Bound<'py, PyAny>>,
}

impl Waiting<'_, '_> {
    fn wait(&self, py: Python<'_>) -> PyResult<Result<Answer, Fault>> {
        let mut interrupted = None;
        loop {
            let letters = &self.letters;
            let letter = py.detach(|| {
                let letters = letters.lock().unwrap_or_else(PoisonError::into_inner);
                letters.recv_timeout(PATIENCE)
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

fn as_dict<'py>(
    py: Python<'py>,
    answer: Result<Answer, Fault>,
    carried: &Carried,
) -> PyResult<Bound<'py, PyDict>> {
    let mut answer = answer.map_err(|fault| to_exception(py, &fault))?;
    let id: Arc<str> = answer.run_id.as_str().into();
    let trace = PyList::empty(py);
    for event in std::mem::take(&mut answer.trace) {
        trace.append(Event::new(Arc::clone(&id), Arc::unwrap_or_clone(event)))?;
    }
    // The number means nothing outside.
    if let Some(fault) = &mut answer.state.error {
        fault.details.remove(RAISED);
    }
    let number = answer.error.as_mut().and_then(|fault| fault.details.remove(RAISED));
    let number = number.and_then(|number| usize::try_from(number.as_u64()?).ok());
    let raised = number.and_then(|number| carried.raised(py, number));
    let dict = pythonize::pythonize(py, &answer)?.cast_into::<PyDict>()?;
    dict.set_item("trace", trace)?;
    dict.set_item("raised", raised)?;
    Ok(dict)
}
