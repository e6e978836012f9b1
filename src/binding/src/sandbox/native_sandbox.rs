//! The sandbox's engines, for `antiphon.sandbox`.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::CancellationToken;
use antiphon_runtime::sandbox::{
    CallError, HostCalls, JobOutcome, Sandbox, SandboxJob, SandboxProbe, Session,
};
use antiphon_sandbox::{EngineSettings, ProcessEngine};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use crate::fault::to_exception;
use crate::system::cancellation_token::PyCancellationToken;
use crate::value::json;

/// Characters of a failure's message that a guest may see.
const MESSAGE: usize = 4_000;

/// What an engine promises on this machine, as a dict; seen once per process.
#[pyfunction]
pub(crate) fn sandbox_probe<'py>(
    py: Python<'py>,
    settings: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let engine = engine(settings)?;
    let probe = py.detach(|| engine.probe());
    shown_probe(py, &probe)
}

/// An engine that runs code in workers of this machine. It starts nothing
/// until it is asked for something.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct NativeSandbox {
    engine: Arc<ProcessEngine>,
}

impl NativeSandbox {
    /// The engine itself, for a system.
    pub(crate) fn engine(&self) -> Arc<ProcessEngine> {
        Arc::clone(&self.engine)
    }
}

#[pymethods]
impl NativeSandbox {
    #[new]
    fn new(settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self { engine: Arc::new(engine(settings)?) })
    }

    /// Runs a job in a clean interpreter. `call` makes the calls of the host's
    /// functions, on another thread; `cancel` ends the job.
    #[pyo3(signature = (job, call=None, cancel=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        job: &Bound<'py, PyDict>,
        call: Option<Py<PyAny>>,
        cancel: Option<&PyCancellationToken>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let request = JobRequest::new(job, call, cancel)?;
        let outcome = request.make(py, |job, host, halt| self.engine.run(job, host, halt))?;
        result_dict(py, outcome, &self.engine)
    }

    /// Opens an interpreter that keeps its names from job to job.
    fn session(&self, py: Python<'_>) -> PyResult<NativeSession> {
        let engine = Arc::clone(&self.engine);
        if engine.is_closed() {
            return Err(PyRuntimeError::new_err("the sandbox is closed"));
        }
        let opened = py.detach(|| engine.open());
        let session = opened.map_err(|fault| unavailable(py, &fault.message))?;
        Ok(NativeSession { engine, session: Mutex::new(Some(session)) })
    }

    /// Ends every worker, those of sessions and of jobs that run too, and waits until they
    /// are gone. Jobs that run are cancelled.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.engine.close());
    }
}

/// An interpreter that lives on between jobs.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct NativeSession {
    engine: Arc<ProcessEngine>,
    session: Mutex<Option<Box<dyn Session>>>,
}

#[pymethods]
impl NativeSession {
    /// Runs a job in it, after those that are running already.
    #[pyo3(signature = (job, call=None, cancel=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        job: &Bound<'py, PyDict>,
        call: Option<Py<PyAny>>,
        cancel: Option<&PyCancellationToken>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let request = JobRequest::new(job, call, cancel)?;
        let outcome = request.make(py, |job, host, halt| {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            session.as_mut().map(|session| session.run(job, host, halt))
        })?;
        let closed = || PyRuntimeError::new_err("the session is closed");
        result_dict(py, outcome.ok_or_else(closed)?, &self.engine)
    }

    /// Ends its worker.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            drop(self.session.lock().unwrap_or_else(PoisonError::into_inner).take());
        });
    }
}

/// A job with all that is needed to run it.
struct JobRequest {
    job: SandboxJob,
    host: Option<Arc<dyn HostCalls>>,
    cancel: Option<CancellationToken>,
    /// Ctrl-C is heard on the main thread alone.
    hears_signals: bool,
}

type Ask<'a> = &'a (dyn Fn() -> Option<String> + Sync);

impl JobRequest {
    fn new(
        job: &Bound<'_, PyDict>,
        call: Option<Py<PyAny>>,
        cancel: Option<&PyCancellationToken>,
    ) -> PyResult<Self> {
        let py = job.py();
        Ok(Self {
            job: job_of(job)?,
            host: call.map(|call| Arc::new(Caller(call)) as Arc<dyn HostCalls>),
            cancel: cancel.map(|cancel| cancel.0.clone()),
            hears_signals: is_main(py)?,
        })
    }

