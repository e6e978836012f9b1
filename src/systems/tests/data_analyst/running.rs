//! Order, dependencies, and what survives the end of a process.

use std::sync::Arc;

use antiphon_core::Seed;
use antiphon_core::event::{Event, EventKind};
use antiphon_models::ScriptedModel;
use antiphon_runtime::{Answers, ManualClock, Watcher};
use antiphon_stores::{Cipher, Durability, MemoryStore, SealedStore, StoredThread};
use antiphon_systems::{Outcome, Session};
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, assigned, plan, said};

const COUNT: &str = "SELECT count(*) AS n FROM orders";

fn three(settings: &Json, plan: &Json) -> Scene {
    Scene::new(settings)
        .with_api([Ok(json!({"status": 200, "data": {"orders": 3}}))])
        .with_sandbox([assigned(json!({"result": 6}))])
        .role("planner", [plan.clone()])
        .queries(&[COUNT], "There are 3.")
        .role("api_planner", [json!({"make_request": true, "method": "GET", "path": "/v1/orders"})])
        .role("api_answerer", [said("The API has 3.")])
        .role(
            "coder",
            [json!({"reasoning": "", "python": "result = 2 * sql_rows[0]['n']", "explain": ""})],
        )
        .role("summariser", [json!({"answer": "Together 6.", "highlights": []})])
        .role("composer", [said("Together there are 6.")])
}

/// The nodes in which an agent begins or ends, in the order in which they did.
fn steps(run: &ScriptedRun) -> Vec<String> {
    let shown = ["sql_schema", "sql_result", "api_find", "api_result", "compute"];
    let steps = run.result.events.iter().filter_map(|event| {
        let name = event.path.last().filter(|name| shown.contains(&&***name))?;
        match event.kind {
            EventKind::NodeStarted => Some(format!("{name} begins")),
            EventKind::NodeFinished => Some(format!("{name} ends")),
            _ => None,
        }
    });
    steps.collect()
}

/// DA-34 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn agents_that_do_not_depend_on_each_other_work_side_by_side() {
    let question = "Compare the count of the endpoint";
    let all = json!({"prefer_agents": ["api_docs"], "question": question});
    let request: antiphon_systems::data_analyst::AgentRequest =
        serde_json::from_value(all).unwrap();
    let settings = |parallel: usize| {
        json!({
            "max_parallel_agents": parallel, "add_preferred": true, "keywords": {
                "sql": ["count"], "api_docs": ["endpoint"], "computation": ["compare"],
            },
        })
    };
    let planned = plan(&["sql", "api_docs", "computation"]);
    let side_by_side = three(&settings(3), &planned).ask(request.clone()).await;
    let order = steps(&side_by_side);
    let at = |step: &str| order.iter().position(|one| one == step).expect(step);
    assert!(at("api_find begins") < at("sql_result ends"), "{order:?}");
    assert!(at("compute begins") > at("sql_result ends"), "{order:?}");
    assert!(at("compute begins") > at("api_result ends"), "{order:?}");
    let one_by_one = three(&settings(1), &planned).ask(request).await;
    let order = steps(&one_by_one);
    let at = |step: &str| order.iter().position(|one| one == step).expect(step);
    assert!(at("api_find begins") > at("sql_result ends"), "{order:?}");
    assert_eq!(
        side_by_side.results(),
        one_by_one.results(),
        "the same results, in the order of the plan"
    );
    assert_eq!(side_by_side.answer(), one_by_one.answer());
    assert_eq!(side_by_side.result.outcome, Outcome::Answered);
}

