//! Removing what a thread need not keep, while it is written to.

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{EntryKind, EntryRange, StoreFuture};
use futures_util::FutureExt;

use crate::lease::TERM;
use crate::log::SealedStore;
use crate::retention::RetentionPolicy;

/// What is to be removed of one thread, and how far that has come. Whatever
/// fails here is tried again after the next snapshot, and fails no run.
pub(crate) struct Pruner {
    keep: RetentionPolicy,
    /// So many checkpoints from now on, those before the last snapshot are too many.
    countdown: Option<u64>,
    /// Since when there may be something that is not needed.
    due: Option<Time>,
    /// The same, as long as that is being removed.
    since: Time,
    under_way: Option<StoreFuture<()>>,
}

impl Pruner {
    pub(crate) const fn new(keep: RetentionPolicy) -> Self {
        let since = Time::from_micros(0);
        Self { keep, countdown: None, due: None, since, under_way: None }
    }

    /// Takes in what was added.
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

    /// Goes on by one step, without waiting.
    pub(crate) fn go_on(&mut self, sealed_store: &SealedStore, (thread, owner): (&str, &str)) {
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

    /// Does the rest once the thread is free; it is taken again for that, unless
    /// somebody else was faster.
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

/// A thread that is let go also if nobody waits any more.
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
    // What follows goes first: an entry never lacks the one it follows.
    for span in keep.plan(&marks, now).spans.into_iter().rev() {
        sealed_store.store().remove(&thread, &owner, span).await?;
    }
    Ok(())
}
