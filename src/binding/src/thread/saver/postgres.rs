//! Threads in a database, as Python holds it.

use std::time::Duration;

use antiphon_stores::{PostgresSettings, PostgresStore};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::{Saver, check_pickle, cipher, unopened};
use crate::driver::wait::block_on_thread;
use crate::fault::to_exception;
use crate::thread::admin::retention_policy;

/// Threads in a PostgreSQL database, which several machines may share. Leases use the clock of
/// the database.
#[pyclass(module = "antiphon._antiphon", extends = Saver, frozen)]
#[derive(Debug)]
pub(crate) struct PostgresSaver;

#[pymethods]
impl PostgresSaver {
    /// Only tells how one is opened.
    #[new]
    #[pyo3(signature = (*_given: "Any", **_options: "Any"))]
    fn new(
        _given: &Bound<'_, PyTuple>,
        _options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        unopened("PostgresSaver.open(url)")
    }

    /// Connects to a database, and creates or migrates the tables.
    ///
    /// `url` is libpq's: `postgres://user:password@host:5432/database`, with options such as
    /// `sslmode` (`disable`, `prefer`, `require`, `verify-ca` or `verify-full`; default: `prefer`)
    /// and `sslrootcert`. With a `key` of 32 bytes, entries are encrypted and authenticated
    /// (XChaCha20-Poly1305), and no others are read; of a list of keys, the first one writes and all
    /// of them read, until `rekey` has run. `schema` is the schema of the tables, created if needed.
    /// There are at most `pool` connections (1 to 64), opened on demand. `timeout` is the time limit
    /// of a statement in seconds; for the same time, statements are retried while connections break
    /// or the database is down. With `pickle` and a key, objects of unknown types are pickled;
    /// everyone who has the key can then run code here. `keep_last`, `keep_for` and `keep_bytes` are
    /// those of `SqliteSaver.open`.
    ///
    /// Raises the `antiphon.errors` class of `store_setting_invalid` if the URL or a setting is
    /// invalid; of `checkpoint_encrypted` or `checkpoint_plain` if the key is missing, wrong or not
    /// expected; of `store_unavailable` if the database cannot be reached; of `store_refused` if it
    /// refuses the login; of `store_read_only` if the tables cannot be created; of `store_corrupt`
    /// if the schema has other tables; of `store_version` if a later version created them. No error
    /// contains the password.
    #[staticmethod]
    #[pyo3(signature = (url, *, key: "bytes | Sequence[bytes] | None"=None, schema="antiphon", pool=4, timeout=30.0, pickle=false, keep_last: "int | None"=None, keep_for=None, keep_bytes: "int | None"=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword options")]
    fn open(
        py: Python<'_>,
        url: &str,
        key: Option<Bound<'_, PyAny>>,
        schema: &str,
        pool: usize,
        timeout: f64,
        pickle: bool,
        keep_last: Option<Bound<'_, PyAny>>,
        keep_for: Option<Bound<'_, PyAny>>,
        keep_bytes: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<Self>> {
        check_pickle(pickle, key.as_ref())?;
        let keep = retention_policy([keep_last, keep_for, keep_bytes])?;
        let timeout = Duration::try_from_secs_f64(timeout).map_err(|_| {
            PyValueError::new_err(format!("`timeout` must be a number of seconds: {timeout}"))
        })?;
        let settings = PostgresSettings { schema: schema.to_owned(), pool, timeout };
        let cipher = cipher(key.as_ref())?;
        let url = url.to_owned();
        let connect = move || PostgresStore::connect(&url, &settings);
        let store = block_on_thread(py, connect)?.map_err(|fault| to_exception(py, &fault))?;
        let base = Saver::open(py, store, cipher)?.with_pickle(pickle).with_retention(keep);
        Py::new(py, PyClassInitializer::from(base).add_subclass(Self))
    }

    /// `open`, under LangGraph's name.
    #[staticmethod]
    fn from_conn_string(py: Python<'_>, conn_string: &str) -> PyResult<Py<Self>> {
        let PostgresSettings { schema, pool, timeout } = PostgresSettings::default();
        let timeout = timeout.as_secs_f64();
        Self::open(py, conn_string, None, &schema, pool, timeout, false, None, None, None)
    }
}
