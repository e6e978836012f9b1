//! A checkpoint as Python sees it.

use antiphon_core::channel::ChannelId;
use antiphon_core::checkpoint::{RecoveredRun, TaskSnapshot, TaskSnapshotState, WriteSource};
use antiphon_core::effect::{Effect, Ending, Question};
use antiphon_core::run::{Options, Run as Machine};
use antiphon_core::{Fault, Seed, Time};
use antiphon_stores::history::upcoming_nodes;
use antiphon_stores::{CheckpointView, HistoryPage, HistoryReader};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::driver::show;
use crate::fault::{as_dict, to_exception};
use crate::graph::engine::Engine;
use crate::graph::host::Host;
use crate::graph::rules::PyRules;
use crate::thread::place::Place;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// How the checkpoints of a thread are shown.
#[derive(Debug)]
pub(crate) struct View {
    live: bool,
    values: ObjectCodec,
}

/// A view of a thread, and what reads it from the checkpoint of a place back, or from its end.
pub(crate) fn open_history(
    place: &Bound<'_, Place>,
    live: bool,
) -> PyResult<(View, HistoryReader<Object>)> {
    let py = place.py();
    let this = place.get();
    let reader = HistoryReader::new(this.sealed_store(py)?, &this.thread, this.checkpoint);
    Ok((View { live, values: this.values(py)? }, reader))
}

impl View {
    /// Adds the next checkpoints to a list, newest first, as dicts, at most so many; says
    /// whether there were any without loading more.
    pub(crate) fn add_page(
        &self,
        engine: &Bound<'_, Engine>,
        reader: &mut HistoryReader<Object>,
        (list, most): (&Bound<'_, PyList>, usize),
    ) -> PyResult<bool> {
        let py = engine.py();
        let page = reader.page(&engine.get().graph, &self.values, most);
        let Some(page) = page.map_err(|fault| to_exception(py, &fault))? else { return Ok(false) };
        let HistoryPage { checkpoints, tip } = page;
        let mut live = tip.filter(|_| self.live);
        for checkpoint in &checkpoints {
            list.append(picture(engine, checkpoint, live.take())?)?;
        }
        Ok(true)
    }
}

type Shot = CheckpointView<Object>;

fn picture<'py>(
    engine: &Bound<'py, Engine>,
    shot: &Shot,
    live: Option<RecoveredRun<Object>>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = engine.py();
    let graph = &engine.get().graph;
    let dict = PyDict::new(py);
    let is_live = live.is_some();
    let is_paused = live.as_ref().is_some_and(RecoveredRun::is_paused);
    let seed = shot.header.as_ref().map_or_else(Seed::default, |header| header.seed);
    let open: Vec<_> = upcoming_nodes(graph, &shot.graph_snapshot)
        .into_iter()
        .zip(0_u32..)
        .map(|(node, slot)| (node, seed.task(shot.graph_snapshot.step + 1, slot)))
        .collect();
    let tasks = PyList::empty(py);
    let upcoming = PyList::empty(py);
    for (node, seed) in open {
        let name = graph.node_name(Some(node));
        let task = Task { engine, shot, seed, name: &name, is_live };
        if !(is_live && task.is_finished()) {
            upcoming.append(&*name)?;
        }
        tasks.append(task.shown()?)?;
    }
    dict.set_item("checkpoint", shot.seq)?;
    dict.set_item("parent", Some(shot.parent).filter(|seq| *seq > 0))?;
    dict.set_item("at", seconds(shot.at))?;
    dict.set_item("step", shot.graph_snapshot.step)?;
    dict.set_item("source", source(shot.source))?;
    dict.set_item("run_id", shot.header.as_ref().map(|header| &*header.run_id))?;
    dict.set_item("values", values(engine, shot, live)?)?;
    dict.set_item("next", upcoming.to_tuple())?;
    let wrote = shot.wrote.iter().map(|node| graph.node_name(Some(*node)).to_string());
    dict.set_item("wrote", PyTuple::new(py, wrote.collect::<Vec<_>>())?)?;
    dict.set_item("tasks", tasks.to_tuple())?;
    dict.set_item("outcome", shot.ended.as_ref().map(outcome))?;
    dict.set_item("detail", shot.ended.as_ref().map(detail))?;
    let fault = shot.ended.as_ref().and_then(|ended| ended.as_ref().err());
    dict.set_item("fault", fault.map(|fault| as_dict(py, fault)))?;
    dict.set_item("paused", is_paused)?;
    Ok(dict)
}

/// A task of the superstep after a checkpoint.
struct Task<'a, 'py> {
    engine: &'a Bound<'py, Engine>,
    shot: &'a Shot,
    seed: Seed,
    name: &'a str,
    is_live: bool,
}

