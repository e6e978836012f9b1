//! Questions that code asks for a node.

use std::sync::OnceLock;

use pyo3::intern;
use pyo3::prelude::*;

use crate::context::Context;
use crate::inbox::Answer;

/// The first question that some code has asked without getting an answer. It pauses the
/// node also if the code catches what carries it, and goes on as if nothing had been asked.
#[derive(Debug, Default)]
pub(crate) struct UnansweredQuestion(OnceLock<Question>);

/// A question, and its id in the run that the node has started, if that one asks it.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) value: Py<PyAny>,
    pub(crate) asker: Option<String>,
}

impl Question {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { value: self.value.clone_ref(py), asker: self.asker.clone() }
    }

    /// What carries it out of a node.
    fn raised(&self, py: Python<'_>) -> PyResult<PyErr> {
        let kind =
            py.import(intern!(py, "antiphon._pause"))?.getattr(intern!(py, "Interrupted"))?;
        Ok(PyErr::from_value(kind.call1((&self.value, self.asker.as_deref()))?))
    }

    /// The same, known to the call of the node that the code around here is part of.
    pub(crate) fn raised_in(&self, context: &Bound<'_, Context>) -> PyResult<PyErr> {
        let py = context.py();
        let asked = py.import(intern!(py, "antiphon._pause"))?.getattr(intern!(py, "asked"))?;
        asked.call1((context, &self.value, self.asker.as_deref()))?;
        self.raised(py)
    }
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

    /// What code that has returned a value has come to.
    pub(crate) fn or_returned(&self, py: Python<'_>, value: Py<PyAny>) -> Answer {
        match self.get() {
            None => Answer::Returned(value),
            Some(question) => Answer::Raised(question.raised(py).unwrap_or_else(|error| error)),
        }
    }
}
