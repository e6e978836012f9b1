//! Stopping a question from outside.

use antiphon_runtime::CancellationToken;
use pyo3::prelude::*;

/// Stops the question that it was put with: what it did until then stays in
/// its thread, which is free once the question has ended.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Stopper(pub(crate) CancellationToken);

#[pymethods]
impl Stopper {
    #[new]
    fn new() -> Self {
        Self(CancellationToken::new())
    }

    /// Stops the question; the first reason counts.
    fn stop(&self, reason: &str) {
        self.0.stop(reason);
    }
}
