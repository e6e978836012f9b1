//! Cancelling a question of a system, or a run of a sandbox, from outside.

use antiphon_runtime::CancellationToken;
use pyo3::prelude::*;

/// Cancels the question or the run of a sandbox that has it. What a question did until then stays
/// in its thread, which is free once the question has ended.
#[pyclass(module = "antiphon._antiphon", name = "CancellationToken", frozen)]
#[derive(Debug)]
pub(crate) struct PyCancellationToken(pub(crate) CancellationToken);

#[pymethods]
impl PyCancellationToken {
    #[new]
    fn new() -> Self {
        Self(CancellationToken::new())
    }

    /// Cancel; the first reason counts.
    fn cancel(&self, reason: &str) {
        self.0.cancel(reason);
    }

    /// The reason, once it was cancelled.
    #[getter]
    fn reason(&self) -> Option<String> {
        self.0.reason().map(|reason| reason.to_string())
    }
}
