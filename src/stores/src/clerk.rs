//! Whoever sees to threads from outside of any run: lists, copies, prunes and
//! deletes them.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault};
use antiphon_runtime::Clock;
use antiphon_runtime::store::{Head, Store};

use crate::log::Vault;

mod copy;
mod list;
mod prune;
mod show;
mod status;

pub use list::{Filter, Listed, Page};
pub use prune::{Pruned, Pruning};
pub use show::{Detail, Instant, Latest, Turn};
pub use status::{Asking, Status};

/// Sees to the threads of one store.
#[derive(Clone)]
pub struct Clerk {
    vault: Vault,
    clock: Arc<dyn Clock>,
    owner: String,
    /// Whether an owner is known to be gone, so that nobody has to wait for it.
    is_gone: fn(&str) -> bool,
}

impl Clerk {
    /// For so long a thread is taken at a time.
    const TERM: Duration = Duration::from_secs(30);

    /// A clerk who holds threads under the name `owner`.
    pub fn new(
        vault: Vault,
        clock: Arc<dyn Clock>,
        owner: String,
        is_gone: fn(&str) -> bool,
    ) -> Self {
        Self { vault, clock, owner, is_gone }
    }

    /// Removes a thread with all it has; says whether there was one.
    ///
    /// # Errors
    /// `thread_busy` while somebody holds it, and those of the store.
    pub async fn delete(&self, thread: &str) -> Result<bool, Fault> {
        match self.store().delete(thread).await {
            Err(fault) => {
                self.free(thread, fault).await?;
                self.store().delete(thread).await
            }
            deleted => deleted,
        }
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.vault.store()
    }

    /// Takes a thread, also from whoever is gone.
    async fn claim(&self, thread: &str) -> Result<Head, Fault> {
        match self.store().claim(thread, &self.owner, Self::TERM).await {
            Err(fault) => {
                self.free(thread, fault).await?;
                self.store().claim(thread, &self.owner, Self::TERM).await
            }
            head => head,
        }
    }

    async fn release(&self, thread: &str) -> Result<(), Fault> {
        self.store().release(thread, &self.owner).await
    }

    async fn free(&self, thread: &str, fault: Fault) -> Result<(), Fault> {
        let holder = fault.details.get("owner").and_then(serde_json::Value::as_str);
        match holder.filter(|owner| fault.code == "thread_busy" && (self.is_gone)(owner)) {
            Some(owner) => self.store().release(thread, owner).await,
            None => Err(fault),
        }
    }
}

fn unknown(thread: &str) -> Fault {
    Fault::new(Category::State, "thread_unknown", format!("there is no such thread: {thread}"))
        .with("thread", thread)
        .hint("look for its name in the list of threads")
}
