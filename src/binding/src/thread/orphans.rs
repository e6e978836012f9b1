//! Threads whose last run was lost: it neither ended nor paused, and whoever drove
//! it is gone.

use std::sync::Arc;

use antiphon_core::graph::Graph;
use antiphon_core::{Fault, FaultCode};
use antiphon_stores::admin::{RunStatus, ThreadFilter};
use antiphon_stores::checkpoint_writer::read;
use antiphon_stores::{SealedStore, ThreadAdmin};

use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// So many threads are listed at a time.
const PAGE: usize = 500;

/// The names of the threads of a graph whose last run was lost, in order.
pub(crate) async fn orphans(
    admin: ThreadAdmin,
    sealed_store: SealedStore,
    (graph, values): (Arc<Graph<Object>>, ObjectCodec),
) -> Result<Vec<String>, Fault> {
    let status = Some(RunStatus::Orphaned.as_str().to_owned());
    let filter = ThreadFilter { status, graph: Some(graph.name().to_owned()) };
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = admin.list(&filter, after.as_deref(), PAGE).await?;
        for listed in page.threads {
            // One of another graph of that name is none of ours; whatever else is
            // wrong with a thread is said when it is taken up.
            let way = sealed_store.way_to(&listed.thread, None).await?;
            let fits = read(&graph, &values, &way);
            if !fits.is_err_and(|fault| fault.code == FaultCode::CheckpointMisfit) {
                found.push(listed.thread);
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}
