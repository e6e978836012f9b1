//! Threads in one file, as Python holds it.

use std::path::PathBuf;
use std::sync::Arc;

use antiphon_runtime::SystemClock;
use antiphon_stores::{SqliteSettings, SqliteStore, Sync};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::{Saver, check_pickle, cipher, unopened};
use crate::fault::to_exception;
use crate::thread::admin::retention_policy;
use crate::thread::arguments::whole_or_none;

/// Threads in one SQLite file, which several processes may share.
#[pyclass(module = "antiphon._antiphon", extends = Saver, frozen)]
#[derive(Debug)]
pub(crate) struct SqliteSaver;

#[pymethods]
impl SqliteSaver {
    /// Only tells how one is opened.
    #[new]
    #[pyo3(signature = (*_given: "Any", **_options: "Any"))]
    fn new(
        _given: &Bound<'_, PyTuple>,
        _options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        unopened("SqliteSaver.open(\"runs.db\")")
    }

    /// Opens a file, and makes it if there is none.
    ///
    /// `path` is the file, or `sqlite:` and the file. With a `key` of 32 bytes what is stored
    /// is encrypted and authenticated (XChaCha20-Poly1305), and nothing else is read; of a list
    /// of keys the first one writes and each of them reads, until `rekey` is done. A file is
    /// encrypted from its beginning or never, and made so that only its owner can read it. `sync`
    /// says what is durable: what survives the death of the `process`, or, for one flush of
    /// the disk per commit, the loss of `power` too. The file may grow to `max_bytes`; without
    /// them there is no limit. With `pickle` and a key, objects of types that are neither known
    /// nor registered are pickled; whoever has the key can then run code here.
    ///
    /// Of each thread its last `keep_last` checkpoints stay, those that are no older than
    /// `keep_for` (a `timedelta`, or seconds), and as many as weigh no more than `keep_bytes`
    /// together; without any of these, all stay. Threads are pruned so while they are written
    /// to, when there is a snapshot to begin with; `prune` does it for the others.
    ///
    /// Raises the `antiphon.errors` class of `store_setting_invalid` if no file is meant, of
    /// `checkpoint_encrypted` and `checkpoint_plain` if a key is missing, wrong or too much,
    /// of `store_unavailable` if the file cannot be opened,
    /// of `store_corrupt` if it is something else, of `store_version` if a later antiphon has
    /// written it, of `process_forked` if this is a fork of a process that had such files open then.
    #[staticmethod]
    #[pyo3(signature = (path, *, key: "bytes | Sequence[bytes] | None"=None, sync="process", max_bytes: "int | None"=None, pickle=false, keep_last: "int | None"=None, keep_for=None, keep_bytes: "int | None"=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        key: Option<Bound<'_, PyAny>>,
        sync: &str,
        max_bytes: Option<Bound<'_, PyAny>>,
        pickle: bool,
        keep_last: Option<Bound<'_, PyAny>>,
        keep_for: Option<Bound<'_, PyAny>>,
        keep_bytes: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<Self>> {
        check_pickle(pickle, key.as_ref())?;
        let keep = retention_policy(keep_last.as_ref(), keep_for.as_ref(), keep_bytes.as_ref())?;
        let settings = SqliteSettings {
            sync: durable(sync)?,
            max_bytes: whole_or_none("max_bytes", max_bytes.as_ref())?,
            ..SqliteSettings::default()
        };
        let path = path
            .to_str()
            .and_then(|path| path.strip_prefix("sqlite:"))
            .map(PathBuf::from)
            .unwrap_or(path);
        let cipher = cipher(key.as_ref())?;
        let open = || SqliteStore::open(&path, settings, Arc::new(SystemClock::new()));
        let store = py.detach(open).map_err(|fault| to_exception(py, &fault))?;
        let base = Saver::open(py, store, cipher)?.with_pickle(pickle).with_retention(keep);
        Py::new(py, PyClassInitializer::from(base).add_subclass(Self))
    }

    /// `open` under the name that LangGraph gives it.
    #[staticmethod]
    fn from_conn_string(py: Python<'_>, conn_string: PathBuf) -> PyResult<Py<Self>> {
        Self::open(py, conn_string, None, "process", None, false, None, None, None)
    }
}

fn durable(sync: &str) -> PyResult<Sync> {
    match sync {
        "process" => Ok(Sync::Process),
        "power" => Ok(Sync::Power),
        _ => Err(PyValueError::new_err(format!("`sync` is process or power, found: {sync}"))),
    }
}
