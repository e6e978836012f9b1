//! One request to Python code that stands for a model.

use std::sync::Arc;

use antiphon_runtime::{CallContext, ReplyChunk};
use pyo3::prelude::*;

use crate::driver::cancel_callbacks::CancelCallbacks;

/// One request to Python code that stands for a model.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct ModelCall {
    cx: CallContext,
    on_cancel: Arc<CancelCallbacks>,
}

impl ModelCall {
    pub(crate) const fn new(cx: CallContext, on_cancel: Arc<CancelCallbacks>) -> Self {
        Self { cx, on_cancel }
    }
}

#[pymethods]
impl ModelCall {
    /// Whether somebody wants to see the reply piece by piece.
    #[getter]
    const fn watched(&self) -> bool {
        self.cx.chunks.is_some()
    }

    /// Shows a piece of a reply that is still being written.
    fn chunk(&self, text: String) {
        self.cx.emit(ReplyChunk::Text(text));
    }

    /// Has `callback` called, on some thread, once nobody waits for the reply.
    fn when_cancelled(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        self.on_cancel.add(py, callback)
    }
}
