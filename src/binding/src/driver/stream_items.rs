//! Showing what the engine tells: how tasks begin and end, and the states of
//! nested graphs.

use antiphon_core::Fault;
use antiphon_core::channel::WriteOp;
use antiphon_core::command::Update;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Heartbeat, NodeId};
use antiphon_core::notice::{NestedSnapshot, Notice, TaskLocation, TaskNotice, TaskProgress};
use antiphon_core::task::{TaskId, TaskInput, TaskOutcome};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::driver::mailbox::{Emission, EmittedItem};
use crate::driver::run_state::RunState;
use crate::driver::stream_options::{Item, Mode};
use crate::fault::to_exception;
use crate::ffi;
use crate::graph::engine::Engine;
use crate::graph::rules::PyRules;
use crate::value::json;
use crate::value::object::Object;

impl RunState {
    /// Shows what came of a task, if it wrote something.
    pub(crate) fn show_outcome(
        &mut self,
        engine: &Bound<'_, Engine>,
        id: TaskId,
        outcome: &TaskOutcome<Object>,
    ) -> PyResult<()> {
        let TaskOutcome::Done(update) = outcome else { return Ok(()) };
        match self.machine.node_of(id) {
            Some(node) => self.show_update(engine, (id.scope, node), update),
            None => Ok(()),
        }
    }

    fn show_update(
        &mut self,
        engine: &Bound<'_, Engine>,
        (scope, node): (u32, NodeId),
        update: &Update<Object>,
    ) -> PyResult<()> {
        let item = updated(engine, node, update)?;
        self.stream.show(engine.py(), item, self.machine.namespace(scope))
    }

    /// Takes over what a node tells: all but an event of a call in it counts as progress.
    pub(crate) fn emit(&mut self, py: Python<'_>, emitted: Emission) -> PyResult<()> {
        let Emission { id, item } = emitted;
        let sign = match item {
            EmittedItem::Event(..) => None,
            EmittedItem::Heartbeat(sign) => Some(sign),
            _ => Some(Heartbeat::Progress),
        };
        if let Some(sign) = sign {
            self.machine.record_heartbeat(id, sign, self.now);
        }
        let (item, below) = match item {
            EmittedItem::Custom(payload, name) => {
                if self.stream.wants_events() {
                    self.note(id, payload.bind(py), name.as_deref());
                }
                (Item::Custom(payload), Vec::new())
            }
            EmittedItem::Relayed(event) => {
                self.machine.relay(id, event);
                return Ok(());
            }
            EmittedItem::Chunk(chunk) => {
                let (kind, name, data) = chunk.into_event();
                self.machine.note(id, kind, name, data);
                return Ok(());
            }
            EmittedItem::Event(name, data) => {
                self.machine.note(id, EventKind::Custom, name, data);
                return Ok(());
            }
            EmittedItem::Heartbeat(_) => return Ok(()),
            EmittedItem::Token(reader, payload) => (Item::Token(reader, payload), Vec::new()),
            EmittedItem::Nested(item, below) => (item, below),
        };
        let mut space = self.machine.namespace(id.scope);
        space.extend(below);
        self.stream.show(py, item, space)
    }

    fn note(&mut self, id: TaskId, payload: &Bound<'_, PyAny>, name: Option<&str>) {
        let data = json::read(payload);
        let data = data.unwrap_or_else(|_| serde_json::Value::String(repr_or_type(payload)));
        self.machine.note(id, EventKind::Custom, name.unwrap_or("custom"), data);
    }

    /// Turns the notices of the engine since the last call into items.
    pub(crate) fn show_notices(&mut self, py: Python<'_>) -> PyResult<()> {
        let notices = self.machine.take_notices();
        if notices.is_empty() {
            return Ok(());
        }
        for notice in notices {
            match notice {
                Notice::NestedUpdate(scope, node, update) => {
                    if let Some(engine) = self.engine(py, scope) {
                        self.show_update(&engine, (scope, node), &update)?;
                    }
                }
                Notice::Merged => self.show_values(py)?,
                Notice::MergedWithin(within) => self.show_within(py, &within)?,
                Notice::Task(task) => self.show_task(py, &task)?,
            }
        }
        Ok(())
    }

    /// The state of the run's own graph, as an item.
    pub(crate) fn show_values(&mut self, py: Python<'_>) -> PyResult<()> {
        let values = self.values(py)?.unbind();
        self.stream.show(py, Item::Values(values), Vec::new())
    }

