//! The threads of one store that are in use, and the way there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_runtime::store::StoreFuture;
use antiphon_runtime::{Clock, SystemClock};
use antiphon_stores::SealedStore;
use antiphon_stores::langgraph_thread::{LangGraphThread, OWNER, WriteTurn};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use tokio::sync::oneshot;

use super::deed::Mutation;
use super::form::Form;
use super::slot::{Sent, Slot};
use crate::fault::to_exception;
use crate::thread::saver::Saver;

/// One thread that is in use.
pub(super) type Shared = Arc<Mutex<Slot>>;

pub(super) struct Desk {
    saver: Py<Saver>,
    pub(super) form: Form,
    clock: SystemClock,
    open: Mutex<BTreeMap<String, Open>>,
    turn: AtomicUsize,
}

#[derive(Debug)]
struct Open {
    slot: Shared,
    /// When it was last used, in turns.
    used: usize,
    weight: usize,
}

impl Desk {
    /// So many threads are known at a time, and no more bytes of them.
    const MOST: usize = 256;
    const MOST_BYTES: usize = 128 << 20;

    pub(super) fn new(saver: Py<Saver>, form: Form) -> Self {
        let clock = SystemClock::new();
        Self { saver, form, clock, open: Mutex::default(), turn: AtomicUsize::new(0) }
    }

    pub(super) fn sealed_store(&self) -> PyResult<SealedStore> {
        Python::attach(|py| self.saver.get().sealed_store(py))
    }

    /// The place of a thread, which may be empty.
    pub(super) fn slot(&self, thread: &str) -> Shared {
        let used = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get_mut(thread) {
            known.used = used;
            return Arc::clone(&known.slot);
        }
        let slot = Shared::default();
        open.insert(thread.to_owned(), Open { slot: Arc::clone(&slot), used, weight: 0 });
        slot
    }

    /// Notes how much is known of a thread, and forgets others if that is too much.
    fn weigh(&self, thread: &str, weight: usize) {
        let mut gone = Vec::new();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get_mut(thread) {
            known.weight = weight;
        }
        let mut bytes: usize = open.values().map(|known| known.weight).sum();
        while open.len() > 1 && (open.len() > Self::MOST || bytes > Self::MOST_BYTES) {
            let others = open.iter().filter(|(name, _)| *name != thread);
            let Some(oldest) = others.min_by_key(|(_, known)| known.used) else { break };
            let name = oldest.0.clone();
            gone.extend(open.remove(&name));
            bytes = open.values().map(|known| known.weight).sum();
        }
        drop(open);
        // Objects of Python go with it, and what they do when they go is theirs.
        drop(gone);
    }

    /// Does something to a thread that is known, if it is; the rest is waiting.
    pub(super) fn attempt(
        &self,
        thread: &str,
        deed: &Mutation,
        alone: Option<&str>,
    ) -> PyResult<Option<Sent>> {
        let slot = self.slot(thread);
        Python::attach(|py| {
            let sealed_store = self.saver.get().sealed_store(py)?;
            let mut slot = held(py, &slot);
            if slot.langgraph_thread.is_none() {
                return Ok(None);
            }
            let sent = deed.apply(py, &mut slot, &self.form).and_then(|()| {
                let sent = slot.send((&sealed_store, thread), alone, self.clock.now());
                sent.map_err(|fault| to_exception(py, &fault))
            });
            if sent.is_err() {
                slot.forget();
            }
            self.weigh(thread, slot.weight());
            sent.map(Some)
        })
    }

