//! The threads of one store that are in use: read once, caught up with other writers, and
//! written optimistically.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::{Fault, Time};
use antiphon_runtime::Clock;
use antiphon_runtime::store::EntryRange;

use super::cached::{CachedThread, PendingWrite};
use super::{CheckpointKeys, LangGraphThread, OWNER, WriteTurn, copied, remove_checkpoints};
use crate::log::SealedStore;

/// What a cache needs of the code that uses it.
pub trait CacheClient: Send + Sync {
    /// What the client keeps beside a thread. It is dropped whenever the thread is read anew.
    type Extra: Default + Send;
    /// What its code fails with.
    type Error: Send;

    /// The store of the threads.
    ///
    /// # Errors
    /// If it was closed.
    fn sealed_store(&self) -> Result<SealedStore, Self::Error>;

    /// A fault as the client's error.
    fn error(&self, fault: Fault) -> Self::Error;

    /// Accesses what a mutex protects. Mutations run under it: a client whose mutations need
    /// another lock releases that lock here while it waits for this one.
    fn with_lock<T, R>(&self, mutex: &Mutex<T>, access: impl FnOnce(&mut T) -> R) -> R;
}

/// A change of a thread. It is applied again if another writer was first.
pub trait Mutation<C: CacheClient>: Send + Sync {
    /// Applies it to the thread as it is known.
    ///
    /// # Errors
    /// Those of the client. The thread is read anew then.
    fn apply(
        &self,
        client: &C,
        thread: &mut LangGraphThread,
        extra: &mut C::Extra,
    ) -> Result<(), C::Error>;
}

/// The threads of one store that are in use.
///
/// Threads are kept by their names in the store. Those that were not used for longest are
/// dropped beyond [`ThreadCache::MAX_THREADS`] or [`ThreadCache::MAX_BYTES`].
pub struct ThreadCache<C: CacheClient> {
    pub(super) client: C,
    clock: Arc<dyn Clock>,
    slots: Mutex<BTreeMap<String, Slot<C::Extra>>>,
    accesses: AtomicUsize,
}

pub(super) type SharedThread<X> = Arc<Mutex<CachedThread<X>>>;

struct Slot<X> {
    thread: SharedThread<X>,
    /// The number of its last access.
    used: usize,
    weight: usize,
}

/// Namespace, id, parent and run of a checkpoint.
pub type CheckpointInfo = (String, String, Option<String>, Option<String>);

/// Which checkpoints of a thread are listed: those of a namespace, of an id, and those whose
/// id is smaller than `before`.
#[derive(Clone, Debug, Default)]
pub struct CheckpointFilter {
    /// The namespace.
    pub space: Option<String>,
    /// The id.
    pub id: Option<String>,
    /// An id that is larger.
    pub before: Option<String>,
}

