//! What the events of calls that a node's own code makes hold: arguments, messages, results.

use antiphon_core::checkpoint::{CallOutcome, Callee};
use antiphon_core::event::EventKind;
use antiphon_core::event::content::MAX_TEXT;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple};
use serde_json::{Map, Value as Json};

use crate::value::object::Object;

/// Items of a value that are read; code may pass lists of any length.
const MAX_ITEMS: usize = 1_000;
/// Levels of nesting that are read.
const DEEPEST: u8 = 32;
/// Modules whose values have a short `repr` that runs no code of a user.
const TABLES: [&str; 3] = ["pandas.", "numpy", "polars."];

/// What a call is given: the arguments of a tool or a step, the messages of a model.
pub(crate) fn of_request(callee: Callee, given: &Bound<'_, PyAny>) -> Map<String, Json> {
    let mut content = Map::new();
    let mut room = MAX_ITEMS;
    if callee != Callee::Model {
        content.insert("arguments".into(), excerpt(given, &mut room, 0));
        return content;
    }
    let Ok(request) = given.cast::<PyDict>() else { return content };
    let item = |key: &str| request.get_item(key).ok().flatten();
    if let Some(messages) = item("messages") {
        content.insert("messages".into(), excerpt(&messages, &mut room, 0));
    }
    if let Some(Json::Object(mut options)) =
        item("options").map(|options| excerpt(&options, &mut room, 0))
    {
        options.retain(|_, value| !value.is_null());
        if !options.is_empty() {
            content.insert("parameters".into(), options.into());
        }
    }
    content
}

/// What came of a call.
pub(crate) fn of_outcome(
    py: Python<'_>,
    callee: Callee,
    outcome: &CallOutcome<Object>,
) -> Map<String, Json> {
    let mut content = Map::new();
    match outcome {
        CallOutcome::Value(value) => {
            let value = excerpt(value.0.bind(py), &mut MAX_ITEMS.clone(), 0);
            let key = match (callee, &value) {
                (Callee::Model, Json::String(_)) => "text",
                (Callee::Model, _) => "value",
                _ => "result",
            };
            content.insert(key.into(), value);
        }
        CallOutcome::Raised(error) => {
            let error = error.0.bind(py);
            content.insert("message".into(), format!("{}: {error}", kind(error)).into());
        }
        CallOutcome::Failed(fault) => {
            content.insert("code".into(), fault.code.as_str().into());
            content.insert("message".into(), fault.message.as_str().into());
        }
        CallOutcome::Json(value) => {
            content.insert("result".into(), value.clone());
        }
        CallOutcome::Reply(_) | CallOutcome::Interrupted => {}
    }
    content
}

/// An event of a call with its content.
pub(crate) fn joined(
    (kind, mut data): (EventKind, Json),
    content: Map<String, Json>,
) -> (EventKind, Json) {
    if let Some(fields) = data.as_object_mut() {
        fields.extend(content);
    }
    (kind, data)
}

/// A value as JSON of limited size; what JSON lacks becomes the name of its type.
fn excerpt(value: &Bound<'_, PyAny>, room: &mut usize, depth: u8) -> Json {
    if *room == 0 || depth > DEEPEST {
        return "…".into();
    }
    *room -= 1;
    if value.is_exact_instance_of::<PyNone>() {
        return Json::Null;
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        return short(text).into();
    }
    if let Ok(flag) = value.cast_exact::<PyBool>() {
        return flag.is_true().into();
    }
    if value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyFloat>() {
        // Integers of more than 64 bits and floats that are no numbers have no form in JSON.
        return pythonize::depythonize(value).unwrap_or_else(|_| value.to_string().into());
    }
    if value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>() {
        let items = value.try_iter().into_iter().flatten().filter_map(Result::ok);
        return list(items, value.len().unwrap_or(0), room, depth);
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        let mut fields = Map::new();
        for (key, item) in dict {
            if *room == 0 {
                fields.insert("…".into(), format!("{} keys in all", dict.len()).into());
                break;
            }
            fields.insert(key_text(&key), excerpt(&item, room, depth + 1));
        }
        return fields.into();
    }
    opaque(value)
}

fn list<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    length: usize,
    room: &mut usize,
    depth: u8,
) -> Json {
    let mut shown = Vec::new();
    for item in items {
        if *room == 0 {
            shown.push(format!("… {length} items in all").into());
            break;
        }
        shown.push(excerpt(&item, room, depth + 1));
    }
    shown.into()
}

fn key_text(key: &Bound<'_, PyAny>) -> String {
    match key.cast_exact::<PyString>() {
        Ok(text) => short(text),
        Err(_) => opaque(key).as_str().unwrap_or_default().to_owned(),
    }
}

fn opaque(value: &Bound<'_, PyAny>) -> Json {
    let module = value.get_type().module().map(|module| module.to_string()).unwrap_or_default();
    if TABLES.iter().any(|known| module.starts_with(known))
        && let Ok(text) = value.repr()
    {
        return short(&text).into();
    }
    format!("<{}>", kind(value)).into()
}

fn kind(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// A text of limited length; lone surrogates become question marks.
fn short(text: &Bound<'_, PyString>) -> String {
    let text = text.to_string_lossy();
    antiphon_core::excerpt::short(&text, MAX_TEXT)
}
