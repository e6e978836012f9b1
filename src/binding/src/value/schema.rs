//! JSON schemas that Python code validates values against.

use antiphon_core::Schema;
use antiphon_core::reply::ReplyParser;
use pyo3::prelude::*;

use crate::fault::to_exception;
use crate::value::json;

/// A JSON schema, compiled as those of replies are.
///
/// Raises the `antiphon.errors` class of `schema_invalid` if it is none.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct CompiledSchema(antiphon_reply::CompiledSchema);

#[pymethods]
impl CompiledSchema {
    #[new]
    fn new(name: &str, schema: &Bound<'_, PyAny>) -> PyResult<Self> {
        let given = Schema::new(name, json::read(schema)?);
        let compiled = antiphon_reply::CompiledSchema::compile(&given);
        compiled.map(Self).map_err(|fault| to_exception(schema.py(), &fault))
    }

    /// Where a value does not fit: the JSON pointer, what is expected there, and what is there.
    fn violations(&self, value: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String, String)>> {
        let violations = self.0.validate(&json::read(value)?).err().unwrap_or_default();
        let listed = violations.into_iter();
        Ok(listed.map(|one| (one.path, one.expected, one.found)).collect())
    }
}
