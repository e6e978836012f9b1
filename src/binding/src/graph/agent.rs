//! Agents in a graph: the engine runs their loop of model and tool calls, and
//! Python says how a conversation begins and what becomes of its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::agent::{AgentResult, AgentSpec, AgentTool};
use antiphon_core::approval::HostVerdict;
use antiphon_core::reply::{ReplyParser, SchemaCompiler};
use antiphon_core::task::{TaskOutcome, ToolInvocation};
use antiphon_core::{Fault, FaultCode, Message, Schema, ToolSpec};
use antiphon_reply::JsonSchemas;
use antiphon_runtime::redact;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::fault::{known, seconds, to_exception};
use crate::graph::call_kind::CallKind;
use crate::graph::model::{Model, reply_of};
use crate::graph::options::Keywords;
use crate::graph::tool::NativeTool;
use crate::graph::tool_gate::policy;
use crate::value::json;
use crate::value::object::Object;

/// What Python keeps for an agent.
#[derive(Debug)]
pub(crate) struct AgentEntry {
    pub(crate) open: Py<PyAny>,
    /// How it is called.
    pub(crate) open_kind: CallKind,
    pub(crate) close: Py<PyAny>,
    pub(crate) model: ModelEntry,
    pub(crate) tools: Vec<ToolEntry>,
}

/// What answers for an agent.
#[derive(Debug)]
pub(crate) enum ModelEntry {
    Native(Py<Model>),
    Callable(Callable),
}

/// A callable, and whether calling it gives a coroutine.
#[derive(Debug)]
pub(crate) struct Callable {
    pub(crate) call: Py<PyAny>,
    pub(crate) asynchronous: bool,
}

/// A tool of an agent.
#[derive(Debug)]
pub(crate) struct ToolEntry {
    pub(crate) name: String,
    pub(crate) body: ToolCallee,
    /// Decides about its calls, if something does at once.
    pub(crate) approve: Option<Callable>,
}

/// What carries out the calls of a tool.
#[derive(Debug)]
pub(crate) enum ToolCallee {
    Native(Py<NativeTool>),
    /// It takes the arguments and a dict about the call.
    Callable(Callable),
}

/// How the value that a call of an agent returned is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentCallKind {
    Open,
    Model,
    Approve,
    Tool,
    Close,
}

pub(crate) const OPTIONS: [&str; 19] = [
    "model",
    "open",
    "open_async",
    "close",
    "tools",
    "handoffs",
    "output",
    "temperature",
    "max_output_tokens",
    "model_timeout",
    "max_reasks",
    "max_tool_calls",
    "max_model_calls",
    "tags",
    "retry",
    "timeout",
    "deferred",
    "limits",
    "view",
];

impl AgentEntry {
    pub(crate) fn read(options: &Keywords<'_, '_>) -> PyResult<(Self, AgentSpec)> {
        let needed = |name: &str| {
            let missing = || PyValueError::new_err(format!("an agent needs the option: {name}"));
            options.get::<Py<PyAny>>(name)?.ok_or_else(missing)
        };
        let (mut tools, mut specs) = (Vec::new(), Vec::new());
        for given in options.get::<Vec<Bound<'_, PyAny>>>("tools")?.unwrap_or_default() {
            let (entry, tool) = tool(&given)?;
            tools.push(entry);
            specs.push(tool);
        }
        let handoffs = options.get::<Vec<Bound<'_, PyDict>>>("handoffs")?.unwrap_or_default();
        let asynchronous = options.get::<bool>("open_async")?;
        let open_kind = asynchronous.map_or(CallKind::Inline, timed);
        let (open, close, model) = (needed("open")?, needed("close")?, needed("model")?);
        let model = Python::attach(|py| model_entry(model.bind(py)))?;
        let defaults = AgentSpec::default();
        let timeout = options.get("model_timeout")?.map(|given| seconds("model_timeout", given));
        let spec = AgentSpec {
            tools: specs,
            handoffs: handoffs.iter().map(tool_spec).collect::<PyResult<_>>()?,
            output: output(options)?,
            temperature: options.get("temperature")?,
            max_output_tokens: options.get("max_output_tokens")?,
            model_timeout: timeout.transpose()?,
            max_reasks: options.get("max_reasks")?.unwrap_or(defaults.max_reasks),
            max_tool_calls: options.get("max_tool_calls")?.unwrap_or(defaults.max_tool_calls),
            max_model_calls: options.get("max_model_calls")?.unwrap_or(defaults.max_model_calls),
            tags: options.get::<BTreeMap<String, String>>("tags")?.unwrap_or_default(),
        };
        Ok((Self { open, open_kind, close, model, tools }, spec))
    }

    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.open)?;
        visit.call(&self.close)?;
        if let ModelEntry::Callable(model) = &self.model {
            visit.call(&model.call)?;
        }
        for tool in &self.tools {
            if let ToolCallee::Callable(callable) = &tool.body {
                visit.call(&callable.call)?;
            }
            tool.approve.iter().try_for_each(|approve| visit.call(&approve.call))?;
        }
        Ok(())
    }
}