    /// Runs it without the interpreter, which is only asked for signals.
    fn make<T: Send>(
        self,
        py: Python<'_>,
        run: impl Send + FnOnce(&SandboxJob, Option<Arc<dyn HostCalls>>, Ask<'_>) -> T,
    ) -> PyResult<T> {
        let interrupted = Mutex::new(None);
        let Self { job, host, cancel, hears_signals } = self;
        let done = py.detach(|| {
            let halt = || {
                if let Some(reason) = cancel.as_ref().and_then(CancellationToken::reason) {
                    return Some(reason.to_string());
                }
                let signal = hears_signals.then(interrupted_by).flatten()?;
                *interrupted.lock().unwrap_or_else(PoisonError::into_inner) = Some(signal);
                Some("interrupted".to_owned())
            };
            run(&job, host, &halt)
        });
        let signal = interrupted.into_inner().unwrap_or_else(PoisonError::into_inner);
        signal.map_or(Ok(done), Err)
    }
}

/// A job out of its fields.
fn job_of(given: &Bound<'_, PyDict>) -> PyResult<SandboxJob> {
    let py = given.py();
    let text = |name: &Bound<'_, PyString>| -> PyResult<String> {
        given.as_any().get_item(name)?.extract()
    };
    let mut job = SandboxJob {
        code: text(intern!(py, "code"))?,
        name: text(intern!(py, "name"))?,
        want: json::read(&given.as_any().get_item(intern!(py, "want"))?)?,
        inputs: part(given, intern!(py, "inputs"))?,
        tables: Vec::new(),
        functions: part(given, intern!(py, "functions"))?,
    };
    if let Some(tables) = given.get_item(intern!(py, "tables"))? {
        for (name, bytes) in tables.cast::<PyDict>()? {
            job.tables.push((name.extract()?, bytes.extract()?));
        }
    }
    Ok(job)
}

/// What most jobs do not have.
fn part<T: DeserializeOwned + Default>(
    given: &Bound<'_, PyDict>,
    name: &Bound<'_, PyString>,
) -> PyResult<T> {
    match given.get_item(name)? {
        Some(part) if !part.is_empty()? => json::read(&part),
        _ => Ok(T::default()),
    }
}

/// Whether this is the interpreter's main thread, found out once for each: that
/// takes longer than all else a job needs here. A fork makes another one the main thread.
fn is_main(py: Python<'_>) -> PyResult<bool> {
    thread_local! {
        static KNOWN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
    }
    let process = std::process::id();
    if let Some((known, is_main)) = KNOWN.get()
        && known == process
    {
        return Ok(is_main);
    }
    let threading = py.import(intern!(py, "threading"))?;
    let here = threading.call_method0(intern!(py, "current_thread"))?;
    let is_main = here.is(&threading.call_method0(intern!(py, "main_thread"))?);
    KNOWN.set(Some((process, is_main)));
    Ok(is_main)
}

/// What a signal handler raised, if one was due.
fn interrupted_by() -> Option<PyErr> {
    Python::attach(|py| {
        let checked = py.check_signals();
        checked.err()
    })
}

/// The host's functions, behind one callable.
pub(crate) struct Caller(pub(crate) Py<PyAny>);

impl HostCalls for Caller {
    fn call(
        &self,
        name: &str,
        args: Vec<Json>,
        kwargs: Map<String, Json>,
    ) -> Result<Json, CallError> {
        Python::attach(|py| {
            let made = (|| {
                let args = pythonize::pythonize(py, &args)?;
                let kwargs = pythonize::pythonize(py, &kwargs)?;
                let result = self.0.bind(py).call1((name, args, kwargs))?;
                json::read(&result)
            })();
            made.map_err(|error: PyErr| call_error(py, &error))
        })
    }
}

/// What a guest may know of an exception: never where it was raised.
fn call_error(py: Python<'_>, error: &PyErr) -> CallError {
    let (kind, message) = call_failure(py, error).unwrap_or_else(|_| {
        let kind = error.get_type(py).name().map(|name| name.to_string());
        let message = error.value(py).str().map(|text| text.to_string());
        (kind.unwrap_or_else(|_| "Exception".to_owned()), message.unwrap_or_default())
    });
    CallError { kind, message: message.chars().take(MESSAGE).collect() }
}

/// What a `CallFailed` says: it names the exception that the guest sees.
fn call_failure(py: Python<'_>, error: &PyErr) -> PyResult<(String, String)> {
    let module = py.import(intern!(py, "antiphon.sandbox._host_calls"))?;
    let value = error.value(py);
    if !value.is_instance(&module.getattr(intern!(py, "CallFailed"))?)? {
        return Err(error.clone_ref(py));
    }
    let field = |name: &Bound<'_, PyString>| value.getattr(name)?.extract();
    Ok((field(intern!(py, "type"))?, field(intern!(py, "message"))?))
}

/// The exception for an engine that has no worker to give.
fn unavailable(py: Python<'_>, why: &str) -> PyErr {
    let made = py.import(intern!(py, "antiphon.errors")).and_then(|errors| {
        let options = PyDict::new(py);
        options.set_item(intern!(py, "code"), "sandbox_unavailable")?;
        errors.call_method(intern!(py, "SandboxUnavailable"), (why,), Some(&options))
    });
    made.map_or_else(|error| error, PyErr::from_value)
}

