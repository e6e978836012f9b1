//! Conversations in threads, and questions that are lost on the way.

use std::sync::Arc;

use antiphon_core::SideEffect;
use antiphon_core::approval::Approval;
use antiphon_models::ScriptedModel;
use antiphon_runtime::{Answers, ManualClock, Store};
use antiphon_stores::{Cipher, Durability, MemoryStore, SealedStore, StoredThread};
use antiphon_systems::agentic_search::{AgenticSearch, SearchAnswer, State, TaskErrorKind};
use antiphon_systems::{Outcome, Session, SystemResult, SystemRunner, SystemStart};
use serde_json::{Value as Json, json};
use tokio::sync::Notify;

use crate::scene::{FakeTool, Scene, answer, in_time, plan, says, task};

fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::new(ManualClock::default())))
}

fn thread(store: &Arc<dyn Store>) -> Arc<StoredThread> {
    let sealed = SealedStore::new(Arc::clone(store), Arc::new(Cipher::tagged()));
    Arc::new(StoredThread::new(sealed, "session", Durability::Sync))
}

async fn turn(
    system: &SystemRunner<AgenticSearch>,
    store: &Arc<dyn Store>,
    question: &str,
) -> SystemResult<SearchAnswer, State> {
    let session = Session {
        thread: Some(thread(store)),
        run_id: question.to_owned(),
        ..Session::new(Arc::new(ManualClock::default()))
    };
    system.ask(question, session).await.unwrap()
}

#[tokio::test]
async fn another_question_of_a_file_does_not_replace_one_that_waits() {
    let mut tool = FakeTool::search("paid", |_| Ok(json!("12")));
    tool.spec.approval = Approval::Person;
    let mut scene = Scene::new(&json!({}))
        .tool(&Arc::new(tool))
        .planner([plan(&[task("paid", "a")])])
        .synthesiser([answer("<p>12</p>")]);
    let (system, _) = scene.system();
    let store = store();
    let session = || Session { thread: Some(thread(&store)), ..scene.session() };
    let asked = |start| system.run(start, session());
    let paused = asked(SystemStart::AskOnce("How many?".into())).await.unwrap();
    assert_eq!(paused.outcome, Outcome::Paused);
    for start in [SystemStart::AskOnce("How large?".into()), SystemStart::AskAgain("Why?".into())] {
        let refused = asked(start).await.err().unwrap();
        assert_eq!(refused.code, "thread_paused");
        assert!(refused.message.contains("may `paid` be called"), "{refused}");
    }
    let same = asked(SystemStart::AskOnce("How many?".into())).await.unwrap();
    assert_eq!((same.outcome, same.questions), (Outcome::Paused, paused.questions));
    let answers = Answers::Only(json!(true));
    let answered = asked(SystemStart::Resume(answers)).await.unwrap();
    assert_eq!(answered.output.answer, "12");
    let next = asked(SystemStart::AskOnce("How large?".into())).await.unwrap();
    assert_eq!(next.state.query, "How large?", "an ended question is put aside");
}

/// AS-16 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_conversation_keeps_ten_turns_as_text_and_shows_the_last_three() {
    let plans: Vec<Json> =
        (1..=13).map(|number| plan(&[task("stories", &number.to_string())])).collect();
    let answers: Vec<Json> = (1..=13)
        .map(|number| answer(&format!("<p>Answer <b>{number}</b>.</p><p>&lt;more&gt;</p>")))
        .collect();
    let mut scene =
        Scene::new(&json!({})).tool(&says("stories", "12")).planner(plans).synthesiser(answers);
    let (system, model) = scene.system();
    let store = store();
    let mut last = None;
    for number in 1..=12 {
        last = Some(turn(&system, &store, &format!("Question {number}?")).await);
    }
    let history = last.unwrap().state.conversation_history;
    assert_eq!(history.len(), 10);
    assert_eq!(history[0].query, "Question 3?");
    assert_eq!(history[9].response, "Answer 12.\n<more>");
    let followup = turn(&system, &store, "Question 13?").await;
    assert!(followup.output.is_followup);
    let requests = model.requests();
    let prompt = requests[24].messages[1].content.to_string();
    assert_eq!(prompt.matches("<turn>").count(), 3, "{prompt}");
    for number in 10..=12 {
        assert!(prompt.contains(&format!("question: Question {number}?")), "{prompt}");
    }
    assert_eq!(followup.output.thinking_steps.len(), 8, "steps are those of this turn");
}

/// AS-17 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_new_session_has_no_history() {
    let mut scene = Scene::new(&json!({}))
        .tool(&says("stories", "12"))
        .planner([plan(&[task("stories", "a")])])
        .synthesiser([answer("<p>12.</p>")]);
    let (system, _) = scene.system();
    let result = turn(&system, &store(), "How many?").await;
    assert!(!result.output.is_followup);
    assert_eq!(result.state.conversation_history.len(), 1);
}

