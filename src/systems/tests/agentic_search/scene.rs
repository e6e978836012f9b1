//! What the tests share: a script for each role, and tools that note what they are asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_core::event::EventKind;
use antiphon_core::{Category, Fault, ModelRequest, SideEffect, ToolOutcome, ToolSpec};
use antiphon_models::{ScriptBranch, ScriptedModel, ScriptedReply};
use antiphon_runtime::{CallContext, Clock, ManualClock, Tool};
use antiphon_systems::agentic_search::{
    AgenticSearch, Config, SearchAnswer, SearchInput, SearchTask, State,
};
use antiphon_systems::{Session, SystemResourcesBuilder, SystemResult, SystemRunner};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

type Answer = Box<dyn Fn(&Json) -> ToolOutcome + Send + Sync>;

/// A tool that answers as it is told, after a delay of the clock.
pub(crate) struct FakeTool {
    pub(crate) spec: ToolSpec,
    pub(crate) delay: Duration,
    answer: Answer,
    calls: Mutex<Vec<Json>>,
}

impl FakeTool {
    /// A tool that reads, with a query and the number of results.
    pub(crate) fn search(
        name: &str,
        answer: impl Fn(&Json) -> ToolOutcome + Send + Sync + 'static,
    ) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"query": {"type": "string"}, "size": {"type": "integer"}},
            "required": ["query"],
            "additionalProperties": false,
        });
        let mut spec = ToolSpec::new(name, format!("Searches {name}."), parameters);
        spec.side_effect = SideEffect::Read;
        Self { spec, delay: Duration::ZERO, answer: Box::new(answer), calls: Mutex::default() }
    }

    /// What it was called with, in order.
    pub(crate) fn calls(&self) -> Vec<Json> {
        self.calls.lock().unwrap().clone()
    }
}

#[async_trait]
impl Tool for FakeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        self.calls.lock().unwrap().push(arguments.clone());
        if !self.delay.is_zero() {
            cx.clock.sleep(self.delay).await;
        }
        (self.answer)(&arguments)
    }
}

/// A tool that returns the same text each time.
pub(crate) fn says(name: &str, text: &str) -> Arc<FakeTool> {
    let text = text.to_owned();
    Arc::new(FakeTool::search(name, move |_| Ok(json!(text))))
}

/// A tool that fails.
pub(crate) fn fails(name: &str) -> Arc<FakeTool> {
    Arc::new(FakeTool::search(name, |_| {
        Err(Fault::foreign(Category::Tool, "tool_failed", "the index is closed"))
    }))
}

/// A task as the planner writes it.
pub(crate) fn task(tool: &str, query: &str) -> Json {
    json!({"tool_name": tool, "tool_arguments": {"query": query}, "description": query})
}

pub(crate) fn plan(tasks: &[Json]) -> Json {
    json!({"reasoning": "look it up", "tasks": tasks})
}

pub(crate) fn answer(html: &str) -> Json {
    json!({"reasoning": "from the results", "response_content": html})
}

/// One question with everything scripted.
pub(crate) struct Scene {
    pub(crate) config: Config,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    branches: Vec<ScriptBranch>,
}

/// What came of it.
pub(crate) struct ScriptedRun {
    pub(crate) result: SystemResult<SearchAnswer, State>,
    pub(crate) model: Arc<ScriptedModel>,
}

impl Scene {
    pub(crate) fn new(settings: &Json) -> Self {
        Self {
            config: Config::from_json(settings).unwrap(),
            clock: Arc::new(ManualClock::default()),
            tools: Vec::new(),
            branches: Vec::new(),
        }
    }

    pub(crate) fn tool(mut self, tool: &Arc<FakeTool>) -> Self {
        self.tools.push(Arc::<FakeTool>::clone(tool));
        self
    }

    pub(crate) fn planner<R: Into<ScriptedReply>>(
        self,
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        self.role("planner", replies)
    }

    pub(crate) fn synthesiser<R: Into<ScriptedReply>>(
        self,
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        self.role("synthesiser", replies)
    }

    fn role<R: Into<ScriptedReply>>(
        mut self,
        role: &str,
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        self.branches.push(ScriptBranch::tag("role", role).replies(replies));
        self
    }

    /// The system and the script of its model.
    pub(crate) fn system(&mut self) -> (SystemRunner<AgenticSearch>, Arc<ScriptedModel>) {
        let model = ScriptedModel::new::<&str>([]);
        let model = Arc::new(self.branches.drain(..).fold(model, ScriptedModel::branch));
        let resources = SystemResourcesBuilder::new()
            .model(model.clone())
            .tools("agentic_search", self.tools.clone());
        (SystemRunner::new(self.config.clone(), resources).unwrap(), model)
    }

    pub(crate) fn session(&self) -> Session {
        Session { run_id: "run".to_owned(), ..Session::new(self.clock.clone()) }
    }

    /// Asks, and moves the time whenever nothing else can go on.
    pub(crate) async fn ask(mut self, input: impl Into<SearchInput>) -> ScriptedRun {
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
    /// The events of the system with that name.
    pub(crate) fn notes(&self, name: &str) -> Vec<Json> {
        let notes = self.result.events.iter().filter(|event| event.kind == EventKind::Custom);
        let notes = notes.filter(|event| &*event.name == name);
        notes.map(|event| event.data.to_json()).collect()
    }

    /// What the model of a role was asked.
    pub(crate) fn request(&self, role: &str) -> ModelRequest {
        let mut requests = self.model.requests();
        requests.retain(|request| request.tags.get("role").is_some_and(|known| known == role));
        requests.pop().unwrap()
    }

    /// What a role reads beside its instructions.
    pub(crate) fn read_by(&self, role: &str) -> String {
        self.request(role).messages.last().unwrap().content.to_string()
    }

    pub(crate) fn tasks(&self) -> &[SearchTask] {
        &self.result.output.execution_plan.as_ref().unwrap().tasks
    }

    pub(crate) fn html(&self) -> &str {
        &self.result.output.html
    }

    /// The requests to models, and the calls of tools.
    pub(crate) fn spent(&self) -> (u64, u64) {
        (self.result.spent.model_calls, self.result.spent.tool_calls)
    }
}
