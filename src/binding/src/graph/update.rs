//! What a node returned, as the engine's update.

use std::sync::Arc;

use antiphon_core::channel::{Write, WriteOp};
use antiphon_core::command::{Destination, Route, Send as CoreSend, Update};
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Fault, FaultCode};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};

use crate::fault::{seconds, to_exception};
use crate::ffi;
use crate::graph::engine::Engine;
use crate::graph::lost_target::warn_if_lost;
use crate::value::command::{Command, Overwrite, Send};
use crate::value::object::Object;

/// Reads what a node returned. `outer` is the graph around the node's own, for
/// commands that address it.
pub(crate) fn outcome(
    engine: &Bound<'_, Engine>,
    outer: Option<&Bound<'_, Engine>>,
    value: &Bound<'_, PyAny>,
) -> PyResult<TaskOutcome<Object>> {
    let mut update = Update::default();
    if value.is_none() {
        return Ok(TaskOutcome::Done(update));
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        writes(engine, dict, &mut update)?;
        return Ok(TaskOutcome::Done(update));
    }
    if let Ok(command) = value.cast::<Command>() {
        return from_command(engine, outer, command);
    }
    let Some(adapt) = &engine.get().adapt else { return Err(unusable(value)) };
    let adapted = ffi::call(adapt.bind(value.py()), [Some(value)])?;
    let Ok(list) = adapted.cast::<PyList>() else {
        return plain(engine, outer, &adapted);
    };
    let mut all = Update::default();
    for item in list {
        match plain(engine, outer, &item)? {
            TaskOutcome::Done(one) => join(&mut all, one),
            escalated => return Ok(escalated),
        }
    }
    Ok(TaskOutcome::Done(all))
}

/// Reads what a graph is started with: a dict, or a command.
pub(crate) fn input(
    engine: &Bound<'_, Engine>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Update<Object>> {
    let mut update = Update::default();
    if let Ok(command) = value.cast::<Command>() {
        return match from_command(engine, None, command)? {
            TaskOutcome::Done(update) => Ok(update),
            _ => Ok(update),
        };
    }
    let dict = value.cast::<PyDict>().map_err(|_| {
        let kind = value.get_type();
        PyTypeError::new_err(format!("the input of a graph must be a dict: {kind}"))
    })?;
    writes(engine, dict, &mut update)?;
    Ok(update)
}

/// What adapting may have come to: nothing, a dict or a command.
fn plain(
    engine: &Bound<'_, Engine>,
    outer: Option<&Bound<'_, Engine>>,
    value: &Bound<'_, PyAny>,
) -> PyResult<TaskOutcome<Object>> {
    if let Ok(command) = value.cast::<Command>() {
        return from_command(engine, outer, command);
    }
    let mut update = Update::default();
    if !value.is_none() {
        writes(engine, value.cast::<PyDict>().map_err(|_| unusable(value))?, &mut update)?;
    }
    Ok(TaskOutcome::Done(update))
}

pub(crate) fn from_command(
    engine: &Bound<'_, Engine>,
    outer: Option<&Bound<'_, Engine>>,
    command: &Bound<'_, Command>,
) -> PyResult<TaskOutcome<Object>> {
    let py = engine.py();
    let up = command.get().graph.is_some();
    let engine = match outer {
        Some(outer) if up => outer,
        None if up => return Err(no_parent(command)),
        _ => engine,
    };
    let command = command.get();
    let mut update = Update::default();
    if let Some(given) = &command.update {
        write_all(engine, given.bind(py), &mut update)?;
    }
    let goto = targets(command.goto.bind(py), engine.get().is_strict())?;
    goto.iter().try_for_each(|target| warn_if_lost(py, engine.get(), target))?;
    update.route = match (command.end, command.only, goto.is_empty()) {
        (true, _, _) => Route::End,
        (false, true, _) => Route::Only(goto),
        (false, false, false) => Route::Also(goto),
        (false, false, true) => Route::Follow,
    };
    Ok(if up { TaskOutcome::Escalate(update) } else { TaskOutcome::Done(update) })
}

fn write_all(
    engine: &Bound<'_, Engine>,
    given: &Bound<'_, PyAny>,
    update: &mut Update<Object>,
) -> PyResult<()> {
    if let Ok(dict) = given.cast::<PyDict>() {
        return writes(engine, dict, update);
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        for pair in given.try_iter()? {
            let (key, value) = pair?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            write(engine, &key, &value, update)?;
        }
        return Ok(());
    }
    let Some(adapt) = &engine.get().adapt else { return Err(unusable(given)) };
    let adapted = ffi::call(adapt.bind(given.py()), [Some(given)])?;
    writes(engine, adapted.cast::<PyDict>().map_err(|_| unusable(given))?, update)
}

/// The names and sends of a `goto`. A lenient graph passes over other things.
pub(crate) fn targets(goto: &Bound<'_, PyAny>, strict: bool) -> PyResult<Vec<Destination<Object>>> {
    if goto.is_instance_of::<PyString>() || goto.is_instance_of::<Send>() {
        return Ok(vec![target(goto)?]);
    }
    let mut targets = Vec::new();
    for item in goto.try_iter()? {
        match target(&item?) {
            Ok(found) => targets.push(found),
            Err(error) if strict => return Err(error),
            Err(_) => {}
        }
    }
    Ok(targets)
}

