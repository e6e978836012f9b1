//! Known secrets are removed from values and texts that Python code passes on.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use antiphon_runtime::redact;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

/// Values are read to this depth.
const DEEPEST: u8 = 64;

/// The value without known secrets, if it holds any: in strings, and in lists, tuples and dicts of
/// them. Other objects are passed by reference and stay as they are.
pub(crate) fn cleaned<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if redact::is_any_known() { clean(value, 0) } else { Ok(None) }
}

/// Whether the text or the arguments of an exception hold a known secret.
pub(crate) fn is_tainted(error: &Bound<'_, PyAny>) -> bool {
    let text = error.str().map(Bound::into_any);
    // An exception that cannot say what it is tells no secret.
    let parts = [text, error.getattr(intern!(error.py(), "args"))].into_iter().flatten();
    redact::is_any_known() && parts.filter_map(|part| clean(&part, 0).ok()).any(|it| it.is_some())
}

fn clean<'py>(value: &Bound<'py, PyAny>, depth: u8) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    if depth > DEEPEST {
        return Ok(None);
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        // A text with lone surrogates is not cleaned; nothing but Python can store it.
        let Ok(text) = text.to_str() else { return Ok(None) };
        return Ok(match redact::clean_text(text) {
            Cow::Owned(text) => Some(PyString::new(py, &text).into_any()),
            Cow::Borrowed(_) => None,
        });
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        let (fields, mut found) = (PyDict::new(py), false);
        for (key, item) in dict {
            let (new_key, new_item) = (clean(&key, depth + 1)?, clean(&item, depth + 1)?);
            found |= new_key.is_some() || new_item.is_some();
            fields.set_item(new_key.unwrap_or(key), new_item.unwrap_or(item))?;
        }
        return Ok(found.then(|| fields.into_any()));
    }
    let is_tuple = value.is_exact_instance_of::<PyTuple>();
    if !is_tuple && !value.is_exact_instance_of::<PyList>() {
        return Ok(None);
    }
    let (items, mut found) = (PyList::empty(py), false);
    for item in value.try_iter()? {
        let item = item?;
        let new = clean(&item, depth + 1)?;
        found |= new.is_some();
        items.append(new.unwrap_or(item))?;
    }
    let items = if is_tuple { items.to_tuple().into_any() } else { items.into_any() };
    Ok(found.then_some(items))
}

/// Removes known keys of models from a text that arrives in pieces. What may be the beginning of a
/// key is held back until the next piece.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct PieceRedactor(Mutex<redact::PieceRedactor>);

#[pymethods]
impl PieceRedactor {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// What can be shown once a piece has arrived; it may be empty.
    fn push(&self, text: String) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text)
    }

    /// What was held back, once the text has ended.
    fn finish(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).finish()
    }
}
