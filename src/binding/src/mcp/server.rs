//! Servers of tools and agents that Python holds.

use std::sync::{Arc, Mutex, PoisonError};

use antiphon_core::{Fault, FaultCode, ToolOutcome, ToolSpec, settings};
use antiphon_mcp::client::ElicitationAnswer;
use antiphon_mcp::server::CallClient as Caller;
use antiphon_mcp::{HttpServer, ServedTool, ServerSettings, ToolServer, serve_stdio};
use antiphon_runtime::redact;
use async_trait::async_trait;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value as Json;
use tokio::sync::{mpsc, oneshot};

use crate::driver::wait::{awaitable_result, block_on_native};
use crate::fault::{known, to_exception};
use crate::value::json;

/// The client that waits for a call, as the code that serves the call sees it.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct CallClient {
    caller: Caller,
    reports: mpsc::UnboundedSender<(f64, Option<f64>, Option<String>)>,
}

#[pymethods]
impl CallClient {
    /// Whether a person can be asked through the client.
    #[getter]
    fn can_ask(&self) -> bool {
        self.caller.can_ask()
    }

    /// Tells the client how far the call is; does not wait. `done` must grow.
    #[pyo3(signature = (done, total=None, message=None))]
    fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        // The call may be over.
        let _ = self.reports.send((done, total, message));
    }

    /// Asks the person behind the client: an awaitable of the answer, `None` if it is declined.
    /// `schema` is that of the answer. Raises `mcp_client_silent`.
    #[pyo3(signature = (message, schema=None))]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        message: String,
        schema: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let caller = self.caller.clone();
        let schema = schema.map(json::read::<Json>).transpose()?;
        let asked = async move {
            Ok(match caller.ask(&message, schema.as_ref()).await? {
                ElicitationAnswer::Accept(content) => content,
                ElicitationAnswer::Decline | ElicitationAnswer::Cancel => Json::Null,
            })
        };
        awaitable_result(py, asked, |py, answer: Json| {
            Ok(pythonize::pythonize(py, &answer)?.unbind())
        })
    }
}

/// A function in Python that serves calls. It starts a call and returns a
/// `concurrent.futures.Future` of a JSON value.
struct PythonServedTool {
    spec: ToolSpec,
    start: Py<PyAny>,
}

#[async_trait]
impl ServedTool for PythonServedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, caller: Caller) -> ToolOutcome {
        let (reports, mut reported) = mpsc::unbounded_channel();
        let client = CallClient { caller: caller.clone(), reports };
        let (done, outcome) = oneshot::channel();
        let running = self.start(&arguments, client, done);
        let running = running.map_err(|error| Python::attach(|py| failed(py, &error)))?;
        let work = async {
            let outcome = outcome.await;
            drop(running);
            outcome.unwrap_or_else(|_| {
                Err(Fault::new(FaultCode::TaskCancelled, "the call was stopped"))
            })
        };
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                Some((done, total, message)) = reported.recv() => {
                    caller.report(done, total, message).await;
                }
                outcome = work.as_mut() => return outcome,
            }
        }
    }
}

impl PythonServedTool {
    fn start(
        &self,
        arguments: &Json,
        client: CallClient,
        done: oneshot::Sender<ToolOutcome>,
    ) -> PyResult<RunningFuture> {
        Python::attach(|py| {
            let arguments = pythonize::pythonize(py, arguments)?;
            let future = self.start.call1(py, (arguments, client))?;
            let done = FutureCallback(Mutex::new(Some(done)));
            future.call_method1(py, "add_done_callback", (done,))?;
            Ok(RunningFuture(future))
        })
    }
}

/// An exception of the code that serves a call, as its client reads it.
fn failed(py: Python<'_>, error: &PyErr) -> Fault {
    let value = error.value(py);
    let fault = if let Some((category, code)) = known(value) {
        Fault::foreign(category, &code, value.to_string())
    } else {
        let kind = value.get_type().name().map_or_else(|_| String::new(), |it| it.to_string());
        Fault::new(FaultCode::ToolFailed, format!("{kind}: {value}"))
    };
    redact::clean_fault(fault)
}