fn target(item: &Bound<'_, PyAny>) -> PyResult<Destination<Object>> {
    if let Ok(node) = item.cast::<Send>() {
        return send(node.get(), item.py()).map(Destination::Send);
    }
    if let Ok(name) = item.cast::<PyString>() {
        return Ok(Destination::Name(name.to_string_lossy().as_ref().into()));
    }
    let kind = item.get_type();
    Err(PyTypeError::new_err(format!("`goto` must be node names and `Send`s: {kind}")))
}

pub(crate) fn send(send: &Send, py: Python<'_>) -> PyResult<CoreSend<Object>> {
    Ok(CoreSend {
        node: Arc::from(send.node.as_str()),
        input: Object(send.arg.clone_ref(py)),
        timeout: send.timeout.map(|timeout| seconds("timeout", timeout)).transpose()?,
        limit: None,
    })
}

fn join(all: &mut Update<Object>, one: Update<Object>) {
    all.writes.extend(one.writes);
    all.route = match (std::mem::take(&mut all.route), one.route) {
        (Route::Follow, route) | (route, Route::Follow) => route,
        (Route::Also(mut first), Route::Also(second)) => {
            first.extend(second);
            Route::Also(first)
        }
        (Route::End, _) | (_, Route::End) => Route::End,
        (Route::Only(mut first) | Route::Also(mut first), Route::Only(second))
        | (Route::Only(mut first), Route::Also(second)) => {
            first.extend(second);
            Route::Only(first)
        }
    };
}

/// Reads a dict of writes.
pub(crate) fn writes(
    engine: &Bound<'_, Engine>,
    dict: &Bound<'_, PyDict>,
    update: &mut Update<Object>,
) -> PyResult<()> {
    for (key, value) in dict {
        write(engine, &key, &value, update)?;
    }
    Ok(())
}

fn write(
    engine: &Bound<'_, Engine>,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    update: &mut Update<Object>,
) -> PyResult<()> {
    let inner = engine.get();
    let Some(channel) = inner.channel(key) else {
        if inner.is_strict() {
            return Err(unknown_key(engine, key));
        }
        return Ok(());
    };
    let entry = inner.key(channel);
    let merged = entry.is_some_and(|entry| entry.merged);
    let replaced = replacement(value, merged && !inner.is_strict())?;
    let op = match replaced {
        Some(value) => WriteOp::Replace(Object(value.unbind())),
        None => WriteOp::Merge(Object::of(value)),
    };
    update.writes.push(Write { channel, op });
    Ok(())
}

/// The value of an `Overwrite`, in each of its three forms where `dicts` count.
fn replacement<'py>(value: &Bound<'py, PyAny>, dicts: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    if let Ok(overwrite) = value.cast::<Overwrite>() {
        return Ok(Some(overwrite.get().value.bind(py).clone()));
    }
    if !dicts {
        return Ok(None);
    }
    let Ok(dict) = value.cast_exact::<PyDict>() else { return Ok(None) };
    let mark = intern!(py, "__overwrite__");
    if dict.len() == 1 {
        return dict.get_item(mark);
    }
    let marked = dict.len() == 2
        && dict.get_item(intern!(py, "type"))?.is_some_and(|kind| kind.eq(mark).unwrap_or(false));
    if marked { dict.get_item(intern!(py, "value")) } else { Ok(None) }
}

fn unknown_key(engine: &Bound<'_, Engine>, key: &Bound<'_, PyAny>) -> PyErr {
    // Keys that begin with two underscores are the makers' own.
    let names = engine.get().graph.channels().iter().map(|channel| channel.name.to_string());
    let known: Vec<_> = names.filter(|name| !name.starts_with("__")).collect();
    let message = format!("unknown key of the state: {key}");
    let fault = Fault::new(FaultCode::StateKeyUnknown, message)
        .with("known", known.join(", "))
        .hint(format!("declare it in the state's schema, or use one of: {}", known.join(", ")));
    to_exception(engine.py(), &fault)
}

/// A class as its users call it.
fn named(kind: &Bound<'_, PyAny>) -> String {
    if let Ok(kind) = kind.cast::<PyType>()
        && let Ok(name) = kind.qualname()
    {
        return name.to_string().replace("NoneType", "None");
    }
    kind.to_string()
}

/// The exception carries the command, for a caller that is a node itself.
fn no_parent(command: &Bound<'_, Command>) -> PyErr {
    let message = "a node addressed the enclosing graph, but there is none";
    let fault = Fault::new(FaultCode::ParentMissing, message)
        .hint("only a node of a nested graph can address its parent");
    let error = to_exception(command.py(), &fault);
    // Exceptions written in Python take any attribute.
    let _ = error.value(command.py()).setattr(intern!(command.py(), "command"), command);
    error
}

fn unusable(value: &Bound<'_, PyAny>) -> PyErr {
    let kind = named(value.get_type().as_any());
    let message = format!("a node must return a dict, a `Command` or nothing, found: {kind}");
    to_exception(value.py(), &Fault::new(FaultCode::NodeReturnInvalid, message))
}
