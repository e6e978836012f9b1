//! The replies of scripted models, read from Python values.

use antiphon_core::{Fault, FaultCode};
use antiphon_models::ScriptedReply;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::fault::to_exception;
use crate::value::json;

/// A list of replies, or a single one. Raises `script_invalid` for what is neither.
pub(crate) fn read(given: &Bound<'_, PyAny>) -> PyResult<Vec<ScriptedReply>> {
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyDict>() {
        return Ok(vec![reply(given)?]);
    }
    let Ok(replies) = given.try_iter() else {
        let kind = given.get_type().qualname()?;
        let message = format!("a script must be a reply or a list of replies: {kind}");
        let hint = "for instance `scripted([\"first\", \"second\"])`";
        return Err(invalid(given.py(), message, hint));
    };
    replies.map(|one| reply(&one?)).collect()
}

fn reply(given: &Bound<'_, PyAny>) -> PyResult<ScriptedReply> {
    if let Ok(text) = given.extract::<String>() {
        return Ok(ScriptedReply::text(text));
    }
    json::read(given).map_err(|error| {
        let reason = error.value(given.py());
        let message = format!("a scripted reply cannot be read: {reason}: {given:?}");
        let hint = "a reply is a text, or a dict such as `{\"text\": \"hello\"}`, \
                    `{\"json\": {...}}` or `{\"tool_calls\": [{\"name\": ..., \"arguments\": {...}}]}`";
        invalid(given.py(), message, hint)
    })
}

fn invalid(py: Python<'_>, message: String, hint: &str) -> PyErr {
    to_exception(py, &Fault::new(FaultCode::ScriptInvalid, message).hint(hint))
}