impl<'py> Task<'_, 'py> {
    fn is_finished(&self) -> bool {
        let kept = self.shot.tasks.get(&self.seed.number());
        kept.is_some_and(|kept| matches!(kept.state, Some(TaskSnapshotState::Finished(_))))
    }

    fn shown(&self) -> PyResult<Bound<'py, PyDict>> {
        let py = self.engine.py();
        let task = PyDict::new(py);
        task.set_item("id", self.seed.stable_uuid())?;
        task.set_item("name", self.name)?;
        task.set_item("interrupts", self.questions(py)?)?;
        let kept = self.shot.tasks.get(&self.seed.number());
        let result = match kept.and_then(|kept| kept.state.as_ref()) {
            Some(TaskSnapshotState::Finished(update)) => {
                let written = show::written(self.engine, update)?;
                Some(written.unwrap_or_else(|| PyDict::new(py).into_any()))
            }
            _ => None,
        };
        task.set_item("result", result)?;
        task.set_item("error", self.error())?;
        Ok(task)
    }

    /// What it asks now, or has asked last.
    fn questions(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let tuple = |question: &Question<Object>| {
            let path = PyTuple::new(py, &question.path)?;
            (&question.id, path, &question.value.0).into_pyobject(py)
        };
        let key = self.seed.number();
        let asked = if self.is_live {
            let own = |kept: &&TaskSnapshot<Object>| {
                kept.within.first().map_or(kept.task.key, |level| level.key) == key
            };
            let mut open: Vec<_> = self.shot.tasks.values().filter(own).collect();
            open.sort_by_key(|kept| (kept.within.len(), kept.task.slot));
            let open = open.into_iter().filter_map(|kept| match &kept.state {
                Some(TaskSnapshotState::Asked(question)) => Some(tuple(question)),
                _ => None,
            });
            open.collect::<PyResult<Vec<_>>>()?
        } else {
            let asked = self.shot.asked.get(&key).map_or(&[][..], Vec::as_slice);
            asked.iter().map(|(_, asked)| tuple(asked)).collect::<PyResult<Vec<_>>>()?
        };
        PyTuple::new(py, asked)
    }

    fn error(&self) -> Option<&str> {
        let Some(Err(fault)) = &self.shot.ended else { return None };
        let node = fault.details.get("node").and_then(serde_json::Value::as_str);
        (node == Some(self.name)).then_some(&fault.message)
    }
}

/// The state at a checkpoint; if it is `live`, with what tasks that are done
/// since have written.
fn values<'py>(
    engine: &Bound<'py, Engine>,
    shot: &Shot,
    live: Option<RecoveredRun<Object>>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = engine.py();
    let mut written = Vec::new();
    if let Some(memory) = live.filter(|_| !shot.tasks.is_empty()) {
        let seed = shot.header.as_ref().map_or_else(Seed::default, |header| header.seed);
        let options = Options { seed, ..Options::default() };
        let graph = std::sync::Arc::clone(&engine.get().graph);
        let mut machine = Machine::resume(graph, memory, options, shot.at);
        let mut host = Host::new(py, engine);
        let mut rules = PyRules { py, host: &mut host };
        // It lines its tasks up, and none of them is run.
        let _: Effect<Object> = machine.step(shot.at, &mut rules);
        if let Ok(preview) = machine.preview(&mut rules) {
            written = preview;
        }
    }
    let dict = PyDict::new(py);
    for (key, id) in engine.get().keys.iter().zip((0_u32..).map(ChannelId)) {
        let newer = written.iter().find(|(channel, _)| *channel == id).map(|(_, value)| value);
        if let Some(value) = newer.or_else(|| shot.graph_snapshot.state.get(id)) {
            dict.set_item(&key.name, &value.0)?;
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

fn outcome(ended: &Result<Ending, Fault>) -> &'static str {
    match ended {
        Ok(Ending::Completed) => "completed",
        Ok(Ending::Budget(_)) => "budget",
        Ok(Ending::Cancelled(_)) => "cancelled",
        Err(_) => "failed",
    }
}

fn detail(ended: &Result<Ending, Fault>) -> &str {
    match ended {
        Ok(Ending::Completed) => "",
        Ok(Ending::Budget(dimension)) => dimension.as_str(),
        Ok(Ending::Cancelled(reason)) => reason,
        Err(fault) => &fault.message,
    }
}

#[expect(clippy::cast_precision_loss, reason = "microseconds fit a double until the year 2255")]
fn seconds(at: Time) -> f64 {
    at.as_micros() as f64 / 1e6
}
