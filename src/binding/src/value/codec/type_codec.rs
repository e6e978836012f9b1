//! How a type beyond the plain types of Python is stored.

use pyo3::prelude::*;

use super::value_fault::ValueFault;

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
///     columns: for a table, a function from it to the names of its columns, for the same; `pack`
///         then returns a list that begins with a list of columns, each a kind and its parts.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct TypeCodec {
    #[pyo3(get)]
    pub(super) kind: i8,
    #[pyo3(get)]
    pub(super) name: Option<String>,
    pub(super) pack: Py<PyAny>,
    pub(super) unpack: Py<PyAny>,
    fields: bool,
    columns: Option<Py<PyAny>>,
}

impl TypeCodec {
    /// What is wrong with a packed value, as the owner of the value knows its parts.
    pub(super) fn locate(&self, value: &Bound<'_, PyAny>, problem: ValueFault) -> ValueFault {
        let names = self.columns.as_ref().and_then(|columns| {
            columns.bind(value.py()).call1((value,)).ok()?.extract::<Vec<String>>().ok()
        });
        match names {
            Some(names) => problem.in_table(&names),
            None => problem.in_codec(self.fields),
        }
    }
}

#[pymethods]
impl TypeCodec {
    #[new]
    #[pyo3(signature = (kind, pack, unpack, *, name=None, fields=false, columns=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    const fn new(
        kind: i8,
        pack: Py<PyAny>,
        unpack: Py<PyAny>,
        name: Option<String>,
        fields: bool,
        columns: Option<Py<PyAny>>,
    ) -> Self {
        Self { kind, name, pack, unpack, fields, columns }
    }

    fn __repr__(&self) -> String {
        match &self.name {
            Some(name) => format!("TypeCodec({}, name={name:?})", self.kind),
            None => format!("TypeCodec({})", self.kind),
        }
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.pack)?;
        visit.call(&self.unpack)?;
        visit.call(&self.columns)
    }
}
