//! Removing what nobody wants to keep any longer.

use std::time::Duration;

use antiphon_core::Fault;
use antiphon_runtime::store::{Span, Thread};

use super::{Clerk, empty};
use crate::keep::{Keep, Plan};

/// What is to be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruning {
    /// What of each thread stays.
    pub keep: Keep,
    /// Threads that were not written to for longer than this are removed whole,
    /// whatever they wait for.
    pub idle: Option<Duration>,
    /// It is only said what would be removed.
    pub rehearsal: bool,
}

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many threads were looked at.
    pub threads: u64,
    /// Those that were removed whole.
    pub deleted: u64,
    /// How many entries were removed, those of deleted threads included.
    pub entries: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Threads that somebody writes to, left as they are.
    pub busy: Vec<String>,
}

impl Clerk {
    /// So many threads are listed at a time.
    pub(super) const PAGE: u32 = 256;

    /// Prunes one thread.
    ///
    /// # Errors
    /// `thread_empty` if there is no such thread, and those of the store.
    pub async fn prune(&self, thread: &str, pruning: &Pruning) -> Result<Pruned, Fault> {
        let Some(thread) = self.store().thread(thread).await? else { return Err(empty(thread)) };
        let mut pruned = Pruned::default();
        self.prune_one(&thread, pruning, &mut pruned).await?;
        Ok(pruned)
    }

    /// Prunes all threads, one after the other.
    ///
    /// # Errors
    /// Those of the store; threads that were pruned until then stay so.
    pub async fn prune_all(&self, pruning: &Pruning) -> Result<Pruned, Fault> {
        let mut pruned = Pruned::default();
        let mut after: Option<String> = None;
        loop {
            let page = self.after(after.as_deref()).await?;
            let Some(last) = page.last() else { return Ok(pruned) };
            after = Some(last.name.clone());
            for thread in &page {
                self.prune_one(thread, pruning, &mut pruned).await?;
            }
        }
    }

    async fn prune_one(
        &self,
        thread: &Thread,
        pruning: &Pruning,
        pruned: &mut Pruned,
    ) -> Result<(), Fault> {
        pruned.threads += 1;
        let is_idle = pruning.idle.is_some_and(|idle| self.clock.now().since(thread.at) > idle);
        let done = if is_idle {
            self.remove_whole(thread, pruning.rehearsal).await
        } else {
            self.remove_old(thread, pruning).await.map(|plan| (false, plan))
        };
        match done {
            Ok((is_deleted, plan)) => {
                pruned.deleted += u64::from(is_deleted);
                pruned.entries += plan.entries;
                pruned.bytes += plan.bytes;
            }
            Err(fault) if matches!(&*fault.code, "thread_busy" | "thread_conflict") => {
                pruned.busy.push(thread.name.clone());
            }
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    async fn remove_whole(&self, thread: &Thread, rehearsal: bool) -> Result<(bool, Plan), Fault> {
        let marks = self.store().marks(&thread.name, Span::ALL, None).await?;
        let entries = marks.len() as u64;
        let plan = Plan { entries, bytes: thread.size, spans: Vec::new() };
        let is_deleted = rehearsal || self.delete(&thread.name).await?;
        Ok(if is_deleted { (true, plan) } else { (false, Plan::default()) })
    }

    async fn remove_old(&self, thread: &Thread, pruning: &Pruning) -> Result<Plan, Fault> {
        let name = &thread.name;
        let plan = self.plan(name, &pruning.keep).await?;
        if pruning.rehearsal || plan.spans.is_empty() {
            return Ok(plan);
        }
        self.claim(name).await?;
        // Somebody may have written, and may need what nobody needed before.
        let removed = self.remove_planned(name, &pruning.keep).await;
        self.release(name).await?;
        removed
    }

    async fn remove_planned(&self, thread: &str, keep: &Keep) -> Result<Plan, Fault> {
        let plan = self.plan(thread, keep).await?;
        for span in &plan.spans {
            self.store().remove(thread, &self.owner, *span).await?;
        }
        Ok(plan)
    }

    async fn plan(&self, thread: &str, keep: &Keep) -> Result<Plan, Fault> {
        if keep.is_all() {
            return Ok(Plan::default());
        }
        let marks = self.store().marks(thread, Span::ALL, None).await?;
        Ok(keep.plan(&marks, self.clock.now()))
    }
}
