//! The roles of a system, and their implementations: a model, or code of the caller.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::graph::NodePolicy;
use antiphon_core::task::Failure;
use antiphon_core::{Fault, FaultCode, Seed, Time, ToolSpec};
use antiphon_runtime::{Clock, Model, NodeCall, TaskReporter, Tool, UserContext};
use async_trait::async_trait;
use serde_json::Value as Json;

use crate::prompts::ModelTier;

/// A role of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleSpec {
    /// The name, which is also the tag `role` of its requests.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub description: &'static str,
    /// Whether the caller can give it tools.
    pub has_tools: bool,
}

/// The implementation of a role.
#[derive(Clone)]
pub enum RoleImplementation {
    /// A model.
    Model(Box<RoleModel>),
    /// Code of the caller.
    Code(Arc<dyn Role>),
}

impl From<RoleModel> for RoleImplementation {
    fn from(role_model: RoleModel) -> Self {
        Self::Model(Box::new(role_model))
    }
}

impl RoleImplementation {
    /// A model without instructions, tools or limits.
    pub fn model(model: Arc<dyn Model>) -> Self {
        RoleModel::new(model).into()
    }

    /// Code of the caller.
    pub fn code(role: impl Role + 'static) -> Self {
        Self::Code(Arc::new(role))
    }
}

/// The temperature of a model in a role.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum TemperatureChoice {
    /// The setting for all roles.
    #[default]
    Shared,
    /// Its own; without one, no temperature is sent.
    Own(Option<f64>),
}

/// A model for a role, with its own instructions, tools and limits.
#[derive(Clone)]
pub struct RoleModel {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The tier whose prompts it reads; by default that of the model's name.
    pub tier: Option<ModelTier>,
    /// Instructions that come before those of the role, which still apply: they
    /// say what work is measured by, and what a reply looks like.
    pub instructions: Option<String>,
    /// A schema that narrows the fields of the role's reply.
    pub output: Option<Json>,
    /// Tools in place of those of the role.
    pub tools: Option<Vec<Arc<dyn Tool>>>,
    /// The temperature of its requests.
    pub temperature: TemperatureChoice,
    /// Where each reply is cut off, in tokens.
    pub max_output_tokens: Option<u32>,
    /// Calls of tools per attempt, in place of the role's setting.
    pub max_tool_calls: Option<u32>,
    /// Calls of the model per attempt. By default as many as the calls of
    /// tools and the repeated questions need.
    pub max_model_calls: Option<u32>,
    /// Time, attempts and costs of one execution; the system decides what follows a failure.
    pub policy: NodePolicy,
    /// Put on every request beside the role's own.
    pub tags: BTreeMap<String, String>,
    /// Whether it is the model of all roles, and was not chosen for this one.
    pub is_shared: bool,
}

impl RoleModel {
    /// A model without instructions, tools or limits.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            tier: None,
            instructions: None,
            output: None,
            tools: None,
            temperature: TemperatureChoice::Shared,
            max_output_tokens: None,
            max_tool_calls: None,
            max_model_calls: None,
            policy: NodePolicy::default(),
            tags: BTreeMap::new(),
            is_shared: false,
        }
    }
}

/// A role that is code.
#[async_trait]
pub trait Role: Send + Sync {
    /// The tools it can be counted on to have; other roles plan with them.
    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// Time, attempts and costs of one execution; the system decides what follows a failure.
    fn policy(&self) -> NodePolicy {
        NodePolicy::default()
    }

    /// Does what the brief says, and replies with a value that fits its `schema`. Dropping the
    /// future must stop it. The system's specification lists the fields of the brief.
    ///
    /// # Errors
    /// A failure. The system decides what follows once no attempt of [`Role::policy`] is left.
    async fn act(&self, brief: Json, cx: RoleContext) -> Result<Json, Failure>;
}

/// The way from the code of a role back to its question.
#[derive(Clone)]
pub struct RoleContext {
    /// Names the run in its events.
    pub run_id: Arc<str>,
    /// The names of the nodes that lead to the role, its own last.
    pub path: Vec<Arc<str>>,
    /// 1 for the first attempt at this execution.
    pub attempt: u32,
    /// When the attempt will be given up.
    pub deadline: Option<Time>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// The same for all attempts of one execution, and for no other.
    pub seed: Seed,
    /// Whether somebody watches the chunks of replies.
    pub watched: bool,
    /// Events, calls to be admitted, and their costs.
    pub notes: TaskReporter,
    /// What the caller sent along.
    pub user_context: Option<UserContext>,
}

impl RoleContext {
    pub(crate) fn new(
        call: &NodeCall,
        run_id: &Arc<str>,
        user_context: Option<&UserContext>,
    ) -> Self {
        Self {
            run_id: Arc::clone(run_id),
            path: call.path.clone(),
            attempt: call.attempt,
            deadline: call.deadline,
            clock: Arc::clone(&call.cx.clock),
            seed: call.cx.seed,
            watched: call.cx.chunks.is_some(),
            notes: call.reporter.clone(),
            user_context: user_context.cloned(),
        }
    }
}

/// The implementations of all roles of a system, and their tools.
#[derive(Clone)]
pub struct Roles {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    spec: &'static RoleSpec,
    implementation: RoleImplementation,
    /// Those that were given to the role, and not by an agent.
    tools: Vec<Arc<dyn Tool>>,
}

