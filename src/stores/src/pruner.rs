//! Pruning of a thread while it is written.

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{EntryKind, EntryRange, StoreFuture};
use futures_util::FutureExt;

use crate::lease::TERM;
use crate::retention::RetentionPolicy;
use crate::sealed_store::SealedStore;

/// The pruning of one thread and its progress. A step that fails is retried after the next
/// snapshot, and does not fail the run.
pub(crate) struct Pruner {
    keep: RetentionPolicy,
    /// After so many further checkpoints, those before the last snapshot exceed the limit.
    countdown: Option<u64>,
    /// The time of the first entry that may be superfluous; `None` if there is none.
    due: Option<Time>,
    /// `due` of the pruning in progress.
    since: Time,
    under_way: Option<StoreFuture<()>>,
}

impl Pruner {
    pub(crate) const fn new(keep: RetentionPolicy) -> Self {
        let since = Time::from_micros(0);
        Self { keep, countdown: None, due: None, since, under_way: None }
    }

    /// Registers appended entries.
    pub(crate) fn added(&mut self, kinds: impl IntoIterator<Item = EntryKind>, at: Time) {
        if self.keep.is_all() {
            return;
        }
        for kind in kinds {
            match (kind, &mut self.countdown) {
                (EntryKind::Snapshot, countdown) => {
                    *countdown = self.keep.last;
                    self.due = Some(at);
                }
                (EntryKind::Step, Some(0)) => {
                    self.countdown = None;
                    self.due = Some(at);
                }
                (EntryKind::Step, Some(left)) => *left -= 1,
                _ => {}
            }
        }
    }

    /// Does one step of pruning, without waiting.
    pub(crate) fn resume(&mut self, sealed_store: &SealedStore, (thread, owner): (&str, &str)) {
        if self.under_way.as_mut().and_then(FutureExt::now_or_never).is_some() {
            self.under_way = None;
        }
        if self.under_way.is_none()
            && let Some(now) = self.due.take()
        {
            self.since = now;
            let about = (thread.to_owned(), owner.to_owned());
            self.under_way = Some(Box::pin(remove(sealed_store.clone(), about, (self.keep, now))));
        }
    }

    /// Does the rest after the thread was released. The thread is acquired again for that,
    /// unless another owner was faster.
    pub(crate) async fn finish(self, sealed_store: SealedStore, thread: String, owner: String) {
        let left = self.under_way.map(|_| self.since);
        let Some(now) = self.due.or(left) else { return };
        if sealed_store.store().claim(&thread, &owner, TERM).await.is_ok() {
            let taken = TakenThread { sealed_store, thread, owner };
            let about = (taken.thread.clone(), taken.owner.clone());
            let _ = remove(taken.sealed_store.clone(), about, (self.keep, now)).await;
        }
    }
}

/// An acquired thread that is released also if the future is dropped.
struct TakenThread {
    sealed_store: SealedStore,
    thread: String,
    owner: String,
}

impl Drop for TakenThread {
    fn drop(&mut self) {
        drop(self.sealed_store.release(&self.thread, &self.owner));
    }
}

async fn remove(
    sealed_store: SealedStore,
    (thread, owner): (String, String),
    (keep, now): (RetentionPolicy, Time),
) -> Result<(), Fault> {
    let marks = sealed_store.marks(&thread, EntryRange::ALL, None).await?;
    // Descending, because an entry must never lack the one it follows.
    for span in keep.plan(&marks, now).spans.into_iter().rev() {
        sealed_store.store().remove(&thread, &owner, span).await?;
    }
    Ok(())
}
