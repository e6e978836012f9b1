//! Native tools as Python holds them.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::approval::HostVerdict;
use antiphon_core::tool::error_in;
use antiphon_core::{Fault, FaultCode, ToolOutcome};
use antiphon_reply::JsonSchemas;
use antiphon_runtime::{CallContext, CheckedTool, GatedTool, SystemClock, Tool};
use antiphon_tools::sql::{RemoteSqlSettings, RemoteSqlTools};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value as Json};

use crate::driver::seeds;
use crate::driver::wait::{awaitable_result, block_on_native};
use crate::fault::{seconds, to_exception};
use crate::graph::options::Keywords;
use crate::graph::tool_gate::{PyToolGate, notes};
use crate::value::json;

/// A tool whose code is native. Agents and ready systems call it without Python.
#[pyclass(module = "antiphon._antiphon", frozen)]
#[derive(Debug)]
pub(crate) struct NativeTool(CheckedTool);

#[pymethods]
impl NativeTool {
    /// The name that models read.
    #[getter]
    fn name(&self) -> &str {
        &self.tool().spec().name
    }

    /// What it does, as models read it.
    #[getter]
    fn description(&self) -> &str {
        &self.tool().spec().description
    }

    /// The tool as models and the engine see it, as an `antiphon.ToolSpec`.
    #[getter]
    fn spec<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let spec = self.tool().spec();
        let dict = pythonize::pythonize(py, spec)?;
        dict.set_item("timeout", spec.timeout.map(|timeout| timeout.as_secs_f64()))?;
        let breaker = spec.breaker.map(|policy| {
            let breaker = PyDict::new(py);
            breaker.set_item("failures", policy.failures)?;
            breaker.set_item("cooldown", policy.cooldown.as_secs_f64())?;
            PyResult::Ok(breaker)
        });
        dict.set_item("breaker", breaker.transpose()?)?;
        dict.set_item("max_concurrency", spec.max_concurrency)?;
        dict.set_item("cache", spec.cache)?;
        dict.set_item("max_calls", spec.max_calls)?;
        dict.set_item("approval", pythonize::pythonize(py, &spec.approval)?)?;
        Ok(dict)
    }

    /// The same tool behind a gate.
    fn gated(&self, gate: &PyToolGate) -> Self {
        let gated = GatedTool::new(Arc::clone(self.tool()), Arc::clone(gate.gate()));
        Self(self.0.replaced(Arc::new(gated)))
    }

    /// The arguments as the tool gets them: validated, with defaults, and converted where that is
    /// safe. Raises `invalid_value`.
    fn read<'py>(&self, arguments: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = arguments.py();
        let read = self.0.read(&json::read(arguments)?);
        Ok(pythonize::pythonize(py, &read.map_err(|fault| to_exception(py, &fault))?)?)
    }

    /// Calls the tool and waits for its result, a JSON value. Ctrl-C drops the call.
    ///
    /// `options` are `timeout` in seconds, infinite for none (by default that of the tool),
    /// `call_id`, `idempotency_key`, the `answers` to its questions so far, if it can ask, and
    /// `note`, which is called with the name and the data of each event of the call. Raises
    /// `invalid_value`, `tool_timeout`, `question_asked`, or the failure of the tool.
    #[pyo3(signature = (arguments, **options))]
    fn call<'py>(
        &self,
        arguments: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = arguments.py();
        let call = self.begin(arguments, options)?;
        let outcome = block_on_native(py, call)?;
        Ok(pythonize::pythonize(py, &outcome.map_err(|fault| to_exception(py, &fault))?)?)
    }

    /// `call` on the caller's event loop; cancelling its task drops the call.
    #[pyo3(signature = (arguments, **options))]
    fn acall<'py>(
        &self,
        arguments: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = self.begin(arguments, options)?;
        let convert = |py: Python<'_>, value: Json| Ok(pythonize::pythonize(py, &value)?.unbind());
        awaitable_result(arguments.py(), call, convert)
    }

    /// The tool's own decision about a call, if its spec says that the host approves: true, false,
    /// or the reason against it.
    fn approve(&self, py: Python<'_>, arguments: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (tool, arguments) = (Arc::clone(self.tool()), json::read::<Json>(arguments)?);
        let decide = async move { tool.approve(&arguments, &call_alone()).await };
        let verdict = block_on_native(py, decide)?;
        let decided = match verdict.map_err(|fault| to_exception(py, &fault))? {
            HostVerdict::Approve => Json::Bool(true),
            HostVerdict::Refuse(reason) => reason.map_or(Json::Bool(false), Json::String),
        };
        Ok(pythonize::pythonize(py, &decided)?.unbind())
    }

    fn __repr__(&self) -> String {
        format!("NativeTool({:?})", self.name())
    }
}

impl NativeTool {
    /// A tool, with the schema of its arguments compiled.
    pub(crate) fn new(tool: Arc<dyn Tool>) -> Result<Self, Fault> {
        CheckedTool::new(tool, &JsonSchemas).map(Self)
    }

