//! The implementation of each role: a model, or code of the caller.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::graph::NodePolicy;
use antiphon_core::task::Failure;
use antiphon_core::{Fault, FaultCode, ToolSpec};
use antiphon_runtime::{Model, Tool};
use async_trait::async_trait;
use serde_json::Value as Json;

use super::brief::{RoleBrief, RoleContext};
use super::step::StepName;

/// A step of each role.
pub(super) const STEPS: [StepName; 5] = [
    StepName::Planner,
    StepName::CriticPlanner,
    StepName::Researcher,
    StepName::Expert,
    StepName::Finalizer,
];

/// The implementation of each role, and its tools.
#[derive(Clone)]
pub struct Roles {
    /// Splits the question into steps.
    pub planner: RoleImplementation,
    /// Reviews plans, research and answers.
    pub critic: RoleImplementation,
    /// Looks things up.
    pub researcher: RoleImplementation,
    /// Works out the answer.
    pub expert: RoleImplementation,
    /// Puts the answer into its final words.
    pub finalizer: RoleImplementation,
    /// The tools of a researcher that is a model.
    pub research_tools: Vec<Arc<dyn Tool>>,
    /// The tools of an expert that is a model.
    pub expert_tools: Vec<Arc<dyn Tool>>,
}

impl Roles {
    /// One model in every role, and no tools.
    pub fn of(model: &Arc<dyn Model>) -> Self {
        let implementation = || RoleImplementation::model(Arc::clone(model));
        Self {
            planner: implementation(),
            critic: implementation(),
            researcher: implementation(),
            expert: implementation(),
            finalizer: implementation(),
            research_tools: Vec::new(),
            expert_tools: Vec::new(),
        }
    }

    /// Whoever does a step.
    pub(super) const fn implementation(&self, step: StepName) -> &RoleImplementation {
        match step {
            StepName::Input | StepName::Planner => &self.planner,
            StepName::CriticPlanner | StepName::CriticResearcher | StepName::CriticExpert => {
                &self.critic
            }
            StepName::Researcher => &self.researcher,
            StepName::Expert => &self.expert,
            StepName::Finalizer => &self.finalizer,
        }
    }

    /// The tools given to a model that does a step: its own, else the role's.
    pub(super) fn tools(&self, step: StepName) -> &[Arc<dyn Tool>] {
        let own = match self.implementation(step) {
            RoleImplementation::Model(role_model) => role_model.tools.as_deref(),
            RoleImplementation::Own(_) => None,
        };
        own.unwrap_or_else(|| self.tools_of_role(step))
    }

    fn tools_of_role(&self, step: StepName) -> &[Arc<dyn Tool>] {
        match step {
            StepName::Researcher => &self.research_tools,
            StepName::Expert => &self.expert_tools,
            _ => &[],
        }
    }

    /// The first role that has a tool which somebody has in a step: one that
    /// several share has one owner.
    pub(super) fn owner(&self, step: StepName, tool: &Arc<dyn Tool>) -> &'static str {
        let shared = |step: &StepName| self.tools(*step).iter().any(|own| Arc::ptr_eq(own, tool));
        super::graph::node_of(STEPS.into_iter().find(shared).unwrap_or(step))
    }

    /// The tools that whoever does a step can be counted on to have.
    pub(super) fn tool_specs(&self, step: StepName) -> Vec<ToolSpec> {
        match self.implementation(step) {
            RoleImplementation::Own(role) => role.tools(),
            RoleImplementation::Model(_) => {
                self.tools(step).iter().map(|tool| tool.spec().clone()).collect()
            }
        }
    }

    /// Whether the researcher may find what the expert does not know anyway: by
    /// a tool, by instructions of its own, as another model, or as code.
    pub(super) fn can_look_up(&self) -> bool {
        match (&self.researcher, &self.expert) {
            (RoleImplementation::Model(researcher), RoleImplementation::Model(expert)) => {
                !self.tools(StepName::Researcher).is_empty()
                    || researcher.instructions.is_some()
                    || researcher.model.name() != expert.model.name()
            }
            _ => true,
        }
    }

    /// What a step's node may take, and how often it is tried.
    pub(super) fn policy(&self, step: StepName) -> NodePolicy {
        match self.implementation(step) {
            RoleImplementation::Own(role) => role.policy(),
            RoleImplementation::Model(role_model) => role_model.policy.clone(),
        }
    }

    /// The names of the models, each once.
    pub(super) fn models(&self) -> Vec<String> {
        let actors = [&self.planner, &self.critic, &self.researcher, &self.expert, &self.finalizer];
        let mut names = Vec::new();
        for implementation in actors {
            if let RoleImplementation::Model(role_model) = implementation
                && !names.iter().any(|name| name == role_model.model.name())
            {
                names.push(role_model.model.name().to_owned());
            }
        }
        names
    }

    /// Whether every tool has somebody to use it, and a name of its own.
    ///
    /// # Errors
    /// A `Validation` fault `role_tools_invalid`.
    pub(super) fn check(&self) -> Result<(), Fault> {
        STEPS.into_iter().try_for_each(|step| self.check_tools(step))
    }

    fn check_tools(&self, step: StepName) -> Result<(), Fault> {
        let role = super::graph::node_of(step);
        let brings_own = match self.implementation(step) {
            RoleImplementation::Own(_) => Some("code of its own"),
            RoleImplementation::Model(role_model) => {
                role_model.tools.as_ref().map(|_| "an agent with its own")
            }
        };
        if let Some(kind) = brings_own.filter(|_| !self.tools_of_role(step).is_empty()) {
            let message = format!("tools were given to a role that is {kind}: {role}");
            return Err(invalid(message).hint("give the tools to that code or agent instead"));
        }
        let tools = self.tools(step);
        for (place, tool) in tools.iter().enumerate() {
            let name = &tool.spec().name;
            if tools.iter().take(place).any(|earlier| earlier.spec().name == *name) {
                return Err(invalid(format!("two tools of the {role} have one name: {name}")));
            }
        }
        Ok(())
    }
}

