//! Answers a question with code: a model writes Python, the sandbox runs it, errors go back to
//! the model, and the result is put into words, as `docs/systems/computation.md` specifies.
//! Model-written code runs in the sandbox only.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | settings |
//! | [`task`] | the question and its data |
//! | [`state`] | the state of a question |
//! | [`input_table`] | the columns that code reads, and whether the question names them |
//! | [`outcome`] | the output |
//! | [`result_rows`] | whether two results are the same |

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::sandbox::Sandbox;

mod asked_column;
mod code_text;
pub(crate) mod column_name;
pub mod config;
mod conversation;
mod graph;
mod hints;
pub mod input_table;
mod operation_check;
pub mod outcome;
mod question_form;
mod ratio_check;
pub mod reply;
mod result_check;
pub mod result_rows;
pub mod sandbox_output;
mod sandbox_runner;
pub mod state;
pub mod task;
mod value_text;
mod wording;

pub use config::Config;
pub use input_table::InputTable;
pub use outcome::{Answer, ComputationAttempt, RejectedWording};
pub use sandbox_output::SandboxOutput;
pub use sandbox_runner::SandboxRunner;
pub use state::State;
pub use task::Task;

pub(crate) use value_text::said;

use crate::builder::SystemBuilder;
use crate::prompts::PromptSpec;
use crate::resources::SystemResources;
use crate::result::Outcome;
use crate::role::RoleSpec;
use crate::session::Session;
use crate::system::{Conclusion, FinishedRun, System};

/// The computation, for a [`SystemRunner`](crate::SystemRunner).
pub struct Computation {
    config: Config,
    resources: SystemResources,
    sandbox: Arc<dyn Sandbox>,
}

impl System for Computation {
    const NAME: &'static str = "computation";
    const DESCRIPTION: &'static str = "Answers a question with code that a sandbox runs.";
    const ROLES: &'static [RoleSpec] = graph::ROLES;
    const PROMPTS: &'static [PromptSpec] = conversation::PROMPTS;

    type Config = Config;
    type Input = Task;
    type State = State;
    type Output = Answer;
    type RunData = SandboxRunner;

    fn new(config: Config, resources: SystemResources) -> Result<Self, Fault> {
        let sandbox = resources.require_sandbox()?;
        Ok(Self { config, resources, sandbox })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn resources(&self) -> &SystemResources {
        &self.resources
    }

    fn build(&self, graph: &mut SystemBuilder<Self>) -> Result<(), Fault> {
        graph::build(&self.config, graph)
    }

    fn open(&self, task: &Arc<Task>, session: &Session) -> SandboxRunner {
        let host_calls = session.host_calls.clone();
        SandboxRunner::new(Arc::clone(&self.sandbox), Arc::clone(task), host_calls)
    }

    fn completed_outcome(state: &State) -> Outcome {
        if state.no_answer().is_some() {
            Outcome::NoAnswer
        } else if state.has_computed() {
            Outcome::Answered
        } else {
            Outcome::RetryLimit
        }
    }

    fn conclude(&self, finished: &mut FinishedRun<'_, Self>) -> Conclusion<Answer> {
        outcome::conclude(finished)
    }
}
