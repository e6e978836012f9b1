//! What lists say of threads, as Python sees it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use antiphon_core::Time;
use antiphon_core::checkpoint::WriteSource;
use antiphon_stores::admin::{self, OpenQuestion};
use antiphon_stores::codec::{ByteReader, ValueCodec};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::fault::to_exception;
use crate::value::codec::ObjectCodec;

/// A thread, and what its last run has come to.
#[pyclass(module = "antiphon._antiphon", frozen, get_all, eq, skip_from_py_object)]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThreadSummary {
    /// The thread's name.
    thread: String,
    /// `running`: somebody writes to it. `paused`: it waits for answers, or for somebody to go
    /// on with an edited state. `ended`, `failed`: its last run is over. `orphaned`: that was
    /// lost. `empty`: nothing was written yet. `unreadable`: with this key at least. `foreign`:
    /// it holds no runs, but what `AntiphonSaver` keeps for LangGraph.
    status: String,
    /// How the run ended: `completed`, `budget`, `cancelled` or `failed`; none if it has not.
    outcome: Option<String>,
    /// Why it was cancelled, failed, or cannot be read, or which budget was spent.
    detail: String,
    /// The name of its graph.
    graph: String,
    /// The run's id.
    run_id: String,
    /// How many questions are open.
    questions: usize,
    /// Supersteps of the thread so far.
    steps: u64,
    /// When the first run that is still kept began, in UTC.
    began: SystemTime,
    /// When the thread was last written to, in UTC.
    at: SystemTime,
    /// Bytes of all that it holds.
    size: u64,
}

#[pymethods]
impl ThreadSummary {
    fn __repr__(&self) -> String {
        let Self { thread, status, graph, steps, size, .. } = self;
        format!("ThreadSummary({thread:?}, {status}, graph={graph:?}, steps={steps}, size={size})")
    }
}

impl From<&admin::ThreadSummary> for ThreadSummary {
    fn from(listed: &admin::ThreadSummary) -> Self {
        let admin::ThreadSummary { thread, status, asking, graph, run_id, step, began, at, size } =
            listed;
        Self {
            thread: thread.clone(),
            status: status.as_str().to_owned(),
            outcome: status.outcome().map(str::to_owned),
            detail: status.detail().to_owned(),
            graph: graph.clone(),
            run_id: run_id.clone(),
            questions: asking.len(),
            steps: *step,
            began: moment(*began),
            at: moment(*at),
            size: *size,
        }
    }
}

/// A run within its thread.
#[pyclass(module = "antiphon._antiphon", frozen, get_all, eq, skip_from_py_object)]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunSummary {
    /// The run's id.
    run_id: String,
    /// The name of its graph.
    graph: String,
    /// What it has come to, as `ThreadSummary.status` says.
    status: String,
    /// How it ended, as `ThreadSummary.outcome` says.
    outcome: Option<String>,
    /// Why, as `ThreadSummary.detail` says.
    detail: String,
    /// When it began, as far as that is kept, in UTC.
    began: SystemTime,
    /// When it was last written to, in UTC.
    at: SystemTime,
    /// How many of its checkpoints are kept.
    checkpoints: u64,
    /// Bytes of all that it has written and is kept.
    size: u64,
}

#[pymethods]
impl RunSummary {
    fn __repr__(&self) -> String {
        let Self { run_id, status, checkpoints, size, .. } = self;
        format!("RunSummary({run_id:?}, {status}, checkpoints={checkpoints}, size={size})")
    }
}

impl From<&admin::RunSummary> for RunSummary {
    fn from(turn: &admin::RunSummary) -> Self {
        let admin::RunSummary { run_id, graph, status, began, at, checkpoints, size } = turn;
        Self {
            run_id: run_id.clone(),
            graph: graph.clone(),
            status: status.as_str().to_owned(),
            outcome: status.outcome().map(str::to_owned),
            detail: status.detail().to_owned(),
            began: moment(*began),
            at: moment(*at),
            checkpoints: *checkpoints,
            size: *size,
        }
    }
}

/// A checkpoint of a thread, without its state.
#[pyclass(module = "antiphon._antiphon", frozen, get_all, eq, skip_from_py_object)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckpointSummary {
    /// What it is called.
    id: u64,
    /// The checkpoint before it; none for the first.
    parent: Option<u64>,
    /// Supersteps of the thread so far.
    step: u64,
    /// When it was written, in UTC.
    at: SystemTime,
    /// What led to it: `input`, `step` or `update`; none if that is not known any more.
    source: Option<String>,
    /// The nodes that ran for it, as far as that is known.
    ran: Vec<String>,
    /// The nodes that run next.
    next: Vec<String>,
    /// Bytes of what led to it.
    size: u64,
}

#[pymethods]
impl CheckpointSummary {
    fn __repr__(&self) -> String {
        let Self { id, step, ran, next, size, .. } = self;
        format!("CheckpointSummary({id}, step={step}, ran={ran:?}, next={next:?}, size={size})")
    }
}

