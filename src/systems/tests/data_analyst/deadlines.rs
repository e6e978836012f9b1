//! The time of an agent: no call of a model or a tool goes past it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_core::approval::{Approval, HostVerdict};
use antiphon_core::retry::{Jitter, RetryPolicy};
use antiphon_core::{Fault, ModelReply, ModelRequest, ToolOutcome, ToolSpec};
use antiphon_models::ScriptedModel;
use antiphon_runtime::sandbox::JobOutcome;
use antiphon_runtime::{CallContext, Clock, ManualClock, Model, Tool};
use antiphon_systems::data_analyst::{
    AgentName, DataAnalyst, OrchestratorResponse, State, TraceEventKind,
};
use antiphon_systems::{Outcome, RoleModel, SystemResourcesBuilder, SystemResult, SystemRunner};
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::scene::{Scene, asked, assigned, plan, query, said};

const COUNT: &str = "SELECT count(*) AS n FROM orders";
const LIMIT: Duration = Duration::from_secs(30);

/// A model that answers from a script, and never answers a request of one role.
struct HangingModel {
    model: Arc<ScriptedModel>,
    role: &'static str,
    /// Requests of the role that are answered before, each after so much time.
    answers: usize,
    pause: Duration,
    clock: Arc<ManualClock>,
    requests: AtomicUsize,
    hangs: UnboundedSender<()>,
}

impl HangingModel {
    fn new(scene: &mut Scene, role: &'static str) -> (Self, UnboundedReceiver<()>) {
        let (hangs, heard) = unbounded_channel();
        let (clock, pause) = (Arc::clone(&scene.clock), Duration::ZERO);
        let requests = AtomicUsize::new(0);
        (Self { model: scene.model(), role, answers: 0, pause, clock, requests, hangs }, heard)
    }
}

#[async_trait]
impl Model for HangingModel {
    fn name(&self) -> &'static str {
        "test:hanging"
    }

    async fn call(&self, request: &ModelRequest, cx: &CallContext) -> Result<ModelReply, Fault> {
        if request.tags.get("role").is_some_and(|role| role == self.role) {
            if self.requests.fetch_add(1, Ordering::SeqCst) >= self.answers {
                let _ = self.hangs.send(());
                std::future::pending::<()>().await;
            }
            self.clock.advance(self.pause);
        }
        self.model.call(request, cx).await
    }
}

/// Both agents, each with its roles.
fn both() -> Scene {
    let api = json!({"make_request": true, "method": "GET", "path": "/v1/orders"});
    Scene::new(&json!({"agent_timeout_s": LIMIT.as_secs()}))
        .with_api([Ok(json!({"status": 200, "data": {"orders": 3}}))])
        .role("planner", [plan(&["sql", "api_docs"])])
        .role("sql_writer", [query(COUNT)])
        .role("sql_reviewer", [json!({"sql": COUNT})])
        .role("sql_answerer", [said("There are 3.")])
        .role("api_planner", [api])
        .role("api_answerer", [said("The API has 3.")])
        .role("composer", [said("There are 3.")])
}

/// DA-57 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_model_that_hangs_costs_its_agent_the_time_of_the_agent_and_no_more() {
    for (role, failed) in [
        ("sql_writer", Some("sql")),
        ("sql_reviewer", Some("sql")),
        ("sql_answerer", None),
        ("api_planner", Some("api_docs")),
        ("api_answerer", None),
    ] {
        let mut scene = both();
        let (model, mut hangs) = HangingModel::new(&mut scene, role);
        let (system, session, clock) =
            (scene.system_with(Arc::new(model)), scene.session(), Arc::clone(&scene.clock));
        let question = asked("Count at the endpoint", json!({"trace": true}));
        let task = tokio::spawn(async move { system.ask(question, session).await });
        hangs.recv().await;
        clock.advance(LIMIT);
        let result = task.await.unwrap().unwrap();
        assert_eq!(result.outcome, Outcome::Answered, "{role}");
        for found in &result.output.agent_results {
            let kind = found.error.as_ref().map(|error| error.kind.as_str());
            let is_late = failed == Some(found.agent.as_str());
            assert_eq!(kind, is_late.then_some("Timeout"), "{role}: {found:?}");
        }
        let failures = result.output.trace.iter().filter(|event| {
            event.event_type == TraceEventKind::Error && event.data["type"] == "Timeout"
        });
        let told: Vec<&Json> = failures.filter_map(|event| event.data.get("role")).collect();
        assert_eq!(told, [role], "the trace names the role");
    }
}

