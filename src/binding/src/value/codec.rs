//! State values as bytes: live Python objects by their exact types, and nothing
//! that bytes could name is imported or called.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_stores::codec::{ByteReader, ByteWriter, ValueCodec};
use pyo3::prelude::*;

use crate::value::object::Object;

mod digest;
mod keys;
mod kind;
mod plain;
mod read;
mod type_codec;
mod value_fault;
mod write;

use read::ObjectDecoder;
pub(crate) use type_codec::TypeCodec;
use write::ObjectEncoder;

/// Turns Python objects into bytes, and back. Types beyond Python's own plain
/// ones are those of an `antiphon.checkpoint.Registry`.
#[derive(Clone, Debug)]
pub(crate) struct ObjectCodec(Arc<Py<PyAny>>);

impl ObjectCodec {
    pub(crate) fn new(registry: Py<PyAny>) -> Self {
        Self(Arc::new(registry))
    }

    /// With the types that are registered for all.
    pub(crate) fn shared(py: Python<'_>) -> PyResult<Self> {
        let registry = py.import("antiphon._serialization.registry")?.getattr("GLOBAL")?;
        Ok(Self::new(registry.unbind()))
    }

    pub(crate) fn registry(&self) -> &Py<PyAny> {
        &self.0
    }

    /// Why a value cannot be stored.
    pub(crate) fn problem(&self, value: &Object) -> Option<String> {
        let is_plain = Python::attach(|py| plain::is_plain(value.0.bind(py)));
        if is_plain { None } else { self.write(value, &mut ByteWriter::new()).err() }
    }

    /// Values that follow one another to the end, and how many bytes are left after each.
    pub(crate) fn read_all<'py>(
        &self,
        py: Python<'py>,
        mut from: ByteReader<'_>,
    ) -> Result<Vec<(Bound<'py, PyAny>, usize)>, Fault> {
        let mut reading = ObjectDecoder::new(self.0.bind(py));
        let mut values = Vec::new();
        while !from.is_at_end() {
            let value = reading.value(&mut from)?;
            values.push((value, from.left()));
        }
        Ok(values)
    }
}

impl ValueCodec<Object> for ObjectCodec {
    fn write(&self, value: &Object, out: &mut ByteWriter) -> Result<(), String> {
        Python::attach(|py| {
            let mut writing = ObjectEncoder::to(out, self.0.bind(py));
            writing.value(value.0.bind(py)).map_err(|problem| problem.to_string())
        })
    }

    fn read(&self, from: &mut ByteReader<'_>) -> Result<Object, Fault> {
        Python::attach(|py| Ok(Object(ObjectDecoder::new(self.0.bind(py)).value(from)?.unbind())))
    }
}
