//! Events as Python sees them.

use std::sync::Arc;

use antiphon_core::event::{Event as CoreEvent, EventKind};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// One thing that happened in a run.
///
/// `seq` counts from 1 without gaps, `at` is in seconds since the Unix epoch,
/// `path` names the nodes that lead to where it happened.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Event {
    run_id: Arc<str>,
    inner: CoreEvent,
}

impl Event {
    pub(crate) fn new(run_id: impl Into<Arc<str>>, inner: CoreEvent) -> Self {
        Self { run_id: run_id.into(), inner }
    }
}

/// The events of a run that may go on under the id it began with: its first
/// event says which that is.
#[derive(Debug)]
pub(crate) struct Named(Arc<str>);

impl Named {
    pub(crate) fn new(run_id: &str) -> Self {
        Self(run_id.into())
    }

    pub(crate) fn event(&mut self, inner: CoreEvent) -> Event {
        if inner.kind == EventKind::RunStarted && inner.path.is_empty() {
            self.0 = Arc::clone(&inner.name);
        }
        Event::new(Arc::clone(&self.0), inner)
    }
}

#[pymethods]
impl Event {
    /// The run it belongs to.
    #[getter]
    fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Counts from 1 within the run.
    #[getter]
    const fn seq(&self) -> u64 {
        self.inner.seq
    }

    /// Seconds since the Unix epoch.
    #[getter]
    #[expect(clippy::cast_precision_loss, reason = "microseconds fit a double until the year 2255")]
    const fn at(&self) -> f64 {
        self.inner.at.as_micros() as f64 / 1e6
    }

    /// The names of the nodes that lead to where it happened.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.path.iter().map(|name| &**name))
    }

    /// What happened, for instance `node_finished`.
    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize::pythonize(py, &self.inner.kind)?)
    }

    /// The node, tool, model or custom event it is about.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// Fields that depend on the kind.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize::pythonize(py, &self.inner.data)?)
    }

    /// `debug`, `info`, `warning` or `error`.
    #[getter]
    fn level<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize::pythonize(py, &self.inner.level)?)
    }

    /// One per execution of a node; 16 hexadecimal digits.
    #[getter]
    fn span_id(&self) -> &str {
        &self.inner.span_id
    }

    /// The span that contains this one.
    #[getter]
    fn parent_span_id(&self) -> Option<&str> {
        self.inner.parent_span_id.as_deref()
    }

    /// All of it as a dict of JSON values; `at` is RFC 3339 text.
    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = pythonize::pythonize(py, &self.inner)?.cast_into::<PyDict>()?;
        dict.set_item("run_id", &*self.run_id)?;
        dict.set_item("at", self.inner.at.to_string())?;
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        let path: Vec<&str> = self.inner.path.iter().map(|name| &**name).collect();
        format!(
            "Event(seq={}, kind={:?}, path={:?}, name={:?})",
            self.inner.seq, self.inner.kind, path, self.inner.name
        )
    }
}
