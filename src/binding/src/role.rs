//! Who plays a role in a system, as Python gives it: a model, or a callable.

use std::sync::Arc;

use antiphon_core::{Category, Fault, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, Tool};
use antiphon_systems::review_loop::{Actor, Role, RoleBrief, Roles};
use async_trait::async_trait;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::agent::tool_spec;
use crate::model::Model;

/// Reads the roles of a review loop.
pub(crate) fn read(roles: &Bound<'_, PyDict>) -> PyResult<Roles> {
    let role = |name: &str| {
        let missing = || PyValueError::new_err(format!("a role is missing: {name}"));
        actor(&roles.get_item(name)?.ok_or_else(missing)?)
    };
    Ok(Roles {
        planner: role("planner")?,
        critic: role("critic")?,
        researcher: role("researcher")?,
        expert: role("expert")?,
        finalizer: role("finalizer")?,
        research_tools: tools(roles, "research_tools")?,
        expert_tools: tools(roles, "expert_tools")?,
    })
}

fn actor(given: &Bound<'_, PyAny>) -> PyResult<Actor> {
    let given = given.cast::<PyDict>()?;
    if let Some(model) = given.get_item("model")? {
        let model = model.cast::<Model>()?;
        let prompt = given.get_item("prompt")?.filter(|prompt| !prompt.is_none());
        let prompt = prompt.map(|prompt| prompt.extract()).transpose()?;
        return Ok(Actor::Model { model: Arc::clone(&model.get().port), prompt });
    }
    let call = given
        .get_item("act")?
        .ok_or_else(|| PyValueError::new_err("a role needs a model or a callable"))?;
    let tools = given.get_item("tools")?.map_or_else(
        || Ok(Vec::new()),
        |tools| {
            tools
                .try_iter()?
                .map(|spec| tool_spec(spec?.cast::<PyDict>()?))
                .collect::<PyResult<Vec<_>>>()
        },
    )?;
    Ok(Actor::own(CallableRole { call: Arc::new(call.unbind()), tools }))
}

fn tools(roles: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<Arc<dyn Tool>>> {
    let Some(given) = roles.get_item(name)? else { return Ok(Vec::new()) };
    let tool = |given: PyResult<Bound<'_, PyAny>>| {
        let (spec, call) = given?.extract::<(Bound<'_, PyDict>, Py<PyAny>)>()?;
        let tool = CallableTool { spec: tool_spec(&spec)?, call: Arc::new(call) };
        Ok(Arc::new(tool) as Arc<dyn Tool>)
    };
    given.try_iter()?.map(tool).collect()
}

/// A callable that plays a role: it gets the brief and returns the reply.
struct CallableRole {
    call: Arc<Py<PyAny>>,
    tools: Vec<ToolSpec>,
}

#[async_trait]
impl Role for CallableRole {
    fn tools(&self) -> Vec<ToolSpec> {
        self.tools.clone()
    }

    async fn act(&self, brief: RoleBrief) -> Result<Json, Fault> {
        let called = call(Arc::clone(&self.call), vec![json_of(&brief)]).await;
        called.map_err(|problem| problem.fault(Category::Internal, "role_failed"))
    }
}

/// A callable as a tool: it gets the arguments and a dict about the call.
struct CallableTool {
    spec: ToolSpec,
    call: Arc<Py<PyAny>>,
}

#[async_trait]
impl Tool for CallableTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let about = json!({"name": self.spec.name, "idempotency_key": cx.idempotency_key});
        let called = call(Arc::clone(&self.call), vec![arguments, about]).await;
        called.map_err(|problem| problem.fault(Category::Tool, "tool_failed"))
    }
}

fn json_of(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or(Json::Null)
}

/// What a callable raised, in words: its object stays with Python.
struct Problem {
    kind: String,
    message: String,
    category: Option<Category>,
    code: Option<String>,
}

impl Problem {
    fn fault(self, category: Category, code: &str) -> Fault {
        let code = self.code.unwrap_or_else(|| code.to_owned());
        let message = format!("{}: {}", self.kind, self.message);
        Fault::new(self.category.unwrap_or(category), code, message).with("type", self.kind)
    }
}

/// Calls Python on a thread that may wait.
async fn call(callable: Arc<Py<PyAny>>, arguments: Vec<Json>) -> Result<Json, Problem> {
    let called = tokio::task::spawn_blocking(move || {
        Python::attach(|py| {
            let made = || {
                let arguments = arguments.iter().map(|given| pythonize::pythonize(py, given));
                let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
                let arguments = pyo3::types::PyTuple::new(py, arguments)?;
                let returned = callable.bind(py).call1(arguments)?;
                Ok(pythonize::depythonize(&returned)?)
            };
            made().map_err(|error: PyErr| problem(py, &error))
        })
    });
    match called.await {
        Ok(result) => result,
        Err(_) => Err(Problem {
            kind: "RuntimeError".to_owned(),
            message: "the thread of the call ended without an answer".to_owned(),
            category: None,
            code: None,
        }),
    }
}

fn problem(py: Python<'_>, error: &PyErr) -> Problem {
    let value = error.value(py);
    let kind = value.get_type().name().map_or_else(|_| "Exception".into(), |name| name.to_string());
    let known = crate::fault::known(value);
    let (category, code) =
        known.map_or((None, None), |(category, code)| (Some(category), Some(code)));
    Problem { kind, message: value.to_string(), category, code }
}
