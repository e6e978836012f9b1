//! The codec of state values in Python's hands.

use antiphon_core::{Fault, FaultCode};
use antiphon_stores::ValueCodec;
use antiphon_stores::codec::{ByteReader, ByteWriter};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::fault::to_exception;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// Turns values into bytes and back, by their exact types. Bytes are data:
/// they never cause an import or a call.
///
/// Args:
///     registry: the types beyond Python's own plain ones.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Values(ObjectCodec);

#[pymethods]
impl Values {
    #[new]
    fn new(registry: Py<PyAny>) -> Self {
        Self(ObjectCodec::new(registry))
    }

    /// A value as bytes.
    ///
    /// Raises:
    ///     `StateError`: `value_unstorable`; the message names the type, and the
    ///         place inside the value.
    fn pack<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let mut out = ByteWriter::new();
        match self.0.write(&Object::of(value), &mut out) {
            Ok(()) => Ok(PyBytes::new(value.py(), &out.into_bytes())),
            Err(problem) => {
                let message = format!("a value cannot be stored: {problem}");
                let fault = Fault::new(FaultCode::ValueUnstorable, message).hint(
                    "convert it to plain data, or register its type: antiphon.checkpoint.register",
                );
                Err(to_exception(value.py(), &fault))
            }
        }
    }

    /// The value that was packed: an equal object of the same type.
    ///
    /// Raises:
    ///     `StateError`: `checkpoint_corrupt`, if the bytes are none;
    ///         `checkpoint_misfit`, if a type is unknown or has changed.
    fn unpack(&self, py: Python<'_>, data: &[u8]) -> PyResult<Py<PyAny>> {
        let mut from = ByteReader::new(data);
        let value = self.0.read(&mut from).and_then(|value| from.expect_end().map(|()| value));
        value.map(|value| value.0).map_err(|fault| to_exception(py, &fault))
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(self.0.registry())
    }
}
