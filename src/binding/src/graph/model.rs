//! Models as Python holds them: opened by name, or scripted for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::{Category, Fault, FinishReason, ModelReply, ModelRequest, ToolCall, Usage};
use antiphon_models::{
    Fallback, ModelSettings, ScriptBranch, ScriptedModel, ScriptedReply, Secret,
};
use antiphon_runtime::{CallContext, Model as Port, SystemClock};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::Deserialize;

use crate::driver::chance;
use crate::driver::wait::{awaitable_result, block_on_native};
use crate::fault::{seconds, to_exception};
use crate::graph::options::Keywords;

/// A language model that can be asked, natively.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct Model {
    pub(crate) port: Arc<dyn Port>,
    scripted: Option<Arc<ScriptedModel>>,
}

const SETTINGS: [&str; 8] = [
    "base_url",
    "api_key",
    "timeout",
    "idle_timeout",
    "max_attempts",
    "headers",
    "extra_body",
    "idempotency_header",
];

/// A tag's key and value, and the replies to requests that carry it.
type LaneGiven<'py> = (String, String, Vec<Bound<'py, PyAny>>);

#[pymethods]
impl Model {
    /// Opens a model by its name, for instance `openai:gpt-5-mini`. Nothing is
    /// sent yet. Keys and addresses that are not given come from `env`.
    #[staticmethod]
    #[pyo3(signature = (name, env, **options))]
    fn open(
        py: Python<'_>,
        name: &str,
        env: BTreeMap<String, String>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let settings = settings(&Keywords::new(options, &SETTINGS)?)?;
        let lookup = |key: &str| env.get(key).cloned();
        let port = antiphon_models::open(name, &settings, &lookup);
        let port = port.map_err(|fault| to_exception(py, &fault))?;
        Ok(Self { port, scripted: None })
    }

    /// A model that answers what it is told to. A reply is a text, or a dict
    /// with `text`, `json`, `tool_calls`, `finish`, `usage`, `delay` or
    /// `fault`. `lanes` gives replies to requests with a tag of their own.
    #[staticmethod]
    #[pyo3(signature = (replies, *, name=None, lanes=None))]
    fn scripted(
        replies: Vec<Bound<'_, PyAny>>,
        name: Option<String>,
        lanes: Option<Vec<LaneGiven<'_>>>,
    ) -> PyResult<Self> {
        let mut model = ScriptedModel::new(script(&replies)?);
        if let Some(name) = name {
            model = model.named(name);
        }
        for (key, value, replies) in lanes.unwrap_or_default() {
            model = model.branch(ScriptBranch::tag(key, value).replies(script(&replies)?));
        }
        let model = Arc::new(model);
        Ok(Self { port: Arc::<ScriptedModel>::clone(&model), scripted: Some(model) })
    }

    /// The first of `models` that can be had answers.
    #[staticmethod]
    fn fallback(models: Vec<Bound<'_, Self>>) -> PyResult<Self> {
        let mut ports = models.iter().map(|model| Arc::clone(&model.get().port));
        let nothing = || PyValueError::new_err("a fallback needs at least one model");
        let first = ports.next().ok_or_else(nothing)?;
        Ok(Self { port: Arc::new(Fallback::new(first, ports)), scripted: None })
    }

    /// What traces and people call it.
    #[getter]
    fn name(&self) -> &str {
        self.port.name()
    }

    /// The requests a scripted model has seen, as dicts.
    #[getter]
    fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let model = self.scripted.as_ref();
        let model = model
            .ok_or_else(|| PyTypeError::new_err("only a scripted model keeps its requests"))?;
        Ok(pythonize::pythonize(py, &model.requests())?)
    }

    /// Asks once and waits. `request` holds `messages`, and may hold `tools`,
    /// `schema`, `temperature`, `max_output_tokens` and `tags`.
    fn call<'py>(
        &self,
        py: Python<'py>,
        request: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request: ModelRequest = crate::value::json::read(request)?;
        let port = Arc::clone(&self.port);
        let asked = async move { port.call(&request, &call_alone()).await };
        let reply = block_on_native(py, asked)?;
        let reply = reply.map_err(|fault| to_exception(py, &fault))?;
        Ok(pythonize::pythonize(py, &reply)?)
    }

    /// Asks once, awaited.
    fn acall<'py>(
        &self,
        py: Python<'py>,
        request: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request: ModelRequest = crate::value::json::read(request)?;
        let port = Arc::clone(&self.port);
        let asked = async move { port.call(&request, &call_alone()).await };
        awaitable_result(py, asked, |py, reply| Ok(pythonize::pythonize(py, &reply)?.unbind()))
    }

    fn __repr__(&self) -> String {
        format!("Model({:?})", self.port.name())
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("name", &self.port.name()).finish_non_exhaustive()
    }
}

/// The context of a call outside of any run. Its seed is its own, so that calls which a
/// server turns away at the same time do not come back at the same time.
fn call_alone() -> CallContext {
    let seed = chance::seed(None);
    CallContext { seed, ..CallContext::new(Arc::new(SystemClock::new())) }
}

