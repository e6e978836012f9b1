//! How a type beyond the plain types of Python is stored.

use pyo3::prelude::*;

/// Converts the objects of a type to plain values for storage, and back.
///
/// Args:
///     kind: the number of the codec, 16 to 127; 7 for all types that have names.
///     pack: a function from an object of the type to plain values, which may
///         hold objects of other types that have codecs.
///     unpack: the way back.
///     name: the type's name, if its number is 7.
///     fields: whether `pack` returns a dict of fields, for messages about what
///         is inside.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct TypeCodec {
    #[pyo3(get)]
    pub(super) kind: i8,
    #[pyo3(get)]
    pub(super) name: Option<String>,
    pub(super) pack: Py<PyAny>,
    pub(super) unpack: Py<PyAny>,
    pub(super) fields: bool,
}

#[pymethods]
impl TypeCodec {
    #[new]
    #[pyo3(signature = (kind, pack, unpack, *, name=None, fields=false))]
    const fn new(
        kind: i8,
        pack: Py<PyAny>,
        unpack: Py<PyAny>,
        name: Option<String>,
        fields: bool,
    ) -> Self {
        Self { kind, name, pack, unpack, fields }
    }

    fn __repr__(&self) -> String {
        match &self.name {
            Some(name) => format!("TypeCodec({}, name={name:?})", self.kind),
            None => format!("TypeCodec({})", self.kind),
        }
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.pack)?;
        visit.call(&self.unpack)
    }
}
