//! The limits of a sandbox, checked and completed for engines of any language.

use antiphon_runtime::sandbox::SandboxLimits;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value as Json};

use crate::fault::to_exception;

/// The complete table of a sandbox's limits.
///
/// `given` has limits by name: `None` is the ceiling, what is missing has its
/// default. `data` says that packages for data take part, which need more
/// memory by default. A limit that is wrong is a `ValidationError`
/// (`sandbox_limit_invalid`).
#[pyfunction]
#[pyo3(signature = (given, data = false))]
pub(crate) fn sandbox_limits<'py>(
    py: Python<'py>,
    given: &Bound<'py, PyDict>,
    data: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let limits = limits_of(py, given, data)?;
    Ok(pythonize::pythonize(py, &limits.to_json())?)
}

/// The budgets of a job's outcome and calls under these limits, as the guest's encoder and the
/// host take them.
#[pyfunction]
pub(crate) fn sandbox_budget<'py>(
    py: Python<'py>,
    limits: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let budget = limits_of(py, limits, false)?.budget();
    Ok(pythonize::pythonize(py, &budget)?)
}

/// Limits by name, checked and completed.
pub(crate) fn limits_of(
    py: Python<'_>,
    given: &Bound<'_, PyDict>,
    data: bool,
) -> PyResult<SandboxLimits> {
    let mut table = Map::new();
    for (name, value) in given {
        table.insert(name.extract()?, plain(&value));
    }
    SandboxLimits::complete(&table, data).map_err(|fault| to_exception(py, &fault))
}

/// Numbers and nothing as they are; all else as text, which is no limit.
fn plain(value: &Bound<'_, PyAny>) -> Json {
    let number = value.is_none() || value.extract::<f64>().is_ok_and(f64::is_finite);
    let read = if number { pythonize::depythonize(value).ok() } else { None };
    read.unwrap_or_else(|| Json::String(value.to_string()))
}