/// The implementation of a role.
#[derive(Clone)]
pub enum RoleImplementation {
    /// A model.
    Model(Box<RoleModel>),
    /// Code of the caller's own.
    Own(Arc<dyn Role>),
}

impl From<RoleModel> for RoleImplementation {
    fn from(role_model: RoleModel) -> Self {
        Self::Model(Box::new(role_model))
    }
}

impl RoleImplementation {
    /// A model with nothing of its own.
    pub fn model(model: Arc<dyn Model>) -> Self {
        RoleModel::new(model).into()
    }

    /// Code of the caller's own.
    pub fn own(role: impl Role + 'static) -> Self {
        Self::Own(Arc::new(role))
    }
}

/// A model for a role, with its own instructions, tools and limits.
#[derive(Clone)]
pub struct RoleModel {
    /// The model.
    pub model: Arc<dyn Model>,
    /// Instructions that come before those of the role. The role's stay: they
    /// say what work is measured by, and what a reply looks like.
    pub instructions: Option<String>,
    /// A schema that says more about the fields of the role's reply.
    pub output: Option<Json>,
    /// Tools in place of those of the role.
    pub tools: Option<Vec<Arc<dyn Tool>>>,
    /// In place of the setting for all roles.
    pub temperature: Option<f64>,
    /// Where each reply is cut off, in tokens.
    pub max_output_tokens: Option<u32>,
    /// Calls of tools per attempt, in place of the role's setting.
    pub max_tool_calls: Option<u32>,
    /// Calls of the model per attempt. By default as many as the calls of
    /// tools and the repeated questions need.
    pub max_turns: Option<u32>,
    /// Time, attempts and costs of one execution; what happens on failure is
    /// the system's to say.
    pub policy: NodePolicy,
    /// Put on every request beside the role's own.
    pub tags: BTreeMap<String, String>,
}

impl RoleModel {
    /// A model with nothing of its own.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            instructions: None,
            output: None,
            tools: None,
            temperature: None,
            max_output_tokens: None,
            max_tool_calls: None,
            max_turns: None,
            policy: NodePolicy::default(),
            tags: BTreeMap::new(),
        }
    }
}

/// A role that is code.
#[async_trait]
pub trait Role: Send + Sync {
    /// The tools it can be counted on to have; the planner is told of them.
    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// Time, attempts and costs of one execution; what happens on failure is
    /// the system's to say.
    fn policy(&self) -> NodePolicy {
        NodePolicy::default()
    }

    /// Does what the brief says and replies with a value that fits
    /// [`RoleBrief::schema`]. Dropping the future must stop it.
    ///
    /// # Errors
    /// A failure. When no attempt of [`Role::policy`] is left, it is asked
    /// again after `ModelOutput`, `ModelTransport`, `Tool`, `ToolTransport`
    /// and `Timeout`, and the error counts; any other ends the question.
    async fn act(&self, brief: RoleBrief, cx: RoleContext) -> Result<Json, Failure>;
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultCode::RoleToolsInvalid, message)
}
