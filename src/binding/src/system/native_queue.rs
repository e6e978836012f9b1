//! Queues as Python holds them.

use std::sync::Arc;

use antiphon_queue::{MemoryQueue, NatsAddress, NatsQueue};
use antiphon_runtime::{Queue, SystemClock};
use antiphon_systems::sub_task::queue_settings;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::driver::wait::block_on_native;
use crate::fault::to_exception;
use crate::graph::options::Keywords;

/// What a server may be reached with beside its URL.
const OPTIONS: [&str; 7] =
    ["user", "password", "token", "credentials_file", "ca_file", "certificate_file", "key_file"];

/// A queue of sub-tasks, for systems and workers.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct NativeQueue(pub(crate) Arc<dyn Queue>);

#[pymethods]
impl NativeQueue {
    /// A queue within this process.
    #[staticmethod]
    fn memory() -> Self {
        Self(Arc::new(MemoryQueue::new(queue_settings(), Arc::new(SystemClock::new()))))
    }

    /// Connects to a NATS server. Options: `user`, `password`, `token`, and the paths
    /// `credentials_file`, `ca_file`, `certificate_file` and `key_file`.
    #[staticmethod]
    #[pyo3(signature = (url, name, **options))]
    fn connect(
        py: Python<'_>,
        url: String,
        name: String,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options = Keywords::new(options, &OPTIONS)?;
        let address = NatsAddress {
            url,
            user: options.get("user")?,
            password: options.get("password")?,
            token: options.get("token")?,
            credentials_file: options.get("credentials_file")?,
            ca_file: options.get("ca_file")?,
            certificate_file: options.get("certificate_file")?,
            key_file: options.get("key_file")?,
        };
        let clock = Arc::new(SystemClock::new());
        let connected = block_on_native(py, async move {
            NatsQueue::connect(address, &name, queue_settings(), clock).await
        })?;
        let queue = connected.map_err(|fault| to_exception(py, &fault))?;
        Ok(Self(Arc::new(queue)))
    }

    /// What people call it: the address of its server, without any secret.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }
}