fn settings(options: &Keywords<'_, '_>) -> PyResult<ModelSettings> {
    let mut settings =
        ModelSettings { base_url: options.get("base_url")?, ..ModelSettings::default() };
    settings.api_key = options.get::<String>("api_key")?.map(Secret::new);
    if let Some(timeout) = options.get("timeout")? {
        settings.timeout = some_time("timeout", timeout)?;
    }
    if let Some(timeout) = options.get("idle_timeout")? {
        settings.idle_timeout = some_time("idle_timeout", timeout)?;
    }
    if let Some(attempts) = options.get("max_attempts")? {
        if attempts == 0 {
            let message = "`max_attempts` takes a whole number of at least 1, found: 0";
            return Err(PyValueError::new_err(message));
        }
        settings.retry.max_attempts = attempts;
    }
    settings.idempotency_header = options.get("idempotency_header")?.unwrap_or(false);
    if let Some(headers) = options.get::<BTreeMap<String, String>>("headers")? {
        settings.headers =
            headers.into_iter().map(|(key, value)| (key, Secret::new(value))).collect();
    }
    if let Some(body) = options.get::<Bound<'_, PyDict>>("extra_body")? {
        settings.extra_body = crate::value::json::read(body.as_any())?;
    }
    Ok(settings)
}

fn some_time(name: &str, given: f64) -> PyResult<std::time::Duration> {
    let time = seconds(name, given)?;
    if time.is_zero() {
        let message = format!("`{name}` takes a number of seconds above zero, found: {given}");
        return Err(PyValueError::new_err(message));
    }
    Ok(time)
}

fn script(replies: &[Bound<'_, PyAny>]) -> PyResult<Vec<ScriptedReply>> {
    replies.iter().map(scripted_reply).collect()
}

/// One scripted reply as Python writes it.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Script {
    text: Option<String>,
    json: Option<serde_json::Value>,
    tool_calls: Vec<ScriptCall>,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    delay: Option<f64>,
    fault: Option<ScriptFault>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptCall {
    name: String,
    #[serde(default)]
    arguments: serde_json::Value,
    id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFault {
    category: Category,
    code: String,
    message: String,
    retry_after: Option<f64>,
}

fn scripted_reply(given: &Bound<'_, PyAny>) -> PyResult<ScriptedReply> {
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(ScriptedReply::text(text.to_string()));
    }
    let script: Script = crate::value::json::read(given)?;
    let mut reply = match (script.fault, script.json, script.tool_calls.is_empty()) {
        (Some(fault), _, _) => {
            let mut made = Fault::foreign(fault.category, &fault.code, fault.message);
            if let Some(delay) = fault.retry_after {
                made = made.retry_after(seconds("retry_after", delay)?);
            }
            ScriptedReply::fault(made)
        }
        (None, Some(value), _) => ScriptedReply::json(&value),
        (None, None, false) => {
            ScriptedReply::raw_calls(script.tool_calls.into_iter().enumerate().map(tool_call))
        }
        (None, None, true) => ScriptedReply::text(script.text.clone().unwrap_or_default()),
    };
    if let Some(text) = script.text {
        reply = reply.saying(text);
    }
    if let Some(finish) = script.finish {
        reply = reply.finish(finish);
    }
    if let Some(usage) = script.usage {
        reply = reply.usage(usage.input_tokens, usage.output_tokens);
    }
    match script.delay {
        Some(delay) => Ok(reply.after(seconds("delay", delay)?)),
        None => Ok(reply),
    }
}

/// Arguments given as a text are what the model wrote, malformed or not.
fn tool_call((index, call): (usize, ScriptCall)) -> ToolCall {
    let arguments = match call.arguments {
        serde_json::Value::String(text) => text,
        serde_json::Value::Null => "{}".to_owned(),
        value => value.to_string(),
    };
    ToolCall {
        id: call.id.unwrap_or_else(|| format!("call_{}", index + 1)),
        name: call.name,
        arguments,
    }
}

/// What a callable that stands for a model returned.
#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    text: String,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
    finish: Option<FinishReason>,
    #[serde(default)]
    usage: Usage,
    model: Option<String>,
}

/// The reply of a callable: a text, or a dict with `text`, `tool_calls`,
/// `finish`, `usage` and `model`.
pub(crate) fn reply_of(value: &Bound<'_, PyAny>) -> PyResult<ModelReply> {
    let said: Said = if let Ok(text) = value.cast::<PyString>() {
        Said {
            text: text.to_string(),
            tool_calls: Vec::new(),
            finish: None,
            usage: Usage::default(),
            model: None,
        }
    } else if value.is_instance_of::<PyDict>() {
        crate::value::json::read(value)?
    } else {
        let message =
            format!("a model returns a text or a dict, found: {}", value.get_type().qualname()?);
        return Err(PyValueError::new_err(message));
    };
    let stopped =
        if said.tool_calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    Ok(ModelReply {
        text: said.text,
        tool_calls: said.tool_calls,
        finish: said.finish.unwrap_or(stopped),
        usage: said.usage,
        model: said.model.unwrap_or_else(|| "callable".to_owned()),
        attempts: 1,
        latency: std::time::Duration::ZERO,
    })
}
