//! How the cache of threads reaches Python: its store, and its objects as values.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_runtime::{Clock, SystemClock};
use antiphon_stores::SealedStore;
use antiphon_stores::codec::{ByteReader, ByteWriter, ValueCodec, corrupt, unstorable};
use antiphon_stores::langgraph_thread::{CacheClient, Serializer};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::fault::to_exception;
use crate::thread::saver::Saver;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// Where threads are stored, and how their values are.
#[derive(Debug)]
pub(super) struct LangGraphClient {
    pub(super) saver: Py<Saver>,
    pub(super) codec: ObjectCodec,
    /// A serializer with LangGraph's methods `dumps_typed` and `loads_typed`.
    pub(super) serde: Option<Py<PyAny>>,
}

impl CacheClient for LangGraphClient {
    type Value = Object;
    type Error = PyErr;

    fn sealed_store(&self) -> PyResult<SealedStore> {
        Python::attach(|py| self.saver.get().sealed_store(py))
    }

    fn error(&self, fault: Fault) -> PyErr {
        Python::attach(|py| to_exception(py, &fault))
    }

    /// Waiting for the lock releases the interpreter.
    fn with_lock<T, R>(&self, mutex: &Mutex<T>, access: impl FnOnce(&mut T) -> R) -> R {
        Python::attach(|py| {
            let locked = mutex.lock_py_attached(py);
            access(&mut locked.unwrap_or_else(PoisonError::into_inner))
        })
    }

    fn with_values<R>(&self, decode: impl FnOnce() -> R) -> R {
        Python::attach(|_| decode())
    }

    fn serializer(&self) -> Serializer {
        if self.serde.is_some() { Serializer::Foreign } else { Serializer::Own }
    }

    fn encode(&self, name: &str, value: &Object, out: &mut ByteWriter) -> PyResult<()> {
        let Some(serde) = &self.serde else { return self.encode_own(name, value, out) };
        Python::attach(|py| {
            let dumped = serde.bind(py).call_method1(intern!(py, "dumps_typed"), (&value.0,))?;
            let (kind, bytes): (String, Bound<'_, PyAny>) = dumped.extract()?;
            out.text(&kind);
            // Some serializers return a `bytearray`.
            match bytes.cast::<PyBytes>() {
                Ok(bytes) => out.bytes(bytes.as_bytes()),
                Err(_) => out.bytes(&bytes.extract::<Vec<u8>>()?),
            }
            Ok(())
        })
    }

    fn decode(
        &self,
        serializer: Serializer,
        from: ByteReader<'_>,
    ) -> PyResult<Vec<(Object, usize)>> {
        Python::attach(|py| match serializer {
            Serializer::Own => self.decode_own(py, from),
            Serializer::Foreign => self.decode_foreign(py, from),
        })
    }

    fn items(&self, value: &Object) -> Option<Vec<Object>> {
        Python::attach(|py| {
            let list = value.0.bind(py).cast_exact::<PyList>().ok()?;
            Some(list.iter().map(|item| Object(item.unbind())).collect())
        })
    }

    fn list(&self, items: &[Object]) -> PyResult<Object> {
        Python::attach(|py| {
            let items = items.iter().map(|item| item.0.bind(py));
            Ok(Object(PyList::new(py, items)?.into_any().unbind()))
        })
    }

    fn identity(&self, value: &Object) -> usize {
        value.0.as_ptr().addr()
    }
}

impl LangGraphClient {
    fn encode_own(&self, name: &str, value: &Object, out: &mut ByteWriter) -> PyResult<()> {
        let written = self.codec.write(value, out);
        written.map_err(|problem| self.error(unstorable(name, &problem)))
    }

    fn decode_own(&self, py: Python<'_>, from: ByteReader<'_>) -> PyResult<Vec<(Object, usize)>> {
        let values = self.codec.read_all(py, from).map_err(|fault| self.error(fault))?;
        Ok(values.into_iter().map(|(value, left)| (Object(value.unbind()), left)).collect())
    }

    fn decode_foreign(
        &self,
        py: Python<'_>,
        mut from: ByteReader<'_>,
    ) -> PyResult<Vec<(Object, usize)>> {
        let Some(serde) = &self.serde else { return Err(self.error(serde_missing())) };
        let mut values = Vec::new();
        while !from.is_at_end() {
            let kind = from.text().map_err(|fault| self.error(fault))?;
            let bytes = from.blob().map_err(|fault| self.error(fault))?;
            let typed = (kind, PyBytes::new(py, bytes));
            let value = serde.bind(py).call_method1(intern!(py, "loads_typed"), (typed,))?;
            values.push((Object(value.unbind()), from.left()));
        }
        Ok(values)
    }

    /// A checkpoint without its values, and its metadata: always in our own form.
    pub(super) fn encode_head(&self, head: Object) -> PyResult<Vec<u8>> {
        let mut out = ByteWriter::new();
        self.encode_own("the checkpoint itself", &head, &mut out)?;
        Ok(out.into_bytes())
    }

    pub(super) fn decode_head<'py>(
        &self,
        py: Python<'py>,
        bytes: &[u8],
    ) -> PyResult<Bound<'py, PyTuple>> {
        let values = self.codec.read_all(py, ByteReader::new(bytes));
        let head = values.map_err(|fault| self.error(fault))?.pop();
        let head = head.and_then(|(head, _)| head.cast_into::<PyTuple>().ok());
        head.filter(|head| head.len() == 2)
            .ok_or_else(|| self.error(corrupt("a checkpoint of another kind")))
    }
}

fn serde_missing() -> Fault {
    let message = "a value was stored by another serializer: pass `serde=`";
    Fault::new(FaultCode::CheckpointMisfit, message)
        .hint("open the saver with the `serde` it was written with")
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
