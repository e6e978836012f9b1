//! Budgets as Python writes them.

use antiphon_core::budget::Limits as CoreLimits;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::fault::seconds;

/// What a run may spend.
///
/// Args:
///     supersteps: rounds of the graph.
///     `model_calls`: calls of models.
///     `tool_calls`: calls of tools.
///     `input_tokens`: tokens read by models.
///     `output_tokens`: tokens written by models.
///     retries: repeated attempts of nodes.
///     `wall_time`: seconds.
///
/// What is not given, or `None`, is not limited.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct Limits(pub(crate) CoreLimits);

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (**limits))]
    fn new(limits: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        limits.map_or_else(|| Ok(CoreLimits::default()), read).map(Self)
    }
}

/// Reads a dict of limits; an unknown name is an error.
pub(crate) fn read(given: &Bound<'_, PyDict>) -> PyResult<CoreLimits> {
    let mut limits = CoreLimits::default();
    for (key, value) in given {
        if value.is_none() {
            continue;
        }
        let key: String = key.extract()?;
        let slot = match key.as_str() {
            "supersteps" => &mut limits.supersteps,
            "model_calls" => &mut limits.model_calls,
            "tool_calls" => &mut limits.tool_calls,
            "input_tokens" => &mut limits.input_tokens,
            "output_tokens" => &mut limits.output_tokens,
            "retries" => &mut limits.retries,
            "wall_time" => {
                limits.wall_time = Some(seconds("wall_time", value.extract()?)?);
                continue;
            }
            _ => return Err(PyValueError::new_err(format!("unknown limit: {key}"))),
        };
        let number = value.extract::<u64>().map_err(|_| {
            PyValueError::new_err(format!("`{key}` must be a non-negative integer: {value}"))
        })?;
        *slot = Some(number);
    }
    Ok(limits)
}

/// The counts that are limited, by name.
pub(crate) fn counts<'py>(py: Python<'py>, limits: &CoreLimits) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (name, limit) in [
        ("model_calls", limits.model_calls),
        ("tool_calls", limits.tool_calls),
        ("input_tokens", limits.input_tokens),
        ("output_tokens", limits.output_tokens),
        ("retries", limits.retries),
    ] {
        if let Some(limit) = limit {
            found.set_item(name, limit)?;
        }
    }
    Ok(found)
}
