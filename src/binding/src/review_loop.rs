//! The review loop as Python holds it: settings and roles in, an answer out.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use antiphon_core::event::Event as CoreEvent;
use antiphon_core::{Category, Fault};
use antiphon_runtime::{Clock, Stop, SystemClock, Watcher};
use antiphon_systems::review_loop::{
    Answer, Asked, Attachment, Config, Luggage, ReviewLoop as System, Session,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::chance;
use crate::event::Event;
use crate::fault::to_exception;
use crate::options::Keywords;
use crate::role;
use crate::role_call::{Carried, Keeper, RAISED};

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

/// What a question may be put with.
const OPTIONS: [&str; 5] = ["file", "run_id", "seed", "watch", "about"];

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

    /// Answers a question and waits for it. Ctrl-C stops it. Options: `file`,
    /// `run_id`, `seed`, `watch` (called with each event), and `about` (what
    /// the Python code of roles gets to see of the caller).
    #[pyo3(signature = (question, **options))]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        question: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Put { asked, mut session, carried, watch } = put(question, options)?;
        let id = session.run_id.clone();
        let (sender, letters) = mpsc::channel();
        if watch.is_some() {
            session.watchers.push(Arc::new(Passing(sender.clone())));
        }
        let stop = Stop::new();
        session.stop = Some(stop.clone());
        let system = Arc::clone(&self.system);
        crate::native_runtime::for_python(py)?.spawn(async move {
            let answer = system.ask(asked, session).await;
            let _ = sender.send(Letter::Done(Box::new(answer)));
        });
        let watch = watch.as_ref().map(|watch| watch.bind(py));
        let answer = Waiting { letters: Mutex::new(letters), stop, id: &id, watch }.wait(py)?;
        as_dict(py, &id, answer, &carried.0)
    }

    /// Answers a question, awaited. Cancelling the caller's task stops it.
    /// Options as for `ask`; `watch` is called on threads of its own, one
    /// event after the other.
    #[pyo3(signature = (question, **options))]
    fn aask<'py>(
        &self,
        py: Python<'py>,
        question: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Put { asked, mut session, carried, watch } = put(question, options)?;
        let id = session.run_id.clone();
        let (sender, seen) = tokio::sync::mpsc::unbounded_channel();
        if watch.is_some() {
            session.watchers.push(Arc::new(Posting(sender)));
        }
        let system = Arc::clone(&self.system);
        crate::native_runtime::for_python(py)?;
        pyo3_async_runtimes::tokio::future_into_py(py, async move {
            let asking = Box::pin(system.ask(asked, session));
            let answer = match watch {
                Some(watch) => shown(asking, seen, watch, &id).await?,
                None => asking.await,
            };
            Python::attach(|py| as_dict(py, &id, answer, &carried.0).map(Bound::unbind))
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
    id: &str,
) -> PyResult<T> {
    let show = |event: Arc<CoreEvent>| {
        Python::attach(|py| {
            watch.call1(py, (Event::new(id, Arc::unwrap_or_clone(event)),)).map(|_| ())
        })
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
    id: &'a str,
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
            Some(watch) => watch.call1((Event::new(self.id, event.clone()),)).map(|_| ()),
            None => Ok(()),
        }
    }
}

fn asked(question: &Bound<'_, PyAny>, file: Option<(String, Vec<u8>)>) -> PyResult<Asked> {
    let py = question.py();
    let file = file.map(|(name, content)| Attachment::from_bytes(name, content)).transpose();
    let messages = match question.extract::<String>() {
        Ok(text) => serde_json::json!([{"role": "user", "content": text}]),
        Err(_) if question.is_instance_of::<PyList>() => crate::json::read(question)
            .map_err(|error| malformed(py, "holds what is no JSON", &error.to_string()))?,
        Err(_) if question.is_instance_of::<PyString>() => {
            let shown = question.repr()?.to_string();
            return Err(malformed(py, "holds half a character, which no model can read", &shown));
        }
        Err(_) => {
            let kind = question.get_type().qualname()?.to_string();
            return Err(malformed(py, "has to be a text, or a list of messages", &kind));
        }
    };
    let asked = file.and_then(|file| Asked::from_messages(&messages, file));
    asked.map_err(|fault| to_exception(py, &fault))
}

fn malformed(py: Python<'_>, complaint: &str, found: &str) -> PyErr {
    let message = format!("the question {complaint}: {found}");
    to_exception(py, &Fault::new(Category::Validation, "question_malformed", message))
}

/// A question as it is put.
struct Put {
    asked: Asked,
    session: Session,
    carried: Keeper,
    watch: Option<Py<PyAny>>,
}

fn put<'py>(question: &Bound<'py, PyAny>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Put> {
    let options = Keywords::new(options, &OPTIONS)?;
    let asked = asked(question, options.get("file")?)?;
    let about = options.get("about")?.unwrap_or_else(|| question.py().None());
    let carried = Arc::new(Carried::new(about));
    let luggage: Luggage = Arc::<Carried>::clone(&carried);
    let clock = SystemClock::new();
    let seed = chance::seed(question.py(), options.get("seed")?)?;
    let run_id = options.get("run_id")?.unwrap_or_else(|| seed.uuid(clock.now()));
    let plain = Session::new(Arc::new(clock));
    let session = Session { seed, run_id, luggage: Some(luggage), ..plain };
    Ok(Put { asked, session, carried: Keeper(carried), watch: options.get("watch")? })
}

fn as_dict<'py>(
    py: Python<'py>,
    id: &str,
    answer: Result<Answer, Fault>,
    carried: &Carried,
) -> PyResult<Bound<'py, PyDict>> {
    let mut answer = answer.map_err(|fault| to_exception(py, &fault))?;
    let trace = PyList::empty(py);
    for event in std::mem::take(&mut answer.trace) {
        trace.append(Event::new(id, Arc::unwrap_or_clone(event)))?;
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
    dict.set_item("run_id", id)?;
    dict.set_item("raised", raised)?;
    Ok(dict)
}
