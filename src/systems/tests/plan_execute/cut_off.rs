//! Tasks that a limit cuts off, wherever it does, and what the thread then makes of them.

use std::sync::Arc;

use antiphon_core::budget::Limits;
use antiphon_runtime::Store;
use antiphon_systems::plan_execute::{
    AnswerSource, ExecutionMode, StepStatus, TaskInput, TaskStatus,
};
use antiphon_systems::{Outcome, Session};
use serde_json::{Value as Json, json};

use crate::fake_tools::{FakeTool, step};
use crate::keeping::{input, say, session, store};
use crate::scene::{Scene, ScriptedRun, closed};

fn echo() -> Arc<FakeTool> {
    Arc::new(FakeTool::new("say", |arguments| Ok(arguments["text"].clone())))
}

/// A task of two stages after which the synthesiser would say this; it has so many supersteps.
async fn ask_in(store: &Arc<dyn Store>, supersteps: u64, answer: &str) -> ScriptedRun {
    let plan = json!([[say("a", "one")], [say("b", "two")]]);
    let mut scene = Scene::new(&json!({})).tool(&echo()).plans(&[plan]).answers(answer);
    let (system, model) = scene.system();
    let limits = Limits { supersteps: Some(supersteps), ..Limits::default() };
    let limited = Session { limits, ..session(&scene, store) };
    let result = system.ask(input("Count.", ExecutionMode::ExecuteFullPlan), limited).await;
    ScriptedRun { result: result.unwrap(), model }
}

async fn word_again(store: &Arc<dyn Store>, replies: &[&str]) -> ScriptedRun {
    let replies = replies.iter().map(|answer| json!({"answer": answer})).collect::<Vec<Json>>();
    let mut scene = Scene::new(&json!({})).tool(&echo()).role("synthesiser", replies);
    let (system, model) = scene.system();
    let again = input("", ExecutionMode::SynthesizeOnly);
    let result = system.ask(again, session(&scene, store)).await.unwrap();
    ScriptedRun { result, model }
}

fn completed(run: &ScriptedRun) -> usize {
    let done = |status: StepStatus| status == StepStatus::Completed;
    run.output().executed_plan.iter().filter(|entry| done(entry.status)).count()
}

/// PE-41 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_task_that_was_cut_off_is_never_worded_as_done() {
    let mut seen = Vec::new();
    for supersteps in 1.. {
        let store = store();
        let run = ask_in(&store, supersteps, "All of it.").await;
        let (output, done) = (run.output(), completed(&run));
        if output.status == TaskStatus::Completed {
            assert_eq!((done, run.result.outcome), (2, Outcome::Answered));
            break;
        }
        seen.push((output.status, done));
        assert_eq!(run.result.outcome, Outcome::Budget, "{output:?}");
        assert_eq!((output.answer.as_str(), output.success), ("", false));
        for (replies, source) in
            [(vec!["All is done."], "All is done."), (vec![], "What was done:\n- do a: one")]
        {
            let again = word_again(&store, &replies).await;
            if done == 0 {
                assert_eq!(again.result.error.as_ref().unwrap().code, "thread_empty");
                continue;
            }
            let known = again.output();
            assert_eq!((known.status, again.result.outcome), (output.status, Outcome::Budget));
            assert_eq!((known.answer.as_str(), known.success), ("", false));
            assert_eq!(known.final_answer_source, Some(AnswerSource::FailureExplanation));
            let said = known.final_answer.as_deref().unwrap();
            let partial = format!("The task was not finished: {done} of 2 steps were completed.");
            assert!(said.starts_with(&partial) && said.ends_with(source), "{said}");
        }
    }
    assert!(seen.contains(&(TaskStatus::Executing, 1)), "{seen:?}");
}

#[tokio::test]
async fn a_partial_result_is_worded_from_what_was_found() {
    let store = store();
    let mut supersteps = 1;
    while completed(&ask_in(&store, supersteps, "All.").await) == 0 {
        supersteps += 1;
    }
    let again = word_again(&store, &["One was found."]).await;
    let read = again.read_by("synthesiser");
    assert!(read.contains("<result name=\"do a\">\none\n</result>"), "{read}");
    assert!(read.contains("1 of 2 steps were completed"), "{read}");
    let said = again.output().final_answer.as_deref().unwrap();
    assert!(said.ends_with("\n\nOne was found."), "{said}");
}

/// Waits for a mood that never comes.
fn moody(id: &str, mood: &str) -> Json {
    step(id, "UtilityAgent", "moody", &json!({"mood": mood}))
}

