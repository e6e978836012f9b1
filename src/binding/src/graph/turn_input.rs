//! What a run on a thread is given: one thing if the thread is new, another if
//! it holds something already.

use antiphon_core::channel::{Write, WriteOp};
use antiphon_core::command::Update;
use pyo3::exceptions::{PyBaseException, PyValueError};
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::graph::engine::Engine;
use crate::graph::update;
use crate::value::object::Object;

/// The input of a run on a thread that may be new.
///
/// Args:
///     first: the writes if the thread is new; or an exception to be raised then.
///     further: the writes if it holds something already; or an exception to be raised then.
///     `reset_keys`: keys that begin at their defaults again before `further`.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct TurnInput {
    first: Py<PyAny>,
    further: Py<PyAny>,
    reset_keys: Vec<String>,
}

#[pymethods]
impl TurnInput {
    #[new]
    #[pyo3(signature = (first, further, *, reset_keys=Vec::new()))]
    const fn new(first: Py<PyAny>, further: Py<PyAny>, reset_keys: Vec<String>) -> Self {
        Self { first, further, reset_keys }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.first)?;
        visit.call(&self.further)
    }
}

/// An input as the engine takes it.
#[derive(Debug)]
pub(crate) struct ThreadInput {
    first: Result<Update<Object>, Py<PyBaseException>>,
    /// The same as the first by default.
    further: Option<Result<Update<Object>, Py<PyBaseException>>>,
}

impl ThreadInput {
    /// Reads what a run is started with.
    pub(crate) fn read(engine: &Bound<'_, Engine>, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(turn) = given.cast::<TurnInput>() else {
            return update::input(engine, given).map(Self::plain);
        };
        let py = engine.py();
        let turn = turn.get();
        let first = match turn.first.bind(py).cast::<PyBaseException>() {
            Ok(error) => Err(error.clone().unbind()),
            Err(_) => Ok(update::input(engine, turn.first.bind(py))?),
        };
        let given = turn.further.bind(py);
        if let Ok(error) = given.cast::<PyBaseException>() {
            return Ok(Self { first, further: Some(Err(error.clone().unbind())) });
        }
        let mut further = Update::default();
        for key in &turn.reset_keys {
            let unknown = || PyValueError::new_err(format!("unknown key of the state: {key}"));
            let channel = engine.get().graph.channel_id(key).ok_or_else(unknown)?;
            further.writes.push(Write { channel, op: WriteOp::Reset });
        }
        update::writes(engine, given.cast()?, &mut further)?;
        Ok(Self { first, further: Some(Ok(further)) })
    }

    /// The same input wherever it comes.
    pub(crate) const fn plain(update: Update<Object>) -> Self {
        Self { first: Ok(update), further: None }
    }

    /// Why it cannot be the input of a thread that is new, or holds something, if it cannot.
    pub(crate) fn refusal(&self, py: Python<'_>, is_new: bool) -> Option<PyErr> {
        let input = self.further.as_ref().filter(|_| !is_new).unwrap_or(&self.first);
        let error = input.as_ref().err()?;
        Some(PyErr::from_value(error.bind(py).clone().into_any()))
    }

    /// The input of a new thread.
    pub(crate) fn first(self) -> Update<Object> {
        self.first.unwrap_or_default()
    }

    /// The input of a further run on a thread.
    pub(crate) fn further(self) -> Update<Object> {
        self.further.unwrap_or(self.first).unwrap_or_default()
    }
}