impl Roles {
    /// Finds an implementation for each role: its own, else the model of all roles.
    ///
    /// # Errors
    /// A `Validation` fault: `role_unknown` for a name that the system does not have,
    /// `role_missing` for a role without an implementation, `role_tools_invalid` for tools that
    /// the role does not use, or of the same name.
    pub(crate) fn resolve(
        specs: &'static [RoleSpec],
        model: Option<&RoleModel>,
        mut given: BTreeMap<String, RoleImplementation>,
        mut tools: BTreeMap<String, Vec<Arc<dyn Tool>>>,
    ) -> Result<Self, Fault> {
        let mut entries = Vec::new();
        for spec in specs {
            let own = given.remove(spec.name);
            let own = own.or_else(|| model.cloned().map(RoleImplementation::from));
            let implementation = own.ok_or_else(|| missing(spec.name))?;
            let tools = if spec.has_tools { tools.remove(spec.name) } else { None };
            entries.push(Entry { spec, implementation, tools: tools.unwrap_or_default() });
        }
        let unknown = given.into_keys().chain(tools.into_keys()).next();
        if let Some(name) = unknown {
            return Err(unknown_role(specs, &name));
        }
        let roles = Self { entries };
        roles.entries.iter().try_for_each(check_tools)?;
        Ok(roles)
    }

    /// The implementation of a role.
    ///
    /// # Errors
    /// An `Internal` fault `role_missing` if the system has no such role.
    pub fn implementation(&self, role: &str) -> Result<&RoleImplementation, Fault> {
        self.entry(role).map(|entry| &entry.implementation).ok_or_else(|| missing(role))
    }

    /// The tools that a model has in a role: its own, else the role's.
    pub fn tools(&self, role: &str) -> &[Arc<dyn Tool>] {
        self.entry(role).map_or(&[], Entry::tools_of_model)
    }

    /// The tools that a role can be counted on to have.
    pub fn tool_specs(&self, role: &str) -> Vec<ToolSpec> {
        match self.entry(role) {
            Some(Entry { implementation: RoleImplementation::Code(code), .. }) => code.tools(),
            Some(entry) => entry.tools_of_model().iter().map(|tool| tool.spec().clone()).collect(),
            None => Vec::new(),
        }
    }

    /// The first role that has a tool of this one: a tool that several share has one owner.
    pub(crate) fn owner<'r>(&'r self, role: &'r str, tool: &Arc<dyn Tool>) -> &'r str {
        let has = |entry: &&Entry| entry.tools_of_model().iter().any(|own| Arc::ptr_eq(own, tool));
        self.entries.iter().find(has).map_or(role, |entry| entry.spec.name)
    }

    /// Whether nobody has chosen an implementation for the role: it has the model of all roles.
    pub fn is_shared(&self, role: &str) -> bool {
        let implementation = self.entry(role).map(|entry| &entry.implementation);
        matches!(implementation, Some(RoleImplementation::Model(model)) if model.is_shared)
    }

    /// Whether a role is a small model that nobody has chosen for it.
    pub fn is_small_and_shared(&self, role: &str) -> bool {
        self.is_shared(role) && self.tier(role) == ModelTier::Small
    }

    /// The tier whose prompts a role reads.
    pub fn tier(&self, role: &str) -> ModelTier {
        match self.entry(role).map(|entry| &entry.implementation) {
            Some(RoleImplementation::Model(model)) => {
                model.tier.unwrap_or_else(|| ModelTier::of(model.model.name()))
            }
            _ => ModelTier::default(),
        }
    }

    /// The names of the models that may answer, each once, in the order of the roles.
    pub fn models(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for entry in &self.entries {
            let RoleImplementation::Model(model) = &entry.implementation else { continue };
            for name in model.model.names() {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    fn entry(&self, role: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.spec.name == role)
    }
}

impl Entry {
    fn tools_of_model(&self) -> &[Arc<dyn Tool>] {
        match &self.implementation {
            RoleImplementation::Model(model) => model.tools.as_deref().unwrap_or(&self.tools),
            RoleImplementation::Code(_) => &self.tools,
        }
    }
}

/// Whether every tool has a model that uses it, and a unique name.
fn check_tools(entry: &Entry) -> Result<(), Fault> {
    let role = entry.spec.name;
    let brings_own = match &entry.implementation {
        RoleImplementation::Code(_) => Some("implemented in code"),
        RoleImplementation::Model(model) => {
            model.tools.as_ref().map(|_| "an agent with its own tools")
        }
    };
    let invalid = |message| Fault::new(FaultCode::RoleToolsInvalid, message);
    if let Some(kind) = brings_own.filter(|_| !entry.tools.is_empty()) {
        let message = format!("tools were given to a role that is {kind}: {role}");
        return Err(invalid(message).hint("give the tools to that code or agent instead"));
    }
    check_tool_names(role, entry.tools_of_model())
}

/// Whether the tools of a role, or of a system, have different names.
pub(crate) fn check_tool_names(owner: &str, tools: &[Arc<dyn Tool>]) -> Result<(), Fault> {
    for (index, tool) in tools.iter().enumerate() {
        let name = &tool.spec().name;
        if tools.iter().take(index).any(|earlier| earlier.spec().name == *name) {
            let message = format!("two tools of the {owner} have the same name: {name}");
            return Err(Fault::new(FaultCode::RoleToolsInvalid, message));
        }
    }
    Ok(())
}

fn missing(role: &str) -> Fault {
    let message = format!("no model for the role: {role}");
    Fault::new(FaultCode::RoleMissing, message)
        .with("role", role)
        .hint("pass an implementation of the role, or a model for all roles")
}

fn unknown_role(specs: &[RoleSpec], name: &str) -> Fault {
    let known: Vec<_> = specs.iter().map(|spec| spec.name).collect();
    let message = format!("unknown role, or a role without tools: {name}");
    Fault::new(FaultCode::RoleUnknown, message).hint(format!("its roles are {}", known.join(", ")))
}