#[tokio::test]
async fn a_later_attempt_has_what_is_left_of_the_time() {
    let mut scene = Scene::new(&json!({"agent_timeout_s": LIMIT.as_secs(), "check_query": false}))
        .role("sql_writer", [query("SELECT absent FROM orders")])
        .role("composer", [said("It is not known.")]);
    let (mut model, mut hangs) = HangingModel::new(&mut scene, "sql_writer");
    (model.answers, model.pause) = (1, Duration::from_secs(20));
    let (system, session, clock) =
        (scene.system_with(Arc::new(model)), scene.session(), Arc::clone(&scene.clock));
    let task = tokio::spawn(async move { system.ask("How many orders?", session).await });
    hangs.recv().await;
    clock.advance(Duration::from_secs(10));
    let result = task.await.unwrap().unwrap();
    let error = result.output.agent_results[0].error.as_ref().unwrap();
    assert_eq!(error.kind, "Timeout");
    assert_eq!(error.details["attempts"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn attempts_of_an_agent_in_a_role_share_the_time() {
    let mut scene = Scene::new(&json!({"agent_timeout_s": LIMIT.as_secs(), "check_query": false}))
        .role("composer", [said("It is not known.")]);
    let (model, mut hangs) = HangingModel::new(&mut scene, "sql_writer");
    let model = Arc::new(model);
    let mut writer = RoleModel::new(Arc::clone(&model) as Arc<dyn Model>);
    writer.policy.timeout = Some(Duration::from_secs(20));
    let retry = RetryPolicy { max_attempts: 3, jitter: Jitter::None, ..RetryPolicy::default() };
    writer.policy.retry = Some(retry);
    let tools = scene.database.iter().flat_map(crate::scene::CountedTools::tools);
    let resources = SystemResourcesBuilder::new()
        .model(Arc::clone(&model) as Arc<dyn Model>)
        .role("sql_writer", writer)
        .tools("data_analyst", tools);
    let system = SystemRunner::<DataAnalyst>::new(scene.config.clone(), resources).unwrap();
    let (session, clock) = (scene.session(), Arc::clone(&scene.clock));
    let start = clock.now();
    let mut task = tokio::spawn(async move { system.ask("How many orders?", session).await });
    hangs.recv().await;
    // From here on only time passes.
    let passes = async {
        loop {
            for _ in 0..200 {
                tokio::task::yield_now().await;
            }
            if let Some(wake) = clock.next_wake() {
                clock.advance(wake.since(clock.now()));
            }
        }
    };
    let result = tokio::select! {
        biased;
        result = &mut task => result.unwrap().unwrap(),
        () = passes => unreachable!("it does not end"),
    };
    assert_eq!(result.output.agent_results[0].error.as_ref().unwrap().kind, "Timeout");
    let elapsed = clock.now().since(start);
    let late = Duration::from_secs(1);
    assert!((LIMIT..LIMIT + late).contains(&elapsed), "20 s, a pause, what is left: {elapsed:?}");
    assert_eq!(model.requests.load(Ordering::SeqCst), 2, "none begins after the time");
}

/// A tool that never answers one query.
struct HangingQuery(Arc<dyn Tool>, &'static str, UnboundedSender<()>);

#[async_trait]
impl Tool for HangingQuery {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        if arguments.to_string().contains(self.1) {
            let _ = self.2.send(());
            std::future::pending::<()>().await;
        }
        self.0.call(arguments, cx).await
    }
}

#[tokio::test]
async fn a_second_query_that_hangs_leaves_the_rows_of_the_first() {
    let settings = json!({
        "agent_timeout_s": LIMIT.as_secs(), "check_query": false, "candidate_queries": 2,
    });
    let mut scene = Scene::new(&settings)
        .role("sql_writer", [query(COUNT), query("SELECT count(id) AS n FROM orders")])
        .role("composer", [said("There are 3.")]);
    let model = scene.model();
    let (hangs, mut heard) = unbounded_channel();
    let tools = scene.database.iter().flat_map(crate::scene::CountedTools::tools).map(|tool| {
        if tool.spec().name != "sql_query" {
            return tool;
        }
        Arc::new(HangingQuery(tool, "count(id)", hangs.clone())) as Arc<dyn Tool>
    });
    let tools: Vec<_> = tools.collect();
    let resources =
        SystemResourcesBuilder::new().model(model as Arc<dyn Model>).tools("data_analyst", tools);
    let system = SystemRunner::<DataAnalyst>::new(scene.config.clone(), resources).unwrap();
    let (session, clock) = (scene.session(), Arc::clone(&scene.clock));
    let task = tokio::spawn(async move { system.ask("How many orders?", session).await });
    heard.recv().await;
    clock.advance(LIMIT);
    let found = &task.await.unwrap().unwrap().output.agent_results[0];
    assert!(found.error.is_none(), "{:?}", found.error);
    assert_eq!(found.tabular.as_ref().unwrap().row_count, 1);
}

/// A tool that never answers.
struct HangingTool(ToolSpec, UnboundedSender<()>);

#[async_trait]
impl Tool for HangingTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: Json, _: &CallContext) -> ToolOutcome {
        let _ = self.1.send(());
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_tool_that_hangs_costs_its_agent_the_time_of_the_agent_and_no_more() {
    for hanging in ["sql_tables", "sql_schema", "sql_query", "api_endpoints", "api_read"] {
        let mut scene = both();
        let model = scene.model();
        let (hangs, mut heard) = unbounded_channel();
        let tools = scene.database.iter().flat_map(crate::scene::CountedTools::tools);
        let tools = tools.chain(scene.api.iter().flat_map(crate::scene::ScriptedApi::tools));
        let tools = tools.map(|tool| {
            let mut spec = tool.spec().clone();
            spec.timeout = None;
            if spec.name == hanging {
                return Arc::new(HangingTool(spec, hangs.clone())) as Arc<dyn Tool>;
            }
            tool
        });
        let resources = SystemResourcesBuilder::new()
            .model(model as Arc<dyn Model>)
            .tools("data_analyst", tools.collect::<Vec<_>>());
        let system = SystemRunner::<DataAnalyst>::new(scene.config.clone(), resources).unwrap();
        let (session, clock) = (scene.session(), Arc::clone(&scene.clock));
        let question = asked("Count at the endpoint", json!({}));
        let mut task = tokio::spawn(async move { system.ask(question, session).await });
        heard.recv().await;
        clock.advance(LIMIT);
        let result = tokio::select! {
            result = &mut task => result.unwrap().unwrap(),
            _ = heard.recv() => panic!("{hanging} was called after the time"),
        };
        assert_eq!(result.outcome, Outcome::Answered, "{hanging}");
        let late = result.output.agent_results.iter().filter_map(|it| it.error.as_ref());
        let kinds: Vec<&str> = late.map(|error| error.kind.as_str()).collect();
        assert_eq!(kinds, ["Timeout"], "{hanging}");
    }
}

#[tokio::test]
async fn a_computation_that_hangs_ends_with_its_time_and_keeps_its_result() {
    for (role, answer) in [("coder", None), ("summariser", Some("6"))] {
        let mut scene = Scene::new(&json!({"agent_timeout_s": LIMIT.as_secs()}))
            .with_sandbox([assigned(json!({"result": 6}))])
            .role("planner", [plan(&["sql", "computation"])])
            .role("sql_writer", [json!({"missing": "it", "sql": ""})])
            .role("coder", [json!({"reasoning": "", "python": "result = 6", "explain": ""})])
            .role("composer", [said("6"), said("6")]);
        let (model, mut hangs) = HangingModel::new(&mut scene, role);
        let (system, session, clock) =
            (scene.system_with(Arc::new(model)), scene.session(), Arc::clone(&scene.clock));
        let task = tokio::spawn(async move { system.ask("Count, then compare", session).await });
        hangs.recv().await;
        clock.advance(LIMIT);
        let result = task.await.unwrap().unwrap();
        let computed = &result.output.agent_results[1];
        assert_eq!(computed.answer.as_deref(), answer, "{role}");
        let kind = computed.error.as_ref().map(|error| error.kind.as_str());
        assert_eq!(kind, answer.is_none().then_some("Timeout"), "{role}");
        let told = result
            .state
            .trace
            .iter()
            .any(|event| event.data.get("type") == Some(&json!("Timeout")));
        assert!(told, "{role}");
    }
}

#[tokio::test]
async fn a_result_that_other_code_has_not_come_to_yet_is_not_kept() {
    let rows = json!({"count": 1, "rows": [["n6"]]});
    let taken_apart = JobOutcome { value: Some(rows), ..JobOutcome::default() };
    let settings = json!({"agent_timeout_s": LIMIT.as_secs(), "cross_check": true});
    let mut scene = Scene::new(&settings)
        .with_sandbox([assigned(json!({"result": 6})), taken_apart])
        .role("coder", [json!({"reasoning": "", "python": "result = 6", "explain": ""})])
        .role("composer", [said("It is not known.")]);
    let (mut model, mut hangs) = HangingModel::new(&mut scene, "coder");
    model.answers = 1;
    let (system, session, clock) =
        (scene.system_with(Arc::new(model)), scene.session(), Arc::clone(&scene.clock));
    let question = asked("Compute and estimate it", json!({"disable_agents": ["sql"]}));
    let task = tokio::spawn(async move { system.ask(question, session).await });
    hangs.recv().await;
    clock.advance(LIMIT);
    let result = task.await.unwrap().unwrap();
    let computed = &result.output.agent_results[0];
    assert_eq!(computed.answer, None);
    assert_eq!(computed.error.as_ref().unwrap().kind, "Timeout");
}

/// A tool whose calls the host approves after some time, or never.
struct SlowApproval {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
    clock: Arc<ManualClock>,
    pause: Option<Duration>,
    asked: UnboundedSender<()>,
    /// How long each call had.
    limits: Arc<Mutex<Vec<Duration>>>,
}

#[async_trait]
impl Tool for SlowApproval {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn approve(&self, _: &Json, _: &CallContext) -> Result<HostVerdict, Fault> {
        let _ = self.asked.send(());
        match self.pause {
            Some(pause) => self.clock.advance(pause),
            None => std::future::pending::<()>().await,
        }
        Ok(HostVerdict::Approve)
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let limit = cx.deadline.unwrap().since(cx.clock.now());
        self.limits.lock().unwrap().push(limit);
        self.tool.call(arguments, cx).await
    }
}

/// What came of a question whose call of the API the host approves; `pause` is how long that takes.
async fn approved(
    pause: Option<Duration>,
    after: impl FnOnce(&ManualClock),
) -> (SystemResult<OrchestratorResponse, State>, Vec<Duration>) {
    let mut scene = both();
    let model = scene.model();
    let (asked_for, mut heard) = unbounded_channel();
    let limits = Arc::new(Mutex::new(Vec::new()));
    let tools = scene.database.iter().flat_map(crate::scene::CountedTools::tools);
    let tools = tools.chain(scene.api.iter().flat_map(crate::scene::ScriptedApi::tools));
    let tools = tools.map(|tool| {
        let mut spec = tool.spec().clone();
        if spec.name != "api_read" {
            return tool;
        }
        (spec.approval, spec.timeout) = (Approval::Host, Some(LIMIT / 2));
        let (clock, asked, limits) =
            (Arc::clone(&scene.clock), asked_for.clone(), Arc::clone(&limits));
        Arc::new(SlowApproval { spec, tool, clock, pause, asked, limits }) as Arc<dyn Tool>
    });
    let resources = SystemResourcesBuilder::new()
        .model(model as Arc<dyn Model>)
        .tools("data_analyst", tools.collect::<Vec<_>>());
    let system = SystemRunner::<DataAnalyst>::new(scene.config.clone(), resources).unwrap();
    let (session, clock) = (scene.session(), Arc::clone(&scene.clock));
    let question = asked("Count at the endpoint", json!({}));
    let task = tokio::spawn(async move { system.ask(question, session).await });
    heard.recv().await;
    after(&clock);
    let result = task.await.unwrap().unwrap();
    let limits = limits.lock().unwrap().clone();
    (result, limits)
}

/// DA-61 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn what_the_host_takes_to_approve_a_call_counts_only_for_the_question() {
    let (result, limits) = approved(Some(LIMIT * 2), |_| {}).await;
    assert_eq!(result.outcome, Outcome::Answered);
    let answers: Vec<_> = result.output.agent_results.iter().map(|it| it.answer.clone()).collect();
    assert!(answers.contains(&Some("The API has 3.".to_owned())), "{answers:?}");
    assert_eq!(limits, [LIMIT / 2], "the call has its whole time");

    let (result, limits) = approved(None, |clock| clock.advance(Duration::from_mins(3))).await;
    let api = result.output.agent_results.iter().find(|it| it.agent == AgentName::ApiDocs).unwrap();
    assert_eq!(api.error.as_ref().unwrap().kind, "Unfinished");
    assert!(limits.is_empty(), "nothing is called");
}
