//! Failures of tasks whose outcome nobody waits for any more.

use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, Fault, FaultCode};
use pyo3::intern;
use pyo3::prelude::*;

use crate::value::object::Object;

/// What a cancelled task, or one whose time is over, has failed with. That it was cancelled is no
/// failure.
pub(crate) fn of(outcome: &TaskOutcome<Object>) -> Option<&Fault> {
    let TaskOutcome::Failed(failure) = outcome else { return None };
    let is_failure = |fault: &&Fault| {
        fault.category != Category::Cancelled && fault.code != FaultCode::NodeCancelled
    };
    Some(&failure.fault).filter(is_failure)
}

/// Logs it: no result and no exception tells it, and it may say that something is half done.
pub(crate) fn log(py: Python<'_>, path: &str, fault: &Fault) {
    // A log that cannot be written to is no reason to fail.
    let _ = py.import(intern!(py, "logging")).and_then(|logging| {
        let logger = logging.call_method1("getLogger", ("antiphon.run",))?;
        let message = "`%s` failed after it was cancelled or its time was over: %s";
        logger.call_method1("warning", (message, path, fault.message.as_str()))
    });
}
