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

/// A thread, with the status of its last run.
#[pyclass(module = "antiphon._antiphon", frozen, get_all, eq, skip_from_py_object)]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThreadSummary {
    /// The thread's name.
    thread: String,
    /// `running`: a run is writing to it. `paused`: it waits for answers, or was edited and not yet
    /// resumed. `ended`, `failed`: its last run is over. `orphaned`: the process of its last run is
    /// gone. `empty`: nothing was written yet. `unreadable`, at least with this key. `foreign`:
    /// written by LangGraph through `AntiphonSaver`.
    status: String,
    /// How the run ended: `completed`, `budget`, `cancelled` or `failed`; `None` if it has not.
    outcome: Option<String>,
    /// The reason of a cancellation or failure, why it cannot be read, or the spent budget.
    reason: String,
    /// The name of its graph.
    graph: String,
    /// The run's id.
    run_id: String,
    /// The number of open questions.
    questions: usize,
    /// Supersteps of the thread so far.
    steps: u64,
    /// When the first stored run started, in UTC.
    began: SystemTime,
    /// When the thread was last written to, in UTC.
    at: SystemTime,
    /// The size of the thread in bytes.
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
            reason: status.reason().to_owned(),
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
    /// The status, as in `ThreadSummary.status`.
    status: String,
    /// How it ended, as in `ThreadSummary.outcome`.
    outcome: Option<String>,
    /// The reason, as in `ThreadSummary.reason`.
    reason: String,
    /// When it started, in UTC, if that is still stored.
    began: SystemTime,
    /// When it was last written to, in UTC.
    at: SystemTime,
    /// The number of stored checkpoints.
    checkpoints: u64,
    /// The size of its stored entries in bytes.
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
            reason: status.reason().to_owned(),
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
    /// The checkpoint's id.
    id: u64,
    /// The id of the checkpoint before it; `None` for the first.
    parent: Option<u64>,
    /// Supersteps of the thread so far.
    step: u64,
    /// When it was written, in UTC.
    at: SystemTime,
    /// The cause: `input`, `step` or `update`; `None` if unknown.
    source: Option<String>,
    /// The nodes that ran before it, if known.
    ran: Vec<String>,
    /// The nodes that run next.
    next: Vec<String>,
    /// The size of its entries in bytes.
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
    /// The thread as in lists.
    summary: ThreadSummary,
    /// Its runs, newest first.
    runs: Vec<RunSummary>,
    /// Its checkpoints, newest first.
    checkpoints: Vec<CheckpointSummary>,
    /// The open questions: id, path of the node that asks, and the question.
    questions: Vec<(String, Vec<String>, Py<PyAny>)>,
    /// The last value written to each key of the state; for a key with a reducer, only a part of its
    /// value.
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

/// The result of pruning.
#[pyclass(module = "antiphon._antiphon", frozen, get_all, eq, skip_from_py_object)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PruneReport {
    /// The number of examined threads.
    threads: u64,
    /// The number of deleted threads.
    deleted: u64,
    /// The number of removed entries, including those of deleted threads.
    entries: u64,
    /// The size of the removed entries in bytes.
    size: u64,
    /// Threads that were skipped because a run is writing to them.
    busy: Vec<String>,
    /// Damaged threads, which were skipped.
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

/// The result of a key rotation.
#[pyclass(module = "antiphon._antiphon", frozen, get_all, eq, skip_from_py_object)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RekeyReport {
    /// The number of examined threads.
    threads: u64,
    /// The number of re-encrypted entries.
    entries: u64,
    /// Threads that were skipped because a run is writing to them.
    busy: Vec<String>,
    /// Threads that no key can read, or that are damaged; they were skipped.
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
