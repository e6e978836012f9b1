//! Tasks in threads: resumed after a crash, and continued later.

use std::sync::Arc;

use antiphon_core::{Category, Fault};
use antiphon_runtime::{Answers, ManualClock, Store};
use antiphon_stores::{Cipher, Durability, MemoryStore, SealedStore, StoredThread};
use antiphon_systems::plan_execute::{
    AnswerSource, ExecutionMode, PlanSource, TaskInput, TaskStatus,
};
use antiphon_systems::{Outcome, Session};
use serde_json::{Value as Json, json};
use tokio::sync::Notify;

use crate::fake_tools::{FakeTool, step};
use crate::scene::Scene;

pub(crate) fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::new(ManualClock::default())))
}

pub(crate) fn session(scene: &Scene, store: &Arc<dyn Store>) -> Session {
    let sealed = SealedStore::new(Arc::clone(store), Arc::new(Cipher::tagged()));
    let thread = Arc::new(StoredThread::new(sealed, "task", Durability::Sync));
    Session { thread: Some(thread), ..scene.session() }
}

pub(crate) fn say(id: &str, text: &str) -> Json {
    step(id, "UtilityAgent", "say", &json!({"text": text}))
}

pub(crate) fn input(question: &str, mode: ExecutionMode) -> TaskInput {
    TaskInput { question: question.to_owned(), mode, ..TaskInput::default() }
}

/// PE-25 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_plan_is_executed_the_next_day_and_its_results_are_worded_again() {
    let tool = Arc::new(FakeTool::new("say", |arguments| Ok(arguments["text"].clone())));
    let mut scene = Scene::new(&json!({}))
        .tool(&tool)
        .plans(&[json!([[say("a", "hello")]])])
        .keeps_context()
        .role("synthesiser", [json!({"answer": "Hello."}), json!({"answer": "Hello again."})]);
    let (system, model) = scene.system();
    let store = store();
    let only_plan = input("Greet.", ExecutionMode::PlanOnly);
    let planned = system.ask(only_plan, session(&scene, &store)).await.unwrap();
    assert_eq!(planned.output.status, TaskStatus::PlanGenerated);
    assert!(tool.calls().is_empty());
    let next = input("", ExecutionMode::ExecutePlannedTask);
    let done = system.ask(next, session(&scene, &store)).await.unwrap();
    assert_eq!(
        (done.output.answer.as_str(), done.output.original_task.as_str()),
        ("Hello.", "Greet.")
    );
    assert_eq!(done.output.plan_source, Some(PlanSource::Saved));
    let again = input("", ExecutionMode::SynthesizeOnly);
    let again = system.ask(again, session(&scene, &store)).await.unwrap();
    assert_eq!((again.output.answer.as_str(), tool.calls().len()), ("Hello again.", 1));
    let planners = model.requests();
    let planners =
        planners.iter().filter(|it| it.tags.get("role").is_some_and(|it| it == "planner"));
    assert_eq!(planners.count(), 1);
}

/// PE-25 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_plan_stays_in_the_thread_when_its_results_are_worded_again() {
    let tool = Arc::new(FakeTool::new("say", |arguments| Ok(arguments["text"].clone())));
    let mut scene = Scene::new(&json!({}))
        .tool(&tool)
        .plans(&[json!([[say("a", "hello")]])])
        .keeps_context()
        .role("synthesiser", ["Hello.", "Hello again.", "Hello anew."]);
    let (system, _) = scene.system();
    let store = store();
    system
        .ask(input("Greet.", ExecutionMode::ExecuteFullPlan), session(&scene, &store))
        .await
        .unwrap();
    let again = input("", ExecutionMode::SynthesizeOnly);
    let again = system.ask(again, session(&scene, &store)).await.unwrap();
    assert_eq!(again.output.plan.0[0][0].step_id, "a");
    assert_eq!((again.output.plan_source, again.output.attempts), (Some(PlanSource::Saved), 1));
    let anew = input("", ExecutionMode::ExecutePlannedTask);
    let anew = system.ask(anew, session(&scene, &store)).await.unwrap();
    assert_eq!(anew.outcome, Outcome::Answered, "{:?}", anew.error);
    assert_eq!((anew.output.answer.as_str(), tool.calls().len()), ("Hello anew.", 2));
}