/// PE-42 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn the_limits_of_revisions_hold_for_all_runs_of_a_task() {
    let store = store();
    let settings = json!({"max_revisions": 2, "max_total_replans": 3});
    let ask = async |asked: TaskInput, moods: &[&str]| {
        let tool = FakeTool::new("moody", |arguments| match arguments["mood"].as_str() {
            Some("good") => Ok(json!("found")),
            mood => Err(closed(&format!("{} mood", mood.unwrap_or_default()))),
        });
        let plans: Vec<Json> = moods.iter().map(|mood| json!([[moody("a", mood)]])).collect();
        let mut scene = Scene::new(&settings).tool(&Arc::new(tool)).plans(&plans);
        scene = scene.answers("It is so.");
        let (system, model) = scene.system();
        ScriptedRun { result: system.ask(asked, session(&scene, &store)).await.unwrap(), model }
    };
    let full = || input("Find it.", ExecutionMode::ExecuteFullPlan);
    let saved = || input("", ExecutionMode::ExecutePlannedTask);
    let outcomes = |run: &ScriptedRun| {
        let history = &run.output().replan_history;
        let outcome = history.iter().map(|record| ScriptedRun::wire(record.outcome));
        (history.last().map(|last| last.cycle_id), outcome.collect::<Vec<_>>())
    };

    let first = ask(full(), &["bad", "worse", "worst"]).await;
    assert!(first.journal().contains(&"MAX_REVISIONS_REACHED"));
    assert_eq!(outcomes(&first), (Some(2), vec!["FAILED".to_owned(); 2]));
    let second = ask(saved(), &["grim", "good"]).await;
    assert!(second.journal().contains(&"REPLAN_TOTAL_LIMIT_EXCEEDED"), "{:?}", second.journal());
    assert_eq!(
        (second.output().attempts, second.output().status),
        (2, TaskStatus::FailedExecution)
    );
    assert_eq!(outcomes(&second), (Some(3), vec!["FAILED".to_owned(); 3]));
    let third = ask(saved(), &["good"]).await;
    assert_eq!(third.output().attempts, 1, "no plan is left");
    assert_eq!(third.output().replan_history.len(), 3);

    let other = ask(full(), &["bad", "good"]).await;
    assert_eq!(other.output().status, TaskStatus::Completed, "another task begins anew");
    assert_eq!(outcomes(&other), (Some(1), vec!["COMPLETED".to_owned()]));
    let again = ask(saved(), &[]).await;
    assert_eq!(again.output().status, TaskStatus::Completed);
    assert_eq!(outcomes(&again), (None, vec![]), "a task that is done begins anew");
}

/// PE-42 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_request_for_a_plan_says_what_came_of_it() {
    let tool = Arc::new(FakeTool::new("moody", |_| Err(closed("it is lost"))));
    let scene = Scene::new(&json!({"max_reasks": 0})).tool(&tool);
    let plan = json!({"stages": [[moody("a", "bad")]]}).to_string();
    let run = scene
        .role("planner", [plan, "no plan".to_owned()])
        .answers("It is so.")
        .ask("Find it.")
        .await;
    assert_eq!(ScriptedRun::wire(run.output().replan_history[0].outcome), "NO_PLAN");
}

/// PE-42 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_revised_plan_that_a_later_run_completes_says_so() {
    let ask = async |store: &Arc<dyn Store>, asked: TaskInput, supersteps: Option<u64>| {
        let tool = FakeTool::new("moody", |given| match given["mood"].as_str() {
            Some("good") => Ok(json!("found")),
            _ => Err(closed("it is lost")),
        });
        let plans = ["bad", "good"].map(|mood| json!([[moody("a", mood)]]));
        let mut scene = Scene::new(&json!({})).tool(&Arc::new(tool)).plans(&plans);
        scene = scene.answers("It is so.");
        let (system, model) = scene.system();
        let limits = Limits { supersteps, ..Limits::default() };
        let session = Session { limits, ..session(&scene, store) };
        ScriptedRun { result: system.ask(asked, session).await.unwrap(), model }
    };
    let last = |run: &ScriptedRun| {
        let last = run.output().replan_history.last();
        last.map(|record| ScriptedRun::wire(record.outcome)).unwrap_or_default()
    };
    let mut later_runs = 0;
    for supersteps in 1.. {
        let store = store();
        let full = input("Find it.", ExecutionMode::ExecuteFullPlan);
        let first = ask(&store, full, Some(supersteps)).await;
        if first.output().status == TaskStatus::Completed {
            break;
        }
        if last(&first) == "PLANNED" {
            let saved = input("", ExecutionMode::ExecutePlannedTask);
            let second = ask(&store, saved, None).await;
            assert_eq!(second.output().status, TaskStatus::Completed, "{supersteps}");
            assert_eq!(last(&second), "COMPLETED", "{supersteps}");
            later_runs += 1;
        }
    }
    assert!(later_runs > 0, "no limit cuts a revised plan off");
}