/// How the contents of a thread are replaced.
#[derive(Clone, Copy)]
enum Rewrite<'a> {
    /// Without these checkpoints.
    Remove(&'a CheckpointKeys),
    /// With all checkpoints of another thread.
    AddAll(&'a str),
}

impl<C: CacheClient> ThreadCache<C> {
    /// The most threads that are kept.
    pub const MAX_THREADS: usize = 256;
    /// The most bytes of all of them.
    pub const MAX_BYTES: usize = 128 << 20;

    /// An empty cache. Waiting writers sleep by `clock`.
    pub fn new(client: C, clock: Arc<dyn Clock>) -> Self {
        Self { client, clock, slots: Mutex::default(), accesses: AtomicUsize::new(0) }
    }

    /// The client.
    pub const fn client(&self) -> &C {
        &self.client
    }

    /// How many threads are cached.
    pub fn len(&self) -> usize {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether no thread is cached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Visits what the client keeps beside threads, as far as nobody accesses these now.
    ///
    /// # Errors
    /// The first of `visit`.
    pub fn visit_extras<E>(
        &self,
        mut visit: impl FnMut(&C::Extra) -> Result<(), E>,
    ) -> Result<(), E> {
        let Ok(slots) = self.slots.try_lock() else { return Ok(()) };
        let free = slots.values().filter_map(|slot| slot.thread.try_lock().ok());
        free.into_iter().try_for_each(|thread| visit(&thread.extra))
    }

    /// Applies a mutation to a thread that is cached, and queues the entries that it makes;
    /// `None` if the thread must be read first.
    ///
    /// # Errors
    /// Those of the mutation.
    pub fn try_apply(
        &self,
        name: &str,
        mutation: &impl Mutation<C>,
    ) -> Result<Option<PendingWrite>, C::Error> {
        self.attempt(name, mutation, None)
    }

    /// Applies a mutation to a thread until no other writer is first. `pending` is the answer
    /// of [`ThreadCache::try_apply`].
    ///
    /// # Errors
    /// Those of the mutation and of the store; `thread_busy` or `thread_conflict` if others
    /// were first for 30 seconds.
    pub async fn apply(
        &self,
        name: &str,
        mutation: &impl Mutation<C>,
        mut pending: Option<PendingWrite>,
    ) -> Result<(), C::Error> {
        let sealed_store = self.client.sealed_store()?;
        let mut turn = WriteTurn::new(&sealed_store, name);
        loop {
            if pending.is_none() {
                self.load(&sealed_store, name).await.map_err(|fault| self.client.error(fault))?;
                pending = self.attempt(name, mutation, turn.alone())?;
            }
            // It was invalidated in between.
            let Some(write) = pending.take() else { continue };
            let generation = write.generation;
            let Err(fault) = write.stored().await else { return Ok(()) };
            self.access(&self.slot(name), |cached| cached.invalidate_since(generation));
            self.retry(&mut turn, fault).await?;
        }
    }

    /// Removes checkpoints of a thread, and the thread if it has no others.
    ///
    /// # Errors
    /// As [`ThreadCache::apply`].
    pub async fn remove(&self, name: &str, keys: &CheckpointKeys) -> Result<(), C::Error> {
        let is_empty = self.rewrite(name, Rewrite::Remove(keys)).await?;
        if is_empty { self.delete_empty(name).await } else { Ok(()) }
    }

    /// Adds all checkpoints of a thread to another one.
    ///
    /// # Errors
    /// As [`ThreadCache::apply`].
    pub async fn copy(&self, source: &str, target: &str) -> Result<(), C::Error> {
        self.rewrite(target, Rewrite::AddAll(source)).await.map(drop)
    }

    /// Removes a thread with all it has.
    ///
    /// # Errors
    /// As [`ThreadCache::apply`].
    pub async fn delete(&self, name: &str) -> Result<(), C::Error> {
        let sealed_store = self.client.sealed_store()?;
        let (store, mut turn) = (sealed_store.store(), WriteTurn::new(&sealed_store, name));
        loop {
            let (released, deleted) = (store.release(name, OWNER), store.delete(name));
            let done = async { released.await.and(deleted.await.map(|_| ())) }.await;
            self.access(&self.slot(name), CachedThread::invalidate);
            match done {
                Ok(()) => return Ok(()),
                Err(fault) => self.retry(&mut turn, fault).await?,
            }
        }
    }

    /// All checkpoints of a thread, in the order of namespaces and ids.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn checkpoints(&self, name: &str) -> Result<Vec<CheckpointInfo>, C::Error> {
        let cached = self.fresh(name).await?;
        Ok(self.access(&cached, |cached| {
            let marks = cached.thread.iter().flat_map(LangGraphThread::marks);
            let info = marks.map(|(space, id, mark)| {
                (space.to_owned(), id.to_owned(), mark.parent.clone(), mark.run.clone())
            });
            info.collect()
        }))
    }

    /// Namespaces and ids of some checkpoints, newest first: at most `limit` of those that
    /// come after the namespace and the id `after`.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn page(
        &self,
        name: &str,
        filter: &CheckpointFilter,
        (after, limit): (Option<&(String, String)>, usize),
    ) -> Result<Vec<(String, String)>, C::Error> {
        let CheckpointFilter { space, id, before } = filter;
        let is_chosen = |(id_here, space_here): &(&str, &str)| {
            space.as_ref().is_none_or(|space| space == space_here)
                && id.as_ref().is_none_or(|id| id == id_here)
                && before.as_ref().is_none_or(|before| *id_here < before.as_str())
                && after.is_none_or(|(space, id)| (*id_here, *space_here) < (id, space))
        };
        let cached = self.fresh(name).await?;
        Ok(self.access(&cached, |cached| {
            let marks = cached.thread.iter().flat_map(LangGraphThread::marks);
            let found = marks.map(|(space, id, _)| (id, space)).filter(is_chosen);
            let mut found: Vec<_> = found.collect();
            found.sort_unstable_by(|one, other| other.cmp(one));
            let found = found.into_iter().take(limit);
            found.map(|(id, space)| (space.to_owned(), id.to_owned())).collect()
        }))
    }

    /// The names of the threads that begin with `prefix`, without it, and when each was
    /// written to; the latest first.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn threads(&self, prefix: &str) -> Result<Vec<(String, Time)>, C::Error> {
        let sealed_store = self.client.sealed_store()?;
        let found = sealed_store.store().recent(prefix).await;
        let found = found.map_err(|fault| self.client.error(fault))?.into_iter();
        let named = |(name, at): (String, Time)| {
            name.strip_prefix(prefix).map(|name| (name.to_owned(), at))
        };
        Ok(found.filter_map(named).collect())
    }

    /// A thread with all entries that others have written so far.
    async fn fresh(&self, name: &str) -> Result<SharedThread<C::Extra>, C::Error> {
        let sealed_store = self.client.sealed_store()?;
        self.caught_up(&sealed_store, name).await.map_err(|fault| self.client.error(fault))
    }

    pub(super) async fn caught_up(
        &self,
        sealed_store: &SealedStore,
        name: &str,
    ) -> Result<SharedThread<C::Extra>, Fault> {
        let shared = self.slot(name);
        let seen = self.access(&shared, |cached| {
            cached.thread.as_ref().map(|thread| (cached.generation, thread.seen()))
        });
        if let Some((generation, seen)) = seen {
            let entries = sealed_store.store().read(name, seen.span()).await?;
            self.access(&shared, |cached| {
                if cached.generation != generation {
                    return;
                }
                let thread = cached.thread.as_mut();
                let is_current = thread.map(|thread| thread.catch_up(sealed_store, &seen, entries));
                // A fault of entries is reported when they are read from the beginning.
                if !matches!(is_current, Some(Ok(true))) {
                    cached.invalidate();
                }
            });
        }
        self.load(sealed_store, name).await?;
        Ok(shared)
    }

    pub(super) fn access<R>(
        &self,
        shared: &SharedThread<C::Extra>,
        access: impl FnOnce(&mut CachedThread<C::Extra>) -> R,
    ) -> R {
        self.client.with_lock(shared, access)
    }

    /// The slot of a thread, which may not be read yet.
    fn slot(&self, name: &str) -> SharedThread<C::Extra> {
        let used = self.accesses.fetch_add(1, Ordering::Relaxed);
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get_mut(name) {
            slot.used = used;
            return Arc::clone(&slot.thread);
        }
        let thread = SharedThread::default();
        slots.insert(name.to_owned(), Slot { thread: Arc::clone(&thread), used, weight: 0 });
        thread
    }

    /// Notes the weight of a thread, and drops others if that is too much.
    pub(super) fn weigh(&self, name: &str, weight: usize) {
        let mut dropped = Vec::new();
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get_mut(name) {
            slot.weight = weight;
        }
        let mut bytes: usize = slots.values().map(|slot| slot.weight).sum();
        while slots.len() > 1 && (slots.len() > Self::MAX_THREADS || bytes > Self::MAX_BYTES) {
            let others = slots.iter().filter(|(other, _)| *other != name);
            let Some(oldest) = others.min_by_key(|(_, slot)| slot.used) else { break };
            let oldest = oldest.0.clone();
            let slot = slots.remove(&oldest);
            bytes -= slot.as_ref().map_or(0, |slot| slot.weight);
            dropped.extend(slot);
        }
        drop(slots);
        // The client's code runs when its extras are dropped, and may come back here.
        drop(dropped);
    }

    fn attempt(
        &self,
        name: &str,
        mutation: &impl Mutation<C>,
        alone: Option<&str>,
    ) -> Result<Option<PendingWrite>, C::Error> {
        let sealed_store = self.client.sealed_store()?;
        let applied = self.access(&self.slot(name), |cached| {
            let CachedThread { thread: Some(thread), extra, .. } = cached else {
                return Ok((None, 0));
            };
            let applied = mutation.apply(&self.client, thread, extra).and_then(|()| {
                let sent = cached.send((&sealed_store, name), alone, self.clock.now());
                sent.map_err(|fault| self.client.error(fault))
            });
            if applied.is_err() {
                cached.invalidate();
            }
            applied.map(|write| (Some(write), cached.weight()))
        });
        let (write, weight) = applied?;
        self.weigh(name, weight);
        Ok(write)
    }

    /// Reads a thread, unless it is known.
    async fn load(&self, sealed_store: &SealedStore, name: &str) -> Result<(), Fault> {
        let shared = self.slot(name);
        let generation =
            self.access(&shared, |cached| cached.thread.is_none().then_some(cached.generation));
        let Some(generation) = generation else { return Ok(()) };
        let thread = LangGraphThread::load(sealed_store, name).await?;
        let weight = self.access(&shared, |cached| {
            if cached.thread.is_none() && cached.generation == generation {
                cached.load(thread);
            }
            cached.weight()
        });
        self.weigh(name, weight);
        Ok(())
    }

    /// Rewrites a thread until no other writer is first; returns whether it is empty then.
    async fn rewrite(&self, name: &str, rewrite: Rewrite<'_>) -> Result<bool, C::Error> {
        let sealed_store = self.client.sealed_store()?;
        let mut turn = WriteTurn::new(&sealed_store, name);
        loop {
            match self.rewritten(&sealed_store, (name, rewrite), &turn).await {
                Ok(is_empty) => {
                    self.access(&self.slot(name), CachedThread::invalidate);
                    return Ok(is_empty);
                }
                Err(fault) => self.retry(&mut turn, fault).await?,
            }
        }
    }

    async fn rewritten(
        &self,
        sealed_store: &SealedStore,
        (name, rewrite): (&str, Rewrite<'_>),
        turn: &WriteTurn,
    ) -> Result<bool, Fault> {
        let (store, owner) = (sealed_store.store(), turn.alone().unwrap_or(OWNER));
        let mut thread = LangGraphThread::load(sealed_store, name).await?;
        let first = match rewrite {
            Rewrite::Remove(keys) => remove_checkpoints(sealed_store, &mut thread, keys).await?,
            Rewrite::AddAll(source) => {
                thread = copied(sealed_store, source, thread).await?;
                None
            }
        };
        let is_empty = thread.marks().next().is_none();
        let Some(batch) = thread.batch(sealed_store, owner, self.clock.now())? else {
            return Ok(is_empty);
        };
        let claim = turn.alone().is_none().then(|| store.claim(name, OWNER, WriteTurn::TERM));
        PendingWrite::of(claim, store.append(batch)).stored().await?;
        if let Some(first) = first {
            let span = EntryRange { from: 0, to: first.saturating_sub(1) };
            store.remove(name, owner, span).await?;
        }
        Ok(is_empty)
    }

    /// Removes a thread that holds nothing, and leaves any other as it is.
    async fn delete_empty(&self, name: &str) -> Result<(), C::Error> {
        let raised = |fault| self.client.error(fault);
        let sealed_store = self.client.sealed_store()?;
        let mut turn = WriteTurn::new(&sealed_store, name);
        loop {
            let pause = turn.take().await.map_err(raised)?;
            if turn.alone().is_none() {
                self.clock.sleep(pause).await;
                continue;
            }
            let thread = LangGraphThread::load(&sealed_store, name).await.map_err(raised)?;
            if thread.marks().next().is_some() {
                return Ok(());
            }
            // Whoever writes to it after this has to take it first, and then it stays.
            turn.leave();
            match sealed_store.store().delete(name).await {
                Ok(_) => break,
                Err(fault) => self.retry(&mut turn, fault).await?,
            }
        }
        self.access(&self.slot(name), CachedThread::invalidate);
        Ok(())
    }

    /// Waits for the next try, if a failed one deserves another.
    async fn retry(&self, turn: &mut WriteTurn, fault: Fault) -> Result<(), C::Error> {
        let pause = turn.failed(fault).await.map_err(|fault| self.client.error(fault))?;
        if !pause.is_zero() {
            self.clock.sleep(pause).await;
        }
        Ok(())
    }
}
