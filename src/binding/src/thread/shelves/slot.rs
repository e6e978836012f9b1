//! One thread in this process, and the Python objects that it was last given.

use std::collections::BTreeMap;

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::{StoreFuture, ThreadHead};
use antiphon_stores::SealedStore;
use antiphon_stores::langgraph_thread::{LangGraphThread, OWNER, WriteTurn};
use pyo3::prelude::*;

use super::form::Items;

/// What is known of a thread, if anything is.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) langgraph_thread: Option<LangGraphThread>,
    /// A checkpoint from before the thread's last snapshot, with those around it.
    pub(super) past: Option<LangGraphThread>,
    /// Counts how often everything was forgotten.
    pub(super) age: u64,
    is_claimed: bool,
    /// Lists as they were stored or read last, by namespace and channel.
    pub(super) lists: BTreeMap<(String, String), Known>,
    /// What tasks wrote at the last checkpoints of each namespace: those that were not
    /// merged yet, as far as is known.
    pub(super) wrote: BTreeMap<String, BTreeMap<String, Wrote>>,
}

/// A list whose items are those of a stored value.
#[derive(Debug)]
pub(super) struct Known {
    /// Which value that is.
    pub(super) stamp: u64,
    pub(super) items: Items,
}

/// What tasks wrote at a checkpoint by channel, item by item where that was a list.
pub(super) type Wrote = BTreeMap<String, Vec<Py<PyAny>>>;

/// Something on its way to the store.
pub(super) struct Sent {
    pub(super) age: u64,
    pub(super) claim: Option<StoreFuture<ThreadHead>>,
    pub(super) append: Option<StoreFuture<()>>,
}

impl Slot {
    pub(super) fn knowing(langgraph_thread: LangGraphThread, age: u64) -> Self {
        Self { langgraph_thread: Some(langgraph_thread), age, ..Self::default() }
    }

    pub(super) fn forget(&mut self) {
        *self = Self { age: self.age + 1, ..Self::default() };
    }

    /// Forgets what did not get stored, unless that was done already.
    pub(super) fn forget_since(&mut self, age: u64) {
        if self.age == age {
            self.forget();
        }
    }

    pub(super) fn weight(&self) -> usize {
        let shelves = self.langgraph_thread.iter().chain(&self.past);
        shelves.map(LangGraphThread::weight).sum()
    }

    /// Sends what is new to the store; `alone` is the name of a writer who has the thread
    /// for itself.
    pub(super) fn send(
        &mut self,
        (sealed_store, thread): (&SealedStore, &str),
        alone: Option<&str>,
        at: Time,
    ) -> Result<Sent, Fault> {
        let owner = alone.unwrap_or(OWNER);
        let langgraph_thread = self.langgraph_thread.as_mut();
        let batch = langgraph_thread
            .map(|langgraph_thread| langgraph_thread.batch(sealed_store, owner, at))
            .transpose()?
            .flatten();
        let (mut claim, mut append) = (None, None);
        if let Some(batch) = batch {
            if alone.is_none() && !self.is_claimed {
                claim = Some(sealed_store.store().claim(thread, OWNER, WriteTurn::TERM));
            }
            // The thread is let go by a writer who had it alone.
            self.is_claimed = alone.is_none();
            append = Some(sealed_store.store().append(batch));
        }
        Ok(Sent { age: self.age, claim, append })
    }

    pub(super) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        let wrote = self.wrote.values().flat_map(BTreeMap::values);
        let wrote = wrote.flat_map(BTreeMap::values).flatten();
        let lists = self.lists.values().flat_map(|known| &known.items.items);
        wrote.chain(lists).try_for_each(|item| visit.call(item))
    }
}
