//! Access to threads from outside of any run, as Python asks for it.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::{Clock, SystemClock};
use antiphon_stores::admin::{self, CopyRequest, PruneRequest, ThreadFilter};
use antiphon_stores::{RetentionPolicy, SealedStore, ThreadAdmin, owner};
use pyo3::prelude::*;

use crate::driver::seeds;
use crate::thread::arguments::{self, Limit, ThreadName};
use crate::thread::summary::{PruneReport, ThreadSummary};

/// An administrator of the threads of a store.
pub(crate) fn open(sealed_store: SealedStore) -> ThreadAdmin {
    let owner = owner::new(seeds::draw(None));
    ThreadAdmin::new(sealed_store, Arc::new(SystemClock::new()), owner)
}

/// What a caller wants to see of a list.
pub(crate) struct ThreadQuery {
    filter: ThreadFilter,
    after: Option<String>,
    limit: usize,
}

impl ThreadQuery {
    pub(crate) fn read(
        (status, graph): (Option<Bound<'_, PyAny>>, Option<Bound<'_, PyAny>>),
        after: Option<ThreadName>,
        limit: Limit,
    ) -> PyResult<Self> {
        let filter = ThreadFilter {
            status: arguments::text("status", status.as_ref())?,
            graph: arguments::text("graph", graph.as_ref())?,
        };
        Ok(Self { filter, after: after.map(|name| name.0), limit: limit.0 })
    }
}

pub(crate) async fn list(
    admin: ThreadAdmin,
    query: ThreadQuery,
) -> Result<Vec<ThreadSummary>, Fault> {
    let page = admin.list(&query.filter, query.after.as_deref(), query.limit).await?;
    Ok(page.threads.iter().map(Into::into).collect())
}

pub(crate) async fn show(
    admin: ThreadAdmin,
    thread: ThreadName,
    limit: Limit,
) -> Result<admin::ThreadDetail, Fault> {
    admin.show(&thread.0, limit.0).await
}

/// How much of each thread is kept: its last checkpoints, their age, their size.
pub(crate) fn retention_policy(
    [last, age, bytes]: [Option<Bound<'_, PyAny>>; 3],
) -> PyResult<RetentionPolicy> {
    Ok(RetentionPolicy {
        last: arguments::whole_or_none("keep_last", last.as_ref())?,
        age: age.map(|age| arguments::span("keep_for", &age)).transpose()?,
        bytes: arguments::whole_or_none("keep_bytes", bytes.as_ref())?,
    })
}

/// Prunes one thread, or all of them.
pub(crate) async fn prune(
    admin: ThreadAdmin,
    thread: Option<ThreadName>,
    request: PruneRequest,
) -> Result<PruneReport, Fault> {
    let report = match thread {
        Some(thread) => admin.prune(&thread.0, &request).await,
        None => admin.prune_all(&request).await,
    };
    report.map(Into::into)
}

/// Copies what leads to a checkpoint, for a run with this id or a new one.
pub(crate) async fn copy(
    admin: ThreadAdmin,
    (from, to): (String, ThreadName),
    checkpoint: Option<u64>,
    run_id: Option<String>,
) -> Result<(), Fault> {
    let run_id = run_id.unwrap_or_else(|| seeds::draw(None).uuid(SystemClock::new().now()));
    admin.copy(CopyRequest { from: &from, checkpoint, to: &to.0, run_id: &run_id }).await
}
