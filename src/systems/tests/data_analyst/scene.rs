//! What the tests share: a script for each role, a SQLite file, tools of an API and a sandbox from scripts.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use antiphon_core::approval::Approval;
use antiphon_core::{Fault, ModelRequest, SideEffect, ToolOutcome, ToolSpec};
use antiphon_models::{ScriptBranch, ScriptedModel, ScriptedReply};
use antiphon_runtime::sandbox::{
    GuestFault, GuestFaultKind, HostCalls, JobOutcome, Sandbox, SandboxJob, SandboxProbe,
    Session as Open, StopCheck,
};
use antiphon_runtime::{CallContext, ManualClock, Model, Tool};
use antiphon_systems::data_analyst::{
    AgentRequest, Config, DataAnalyst, OrchestratorResponse, State, TraceEventKind,
};
use antiphon_systems::{Session, SystemResourcesBuilder, SystemResult, SystemRunner};
use antiphon_tools::sql::{QueryLimits, QueryPolicy, SqlDialect, SqlTools, SqliteDatabase};
use async_trait::async_trait;
use serde_json::{Map, Value as Json, json};
use tempfile::TempDir;

/// One question with everything scripted but the database.
pub(crate) struct Scene {
    pub(crate) config: Config,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) database: Option<Arc<CountedTools>>,
    pub(crate) api: Option<Arc<ScriptedApi>>,
    pub(crate) sandbox: Option<ScriptedSandbox>,
    pub(crate) sessions: fn(Session) -> Session,
    /// The name of the model, which tells its tier.
    pub(crate) model_name: &'static str,
    branches: Vec<ScriptBranch>,
    /// Deleted with the scene.
    _folder: TempDir,
}

/// A run that has ended, with what it asked.
pub(crate) struct ScriptedRun {
    pub(crate) result: SystemResult<OrchestratorResponse, State>,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) database: Option<Arc<CountedTools>>,
    pub(crate) api: Option<Arc<ScriptedApi>>,
}

impl Scene {
    /// A database with orders; neither an API nor a sandbox.
    pub(crate) fn new(settings: &Json) -> Self {
        Self::with_rows(settings, QueryLimits::columns().rows)
    }

    /// The same whose queries return so many rows.
    pub(crate) fn with_rows(settings: &Json, rows: usize) -> Self {
        Self::of(settings, ORDERS, &["orders", "regions"], rows)
    }

    /// A database with measures in units, and names that need quotes.
    pub(crate) fn measures(settings: &Json) -> Self {
        Self::of(settings, MEASURES, &["\"scrap log\""], QueryLimits::columns().rows)
    }

    /// A database that `script` makes, of which `tables` may be read.
    pub(crate) fn of_tables(script: &str, tables: &[&str]) -> Self {
        Self::of(&json!({}), script, tables, QueryLimits::columns().rows)
    }

    fn of(settings: &Json, script: &str, tables: &[&str], rows: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.db");
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(script).unwrap();
        let policy = QueryPolicy::new(SqlDialect::Sqlite).tables(tables).unwrap();
        let database = Arc::new(SqliteDatabase::open(&path, policy).unwrap());
        let columns = QueryLimits { rows, ..QueryLimits::columns() };
        let tools = SqlTools::of(&(database as Arc<_>), QueryLimits::default(), columns);
        Self {
            config: Config::from_json(settings).unwrap(),
            clock: Arc::new(ManualClock::default()),
            database: Some(CountedTools::new(tools)),
            api: None,
            sandbox: None,
            sessions: |session| session,
            model_name: "test:scripted",
            branches: Vec::new(),
            _folder: folder,
        }
    }

    /// The replies of a role, in order.
    pub(crate) fn role<R: Into<ScriptedReply>>(
        self,
        role: &str,
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        self.branch(ScriptBranch::tag("role", role).replies(replies))
    }

    pub(crate) fn branch(mut self, branch: ScriptBranch) -> Self {
        self.branches.push(branch);
        self
    }

