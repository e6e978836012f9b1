//! The implementation of a role, as Python gives it: a model with what it
//! brings along, or a callable.

use std::sync::Arc;

use antiphon_runtime::{Model as ModelPort, Tool};
use antiphon_systems::review_loop::{RoleImplementation, RoleModel, Roles};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::graph::agent::tool_spec;
use crate::graph::builder::NodeOptions;
use crate::graph::model::Model;
use crate::graph::options::Keywords;
use crate::system::ported::{CallableModel, CallableRole, CallableTool};

/// What a role may be given with.
const NAMES: [&str; 13] = [
    "act",
    "model",
    "instructions",
    "output",
    "tools",
    "temperature",
    "max_output_tokens",
    "max_tool_calls",
    "max_turns",
    "tags",
    "retry",
    "timeout",
    "limits",
];

/// Reads the roles of a review loop.
pub(crate) fn read(roles: &Bound<'_, PyDict>) -> PyResult<Roles> {
    let role = |name: &str| {
        let missing = || PyValueError::new_err(format!("a role is missing: {name}"));
        actor(roles.get_item(name)?.ok_or_else(missing)?.cast::<PyDict>()?)
    };
    let given = Keywords::open(roles);
    let tools = |name| Ok::<_, PyErr>(tools(&given, name)?.unwrap_or_default());
    let research_tools = tools("research_tools")?;
    // What was given to both is one and the same.
    let shared = roles.get_item("research_tools")?.zip(roles.get_item("expert_tools")?);
    let expert_tools = match shared {
        Some((one, other)) if one.is(&other) => research_tools.clone(),
        _ => tools("expert_tools")?,
    };
    Ok(Roles {
        planner: role("planner")?,
        critic: role("critic")?,
        researcher: role("researcher")?,
        expert: role("expert")?,
        finalizer: role("finalizer")?,
        research_tools,
        expert_tools,
    })
}

fn actor(given: &Bound<'_, PyDict>) -> PyResult<RoleImplementation> {
    let fields = Keywords::new(Some(given), &NAMES)?;
    let options = NodeOptions::of(Keywords::open(given));
    let policy = options.policy()?;
    if let Some(call) = fields.get::<Py<PyAny>>("act")? {
        let specs = fields.get::<Vec<Bound<'_, PyDict>>>("tools")?.unwrap_or_default();
        return Ok(RoleImplementation::own(CallableRole {
            call: Arc::new(call),
            tools: specs.iter().map(tool_spec).collect::<PyResult<_>>()?,
            policy,
            retries: Arc::new(options.retries()?),
        }));
    }
    let nobody = || PyValueError::new_err("a role needs a model or a callable");
    let model = model(&fields.get::<Bound<'_, PyAny>>("model")?.ok_or_else(nobody)?)?;
    let output = fields.get::<Bound<'_, PyAny>>("output")?;
    Ok(RoleImplementation::from(RoleModel {
        model,
        instructions: fields.get("instructions")?,
        output: output.map(|given| pythonize::depythonize(&given)).transpose()?,
        tools: tools(&fields, "tools")?,
        temperature: fields.get("temperature")?,
        max_output_tokens: fields.get("max_output_tokens")?,
        max_tool_calls: fields.get("max_tool_calls")?,
        max_turns: fields.get("max_turns")?,
        policy,
        tags: fields.get("tags")?.unwrap_or_default(),
    }))
}

/// A model, or a callable with the name it goes by.
pub(crate) fn model(given: &Bound<'_, PyAny>) -> PyResult<Arc<dyn ModelPort>> {
    if let Ok(model) = given.cast::<Model>() {
        return Ok(Arc::clone(&model.get().port));
    }
    let (call, name) = given.extract::<(Py<PyAny>, String)>()?;
    Ok(Arc::new(CallableModel { name, call: Arc::new(call) }))
}

fn tools(fields: &Keywords<'_, '_>, name: &str) -> PyResult<Option<Vec<Arc<dyn Tool>>>> {
    let Some(given) = fields.get::<Vec<(Bound<'_, PyDict>, Py<PyAny>, Option<Py<PyAny>>)>>(name)?
    else {
        return Ok(None);
    };
    let tool = |(spec, call, approve): (Bound<'_, PyDict>, Py<PyAny>, Option<Py<PyAny>>)| {
        let (call, approve) = (Arc::new(call), approve.map(Arc::new));
        let tool = CallableTool { spec: tool_spec(&spec)?, call, approve };
        Ok(Arc::new(tool) as Arc<dyn Tool>)
    };
    given.into_iter().map(tool).collect::<PyResult<_>>().map(Some)
}