fn engine(settings: &Bound<'_, PyDict>) -> PyResult<ProcessEngine> {
    let py = settings.py();
    let complete = settings.copy()?;
    if !complete.contains("native")? {
        let own = py.import(intern!(py, "antiphon._antiphon"))?.getattr(intern!(py, "__file__"))?;
        complete.set_item("native", own)?;
    }
    let refused = |message: String| {
        let fault = Fault::new(FaultCode::SandboxSettingInvalid, message);
        to_exception(py, &fault)
    };
    let settings: EngineSettings = json::read(&complete)
        .map_err(|error| refused(format!("the settings of a sandbox cannot be read: {error}")))?;
    ProcessEngine::new(settings).map_err(|fault| to_exception(py, &fault))
}

fn shown_probe<'py>(py: Python<'py>, probe: &SandboxProbe) -> PyResult<Bound<'py, PyDict>> {
    let layers = PyDict::new(py);
    for (name, level) in &probe.layers {
        match level.as_str() {
            "yes" => layers.set_item(name, true)?,
            "no" => layers.set_item(name, false)?,
            level => layers.set_item(name, level)?,
        }
    }
    let dict = PyDict::new(py);
    dict.set_item("engine", probe.engine)?;
    dict.set_item("ok", probe.ok)?;
    dict.set_item("isolation", probe.isolation.as_str())?;
    dict.set_item("version", &probe.version)?;
    dict.set_item("layers", layers)?;
    dict.set_item("missing", &probe.missing)?;
    Ok(dict)
}

fn result_dict<'py>(
    py: Python<'py>,
    mut outcome: JobOutcome,
    engine: &ProcessEngine,
) -> PyResult<Bound<'py, PyDict>> {
    let tables = std::mem::take(&mut outcome.tables);
    let figures = std::mem::take(&mut outcome.figures);
    let dict = outcome_in(py, &outcome)?;
    // Each is let go of before the next is copied, so that they are not all there twice.
    if !tables.is_empty() {
        let list = PyList::empty(py);
        for table in tables {
            list.append((table.name, PyBytes::new(py, &table.bytes)))?;
        }
        dict.set_item("tables", list)?;
    }
    if !figures.is_empty() {
        let list = PyList::empty(py);
        for figure in figures {
            list.append(PyBytes::new(py, &figure))?;
        }
        dict.set_item("figures", list)?;
    }
    dict.set_item("engine", engine.name().as_str())?;
    dict.set_item("isolation", engine.isolation().as_str())?;
    Ok(dict)
}

/// An outcome as a dict, without the engine it came from, and without what is empty.
pub(crate) fn outcome_in<'py>(
    py: Python<'py>,
    outcome: &JobOutcome,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    if let Some(value) = &outcome.value {
        dict.set_item("value", pythonize::pythonize(py, value)?)?;
    }
    if let Some(error) = &outcome.value_error {
        dict.set_item("value_error", plain(py, error)?)?;
    }
    if !outcome.locals.is_empty() {
        dict.set_item("locals", pythonize::pythonize(py, &outcome.locals)?)?;
    }
    let lost = [("local_errors", &outcome.local_errors), ("table_errors", &outcome.table_errors)];
    for (name, errors) in lost.into_iter().filter(|(_, errors)| !errors.is_empty()) {
        dict.set_item(name, plain(py, errors)?)?;
    }
    if !outcome.tables.is_empty() {
        let tables = outcome.tables.iter();
        let tables = tables.map(|table| (&table.name, PyBytes::new(py, &table.bytes)));
        dict.set_item("tables", PyList::new(py, tables)?)?;
    }
    if !outcome.figures.is_empty() {
        let figures = outcome.figures.iter().map(|figure| PyBytes::new(py, figure));
        dict.set_item("figures", PyList::new(py, figures)?)?;
    }
    for (name, text) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        if !text.is_empty() {
            dict.set_item(name, String::from_utf8_lossy(text))?;
        }
    }
    if !outcome.truncated.is_empty() {
        dict.set_item("truncated", &outcome.truncated)?;
    }
    if let Some(error) = &outcome.error {
        dict.set_item("error", plain(py, error)?)?;
    }
    let usage = PyDict::new(py);
    usage.set_item("wall", outcome.usage.wall.as_secs_f64())?;
    usage.set_item("cpu", outcome.usage.cpu.as_secs_f64())?;
    usage.set_item("memory", outcome.usage.memory)?;
    usage.set_item("host_calls", outcome.usage.host_calls)?;
    usage.set_item("start", outcome.usage.start.as_str())?;
    dict.set_item("usage", usage)?;
    Ok(dict)
}

fn plain<'py, T: Serialize>(py: Python<'py>, value: &T) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize::pythonize(py, value)?)
}
