//! Failures of async code that was cancelled: its own outcome counts for nothing any more.

use antiphon_core::Category;
use antiphon_runtime::redact::clean_text;
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::fault::known;

/// Logs what a cancelled node or tool raised instead of the cancellation: no result and no
/// exception tells it, and it may say that something is half done.
pub(crate) fn log(py: Python<'_>, name: Option<Py<PyString>>, error: &PyErr) {
    let value = error.value(py);
    let is_cancelled = known(value).is_some_and(|(category, _)| category == Category::Cancelled);
    let asks = value.hasattr(intern!(py, "__antiphon_question__")).unwrap_or(false);
    if is_cancelled || asks || !error.is_instance_of::<PyException>(py) {
        return;
    }
    // A log that cannot be written to is no reason to fail.
    let _ = py.import(intern!(py, "logging")).and_then(|logging| {
        let kind = value.get_type().name()?.to_string();
        let logger = logging.call_method1("getLogger", ("antiphon.run",))?;
        let message = "`%s` failed after it was cancelled or its time was over: %s: %s";
        let told = clean_text(&value.to_string()).into_owned();
        logger.call_method1("warning", (message, name, kind, told))
    });
}
