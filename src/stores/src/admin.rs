//! Access to threads from outside of runs: lists, copies, pruning, deletion.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::Clock;
use antiphon_runtime::store::{Store, ThreadHead, busy};

use crate::checkpoint_writer::free;
use crate::lease::{TERM, has_left};
use crate::owner::is_gone;
use crate::sealed_store::SealedStore;

mod copy;
mod list;
mod orphans;
mod prune;
mod rekey;
mod show;
mod status;
mod superstep;

pub use copy::CopyRequest;
pub use list::{ThreadFilter, ThreadPage, ThreadSummary};
pub use prune::{PruneReport, PruneRequest};
pub use rekey::RekeyReport;
pub use show::{CheckpointSummary, LastWrite, RunSummary, ThreadDetail};
pub(crate) use status::{FAILED, ending_name, ending_reason};
pub use status::{OpenQuestion, RunStatus};

/// Administers the threads of one store.
#[derive(Clone)]
pub struct ThreadAdmin {
    sealed_store: SealedStore,
    clock: Arc<dyn Clock>,
    owner: String,
}

impl ThreadAdmin {
    /// An administrator that acquires threads under the name `owner`.
    pub fn new(sealed_store: SealedStore, clock: Arc<dyn Clock>, owner: String) -> Self {
        Self { sealed_store, clock, owner }
    }

    /// Removes a thread with all its entries; returns whether it existed.
    ///
    /// # Errors
    /// `thread_busy` while another owner holds it, and those of the store.
    pub async fn delete(&self, thread: &str) -> Result<bool, Fault> {
        match self.store().delete(thread).await {
            Err(fault) => {
                free(&self.sealed_store, thread, fault).await?;
                self.store().delete(thread).await
            }
            deleted => deleted,
        }
    }

    /// Checks that no live run holds a thread. It takes nothing, so a run may begin right after.
    ///
    /// # Errors
    /// `thread_busy` while one does, and those of the store.
    pub async fn check_idle(&self, thread: &str) -> Result<(), Fault> {
        let held = self.store().thread(thread).await?.and_then(|info| info.held);
        match held.filter(|(owner, _)| !is_gone(owner) && !has_left(thread, owner)) {
            Some((_, until)) => Err(busy(thread, until)),
            None => Ok(()),
        }
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.sealed_store.store()
    }

    /// Acquires a thread, also from an owner whose process is gone.
    async fn claim(&self, thread: &str) -> Result<ThreadHead, Fault> {
        match self.store().claim(thread, &self.owner, TERM).await {
            Err(fault) => {
                free(&self.sealed_store, thread, fault).await?;
                self.store().claim(thread, &self.owner, TERM).await
            }
            head => head,
        }
    }

    async fn release(&self, thread: &str) -> Result<(), Fault> {
        self.sealed_store.release(thread, &self.owner).await
    }
}

fn empty(thread: &str) -> Fault {
    Fault::new(FaultCode::ThreadEmpty, format!("the thread is empty: {thread}"))
        .with("thread", thread)
        .hint("check its name in the list of threads")
}
