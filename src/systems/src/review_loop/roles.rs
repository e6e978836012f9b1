//! Who plays which role: a model, or code of the caller's own.

use std::sync::Arc;

use antiphon_core::{Category, Fault, Message, ToolSpec};
use antiphon_runtime::{Model, Tool};
use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value as Json;

use super::attachment::Attachment;
use super::step::StepName;

/// Who plays which role, and with which tools.
#[derive(Clone)]
pub struct Roles {
    /// Splits the question into steps.
    pub planner: Actor,
    /// Reviews plans, research and answers.
    pub critic: Actor,
    /// Looks things up.
    pub researcher: Actor,
    /// Works out the answer.
    pub expert: Actor,
    /// Puts the answer into its final words.
    pub finalizer: Actor,
    /// The tools of a researcher that is a model.
    pub research_tools: Vec<Arc<dyn Tool>>,
    /// The tools of an expert that is a model.
    pub expert_tools: Vec<Arc<dyn Tool>>,
}

impl Roles {
    /// One model in every role, and no tools.
    pub fn of(model: &Arc<dyn Model>) -> Self {
        let actor = || Actor::model(Arc::clone(model));
        Self {
            planner: actor(),
            critic: actor(),
            researcher: actor(),
            expert: actor(),
            finalizer: actor(),
            research_tools: Vec::new(),
            expert_tools: Vec::new(),
        }
    }

    /// Whoever does a step.
    pub(super) const fn actor(&self, step: StepName) -> &Actor {
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

    /// The tools given to a model that does a step.
    pub(super) fn tools(&self, step: StepName) -> &[Arc<dyn Tool>] {
        match step {
            StepName::Researcher => &self.research_tools,
            StepName::Expert => &self.expert_tools,
            _ => &[],
        }
    }

    /// The tools that whoever does a step can be counted on to have.
    pub(super) fn tool_specs(&self, step: StepName) -> Vec<ToolSpec> {
        match self.actor(step) {
            Actor::Own(role) => role.tools(),
            Actor::Model { .. } => {
                self.tools(step).iter().map(|tool| tool.spec().clone()).collect()
            }
        }
    }

    /// The names of the models, each once.
    pub(super) fn models(&self) -> Vec<String> {
        let actors = [&self.planner, &self.critic, &self.researcher, &self.expert, &self.finalizer];
        let mut names = Vec::new();
        for actor in actors {
            if let Actor::Model { model, .. } = actor
                && !names.iter().any(|name| name == model.name())
            {
                names.push(model.name().to_owned());
            }
        }
        names
    }

    /// Whether every tool has somebody to use it, and a name of its own.
    ///
    /// # Errors
    /// A `Validation` fault `role_tools_invalid`.
    pub(super) fn check(&self) -> Result<(), Fault> {
        for step in [StepName::Researcher, StepName::Expert] {
            let tools = self.tools(step);
            let role = step.as_str();
            if matches!(self.actor(step), Actor::Own(_)) && !tools.is_empty() {
                let message = format!("tools were given to a role that is code of its own: {role}");
                return Err(invalid(message).hint("give the tools to that code instead"));
            }
            for (place, tool) in tools.iter().enumerate() {
                let name = &tool.spec().name;
                if tools.iter().take(place).any(|earlier| earlier.spec().name == *name) {
                    return Err(invalid(format!("two tools of the {role} have one name: {name}")));
                }
            }
        }
        Ok(())
    }
}

/// Who plays a role.
#[derive(Clone)]
pub enum Actor {
    /// A model.
    Model {
        /// The model.
        model: Arc<dyn Model>,
        /// Instructions in place of ours, taken as they are.
        prompt: Option<String>,
    },
    /// Code of the caller's own.
    Own(Arc<dyn Role>),
}

impl Actor {
    /// A model with our instructions.
    pub fn model(model: Arc<dyn Model>) -> Self {
        Self::Model { model, prompt: None }
    }

    /// Code of the caller's own.
    pub fn own(role: impl Role + 'static) -> Self {
        Self::Own(Arc::new(role))
    }
}

/// Code that plays a role in place of a model.
#[async_trait]
pub trait Role: Send + Sync {
    /// The tools it can be counted on to have; the planner is told of them.
    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// Does what the brief says and replies with a value that fits
    /// [`RoleBrief::schema`]. Dropping the future must stop it.
    ///
    /// # Errors
    /// A fault. After `ModelOutput`, `ModelTransport`, `Tool`,
    /// `ToolTransport` and `Timeout` it is asked again, and the error counts;
    /// any other ends the question.
    async fn act(&self, brief: RoleBrief) -> Result<Json, Fault>;
}

/// All that a role gets to know. Texts are data: they may come from the web.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoleBrief {
    /// What is to be done.
    pub step: StepName,
    /// The research step it is about, counted from 0.
    pub step_id: Option<usize>,
    /// How often this was asked for, this time included.
    pub attempt: usize,
    /// What the orchestrator says: an instruction, or a critic's feedback.
    pub instruction: String,
    /// What the orchestrator and the role have said to each other so far,
    /// the instruction last; for a critic the instruction alone.
    pub messages: Vec<Message>,
    /// What is asked.
    pub question: String,
    /// The file that came with it.
    pub file: Option<Attachment>,
    /// The plan's research steps.
    pub research_steps: Vec<String>,
    /// The plan's expert steps.
    pub expert_steps: Vec<String>,
    /// What was found, by research step.
    pub research_results: Vec<Option<String>>,
    /// The tools that were called for the research under review.
    pub tool_calls: Vec<String>,
    /// The expert's answer so far.
    pub expert_answer: String,
    /// How the expert came to it.
    pub expert_reasoning: String,
    /// The schema of the reply.
    pub schema: Json,
}

fn invalid(message: String) -> Fault {
    Fault::new(Category::Validation, "role_tools_invalid", message)
}
