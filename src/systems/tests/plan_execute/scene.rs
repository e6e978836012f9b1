//! One task with everything scripted: a script for each role, and tools that note what they are
//! asked.

use std::sync::Arc;

use antiphon_core::event::EventKind;
use antiphon_core::{Category, Fault, ModelRequest};
use antiphon_models::{ScriptBranch, ScriptedModel, ScriptedReply};
use antiphon_runtime::{Clock, ManualClock, Queue, Tool};
use antiphon_systems::plan_execute::{
    Config, ContextEntry, PlanExecute, State, StepErrorKind, StepStatus, TaskInput, TaskOutput,
};
use antiphon_systems::{Session, SystemResourcesBuilder, SystemResult, SystemRunner};
use serde_json::{Value as Json, json};

use crate::fake_tools::FakeTool;

pub(crate) struct Scene {
    pub(crate) config: Config,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) queue: Option<Arc<dyn Queue>>,
    tools: Vec<Arc<dyn Tool>>,
    key_profiles: Vec<(String, Vec<Arc<dyn Tool>>)>,
    branches: Vec<ScriptBranch>,
}

/// What came of it.
pub(crate) struct ScriptedRun {
    pub(crate) result: SystemResult<TaskOutput, State>,
    pub(crate) model: Arc<ScriptedModel>,
}

impl Scene {
    pub(crate) fn new(settings: &Json) -> Self {
        Self {
            config: Config::from_json(settings).unwrap(),
            clock: Arc::new(ManualClock::default()),
            queue: None,
            tools: Vec::new(),
            key_profiles: Vec::new(),
            branches: Vec::new(),
        }
    }

    pub(crate) fn tool(mut self, tool: &Arc<FakeTool>) -> Self {
        self.tools.push(Arc::<FakeTool>::clone(tool));
        self
    }

    pub(crate) fn native(mut self, tool: &Arc<dyn Tool>) -> Self {
        self.tools.push(Arc::clone(tool));
        self
    }

    /// Tools with other credentials.
    pub(crate) fn key_profile(mut self, name: &str, tools: &[Arc<dyn Tool>]) -> Self {
        self.key_profiles.push((name.to_owned(), tools.to_vec()));
        self
    }

    /// The replies of a role, in order.
    pub(crate) fn role<R: Into<ScriptedReply>>(
        mut self,
        role: &str,
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        self.branches.push(ScriptBranch::tag("role", role).replies(replies));
        self
    }

    /// The plans of the planner.
    pub(crate) fn plans(self, plans: &[Json]) -> Self {
        self.role("planner", plans.iter().map(|stages| json!({"stages": stages})))
    }

    /// A context and an answer.
    pub(crate) fn answers(self, answer: &str) -> Self {
        self.keeps_context().role("synthesiser", [json!({"answer": answer})])
    }

    pub(crate) fn keeps_context(self) -> Self {
        let context = json!({
            "updatedSummaryOfProgress": "It is done.", "updatedNextObjective": "Answer.",
            "confidenceScore": 0.9,
        });
        self.role("context_keeper", vec![context; 3])
    }

    /// The system and the script of its model.
    pub(crate) fn system(&mut self) -> (SystemRunner<PlanExecute>, Arc<ScriptedModel>) {
        let model = ScriptedModel::new::<&str>([]);
        let model = Arc::new(self.branches.drain(..).fold(model, ScriptedModel::branch));
        (self.system_with(model.clone()), model)
    }

    pub(crate) fn system_with(&self, model: Arc<ScriptedModel>) -> SystemRunner<PlanExecute> {
        let resources =
            SystemResourcesBuilder::new().model(model).tools("plan_execute", self.tools.clone());
        let resources = self.queue.iter().cloned().fold(resources, SystemResourcesBuilder::queue);
        let profiles = self.key_profiles.iter().cloned();
        let resources =
            profiles.fold(resources, |given, (name, tools)| given.key_profile(&name, tools));
        SystemRunner::new(self.config.clone(), resources).unwrap()
    }

    pub(crate) fn session(&self) -> Session {
        Session { run_id: "run".to_owned(), ..Session::new(self.clock.clone()) }
    }

    /// Has a task done, and moves the time whenever nothing else can go on.
    pub(crate) async fn ask(mut self, input: impl Into<TaskInput>) -> ScriptedRun {
        let (system, model) = self.system();
        let asked = system.ask(input, self.session());
        let result = in_time(&self.clock, asked).await.unwrap();
        ScriptedRun { result, model }
    }
}

/// Waits for something, and moves the time whenever nothing else can go on.
pub(crate) async fn in_time<T>(clock: &ManualClock, work: impl Future<Output = T>) -> T {
    const TURNS: usize = 200;
    let time = async {
        loop {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
            if let Some(at) = clock.next_wake() {
                clock.advance(at.since(clock.now()));
            }
        }
    };
    tokio::select! {
        biased;
        done = work => done,
        () = time => unreachable!("time does not end"),
    }
}

impl ScriptedRun {
    pub(crate) fn output(&self) -> &TaskOutput {
        &self.result.output
    }

    /// The names of the system's events, in order.
    pub(crate) fn journal(&self) -> Vec<&str> {
        let notes = self.result.events.iter().filter(|event| event.kind == EventKind::Custom);
        notes.map(|event| &*event.name).collect()
    }

    /// The events of that name.
    pub(crate) fn notes(&self, name: &str) -> Vec<Json> {
        let notes = self.result.events.iter().filter(|event| event.kind == EventKind::Custom);
        let notes = notes.filter(|event| &*event.name == name);
        notes.map(|event| event.data.to_json()).collect()
    }

    /// What the model of a role was asked.
    pub(crate) fn requests(&self, role: &str) -> Vec<ModelRequest> {
        let mut requests = self.model.requests();
        requests.retain(|request| request.tags.get("role").is_some_and(|known| known == role));
        requests
    }

    /// What a role reads last, beside its instructions.
    pub(crate) fn read_by(&self, role: &str) -> String {
        let request = self.requests(role).pop().unwrap();
        request.messages.last().unwrap().content.to_string()
    }

    /// A step of the last attempt.
    pub(crate) fn step(&self, id: &str) -> &ContextEntry {
        let entries = &self.output().executed_plan;
        entries.iter().find(|entry| entry.step_id == id).unwrap()
    }

    /// How a step of the last attempt failed.
    pub(crate) fn failure(&self, id: &str) -> StepErrorKind {
        let entry = self.step(id);
        assert_eq!(entry.status, StepStatus::Failed, "{entry:?}");
        entry.error_details.as_ref().unwrap().kind
    }

    pub(crate) fn wire(value: impl serde::Serialize) -> String {
        json!(value).as_str().unwrap().to_owned()
    }
}

/// A failure of a tool.
pub(crate) fn closed(message: &str) -> Fault {
    Fault::foreign(Category::Tool, "tool_failed", message.to_owned())
}