    /// The state with what the finished tasks of the present superstep have
    /// written, if they have written anything.
    pub(crate) fn preview<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let mut rules = PyRules { py, host: &mut self.host };
        let previewed = self.machine.preview(&mut rules);
        let changed = previewed.map_err(|fault| PyErr::from_value(self.raised(py, &fault)))?;
        let Some(engine) = self.engine(py, 0).filter(|_| !changed.is_empty()) else {
            return Ok(None);
        };
        let values = self.values(py)?;
        for (channel, value) in changed {
            if let Some(key) = engine.get().key(channel) {
                engine.get().set_in_order(&values, &key.name, value.0.bind(py))?;
            }
        }
        Ok(Some(values))
    }

    fn show_within(&mut self, py: Python<'_>, within: &NestedSnapshot<Object>) -> PyResult<()> {
        let engine = self.host.engine(py, &within.graph)?;
        let values = dict(engine, &within.state)?.unbind();
        self.stream.show(py, Item::Values(values), within.namespace.clone())
    }

    fn show_task(&mut self, py: Python<'_>, task: &TaskNotice<Object>) -> PyResult<()> {
        let TaskNotice { location, progress } = task;
        let engine = self.host.engine(py, &location.graph)?.clone();
        let name = location.graph.node_name(Some(location.node));
        let payload = PyDict::new(py);
        payload.set_item(intern!(py, "id"), &location.id)?;
        payload.set_item(intern!(py, "name"), &*name)?;
        if let TaskProgress::Started(input, state) = progress {
            payload.set_item(intern!(py, "input"), given(&engine, location, input, state)?)?;
            payload.set_item(intern!(py, "triggers"), triggers(py, location)?)?;
        } else {
            let (result, interrupts) = (PyDict::new(py), PyList::empty(py));
            let mut error = None;
            match progress {
                TaskProgress::Done(update) => collect(&engine, update, &result)?,
                TaskProgress::Failed(fault) => error = Some(self.raised(py, fault)),
                TaskProgress::Asked(questions) => {
                    for question in questions {
                        let asked = PyDict::new(py);
                        asked.set_item(intern!(py, "value"), &question.value.0)?;
                        asked.set_item(intern!(py, "id"), &question.id)?;
                        interrupts.append(asked)?;
                    }
                }
                TaskProgress::Started(..) => {}
            }
            payload.set_item(intern!(py, "error"), error)?;
            payload.set_item(intern!(py, "result"), result)?;
            payload.set_item(intern!(py, "interrupts"), interrupts)?;
        }
        if let (TaskProgress::Done(update), true) = (progress, self.stream.has(Mode::Updates)) {
            let item = updated(&engine, location.node, update)?;
            self.stream.show(py, item, location.namespace.clone())?;
        }
        self.stream.tell_task(&payload)?;
        let item = (location.step, location.send, payload).into_pyobject(py)?;
        let item = Item::Task(item.into_any().unbind());
        if matches!(progress, TaskProgress::Asked(_)) && self.session.is_none() {
            // A run that a node has started, and no store keeps: the node's own run asks the
            // question, under an id that takes an answer, once its store holds it.
            self.stream.show_here(py, &item, &location.namespace)?;
        } else {
            self.stream.show(py, item, location.namespace.clone())?;
        }
        Ok(())
    }

    /// The exception behind a fault.
    fn raised<'py>(&self, py: Python<'py>, fault: &Fault) -> Bound<'py, PyAny> {
        match self.host.raised(fault) {
            Some(error) => error.bind(py).clone().into_any(),
            None => to_exception(py, fault).into_value(py).into_bound(py).into_any(),
        }
    }
}

/// The `repr` of a value that is no JSON; its type if that fails.
fn repr_or_type(payload: &Bound<'_, PyAny>) -> String {
    let text = payload.repr().and_then(|text| text.extract::<String>());
    text.unwrap_or_else(|_| payload.get_type().to_string())
}

/// The location of a task, as Python receives it: namespace, id, superstep,
/// number among the sends, triggers.
pub(crate) fn about<'py>(
    py: Python<'py>,
    location: &TaskLocation<Object>,
) -> PyResult<Bound<'py, PyTuple>> {
    let namespace = PyTuple::new(py, &location.namespace)?;
    (namespace, &location.id, location.step, location.send, triggers(py, location)?)
        .into_pyobject(py)
}

