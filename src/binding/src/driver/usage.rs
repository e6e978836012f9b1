//! What a run has spent, as Python reads it.

use antiphon_core::budget::BudgetUsage;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The counts by the names of `antiphon.Usage`.
pub(crate) fn usage_dict<'py>(
    py: Python<'py>,
    spent: &BudgetUsage,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, count) in [
        ("steps", spent.supersteps),
        ("model_calls", spent.model_calls),
        ("tool_calls", spent.tool_calls),
        ("retries", spent.retries),
        ("input_tokens", spent.usage.input_tokens),
        ("output_tokens", spent.usage.output_tokens),
    ] {
        dict.set_item(name, count)?;
    }
    Ok(dict)
}
