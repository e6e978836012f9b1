//! How the cache of threads reaches Python, and the objects that are kept beside a thread.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_runtime::{Clock, SystemClock};
use antiphon_stores::SealedStore;
use antiphon_stores::langgraph_thread::CacheClient;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use super::value_format::{StoredList, ValueFormat};
use crate::fault::to_exception;
use crate::thread::saver::Saver;

/// Where threads are stored, and how their values are.
#[derive(Debug)]
pub(super) struct LangGraphClient {
    pub(super) saver: Py<Saver>,
    pub(super) format: ValueFormat,
}

/// The objects that a thread was last given or read as.
#[derive(Debug, Default)]
pub(super) struct ThreadObjects {
    /// Lists by namespace and channel.
    pub(super) lists: BTreeMap<(String, String), KnownList>,
    /// What tasks wrote at the last checkpoints of each namespace: those that were not
    /// merged yet, as far as is known.
    pub(super) written: BTreeMap<String, BTreeMap<String, WrittenItems>>,
}

/// A list whose items are those of a stored value.
#[derive(Debug)]
pub(super) struct KnownList {
    /// Which value that is.
    pub(super) stamp: u64,
    pub(super) items: StoredList,
}

/// What tasks wrote at a checkpoint by channel, item by item where that was a list.
pub(super) type WrittenItems = BTreeMap<String, Vec<Py<PyAny>>>;

impl CacheClient for LangGraphClient {
    type Extra = ThreadObjects;
    type Error = PyErr;

    fn sealed_store(&self) -> PyResult<SealedStore> {
        Python::attach(|py| self.saver.get().sealed_store(py))
    }

    fn error(&self, fault: Fault) -> PyErr {
        Python::attach(|py| to_exception(py, &fault))
    }

    /// Values are stored and read under this lock, by Python's code. So whoever waits for it
    /// lets others use the interpreter.
    fn with_lock<T, R>(&self, mutex: &Mutex<T>, access: impl FnOnce(&mut T) -> R) -> R {
        Python::attach(|py| {
            let locked = mutex.lock_py_attached(py);
            access(&mut locked.unwrap_or_else(PoisonError::into_inner))
        })
    }
}

impl ThreadObjects {
    pub(super) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        let written = self.written.values().flat_map(BTreeMap::values);
        let written = written.flat_map(BTreeMap::values).flatten();
        let lists = self.lists.values().flat_map(|known| &known.items.items);
        written.chain(lists).try_for_each(|item| visit.call(item))
    }
}

/// Sleeps on the caller's event loop, or, for a caller who waits, on the caller's own OS thread:
/// in a fork there is no other.
#[derive(Debug, Default)]
pub(super) struct CallerClock(SystemClock);

impl Clock for CallerClock {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn sleep(&self, delay: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        if tokio::runtime::Handle::try_current().is_ok() {
            return self.0.sleep(delay);
        }
        Box::pin(async move {
            Python::attach(|py| py.detach(|| std::thread::sleep(delay)));
        })
    }
}
