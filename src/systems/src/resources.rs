//! What a system is assembled from beside its settings: models, agents, tools, prompts and a
//! sandbox, each behind its port.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::sandbox::Sandbox;
use antiphon_runtime::{Model, Queue, Tool, ToolRegistry};

use crate::prompts::Prompts;
use crate::role::{RoleImplementation, RoleModel, Roles, check_tool_names};
use crate::system::System;

/// Collects the resources that a caller gives to a system.
///
/// ```
/// use std::sync::Arc;
/// use antiphon_models::ScriptedModel;
/// use antiphon_systems::{SystemResourcesBuilder, RoleImplementation};
/// let resources = SystemResourcesBuilder::new()
///     .model(Arc::new(ScriptedModel::new(["yes"])))
///     .role("critic", RoleImplementation::model(Arc::new(ScriptedModel::new(["no"]))))
///     .prompt("critic_expert", "Approve what is right.");
/// ```
#[derive(Clone, Default)]
pub struct SystemResourcesBuilder {
    model: Option<RoleModel>,
    roles: BTreeMap<String, RoleImplementation>,
    tools: BTreeMap<String, Vec<Arc<dyn Tool>>>,
    registries: Vec<Arc<dyn ToolRegistry>>,
    prompts: BTreeMap<String, String>,
    sandbox: Option<Arc<dyn Sandbox>>,
    queue: Option<Arc<dyn Queue>>,
    key_profiles: BTreeMap<String, Vec<Arc<dyn Tool>>>,
}

impl SystemResourcesBuilder {
    /// No resources.
    pub fn new() -> Self {
        Self::default()
    }

    /// The model of every role without an implementation.
    #[must_use]
    pub fn model(self, model: Arc<dyn Model>) -> Self {
        let shared = RoleModel { is_shared: true, ..RoleModel::new(model) };
        Self { model: Some(shared), ..self }
    }

    /// The implementation of one role.
    #[must_use]
    pub fn role(mut self, name: &str, implementation: impl Into<RoleImplementation>) -> Self {
        self.roles.insert(name.to_owned(), implementation.into());
        self
    }

    /// The tools of one role, or those of the system itself under its own name.
    #[must_use]
    pub fn tools(mut self, name: &str, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.insert(name.to_owned(), tools.into_iter().collect());
        self
    }

    /// Where the system finds further tools while it runs.
    #[must_use]
    pub fn registry(mut self, registry: Arc<dyn ToolRegistry>) -> Self {
        self.registries.push(registry);
        self
    }

    /// A text in place of a prompt, see [`Prompts::resolve`].
    #[must_use]
    pub fn prompt(mut self, name: &str, text: impl Into<String>) -> Self {
        self.prompts.insert(name.to_owned(), text.into());
        self
    }

    /// Where code that a model writes is run.
    #[must_use]
    pub fn sandbox(self, sandbox: Arc<dyn Sandbox>) -> Self {
        Self { sandbox: Some(sandbox), ..self }
    }

    /// Over which the system sends its sub-tasks; without one it calls their tools itself.
    #[must_use]
    pub fn queue(self, queue: Arc<dyn Queue>) -> Self {
        Self { queue: Some(queue), ..self }
    }

