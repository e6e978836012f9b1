//! Cancelling a question from outside.

use antiphon_runtime::CancellationToken;
use pyo3::prelude::*;

/// Cancels the question that has it: what was done until then stays in the thread, which is free
/// once the question has ended.
#[pyclass(module = "antiphon._antiphon", name = "CancellationToken", frozen)]
#[derive(Debug)]
pub(crate) struct PyCancellationToken(pub(crate) CancellationToken);

#[pymethods]
impl PyCancellationToken {
    #[new]
    fn new() -> Self {
        Self(CancellationToken::new())
    }

    /// Cancel the question; the first reason counts.
    fn stop(&self, reason: &str) {
        self.0.cancel(reason);
    }
}
