//! Tools of registries, which each question looks up.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_core::{Category, Fault, FaultCode};
use antiphon_models::{ScriptBranch, ScriptedModel};
use antiphon_runtime::{Tool, ToolRegistry};
use antiphon_systems::agentic_search::{
    AgenticSearch, Config, SearchAnswer, SearchInput, SearchOutcome, State, TaskErrorKind,
};
use antiphon_systems::{Outcome, Session, SystemResourcesBuilder, SystemResult, SystemRunner};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use crate::scene::{FakeTool, answer, in_time, plan, says, task};

type Listed = Result<Vec<Arc<dyn Tool>>, Fault>;

/// A registry that answers by a function of how often it was asked.
struct FakeRegistry {
    lists: Box<dyn Fn(usize) -> Listed + Send + Sync>,
    asked: AtomicUsize,
    forgotten: AtomicUsize,
    ages: Mutex<Vec<Duration>>,
}

impl FakeRegistry {
    fn new(lists: impl Fn(usize) -> Listed + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            lists: Box::new(lists),
            asked: AtomicUsize::new(0),
            forgotten: AtomicUsize::new(0),
            ages: Mutex::default(),
        })
    }
}

#[async_trait]
impl ToolRegistry for FakeRegistry {
    fn name(&self) -> String {
        "http://registry.example/mcp".to_owned()
    }

    async fn tools(&self, max_age: Duration) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        self.ages.lock().unwrap().push(max_age);
        (self.lists)(self.asked.fetch_add(1, Ordering::SeqCst))
    }

    async fn forget(&self) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
    }
}

fn unreachable() -> Fault {
    Fault::new(FaultCode::McpUnreachable, "the MCP server `x` cannot be reached: refused")
}

type Asked = SystemResult<SearchAnswer, State>;

async fn ask(
    registry: &Arc<FakeRegistry>,
    given: Vec<Arc<dyn Tool>>,
    tasks: &[Json],
) -> (Asked, Arc<ScriptedModel>) {
    let model = ScriptedModel::new::<&str>([])
        .branch(ScriptBranch::tag("role", "planner").replies([plan(tasks)]))
        .branch(ScriptBranch::tag("role", "synthesiser").replies([answer("<p>It is known.</p>")]));
    let model = Arc::new(model);
    let resources = SystemResourcesBuilder::new()
        .model(model.clone())
        .tools("agentic_search", given)
        .registry(Arc::<FakeRegistry>::clone(registry));
    let system = SystemRunner::<AgenticSearch>::new(Config::default(), resources).unwrap();
    let clock = Arc::new(antiphon_runtime::ManualClock::default());
    let session = Session::new(clock.clone());
    let input = SearchInput::from("What is <b>?");
    (in_time(&clock, system.ask(input, session)).await.unwrap(), model)
}

#[tokio::test]
async fn the_tools_of_a_registry_follow_those_that_were_given() {
    let (own, theirs) = (says("own", "1"), says("theirs", "2"));
    let same = says("own", "another");
    let listed: Vec<Arc<dyn Tool>> = vec![same, theirs.clone()];
    let registry = FakeRegistry::new(move |_| Ok(listed.clone()));
    let tasks = [task("own", "a"), task("theirs", "b")];
    let (result, _) = ask(&registry, vec![own.clone()], &tasks).await;
    assert_eq!(result.state.enabled_tools, ["own", "theirs"]);
    assert_eq!((own.calls().len(), theirs.calls().len()), (1, 1));
    assert_eq!(registry.asked.load(Ordering::SeqCst), 1, "one list for the question");
    assert_eq!(*registry.ages.lock().unwrap(), [Duration::from_mins(1)]);
}

/// AS-11 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_registry_that_cannot_be_reached_leaves_no_tool_and_asks_no_model() {
    let registry = FakeRegistry::new(|_| Err(unreachable()));
    let (result, model) = ask(&registry, vec![], &[]).await;
    assert_eq!(registry.asked.load(Ordering::SeqCst), 3, "it is asked again twice");
    assert_eq!(result.output.search_outcome, SearchOutcome::NoTools);
    assert_eq!(result.outcome, Outcome::NoAnswer);
    assert!(result.reason.unwrap().contains("cannot be reached"));
    assert_eq!(result.error.unwrap().code, "mcp_unreachable");
    assert!(result.output.html.contains("What is &lt;b&gt;?"));
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_registry_that_comes_back_in_time_is_used() {
    let theirs = says("theirs", "2");
    let listed: Vec<Arc<dyn Tool>> = vec![theirs.clone()];
    let registry =
        FakeRegistry::new(
            move |asked| if asked < 2 { Err(unreachable()) } else { Ok(listed.clone()) },
        );
    let (result, _) = ask(&registry, vec![], &[task("theirs", "a")]).await;
    assert_eq!(result.outcome, Outcome::Answered);
    assert_eq!(theirs.calls().len(), 1);
}

#[tokio::test]
async fn a_registry_that_refuses_the_credentials_is_not_asked_again() {
    let registry = FakeRegistry::new(|_| Err(Fault::new(FaultCode::McpUnauthorized, "refused")));
    let own = says("own", "1");
    let (result, _) = ask(&registry, vec![own.clone()], &[task("own", "a")]).await;
    assert_eq!(registry.asked.load(Ordering::SeqCst), 1);
    assert_eq!((result.outcome, own.calls().len()), (Outcome::Answered, 1), "others are used");
    assert_eq!(result.error.unwrap().code, "mcp_unauthorized");
}

/// AS-09 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_tool_that_its_server_does_not_know_any_more_has_the_list_read_anew() {
    let gone = Arc::new(FakeTool::search("gone", |_| {
        let fault = Fault::foreign(Category::Tool, "tool_failed", "the server refused the call");
        Err(fault.with("rpc_code", -32_601))
    }));
    let listed: Vec<Arc<dyn Tool>> = vec![gone];
    let registry = FakeRegistry::new(move |_| Ok(listed.clone()));
    let (result, _) = ask(&registry, vec![], &[task("gone", "a")]).await;
    let plan = result.output.execution_plan.unwrap();
    assert_eq!(plan.tasks[0].error.as_ref().unwrap().kind, TaskErrorKind::UnknownTool);
    assert_eq!(registry.forgotten.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_listed_tool_whose_schema_cannot_be_used_is_left_out() {
    let mut odd = FakeTool::search("odd", |_| Ok(json!("1")));
    odd.spec.parameters = json!({"type": "nonsense"});
    let listed: Vec<Arc<dyn Tool>> = vec![Arc::new(odd), says("theirs", "2")];
    let registry = FakeRegistry::new(move |_| Ok(listed.clone()));
    let (result, _) = ask(&registry, vec![], &[task("theirs", "a")]).await;
    assert_eq!(result.state.enabled_tools, ["theirs"]);
    let notes = result.events.iter().filter(|event| &*event.name == "tool_unusable");
    assert_eq!(notes.count(), 1);
}
