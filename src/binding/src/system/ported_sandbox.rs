//! An engine of `antiphon.sandbox` behind the port of the native systems.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use antiphon_runtime::sandbox::{
    CallError, GuestFault, GuestFaultKind, HostCalls, JobOutcome, JobTable, JobUsage, Sandbox,
    SandboxJob, SandboxProbe, Session, StopCheck, WorkerOrigin,
};
use antiphon_runtime::{CancellationToken, redact};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::system::cancellation_token::PyCancellationToken;
use crate::value::json;

/// How often it is asked whether a job must stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// An engine as Python holds it.
pub(crate) struct PortedSandbox {
    /// Has `run(job, call, cancel)` and `session()`.
    pub(crate) engine: Py<PyAny>,
}

/// Calls of the host as Python code makes them.
#[pyclass(module = "antiphon._antiphon", frozen)]
struct HostCaller(Arc<dyn HostCalls>);

#[pymethods]
impl HostCaller {
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        name: String,
        args: &Bound<'py, PyAny>,
        kwargs: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (args, kwargs) = (json::read(args)?, json::read(kwargs)?);
        let called = py.detach(|| self.0.call(&name, args, kwargs));
        match called {
            Ok(value) => Ok(pythonize::pythonize(py, &value)?),
            Err(CallError { kind, message }) => {
                let failed = py.import(intern!(py, "antiphon.sandbox._host_calls"))?;
                let failed = failed.getattr(intern!(py, "CallFailed"))?;
                Err(PyErr::from_value(failed.call1((kind, message))?))
            }
        }
    }
}

impl Sandbox for PortedSandbox {
    fn probe(&self) -> SandboxProbe {
        // Python has chosen an engine that passes.
        SandboxProbe { ok: true, missing: Vec::new(), ..SandboxProbe::refused("python", "") }
    }

    fn run(
        &self,
        job: &SandboxJob,
        host: Option<Arc<dyn HostCalls>>,
        halt: StopCheck<'_>,
    ) -> JobOutcome {
        run(&self.engine, job, host, halt)
    }

    fn open(&self) -> Result<Box<dyn Session>, Box<GuestFault>> {
        Python::attach(|py| {
            let opened = self.engine.bind(py).call_method0(intern!(py, "session"));
            let session = opened.map_err(|error| {
                Box::new(GuestFault::new(GuestFaultKind::Unavailable, error.value(py).to_string()))
            })?;
            Ok(Box::new(PortedSession { session: session.unbind() }) as Box<dyn Session>)
        })
    }
}

struct PortedSession {
    session: Py<PyAny>,
}

impl Session for PortedSession {
    fn run(
        &mut self,
        job: &SandboxJob,
        host: Option<Arc<dyn HostCalls>>,
        halt: StopCheck<'_>,
    ) -> JobOutcome {
        run(&self.session, job, host, halt)
    }

    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, Box<GuestFault>> {
        Ok(None)
    }
}

impl Drop for PortedSession {
    fn drop(&mut self) {
        Python::attach(|py| {
            if let Err(error) = self.session.bind(py).call_method0(intern!(py, "close")) {
                error.write_unraisable(py, None);
            }
        });
    }
}

/// Runs a job by `runner`. What it raises is a crash of the engine's.
fn run(
    runner: &Py<PyAny>,
    job: &SandboxJob,
    host: Option<Arc<dyn HostCalls>>,
    halt: StopCheck<'_>,
) -> JobOutcome {
    let token = CancellationToken::new();
    let (over, ends) = mpsc::channel::<()>();
    std::thread::scope(|threads| {
        let watched = &token;
        threads.spawn(move || stop_when_due(watched, halt, &ends));
        let outcome = Python::attach(|py| {
            let call = host.map(|host| Bound::new(py, HostCaller(host))).transpose()?;
            let given = (job_in(py, job)?, call, PyCancellationToken(token.clone()));
            outcome_of(&runner.bind(py).call_method1(intern!(py, "run"), given)?)
        });
        drop(over);
        outcome.unwrap_or_else(|error| crashed(&error))
    })
}