    /// Does something to a thread, again and again until nobody else was first.
    pub(super) async fn work(
        self: Arc<Self>,
        thread: String,
        deed: Mutation,
        mut sent: Option<Sent>,
    ) -> PyResult<()> {
        let sealed_store = self.sealed_store()?;
        let mut turn = WriteTurn::new(&sealed_store, &thread);
        loop {
            if sent.is_none() {
                self.load(&sealed_store, &thread).await.map_err(|fault| raised(&fault))?;
                sent = self.attempt(&thread, &deed, turn.alone())?;
            }
            let Some(Sent { age, claim, append }) = sent.take() else { continue };
            let Err(fault) = settled(claim, append).await else { return Ok(()) };
            Python::attach(|py| held(py, &self.slot(&thread)).forget_since(age));
            again(&mut turn, fault).await?;
        }
    }

    /// Reads a thread, unless it is known.
    async fn load(&self, sealed_store: &SealedStore, thread: &str) -> Result<(), Fault> {
        let slot = self.slot(thread);
        let age = Python::attach(|py| {
            let slot = held(py, &slot);
            slot.langgraph_thread.is_none().then_some(slot.age)
        });
        let Some(age) = age else { return Ok(()) };
        let langgraph_thread = LangGraphThread::load(sealed_store, thread).await?;
        Python::attach(|py| {
            let mut slot = held(py, &slot);
            if slot.langgraph_thread.is_none() && slot.age == age {
                *slot = Slot::knowing(langgraph_thread, age);
            }
        });
        Ok(())
    }

    /// A thread with everything that others have written to it so far.
    pub(super) async fn fresh(
        &self,
        sealed_store: &SealedStore,
        thread: &str,
    ) -> Result<Shared, Fault> {
        let slot = self.slot(thread);
        let seen = Python::attach(|py| {
            let slot = held(py, &slot);
            slot.langgraph_thread
                .as_ref()
                .map(|langgraph_thread| (slot.age, langgraph_thread.seen()))
        });
        if let Some((age, seen)) = seen {
            let entries = sealed_store.store().read(thread, seen.span()).await?;
            Python::attach(|py| {
                let mut slot = held(py, &slot);
                if slot.age != age {
                    return;
                }
                let langgraph_thread = slot.langgraph_thread.as_mut();
                let caught_up = langgraph_thread.map(|langgraph_thread| {
                    langgraph_thread.catch_up(sealed_store, &seen, entries)
                });
                // Whatever is wrong with entries is told when they are read from the beginning.
                if !matches!(caught_up, Some(Ok(true))) {
                    slot.forget();
                }
            });
        }
        self.load(sealed_store, thread).await?;
        Ok(slot)
    }

    /// Replaces what a thread holds; `change` is done again if somebody else was first.
    pub(super) async fn replace<F>(
        &self,
        thread: &str,
        change: impl Fn(SealedStore, LangGraphThread) -> F,
    ) -> PyResult<()>
    where
        F: Future<Output = Result<(LangGraphThread, Option<u64>), Fault>>,
    {
        let sealed_store = self.sealed_store()?;
        let mut turn = WriteTurn::new(&sealed_store, thread);
        while let Err(fault) = self.replaced(&sealed_store, thread, &turn, &change).await {
            again(&mut turn, fault).await?;
        }
        Python::attach(|py| held(py, &self.slot(thread)).forget());
        Ok(())
    }

    async fn replaced<F>(
        &self,
        sealed_store: &SealedStore,
        thread: &str,
        turn: &WriteTurn,
        change: &impl Fn(SealedStore, LangGraphThread) -> F,
    ) -> Result<(), Fault>
    where
        F: Future<Output = Result<(LangGraphThread, Option<u64>), Fault>>,
    {
        let (store, owner) = (sealed_store.store(), turn.alone().unwrap_or(OWNER));
        let langgraph_thread = LangGraphThread::load(sealed_store, thread).await?;
        let (mut langgraph_thread, first) = change(sealed_store.clone(), langgraph_thread).await?;
        let Some(batch) = langgraph_thread.batch(sealed_store, owner, self.clock.now())? else {
            return Ok(());
        };
        let claim = turn.alone().is_none().then(|| store.claim(thread, OWNER, WriteTurn::TERM));
        settled(claim, Some(store.append(batch))).await?;
        if let Some(first) = first {
            let span = antiphon_runtime::store::EntryRange { from: 0, to: first.saturating_sub(1) };
            store.remove(thread, owner, span).await?;
        }
        Ok(())
    }

