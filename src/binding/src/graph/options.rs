//! Keyword options as Python passes them: read by name, unknown ones refused.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The options of one call.
pub(crate) struct Keywords<'a, 'py>(Option<&'a Bound<'py, PyDict>>);

impl<'a, 'py> Keywords<'a, 'py> {
    /// Refuses names that are not among `known`.
    pub(crate) fn new(given: Option<&'a Bound<'py, PyDict>>, known: &[&str]) -> PyResult<Self> {
        for key in given.into_iter().flat_map(PyDictMethods::keys) {
            let key: String = key.extract()?;
            if !known.contains(&key.as_str()) {
                let message = format!("unknown option: {key}");
                return Err(PyTypeError::new_err(message));
            }
        }
        Ok(Self(given))
    }

    /// Any options at all.
    pub(crate) const fn open(given: &'a Bound<'py, PyDict>) -> Self {
        Self(Some(given))
    }

    /// The option of that name; none if it is absent or `None`.
    pub(crate) fn get<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'b> FromPyObject<'b, 'py>,
        for<'b> <T as FromPyObject<'b, 'py>>::Error: Into<PyErr>,
    {
        let Some(value) = self.0.map(|given| given.get_item(name)).transpose()?.flatten() else {
            return Ok(None);
        };
        if value.is_none() {
            return Ok(None);
        }
        value.extract::<T>().map(Some).map_err(Into::into)
    }
}
