//! Where threads are kept, as Python holds it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::{Category, Fault};
use antiphon_runtime::SystemClock;
use antiphon_runtime::store::Store;
use antiphon_stores::{MemoryStore, Seal, Settings, SqliteStore, Sync, Vault};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::fault::to_exception;
use crate::stored::{awaited, waited};

mod postgres;

pub(crate) use postgres::PostgresSaver;

/// Where threads are kept: what `checkpointer=` takes. It serves any number of runs at a
/// time, those that are waited for and those that are awaited.
///
/// A context manager, sync and async, that closes it at the end.
#[pyclass(module = "antiphon._antiphon", subclass, frozen)]
pub(crate) struct Saver {
    name: String,
    seal: Arc<Seal>,
    /// Whether what has no stored form of its own is pickled.
    pickles: bool,
    held: Mutex<Option<Held>>,
    /// Opens the store anew in a process that was forked, where its thread is not.
    open: Option<Opener>,
}

type Opener = Box<dyn Fn() -> Result<Arc<dyn Store>, Fault> + Send + std::marker::Sync>;

/// A store, and the process that has opened it.
struct Held {
    vault: Vault,
    process: u32,
}

impl Saver {
    fn new(store: Arc<dyn Store>, seal: Seal, open: Option<Opener>) -> Self {
        let (name, seal) = (store.name().to_owned(), Arc::new(seal));
        let held = Held::new(Vault::new(store, Arc::clone(&seal)));
        Self { name, seal, pickles: false, held: Mutex::new(Some(held)), open }
    }

    fn pickling(mut self, pickles: bool) -> Self {
        self.pickles = pickles;
        self
    }

    /// Whether what has no stored form of its own is pickled.
    pub(crate) const fn pickles(&self) -> bool {
        self.pickles
    }

    /// The store, unless it was closed.
    pub(crate) fn vault(&self, py: Python<'_>) -> PyResult<Vault> {
        let found = self.held().map_err(|fault| to_exception(py, &fault))?;
        found.ok_or_else(|| {
            let message = format!("the store was closed: {}", self.name);
            let fault = Fault::new(Category::Validation, "store_closed", message)
                .hint("open it again, or keep it open for as long as graphs use it");
            to_exception(py, &fault)
        })
    }

    fn held(&self) -> Result<Option<Vault>, Fault> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &self.open
            && let Some(there) = held.take_if(|held| !held.is_own())
        {
            there.leave();
            *held = Some(Held::new(Vault::new(open()?, Arc::clone(&self.seal))));
        }
        Ok(held.as_ref().map(|held| held.vault.clone()))
    }

    fn close_now(&self, py: Python<'_>) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A store may wait for a thread of its own, which may wait for the interpreter.
        py.detach(|| held.into_iter().for_each(Held::leave));
    }
}

impl Held {
    fn new(vault: Vault) -> Self {
        Self { vault, process: std::process::id() }
    }

    fn is_own(&self) -> bool {
        self.process == std::process::id()
    }

    /// In a fork, the store's own thread cannot be waited for: it is not there.
    fn leave(self) {
        if !self.is_own() {
            std::mem::forget(self.vault);
        }
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
    /// Where it keeps threads, without any secret: `sqlite:runs.db`.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Lets go of what is open. Runs that are under way still end; nothing new begins.
    fn close(&self, py: Python<'_>) {
        self.close_now(py);
    }

    /// Removes a thread with all it holds; nothing happens if there is none.
    ///
    /// Raises a `StateError` with the code `thread_busy` if a run writes to it.
    fn delete_thread(&self, py: Python<'_>, thread_id: &str) -> PyResult<()> {
        waited(py, self.vault(py)?.store().delete(thread_id)).map(|_| ())
    }

    /// `delete_thread` on the caller's event loop.
    fn adelete_thread<'py>(&self, py: Python<'py>, thread_id: &str) -> PyResult<Bound<'py, PyAny>> {
        awaited(py, self.vault(py)?.store().delete(thread_id), |py, _| Ok(py.None()))
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
        awaited(slf.py(), std::future::ready(Ok(())), |_, ()| Ok(this))
    }

    #[pyo3(signature = (*_error))]
    fn __aexit__<'py>(
        &self,
        py: Python<'py>,
        _error: &Bound<'_, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.close(py);
        awaited(py, std::future::ready(Ok(())), |py, ()| Ok(py.None()))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("{}({:?})", slf.get_type().name()?, slf.get().name))
    }
}