#[tokio::test]
async fn an_agent_that_needs_one_that_failed_is_skipped_if_the_settings_say_so() {
    for (requires, status) in [(true, "skipped"), (false, "succeeded")] {
        let run = Scene::new(&json!({"require_dependencies": requires}))
            .with_sandbox([assigned(json!({"result": 6}))])
            .role("planner", [plan(&["sql", "computation"])])
            .role("sql_writer", [json!({"missing": "it", "sql": ""})])
            .role("coder", [json!({"reasoning": "", "python": "result = 2 * sql_rows[0]['n']", "explain": ""})])
            .role("summariser", [json!({"answer": "It is 6.", "highlights": []})])
            .role("composer", [said("That is known.")])
            .ask("Count, then compare")
            .await;
        assert_eq!(run.results()[1].1, status, "require_dependencies: {requires}");
    }
}

/// DA-35 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_question_whose_process_died_goes_on_after_the_agents_that_have_worked() {
    let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    let thread = || {
        let sealed = SealedStore::new(store.clone(), Arc::new(Cipher::tagged()));
        Arc::new(StoredThread::new(sealed, "q1", Durability::Sync))
    };
    let mut scene = three(&json!({}), &plan(&["sql", "computation"]));
    let model = scene.model();
    // The process dies when the coder is asked: what it has done until then is stored.
    let (asked, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let dying = scene.system_with(Arc::new(Silent { model: model.clone(), asked }));
    let session = |scene: &Scene| Session {
        thread: Some(thread()),
        seed: Seed::new(7),
        run_id: "run".into(),
        ..scene.session()
    };
    let first = session(&scene);
    let task = tokio::spawn(async move { dying.ask("Count, then compare", first).await });
    hears.recv().await;
    task.abort();
    let _ = task.await;
    let queried = scene.database.as_ref().unwrap().calls.lock().unwrap().len();
    let system = scene.system(&model);
    let result = system.resume(thread(), Answers::NONE, session(&scene)).await.unwrap();
    assert_eq!(result.outcome, Outcome::Answered);
    assert_eq!(result.output.answer, "Together there are 6.");
    assert_eq!(result.output.agent_results.len(), 2);
    assert_eq!(
        scene.database.as_ref().unwrap().calls.lock().unwrap().len(),
        queried,
        "no query is repeated"
    );
}

/// DA-50 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn attachments_outlive_the_process_that_has_put_them() {
    const NUMBERS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE \
                           i < 1500) SELECT i FROM n";
    for dies_after in ["sql_query", "sql_run", "sql_result"] {
        let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
        let thread = || {
            let sealed = SealedStore::new(store.clone(), Arc::new(Cipher::tagged()));
            Arc::new(StoredThread::new(sealed, "q1", Durability::Sync))
        };
        let mut scene = Scene::new(&json!({}))
            .queries(&[NUMBERS, NUMBERS], "There are many.")
            .role("composer", [said("There are many."), said("There are many.")]);
        let model = scene.model();
        let (dying, system) = (scene.system(&model), scene.system(&model));
        let session = Session { thread: Some(thread()), run_id: "run".into(), ..scene.session() };
        let watchers: Vec<Arc<dyn Watcher>> = vec![Arc::new(DyingWatcher(dies_after))];
        let watched = Session { watchers, ..session.clone() };
        let died = tokio::spawn(async move { dying.ask("Show all numbers", watched).await }).await;
        assert!(died.unwrap_err().is_panic(), "it dies after {dies_after}");
        let result = system.resume(thread(), Answers::NONE, session.clone()).await.unwrap();
        let data = result.output.data.unwrap();
        assert_eq!((data.row_count, data.rows.len()), (1_500, 1_000), "{dies_after}");
        let bytes = result.attachments.get(&data.arrow.unwrap()).unwrap();
        assert!(bytes.starts_with(&[0xff; 4]), "an Arrow stream");
        let again = system.resume(thread(), Answers::NONE, scene.session()).await.unwrap();
        assert_eq!(again.attachments.all().into_values().next(), Some(bytes), "{dies_after}");
        let once = if dies_after == "sql_result" { 1 } else { 2 };
        assert_eq!(scene.runs(NUMBERS), once, "{dies_after}");
        let second = system.ask("Show all numbers", session).await.unwrap();
        let id = second.output.data.unwrap().arrow.unwrap();
        assert!(second.attachments.get(&id).is_some(), "a new question runs its query itself");
        assert_eq!(scene.runs(NUMBERS), once + 1, "{dies_after}");
    }
}