    /// The queries that are written and answered, without a review.
    pub(crate) fn queries(mut self, queries: &[&str], answer: &str) -> Self {
        self.config.check_query = false;
        let written = self.role("sql_writer", queries.iter().map(|sql| query(sql)));
        written.role("sql_answerer", [said(answer)])
    }

    pub(crate) fn with_api(mut self, outcomes: impl IntoIterator<Item = ToolOutcome>) -> Self {
        self.api = Some(Arc::new(ScriptedApi::new(outcomes)));
        self
    }

    pub(crate) fn with_sandbox(mut self, outcomes: impl IntoIterator<Item = JobOutcome>) -> Self {
        let sandbox = ScriptedSandbox::default();
        sandbox.outcomes.lock().unwrap().extend(outcomes);
        self.sandbox = Some(sandbox);
        self
    }

    pub(crate) fn model(&mut self) -> Arc<ScriptedModel> {
        let model = ScriptedModel::new::<&str>([]).named(self.model_name);
        Arc::new(self.branches.drain(..).fold(model, ScriptedModel::branch))
    }

    pub(crate) fn system(&self, model: &Arc<ScriptedModel>) -> SystemRunner<DataAnalyst> {
        self.system_with(Arc::clone(model) as Arc<_>)
    }

    pub(crate) fn system_with(&self, model: Arc<dyn Model>) -> SystemRunner<DataAnalyst> {
        let mut resources = SystemResourcesBuilder::new().model(model);
        let database = self.database.iter().flat_map(CountedTools::tools);
        let api = self.api.iter().flat_map(ScriptedApi::tools);
        resources = resources.tools("data_analyst", database.chain(api));
        if let Some(sandbox) = &self.sandbox {
            resources = resources.sandbox(Arc::new(sandbox.clone()));
        }
        SystemRunner::new(self.config.clone(), resources).unwrap()
    }

    /// How often a query was run.
    pub(crate) fn runs(&self, query: &str) -> usize {
        let calls = self.database.as_ref().unwrap().calls.lock().unwrap();
        calls.iter().filter(|(_, given)| *given == json!({ "query": query })).count()
    }

    pub(crate) fn session(&self) -> Session {
        (self.sessions)(Session::new(self.clock.clone()))
    }

    pub(crate) async fn ask(self, request: impl Into<AgentRequest>) -> ScriptedRun {
        let (model, result) = self.try_ask(request).await;
        let (scene, result) = result;
        let Self { database, api, .. } = scene;
        ScriptedRun { result: result.unwrap(), model, database, api }
    }

    pub(crate) async fn try_ask(
        mut self,
        request: impl Into<AgentRequest>,
    ) -> (Arc<ScriptedModel>, (Self, Result<SystemResult<OrchestratorResponse, State>, Fault>))
    {
        let model = self.model();
        let system = self.system(&model);
        let result = system.ask(request, self.session()).await;
        (model, (self, result))
    }
}

impl ScriptedRun {
    pub(crate) fn answer(&self) -> &str {
        &self.result.output.answer
    }

    /// The agents of the plan.
    pub(crate) fn plan(&self) -> Vec<&str> {
        let planner = self.result.output.planner.as_ref().unwrap();
        planner.chosen_agents.iter().map(|agent| agent.as_str()).collect()
    }

    /// Each agent of the plan with its status, and the kind of its error.
    pub(crate) fn results(&self) -> Vec<(&str, String, String)> {
        let results = self.result.output.agent_results.iter();
        let shown = results.map(|result| {
            let status = json!(result.status).as_str().unwrap().to_owned();
            let kind = result.error.as_ref().map_or_else(String::new, |error| error.kind.clone());
            (result.agent.as_str(), status, kind)
        });
        shown.collect()
    }

    /// What a role's model was asked, in order.
    pub(crate) fn requests(&self, role: &str) -> Vec<ModelRequest> {
        let mut requests = self.model.requests();
        requests.retain(|request| request.tags.get("role").is_some_and(|known| known == role));
        requests
    }

    /// The events in the state of that kind, with their messages.
    pub(crate) fn events(&self, kind: TraceEventKind) -> Vec<(String, Map<String, Json>)> {
        let events = self.result.state.trace.iter().filter(|event| event.event_type == kind);
        events
            .map(|event| (event.message.clone().unwrap_or_default(), event.data.clone()))
            .collect()
    }

