//! System 1: carries out a task as a plan of stages, whose steps call tools side by side, and has
//! the plan revised when a step fails, as `docs/systems/plan-execute.md` specifies.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | settings |
//! | [`input`] | the task |
//! | [`state`] | the state of a task |
//! | [`plan`] | plans and their steps |
//! | [`repair`] | plans as planners mean them |
//! | [`schedule`] | in which order the steps start |
//! | [`validation`] | what is wrong in a plan, and where |
//! | [`capability`] | the roles and tools that plans can use |
//! | [`key_profile`] | tools with other credentials |
//! | [`mod@reference`] | references to outputs of earlier steps |
//! | [`plan_template`] | plans that need no planner |
//! | [`step_output`], [`record`] | what came of steps and attempts |
//! | [`working_context`] | what is known across all attempts |
//! | [`decide`] | whether a plan that has failed is revised |
//! | [`outcome`] | the output |

use std::sync::Arc;

use antiphon_core::Fault;
use tokio::sync::Semaphore;

mod answer;
mod attempt;
mod begin;
pub mod capability;
mod collect;
pub mod config;
pub mod decide;
mod execute;
mod explore;
mod expression;
mod graph;
pub mod input;
mod invented_number;
pub mod key_profile;
mod model_step;
mod native_tool;
mod operand;
mod operation;
pub mod outcome;
pub mod plan;
mod plan_example;
pub mod plan_template;
mod planning;
mod prompts;
pub mod record;
pub mod reference;
pub mod repair;
mod repeated_step;
pub mod schedule;
pub mod state;
mod step_input;
pub mod step_output;
mod step_request;
mod tool_step;
mod unnamed_subject;
pub mod validation;
pub mod working_context;

pub use capability::{Capabilities, WorkerRole};
pub use config::Config;
pub use input::{ExecutionMode, TaskInput};
pub use key_profile::{ProfileChoice, RoleProfiles};
pub use outcome::TaskOutput;
pub use plan::{PlanSource, PlanStep, StagedPlan};
pub use plan_template::{PlanTemplate, PlanTemplates};
pub use record::{AttemptRecord, ContextEntry};
pub use schedule::ExecutionOrder;
pub use state::{AnswerSource, State, TaskStatus};
pub use step_output::{StepError, StepErrorKind, StepOutput, StepStatus};
pub use validation::{CheckedPlan, PlanViolation};
pub use working_context::CurrentWorkingContext;

use self::key_profile::KeyProfiles;
use crate::builder::SystemBuilder;
use crate::config::invalid;
use crate::prompts::PromptSpec;
use crate::resources::SystemResources;
use crate::result::Outcome;
use crate::role::RoleSpec;
use crate::session::Session;
use crate::sub_task::{RunDispatcher, SubTaskDispatcher, WorkerTools};
use crate::system::{Conclusion, FinishedRun, System};

/// The plan-and-execute system, for a [`SystemRunner`](crate::SystemRunner).
pub struct PlanExecute {
    config: Config,
    resources: SystemResources,
    capabilities: Capabilities,
    key_profiles: KeyProfiles,
    templates: PlanTemplates,
}

/// What a run has beside its state.
pub struct ExecutionRun {
    /// How many calls of tools may still begin.
    permits: Semaphore,
    /// What sends steps of workers to them; none if their tools are called here.
    sub_tasks: Option<RunDispatcher>,
}

impl System for PlanExecute {
    const NAME: &'static str = "plan_execute";
    const DESCRIPTION: &'static str =
        "Carries out a task as a plan of stages, and revises the plan when a step fails.";
    const ROLES: &'static [RoleSpec] = graph::ROLES;
    const PROMPTS: &'static [PromptSpec] = prompts::PROMPTS;
    const CALLS_TOOLS: bool = true;
    const KEPT_FIELDS: &'static [&'static str] = &[State::saved.name()];

    type Config = Config;
    type Input = TaskInput;
    type State = State;
    type Output = TaskOutput;
    type RunData = ExecutionRun;

    fn new(config: Config, resources: SystemResources) -> Result<Self, Fault> {
        for role in graph::ROLES {
            resources.refuse_own_tools(role.name, "its plans call them")?;
        }
        let capabilities = Capabilities::of(&resources.tools, &config.workers)?;
        let key_profiles = KeyProfiles::of(&resources, &config.workers)?;
        let templates = PlanTemplates::new(&config.templates)?;
        let system = Self { config, resources, capabilities, key_profiles, templates };
        system.check_profiles(&system.config.role_profiles).map_err(invalid)?;
        Ok(system)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn resources(&self) -> &SystemResources {
        &self.resources
    }

    fn build(&self, graph: &mut SystemBuilder<Self>) -> Result<(), Fault> {
        graph::build(&self.config, &self.resources.roles, graph)
    }

    fn worker_tools(&self) -> WorkerTools {
        let usual = self.capabilities.worker_tools();
        WorkerTools { usual, profiles: self.key_profiles.worker_tools() }
    }

    fn open(&self, _: &Arc<TaskInput>, _: &Session) -> ExecutionRun {
        let queue = self.resources.queue.as_ref();
        let sub_tasks = queue.map(|queue| SubTaskDispatcher::new(Arc::clone(queue)).open());
        ExecutionRun { permits: Semaphore::new(self.config.stage_concurrency), sub_tasks }
    }

    fn completed_outcome(state: &State) -> Outcome {
        outcome::completed(state)
    }

    fn conclude(&self, finished: &mut FinishedRun<'_, Self>) -> Conclusion<TaskOutput> {
        outcome::conclude(finished)
    }
}