#[tokio::test]
async fn a_saved_plan_that_can_no_longer_run_stays_in_the_thread() {
    let tool = Arc::new(FakeTool::new("say", |arguments| Ok(arguments["text"].clone())));
    let store = store();
    let mut scene = Scene::new(&json!({})).tool(&tool).plans(&[json!([[say("a", "hello")]])]);
    let (system, _) = scene.system();
    let planned = input("Greet.", ExecutionMode::PlanOnly);
    system.ask(planned, session(&scene, &store)).await.unwrap();
    let execute = || input("", ExecutionMode::ExecutePlannedTask);

    let mut scene = Scene::new(&json!({})).role("synthesiser", ["The tool is gone."]);
    let (system, _) = scene.system();
    let lost = system.ask(execute(), session(&scene, &store)).await.unwrap();
    assert_eq!(lost.output.status, TaskStatus::FailedPlanning);
    let mut scene = Scene::new(&json!({})).tool(&tool).answers("Hello.");
    let (system, _) = scene.system();
    let done = system.ask(execute(), session(&scene, &store)).await.unwrap();
    assert_eq!(done.output.answer, "Hello.", "{:?}", done.error);
}

/// PE-38 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_failure_is_explained_again_and_stays_one() {
    let lost = |_: &Json| Err(Fault::foreign(Category::Tool, "tool_failed", "the line is dead"));
    let replies =
        [json!({"answer": "Nobody was reached."}), json!({"answer": "The line is dead."})];
    let mut scene = Scene::new(&json!({"max_revisions": 0}))
        .tool(&Arc::new(FakeTool::new("say", lost)))
        .plans(&[json!([[say("a", "hello")]])])
        .keeps_context()
        .role("synthesiser", replies);
    let (system, model) = scene.system();
    let store = store();
    let failed = input("Greet.", ExecutionMode::ExecuteFullPlan);
    let failed = system.ask(failed, session(&scene, &store)).await.unwrap();
    for (said, source) in [
        ("The line is dead.", AnswerSource::FailureExplanation),
        // Its script has ended: code explains the failure.
        ("The task was not completed: the step a failed", AnswerSource::FailureExplanation),
    ] {
        let again = input("", ExecutionMode::SynthesizeOnly);
        let again = system.ask(again, session(&scene, &store)).await.unwrap();
        let output = &again.output;
        assert_eq!((output.status, again.outcome), (TaskStatus::FailedExecution, failed.outcome));
        assert_eq!((output.answer.as_str(), output.success), ("", false));
        assert!(output.final_answer.as_ref().unwrap().starts_with(said), "{output:?}");
        assert_eq!(output.final_answer_source, Some(source));
        assert_eq!((&output.plan, output.attempts), (&failed.output.plan, 1));
        assert_eq!(output.error_summary, failed.output.error_summary);
    }
    let explained = model.requests();
    let read = explained[3].messages.last().unwrap().content.to_string();
    assert!(read.contains("the line is dead") && read.contains("Attempts: 1."), "{read}");
}

#[tokio::test]
async fn a_thread_without_a_task_has_nothing_to_go_on_with() {
    for mode in [ExecutionMode::ExecutePlannedTask, ExecutionMode::SynthesizeOnly] {
        let mut scene = Scene::new(&json!({}));
        let (system, _) = scene.system();
        let result = system.ask(input("", mode), session(&scene, &store())).await.unwrap();
        assert_eq!(result.outcome, Outcome::Error);
        assert_eq!(result.error.unwrap().code, "thread_empty");
    }
}

/// PE-26 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_task_whose_process_died_goes_on_after_the_stages_that_are_done() {
    let reached = Arc::new(Notify::new());
    let mut dying = FakeTool::new("say", |arguments| Ok(arguments["text"].clone()));
    dying.heard = Some(Arc::clone(&reached));
    dying.delay = Box::new(|arguments| {
        std::time::Duration::from_secs(if arguments["text"] == "one and two" { 9 } else { 0 })
    });
    let dying = Arc::new(dying);
    let plan = json!([
        [say("a", "one")],
        [say("b", "@{outputs.a.result_data} and two")],
        [say("c", "@{outputs.b.result_data} and three")],
    ]);
    let mut scene = Scene::new(&json!({})).tool(&dying).plans(&[plan]).answers("Three.");
    let (system, model) = scene.system();
    let store = store();
    let first = session(&scene, &store);
    let task = tokio::spawn(async move { system.ask("Count.", first).await });
    reached.notified().await;
    task.abort();
    let _ = task.await;

    let tool = Arc::new(FakeTool::new("say", |arguments| Ok(arguments["text"].clone())));
    let scene = Scene::new(&json!({})).tool(&tool);
    let system = scene.system_with(model);
    let resumed = session(&scene, &store);
    let thread = resumed.thread.clone().unwrap();
    let result = system.resume(thread, Answers::NONE, scene.session()).await.unwrap();
    assert_eq!(result.outcome, Outcome::Answered, "{:?}", result.error);
    assert_eq!(
        tool.calls(),
        [json!({"text": "one and two"}), json!({"text": "one and two and three"})],
        "the first stage is not repeated"
    );
}
