//! The Python objects that go with a question to a native system.

use std::sync::{Arc, Mutex, PoisonError};

use antiphon_runtime::UserContext;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;

/// The detail of a fault that holds the number of its exception.
pub(crate) const RAISED: &str = "raised";

/// The user context of a question that Python asks.
#[derive(Debug)]
pub(crate) struct PyUserContext {
    pub(crate) value: Py<PyAny>,
    /// The exceptions of roles: faults refer to them by number.
    raised: Mutex<Vec<Py<PyBaseException>>>,
}

impl PyUserContext {
    pub(crate) fn new(value: Py<PyAny>) -> Self {
        Self { value, raised: Mutex::default() }
    }

    /// Keeps an exception; its number is above 0.
    pub(crate) fn keep(&self, error: Py<PyBaseException>) -> usize {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.push(error);
        raised.len()
    }

    /// The exception of that number.
    pub(crate) fn raised(&self, py: Python<'_>, number: usize) -> Option<Py<PyBaseException>> {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get(number.checked_sub(1)?).map(|error| error.clone_ref(py))
    }

    /// That of a question of this binding.
    pub(crate) fn of(user_context: Option<&UserContext>) -> Option<Arc<Self>> {
        Arc::clone(user_context?).downcast::<Self>().ok()
    }
}

/// Drops the exceptions once the question is over: their frames hold contexts of roles, which
/// hold the user context, which holds the exceptions.
pub(crate) struct ExceptionGuard(pub(crate) Arc<PyUserContext>);

impl Drop for ExceptionGuard {
    fn drop(&mut self) {
        self.0.raised.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