/// Threads in memory: they last as long as the process and the saver.
#[pyclass(module = "antiphon._antiphon", extends = Saver, frozen)]
#[derive(Debug)]
pub(crate) struct MemorySaver;

#[pymethods]
impl MemorySaver {
    #[new]
    fn new() -> PyClassInitializer<Self> {
        let store = MemoryStore::new(Arc::new(SystemClock::new()));
        let saver = Saver::new(Arc::new(store), Seal::tagged(), None);
        PyClassInitializer::from(saver).add_subclass(Self)
    }
}

/// Threads in one SQLite file, which several processes may share.
#[pyclass(module = "antiphon._antiphon", extends = Saver, frozen)]
#[derive(Debug)]
pub(crate) struct SqliteSaver;

#[pymethods]
impl SqliteSaver {
    /// Opens a file, and makes it if there is none.
    ///
    /// `path` is the file, or `sqlite:` and the file. With a `key` of 32 bytes what is stored
    /// is encrypted and authenticated (XChaCha20-Poly1305), and nothing else is read. `sync`
    /// says what is durable: what survives the death of the `process`, or, for one flush of
    /// the disk per commit, the loss of `power` too. The file may grow to `max_bytes`; without
    /// them there is no limit. With `pickle` and a key, objects of types that are neither known
    /// nor registered are pickled; whoever has the key can then run code here.
    ///
    /// Raises the `antiphon.errors` class of `store_unavailable` if the file cannot be opened,
    /// of `store_corrupt` if it is something else, of `store_version` if a later antiphon has
    /// written it.
    #[staticmethod]
    #[pyo3(signature = (path, *, key=None, sync="process", max_bytes=None, pickle=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        key: Option<&[u8]>,
        sync: &str,
        max_bytes: Option<u64>,
        pickle: bool,
    ) -> PyResult<Py<Self>> {
        check_pickle(pickle, key)?;
        let settings = Settings { sync: durable(sync)?, max_bytes };
        let path = path
            .to_str()
            .and_then(|path| path.strip_prefix("sqlite:"))
            .map(PathBuf::from)
            .unwrap_or(path);
        let seal = seal(key)?;
        let open = move || -> Result<Arc<dyn Store>, Fault> {
            let store = SqliteStore::open(&path, settings, Arc::new(SystemClock::new()))?;
            Ok(Arc::new(store))
        };
        let store = py.detach(&open).map_err(|fault| to_exception(py, &fault))?;
        let base = Saver::new(store, seal, Some(Box::new(open))).pickling(pickle);
        let base = PyClassInitializer::from(base);
        Py::new(py, base.add_subclass(Self))
    }

    /// `open` under the name that LangGraph gives it.
    #[staticmethod]
    fn from_conn_string(py: Python<'_>, conn_string: PathBuf) -> PyResult<Py<Self>> {
        Self::open(py, conn_string, None, "process", None, false)
    }
}

fn seal(key: Option<&[u8]>) -> PyResult<Seal> {
    let Some(key) = key else { return Ok(Seal::tagged()) };
    let length = key.len();
    let key = key.try_into().map_err(|_| {
        PyValueError::new_err(format!("`key` takes 32 bytes, found so many: {length}"))
    })?;
    Ok(Seal::keyed(key))
}

/// Without a key anybody who can write to the store could have code run by whoever reads it.
fn check_pickle(pickle: bool, key: Option<&[u8]>) -> PyResult<()> {
    if pickle && key.is_none() {
        return Err(PyValueError::new_err(
            "`pickle` needs a `key`, so that no other bytes are unpickled",
        ));
    }
    Ok(())
}

fn durable(sync: &str) -> PyResult<Sync> {
    match sync {
        "process" => Ok(Sync::Process),
        "power" => Ok(Sync::Power),
        _ => Err(PyValueError::new_err(format!("`sync` is process or power, found: {sync}"))),
    }
}
