//! Clients of MCP servers.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, settings};
use antiphon_mcp::client::{
    AuthorizationHandler, Elicitation, ElicitationAnswer, ElicitationHandler, ElicitationQuestion,
    McpServices,
};
use antiphon_mcp::{McpClient, McpSettings, McpTool};
use antiphon_runtime::Tool;
use async_trait::async_trait;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value as Json;

use crate::driver::wait::block_on_native;
use crate::fault::to_exception;
use crate::graph::model::Model;
use crate::graph::tool::NativeTool;
use crate::value::json;

/// A client of one MCP server. It connects when it is needed.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct NativeMcpClient(pub(crate) McpClient);

#[pymethods]
impl NativeMcpClient {
    /// Checks the settings; starts nothing. `elicit` answers the questions of the server: it gets
    /// a dict, on a thread of its own. With `asks`, the run that makes a call asks them. The server
    /// may ask `sampling`, a model. `login` shows people the page on which they permit access: it
    /// gets its address, on a thread of its own, and may return the one to which the page has led.
    /// Raises `tool_setting_invalid`.
    #[new]
    #[pyo3(signature = (settings, *, elicit=None, asks=false, sampling=None, login=None))]
    fn new(
        settings: &Bound<'_, PyDict>,
        elicit: Option<Py<PyAny>>,
        asks: bool,
        sampling: Option<Bound<'_, Model>>,
        login: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let py = settings.py();
        let raise = |fault: Fault| to_exception(py, &fault);
        let code = FaultCode::ToolSettingInvalid;
        let given: McpSettings =
            settings::read(&json::read(settings)?, "an MCP server", code).map_err(raise)?;
        let services = McpServices {
            elicitation: match elicit {
                Some(call) => Elicitation::Handler(Arc::new(PythonAnswers(call))),
                None if asks => Elicitation::Run,
                None => Elicitation::Declined,
            },
            model: sampling.map(|model| Arc::clone(&model.get().port)),
            authorization: login
                .map(|call| Arc::new(PythonLogin(call)) as Arc<dyn AuthorizationHandler>),
        };
        McpClient::with_services(given, services).map(Self).map_err(raise)
    }

    /// The program, or the address without secrets.
    #[getter]
    fn server(&self) -> String {
        self.0.server()
    }

    /// Connects, unless it is connected. Ctrl-C stops waiting. Raises `mcp_unreachable`,
    /// `mcp_handshake_failed`, `mcp_unauthorized`.
    fn connect(&self, py: Python<'_>) -> PyResult<()> {
        let client = self.0.clone();
        let connected = block_on_native(py, async move { client.connect().await })?;
        connected.map_err(|fault| to_exception(py, &fault))
    }

    /// Connects, and returns the tools that were chosen. Raises as `connect`, and
    /// `mcp_tool_unknown`, `mcp_reply_invalid`, `tool_timeout`.
    fn tools(&self, py: Python<'_>) -> PyResult<Vec<NativeTool>> {
        let client = self.0.clone();
        let tools = block_on_native(py, async move { client.tools().await })?;
        let raise = |fault: Fault| to_exception(py, &fault);
        let handle = |tool: Arc<McpTool>| NativeTool::new(tool as Arc<dyn Tool>).map_err(raise);
        tools.map_err(raise)?.into_iter().map(handle).collect()
    }

    /// The revision of the protocol that is spoken; `None` while nothing is connected.
    fn revision(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let client = self.0.clone();
        block_on_native(py, async move { client.revision().await })
    }

    /// Ends the connection: its process is gone when this returns. The next call would connect
    /// again.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let client = self.0.clone();
        block_on_native(py, async move { client.close().await })
    }
}

/// A function in Python that answers questions.
struct PythonAnswers(Py<PyAny>);

#[async_trait]
impl ElicitationHandler for PythonAnswers {
    async fn ask(&self, question: ElicitationQuestion) -> Result<ElicitationAnswer, Fault> {
        let asked = question.as_json();
        let answer = call_for_person(&self.0, move |py, call| {
            let asked = pythonize::pythonize(py, &asked)?;
            json::read(&call.call1((asked,))?)
        });
        let failed =
            |cause| Fault::new(FaultCode::ApprovalFailed, format!("`elicit` failed: {cause}"));
        let answer: Json = answer.await.map_err(failed)?;
        Ok(ElicitationAnswer::read(&question, &answer))
    }
}

/// A function in Python that shows the page of a login.
struct PythonLogin(Py<PyAny>);

#[async_trait]
impl AuthorizationHandler for PythonLogin {
    async fn show(&self, page: &str) -> Result<Option<String>, Fault> {
        let page = page.to_owned();
        let shown = call_for_person(&self.0, move |_, call| call.call1((page,))?.extract());
        shown.await.map_err(|cause| {
            let message = format!("the page of the login cannot be shown: {cause}");
            Fault::new(FaultCode::McpUnauthorized, message)
        })
    }
}

/// Calls a function that may wait for a person, which no thread of the native runtime should.
async fn call_for_person<T: Send + 'static>(
    function: &Py<PyAny>,
    call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T> + Send + 'static,
) -> Result<T, String> {
    let function = Python::attach(|py| function.clone_ref(py));
    let called = tokio::task::spawn_blocking(move || {
        Python::attach(|py| call(py, function.bind(py)).map_err(|error| error.to_string()))
    });
    called.await.unwrap_or_else(|error| Err(error.to_string()))
}