impl From<&admin::CheckpointSummary> for CheckpointSummary {
    fn from(instant: &admin::CheckpointSummary) -> Self {
        let admin::CheckpointSummary { seq, parent, step, at, source, ran, next, size } = instant;
        let source = source.map(|source| match source {
            WriteSource::Begin | WriteSource::Turn => "input",
            WriteSource::Step => "step",
            WriteSource::Edit => "update",
        });
        Self {
            id: *seq,
            parent: Some(*parent).filter(|seq| *seq > 0),
            step: *step,
            at: moment(*at),
            source: source.map(str::to_owned),
            ran: ran.clone(),
            next: next.clone(),
            size: *size,
        }
    }
}

/// A thread in detail, as far as it can be read without its graph.
#[pyclass(module = "antiphon._antiphon", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct ThreadDetail {
    /// The thread as lists show it.
    summary: ThreadSummary,
    /// Its runs, newest first.
    runs: Vec<RunSummary>,
    /// Its checkpoints, newest first.
    checkpoints: Vec<CheckpointSummary>,
    /// The open questions: id, the nodes that lead to the one that asks, and what is asked.
    questions: Vec<(String, Vec<String>, Py<PyAny>)>,
    /// By key of the state: what was written to it last. Of a key with a rule of merging that
    /// may be a part of what it holds.
    written: Py<PyDict>,
}

#[pymethods]
impl ThreadDetail {
    fn __repr__(&self) -> String {
        let (summary, runs) = (self.summary.__repr__(), self.runs.len());
        format!("ThreadDetail({summary}, runs={runs}, checkpoints={})", self.checkpoints.len())
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.written)?;
        self.questions.iter().try_for_each(|(_, _, value)| visit.call(value))
    }
}

impl ThreadDetail {
    /// Values of types that Python does not have by itself stay unread.
    pub(crate) fn read(py: Python<'_>, detail: &admin::ThreadDetail) -> PyResult<Self> {
        let unread = py.import("antiphon._serialization.registry")?.getattr("UNREAD")?;
        let codec = ObjectCodec::new(unread.unbind());
        let read = |bytes: &[u8]| {
            let value = codec.read(&mut ByteReader::new(bytes));
            value.map(|value| value.0).map_err(|fault| to_exception(py, &fault))
        };
        let question = |asking: &OpenQuestion| {
            Ok((asking.id.clone(), asking.path.clone(), read(&asking.value)?))
        };
        let written = PyDict::new(py);
        for (channel, latest) in &detail.written {
            if let Some(value) = &latest.value {
                written.set_item(channel, read(value)?)?;
            }
        }
        Ok(Self {
            summary: (&detail.listed).into(),
            runs: detail.turns.iter().map(Into::into).collect(),
            checkpoints: detail.checkpoints.iter().map(Into::into).collect(),
            questions: detail.listed.asking.iter().map(question).collect::<PyResult<_>>()?,
            written: written.unbind(),
        })
    }
}

/// What pruning has removed, or would remove.
#[pyclass(module = "antiphon._antiphon", frozen, get_all, eq, skip_from_py_object)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PruneReport {
    /// How many threads were looked at.
    threads: u64,
    /// How many were removed whole.
    deleted: u64,
    /// How many entries were removed, those of removed threads included.
    entries: u64,
    /// Bytes of what they held.
    size: u64,
    /// Threads that somebody writes to, left as they are.
    busy: Vec<String>,
    /// Threads that were changed from outside, left as they are.
    damaged: Vec<String>,
}

#[pymethods]
impl PruneReport {
    fn __repr__(&self) -> String {
        let Self { threads, deleted, entries, size, busy, damaged } = self;
        format!(
            "PruneReport(threads={threads}, deleted={deleted}, entries={entries}, size={size}, \
             busy={busy:?}, damaged={damaged:?})"
        )
    }
}

/// What was written anew with another key.
#[pyclass(module = "antiphon._antiphon", frozen, get_all, eq, skip_from_py_object)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RekeyReport {
    /// How many threads were looked at.
    threads: u64,
    /// How many entries were written anew.
    entries: u64,
    /// Threads that somebody writes to, left as they are.
    busy: Vec<String>,
    /// Threads that none of the keys reads, or that were changed from outside, left as they are.
    damaged: Vec<String>,
}

#[pymethods]
impl RekeyReport {
    fn __repr__(&self) -> String {
        let Self { threads, entries, busy, damaged } = self;
        format!(
            "RekeyReport(threads={threads}, entries={entries}, busy={busy:?}, damaged={damaged:?})"
        )
    }
}

impl From<admin::RekeyReport> for RekeyReport {
    fn from(closed: admin::RekeyReport) -> Self {
        let admin::RekeyReport { threads, entries, busy, damaged } = closed;
        Self { threads, entries, busy, damaged }
    }
}

impl From<admin::PruneReport> for PruneReport {
    fn from(removed: admin::PruneReport) -> Self {
        let admin::PruneReport { threads, deleted, entries, bytes, busy, damaged } = removed;
        Self { threads, deleted, entries, size: bytes, busy, damaged }
    }
}

fn moment(at: Time) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(at.as_micros())
}
