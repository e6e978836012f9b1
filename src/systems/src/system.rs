//! What a ready system consists of. All else is shared: [`SystemRunner`](crate::SystemRunner)
//! starts, resumes and concludes it, and the [registry](mod@crate::registry) makes it known by name.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::budget::{BudgetDimension, Limits};
use antiphon_core::{Fault, FaultCode, settings};
use antiphon_runtime::Watcher;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::builder::SystemBuilder;
use crate::node::RunScope;
use crate::prompts::PromptSpec;
use crate::resources::SystemResources;
use crate::result::Outcome;
use crate::role::RoleSpec;
use crate::session::Session;
use crate::state::SystemState;
use crate::sub_task::WorkerTools;

/// A ready system: its settings, input, state and output, its roles and prompts, and the graph
/// that connects them. `docs/guides/write-a-system.md` walks through one.
pub trait System: Sized + Send + Sync + 'static {
    /// The name in the registry, in snake case.
    const NAME: &'static str;
    /// One sentence for an index.
    const DESCRIPTION: &'static str;
    /// The roles that a model, an agent or code can have.
    const ROLES: &'static [RoleSpec];
    /// The prompts that its roles read.
    const PROMPTS: &'static [PromptSpec];
    /// Whether the system itself calls tools, beside those of its roles. They are given under its
    /// name.
    const CALLS_TOOLS: bool = false;
    /// The fields of the state that a new question in the same thread starts with.
    const KEPT_FIELDS: &'static [&'static str] = &[];

    /// The settings.
    type Config: SystemConfig;
    /// What a caller asks.
    type Input: SystemInput;
    /// What is known of a question between two nodes; made by `state!`.
    type State: SystemState;
    /// The part of a result that only this system has.
    type Output: Serialize + JsonSchema + fmt::Debug + Send + 'static;
    /// What one run holds beside its state, such as an open interpreter.
    type RunData: Send + Sync;

    /// Takes over settings and resources that were checked.
    ///
    /// # Errors
    /// A `Validation` fault for resources that do not fit the settings.
    fn new(config: Self::Config, resources: SystemResources) -> Result<Self, Fault>;

    /// The settings.
    fn config(&self) -> &Self::Config;

    /// The implementations of its roles, its prompts and its sandbox.
    fn resources(&self) -> &SystemResources;

    /// Adds nodes, edges and routers.
    ///
    /// # Errors
    /// A fault of a reply schema or of the arguments of a tool.
    fn build(&self, graph: &mut SystemBuilder<Self>) -> Result<(), Fault>;

    /// What its workers do over a queue: their roles, with the tools of each. None if it has none.
    fn worker_tools(&self) -> WorkerTools {
        WorkerTools::default()
    }

    /// How long a new question waits for another one that holds its thread; none if it fails at
    /// once, as one that is resumed does.
    fn thread_busy_timeout(&self) -> Option<Duration> {
        None
    }

    /// Opens what one run holds beside its state. Must not block.
    fn open(&self, input: &Arc<Self::Input>, session: &Session) -> Self::RunData;

    /// What sees the events of a run beside those who watch it from outside.
    fn watcher(run: &Self::RunData) -> Option<Arc<dyn Watcher>> {
        let _ = run;
        None
    }

    /// Whether a state that was stored, or came from elsewhere, holds together.
    ///
    /// # Errors
    /// A `State` fault that names the rule that is broken.
    fn verify(state: &Self::State) -> Result<(), Fault> {
        let _ = state;
        Ok(())
    }

    /// How a question ended whose graph came to its end, by its state.
    fn completed_outcome(state: &Self::State) -> Outcome {
        let _ = state;
        Outcome::Answered
    }

    /// What is told after the last event of a run that a thread keeps: its last commit is durable
    /// by then, or failed with `fault`.
    fn storage_note(state: &Self::State, fault: Option<&Fault>) -> Option<SystemNote> {
        let _ = (state, fault);
        None
    }

    /// Makes the output of a run that has come to rest, however it did. The state that it leaves
    /// becomes that of the result.
    fn conclude(&self, finished: &mut FinishedRun<'_, Self>) -> Conclusion<Self::Output>;
}

/// The settings of a system. Keys that do not exist are errors.
pub trait SystemConfig: Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync {
    /// What messages call the system.
    const LABEL: &'static str;

    /// Whether every value is within its range.
    ///
    /// # Errors
    /// A `Validation` fault `system_setting_invalid` that names the key.
    fn check(&self) -> Result<(), Fault>;

    /// The limits of one question.
    fn limits(&self) -> Limits;

    /// The setting that raises a limit of [`SystemConfig::limits`], for hints.
    fn setting_of(limit: BudgetDimension) -> Option<&'static str> {
        let _ = limit;
        None
    }
}

/// What a caller asks of a system.
pub trait SystemInput: Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync {
    /// Whether a run can start with it.
    ///
    /// # Errors
    /// A `Validation` fault, before anything is called.
    fn check(&self) -> Result<(), Fault>;

    /// Reads an input.
    ///
    /// # Errors
    /// A `Validation` fault `input_invalid`, unless the system has its own code.
    fn read(given: &Json) -> Result<Self, Fault> {
        settings::read(given, "the question", FaultCode::InputInvalid)
    }

    /// Takes bytes that travel beside the input, such as tables, by name.
    ///
    /// # Errors
    /// A `Validation` fault `input_invalid`, unless the system takes any.
    fn attach(&mut self, attachments: Vec<(String, Vec<u8>)>) -> Result<(), Fault> {
        let Some((name, _)) = attachments.first() else { return Ok(()) };
        let message = format!("the system does not accept attachments: {name}");
        Err(Fault::new(FaultCode::InputInvalid, message))
    }
}

/// A run that has come to rest.
pub struct FinishedRun<'r, S: System> {
    /// The state; the default if it could not be read, which `fault` then says.
    pub state: S::State,
    /// How the run came to rest.
    pub ending: RunEnding,
    /// What it failed with.
    pub fault: Option<Fault>,
    /// The limit that was reached last, also if the graph came to its end after it.
    pub spent: Option<BudgetDimension>,
    /// Why the thread does not have all of it; `fault` is the same then.
    pub storage_fault: Option<&'r Fault>,
    /// What the nodes of the run had.
    pub run: &'r RunScope<S>,
}

/// An event of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemNote {
    /// Its name.
    pub name: &'static str,
    /// Its fields.
    pub data: Json,
}

impl SystemNote {
    /// An event with that name.
    pub const fn note(name: &'static str, data: Json) -> Self {
        Self { name, data }
    }
}

/// How a run came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnding {
    /// The graph came to its end.
    Completed,
    /// A node or a tool asks a person.
    Paused,
    /// A limit was reached.
    Budget,
    /// The caller cancelled.
    Cancelled,
    /// A fault ended it.
    Failed,
}

impl RunEnding {
    /// The outcome, unless the graph came to its end, where the system decides.
    pub const fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Completed => None,
            Self::Paused => Some(Outcome::Paused),
            Self::Budget => Some(Outcome::Budget),
            Self::Cancelled => Some(Outcome::Cancelled),
            Self::Failed => Some(Outcome::Error),
        }
    }
}

/// What a system makes of a finished run.
#[derive(Debug)]
pub struct Conclusion<O> {
    /// The part of the result that only this system has.
    pub output: O,
    /// How the question ended.
    pub outcome: Outcome,
    /// Why there is no answer, if the outcome is [`Outcome::NoAnswer`].
    pub reason: Option<String>,
    /// What it failed with, if anything did.
    pub error: Option<Fault>,
}
