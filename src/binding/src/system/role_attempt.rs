//! One attempt of a role that Python code fills: who it is, and the calls that it makes.
//! The values of its thread are JSON, so that other values are stored as the text of their bytes.

use std::sync::Arc;

use antiphon_core::checkpoint::{Call, CallOutcome};
use antiphon_core::event::EventKind;
use antiphon_core::run::{CallStart, PendingCall};
use antiphon_stores::ValueCodec;
use antiphon_stores::codec::{ByteReader, ByteWriter};
use antiphon_systems::RoleContext;
use pyo3::prelude::*;
use pythonize::pythonize;
use serde_json::{Map, Value as Json};

use crate::driver::cancel_callbacks::CancelCallbacks;
use crate::driver::wait::block_on_native;
use crate::fault::to_exception;
use crate::graph::call_content::{self, joined};
use crate::system::user_context::PyUserContext;
use crate::value::codec::ObjectCodec;
use crate::value::json;
use crate::value::object::{Object, is_json};

/// One attempt of a role.
pub(crate) struct RoleAttempt {
    pub(crate) cx: RoleContext,
    pub(crate) user_context: Option<Arc<PyUserContext>>,
    pub(crate) on_cancel: Arc<CancelCallbacks>,
}

impl std::fmt::Debug for RoleAttempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoleAttempt").field("path", &self.cx.path).finish_non_exhaustive()
    }
}

impl RoleAttempt {
    /// Begins a call, unless it is known what came of it.
    pub(crate) fn begin_call(
        &self,
        py: Python<'_>,
        call: &Call,
        content: Map<String, Json>,
    ) -> PyResult<CallStart<Object>> {
        let (notes, wanted) = (self.cx.notes.clone(), call.clone());
        let started = block_on_native(py, async move { notes.begin_call(wanted).await })?;
        Ok(match started.map_err(|fault| to_exception(py, &fault))? {
            CallStart::Known(outcome) => {
                let outcome = read(&ObjectCodec::shared(py)?, outcome)?;
                let known = call_content::of_outcome(py, call.callee, &outcome);
                let event = joined(call.end_event(&outcome, None), content);
                self.note(call, joined(event, known));
                CallStart::Known(outcome)
            }
            CallStart::Pending(PendingCall { index, key, stored, .. }) => {
                self.note(call, joined(call.start_event(&key), content));
                CallStart::Pending(PendingCall { index, key, intent: None, stored })
            }
        })
    }

    /// Says how a call came out.
    pub(crate) fn end_call(
        &self,
        py: Python<'_>,
        (call, due): (&Call, &PendingCall<Object>),
        outcome: CallOutcome<Object>,
        details: Map<String, Json>,
    ) -> PyResult<()> {
        if !matches!(outcome, CallOutcome::Interrupted) {
            let event = joined(call.end_event(&outcome, Some(&due.key)), details);
            self.note(call, joined(event, call_content::of_outcome(py, call.callee, &outcome)));
        }
        if !due.stored {
            return Ok(());
        }
        let (notes, index) = (self.cx.notes.clone(), due.index);
        let outcome = written(&ObjectCodec::shared(py)?, outcome);
        let ended = block_on_native(py, async move { notes.end_call(index, outcome).await })?;
        ended.map_err(|fault| to_exception(py, &fault))
    }

    fn note(&self, call: &Call, (kind, data): (EventKind, Json)) {
        self.cx.notes.note(kind, call.name.as_str(), data);
    }
}

/// What JSON has goes as it is, the rest by its stored form. That it has one was
/// looked at before.
fn written(values: &ObjectCodec, outcome: CallOutcome<Object>) -> CallOutcome<Json> {
    let text = |value: &Object| {
        let mut out = ByteWriter::new();
        values.write(value, &mut out).ok()?;
        Some(hex(&out.into_bytes()).into())
    };
    let stored = match &outcome {
        CallOutcome::Value(value) => match as_json(value) {
            Some(json) => return CallOutcome::Json(json),
            None => text(value).map(CallOutcome::Value),
        },
        CallOutcome::Raised(error) => text(error).map(CallOutcome::Raised),
        CallOutcome::Failed(fault) => return CallOutcome::Failed(fault.clone()),
        CallOutcome::Interrupted | CallOutcome::Reply(_) | CallOutcome::Json(_) => None,
    };
    stored.unwrap_or(CallOutcome::Interrupted)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let digit = |four: u8| char::from_digit(u32::from(four), 16).unwrap_or_default();
        text.extend([digit(byte >> 4), digit(byte & 0xF)]);
    }
    text
}

/// What came of a call, from its stored form.
fn read(values: &ObjectCodec, outcome: CallOutcome<Json>) -> PyResult<CallOutcome<Object>> {
    let object = |text: &Json| {
        let text = text.as_str().unwrap_or_default();
        let digits = text.as_bytes().as_chunks::<2>().0.iter();
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Vec<u8> = digits.filter_map(byte).collect();
        let read = values.read(&mut ByteReader::new(&bytes));
        read.map_err(|fault| Python::attach(|py| to_exception(py, &fault)))
    };
    Ok(match outcome {
        CallOutcome::Value(text) => CallOutcome::Value(object(&text)?),
        CallOutcome::Raised(text) => CallOutcome::Raised(object(&text)?),
        CallOutcome::Json(json) => CallOutcome::Value(Object(Python::attach(|py| {
            Ok::<_, PyErr>(pythonize(py, &json)?.unbind())
        })?)),
        CallOutcome::Failed(fault) => CallOutcome::Failed(fault),
        CallOutcome::Reply(_) | CallOutcome::Interrupted => CallOutcome::Interrupted,
    })
}

/// The value as JSON, if that is all it is.
fn as_json(value: &Object) -> Option<Json> {
    Python::attach(|py| {
        let value = value.0.bind(py);
        if is_json(value, 0) { json::read(value).ok() } else { None }
    })
}