/// A future in Python that is cancelled when nobody waits any more.
struct RunningFuture(Py<PyAny>);

impl Drop for RunningFuture {
    fn drop(&mut self) {
        Python::attach(|py| {
            // One that is done cannot be cancelled, which is no failure.
            let _ = self.0.call_method0(py, "cancel");
        });
    }
}

/// Passes the result of a future on.
#[pyclass(module = "antiphon._antiphon", frozen)]
struct FutureCallback(Mutex<Option<oneshot::Sender<ToolOutcome>>>);

#[pymethods]
impl FutureCallback {
    fn __call__(&self, future: &Bound<'_, PyAny>) {
        let done = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let value = future.call_method0("result").and_then(|value| json::read::<Json>(&value));
        let outcome = value.map_err(|error| failed(future.py(), &error));
        if let Some(done) = done {
            // The client may have gone.
            let _ = done.send(outcome);
        }
    }
}

/// A server over HTTP, until it is stopped.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct NativeMcpServer {
    url: String,
    server: Mutex<Option<HttpServer>>,
}

#[pymethods]
impl NativeMcpServer {
    /// Listens on a port; 0 for any that is free. Each of `tools` is a dict with `name`,
    /// `description`, `parameters`, `side_effect` and `idempotent`, with the function that starts
    /// its calls. Raises `tool_setting_invalid`, `mcp_server_failed`.
    #[staticmethod]
    fn start(
        py: Python<'_>,
        tools: Vec<(Bound<'_, PyDict>, Py<PyAny>)>,
        settings: &Bound<'_, PyDict>,
        port: u16,
    ) -> PyResult<Self> {
        let server = tool_server(tools, settings)?;
        let started = block_on_native(py, async move { HttpServer::start(server, port).await })?;
        let started = started.map_err(|fault| to_exception(py, &fault))?;
        Ok(Self { url: started.url().to_owned(), server: Mutex::new(Some(started)) })
    }

    /// The address for clients on this machine.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Waits until it is stopped, or for Ctrl-C.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        match self.take() {
            Some(server) => block_on_native(py, server.wait()),
            None => Ok(()),
        }
    }

    /// Stops it: sessions and calls end.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        match self.take() {
            Some(server) => block_on_native(py, server.stop()),
            None => Ok(()),
        }
    }
}

impl NativeMcpServer {
    fn take(&self) -> Option<HttpServer> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Serves over standard input and output until the input ends. Raises as `NativeMcpServer.start`.
#[pyfunction]
pub(crate) fn serve_mcp_stdio(
    py: Python<'_>,
    tools: Vec<(Bound<'_, PyDict>, Py<PyAny>)>,
    settings: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let server = tool_server(tools, settings)?;
    let served = block_on_native(py, serve_stdio(server))?;
    served.map_err(|fault| to_exception(py, &fault))
}

fn tool_server(
    tools: Vec<(Bound<'_, PyDict>, Py<PyAny>)>,
    given: &Bound<'_, PyDict>,
) -> PyResult<ToolServer> {
    let py = given.py();
    let raise = |fault: Fault| to_exception(py, &fault);
    let code = FaultCode::ToolSettingInvalid;
    let settings: ServerSettings =
        settings::read(&json::read(given)?, "an MCP server", code).map_err(raise)?;
    let served = tools.into_iter().map(|(spec, start)| -> PyResult<_> {
        let spec: ToolSpec = pythonize::depythonize(&spec)?;
        Ok(Arc::new(PythonServedTool { spec, start }) as Arc<dyn ServedTool>)
    });
    let served: Vec<_> = served.collect::<PyResult<_>>()?;
    ToolServer::new(served, settings).map_err(raise)
}
