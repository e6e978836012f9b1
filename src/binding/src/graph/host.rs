//! Python's side of a run: the state as a dict that nodes see, and the merge
//! rules and routers that are Python callables.

use std::sync::Arc;

use antiphon_core::channel::ChannelId;
use antiphon_core::command::{Destination, Destinations};
use antiphon_core::graph::{END, Graph, NodeId, START};
use antiphon_core::rules::{ReducerSite, Rules};
use antiphon_core::state::View;
use antiphon_core::task::{Failure, TaskId, TaskOutcome};
use antiphon_core::{Category, Fault};
use pyo3::exceptions::{PyBaseException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyWeakrefMethods, PyWeakrefReference};

use crate::driver::run::Run;
use crate::fault::to_exception;
use crate::ffi;
use crate::graph::context::{Context, Errand};
use crate::graph::engine::{Engine, RouterEntry};
use crate::graph::update;
use crate::value::command::Send;
use crate::value::object::{Object, isolate};

/// What Python keeps for the length of a run.
#[derive(Debug)]
pub(crate) struct Host {
    /// The run's own graph first, then all graphs nested in it.
    pub(crate) engines: Vec<Py<Engine>>,
    /// The keys of the run's own graph that are not merged in place; nodes get
    /// a copy, which is cheaper than building a dict for each.
    pub(crate) master: Py<PyDict>,
    /// The revision of the state that `master` shows.
    shown: u64,
    /// Exceptions that faults refer to, by number from 1.
    pub(crate) errors: Vec<Py<PyBaseException>>,
    /// The run that owns this, for routers that want to reach it.
    pub(crate) run: Option<Py<PyWeakrefReference>>,
}

impl Host {
    pub(crate) fn new(py: Python<'_>, engine: &Bound<'_, Engine>) -> Self {
        let nested = engine.get().nested.iter().map(|nested| nested.clone_ref(py));
        let engines = std::iter::once(engine.clone().unbind()).chain(nested).collect();
        let master = PyDict::new(py).unbind();
        Self { engines, master, shown: 0, errors: Vec::new(), run: None }
    }

