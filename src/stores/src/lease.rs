//! Leases: the exclusive right to write to a thread, renewed while a run lasts and released
//! after it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use antiphon_core::Fault;
use antiphon_runtime::store::{Store, StoreFuture};
use futures_util::FutureExt;

use crate::process::{self, PerProcess};
use crate::sealed_store::SealedStore;

/// How long a thread stays with a run whose process is gone.
pub const TERM: Duration = Duration::from_secs(30);

/// How long to wait before a failed release is retried.
const PAUSE: Duration = Duration::from_secs(1);

/// Renews the lease of a thread until it is dropped. A separate thread does this, because a
/// node may block the driver of the run for longer than a term.
#[derive(Debug)]
pub struct Lease {
    id: u64,
    process: u32,
}

/// All leases of this process, and whether a thread renews them.
struct LeaseRegistry {
    renewed: bool,
    next: u64,
    held: BTreeMap<u64, HeldLease>,
    unreleased: Vec<PendingRelease>,
    /// A thread is retrying the releases.
    releasing: bool,
}

struct HeldLease {
    sealed_store: SealedStore,
    thread: String,
    owner: String,
}

static LEASES: PerProcess<Mutex<LeaseRegistry>> =
    PerProcess::new(Mutex::new(LeaseRegistry::none()), || Mutex::new(LeaseRegistry::none()));

impl Lease {
    /// Renews the lease of a thread that was just claimed.
    #[must_use]
    pub fn keep(sealed_store: SealedStore, thread: String, owner: String) -> Self {
        let mut leases = LeaseRegistry::here();
        leases.next += 1;
        let id = leases.next;
        leases.held.insert(id, HeldLease { sealed_store, thread, owner });
        if !leases.renewed {
            // Without a thread that renews it, the lease lasts for one term.
            let renewing = std::thread::Builder::new().name("antiphon-leases".into()).spawn(renew);
            leases.renewed = renewing.is_ok();
        }
        Self { id, process: process::id() }
    }
}

impl Drop for Lease {
    /// Stops the renewal; nothing is claimed after this returns. In a fork nothing was.
    fn drop(&mut self) {
        if process::check(self.process).is_ok() {
            let held = LeaseRegistry::here().held.remove(&self.id);
            drop(held);
        }
    }
}

impl LeaseRegistry {
    const fn none() -> Self {
        Self {
            renewed: false,
            next: 0,
            held: BTreeMap::new(),
            unreleased: Vec::new(),
            releasing: false,
        }
    }

    /// The leases of this process: a fork has neither its parent's leases nor the thread that
    /// renews them.
    fn here() -> MutexGuard<'static, Self> {
        LEASES.here().lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews the leases until none is left.
fn renew() {
    loop {
        std::thread::sleep(TERM / 3);
        let mut leases = LeaseRegistry::here();
        if leases.held.is_empty() {
            leases.renewed = false;
            return;
        }
        for HeldLease { sealed_store, thread, owner } in leases.held.values() {
            // `claim` queues at once. If the lease was lost, the next commit reports it.
            drop(sealed_store.store().claim(thread, owner, TERM));
        }
    }
}

/// A release in progress. A release that fails is retried in the background, because until it
/// succeeds no other process may write to the thread.
pub(crate) struct ThreadRelease {
    answer: StoreFuture<()>,
    /// The work that is left.
    claimed: Option<ThreadClaim>,
}

/// A thread and its owner.
struct ThreadClaim {
    /// Weak: closing the store does not wait for the release.
    store: Weak<dyn Store>,
    thread: String,
    owner: String,
    process: u32,
}

/// A thread whose release failed, for example because the disk was full.
struct PendingRelease {
    claimed: ThreadClaim,
    answer: Option<StoreFuture<()>>,
    /// When the lease expires by itself.
    until: Instant,
}

impl ThreadRelease {
    /// Releases a thread.
    pub(crate) fn of(store: &Arc<dyn Store>, thread: &str, owner: &str) -> Self {
        let answer = store.release(thread, owner);
        let (thread, owner) = (thread.to_owned(), owner.to_owned());
        let store = Arc::downgrade(store);
        let claimed = ThreadClaim { store, thread, owner, process: process::id() };
        Self { answer, claimed: Some(claimed) }
    }
}

impl Future for ThreadRelease {
    type Output = Result<(), Fault>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let released = ready!(self.answer.as_mut().poll(context));
        if let Some(claimed) = self.claimed.take()
            && released.is_err()
        {
            PendingRelease::new(claimed, None).keep();
        }
        Poll::Ready(released)
    }
}

impl Drop for ThreadRelease {
    /// The caller is gone, but the release may still fail. In a fork nothing was claimed.
    fn drop(&mut self) {
        let Some(claimed) = self.claimed.take() else { return };
        if process::check(claimed.process).is_ok() {
            let answer = std::mem::replace(&mut self.answer, Box::pin(std::future::pending()));
            let mut left = PendingRelease::new(claimed, Some(answer));
            if !left.settle(&mut Vec::new()) {
                left.keep();
            }
        }
    }
}

impl PendingRelease {
    fn new(claimed: ThreadClaim, answer: Option<StoreFuture<()>>) -> Self {
        Self { claimed, answer, until: Instant::now() + TERM }
    }

    fn keep(self) {
        let mut leases = LeaseRegistry::here();
        leases.unreleased.push(self);
        if !leases.releasing {
            let releasing = std::thread::Builder::new().name("antiphon-leases".into());
            leases.releasing = releasing.spawn(release_again).is_ok();
        }
    }

    /// Retries the failed releases; returns true once none is left. To drop the last reference
    /// to a store closes it, which takes time: the caller drops `stores` after it has unlocked
    /// the leases.
    fn settle(&mut self, stores: &mut Vec<Arc<dyn Store>>) -> bool {
        if Instant::now() >= self.until {
            return true;
        }
        let ThreadClaim { store, thread, owner, .. } = &self.claimed;
        let ask = || {
            let store = store.upgrade()?;
            let answer = store.release(thread, owner);
            stores.push(store);
            Some(answer)
        };
        self.answer = self.answer.take().or_else(ask);
        let answered = self.answer.as_mut().and_then(FutureExt::now_or_never);
        if answered.as_ref().is_some_and(Result::is_err) {
            self.answer = None;
        }
        answered.is_some_and(|answered| answered.is_ok())
    }
}

/// Whether this owner has released a thread and the store does not know it yet.
pub(crate) fn has_left(thread: &str, owner: &str) -> bool {
    let is_left = |claimed: &ThreadClaim| (&*claimed.thread, &*claimed.owner) == (thread, owner);
    LeaseRegistry::here().unreleased.iter().any(|left| is_left(&left.claimed))
}

fn release_again() {
    loop {
        std::thread::sleep(PAUSE);
        let mut stores = Vec::new();
        let mut leases = LeaseRegistry::here();
        leases.unreleased.retain_mut(|left| !left.settle(&mut stores));
        if leases.unreleased.is_empty() {
            leases.releasing = false;
            return;
        }
    }
}
