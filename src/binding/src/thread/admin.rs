//! Seeing to threads from outside of any run, as Python asks for it.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Clock, SystemClock};
use antiphon_stores::admin::{CopyRequest, PruneReport, PruneRequest, ThreadFilter, ThreadSummary};
use antiphon_stores::{RetentionPolicy, SealedStore, ThreadAdmin, owner};
use pyo3::prelude::*;

use crate::driver::seeds;
use crate::fault::to_exception;
use crate::thread::arguments::{self, Limit, ThreadName};

/// Somebody of this process who sees to the threads of a sealed store.
pub(crate) fn open_admin(sealed_store: SealedStore) -> ThreadAdmin {
    let owner = owner::new(seeds::draw(None));
    ThreadAdmin::new(sealed_store, Arc::new(SystemClock::new()), owner)
}

/// What a caller wants to see of a list.
pub(crate) struct ThreadQuery {
    pub(crate) filter: ThreadFilter,
    pub(crate) after: Option<String>,
    pub(crate) limit: usize,
}

impl ThreadQuery {
    pub(crate) fn read(
        py: Python<'_>,
        (status, graph): (Option<Bound<'_, PyAny>>, Option<Bound<'_, PyAny>>),
        after: Option<ThreadName>,
        limit: Limit,
    ) -> PyResult<Self> {
        let filter = ThreadFilter {
            status: arguments::text("status", status.as_ref())?,
            graph: arguments::text("graph", graph.as_ref())?,
        };
        filter.check().map_err(|fault| to_exception(py, &fault))?;
        Ok(Self { filter, after: after.map(|name| name.0), limit: limit.0 })
    }

    pub(crate) async fn run(self, admin: ThreadAdmin) -> Result<Vec<ThreadSummary>, Fault> {
        let page = admin.list(&self.filter, self.after.as_deref(), self.limit).await?;
        Ok(page.threads)
    }
}

/// How much of each thread is kept, as callers say it.
pub(crate) fn retention_policy(
    last: Option<&Bound<'_, PyAny>>,
    age: Option<&Bound<'_, PyAny>>,
    bytes: Option<&Bound<'_, PyAny>>,
) -> PyResult<RetentionPolicy> {
    Ok(RetentionPolicy {
        last: arguments::whole_or_none("keep_last", last)?,
        age: age.map(|age| arguments::span("keep_for", age)).transpose()?,
        bytes: arguments::whole_or_none("keep_bytes", bytes)?,
    })
}

/// Prunes one thread, or all of them.
pub(crate) async fn prune(
    admin: ThreadAdmin,
    thread: Option<String>,
    pruning: PruneRequest,
) -> Result<PruneReport, Fault> {
    match thread {
        Some(thread) => admin.prune(&thread, &pruning).await,
        None => admin.prune_all(&pruning).await,
    }
}

/// Refuses to prune by no rule at all.
pub(crate) fn check_pruning(py: Python<'_>, pruning: &PruneRequest) -> PyResult<()> {
    if !pruning.keep.is_all() || pruning.idle.is_some() {
        return Ok(());
    }
    let message = "`prune` needs a limit";
    let fault = Fault::new(FaultCode::CallInvalid, message)
        .hint("pass `keep_last`, `keep_for`, `keep_bytes` or `delete_after`, here or when the saver is opened");
    Err(to_exception(py, &fault))
}

/// Copies what leads to a checkpoint, as a run of its own.
pub(crate) async fn copy(
    admin: ThreadAdmin,
    (from, to): (String, String),
    checkpoint: Option<u64>,
    run_id: String,
) -> Result<(), Fault> {
    admin.copy(CopyRequest { from: &from, checkpoint, to: &to, run_id: &run_id }).await
}

/// A name for a run that nothing else has.
pub(crate) fn run_id() -> String {
    seeds::draw(None).uuid(SystemClock::new().now())
}
