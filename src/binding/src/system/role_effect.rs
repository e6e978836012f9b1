//! Calls of a role in a thread whose values are JSON: what JSON has not is
//! stored there as the text of its bytes.

use antiphon_core::checkpoint::{Call, CallOutcome};
use antiphon_runtime::TaskReporter;
use antiphon_stores::ValueCodec;
use antiphon_stores::codec::{ByteReader, ByteWriter};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde_json::{Value as Json, json};

use crate::driver::wait::block_on_native;
use crate::fault::to_exception;
use crate::graph::call_trace::shown;
use crate::value::codec::ObjectCodec;
use crate::value::object::{Object, is_json};

/// What a role has to say about a call, and whether anything is stored of it.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) notes: TaskReporter,
    pub(crate) stored: bool,
}

impl Asking {
    /// How what comes of it is stored, if it is.
    pub(crate) fn values(&self, py: Python<'_>) -> PyResult<Option<ObjectCodec>> {
        self.stored.then(|| ObjectCodec::shared(py)).transpose()
    }

    /// Says how a call came out.
    pub(crate) fn end(
        &self,
        py: Python<'_>,
        (call, index, key): (&Call, u32, &str),
        came: CallOutcome<Object>,
    ) -> PyResult<()> {
        if !matches!(came, CallOutcome::Left) {
            self.note(call, json!({"call_id": key, "ok": came.is_success()}), true);
        }
        if !self.stored {
            return Ok(());
        }
        let came = written(&ObjectCodec::shared(py)?, came);
        let notes = self.notes.clone();
        let ended = block_on_native(py, async move { notes.end_call(index, came).await })?;
        ended.map_err(|fault| to_exception(py, &fault))
    }

    pub(crate) fn note(&self, call: &Call, data: Json, ended: bool) {
        let (kind, data) = shown(call, data, ended);
        self.notes.note(kind, call.name.as_str(), data);
    }
}

/// What JSON has goes as it is, the rest by its stored form. That it has one was
/// looked at before.
fn written(values: &ObjectCodec, came: CallOutcome<Object>) -> CallOutcome<Json> {
    let text = |value: &Object| {
        let mut out = ByteWriter::new();
        values.write(value, &mut out).ok()?;
        Some(hex(&out.into_bytes()).into())
    };
    let stored = match &came {
        CallOutcome::Value(value) => match as_json(value) {
            Some(json) => return CallOutcome::Json(json),
            None => text(value).map(CallOutcome::Value),
        },
        CallOutcome::Raised(error) => text(error).map(CallOutcome::Raised),
        CallOutcome::Failed(fault) => return CallOutcome::Failed(fault.clone()),
        CallOutcome::Left | CallOutcome::Reply(_) | CallOutcome::Json(_) => None,
    };
    stored.unwrap_or(CallOutcome::Left)
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
pub(crate) fn read(values: &ObjectCodec, came: CallOutcome<Json>) -> PyResult<CallOutcome<Object>> {
    let object = |text: &Json| {
        let text = text.as_str().unwrap_or_default();
        let digits = text.as_bytes().as_chunks::<2>().0.iter();
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Vec<u8> = digits.filter_map(byte).collect();
        let read = values.read(&mut ByteReader::new(&bytes));
        read.map_err(|fault| Python::attach(|py| to_exception(py, &fault)))
    };
    Ok(match came {
        CallOutcome::Value(text) => CallOutcome::Value(object(&text)?),
        CallOutcome::Raised(text) => CallOutcome::Raised(object(&text)?),
        CallOutcome::Json(json) => CallOutcome::Value(Object(Python::attach(|py| {
            Ok::<_, PyErr>(pythonize(py, &json)?.unbind())
        })?)),
        CallOutcome::Failed(fault) => CallOutcome::Failed(fault),
        CallOutcome::Reply(_) | CallOutcome::Left => CallOutcome::Left,
    })
}

/// The value as JSON, if that is all it is.
fn as_json(value: &Object) -> Option<Json> {
    Python::attach(|py| {
        let value = value.0.bind(py);
        if is_json(value, 0) { crate::value::json::read(value).ok() } else { None }
    })
}