    /// The Python half of a graph.
    pub(crate) fn engine<'py>(
        &self,
        py: Python<'py>,
        graph: &Graph<Object>,
    ) -> PyResult<&Bound<'py, Engine>>
    where
        Self: 'py,
    {
        let found = self.engines.iter().map(|engine| engine.bind(py));
        let mut found = found.filter(|engine| engine.get().graph.host() == graph.host());
        found.next().ok_or_else(|| PyValueError::new_err("a run has met a graph it does not know"))
    }

    /// Whether changes up to `revision` are to be taken over; from now on they are.
    pub(crate) const fn is_behind(&mut self, revision: u64) -> bool {
        let behind = self.shown != revision;
        self.shown = revision;
        behind
    }

    /// The state is that of another run: all of it is to be taken over.
    pub(crate) const fn forget(&mut self) {
        self.shown = u64::MAX;
    }

    /// Takes a change of the run's own graph over.
    pub(crate) fn note(&self, py: Python<'_>, channel: ChannelId, value: Option<&Object>) {
        let Some(engine) = self.engines.first() else { return };
        let Some(key) = engine.get().key(channel) else { return };
        if key.owned {
            return;
        }
        let master = self.master.bind(py);
        // A string key and a live value: only lack of memory can fail.
        let _ = match value {
            Some(value) => master.set_item(&key.name, &value.0),
            None => master.del_item(&key.name),
        };
    }

    /// The state of a unit as a dict of its own.
    pub(crate) fn dict<'py, 'v>(
        &self,
        engine: &Bound<'py, Engine>,
        unit: u32,
        get: impl Fn(ChannelId) -> Option<&'v Object>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = engine.py();
        let root = unit == 0;
        let dict = if root { self.master.bind(py).copy()? } else { PyDict::new(py) };
        for (key, id) in engine.get().keys.iter().zip((0_u32..).map(ChannelId)) {
            if (key.owned || !root)
                && let Some(value) = get(id)
            {
                dict.set_item(&key.name, &value.0)?;
            }
        }
        Ok(dict)
    }

    /// Gives each of several tasks containers of its own.
    pub(crate) fn isolate(dict: &Bound<'_, PyDict>) -> PyResult<()> {
        for (key, value) in dict.copy()? {
            let own = isolate(value.clone())?;
            if !own.is(&value) {
                dict.set_item(key, own)?;
            }
        }
        Ok(())
    }

    /// Keeps an exception and gives the fault that stands for it.
    pub(crate) fn fault(&mut self, py: Python<'_>, error: PyErr) -> Fault {
        failed(crate::fault::failure(py, error, &[], None, &mut self.errors)).fault
    }

    /// The failure of a router is one of its node: the node's policies apply.
    fn refused(&mut self, py: Python<'_>, error: PyErr, view: &View<'_, Object>) -> Failure {
        let engine = self.engine(py, view.graph).ok().cloned();
        let entry = engine.as_ref().and_then(|engine| engine.get().node(view.node));
        let retry = entry.map_or(&[][..], |entry| &entry.retry);
        let name = view.graph.node_name(Some(view.node));
        let at = (view.node != NodeId::START).then_some((&*name, view.attempt));
        failed(crate::fault::failure(py, error, retry, at, &mut self.errors))
    }

    fn reduce_now(
        &self,
        py: Python<'_>,
        at: &ReducerSite<'_, Object>,
        old: Option<Object>,
        new: Object,
    ) -> PyResult<Object> {
        let engine = self.engine(py, at.graph)?;
        let Some(old) = old else { return Ok(new) };
        let rule = usize::try_from(at.rule).unwrap_or(usize::MAX);
        let reducer = engine.get().reducers.get(rule);
        let reducer = reducer.ok_or_else(|| PyValueError::new_err("unknown merge rule"))?;
        let merged = ffi::call(reducer.bind(py), [Some(old.0.bind(py)), Some(new.0.bind(py))])?;
        Ok(Object(merged.unbind()))
    }

    fn route_now(
        &mut self,
        py: Python<'_>,
        router: u32,
        view: &View<'_, Object>,
    ) -> PyResult<Destinations<Object>> {
        if view.unit == 0 && self.is_behind(view.revision()) {
            for &channel in view.changed() {
                self.note(py, channel, view.get(channel));
            }
        }
        let engine = self.engine(py, view.graph)?;
        let entry = engine.get().routers.get(router as usize);
        let entry = entry.ok_or_else(|| PyValueError::new_err("unknown router"))?;
        let dict = self.dict(engine, view.unit, |id| view.get(id))?;
        if view.unit == 0 {
            for (channel, value) in view.overlay() {
                if let Some(key) = engine.get().key(*channel) {
                    dict.set_item(&key.name, &value.0)?;
                }
            }
        }
        let state = match &entry.view {
            Some(view) => ffi::call(view.bind(py), [Some(dict.as_any())])?,
            None => dict.into_any(),
        };
        let context = if entry.wants_ctx { Some(self.context(py, view)?) } else { None };
        let context = context.as_ref().map(Bound::as_any);
        let answer = ffi::call(entry.call.bind(py), [Some(&state), context])?;
        choices(engine.get(), entry, &answer)
    }

    /// What a router can reach: the run, and the task whose branch it is.
    fn context<'py>(
        &self,
        py: Python<'py>,
        view: &View<'_, Object>,
    ) -> PyResult<Bound<'py, Context>> {
        let run = self.run.as_ref().and_then(|run| run.bind(py).upgrade());
        let run = run.ok_or_else(|| PyValueError::new_err("the run is gone"))?;
        let id = TaskId { unit: view.unit, slot: view.slot, serial: 0 };
        let errand = Errand::new(run.cast_into::<Run>()?.unbind(), id, "router".into());
        Context::of(py, &Arc::new(errand))
    }
}

