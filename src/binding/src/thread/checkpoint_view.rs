//! A checkpoint as a dict.

use antiphon_core::Time;
use antiphon_core::channel::ChannelId;
use antiphon_core::checkpoint::{RecoveredRun, WriteSource};
use antiphon_core::effect::Question;
use antiphon_stores::{CheckpointView, TaskView};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::fault::as_dict;
use crate::thread::values::ThreadValues;

/// A checkpoint as a dict. `tip` is what its thread holds at the end, if this is the last one
/// and its tasks are to be shown as they are now.
pub(crate) fn as_py_dict<'py, T: ThreadValues>(
    py: Python<'py>,
    thread: &T,
    view: &CheckpointView<T::Value>,
    tip: Option<RecoveredRun<T::Value>>,
) -> PyResult<Bound<'py, PyDict>> {
    let graph = thread.graph();
    let is_last = tip.is_some();
    let tasks = PyList::empty(py);
    let upcoming = PyList::empty(py);
    for task in view.tasks(graph, is_last) {
        if !(is_last && task.written.is_some()) {
            upcoming.append(&task.name)?;
        }
        tasks.append(task_dict(py, thread, &task)?)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("checkpoint", view.seq)?;
    dict.set_item("parent", Some(view.parent).filter(|seq| *seq > 0))?;
    dict.set_item("at", seconds(view.at))?;
    dict.set_item("step", view.graph_snapshot.step)?;
    dict.set_item("source", source(view.source))?;
    dict.set_item("run_id", view.header.as_ref().map(|header| &*header.run_id))?;
    dict.set_item("paused", tip.as_ref().is_some_and(RecoveredRun::is_paused))?;
    dict.set_item("values", values(py, thread, view, tip)?)?;
    dict.set_item("next", upcoming.to_tuple())?;
    let wrote = view.wrote.iter().map(|node| graph.node_name(Some(*node)).to_string());
    dict.set_item("wrote", PyTuple::new(py, wrote.collect::<Vec<_>>())?)?;
    dict.set_item("tasks", tasks.to_tuple())?;
    dict.set_item("outcome", view.outcome())?;
    dict.set_item("reason", view.reason())?;
    dict.set_item("fault", view.fault().map(|fault| as_dict(py, fault)))?;
    Ok(dict)
}

fn task_dict<'py, T: ThreadValues>(
    py: Python<'py>,
    thread: &T,
    task: &TaskView<'_, T::Value>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("id", &task.id)?;
    dict.set_item("name", &task.name)?;
    let question = |question: &&Question<T::Value>| {
        let path = PyTuple::new(py, &question.path)?;
        (&question.id, path, thread.value(py, &question.value)?).into_pyobject(py)
    };
    let questions = task.questions.iter().map(question).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("interrupts", PyTuple::new(py, questions)?)?;
    let result = match task.written {
        Some(update) => {
            let written = thread.written(py, update)?;
            Some(written.unwrap_or_else(|| PyDict::new(py).into_any()))
        }
        None => None,
    };
    dict.set_item("result", result)?;
    dict.set_item("error", task.fault.map(|fault| &fault.message))?;
    Ok(dict)
}

/// The state at a checkpoint; at the tip with what its finished tasks have written.
fn values<'py, T: ThreadValues>(
    py: Python<'py>,
    thread: &T,
    view: &CheckpointView<T::Value>,
    tip: Option<RecoveredRun<T::Value>>,
) -> PyResult<Bound<'py, PyDict>> {
    let newer = tip.map_or_else(Vec::new, |tip| thread.preview(py, view, tip));
    let dict = PyDict::new(py);
    for (channel, id) in thread.graph().channels().iter().zip((0_u32..).map(ChannelId)) {
        let newer = newer.iter().find(|(channel, _)| *channel == id).map(|(_, value)| value);
        if let Some(value) = newer.or_else(|| view.graph_snapshot.state.get(id)) {
            dict.set_item(&*channel.name, thread.value(py, value)?)?;
        }
    }
    Ok(dict)
}

const fn source(source: WriteSource) -> &'static str {
    match source {
        WriteSource::Begin | WriteSource::Turn => "input",
        WriteSource::Step => "loop",
        WriteSource::Edit => "update",
    }
}

#[expect(clippy::cast_precision_loss, reason = "microseconds fit a double until the year 2255")]
fn seconds(at: Time) -> f64 {
    at.as_micros() as f64 / 1e6
}
