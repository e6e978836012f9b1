//! The threads of one store that are in use: read once, caught up with other writers, and
//! written optimistically.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::Fault;
use antiphon_runtime::Clock;

use super::cached_thread::{CachedThread, PendingWrite};
use super::{CacheClient, KnownEntries, LangGraphThread, Mutation, WriteTurn};
use crate::sealed_store::SealedStore;

/// The threads of one store that are in use.
///
/// Threads are kept by their names in the store. Those that were not used for longest are
/// dropped beyond [`ThreadCache::MAX_THREADS`] or [`ThreadCache::MAX_BYTES`].
pub struct ThreadCache<C: CacheClient> {
    pub(super) client: C,
    pub(super) clock: Arc<dyn Clock>,
    entries: Mutex<BTreeMap<String, CacheEntry<C::Value>>>,
    accesses: AtomicUsize,
}

pub(super) type SharedThread<V> = Arc<Mutex<CachedThread<V>>>;

struct CacheEntry<V> {
    thread: SharedThread<V>,
    /// The number of its last access.
    used: usize,
    weight: usize,
}

impl<C: CacheClient> ThreadCache<C> {
    /// The most threads that are kept.
    pub const MAX_THREADS: usize = 256;
    /// The most bytes of all of them.
    pub const MAX_BYTES: usize = 128 << 20;

    /// An empty cache. Waiting writers sleep by `clock`.
    pub fn new(client: C, clock: Arc<dyn Clock>) -> Self {
        Self { client, clock, entries: Mutex::default(), accesses: AtomicUsize::new(0) }
    }

    /// The client.
    pub const fn client(&self) -> &C {
        &self.client
    }

    /// How many threads are cached.
    pub fn len(&self) -> usize {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether no thread is cached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Visits the values in memory, as far as nobody accesses their threads now.
    ///
    /// # Errors
    /// The first of `visit`.
    pub fn visit_values<E>(
        &self,
        mut visit: impl FnMut(&C::Value) -> Result<(), E>,
    ) -> Result<(), E> {
        let Ok(entries) = self.entries.try_lock() else { return Ok(()) };
        let mut free = entries.values().filter_map(|entry| entry.thread.try_lock().ok());
        free.try_for_each(|cached| cached.known.visit(&mut visit))
    }

    /// Applies a mutation to a thread that is cached, and queues the entries that it makes;
    /// `None` if the thread must be read first.
    ///
    /// # Errors
    /// Those of the mutation.
    pub fn try_apply(
        &self,
        name: &str,
        mutation: &Mutation<C::Value>,
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
        mutation: &Mutation<C::Value>,
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
            let stored = write.stored(&sealed_store, name).await;
            if stored == Ok(true) {
                return Ok(());
            }
            self.access(&self.shared_thread(name), |cached| cached.invalidate_since(generation));
            if let Err(fault) = stored {
                self.retry(&mut turn, fault).await?;
            }
        }
    }

    /// What `look` sees in a thread with all entries that others have written so far.
    ///
    /// `look` also returns what is loaded then, or `None` if the thread was invalidated. It may
    /// see entries that this process is still writing: their fate is awaited, and it looks again
    /// if they are not stored. So nobody is told of what can still be lost.
    ///
    /// The outer fault is one of reading, the inner error one of `look`.
    pub(super) async fn see<R>(
        &self,
        sealed_store: &SealedStore,
        name: &str,
        look: impl Fn(&SharedThread<C::Value>) -> Result<Option<(R, KnownEntries)>, C::Error>,
    ) -> Result<Result<R, C::Error>, Fault> {
        loop {
            let shared = self.shared_thread(name);
            let Some(stored) = self.catch_up(sealed_store, name, &shared).await? else { continue };
            let (seen, entries) = match look(&shared) {
                Ok(Some(seen)) => seen,
                Ok(None) => continue,
                Err(error) => return Ok(Err(error)),
            };
            if stored == entries || entries.are_stored(sealed_store, name).await? {
                return Ok(Ok(seen));
            }
        }
    }

