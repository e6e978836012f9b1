//! Where threads are kept, as Python holds it.

use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::SystemClock;
use antiphon_runtime::store::Store;
use antiphon_stores::admin::PruneRequest;
use antiphon_stores::{
    Cipher, MemoryStore, ProcessGuard, RetentionPolicy, SealedStore, ThreadAdmin, process,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::driver::wait::{awaitable_result, block_on_result};
use crate::fault::to_exception;
use crate::thread::admin::{self, ThreadQuery};
use crate::thread::arguments::{self, Limit, ThreadName};
use crate::thread::summary::{PruneReport, RekeyReport, ThreadDetail, ThreadSummary};

pub(crate) mod postgres;
pub(crate) mod sqlite;

/// A store of threads, for `checkpointer=`. It serves any number of sync and async runs, in the
/// process that opened it; in a forked child it raises an `InternalError` with the code
/// `process_forked`.
///
/// It is a sync and async context manager that closes it at the end.
#[pyclass(module = "antiphon._antiphon", subclass, frozen)]
pub(crate) struct Saver {
    name: String,
    /// Whether objects whose type has no codec are pickled.
    pickles: bool,
    /// What stays of threads, as they are written to and when they are pruned.
    keep: RetentionPolicy,
    store: Mutex<Option<SealedStore>>,
    /// The process that has opened the store.
    process: u32,
}

/// What a saver says that is made like any other object.
fn unopened<T>(example: &str) -> PyResult<T> {
    Err(PyTypeError::new_err(format!("savers of this kind are opened with: {example}")))
}

impl Saver {
    /// What was opened, if it is protected by this seal.
    fn open(py: Python<'_>, store: impl Store + 'static, cipher: Cipher) -> PyResult<Self> {
        // Each step that is kept asks which process this is.
        let name = store.name().to_owned();
        let sealed_store = block_on_result(
            py,
            SealedStore::unlock(Arc::new(ProcessGuard::new(store)), Arc::new(cipher)),
        )?;
        let (store, keep) = (Mutex::new(Some(sealed_store)), RetentionPolicy::default());
        Ok(Self { name, pickles: false, keep, store, process: process::id() })
    }

    fn with_pickle(mut self, pickles: bool) -> Self {
        self.pickles = pickles;
        self
    }

    const fn with_retention(mut self, keep: RetentionPolicy) -> Self {
        self.keep = keep;
        self
    }

    /// Whether objects whose type has no codec are pickled.
    pub(crate) const fn pickles(&self) -> bool {
        self.pickles
    }

    /// The store, unless it was closed, or this is a fork of the process that has opened it.
    pub(crate) fn sealed_store(&self, py: Python<'_>) -> PyResult<SealedStore> {
        process::check(self.process).map_err(|fault| to_exception(py, &fault))?;
        let found = self.store.lock().unwrap_or_else(PoisonError::into_inner).clone();
        found.map(|sealed_store| sealed_store.keeping(self.keep)).ok_or_else(|| {
            let message = format!("the store was closed: {}", self.name);
            let fault = Fault::new(FaultCode::StoreClosed, message)
                .hint("open it again, or keep it open while graphs use it");
            to_exception(py, &fault)
        })
    }

    fn admin(&self, py: Python<'_>) -> PyResult<ThreadAdmin> {
        self.sealed_store(py).map(admin::open)
    }

    /// Without limits in the request, those of the saver apply.
    fn prune_request(
        &self,
        keep: [Option<Bound<'_, PyAny>>; 3],
        delete_after: Option<&Bound<'_, PyAny>>,
        dry_run: bool,
    ) -> PyResult<PruneRequest> {
        let keep = admin::retention_policy(keep)?;
        let keep = if keep.is_all() { self.keep } else { keep };
        let idle = delete_after.map(|after| arguments::span("delete_after", after)).transpose()?;
        Ok(PruneRequest { keep, idle, dry_run })
    }

    fn close_now(&self, py: Python<'_>) {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A store may wait for its thread, which may wait for the interpreter.
        py.detach(|| drop(store));
    }
}

impl std::fmt::Debug for Saver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Saver").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        Python::try_attach(|py| self.close_now(py));
    }
}

