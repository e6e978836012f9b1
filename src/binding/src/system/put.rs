//! A question as Python puts it.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Clock, SystemClock, ThreadRef as ThreadPort};
use antiphon_stores::StoredThread;
use antiphon_systems::review_loop::{
    Answer, Attachment, QuestionInput, ReviewLoop as System, Session, UserContext,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::driver::chance;
use crate::fault::to_exception;
use crate::graph::options::Keywords;
use crate::system::role_call::{Carried, Keeper};
use crate::system::stopper::Stopper;
use crate::thread::thread_ref::ThreadRef;

/// What a question may be put with.
const OPTIONS: [&str; 8] = ["place", "how", "stop", "file", "run_id", "seed", "watch", "about"];

/// A question as it is put.
pub(crate) struct Put {
    pub(crate) wanted: Wanted,
    pub(crate) session: Session,
    pub(crate) carried: Keeper,
    pub(crate) watch: Option<Py<PyAny>>,
}

/// What is wanted of a review loop.
pub(crate) enum Wanted {
    /// The answer to a question.
    Answer(QuestionInput),
    /// The same, unless its thread holds the question already.
    AnswerOnce(QuestionInput),
    /// The same, unless it holds the question and that is not over.
    AnswerAgain(QuestionInput),
    /// The answer to the question that a thread holds.
    Resume(Arc<dyn ThreadPort>),
}

impl Wanted {
    pub(crate) async fn of(self, system: &System, session: Session) -> Result<Answer, Fault> {
        match self {
            Self::Answer(asked) => system.ask(asked, session).await,
            Self::AnswerOnce(asked) => system.ask_once(asked, session).await,
            Self::AnswerAgain(asked) => system.ask_again(asked, session).await,
            Self::Resume(place) => system.resume(place, session).await,
        }
    }
}

pub(crate) fn put<'py>(
    question: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Put> {
    let py = question.py();
    let options = Keywords::new(options, &OPTIONS)?;
    let place = options.get::<Bound<'_, ThreadRef>>("place")?;
    let place = place.map(|place| room(py, place.get())).transpose()?;
    let how = options.get::<String>("how")?;
    let read = || asked(question, options.get("file")?);
    let wanted = match (how.as_deref(), &place) {
        (None, _) => Wanted::Answer(read()?),
        (Some("once"), _) => Wanted::AnswerOnce(read()?),
        (Some("again"), _) => Wanted::AnswerAgain(read()?),
        (Some("resume"), Some(place)) => Wanted::Resume(Arc::clone(place)),
        (Some(how), _) => {
            return Err(PyValueError::new_err(format!("a question cannot be put so: {how}")));
        }
    };
    let about = options.get("about")?.unwrap_or_else(|| py.None());
    let carried = Arc::new(Carried::new(about));
    let user_context: UserContext = Arc::<Carried>::clone(&carried);
    let clock = SystemClock::new();
    let given = options.get("seed")?;
    let seed = chance::seed(given);
    let run_id = options.get("run_id")?.unwrap_or_else(|| chance::run_id(given, clock.now()));
    let plain = Session::new(Arc::new(clock));
    let stop = options.get::<Bound<'_, Stopper>>("stop")?.map(|stop| stop.get().0.clone());
    let session = Session { seed, run_id, user_context: Some(user_context), place, stop, ..plain };
    Ok(Put { wanted, session, carried: Keeper(carried), watch: options.get("watch")? })
}

fn room(py: Python<'_>, place: &ThreadRef) -> PyResult<Arc<dyn ThreadPort>> {
    Ok(Arc::new(StoredThread::new(
        place.sealed_store(py)?,
        place.thread.as_str(),
        place.durability,
    )))
}

fn asked(question: &Bound<'_, PyAny>, file: Option<(String, Vec<u8>)>) -> PyResult<QuestionInput> {
    let py = question.py();
    let file = file.map(|(name, content)| Attachment::from_bytes(name, content)).transpose();
    let messages = match question.extract::<String>() {
        Ok(text) => serde_json::json!([{"role": "user", "content": text}]),
        Err(_) if question.is_instance_of::<PyList>() => crate::value::json::read(question)
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
    let asked = file.and_then(|file| QuestionInput::from_messages(&messages, file));
    asked.map_err(|fault| to_exception(py, &fault))
}

fn malformed(py: Python<'_>, complaint: &str, found: &str) -> PyErr {
    let message = format!("the question {complaint}: {found}");
    to_exception(py, &Fault::new(FaultCode::QuestionMalformed, message))
}