    /// Reads all entries that others have written so far, and returns what the store has. `None` if
    /// somebody else has loaded the thread meanwhile, who may have begun before they were written.
    async fn catch_up(
        &self,
        sealed_store: &SealedStore,
        name: &str,
        shared: &SharedThread<C::Value>,
    ) -> Result<Option<KnownEntries>, Fault> {
        let seen = self.access(shared, |cached| {
            cached.thread.as_ref().map(|thread| (cached.generation, thread.seen()))
        });
        let mut stored = None;
        if let Some((generation, seen)) = seen {
            let entries = sealed_store.store().read(name, seen.span()).await?;
            stored = Some(entries.last().map(KnownEntries::up_to).unwrap_or_default());
            self.access(shared, |cached| {
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
        Ok(self.load(sealed_store, name).await?.or(stored))
    }

    pub(super) fn access<R>(
        &self,
        shared: &SharedThread<C::Value>,
        access: impl FnOnce(&mut CachedThread<C::Value>) -> R,
    ) -> R {
        self.client.with_lock(shared, access)
    }

    /// The entry of a thread, which may not be read yet.
    pub(super) fn shared_thread(&self, name: &str) -> SharedThread<C::Value> {
        let used = self.accesses.fetch_add(1, Ordering::Relaxed);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get_mut(name) {
            entry.used = used;
            return Arc::clone(&entry.thread);
        }
        let thread = SharedThread::default();
        entries
            .insert(name.to_owned(), CacheEntry { thread: Arc::clone(&thread), used, weight: 0 });
        thread
    }

    /// Notes the weight of a thread, and drops others if that is too much.
    pub(super) fn weigh(&self, name: &str, weight: usize) {
        let mut dropped = Vec::new();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get_mut(name) {
            entry.weight = weight;
        }
        let mut bytes: usize = entries.values().map(|entry| entry.weight).sum();
        while entries.len() > 1 && (entries.len() > Self::MAX_THREADS || bytes > Self::MAX_BYTES) {
            let others = entries.iter().filter(|(other, _)| *other != name);
            let Some(oldest) = others.min_by_key(|(_, entry)| entry.used) else { break };
            let oldest = oldest.0.clone();
            let entry = entries.remove(&oldest);
            bytes -= entry.as_ref().map_or(0, |entry| entry.weight);
            dropped.extend(entry);
        }
        drop(entries);
        // The client's code may run when values are dropped, and may call this cache again.
        drop(dropped);
    }

    fn attempt(
        &self,
        name: &str,
        mutation: &Mutation<C::Value>,
        alone: Option<&str>,
    ) -> Result<Option<PendingWrite>, C::Error> {
        let sealed_store = self.client.sealed_store()?;
        let applied = self.access(&self.shared_thread(name), |cached| {
            let CachedThread { thread: Some(thread), known, .. } = cached else {
                return Ok((None, 0));
            };
            let applied = mutation.apply(&self.client, thread, known).and_then(|()| {
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

    /// Reads a thread, unless it is known; returns what is loaded by that.
    async fn load(
        &self,
        sealed_store: &SealedStore,
        name: &str,
    ) -> Result<Option<KnownEntries>, Fault> {
        let shared = self.shared_thread(name);
        let generation =
            self.access(&shared, |cached| cached.thread.is_none().then_some(cached.generation));
        let Some(generation) = generation else { return Ok(None) };
        let thread = LangGraphThread::load(sealed_store, name).await?;
        let stored = thread.seen();
        let (is_loaded, weight) = self.access(&shared, |cached| {
            let is_wanted = cached.thread.is_none() && cached.generation == generation;
            if is_wanted {
                cached.load(thread);
            }
            (is_wanted, cached.weight())
        });
        self.weigh(name, weight);
        Ok(is_loaded.then_some(stored))
    }

    /// Waits for the next try, if a failed one deserves another.
    pub(super) async fn retry(&self, turn: &mut WriteTurn, fault: Fault) -> Result<(), C::Error> {
        let pause = turn.failed(fault).await.map_err(|fault| self.client.error(fault))?;
        if !pause.is_zero() {
            self.clock.sleep(pause).await;
        }
        Ok(())
    }
}
