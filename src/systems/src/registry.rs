//! All ready systems by name. The binding, the command line and the documentation are written
//! against this list, and name no system.

use std::sync::Arc;

use antiphon_core::graph::Graph;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::ThreadRef;
use async_trait::async_trait;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::config;
use crate::prompts::PromptSpec;
use crate::resources::SystemResourcesBuilder;
use crate::result::{Outcome, SystemResult};
use crate::role::RoleSpec;
use crate::runner::{SystemRunner, SystemStart};
use crate::session::Session;
use crate::sub_task::WorkerTools;
use crate::system::{System, SystemInput};

/// Builds a system from its settings and resources.
type OpenSystem = fn(&Json, SystemResourcesBuilder) -> Result<Arc<dyn ReadySystem>, Fault>;

/// What the registry knows of a system.
#[derive(Clone, Copy, Debug)]
pub struct SystemEntry {
    /// The name, in snake case.
    pub name: &'static str,
    /// One sentence for an index.
    pub description: &'static str,
    /// Its roles.
    pub roles: &'static [RoleSpec],
    /// Its prompts.
    pub prompts: &'static [PromptSpec],
    config_schema: fn() -> Json,
    input_schema: fn() -> Json,
    output_schema: fn() -> Json,
    open: OpenSystem,
}

impl SystemEntry {
    /// The entry of a system.
    pub const fn of<S: System>() -> Self {
        Self {
            name: S::NAME,
            description: S::DESCRIPTION,
            roles: S::ROLES,
            prompts: S::PROMPTS,
            config_schema: schema::<S::Config>,
            input_schema: schema::<S::Input>,
            output_schema: schema::<S::Output>,
            open: open::<S>,
        }
    }

    /// The JSON Schema of the settings.
    pub fn config_schema(&self) -> Json {
        (self.config_schema)()
    }

    /// The JSON Schema of the input.
    pub fn input_schema(&self) -> Json {
        (self.input_schema)()
    }

    /// The JSON Schema of the part of a result that only this system has.
    pub fn output_schema(&self) -> Json {
        (self.output_schema)()
    }

    /// Checks settings and resources, and builds the system. Nothing is called.
    ///
    /// # Errors
    /// As [`SystemRunner::new`].
    pub fn open(
        &self,
        settings: &Json,
        resources: SystemResourcesBuilder,
    ) -> Result<Arc<dyn ReadySystem>, Fault> {
        (self.open)(settings, resources)
    }
}

/// All ready systems, in the order of their names.
pub fn registry() -> &'static [SystemEntry] {
    const ALL: &[SystemEntry] = &[
        SystemEntry::of::<crate::agentic_search::AgenticSearch>(),
        SystemEntry::of::<crate::computation::Computation>(),
        SystemEntry::of::<crate::data_analyst::DataAnalyst>(),
        SystemEntry::of::<crate::deep_research::DeepResearch>(),
        #[cfg(feature = "echo")]
        SystemEntry::of::<crate::echo::Echo>(),
        SystemEntry::of::<crate::plan_execute::PlanExecute>(),
        SystemEntry::of::<crate::review_loop::ReviewLoop>(),
    ];
    ALL
}

/// The system of that name.
///
/// # Errors
/// A `Validation` fault `system_unknown`.
pub fn find(name: &str) -> Result<&'static SystemEntry, Fault> {
    registry().iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = registry().iter().map(|entry| entry.name).collect();
        let message = format!("unknown system: {name}");
        Fault::new(FaultCode::SystemUnknown, message)
            .hint(format!("the systems are {}", known.join(", ")))
    })
}

/// A system whose types are not known: input and output are JSON.
#[async_trait]
pub trait ReadySystem: Send + Sync {
    /// The graph, for drawing.
    fn graph(&self) -> &Arc<Graph<Json>>;

    /// Its prompts as they are read, by `NAME.TIER`.
    fn prompts(&self) -> Vec<(String, String)>;

    /// What its workers do over a queue: their roles, with the tools of each.
    fn worker_tools(&self) -> WorkerTools;

    /// How a question ended whose graph came to its end in this state.
    ///
    /// # Errors
    /// `state_unreadable` for a state of another form.
    fn completed_outcome(&self, state: &Json) -> Result<Outcome, Fault>;

    /// Takes a question to where it rests. `attachments` are bytes that belong to the input,
    /// by name.
    ///
    /// # Errors
    /// As [`SystemRunner::run`]; a `Validation` fault `input_invalid` for an input of another
    /// form.
    async fn run(
        &self,
        start: SystemStart<Json>,
        attachments: Vec<(String, Vec<u8>)>,
        session: Session,
    ) -> Result<SystemResult<DynOutput, DynOutput>, Fault>;

    /// Merges values into the state of a thread in the name of a node.
    ///
    /// # Errors
    /// As [`SystemRunner::edit`].
    async fn edit(
        &self,
        thread: Arc<dyn ThreadRef>,
        edit: (&str, Map<String, Json>),
        session: Session,
    ) -> Result<u64, Fault>;
}

/// The output, or the state, of any system.
pub type DynOutput = Box<dyn erased_serde::Serialize + Send>;

#[async_trait]
impl<S: System> ReadySystem for SystemRunner<S> {
    fn graph(&self) -> &Arc<Graph<Json>> {
        Self::graph(self)
    }

    fn prompts(&self) -> Vec<(String, String)> {
        self.system().resources().prompts.all()
    }

    fn worker_tools(&self) -> WorkerTools {
        self.system().worker_tools()
    }

    fn completed_outcome(&self, state: &Json) -> Result<Outcome, Fault> {
        let state = S::State::deserialize(state).map_err(|error| {
            let message = format!("the state does not have the form of the system: {error}");
            Fault::new(FaultCode::StateUnreadable, message)
        })?;
        Ok(S::completed_outcome(&state))
    }

    async fn run(
        &self,
        start: SystemStart<Json>,
        attachments: Vec<(String, Vec<u8>)>,
        session: Session,
    ) -> Result<SystemResult<DynOutput, DynOutput>, Fault> {
        let start = start.try_map(|input| {
            let mut input = S::Input::read(&input)?;
            input.attach(attachments)?;
            Ok(input)
        })?;
        let result = Self::run(self, start, session).await?;
        Ok(result.map(|output| Box::new(output) as DynOutput, |state| Box::new(state) as DynOutput))
    }

    async fn edit(
        &self,
        thread: Arc<dyn ThreadRef>,
        edit: (&str, Map<String, Json>),
        session: Session,
    ) -> Result<u64, Fault> {
        Self::edit(self, thread, edit, session).await
    }
}

fn open<S: System>(
    settings: &Json,
    resources: SystemResourcesBuilder,
) -> Result<Arc<dyn ReadySystem>, Fault> {
    let config = config::read::<S::Config>(settings)?;
    Ok(Arc::new(SystemRunner::<S>::new(config, resources)?))
}

fn schema<T: JsonSchema>() -> Json {
    json!(schema_for!(T))
}
