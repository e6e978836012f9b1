//! Questions that code asks for a node.

use std::sync::OnceLock;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::driver::mailbox::Answer;

/// The first question that some code has asked without getting an answer. It pauses the
/// node also if the code catches the exception that carries it, and continues.
#[derive(Debug, Default)]
pub(crate) struct UnansweredQuestion(OnceLock<Question>);

/// A question, and its id in the run that the node has started, if that one asks it.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) value: Py<PyAny>,
    pub(crate) question_id: Option<String>,
}

impl Question {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { value: self.value.clone_ref(py), question_id: self.question_id.clone() }
    }

    /// What carries it out of a node.
    fn raised(&self, py: Python<'_>) -> PyResult<PyErr> {
        let kind =
            py.import(intern!(py, "antiphon._pause"))?.getattr(intern!(py, "Interrupted"))?;
        Ok(PyErr::from_value(kind.call1((&self.value, self.question_id.as_deref()))?))
    }

    /// The same, known to the call of the node that the code around here is part of.
    pub(crate) fn raised_in(&self, context: &Bound<'_, PyAny>) -> PyResult<PyErr> {
        let py = context.py();
        let pause = py.import(intern!(py, "antiphon._pause"))?;
        let about = (context, &self.value, self.question_id.as_deref());
        pause.call_method1(intern!(py, "keep_question"), about)?;
        self.raised(py)
    }
}

/// The idempotency key of the call of the node that the current code is part of.
pub(crate) fn scope_key(context: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let pause = context.py().import(intern!(context.py(), "antiphon._pause"))?;
    pause.call_method1(intern!(context.py(), "scope_key"), (context,))?.extract()
}

/// Whether an exception only carries a question, or a group of them nothing else.
fn carries_question(py: Python<'_>, error: &PyErr) -> bool {
    let carried = || {
        let pause = py.import(intern!(py, "antiphon._pause"))?;
        let found = pause.call_method1(intern!(py, "question_in"), (error.value(py),))?;
        found.hasattr(intern!(py, "__antiphon_question_id__"))
    };
    carried().unwrap_or(false)
}

impl UnansweredQuestion {
    /// Keeps a question, unless there is one.
    pub(crate) fn keep(&self, py: Python<'_>, question: &Question) {
        self.0.get_or_init(|| question.clone_ref(py));
    }

    /// The question, if there is one.
    pub(crate) fn get(&self) -> Option<&Question> {
        self.0.get()
    }

    /// What code has come to: one that returns a value, or carries a later question out,
    /// pauses for the first one.
    pub(crate) fn first_of(&self, py: Python<'_>, outcome: PyResult<Py<PyAny>>) -> Answer {
        match (self.get(), outcome) {
            (Some(question), Ok(_)) => {
                Answer::Raised(question.raised(py).unwrap_or_else(|error| error))
            }
            (Some(question), Err(error)) if carries_question(py, &error) => {
                Answer::Raised(question.raised(py).unwrap_or_else(|error| error))
            }
            (_, outcome) => outcome.into(),
        }
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.get().map_or(Ok(()), |question| visit.call(&question.value))
    }
}