#[pymethods]
impl Saver {
    /// The location of the store without secrets, for example `sqlite:runs.db`.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Closes the store. Running runs can still end; new ones are refused.
    fn close(&self, py: Python<'_>) {
        self.close_now(py);
    }

    /// Lists the threads with the status of their last run, in the order of their names. Their graphs
    /// are not needed.
    ///
    /// `status` and `graph` select threads by the status, or by the graph, of their last run. A list
    /// has at most `limit` threads (default: 100) and starts after the name `after`: pass the last
    /// name of a list to get the next one.
    ///
    /// Raises a `ValidationError` with the code `call_invalid` if the status or the limit is invalid,
    /// and with `thread_invalid` if a name is.
    #[pyo3(signature = (*, status: "str | None"=None, graph: "str | None"=None, after: "str | None"=None, limit: "int"=Limit(100)))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn threads(
        &self,
        py: Python<'_>,
        status: Option<Bound<'_, PyAny>>,
        graph: Option<Bound<'_, PyAny>>,
        after: Option<ThreadName>,
        limit: Limit,
    ) -> PyResult<Vec<ThreadSummary>> {
        let query = ThreadQuery::read((status, graph), after, limit)?;
        block_on_result(py, admin::list(self.admin(py)?, query))
    }

    /// `threads` on the caller's event loop.
    #[pyo3(signature = (*, status: "str | None"=None, graph: "str | None"=None, after: "str | None"=None, limit: "int"=Limit(100)))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn athreads<'py>(
        &self,
        py: Python<'py>,
        status: Option<Bound<'_, PyAny>>,
        graph: Option<Bound<'_, PyAny>>,
        after: Option<ThreadName>,
        limit: Limit,
    ) -> PyResult<Bound<'py, PyAny>> {
        let query = ThreadQuery::read((status, graph), after, limit)?;
        awaitable_result(py, admin::list(self.admin(py)?, query), |_, found| Ok(found))
    }

    /// Returns a thread in detail: at most `limit` (default: 20) of its runs and checkpoints, newest
    /// first, its open questions, and the last value written to each key. Its graph is not needed,
    /// and only Python's own types are constructed from stored values.
    ///
    /// Raises a `ValidationError` with the code `thread_empty` if the thread is empty.
    #[pyo3(signature = (thread_id: "str", *, limit: "int"=Limit(20)))]
    fn thread(
        &self,
        py: Python<'_>,
        thread_id: ThreadName,
        limit: Limit,
    ) -> PyResult<ThreadDetail> {
        let detail = block_on_result(py, admin::show(self.admin(py)?, thread_id, limit))?;
        ThreadDetail::read(py, &detail)
    }

    /// `thread` on the caller's event loop.
    #[pyo3(signature = (thread_id: "str", *, limit: "int"=Limit(20)))]
    fn athread<'py>(
        &self,
        py: Python<'py>,
        thread_id: ThreadName,
        limit: Limit,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaitable_result(py, admin::show(self.admin(py)?, thread_id, limit), |py, detail| {
            ThreadDetail::read(py, &detail)
        })
    }

    /// Removes old checkpoints of all threads, or of `thread_id`.
    ///
    /// Of each thread it keeps the last `keep_last` checkpoints, those not older than `keep_for` (a
    /// `timedelta`, or seconds), and as many as fit into `keep_bytes`; a checkpoint beyond any of
    /// these limits is removed. Without limits, those of the saver apply. The last checkpoint is
    /// always kept, and so are the entries from which a kept checkpoint is read: up to 64 KiB, or
    /// four times the size of the state. `delete_after` removes whole threads that were not written
    /// to for longer, regardless of their status. With `dry_run`, nothing is removed.
    ///
    /// Threads that a run is writing to are skipped. `compact` returns the free space to the disk.
    ///
    /// Raises a `ValidationError` with the code `call_invalid` if there is no limit or an invalid
    /// one, and with `thread_empty` if `thread_id` is empty.
    #[pyo3(signature = (thread_id: "str | None"=None, *, keep_last: "int | None"=None, keep_for=None, keep_bytes: "int | None"=None, delete_after=None, dry_run=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn prune(
        &self,
        py: Python<'_>,
        thread_id: Option<ThreadName>,
        keep_last: Option<Bound<'_, PyAny>>,
        keep_for: Option<Bound<'_, PyAny>>,
        keep_bytes: Option<Bound<'_, PyAny>>,
        delete_after: Option<Bound<'_, PyAny>>,
        dry_run: bool,
    ) -> PyResult<PruneReport> {
        let keep = [keep_last, keep_for, keep_bytes];
        let request = self.prune_request(keep, delete_after.as_ref(), dry_run)?;
        block_on_result(py, admin::prune(self.admin(py)?, thread_id, request))
    }

    /// `prune` on the caller's event loop.
    #[pyo3(signature = (thread_id: "str | None"=None, *, keep_last: "int | None"=None, keep_for=None, keep_bytes: "int | None"=None, delete_after=None, dry_run=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn aprune<'py>(
        &self,
        py: Python<'py>,
        thread_id: Option<ThreadName>,
        keep_last: Option<Bound<'_, PyAny>>,
        keep_for: Option<Bound<'_, PyAny>>,
        keep_bytes: Option<Bound<'_, PyAny>>,
        delete_after: Option<Bound<'_, PyAny>>,
        dry_run: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let keep = [keep_last, keep_for, keep_bytes];
        let request = self.prune_request(keep, delete_after.as_ref(), dry_run)?;
        let pruned = admin::prune(self.admin(py)?, thread_id, request);
        awaitable_result(py, pruned, |_, report| Ok(report))
    }

    /// Copies a thread, up to a checkpoint or entirely, to the new thread `to`. Checkpoints keep
    /// their ids, and open questions stay open; a run that is still running in the original has ended
    /// in the copy. A run that continues in the copy has its own id.
    ///
    /// Raises a `ValidationError` with the code `thread_empty` if the thread is empty, and with
    /// `thread_taken` if `to` is not; a `StateError` with `checkpoint_unknown` if the checkpoint does
    /// not exist.
    #[pyo3(signature = (thread_id: "str", to: "str", *, checkpoint: "int | None"=None))]
    fn copy_thread(
        &self,
        py: Python<'_>,
        thread_id: ThreadName,
        to: ThreadName,
        checkpoint: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let checkpoint = arguments::whole_or_none("checkpoint", checkpoint.as_ref())?;
        block_on_result(py, admin::copy(self.admin(py)?, (thread_id.0, to), checkpoint, None))
    }

    /// `copy_thread` on the caller's event loop.
    #[pyo3(signature = (thread_id: "str", to: "str", *, checkpoint: "int | None"=None))]
    fn acopy_thread<'py>(
        &self,
        py: Python<'py>,
        thread_id: ThreadName,
        to: ThreadName,
        checkpoint: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let checkpoint = arguments::whole_or_none("checkpoint", checkpoint.as_ref())?;
        let copied = admin::copy(self.admin(py)?, (thread_id.0, to), checkpoint, None);
        awaitable_result(py, copied, |_, ()| Ok(()))
    }

    /// Deletes a thread; does nothing if it does not exist.
    ///
    /// Raises a `StateError` with the code `thread_busy` if a run is writing to it.
    #[pyo3(signature = (thread_id: "str"))]
    fn delete_thread(&self, py: Python<'_>, thread_id: ThreadName) -> PyResult<()> {
        block_on_result(py, self.admin(py)?.delete(&thread_id.0)).map(|_| ())
    }

    /// `delete_thread` on the caller's event loop.
    #[pyo3(signature = (thread_id: "str"))]
    fn adelete_thread<'py>(
        &self,
        py: Python<'py>,
        thread_id: ThreadName,
    ) -> PyResult<Bound<'py, PyAny>> {
        let admin = self.admin(py)?;
        awaitable_result(py, async move { admin.delete(&thread_id.0).await }, |_, _| Ok(()))
    }

    /// Encrypts with the first of the saver's keys everything that was encrypted with another one.
    /// The call can be interrupted and repeated. Others may read meanwhile; threads that a run is
    /// writing to are skipped and listed in `busy`.
    ///
    /// When `busy` is empty, the other keys are not needed any more.
    fn rekey(&self, py: Python<'_>) -> PyResult<RekeyReport> {
        block_on_result(py, self.admin(py)?.rekey()).map(Into::into)
    }

    /// `rekey` on the caller's event loop.
    fn arekey<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let admin = self.admin(py)?;
        awaitable_result(py, async move { admin.rekey().await }, |_, report| {
            Ok(RekeyReport::from(report))
        })
    }

    /// Returns free space to the disk; otherwise the store reuses it. Others may write meanwhile.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        block_on_result(py, self.sealed_store(py)?.store().compact())
    }

    /// `compact` on the caller's event loop.
    fn acompact<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        awaitable_result(py, self.sealed_store(py)?.store().compact(), |_, ()| Ok(()))
    }

    const fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __aenter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.clone().into_any().unbind();
        awaitable_result(slf.py(), std::future::ready(Ok(())), |_, ()| Ok(this))
    }

    #[pyo3(signature = (*_error))]
    fn __aexit__<'py>(
        &self,
        py: Python<'py>,
        _error: &Bound<'_, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.close(py);
        awaitable_result(py, std::future::ready(Ok(())), |_, ()| Ok(()))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("{}({:?})", slf.get_type().name()?, slf.get().name))
    }
}