impl AgentEntry {
    /// The callable of a tool, unless that is native.
    pub(crate) fn tool(&self, name: &str) -> Option<&Callable> {
        match &self.tools.iter().find(|tool| tool.name == name)?.body {
            ToolCallee::Callable(callable) => Some(callable),
            ToolCallee::Native(_) => None,
        }
    }

    /// A tool, unless it is a callable.
    pub(crate) fn native_tool(&self, name: &str) -> Option<&Py<NativeTool>> {
        match &self.tools.iter().find(|tool| tool.name == name)?.body {
            ToolCallee::Native(tool) => Some(tool),
            ToolCallee::Callable(_) => None,
        }
    }

    pub(crate) fn approve(&self, name: &str) -> Option<&Callable> {
        self.tools.iter().find(|tool| tool.name == name)?.approve.as_ref()
    }
}

impl Callable {
    /// Models and tools wait for the world: nothing of theirs runs where it
    /// would hold the caller up.
    pub(crate) const fn kind(&self) -> CallKind {
        timed(self.asynchronous)
    }
}

const fn timed(asynchronous: bool) -> CallKind {
    if asynchronous { CallKind::TimedCoroutine } else { CallKind::Timed }
}

fn model_entry(model: &Bound<'_, PyAny>) -> PyResult<ModelEntry> {
    if let Ok(model) = model.cast::<Model>() {
        return Ok(ModelEntry::Native(model.clone().unbind()));
    }
    let (call, asynchronous) = model.extract()?;
    Ok(ModelEntry::Callable(Callable { call, asynchronous }))
}

fn output(options: &Keywords<'_, '_>) -> PyResult<Option<Arc<dyn ReplyParser>>> {
    let Some(given) = options.get::<Bound<'_, PyDict>>("output")? else { return Ok(None) };
    let json = json::read(given.as_any())?;
    let parser = JsonSchemas.compile(&Schema::new("answer", json));
    parser.map(Some).map_err(|fault| to_exception(given.py(), &fault))
}

/// A callable as Python gives it, and whether it is async.
type PythonCallable = (Py<PyAny>, bool);

