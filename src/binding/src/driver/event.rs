//! Events as Python sees them.

use std::sync::{Arc, OnceLock};

use antiphon_core::Time;
use antiphon_core::event::{Event as CoreEvent, EventKind};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDateTime, PyDict, PyTuple, PyType, PyTzInfo};
use serde::de::DeserializeOwned;

use crate::value::json;

/// One thing that happened in a run.
///
/// Args:
///     `run_id`: the run it belongs to.
///     seq: counts from 1 within the run, without gaps.
///     at: when, in UTC.
///     path: the names of the nodes that lead to where it happened; empty for the run itself.
///     kind: what happened: `run_started`, `run_finished`, `node_started`, `node_finished`,
///         `edge_taken`, `state_updated`, `model_call`, `model_reply`, `output_repaired`,
///         `tool_call`, `tool_result`, `retry`, `budget`, `checkpoint`, `interrupt`, `error`,
///         `custom`, `chunk`, a piece of a model's reply with its text in `data["text"]`, or
///         `dropped`, the `count` of pieces that a slow reader missed.
///     name: the node, tool, model or custom event it is about.
///     data: fields that depend on the kind, made of JSON values.
///     level: `debug`, `info`, `warning` or `error`.
///     `span_id`: one per execution of a node; 16 hexadecimal digits.
///     `parent_span_id`: the span that contains this one; none for the run's own.
#[pyclass(module = "antiphon._antiphon", frozen, eq)]
#[derive(Debug)]
pub(crate) struct Event {
    run_id: Arc<str>,
    inner: CoreEvent,
    /// Made when somebody looks at it.
    data: OnceLock<Py<PyDict>>,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        (&self.run_id, &self.inner) == (&other.run_id, &other.inner)
    }
}

impl Event {
    pub(crate) fn new(run_id: impl Into<Arc<str>>, inner: CoreEvent) -> Self {
        Self { run_id: run_id.into(), inner, data: OnceLock::new() }
    }

    pub(crate) const fn inner(&self) -> &CoreEvent {
        &self.inner
    }
}

/// Converts the events of a run. A resumed run keeps the id that it was started with: its
/// first event names it.
#[derive(Debug)]
pub(crate) struct EventConverter(Arc<str>);

impl EventConverter {
    pub(crate) fn new(run_id: &str) -> Self {
        Self(run_id.into())
    }

    pub(crate) fn convert(&mut self, inner: CoreEvent) -> Event {
        if inner.kind == EventKind::RunStarted && inner.path.is_empty() {
            self.0 = Arc::clone(&inner.name);
        }
        Event::new(Arc::clone(&self.0), inner)
    }
}

#[pymethods]
impl Event {
    #[new]
    #[pyo3(signature = (
        run_id, seq, at, path, kind, name, data=None, level="info", span_id="", parent_span_id=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "a record")]
    fn from_fields(
        run_id: &str,
        seq: u64,
        at: &Bound<'_, PyDateTime>,
        path: Vec<String>,
        kind: &str,
        name: &str,
        data: Option<&Bound<'_, PyDict>>,
        level: &str,
        span_id: &str,
        parent_span_id: Option<String>,
    ) -> PyResult<Self> {
        let inner = CoreEvent {
            seq,
            at: time(at)?,
            path: path.into_iter().map(Arc::from).collect(),
            kind: named("kind", kind)?,
            name: name.into(),
            data: data.map(|data| json::read(data.as_any())).transpose()?.unwrap_or_default(),
            level: named("level", level)?,
            span_id: span_id.to_owned(),
            parent_span_id,
        };
        Ok(Self::new(run_id, inner))
    }

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

    /// When, in UTC.
    #[getter]
    #[expect(clippy::cast_precision_loss, reason = "microseconds fit a double until the year 2255")]
    fn at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDateTime>> {
        let seconds = self.inner.at.as_micros() as f64 / 1e6;
        PyDateTime::from_timestamp(py, seconds, Some(&*PyTzInfo::utc(py)?))
    }

    /// The names of the nodes that lead to where it happened; empty for the run itself.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.path.iter().map(|name| &**name))
    }

    /// What happened, for instance `node_finished`.
    #[getter]
    fn kind(&self) -> String {
        word(self.inner.kind)
    }

    /// The node, tool, model or custom event it is about.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// Fields that depend on the kind.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if let Some(data) = self.data.get() {
            return Ok(data.bind(py).clone());
        }
        let made = pythonize::pythonize(py, &self.inner.data)?.cast_into::<PyDict>()?;
        Ok(self.data.get_or_init(|| made.unbind()).bind(py).clone())
    }

    /// `debug`, `info`, `warning` or `error`.
    #[getter]
    fn level(&self) -> String {
        word(self.inner.level)
    }

    /// One per execution of a node; 16 hexadecimal digits.
    #[getter]
    fn span_id(&self) -> &str {
        &self.inner.span_id
    }

    /// The span that contains this one; none for the run's own.
    #[getter]
    fn parent_span_id(&self) -> Option<&str> {
        self.inner.parent_span_id.as_deref()
    }

    /// The node it happened in; empty for the run itself.
    #[getter]
    fn agent(&self) -> &str {
        let node = self.inner.path.last().map_or("", |name| &**name);
        node.split('#').next().unwrap_or_default()
    }

    /// The piece of a model's reply, if it is a `chunk`; else empty.
    #[getter]
    fn text(&self) -> &str {
        let text = self.inner.data.get("text").filter(|_| self.inner.kind == EventKind::Chunk);
        text.and_then(serde_json::Value::as_str).unwrap_or_default()
    }

    /// All of it as a dict of JSON values; `at` is RFC 3339 text with microseconds.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "run_id"), &*self.run_id)?;
        dict.update(pythonize::pythonize(py, &self.inner)?.cast_into::<PyDict>()?.as_mapping())?;
        dict.set_item(intern!(py, "at"), self.inner.at.to_string())?;
        Ok(dict)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        let fields = (
            this.run_id(),
            this.seq(),
            this.at(py)?,
            this.path(py)?,
            this.kind(),
            this.name(),
            this.data(py)?,
            this.level(),
            this.span_id(),
            this.parent_span_id(),
        );
        Ok((slf.get_type(), fields.into_pyobject(py)?))
    }

    fn __str__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let text = slf.py().import(intern!(slf.py(), "antiphon._watch.line"))?;
        text.call_method1(intern!(slf.py(), "event_line"), (slf,))?.extract()
    }

    fn __repr__(&self) -> String {
        let path: Vec<&str> = self.inner.path.iter().map(|name| &**name).collect();
        format!(
            "Event(seq={}, kind={:?}, path={:?}, name={:?})",
            self.inner.seq,
            self.kind(),
            path,
            self.inner.name
        )
    }
}

/// A kind or a level as it is written.
fn word(value: impl serde::Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

fn named<T: DeserializeOwned>(field: &str, given: &str) -> PyResult<T> {
    let unknown = |_| PyValueError::new_err(format!("unknown {field} of an event: {given}"));
    serde_json::from_value(given.into()).map_err(unknown)
}

/// The instant of a `datetime`.
fn time(at: &Bound<'_, PyDateTime>) -> PyResult<Time> {
    let seconds: f64 = at.call_method0(intern!(at.py(), "timestamp"))?.extract()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "instants after 1970 fit; earlier ones become the first"
    )]
    Ok(Time::from_micros((seconds * 1e6).round() as u64))
}
