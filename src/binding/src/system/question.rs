//! A question as Python puts it.

use std::sync::Arc;

use antiphon_core::budget::Limits;
use antiphon_runtime::UserContext;
use antiphon_runtime::sandbox::HostCalls;
use antiphon_runtime::{Answers, Clock, SystemClock};
use antiphon_systems::{Session, SystemStart};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value as Json;

use crate::driver::seeds;
use crate::graph::limits;
use crate::graph::options::Keywords;
use crate::sandbox::native_sandbox::Caller;
use crate::system::cancellation_token::PyCancellationToken;
use crate::system::paused_run::PyPausedRun;
use crate::system::user_context::{ExceptionGuard, PyUserContext};
use crate::thread::thread_ref::ThreadRef;
use crate::value::json;

/// What a question may be put with.
const OPTIONS: [&str; 13] = [
    "thread",
    "how",
    "answer",
    "answers",
    "paused",
    "attachments",
    "call",
    "cancel",
    "run_id",
    "seed",
    "watch",
    "user_context",
    "limits",
];

/// A question as it is put.
pub(crate) struct Question {
    pub(crate) start: SystemStart<Json>,
    pub(crate) attachments: Vec<(String, Vec<u8>)>,
    pub(crate) session: Session,
    pub(crate) exceptions: ExceptionGuard,
    pub(crate) watch: Option<Py<PyAny>>,
}

impl Question {
    pub(crate) fn read<'py>(
        question: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let py = question.py();
        let options = Keywords::new(options, &OPTIONS)?;
        let start = start(question, &options)?;
        let attachments = match options.get::<Bound<'_, PyDict>>("attachments")? {
            Some(given) => given.iter().map(pair).collect::<PyResult<_>>()?,
            None => Vec::new(),
        };
        let value = options.get("user_context")?.unwrap_or_else(|| py.None());
        let own = Arc::new(PyUserContext::new(value));
        let user_context: UserContext = Arc::<PyUserContext>::clone(&own);
        let session = Session { user_context: Some(user_context), ..session(py, &options)? };
        Ok(Self {
            start,
            attachments,
            session,
            exceptions: ExceptionGuard(own),
            watch: options.get("watch")?,
        })
    }
}

fn start(question: &Bound<'_, PyAny>, options: &Keywords<'_, '_>) -> PyResult<SystemStart<Json>> {
    let how = options.get::<String>("how")?;
    Ok(match how.as_deref() {
        None => SystemStart::Ask(json::read(question)?),
        Some("once") => SystemStart::AskOnce(json::read(question)?),
        Some("again") => SystemStart::AskAgain(json::read(question)?),
        Some("resume") => {
            let paused = options.get::<Bound<'_, PyPausedRun>>("paused")?;
            let only = options.get::<(Bound<'_, PyAny>,)>("answer")?;
            let answers = options.get::<Vec<(String, Bound<'_, PyAny>)>>("answers")?;
            let read = |(id, answer): (String, Bound<'_, PyAny>)| Ok((id, json::read(&answer)?));
            let answers = match (only, answers) {
                (Some((only,)), _) => Answers::Only(json::read(&only)?),
                (None, Some(all)) => {
                    Answers::ById(all.into_iter().map(read).collect::<PyResult<_>>()?)
                }
                (None, None) => Answers::NONE,
            };
            match paused {
                Some(paused) => SystemStart::Continue(paused.get().0.clone(), answers),
                None => SystemStart::Resume(answers),
            }
        }
        Some(how) => {
            return Err(PyValueError::new_err(format!("a question cannot be put so: {how}")));
        }
    })
}

fn session(py: Python<'_>, options: &Keywords<'_, '_>) -> PyResult<Session> {
    let thread = options.get::<Bound<'_, ThreadRef>>("thread")?;
    let thread = thread.map(|thread| thread.get().stored_thread(py)).transpose()?;
    let call = options.get::<Py<PyAny>>("call")?;
    let clock = SystemClock::new();
    let given = options.get("seed")?;
    let own = options.get::<Bound<'_, PyDict>>("limits")?;
    Ok(Session {
        seed: seeds::draw(given),
        run_id: options.get("run_id")?.unwrap_or_else(|| seeds::draw_run_id(given, clock.now())),
        cancel: options
            .get::<Bound<'_, PyCancellationToken>>("cancel")?
            .map(|cancel| cancel.get().0.clone()),
        host_calls: call.map(|call| Arc::new(Caller(call)) as Arc<dyn HostCalls>),
        thread,
        limits: own.as_ref().map_or_else(|| Ok(Limits::default()), limits::read)?,
        ..Session::new(Arc::new(clock))
    })
}

fn pair(pair: (Bound<'_, PyAny>, Bound<'_, PyAny>)) -> PyResult<(String, Vec<u8>)> {
    Ok((pair.0.extract()?, pair.1.extract()?))
}