    /// Removes a thread with all it has.
    pub(super) async fn delete(&self, thread: &str) -> PyResult<()> {
        let sealed_store = self.sealed_store()?;
        let (store, mut turn) = (sealed_store.store(), WriteTurn::new(&sealed_store, thread));
        loop {
            let (released, deleted) = (store.release(thread, OWNER), store.delete(thread));
            let done = async { released.await.and(deleted.await.map(|_| ())) }.await;
            Python::attach(|py| held(py, &self.slot(thread)).forget());
            match done {
                Ok(()) => return Ok(()),
                Err(fault) => again(&mut turn, fault).await?,
            }
        }
    }

    /// Removes a thread that holds nothing, and leaves any other as it is.
    pub(super) async fn delete_empty(&self, thread: &str) -> PyResult<()> {
        let sealed_store = self.sealed_store()?;
        let (store, mut turn) = (sealed_store.store(), WriteTurn::new(&sealed_store, thread));
        loop {
            let done = match turn.take().await {
                Ok(pause) if turn.alone().is_none() => Some(pause),
                taken => {
                    taken.map_err(|fault| raised(&fault))?;
                    None
                }
            };
            if let Some(pause) = done {
                wait(pause).await;
                continue;
            }
            let langgraph_thread = LangGraphThread::load(&sealed_store, thread)
                .await
                .map_err(|fault| raised(&fault))?;
            if langgraph_thread.marks().next().is_some() {
                return Ok(());
            }
            // Whoever writes to it after this has to take it first, and then it stays.
            turn.leave();
            match store.delete(thread).await {
                Ok(_) => break,
                Err(fault) => again(&mut turn, fault).await?,
            }
        }
        Python::attach(|py| held(py, &self.slot(thread)).forget());
        Ok(())
    }

    pub(super) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.saver)?;
        self.form.traverse(visit)?;
        let Ok(open) = self.open.try_lock() else { return Ok(()) };
        let slots = open.values().filter_map(|known| known.slot.try_lock().ok());
        slots.into_iter().try_for_each(|slot| slot.traverse(visit))
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("form", &self.form).finish_non_exhaustive()
    }
}

/// A thread, to be looked at or changed. Whoever waits for it lets others use the
/// interpreter, and so whoever has it may use that.
pub(super) fn held<'a>(py: Python<'_>, slot: &'a Shared) -> MutexGuard<'a, Slot> {
    slot.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn raised(fault: &Fault) -> PyErr {
    Python::attach(|py| to_exception(py, fault))
}

async fn settled(
    claim: Option<StoreFuture<antiphon_runtime::store::ThreadHead>>,
    append: Option<StoreFuture<()>>,
) -> Result<(), Fault> {
    // Both were queued; what the first fails for says more.
    let claimed = match claim {
        Some(claim) => claim.await.map(|_| ()),
        None => Ok(()),
    };
    let appended = match append {
        Some(append) => append.await,
        None => Ok(()),
    };
    claimed.and(appended)
}

/// Whether something is worth another try, after a while if somebody is in the way.
async fn again(turn: &mut WriteTurn, fault: Fault) -> PyResult<()> {
    let pause = turn.failed(fault).await.map_err(|fault| raised(&fault))?;
    wait(pause).await;
    Ok(())
}

/// Callers that wait have no runtime, and so no clock of one.
async fn wait(pause: Duration) {
    if pause.is_zero() {
        return;
    }
    let (sender, ended) = oneshot::channel();
    let waiting = std::thread::Builder::new().name("antiphon-pause".into()).spawn(move || {
        std::thread::sleep(pause);
        // Whoever waited may have gone.
        let _ = sender.send(());
    });
    if waiting.is_ok() {
        let _ = ended.await;
    }
}