    /// The queries that were run, without those that look up values or only check.
    pub(crate) fn ran(&self) -> Vec<String> {
        let calls = self.database.as_ref().unwrap().calls.lock().unwrap();
        let run = calls.iter().filter(|(name, given)| {
            let text = given["query"].as_str().unwrap_or_default();
            name == "sql_query"
                && given["check_only"] != json!(true)
                && !text.contains("SELECT DISTINCT")
        });
        run.map(|(_, given)| given["query"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) fn query(sql: &str) -> Json {
    json!({"missing": "", "sql": sql})
}

pub(crate) fn said(answer: &str) -> Json {
    json!({ "answer": answer })
}

pub(crate) fn plan(agents: &[&str]) -> Json {
    json!({"agents": agents, "rationale": "because", "confidence": 0.9})
}

pub(crate) fn asked(question: &str, fields: Json) -> AgentRequest {
    let Json::Object(mut request) = fields else { unreachable!() };
    request.insert("question".to_owned(), json!(question));
    serde_json::from_value(Json::Object(request)).unwrap()
}

/// Tools that remember their calls.
pub(crate) struct CountedTools {
    tools: Vec<Arc<dyn Tool>>,
    pub(crate) calls: Mutex<Vec<(String, Json)>>,
    /// What each further call fails with.
    pub(crate) fault: Mutex<Option<Fault>>,
}

impl CountedTools {
    fn new(tools: Vec<Arc<dyn Tool>>) -> Arc<Self> {
        Arc::new(Self { tools, calls: Mutex::default(), fault: Mutex::default() })
    }

    pub(crate) fn tools(own: &Arc<Self>) -> Vec<Arc<dyn Tool>> {
        let counted = |tool: &Arc<dyn Tool>| {
            Arc::new(CountedTool { tool: Arc::clone(tool), all: Arc::clone(own) }) as Arc<dyn Tool>
        };
        own.tools.iter().map(counted).collect()
    }
}

struct CountedTool {
    tool: Arc<dyn Tool>,
    all: Arc<CountedTools>,
}

#[async_trait]
impl Tool for CountedTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let name = self.spec().name.clone();
        self.all.calls.lock().unwrap().push((name, arguments.clone()));
        if let Some(fault) = self.all.fault.lock().unwrap().clone() {
            return Err(fault);
        }
        self.tool.call(arguments, cx).await
    }
}

/// An API that answers from a script.
pub(crate) struct ScriptedApi {
    pub(crate) outcomes: Mutex<VecDeque<ToolOutcome>>,
    pub(crate) calls: Mutex<Vec<Json>>,
    /// How endpoints were looked for.
    pub(crate) lookups: Mutex<Vec<Json>>,
    pub(crate) endpoints: Mutex<Json>,
    /// How calls that change something are approved; `None` if nothing makes them.
    pub(crate) writes: Mutex<Option<Approval>>,
}

impl ScriptedApi {
    fn new(outcomes: impl IntoIterator<Item = ToolOutcome>) -> Self {
        let endpoints = json!([
            {"method": "GET", "path": "/v1/orders", "description": "list orders"},
            {"method": "GET", "path": "/v1/orders/:id", "description": "one order"},
            {"method": "POST", "path": "/v1/orders", "description": "new order"},
        ]);
        Self {
            outcomes: Mutex::new(outcomes.into_iter().collect()),
            calls: Mutex::default(),
            lookups: Mutex::default(),
            endpoints: Mutex::new(endpoints),
            writes: Mutex::default(),
        }
    }