/// AS-31 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn two_questions_at_once_in_one_thread_run_one_after_the_other() {
    let mut tool = FakeTool::search("stories", |_| Ok(json!("12")));
    tool.delay = std::time::Duration::from_secs(3);
    let tool = Arc::new(tool);
    let plans = [plan(&[task("stories", "a")]), plan(&[task("stories", "b")])];
    let answers = [answer("<p>12.</p>"), answer("<p>13.</p>")];
    let scene_with = |settings: &Json| {
        let scene = Scene::new(settings).tool(&tool);
        scene.planner(plans.clone()).synthesiser(answers.clone())
    };
    let mut scene = scene_with(&json!({}));
    let (system, _) = scene.system();
    let store = store();
    let session = |scene: &Scene| Session { thread: Some(thread(&store)), ..scene.session() };
    let both = async {
        tokio::join!(system.ask("First?", session(&scene)), system.ask("Second?", session(&scene)))
    };
    let (first, second) = in_time(&scene.clock, Box::pin(both)).await;
    let turns = |result: SystemResult<SearchAnswer, State>| -> Vec<String> {
        result.state.conversation_history.into_iter().map(|turn| turn.query).collect()
    };
    assert_eq!(turns(first.unwrap()), ["First?"]);
    assert_eq!(turns(second.unwrap()), ["First?", "Second?"]);

    let mut scene = scene_with(&json!({"session_concurrency": "reject"}));
    let (system, _) = scene.system();
    let both = async {
        tokio::join!(system.ask("First?", session(&scene)), system.ask("Second?", session(&scene)))
    };
    let (first, second) = in_time(&scene.clock, Box::pin(both)).await;
    assert_eq!(first.unwrap().outcome, Outcome::Answered);
    assert_eq!(second.unwrap_err().code, "thread_busy");
}

#[tokio::test]
async fn an_empty_plan_answers_from_the_conversation() {
    let mut scene = Scene::new(&json!({}))
        .tool(&says("stories", "12"))
        .planner([plan(&[task("stories", "a")]), plan(&[])])
        .synthesiser([answer("<p>12.</p>"), answer("<p>As I said, 12.</p>")]);
    let (system, model) = scene.system();
    let store = store();
    turn(&system, &store, "How many?").await;
    let second = turn(&system, &store, "How many again?").await;
    assert_eq!((second.spent.model_calls, second.spent.tool_calls), (2, 0));
    assert_eq!(second.output.answer, "As I said, 12.");
    assert_eq!(model.remaining(), 0);
}

/// Asks until a tool is called for the `n`th time, and leaves the run there.
async fn lose_at_call(
    system: &SystemRunner<AgenticSearch>,
    store: &Arc<dyn Store>,
    reached: &Notify,
) {
    tokio::select! {
        biased;
        _ = turn(system, store, "How many?") => unreachable!("the tool never returns"),
        () = reached.notified() => {}
    }
}

/// A tool whose second call never returns, until it is told that it may.
struct Stuck {
    inner: FakeTool,
    reached: Arc<Notify>,
    calls: std::sync::atomic::AtomicUsize,
}

#[async_trait::async_trait]
impl antiphon_runtime::Tool for Stuck {
    fn spec(&self) -> &antiphon_core::ToolSpec {
        &self.inner.spec
    }

    async fn call(
        &self,
        arguments: Json,
        cx: &antiphon_runtime::CallContext,
    ) -> antiphon_core::ToolOutcome {
        if self.calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1 {
            self.reached.notify_one();
            std::future::pending::<()>().await;
        }
        self.inner.call(arguments, cx).await
    }
}

fn stuck(side_effect: SideEffect) -> (Arc<Stuck>, Arc<Notify>) {
    let mut inner = FakeTool::search("stories", |_| Ok(json!("12 stories")));
    inner.spec.side_effect = side_effect;
    let reached = Arc::new(Notify::new());
    let calls = std::sync::atomic::AtomicUsize::new(0);
    (Arc::new(Stuck { inner, reached: Arc::clone(&reached), calls }), reached)
}

fn system_with(tool: &Arc<Stuck>) -> (SystemRunner<AgenticSearch>, Arc<ScriptedModel>) {
    let tasks = [task("stories", "a"), task("stories", "b"), task("stories", "c")];
    let mut scene = Scene::new(&json!({"execution": "sequential"}))
        .planner([plan(&tasks)])
        .synthesiser([answer("<p>12.</p>")]);
    scene.tools.push(Arc::<Stuck>::clone(tool));
    scene.system()
}

/// AS-28 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_lost_question_goes_on_without_a_call_or_a_plan_made_twice() {
    let (tool, reached) = stuck(SideEffect::Read);
    let (system, model) = system_with(&tool);
    let store = store();
    lose_at_call(&system, &store, &reached).await;
    // The runner stands for another process: all it has is the store.
    let session = Session::new(Arc::new(ManualClock::default()));
    let result = system.resume(thread(&store), Answers::NONE, session).await.unwrap();
    assert_eq!((result.outcome, &*result.output.answer), (Outcome::Answered, "12."));
    let sent: Vec<Json> = tool.inner.calls().iter().map(|call| call["query"].clone()).collect();
    assert_eq!(sent, ["a", "b", "c"], "the first is not repeated");
    let asked: Vec<String> = model.requests().iter().map(|one| one.tags["role"].clone()).collect();
    assert_eq!(asked, ["planner", "synthesiser"]);
}

#[tokio::test]
async fn an_effect_that_may_have_happened_is_not_repeated() {
    let (tool, reached) = stuck(SideEffect::External);
    let (system, _) = system_with(&tool);
    let store = store();
    lose_at_call(&system, &store, &reached).await;
    let session = Session::new(Arc::new(ManualClock::default()));
    let result = system.resume(thread(&store), Answers::NONE, session).await.unwrap();
    let plan = result.output.execution_plan.unwrap();
    assert_eq!(plan.tasks[1].error.as_ref().unwrap().kind, TaskErrorKind::UnknownOutcome);
    let sent: Vec<Json> = tool.inner.calls().iter().map(|call| call["query"].clone()).collect();
    assert_eq!(sent, ["a", "c"]);
    assert_eq!(result.outcome, Outcome::Answered);
}