    /// The tool itself.
    pub(crate) const fn tool(&self) -> &Arc<dyn Tool> {
        self.0.tool()
    }

    fn begin(
        &self,
        arguments: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<impl Future<Output = ToolOutcome> + Send + 'static> {
        let (tool, arguments) = (self.0.clone(), json::read::<Json>(arguments)?);
        let options =
            Keywords::new(options, &["timeout", "call_id", "idempotency_key", "answers", "note"])?;
        let timeout = limit(options.get("timeout")?, self.tool().spec().timeout)?;
        let cx = CallContext {
            call_id: options.get("call_id")?,
            idempotency_key: options.get("idempotency_key")?,
            answers: options
                .get::<Bound<'_, PyAny>>("answers")?
                .map(|given| json::read(&given))
                .transpose()?,
            notes: options.get::<Py<PyAny>>("note")?.map(notes),
            ..call_alone()
        };
        Ok(async move { tool.call(&arguments, timeout, &cx).await })
    }
}

/// The time-out that was given in seconds, infinite for none, or else the tool's own.
fn limit(given: Option<f64>, own: Option<Duration>) -> PyResult<Option<Duration>> {
    match given {
        None => Ok(own),
        Some(f64::INFINITY) => Ok(None),
        Some(given) => seconds("timeout", given).map(Some),
    }
}

/// The context of a call outside of any run.
fn call_alone() -> CallContext {
    let seed = seeds::draw(None);
    CallContext { seed, ..CallContext::new(Arc::new(SystemClock::new())) }
}

/// Opens the tools of a family by its name in the registry. Connects to nothing.
///
/// Raises `tool_family_unknown`, or `tool_setting_invalid` with the setting.
#[pyfunction]
pub(crate) fn open_tools(family: &str, settings: &Bound<'_, PyDict>) -> PyResult<Vec<NativeTool>> {
    let py = settings.py();
    let raise = |fault: Fault| to_exception(py, &fault);
    let entry = antiphon_tools::find(family).map_err(raise)?;
    let opened = entry.open(&read_settings(family, settings)?).map_err(raise)?;
    opened.into_iter().map(|tool| NativeTool::new(tool).map_err(raise)).collect()
}

/// The tools `sql` over two tools that describe tables and run queries, such as those of an MCP
/// server. Connects to nothing.
///
/// Raises `tool_setting_invalid` with the setting.
#[pyfunction]
pub(crate) fn remote_sql_tools(
    schema: &NativeTool,
    query: &NativeTool,
    settings: &Bound<'_, PyDict>,
) -> PyResult<Vec<NativeTool>> {
    let py = settings.py();
    let raise = |fault: Fault| to_exception(py, &fault);
    let read = read_settings("sql", settings)?;
    let label = "the tools `sql` of a server";
    let read = antiphon_core::settings::read(&read, label, FaultCode::ToolSettingInvalid);
    let read: RemoteSqlSettings = read.map_err(raise)?;
    let (schema, query) = (Arc::clone(schema.tool()), Arc::clone(query.tool()));
    let opened = RemoteSqlTools::of(schema, query, &read).map_err(raise)?;
    opened.into_iter().map(|tool| NativeTool::new(tool).map_err(raise)).collect()
}

/// The message of a tool's result that says that the call has failed, such as `{"error": "..."}`;
/// none if it is a result.
#[pyfunction]
pub(crate) fn error_in_result(result: &Bound<'_, PyDict>) -> PyResult<Option<String>> {
    Ok(error_in(&json::read(result)?))
}

/// All families of built-in tools, each as a dict with its name, its description, and the JSON
/// Schema of its settings.
#[pyfunction]
pub(crate) fn tool_families(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let family = |entry: &antiphon_tools::ToolEntry| {
        let dict = PyDict::new(py);
        dict.set_item("name", entry.name)?;
        dict.set_item("description", entry.description)?;
        dict.set_item("settings_schema", pythonize::pythonize(py, &entry.settings_schema())?)?;
        Ok(dict)
    };
    antiphon_tools::registry().iter().map(family).collect()
}

/// The settings as JSON; a value that has no JSON form is refused by its name.
fn read_settings(family: &str, given: &Bound<'_, PyDict>) -> PyResult<Json> {
    let mut settings = Map::new();
    for (key, value) in given {
        let key: String = key.extract()?;
        let value = json::read(&value).map_err(|error| {
            if !error.is_instance_of::<PyTypeError>(given.py()) {
                return error;
            }
            let cause = error.value(given.py());
            let message = format!("`{key}` of the tools `{family}` has no JSON form: {cause}");
            to_exception(given.py(), &Fault::new(FaultCode::ToolSettingInvalid, message))
        })?;
        settings.insert(key, value);
    }
    Ok(Json::Object(settings))
}