/// Threads in memory, which end with the process or the saver.
///
/// `keep_last`, `keep_for` and `keep_bytes` are those of `SqliteSaver.open`.
#[pyclass(module = "antiphon._antiphon", extends = Saver, frozen)]
#[derive(Debug)]
pub(crate) struct MemorySaver;

#[pymethods]
impl MemorySaver {
    #[new]
    #[pyo3(signature = (*, keep_last: "int | None"=None, keep_for=None, keep_bytes: "int | None"=None))]
    fn new(
        py: Python<'_>,
        keep_last: Option<Bound<'_, PyAny>>,
        keep_for: Option<Bound<'_, PyAny>>,
        keep_bytes: Option<Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let store = MemoryStore::new(Arc::new(SystemClock::new()));
        let saver = Saver::open(py, store, Cipher::tagged())?;
        let keep = admin::retention_policy([keep_last, keep_for, keep_bytes])?;
        Ok(PyClassInitializer::from(saver.with_retention(keep)).add_subclass(Self))
    }
}

/// The seal of a key, or of several: a list of them.
fn cipher(given: Option<&Bound<'_, PyAny>>) -> PyResult<Cipher> {
    let Some(given) = given else { return Ok(Cipher::tagged()) };
    if let Ok(key) = given.cast::<PyBytes>() {
        return Ok(Cipher::keyed(&key_of(key.as_bytes())?));
    }
    let keys: Vec<Bound<'_, PyBytes>> = given.extract().map_err(|_| {
        let kind = given.get_type().to_string();
        PyTypeError::new_err(format!("`key` must be 32 bytes or a list of such keys: {kind}"))
    })?;
    let keys = keys.iter().map(|key| key_of(key.as_bytes())).collect::<PyResult<Vec<_>>>()?;
    if keys.is_empty() {
        return Err(PyValueError::new_err("`key` must not be an empty list"));
    }
    Ok(Cipher::with_keys(&keys))
}

fn key_of(key: &[u8]) -> PyResult<[u8; 32]> {
    key.try_into().map_err(|_| {
        let length = key.len();
        PyValueError::new_err(format!("`key` must be 32 bytes, found: {length} bytes"))
    })
}

/// Without a key, write access to the store would allow running code in its readers.
fn check_pickle(pickle: bool, key: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    if pickle && key.is_none() {
        return Err(PyValueError::new_err(
            "`pickle` needs a `key`, so that no other bytes are unpickled",
        ));
    }
    Ok(())
}
