//! The right to write to a thread, kept for as long as a run lasts and given back
//! after it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use antiphon_core::Fault;
use antiphon_runtime::store::{Store, StoreFuture};
use futures_util::FutureExt;

use crate::log::SealedStore;
use crate::process::{self, PerProcess};

/// For how long a thread stays with a run whose process is gone.
pub const TERM: Duration = Duration::from_secs(30);

/// How long a store that could not release a thread is left alone.
const PAUSE: Duration = Duration::from_secs(1);

/// Keeps a thread until it is dropped. It does so beside the run, because a node
/// may hold whoever drives the run for longer than a term.
#[derive(Debug)]
pub struct Lease {
    id: u64,
    process: u32,
}

/// All leases of this process, and whether somebody renews them.
struct LeaseRegistry {
    renewed: bool,
    next: u64,
    held: BTreeMap<u64, HeldLease>,
    unreleased: Vec<PendingRelease>,
    /// Somebody tries to release them.
    releasing: bool,
}

struct HeldLease {
    sealed_store: SealedStore,
    thread: String,
    owner: String,
}

static LEASES: PerProcess<LeaseRegistry> =
    PerProcess::new(LeaseRegistry::none(), LeaseRegistry::none);

impl Lease {
    /// Keeps a thread that was claimed just now.
    #[must_use]
    pub fn keep(sealed_store: SealedStore, thread: String, owner: String) -> Self {
        let mut leases = LeaseRegistry::here();
        leases.next += 1;
        let id = leases.next;
        leases.held.insert(id, HeldLease { sealed_store, thread, owner });
        if !leases.renewed {
            // Without a thread for it the lease lasts for a term.
            let renewing = std::thread::Builder::new().name("antiphon-leases".into()).spawn(renew);
            leases.renewed = renewing.is_ok();
        }
        Self { id, process: process::id() }
    }
}

impl Drop for Lease {
    /// Nothing is claimed any more once this returns. In a fork nothing was.
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

    /// Those of this process: a fork has neither the leases nor the thread.
    fn here() -> MutexGuard<'static, Self> {
        LEASES.here().0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Claims what is held again and again, until nothing is.
fn renew() {
    loop {
        std::thread::sleep(TERM / 3);
        let mut leases = LeaseRegistry::here();
        if leases.held.is_empty() {
            leases.renewed = false;
            return;
        }
        for HeldLease { sealed_store, thread, owner } in leases.held.values() {
            // Queued at once. If the thread was lost, the next commit says so.
            drop(sealed_store.store().claim(thread, owner, TERM));
        }
    }
}

/// A thread that is being released. A release that fails is tried again in the
/// background, because until it succeeds no other process may write to the thread.
pub(crate) struct ThreadRelease {
    answer: StoreFuture<()>,
    /// What is left to do.
    claimed: Option<ThreadClaim>,
}

/// A thread, and who has claimed it.
struct ThreadClaim {
    /// Whoever closes the store waits for nothing more.
    store: Weak<dyn Store>,
    thread: String,
    owner: String,
    process: u32,
}

/// A thread that its store did not release, as when its disk was full.
struct PendingRelease {
    claimed: ThreadClaim,
    answer: Option<StoreFuture<()>>,
    /// The lease is over by then.
    until: Instant,
}

impl ThreadRelease {
    /// Lets a thread go.
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
    /// Nobody waits for it any more, but it may still fail. In a fork nothing was claimed.
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

    /// Tries the release again if it has failed; true once nothing is left to do. Dropping
    /// the last reference to a store closes it, which takes a while: the caller does that
    /// with `stores`, after it has unlocked the leases.
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

/// Whether this owner has let a thread go, and no store could be told so.
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
