//! Clients of MCP servers.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, settings};
use antiphon_mcp::client::{
    Elicitation, ElicitationAnswer, ElicitationHandler, ElicitationQuestion, McpServices,
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
    /// may ask `sampling`, a model. Raises `tool_setting_invalid`.
    #[new]
    #[pyo3(signature = (settings, *, elicit=None, asks=false, sampling=None))]
    fn new(
        settings: &Bound<'_, PyDict>,
        elicit: Option<Py<PyAny>>,
        asks: bool,
        sampling: Option<Bound<'_, Model>>,
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
            authorization: None,
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
        let call = Python::attach(|py| self.0.clone_ref(py));
        let asked = question.as_json();
        // It may wait for a person, which no thread of the native runtime should.
        let answer = tokio::task::spawn_blocking(move || {
            Python::attach(|py| -> PyResult<Json> {
                let asked = pythonize::pythonize(py, &asked)?;
                json::read(&call.call1(py, (asked,))?.into_bound(py))
            })
        });
        let failed = |cause: String| Fault::new(FaultCode::ApprovalFailed, cause);
        let answer = answer.await.map_err(|error| failed(error.to_string()))?;
        let answer = answer.map_err(|error| failed(format!("`elicit` failed: {error}")))?;
        Ok(ElicitationAnswer::read(&question, &answer))
    }
}
