//! Models as Python holds them: opened by name, or scripted for tests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{ContentPart, FinishReason, ModelReply, ModelRequest, ToolCall, Usage};
use antiphon_models::{
    Fallback, ModelSettings, RecordingModel, ReplayModel, ScriptBranch, ScriptedModel,
};
use antiphon_runtime::{CallContext, Model as Port, SystemClock, redact};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;

use crate::driver::seeds;
use crate::driver::wait::{awaitable_result, block_on_native};
use crate::fault::to_exception;
use crate::graph::script;
use crate::value::json;

/// A language model.
#[pyclass(module = "antiphon._antiphon", frozen)]
pub(crate) struct Model {
    pub(crate) port: Arc<dyn Port>,
    scripted: Option<Arc<ScriptedModel>>,
}

#[pymethods]
impl Model {
    /// Opens a model by its name, for instance `openai:gpt-5-mini`. No request is sent yet. Keys
    /// and addresses that are not among its `settings` come from `env`.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        name: &str,
        env: BTreeMap<String, String>,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let settings = serde_json::from_value::<ModelSettings>(json::read(settings)?);
        let settings = settings.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let port = antiphon_models::open(name, &settings, &|key| env.get(key).cloned());
        let port = port.map_err(|fault| to_exception(py, &fault))?;
        Ok(Self { port, scripted: None })
    }

    /// A model with prepared replies: texts, or dicts with `text`, `json`, `tool_calls`, `finish`,
    /// `usage`, `delay` or `fault`. `branches` gives separate replies to requests with a tag: its
    /// key, its value and the replies. `antiphon.models.scripted` takes more kinds of replies.
    ///
    /// Raises a `ValidationError` with the code `script_invalid` for a reply of another kind.
    #[staticmethod]
    #[pyo3(signature = (replies, *, name=None, branches=Vec::new()))]
    fn scripted(
        replies: &Bound<'_, PyAny>,
        name: Option<String>,
        branches: Vec<(String, String, Bound<'_, PyAny>)>,
    ) -> PyResult<Self> {
        let mut model = ScriptedModel::new(script::read(replies)?);
        if let Some(name) = name {
            model = model.named(name);
        }
        for (key, value, replies) in branches {
            model = model.branch(ScriptBranch::tag(key, value).replies(script::read(&replies)?));
        }
        let model = Arc::new(model);
        Ok(Self { port: Arc::<ScriptedModel>::clone(&model), scripted: Some(model) })
    }

    /// The first of `models` that is available replies.
    #[staticmethod]
    fn fallback(models: Vec<Bound<'_, Self>>) -> PyResult<Self> {
        let mut ports = models.iter().map(|model| Arc::clone(&model.get().port));
        let nothing = || PyValueError::new_err("a fallback needs at least one model");
        let first = ports.next().ok_or_else(nothing)?;
        Ok(Self { port: Arc::new(Fallback::new(first, ports)), scripted: None })
    }

    /// This model, with its requests and replies recorded in a new file.
    fn record(&self, py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let port = py.detach(|| RecordingModel::create(Arc::clone(&self.port), &path));
        let port = port.map_err(|fault| to_exception(py, &fault))?;
        Ok(Self { port: Arc::new(port), scripted: None })
    }

    /// A model that repeats the replies of a recording.
    #[staticmethod]
    fn replay(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let port = py.detach(|| ReplayModel::open(&path));
        let port = port.map_err(|fault| to_exception(py, &fault))?;
        Ok(Self { port: Arc::new(port), scripted: None })
    }

    /// The name in traces.
    #[getter]
    fn name(&self) -> &str {
        self.port.name()
    }

    /// The requests that a scripted model has received, as dicts.
    #[getter]
    fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let model = self.scripted.as_ref();
        let model = model
            .ok_or_else(|| PyTypeError::new_err("only a scripted model keeps its requests"))?;
        Ok(pythonize::pythonize(py, &model.requests())?)
    }

    /// Sends a request and waits for the reply. `request` has `messages` and, optionally, `tools`,
    /// `schema`, `temperature`, `max_output_tokens` and `tags`.
    fn call<'py>(
        &self,
        py: Python<'py>,
        request: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request: ModelRequest = json::read(request)?;
        let port = Arc::clone(&self.port);
        let asked = async move { port.call(&request, &call_alone()).await };
        let reply = block_on_native(py, asked)?;
        let reply = reply.map_err(|fault| to_exception(py, &fault))?;
        Ok(pythonize::pythonize(py, &reply)?)
    }

    /// `call` on the caller's event loop.
    fn acall<'py>(
        &self,
        py: Python<'py>,
        request: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request: ModelRequest = json::read(request)?;
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
/// server rejects at the same time are not retried at the same time.
fn call_alone() -> CallContext {
    let seed = seeds::draw(None);
    CallContext { seed, ..CallContext::new(Arc::new(SystemClock::new())) }
}

/// What a callable that stands for a model returned.
#[derive(Deserialize)]
struct CallableReply {
    text: String,
    #[serde(default)]
    media: Vec<ContentPart>,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
    finish: Option<FinishReason>,
    #[serde(default)]
    usage: Usage,
    model: Option<String>,
}

/// The reply of a callable: a dict with `text`, and perhaps `media`, `tool_calls`, `finish`, `usage`
/// and `model`.
pub(crate) fn reply_of(value: &Bound<'_, PyAny>) -> PyResult<ModelReply> {
    let reply: CallableReply = json::read(value)?;
    let stopped =
        if reply.tool_calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    let mut reply = ModelReply {
        text: reply.text,
        media: reply.media,
        tool_calls: reply.tool_calls,
        finish: reply.finish.unwrap_or(stopped),
        usage: reply.usage,
        model: reply.model.unwrap_or_else(|| "callable".to_owned()),
        attempts: 1,
        latency: Duration::ZERO,
        provider_content: None,
    };
    redact::clean_reply(&mut reply);
    Ok(reply)
}