/// The item for what a node wrote.
fn updated(engine: &Bound<'_, Engine>, node: NodeId, update: &Update<Object>) -> PyResult<Item> {
    let name = engine.get().name_of(node, engine.py());
    Ok(Item::Update(name, written(engine, update)?.map(Bound::unbind)))
}

/// What an update writes: a dict, or `None` if it writes nothing. Where a key
/// is written more than once, a list with a dict per write.
pub(crate) fn written<'py>(
    engine: &Bound<'py, Engine>,
    update: &Update<Object>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = engine.py();
    if update.writes.is_empty() {
        return Ok(None);
    }
    let all = PyDict::new(py);
    each(engine, update, |key, value| all.set_item(key, value))?;
    if all.len() == update.writes.len() {
        return Ok(Some(all.into_any()));
    }
    let list = PyList::empty(py);
    each(engine, update, |key, value| {
        let one = PyDict::new(py);
        one.set_item(key, value)?;
        list.append(one)
    })?;
    Ok(Some(list.into_any()))
}

fn each<'py>(
    engine: &Bound<'py, Engine>,
    update: &Update<Object>,
    mut take: impl FnMut(&Bound<'py, PyAny>, Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let py = engine.py();
    for write in &update.writes {
        let Some(key) = engine.get().key(write.channel) else { continue };
        let value = match &write.op {
            WriteOp::Merge(value) | WriteOp::Replace(value) => value.0.bind(py).clone(),
            WriteOp::Reset => py.None().into_bound(py),
        };
        take(key.name.bind(py).as_any(), value)?;
    }
    Ok(())
}

/// What an update writes, by key; several writes of a key under `$writes`.
fn collect(
    engine: &Bound<'_, Engine>,
    update: &Update<Object>,
    result: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let mut several: Vec<(Py<PyAny>, Bound<'_, PyList>)> = Vec::new();
    each(engine, update, |key, value| {
        if let Some((_, list)) = several.iter().find(|(known, _)| known.is(key)) {
            return list.append(value);
        }
        let Some(first) = result.get_item(key)? else { return result.set_item(key, value) };
        let list = PyList::new(engine.py(), [first, value])?;
        let wrapped = PyDict::new(engine.py());
        wrapped.set_item(intern!(engine.py(), "$writes"), &list)?;
        several.push((key.clone().unbind(), list));
        result.set_item(key, wrapped)
    })
}

/// A state that was kept, as a dict.
fn dict<'py>(
    engine: &Bound<'py, Engine>,
    state: &[Option<Object>],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(engine.py());
    for (key, value) in engine.get().keys.iter().zip(state) {
        if let Some(value) = value {
            dict.set_item(&key.name, &value.0)?;
        }
    }
    Ok(dict)
}

/// What a node gets to see, as far as it can be made: a state that its view
/// refuses is shown as it is.
fn given<'py>(
    engine: &Bound<'py, Engine>,
    location: &TaskLocation<Object>,
    input: &TaskInput<Object>,
    state: &[Option<Object>],
) -> PyResult<Bound<'py, PyAny>> {
    let py = engine.py();
    if let TaskInput::Sent(value) = input {
        return Ok(value.0.bind(py).clone());
    }
    let dict = dict(engine, state)?.into_any();
    let view = engine.get().node(location.node).and_then(|node| node.view.as_ref());
    let viewed = view.map(|view| ffi::call(view.bind(py), [Some(&dict)]));
    Ok(viewed.and_then(Result::ok).unwrap_or(dict))
}

/// What sets a node off, by the names that LangGraph gives to its channels.
fn triggers<'py>(
    py: Python<'py>,
    location: &TaskLocation<Object>,
) -> PyResult<Bound<'py, PyTuple>> {
    if location.send.is_some() {
        return PyTuple::new(py, ["__pregel_push"]);
    }
    let name = |id: NodeId| location.graph.node_name(Some(id)).to_string();
    let own = name(location.node);
    let joins = location.graph.joins().iter().filter(|join| join.target == location.node);
    let joins = joins.map(|join| {
        let sources: Vec<String> = join.sources.iter().map(|&id| name(id)).collect();
        format!("join:{}:{own}", sources.join("+"))
    });
    let all: Vec<String> = std::iter::once(format!("branch:to:{own}")).chain(joins).collect();
    PyTuple::new(py, all)
}
