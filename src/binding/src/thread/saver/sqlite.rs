//! Threads in one file, as Python holds it.

use std::path::PathBuf;
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::SystemClock;
use antiphon_stores::{SqliteSettings, SqliteStore, SyncLevel};
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

    /// Opens a file, and creates it if it does not exist.
    ///
    /// `path` is the file, or `sqlite:` and the file (`sqlite:///` is refused: it is read as a relative
    /// or as an absolute path, depending on the program). With a `key` of 32 bytes, entries are encrypted
    /// and authenticated (XChaCha20-Poly1305), and no others are read; of a list of keys, the first
    /// one writes and all of them read, until `rekey` has run. Encryption must be chosen when the
    /// file is created; a new file is readable by its owner only. With `sync="process"`, commits
    /// survive the death of the process; with `sync="power"` also a loss of power, at the cost of a
    /// disk flush per commit. `max_bytes` limits the size of the file; default: no limit. With
    /// `pickle` and a key, objects of unknown types are pickled; everyone who has the key can then
    /// run code here.
    ///
    /// Of each thread, the last `keep_last` checkpoints are kept, those not older than `keep_for` (a
    /// `timedelta`, or seconds), and as many as fit into `keep_bytes`; default: all. Threads are
    /// pruned while they are written, whenever a snapshot allows it; `prune` is for the others.
    ///
    /// Raises the `antiphon.errors` class of `store_setting_invalid` if the path is not that of a
    /// file, or is unclear; of `checkpoint_encrypted` or `checkpoint_plain` if the key is missing, wrong or not
    /// expected; of `store_unavailable` if the file cannot be opened; of `store_corrupt` if it is not
    /// a store; of `store_version` if a later version wrote it; of `process_forked` in a forked child
    /// of a process that had such files open.
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
        let keep = retention_policy([keep_last, keep_for, keep_bytes])?;
        let settings = SqliteSettings {
            sync: durable(sync)?,
            max_bytes: whole_or_none("max_bytes", max_bytes.as_ref())?,
            ..SqliteSettings::default()
        };
        let path = file_of(path).map_err(|fault| to_exception(py, &fault))?;
        let cipher = cipher(key.as_ref())?;
        let open = || SqliteStore::open(&path, settings, Arc::new(SystemClock::new()));
        let store = py.detach(open).map_err(|fault| to_exception(py, &fault))?;
        let base = Saver::open(py, store, cipher)?.with_pickle(pickle).with_retention(keep);
        Py::new(py, PyClassInitializer::from(base).add_subclass(Self))
    }

    /// `open`, under LangGraph's name.
    #[staticmethod]
    fn from_conn_string(py: Python<'_>, conn_string: PathBuf) -> PyResult<Py<Self>> {
        Self::open(py, conn_string, None, "process", None, false, None, None, None)
    }
}

/// The file of a path, which may begin with `sqlite:`.
///
/// Others read three slashes as the beginning of a relative path; as a path they are the root.
fn file_of(path: PathBuf) -> Result<PathBuf, Fault> {
    let Some(file) = path.to_str().and_then(|path| path.strip_prefix("sqlite:")) else {
        return Ok(path);
    };
    if file.starts_with("//") && !file.starts_with("////") {
        let name = file.trim_start_matches('/');
        let message = format!("it is unclear which file this names: sqlite:{file}");
        return Err(Fault::new(FaultCode::StoreSettingInvalid, message).hint(format!(
            "write `sqlite:{name}` for a file in the current folder, or `sqlite:/{name}` for an \
             absolute path"
        )));
    }
    Ok(PathBuf::from(file))
}

fn durable(sync: &str) -> PyResult<SyncLevel> {
    match sync {
        "process" => Ok(SyncLevel::Process),
        "power" => Ok(SyncLevel::Power),
        _ => Err(PyValueError::new_err(format!("`sync` must be process or power: {sync}"))),
    }
}
