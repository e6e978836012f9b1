//! Merge rules and routers that are Python callables.

use std::sync::Arc;

use antiphon_core::command::{Destination, Destinations};
use antiphon_core::graph::{END, Graph, NodeId, START};
use antiphon_core::rules::{ReducerSite, Rules};
use antiphon_core::state::View;
use antiphon_core::task::{Failure, RetryVerdict, TaskId};
use antiphon_core::{Fault, FaultCode};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyWeakrefMethods};

use crate::driver::run::Run;
use crate::fault::{failure, retry_verdict, to_exception};
use crate::ffi;
use crate::graph::engine::{Engine, RouterEntry};
use crate::graph::host::Host;
use crate::graph::lost_target::warn_if_lost;
use crate::graph::task_context::{Context, TaskContext};
use crate::graph::update;
use crate::value::command::Send;
use crate::value::isolation::isolate;
use crate::value::object::Object;

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

    fn retry_verdict(
        &mut self,
        graph: &Graph<Object>,
        node: NodeId,
        fault: &Fault,
    ) -> RetryVerdict {
        let engine = self.host.engine(self.py, graph).ok();
        let entry = engine.and_then(|engine| engine.get().node(node));
        let policies = entry.map_or(&[][..], |entry| &entry.retry);
        retry_verdict(self.py, fault, self.host.raised(fault), policies)
    }
}

impl Host {
    /// The failure of a router is one of its node: the node's policies apply.
    fn refused(&mut self, py: Python<'_>, error: PyErr, view: &View<'_, Object>) -> Failure {
        let engine = self.engine(py, view.graph).ok().cloned();
        let entry = engine.as_ref().and_then(|engine| engine.get().node(view.node));
        let retry = entry.map_or(&[][..], |entry| &entry.retry);
        let name = view.graph.node_name(Some(view.node));
        let at = (view.node != NodeId::START).then_some((&*name, view.attempt));
        failure(py, error, retry, at, &mut self.errors)
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
        let (call, old, new) = (reducer.call.bind(py), old.0.bind(py), new.0.bind(py));
        let merged = if reducer.takes_context {
            let options = PyDict::new(py);
            options.set_item(intern!(py, "context"), self.user_context(py))?;
            call.call((old, new), Some(&options))?
        } else {
            ffi::call(call, [Some(old), Some(new)])?
        };
        Ok(Object(merged.unbind()))
    }

    /// What the caller passed as `context`; none if the state is written from outside a run.
    fn user_context(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let run = self.run.as_ref()?.bind(py).upgrade()?;
        Some(run.cast::<Run>().ok()?.get().context(py))
    }

    fn route_now(
        &mut self,
        py: Python<'_>,
        router: u32,
        view: &View<'_, Object>,
    ) -> PyResult<Destinations<Object>> {
        if view.scope == 0 && self.is_behind(view.revision()) {
            for &channel in view.changed() {
                self.note(py, channel, view.get(channel));
            }
        }
        let engine = self.engine(py, view.graph)?;
        let entry = engine.get().routers.get(router as usize);
        let entry = entry.ok_or_else(|| PyValueError::new_err("unknown router"))?;
        let dict = self.dict(engine, view.scope, |id| view.get(id))?;
        if view.scope == 0 {
            for (channel, value) in view.overlay() {
                if let Some(key) = engine.get().key(*channel) {
                    dict.set_item(&key.name, &value.0)?;
                }
            }
        }
        let dict = if engine.get().graph.semantics().exclusive {
            dict.into_any()
        } else {
            isolate(&dict)?
        };
        let state = match &entry.view {
            Some(view) => ffi::call(view.bind(py), [Some(&dict)])?,
            None => dict,
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
        let id = TaskId { scope: view.scope, slot: view.slot, serial: 0 };
        let name = view.graph.node_name(Some(view.node));
        let mut cx = TaskContext::new(run.cast_into::<Run>()?.unbind(), id, name);
        (cx.attempt, cx.step, cx.supersteps) = (view.attempt, self.step, self.supersteps);
        Context::of(py, &Arc::new(cx))
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
    if entry.ends.is_none() {
        choices.iter().try_for_each(|choice| warn_if_lost(answer.py(), engine, choice))?;
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
    let message = format!("a router returned a value that is not a target: {shown}");
    let fault = Fault::new(FaultCode::TargetUnknown, message)
        .hint("return a node's name, a `Send`, `END`, or a list of those");
    to_exception(answer.py(), &fault)
}

fn unknown_label(ends: &Bound<'_, PyDict>, answer: &Bound<'_, PyAny>) -> PyErr {
    let known = ends.keys();
    let message = format!("a router returned a label that its path map lacks: {answer}");
    let fault = Fault::new(FaultCode::LabelUnknown, message)
        .hint(format!("add it to the path map, or return one of: {known}"));
    to_exception(answer.py(), &fault)
}

fn sent_to_end(py: Python<'_>) -> PyErr {
    let message = format!("an input cannot be sent to the end of a graph: {END}");
    to_exception(py, &Fault::new(FaultCode::SendToEnd, message))
}