/// Stops a job once it must, until the job is over.
fn stop_when_due(token: &CancellationToken, halt: StopCheck<'_>, ends: &mpsc::Receiver<()>) {
    while let Err(mpsc::RecvTimeoutError::Timeout) = ends.recv_timeout(POLL_INTERVAL) {
        if let Some(reason) = halt() {
            token.cancel(&reason);
            return;
        }
    }
}

fn crashed(error: &PyErr) -> JobOutcome {
    let message = Python::attach(|py| error.value(py).to_string());
    JobOutcome::failed(GuestFaultKind::Crashed, message)
}

fn job_in<'py>(py: Python<'py>, job: &SandboxJob) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("code", &job.code)?;
    dict.set_item("name", &job.name)?;
    dict.set_item("want", pythonize::pythonize(py, &job.want)?)?;
    dict.set_item("inputs", pythonize::pythonize(py, &job.inputs)?)?;
    dict.set_item("functions", pythonize::pythonize(py, &job.functions)?)?;
    let tables = PyDict::new(py);
    for (name, bytes) in &job.tables {
        tables.set_item(name, PyBytes::new(py, bytes))?;
    }
    dict.set_item("tables", tables)?;
    Ok(dict)
}

/// An outcome out of the dict of an engine.
fn outcome_of(dict: &Bound<'_, PyAny>) -> PyResult<JobOutcome> {
    let dict = dict.cast::<PyDict>()?;
    let text = |name: &str| -> PyResult<Vec<u8>> {
        let found = dict.get_item(name)?.map(|text| text.extract::<String>()).transpose()?;
        Ok(found.unwrap_or_default().into_bytes())
    };
    let cut: Vec<String> = field(dict, "truncated")?.unwrap_or_default();
    let cut = ["stdout", "stderr"].into_iter().filter(|name| cut.iter().any(|one| one == name));
    Ok(JobOutcome {
        value: dict.get_item("value")?.map(|value| json::read::<Json>(&value)).transpose()?,
        value_error: field(dict, "value_error")?,
        locals: field(dict, "locals")?.unwrap_or_default(),
        local_errors: field::<BTreeMap<String, GuestFault>>(dict, "local_errors")?
            .unwrap_or_default(),
        tables: tables_of(dict)?,
        table_errors: field::<BTreeMap<String, GuestFault>>(dict, "table_errors")?
            .unwrap_or_default(),
        figures: dict
            .get_item("figures")?
            .map(|all| all.extract())
            .transpose()?
            .unwrap_or_default(),
        stdout: text("stdout")?,
        stderr: text("stderr")?,
        truncated: cut.collect(),
        error: field(dict, "error")?,
        usage: usage_of(dict)?,
    })
}

fn tables_of(dict: &Bound<'_, PyDict>) -> PyResult<Vec<JobTable>> {
    let given = dict.get_item("tables")?.map(|all| all.extract::<Vec<(String, Vec<u8>)>>());
    let tables = given.transpose()?.unwrap_or_default().into_iter();
    Ok(tables
        .map(|(name, mut bytes)| {
            redact::mask_bytes(&mut bytes);
            JobTable { name, rows: 0, columns: 0, bytes }
        })
        .collect())
}

fn usage_of(dict: &Bound<'_, PyDict>) -> PyResult<JobUsage> {
    let given: serde_json::Map<String, Json> = field(dict, "usage")?.unwrap_or_default();
    let seconds = |name: &str| {
        let found = given.get(name).and_then(Json::as_f64).unwrap_or_default();
        Duration::try_from_secs_f64(found).unwrap_or_default()
    };
    let number = |name: &str| given.get(name).and_then(Json::as_u64).unwrap_or_default();
    let start = given.get("start").and_then(Json::as_str);
    let starts =
        [WorkerOrigin::Spare, WorkerOrigin::Fork, WorkerOrigin::Session, WorkerOrigin::Cold];
    Ok(JobUsage {
        wall: seconds("wall"),
        cpu: seconds("cpu"),
        memory: number("memory"),
        host_calls: number("host_calls"),
        start: starts.into_iter().find(|one| Some(one.as_str()) == start).unwrap_or_default(),
    })
}

/// A field as a type; none if it is missing or `None`.
fn field<T: DeserializeOwned>(dict: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<T>> {
    let given = dict.get_item(name)?.filter(|value| !value.is_none());
    given.map(|value| json::read(&value)).transpose()
}