/// A tool as Python gives it: its spec, the native tool or its callable, whether that is async,
/// and what decides about its calls.
fn tool(given: &Bound<'_, PyAny>) -> PyResult<(ToolEntry, AgentTool)> {
    let (spec, call, asynchronous, approve) =
        given.extract::<(Bound<'_, PyDict>, Py<PyAny>, bool, Option<PythonCallable>)>()?;
    let made = tool_spec(&spec)?;
    let name = made.name.clone();
    let arguments = JsonSchemas.compile(&Schema::new(&name, made.parameters.clone()));
    let arguments = arguments.map_err(|fault| to_exception(given.py(), &fault))?;
    let approve = approve.map(|(call, asynchronous)| Callable { call, asynchronous });
    let body = match call.bind(given.py()).cast::<NativeTool>() {
        Ok(native) => ToolCallee::Native(native.clone().unbind()),
        Err(_) => ToolCallee::Callable(Callable { call, asynchronous }),
    };
    let entry = ToolEntry { name, body, approve };
    Ok((entry, AgentTool { spec: made, arguments }))
}

/// A tool's spec as Python writes it, with its time-out in seconds.
pub(crate) fn tool_spec(spec: &Bound<'_, PyDict>) -> PyResult<ToolSpec> {
    let fields = spec.copy()?;
    let timeout = fields.call_method1("pop", ("timeout", spec.py().None()))?;
    let timeout = timeout.extract::<Option<f64>>()?.map(|given| seconds("timeout", given));
    let breaker = fields.call_method1("pop", ("breaker", spec.py().None()))?;
    let breaker = breaker.extract::<Option<Bound<'_, PyDict>>>()?.map(|given| {
        let item = |name: &str| given.as_any().get_item(name);
        policy((item("failures")?.extract()?, item("cooldown")?.extract()?))
    });
    let (timeout, breaker) = (timeout.transpose()?, breaker.transpose()?);
    Ok(ToolSpec { timeout, breaker, ..json::read(&fields)? })
}

/// What a tool receives about the call besides its arguments.
pub(crate) fn about<'py>(
    py: Python<'py>,
    invocation: &ToolInvocation,
) -> PyResult<Bound<'py, PyDict>> {
    let about = PyDict::new(py);
    about.set_item("name", &invocation.call.name)?;
    about.set_item("call_id", &invocation.call.id)?;
    about.set_item("idempotency_key", &invocation.idempotency_key)?;
    Ok(about)
}

/// The result of an agent, as the dict that its `close` takes.
pub(crate) fn result_dict<'py>(
    py: Python<'py>,
    result: &AgentResult,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "text"), &result.text)?;
    dict.set_item(intern!(py, "value"), pythonize::pythonize(py, &result.value)?)?;
    dict.set_item(intern!(py, "finish"), pythonize::pythonize(py, &result.finish)?)?;
    dict.set_item(intern!(py, "handoff"), &result.handoff)?;
    dict.set_item(intern!(py, "messages"), pythonize::pythonize(py, &result.messages)?)?;
    Ok(dict)
}

/// Reads what a callable of an agent returned.
pub(crate) fn outcome(
    kind: AgentCallKind,
    value: &Bound<'_, PyAny>,
) -> PyResult<TaskOutcome<Object>> {
    match kind {
        AgentCallKind::Open => {
            let messages: Vec<Message> = json::read(value)?;
            Ok(TaskOutcome::Opened(messages))
        }
        AgentCallKind::Model => Ok(TaskOutcome::Replied(Box::new(reply_of(value)?))),
        AgentCallKind::Approve => Ok(TaskOutcome::Decided(decision(value)?)),
        AgentCallKind::Tool | AgentCallKind::Close => {
            Ok(TaskOutcome::Returned(redact::clean_outcome(Ok(json::read(value)?))))
        }
    }
}

/// What a callable that approves of calls has decided: true, or why not.
pub(crate) fn decision(value: &Bound<'_, PyAny>) -> PyResult<HostVerdict> {
    match value.extract::<bool>() {
        Ok(true) => Ok(HostVerdict::Approve),
        Ok(false) => Ok(HostVerdict::Refuse(None)),
        Err(_) => Ok(HostVerdict::Refuse(Some(value.extract()?))),
    }
}

/// A tool's exception is an answer that the model gets to read.
pub(crate) fn tool_failed(py: Python<'_>, error: &PyErr) -> TaskOutcome<Object> {
    let value = error.value(py);
    let kind = value.get_type().name().map_or_else(|_| "Exception".into(), |name| name.to_string());
    let message = format!("{kind}: {value}");
    // Our own exceptions keep their code, which the trace shows.
    let fault = match known(value) {
        Some((category, code)) => Fault::foreign(category, &code, message),
        None => Fault::new(FaultCode::ToolFailed, message),
    };
    TaskOutcome::Returned(redact::clean_outcome(Err(fault.with("type", kind))))
}