    /// Tools of the system with other credentials, in place of those of the same name for roles
    /// that work with this profile.
    #[must_use]
    pub fn key_profile(
        mut self,
        name: &str,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Self {
        self.key_profiles.insert(name.to_owned(), tools.into_iter().collect());
        self
    }

    /// Checks the resources against the roles and prompts of a system.
    ///
    /// # Errors
    /// As [`Roles`] and [`Prompts`] find; `role_tools_invalid` for two tools of the system with
    /// the same name, and for a registry of tools that the system does not call.
    pub(crate) fn resolve<S: System>(mut self) -> Result<SystemResources, Fault> {
        let tools = if S::CALLS_TOOLS { self.tools.remove(S::NAME) } else { None };
        let tools = tools.unwrap_or_default();
        check_tool_names(S::NAME, &tools)?;
        if let Some(registry) = self.registries.first().filter(|_| !S::CALLS_TOOLS) {
            let message = format!("the system calls no tools of a registry: {}", registry.name());
            return Err(Fault::new(FaultCode::RoleToolsInvalid, message));
        }
        Ok(SystemResources {
            roles: Roles::resolve(S::ROLES, self.model.as_ref(), self.roles, self.tools)?,
            prompts: Prompts::resolve(S::PROMPTS, self.prompts)?,
            tools,
            registries: self.registries,
            sandbox: self.sandbox,
            queue: self.queue,
            key_profiles: self.key_profiles,
        })
    }
}

/// The resources of a system, checked.
#[derive(Clone)]
pub struct SystemResources {
    /// The implementations of the roles.
    pub roles: Roles,
    /// The prompts.
    pub prompts: Prompts,
    /// The tools that the system itself calls.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Where it finds further tools while it runs.
    pub registries: Vec<Arc<dyn ToolRegistry>>,
    /// Where code that a model writes is run.
    pub sandbox: Option<Arc<dyn Sandbox>>,
    /// Over which it sends sub-tasks.
    pub queue: Option<Arc<dyn Queue>>,
    /// Its tools with other credentials, by the name of these.
    pub key_profiles: BTreeMap<String, Vec<Arc<dyn Tool>>>,
}

impl SystemResources {
    /// The sandbox, for a system that cannot do without.
    ///
    /// # Errors
    /// A `Validation` fault `sandbox_missing`.
    pub fn require_sandbox(&self) -> Result<Arc<dyn Sandbox>, Fault> {
        self.sandbox.clone().ok_or_else(|| {
            let message = "the system runs code but has no sandbox";
            Fault::new(FaultCode::SandboxMissing, message)
        })
    }

    /// Whether a role is no agent with tools of its own: the system's plan calls the tools.
    ///
    /// # Errors
    /// A `Validation` fault `role_tools_invalid`.
    pub(crate) fn refuse_own_tools(&self, role: &str, callers: &str) -> Result<(), Fault> {
        let RoleImplementation::Model(model) = self.roles.implementation(role)? else {
            return Ok(());
        };
        if model.tools.as_ref().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        let message = format!("an agent with tools makes more than one request as the {role}");
        Err(Fault::new(FaultCode::RoleToolsInvalid, message)
            .with("role", role)
            .hint(format!("give the tools to the system: {callers}")))
    }

    /// Whether a role is no agent that is tried again: the system makes one request for it.
    ///
    /// # Errors
    /// A `Validation` fault `role_invalid`.
    pub(crate) fn refuse_own_attempts(&self, role: &str) -> Result<(), Fault> {
        let policy = match self.roles.implementation(role)? {
            RoleImplementation::Model(model) => model.policy.clone(),
            RoleImplementation::Code(code) => code.policy(),
        };
        if policy.retry.is_none_or(|retry| retry.max_attempts <= 1) && !policy.host_retries {
            return Ok(());
        }
        let message = format!("an agent with `retry` makes more than one request as the {role}");
        let hint = "leave `retry` out; the transport of a model is tried again by itself, as often \
                    as its `max_attempts` says";
        Err(Fault::new(FaultCode::RoleInvalid, message).with("role", role).hint(hint))
    }

    /// The instructions of a role: a prompt with its fields filled, after those that an agent
    /// brings along, so that the form of the reply has the last word.
    ///
    /// # Errors
    /// As [`Prompts::fill`].
    pub fn instructions(
        &self,
        role: &str,
        prompt: &str,
        values: &[(&str, &str)],
    ) -> Result<String, Fault> {
        let filled = self.prompts.fill(prompt, self.roles.tier(role), values)?;
        Ok(match self.roles.implementation(role)? {
            RoleImplementation::Model(model) => match &model.instructions {
                Some(own) => format!("{own}\n\n{filled}"),
                None => filled,
            },
            RoleImplementation::Code(_) => filled,
        })
    }
}
