//! Pruning of threads from outside of runs.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_runtime::store::{EntryRange, StoredThreadInfo};
use futures_util::future::join_all;

use super::{ThreadAdmin, empty};
use crate::codec::damaged_chain;
use crate::retention::{PrunePlan, RetentionPolicy};

/// What to prune.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PruneRequest {
    /// Which checkpoints of each thread stay.
    pub keep: RetentionPolicy,
    /// Threads with no write for longer than this are deleted, also if they wait for an answer.
    pub idle: Option<Duration>,
    /// Whether to report only, and remove nothing.
    pub dry_run: bool,
}

impl PruneRequest {
    /// Refuses to prune by no rule at all.
    fn check(&self) -> Result<(), Fault> {
        if !self.keep.is_all() || self.idle.is_some() {
            return Ok(());
        }
        let message = "`prune` needs a limit";
        let hint = "pass `keep_last`, `keep_for`, `keep_bytes` or `delete_after`, here or when \
                    the saver is opened";
        Err(Fault::new(FaultCode::CallInvalid, message).hint(hint))
    }
}

/// The result of pruning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// The number of threads that were examined.
    pub threads: u64,
    /// The number of threads that were deleted.
    pub deleted: u64,
    /// The number of entries that were removed, including those of deleted threads.
    pub entries: u64,
    /// The size of their bodies, in bytes.
    pub bytes: u64,
    /// Threads that a run writes to; they were skipped.
    pub busy: Vec<String>,
    /// Damaged threads; they were skipped, because it is unknown which of their entries are
    /// needed.
    pub damaged: Vec<String>,
}

impl PruneReport {
    fn add(&mut self, other: Self) {
        self.threads += other.threads;
        self.deleted += other.deleted;
        self.entries += other.entries;
        self.bytes += other.bytes;
        self.busy.extend(other.busy);
        self.damaged.extend(other.damaged);
    }

    fn add_damaged(
        &mut self,
        thread: &StoredThreadInfo,
        done: Result<(), Fault>,
    ) -> Result<(), Fault> {
        match done {
            Err(fault) if fault.code.is_of_checkpoint() => {
                self.damaged.push(thread.name.clone());
                Ok(())
            }
            done => done,
        }
    }
}

impl ThreadAdmin {
    /// The number of threads in a page of the list.
    pub(super) const PAGE: u32 = 256;

    /// Prunes one thread.
    ///
    /// # Errors
    /// `call_invalid` if the request has no rule, `thread_empty` if there is no such thread, and
    /// those of the store.
    pub async fn prune(&self, thread: &str, pruning: &PruneRequest) -> Result<PruneReport, Fault> {
        pruning.check()?;
        let Some(thread) = self.store().thread(thread).await? else { return Err(empty(thread)) };
        let mut pruned = PruneReport::default();
        self.prune_one(&thread, pruning, &mut pruned).await.map(|()| pruned)
    }

    /// Prunes all threads, one after the other.
    ///
    /// # Errors
    /// `call_invalid` if the request has no rule, and those of the store; threads that were
    /// pruned before stay pruned.
    pub async fn prune_all(&self, pruning: &PruneRequest) -> Result<PruneReport, Fault> {
        pruning.check()?;
        let mut pruned = PruneReport::default();
        let mut after: Option<String> = None;
        loop {
            let page = self.after(after.as_deref()).await?;
            let Some(last) = page.last() else { return Ok(pruned) };
            after = Some(last.name.clone());
            let mut rest = page.as_slice();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(Self::batch_size(rest));
                let prune = async |thread: &StoredThreadInfo| {
                    let mut own = PruneReport::default();
                    (self.prune_one(thread, pruning, &mut own).await, own)
                };
                let done = join_all(now.iter().map(prune)).await;
                for (thread, (done, own)) in now.iter().zip(done) {
                    pruned.add(own);
                    pruned.add_damaged(thread, done)?;
                }
                rest = later;
            }
        }
    }

    async fn prune_one(
        &self,
        thread: &StoredThreadInfo,
        pruning: &PruneRequest,
        pruned: &mut PruneReport,
    ) -> Result<(), Fault> {
        pruned.threads += 1;
        let is_idle = match pruning.idle {
            Some(idle) => self.clock.now().since(self.written_at(thread).await?) > idle,
            None => false,
        };
        let done = if is_idle {
            self.remove_whole(thread, pruning.dry_run).await
        } else {
            self.remove_old(thread, pruning).await.map(|plan| (false, plan))
        };
        match done {
            Ok((is_deleted, plan)) => {
                pruned.deleted += u64::from(is_deleted);
                pruned.entries += plan.entries;
                pruned.bytes += plan.bytes;
            }
            Err(fault)
                if matches!(fault.code, FaultCode::ThreadBusy | FaultCode::ThreadConflict) =>
            {
                pruned.busy.push(thread.name.clone());
            }
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    /// When a thread was last written to, by its last entry.
    async fn written_at(&self, thread: &StoredThreadInfo) -> Result<Time, Fault> {
        let last = self.sealed_store.checked(&thread.name, &thread.head)?;
        if last == 0 {
            return Ok(thread.at);
        }
        let span = EntryRange { from: last, to: last };
        let found = self.sealed_store.marks(&thread.name, span, None).await?.pop();
        found.map(|mark| mark.at).ok_or_else(|| damaged_chain(&thread.name, last))
    }

    async fn remove_whole(
        &self,
        thread: &StoredThreadInfo,
        dry_run: bool,
    ) -> Result<(bool, PrunePlan), Fault> {
        // The entries are deleted unseen; they are read only to count them.
        let marks = self.store().marks(&thread.name, EntryRange::ALL, None).await?;
        let entries = marks.len() as u64;
        let plan = PrunePlan { entries, bytes: thread.size, spans: Vec::new() };
        let is_deleted = dry_run || self.delete(&thread.name).await?;
        Ok(if is_deleted { (true, plan) } else { (false, PrunePlan::default()) })
    }

    async fn remove_old(
        &self,
        thread: &StoredThreadInfo,
        pruning: &PruneRequest,
    ) -> Result<PrunePlan, Fault> {
        let name = &thread.name;
        let plan = self.plan(name, &pruning.keep).await?;
        if pruning.dry_run || plan.spans.is_empty() {
            return Ok(plan);
        }
        self.claim(name).await?;
        // The plan is made again under the lease: entries may have been appended that need
        // others.
        let removed = self.remove_planned(name, &pruning.keep).await;
        self.release(name).await?;
        removed
    }

    async fn remove_planned(
        &self,
        thread: &str,
        keep: &RetentionPolicy,
    ) -> Result<PrunePlan, Fault> {
        let plan = self.plan(thread, keep).await?;
        // Descending, because an entry must never lack the one it follows.
        for span in plan.spans.iter().rev() {
            self.store().remove(thread, &self.owner, *span).await?;
        }
        Ok(plan)
    }

    async fn plan(&self, thread: &str, keep: &RetentionPolicy) -> Result<PrunePlan, Fault> {
        if keep.is_all() {
            return Ok(PrunePlan::default());
        }
        let marks = self.sealed_store.marks(thread, EntryRange::ALL, None).await?;
        Ok(keep.plan(&marks, self.clock.now()))
    }
}
