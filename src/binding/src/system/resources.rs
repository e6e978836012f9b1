//! The resources of a system as Python gives them: roles, tools, registries, prompts, a sandbox,
//! a queue and key profiles.

use std::sync::Arc;

use antiphon_core::ToolSpec;
use antiphon_runtime::sandbox::Sandbox;
use antiphon_runtime::{GatedTool, Model as ModelPort, Tool};
use antiphon_systems::{RoleImplementation, RoleModel, SystemResourcesBuilder, TemperatureChoice};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::graph::agent::tool_spec;
use crate::graph::builder::NodeOptions;
use crate::graph::model::Model;
use crate::graph::options::Keywords;
use crate::graph::tool::NativeTool;
use crate::graph::tool_gate::PyToolGate;
use crate::mcp::client::NativeMcpClient;
use crate::sandbox::native_sandbox::NativeSandbox;
use crate::system::callables::{CallableModel, CallableRole, CallableTool, OverriddenTool};
use crate::system::native_queue::NativeQueue;
use crate::system::ported_sandbox::PortedSandbox;

/// What a role may be given with.
const NAMES: [&str; 14] = [
    "act",
    "model",
    "instructions",
    "output",
    "tools",
    "temperature",
    "max_output_tokens",
    "max_tool_calls",
    "max_model_calls",
    "tags",
    "retry",
    "timeout",
    "limits",
    "is_shared",
];

/// The tools of a role.
type Tools = Vec<Arc<dyn Tool>>;

/// Reads the resources of a system.
pub(crate) fn read(given: &Bound<'_, PyDict>) -> PyResult<SystemResourcesBuilder> {
    let fields = Keywords::new(
        Some(given),
        &["roles", "tools", "registries", "prompts", "sandbox", "queue", "key_profiles"],
    )?;
    let mut resources = SystemResourcesBuilder::new();
    for (name, role) in fields.get::<Bound<'_, PyDict>>("roles")?.iter().flatten() {
        resources = resources
            .role(&name.extract::<String>()?, role_implementation(role.cast::<PyDict>()?)?);
    }
    let mut known: Vec<(Bound<'_, PyAny>, Tools)> = Vec::new();
    for (name, list) in fields.get::<Bound<'_, PyDict>>("tools")?.iter().flatten() {
        // A list that several roles were given is one and the same to the tool cache.
        let shared = known.iter().find(|(one, _)| one.is(&list)).map(|(_, tools)| tools.clone());
        let tools = match shared {
            Some(tools) => tools,
            None => tools(&list)?,
        };
        known.push((list, tools.clone()));
        resources = resources.tools(&name.extract::<String>()?, tools);
    }
    for (name, list) in fields.get::<Bound<'_, PyDict>>("key_profiles")?.iter().flatten() {
        resources = resources.key_profile(&name.extract::<String>()?, tools(&list)?);
    }
    for client in fields.get::<Vec<Bound<'_, NativeMcpClient>>>("registries")?.unwrap_or_default() {
        resources = resources.registry(Arc::new(client.get().0.clone()));
    }
    for (name, text) in fields.get::<Bound<'_, PyDict>>("prompts")?.iter().flatten() {
        resources = resources.prompt(&name.extract::<String>()?, text.extract::<String>()?);
    }
    if let Some(queue) = fields.get::<Bound<'_, NativeQueue>>("queue")? {
        resources = resources.queue(Arc::clone(&queue.get().0));
    }
    Ok(match fields.get::<Bound<'_, PyAny>>("sandbox")? {
        Some(engine) => resources.sandbox(sandbox(engine)),
        None => resources,
    })
}

/// An engine in Rust as itself, any other behind the port.
fn sandbox(engine: Bound<'_, PyAny>) -> Arc<dyn Sandbox> {
    match engine.cast::<NativeSandbox>() {
        Ok(native) => native.get().engine(),
        Err(_) => Arc::new(PortedSandbox { engine: engine.unbind() }),
    }
}

fn role_implementation(given: &Bound<'_, PyDict>) -> PyResult<RoleImplementation> {
    let fields = Keywords::new(Some(given), &NAMES)?;
    let options = NodeOptions::of(Keywords::open(given));
    let policy = options.policy()?;
    if let Some(call) = fields.get::<Py<PyAny>>("act")? {
        let specs = fields.get::<Vec<Bound<'_, PyDict>>>("tools")?.unwrap_or_default();
        return Ok(RoleImplementation::code(CallableRole {
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
        tools: fields.get::<Bound<'_, PyAny>>("tools")?.map(|given| tools(&given)).transpose()?,
        tier: None,
        temperature: if given.contains("temperature")? {
            TemperatureChoice::Own(fields.get("temperature")?)
        } else {
            TemperatureChoice::Shared
        },
        max_output_tokens: fields.get("max_output_tokens")?,
        max_tool_calls: fields.get("max_tool_calls")?,
        max_model_calls: fields.get("max_model_calls")?,
        policy,
        tags: fields.get("tags")?.unwrap_or_default(),
        is_shared: fields.get("is_shared")?.unwrap_or_default(),
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

fn tools(given: &Bound<'_, PyAny>) -> PyResult<Tools> {
    let list = given.extract::<Vec<(Bound<'_, PyDict>, Py<PyAny>, Option<Py<PyAny>>)>>()?;
    let tool = |(spec, call, approve): (Bound<'_, PyDict>, Py<PyAny>, Option<Py<PyAny>>)| {
        let (spec, approve) = (tool_spec(&spec)?, approve.map(Arc::new));
        let native = call.bind(given.py()).getattr(intern!(given.py(), "native"))?;
        if let Ok(native) = native.cast::<NativeTool>() {
            return Ok(overridden(native.get(), spec, approve));
        }
        let gate = call.bind(given.py()).getattr(intern!(given.py(), "gate"))?;
        let call = Arc::new(call);
        let tool = Arc::new(CallableTool { spec, call, approve, user_context: None });
        Ok(match gate.cast::<PyToolGate>() {
            Ok(gate) => Arc::new(GatedTool::new(tool, Arc::clone(gate.get().gate()))),
            Err(_) => tool as Arc<dyn Tool>,
        })
    };
    list.into_iter().map(tool).collect()
}

/// A native tool, as it is if nothing about it was changed.
fn overridden(
    native: &NativeTool,
    spec: ToolSpec,
    approve: Option<Arc<Py<PyAny>>>,
) -> Arc<dyn Tool> {
    let tool = Arc::clone(native.tool());
    if approve.is_none() && *tool.spec() == spec {
        return tool;
    }
    Arc::new(OverriddenTool { spec, tool, approve })
}