fn failed(outcome: TaskOutcome<Object>) -> Failure {
    match outcome {
        TaskOutcome::Failed(failure) => *failure,
        _ => Fault::new(Category::Internal, "node_failed", "the node failed").into(),
    }
}

/// The rules of a run, for as long as the interpreter is held.
pub(crate) struct PyRules<'a, 'py> {
    pub(crate) py: Python<'py>,
    pub(crate) host: &'a mut Host,
}

impl Rules<Object> for PyRules<'_, '_> {
    fn reduce(
        &mut self,
        at: ReducerSite<'_, Object>,
        old: Option<Object>,
        new: Object,
    ) -> Result<Object, Fault> {
        let merged = self.host.reduce_now(self.py, &at, old, new);
        merged.map_err(|error| self.host.fault(self.py, error))
    }

    fn route(
        &mut self,
        router: u32,
        view: &View<'_, Object>,
    ) -> Result<Destinations<Object>, Failure> {
        let chosen = self.host.route_now(self.py, router, view);
        chosen.map_err(|error| self.host.refused(self.py, error, view))
    }
}

/// What a router answered: a name, a `Send`, or a sequence of those.
fn choices(
    engine: &Engine,
    entry: &RouterEntry,
    answer: &Bound<'_, PyAny>,
) -> PyResult<Destinations<Object>> {
    let mut choices = Destinations::new();
    if answer.is_instance_of::<PyList>() || answer.is_instance_of::<PyTuple>() {
        for item in answer.try_iter()? {
            choices.push(choice(engine, entry, &item?)?);
        }
    } else {
        choices.push(choice(engine, entry, answer)?);
    }
    Ok(choices)
}

fn choice(
    engine: &Engine,
    entry: &RouterEntry,
    answer: &Bound<'_, PyAny>,
) -> PyResult<Destination<Object>> {
    if let Ok(send) = answer.cast::<Send>() {
        if send.get().node == END {
            return Err(sent_to_end(answer.py()));
        }
        return update::send(send.get(), answer.py()).map(Destination::Send);
    }
    if let Some(ends) = &entry.ends {
        let name = ends.bind(answer.py()).get_item(answer)?;
        let name = name.ok_or_else(|| unknown_label(ends.bind(answer.py()), answer))?;
        return Ok(Destination::Name(name.str()?.to_string().into()));
    }
    if let Ok(name) = answer.cast_exact::<PyString>()
        && let Some(place) = engine.places.bind(answer.py()).get_item(name)?
    {
        let end = place.is_none();
        return Ok(if end {
            Destination::End
        } else {
            Destination::Node(NodeId(place.extract()?))
        });
    }
    let name = answer.cast::<PyString>().ok().map(|name| name.to_str()).transpose()?;
    match name {
        Some(name) if name != START => Ok(Destination::Name(name.into())),
        _ => Err(not_a_target(answer)),
    }
}

fn not_a_target(answer: &Bound<'_, PyAny>) -> PyErr {
    let shown = answer.repr().map_or_else(|_| answer.get_type().to_string(), |it| it.to_string());
    let message = format!("a router answered with nothing that can be gone to: {shown}");
    let fault = Fault::new(Category::State, "target_unknown", message)
        .hint("return a node's name, a `Send`, `END`, or a list of those");
    to_exception(answer.py(), &fault)
}

fn unknown_label(ends: &Bound<'_, PyDict>, answer: &Bound<'_, PyAny>) -> PyErr {
    let known = ends.keys();
    let message = format!("a router answered with a label it does not declare: {answer}");
    let fault = Fault::new(Category::State, "label_unknown", message)
        .hint(format!("add it to the path map, or answer one of: {known}"));
    to_exception(answer.py(), &fault)
}

fn sent_to_end(py: Python<'_>) -> PyErr {
    let message = format!("nothing can be sent to the end of a graph: {END}");
    to_exception(py, &Fault::new(Category::State, "send_to_end", message))
}
