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

/// Threads in a PostgreSQL database, which several machines may share. Who holds a thread,
/// and until when, is told by the database's clock.
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

    /// Connects to a database, and makes or updates the tables.
    ///
    /// `url` is libpq's: `postgres://user:password@host:5432/database`, with `sslmode`
    /// (`disable`, `prefer`, `require`, `verify-ca` or `verify-full`; default: `prefer`) and
    /// `sslrootcert` among its options. With a `key` of 32 bytes what is stored is encrypted and
    /// authenticated (XChaCha20-Poly1305), and nothing else is read; of a list of keys the first
    /// one writes and each of them reads, until `rekey` is done. The tables lie in the
    /// schema of the name `schema`, which is made if there is none. There are at most `pool`
    /// connections (1 to 64), each opened when it is needed first. A statement may take
    /// `timeout` seconds; for as long it is tried again if its connection is cut, and a database
    /// that was there is waited for.
    /// With `pickle` and a key, objects of types that are neither known nor registered are
    /// pickled; whoever has the key can then run code here. `keep_last`, `keep_for` and
    /// `keep_bytes` are those of `SqliteSaver.open`.
    ///
    /// Raises the `antiphon.errors` class of `store_setting_invalid` if the URL or a setting
    /// cannot be used, of `checkpoint_encrypted` and `checkpoint_plain` if a key is missing,
    /// wrong or too much, of `store_unavailable` if the database is not there, of `store_refused`
    /// if it does not let the user in, of `store_read_only` if the tables may not be made, of
    /// `store_corrupt` if the schema is something else, of `store_version` if a later antiphon
    /// has made it. None of them holds the password.
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
        let keep = retention_policy(keep_last.as_ref(), keep_for.as_ref(), keep_bytes.as_ref())?;
        let timeout = Duration::try_from_secs_f64(timeout).map_err(|_| {
            PyValueError::new_err(format!("`timeout` takes seconds, found: {timeout}"))
        })?;
        let settings = PostgresSettings { schema: schema.to_owned(), pool, timeout };
        let cipher = cipher(key.as_ref())?;
        let url = url.to_owned();
        let connect = move || PostgresStore::connect(&url, &settings);
        let store = block_on_thread(py, connect)?.map_err(|fault| to_exception(py, &fault))?;
        let base = Saver::open(py, store, cipher)?.with_pickle(pickle).with_retention(keep);
        Py::new(py, PyClassInitializer::from(base).add_subclass(Self))
    }

    /// `open` under the name that LangGraph gives it.
    #[staticmethod]
    fn from_conn_string(py: Python<'_>, conn_string: &str) -> PyResult<Py<Self>> {
        let PostgresSettings { schema, pool, timeout } = PostgresSettings::default();
        let timeout = timeout.as_secs_f64();
        Self::open(py, conn_string, None, &schema, pool, timeout, false, None, None, None)
    }
}