    pub(crate) fn tools(own: &Arc<Self>) -> Vec<Arc<dyn Tool>> {
        let tool = |name: &str, approval: Approval| {
            let arguments = json!({"type": "object", "properties": {"all": {"type": "boolean"}}});
            let spec = ToolSpec::new(name, "of a script", arguments);
            let spec = ToolSpec { side_effect: SideEffect::Read, approval, ..spec };
            Arc::new(ScriptedEndpoint { spec, api: Arc::clone(own) }) as Arc<dyn Tool>
        };
        let reads = ["api_endpoints", "api_read"].map(|name| tool(name, Approval::None));
        let writes = own.writes.lock().unwrap().map(|approval| tool("api_write", approval));
        reads.into_iter().chain(writes).collect()
    }
}

struct ScriptedEndpoint {
    spec: ToolSpec,
    api: Arc<ScriptedApi>,
}

#[async_trait]
impl Tool for ScriptedEndpoint {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, _: &CallContext) -> ToolOutcome {
        if self.spec.name == "api_endpoints" {
            self.api.lookups.lock().unwrap().push(arguments);
            return Ok(json!({"endpoints": *self.api.endpoints.lock().unwrap()}));
        }
        self.api.calls.lock().unwrap().push(arguments);
        self.api.outcomes.lock().unwrap().pop_front().expect("the script of the API is over")
    }
}

/// A sandbox that answers from a script; descriptions of variables are their names.
#[derive(Clone, Default)]
pub(crate) struct ScriptedSandbox {
    pub(crate) outcomes: Arc<Mutex<VecDeque<JobOutcome>>>,
    pub(crate) jobs: Arc<Mutex<Vec<SandboxJob>>>,
}

impl ScriptedSandbox {
    fn answer(&self, job: &SandboxJob) -> JobOutcome {
        self.jobs.lock().unwrap().push(job.clone());
        if job.code.contains("def _described") {
            let described = json!([{
                "name": "result", "text": "shown", "rows": 0, "columns": [], "is_empty": false,
            }]);
            return JobOutcome { value: Some(described), ..JobOutcome::default() };
        }
        self.outcomes.lock().unwrap().pop_front().expect("the script of the sandbox is over")
    }
}

impl Sandbox for ScriptedSandbox {
    fn probe(&self) -> SandboxProbe {
        SandboxProbe { ok: true, missing: Vec::new(), ..SandboxProbe::refused("scripted", "") }
    }

    fn run(&self, job: &SandboxJob, _: Option<Arc<dyn HostCalls>>, _: StopCheck<'_>) -> JobOutcome {
        self.answer(job)
    }

    fn open(&self) -> Result<Box<dyn Open>, Box<GuestFault>> {
        Ok(Box::new(self.clone()))
    }
}

impl Open for ScriptedSandbox {
    fn run(
        &mut self,
        job: &SandboxJob,
        _: Option<Arc<dyn HostCalls>>,
        _: StopCheck<'_>,
    ) -> JobOutcome {
        self.answer(job)
    }

    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, Box<GuestFault>> {
        Ok(None)
    }
}

/// An outcome with variables.
pub(crate) fn assigned(locals: Json) -> JobOutcome {
    let Json::Object(locals) = locals else { unreachable!() };
    JobOutcome { locals, ..JobOutcome::default() }
}

pub(crate) fn guest_failure(kind: GuestFaultKind, message: &str) -> JobOutcome {
    JobOutcome::failed(kind, message)
}

const ORDERS: &str = "
    CREATE TABLE regions (code TEXT PRIMARY KEY, name TEXT);
    INSERT INTO regions VALUES ('n', 'North'), ('s', 'South');
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY, region TEXT REFERENCES regions(code), net_eur REAL,
        updated_at TEXT
    );
    INSERT INTO orders VALUES
        (1, 'n', 10.5, '2026-01-02'), (2, 's', 20.0, '2026-01-03'), (3, 'n', 11.5, NULL);
    CREATE TABLE salaries (person TEXT, eur INTEGER);
    INSERT INTO salaries VALUES ('Ann', 5000);
";

const MEASURES: &str = "
    CREATE TABLE \"scrap log\" (
        \"order\" INTEGER, day TEXT, scrap_kg REAL, duration_min REAL, temp_c REAL, price_eur REAL
    );
    INSERT INTO \"scrap log\" VALUES
        (1, '2026-03-01', 1500.0, 90.0, 20.0, 7.5), (2, '2026-04-01', 1000.0, 30.0, 21.0, 2.5);
";
