//! Threads whose last run was lost: it neither ended nor paused, and its driver is gone.

use std::sync::Arc;

use antiphon_core::graph::Graph;
use antiphon_core::value::Value;
use antiphon_core::{Fault, FaultCode};

use super::{RunStatus, ThreadAdmin, ThreadFilter};
use crate::checkpoint_writer::read;
use crate::codec::ValueCodec;

/// So many threads are listed at a time.
const PAGE: usize = 500;

impl ThreadAdmin {
    /// The names of the threads of a graph whose last run was lost, in order. Threads of
    /// another graph of the same name are left out; any other fault of a thread is reported
    /// when its run is resumed.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn orphans<V: Value>(
        &self,
        graph: &Arc<Graph<V>>,
        values: &impl ValueCodec<V>,
    ) -> Result<Vec<String>, Fault> {
        let status = Some(RunStatus::Orphaned.as_str().to_owned());
        let filter = ThreadFilter { status, graph: Some(graph.name().to_owned()) };
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self.list(&filter, after.as_deref(), PAGE).await?;
            for listed in page.threads {
                let way = self.sealed_store.way_to(&listed.thread, None).await?;
                let is_misfit = match read(graph, values, &way) {
                    Ok(loaded) => loaded.is_some_and(|loaded| loaded.memory.lost.is_some()),
                    Err(fault) => fault.code == FaultCode::CheckpointMisfit,
                };
                if !is_misfit {
                    found.push(listed.thread);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(found);
            }
        }
    }
}