#[tokio::test]
async fn a_new_question_in_a_thread_looks_at_the_database_again() {
    const QUERY: &str = "SELECT count(*) AS n FROM orders";
    let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    let sealed = SealedStore::new(store, Arc::new(Cipher::tagged()));
    let thread = Arc::new(StoredThread::new(sealed, "q1", Durability::Sync));
    let mut scene = Scene::new(&json!({}))
        .queries(&[QUERY, QUERY], "There are three.")
        .role("sql_answerer", [said("There are three.")])
        .role("composer", [said("There are three."), said("There are three.")]);
    let model = scene.model();
    let system = scene.system(&model);
    for question in ["How many orders are there?", "And now?"] {
        let session = Session { thread: Some(thread.clone()), ..scene.session() };
        let result = system.ask(question, session).await.unwrap();
        assert_eq!(result.outcome, Outcome::Answered, "{question}");
    }
    let calls = scene.database.as_ref().unwrap().calls.lock().unwrap();
    let is_run = |given: &Json| given["query"] == QUERY && given["check_only"] != json!(true);
    let runs = calls.iter().filter(|(_, given)| is_run(given)).count();
    assert_eq!(runs, 2, "{calls:?}");
}

#[tokio::test]
async fn a_question_that_runs_out_of_time_keeps_what_was_found() {
    let settings = json!({"question_timeout_s": 10});
    let mut scene = Scene::new(&settings)
        .with_sandbox([])
        .role("planner", [plan(&["sql", "computation"])])
        .queries(&[COUNT], "There are 3.");
    let clock = scene.clock.clone();
    let model = scene.model();
    let (asked, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let system = scene.system_with(Arc::new(Silent { model, asked }));
    let session = scene.session();
    let task = tokio::spawn(async move { system.ask("Count, then compare", session).await });
    hears.recv().await;
    clock.advance(std::time::Duration::from_secs(11));
    let result = task.await.unwrap().unwrap();
    assert_eq!(result.outcome, Outcome::Answered);
    let answer = &result.output.answer;
    let unfinished = "computation was not finished within the limits of the question.";
    assert_eq!(*answer, format!("sql: There are 3.\n{unfinished}"));
    assert_eq!(result.output.metadata["partial"], json!(true));
    assert_eq!(result.output.metadata["limit"], json!("wall_time"));
}

/// Dies at the end of a node, or when a tool has returned all numbers.
struct DyingWatcher(&'static str);

impl Watcher for DyingWatcher {
    fn see(&self, event: &Arc<Event>) {
        let is_there = match event.kind {
            EventKind::NodeFinished => event.path.last().is_some_and(|node| **node == *self.0),
            EventKind::ToolResult => {
                let rows = event.data.get("result").and_then(|found| found.get("row_count"));
                *event.name == *self.0 && rows == Some(&json!(1_500))
            }
            _ => false,
        };
        assert!(!is_there, "the process dies");
    }
}

/// A model that never answers as the coder.
struct Silent {
    model: Arc<ScriptedModel>,
    asked: tokio::sync::mpsc::UnboundedSender<()>,
}

#[async_trait::async_trait]
impl antiphon_runtime::Model for Silent {
    fn name(&self) -> &'static str {
        "test:silent"
    }

    async fn call(
        &self,
        request: &antiphon_core::ModelRequest,
        cx: &antiphon_runtime::CallContext,
    ) -> Result<antiphon_core::ModelReply, antiphon_core::Fault> {
        // Within the computation, the coder is its planner.
        let is_coder = request
            .schema
            .as_ref()
            .is_some_and(|schema| schema.json.pointer("/properties/python").is_some());
        if is_coder {
            let _ = self.asked.send(());
            std::future::pending::<()>().await;
        }
        self.model.call(request, cx).await
    }
}
