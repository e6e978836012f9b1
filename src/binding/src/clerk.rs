//! Seeing to threads from outside of any run, as Python asks for it.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault};
use antiphon_runtime::{Clock, SystemClock};
use antiphon_stores::clerk::{Copying, Filter, Listed, Pruned as Removed, Pruning, Status};
use antiphon_stores::{Clerk, Keep, Vault, owner};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDelta;

use crate::chance;
use crate::fault::to_exception;

/// Somebody of this process who sees to the threads of a vault.
pub(crate) fn of(py: Python<'_>, vault: Vault) -> PyResult<Clerk> {
    let owner = owner::new(chance::seed(py, None)?);
    Ok(Clerk::new(vault, Arc::new(SystemClock::new()), owner))
}

/// What a caller wants to see of a list.
pub(crate) struct Wanted {
    pub(crate) filter: Filter,
    pub(crate) after: Option<String>,
    pub(crate) limit: usize,
}

impl Wanted {
    pub(crate) fn read(
        status: Option<String>,
        graph: Option<String>,
        after: Option<String>,
        limit: usize,
    ) -> PyResult<Self> {
        if let Some(name) = status.as_deref().filter(|name| !Status::NAMES.contains(name)) {
            let known = Status::NAMES.join(", ");
            return Err(PyValueError::new_err(format!(
                "`status` is one of {known}, found: {name}"
            )));
        }
        if limit == 0 {
            return Err(PyValueError::new_err("`limit` is at least 1, found: 0"));
        }
        Ok(Self { filter: Filter { status, graph }, after, limit })
    }

    pub(crate) async fn of(self, clerk: Clerk) -> Result<Vec<Listed>, Fault> {
        let page = clerk.list(&self.filter, self.after.as_deref(), self.limit).await?;
        Ok(page.threads)
    }
}

/// How much of each thread is kept, as callers say it.
pub(crate) fn keep(
    last: Option<u64>,
    age: Option<&Bound<'_, PyAny>>,
    bytes: Option<u64>,
) -> PyResult<Keep> {
    if last == Some(0) {
        return Err(PyValueError::new_err("`keep_last` is at least 1, found: 0"));
    }
    Ok(Keep { last, age: age.map(|age| span("keep_for", age)).transpose()?, bytes })
}

/// A length of time: a `timedelta`, or seconds.
pub(crate) fn span(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let seconds = match given.cast::<PyDelta>() {
        Ok(delta) => delta.call_method0("total_seconds")?.extract::<f64>(),
        Err(_) => given.extract::<f64>(),
    };
    let seconds = seconds.map_err(|_| {
        let kind = given.get_type().to_string();
        PyTypeError::new_err(format!("`{name}` takes a timedelta or seconds, found: {kind}"))
    })?;
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("`{name}` cannot be so long: {seconds}")))
}

/// Prunes one thread, or all of them.
pub(crate) async fn prune(
    clerk: Clerk,
    thread: Option<String>,
    pruning: Pruning,
) -> Result<Removed, Fault> {
    match thread {
        Some(thread) => clerk.prune(&thread, &pruning).await,
        None => clerk.prune_all(&pruning).await,
    }
}

/// Refuses to prune by no rule at all.
pub(crate) fn check(py: Python<'_>, pruning: &Pruning) -> PyResult<()> {
    if !pruning.keep.is_all() || pruning.idle.is_some() {
        return Ok(());
    }
    let message = "nothing says what of the threads is to be kept: prune()";
    let fault = Fault::new(Category::Validation, "call_invalid", message)
        .hint("pass `keep_last`, `keep_for`, `keep_bytes` or `delete_after`, or open the saver so");
    Err(to_exception(py, &fault))
}

/// Copies what leads to a checkpoint, as a run of its own.
pub(crate) async fn copy(
    clerk: Clerk,
    (from, to): (String, String),
    checkpoint: Option<u64>,
    run_id: String,
) -> Result<(), Fault> {
    clerk.copy(Copying { from: &from, checkpoint, to: &to, run_id: &run_id }).await
}

/// A name for a run that nothing else has.
pub(crate) fn run_id(py: Python<'_>) -> PyResult<String> {
    Ok(chance::seed(py, None)?.uuid(SystemClock::new().now()))
}
