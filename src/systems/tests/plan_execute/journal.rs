//! The events of tasks: their order, their fields, and that every one that the specification lists
//! is told by some task.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_core::event::EventKind;
use antiphon_core::{Category, Fault};
use antiphon_queue::MemoryQueue;
use antiphon_runtime::{Answers, Queue, Tool};
use antiphon_systems::SystemStart;
use antiphon_systems::plan_execute::{ExecutionMode, StepErrorKind, TaskInput};
use antiphon_systems::sub_task::name::task_topic;
use antiphon_systems::sub_task::{SubTask, queue_settings};
use serde_json::{Value as Json, json};

use crate::fake_tools::{FakeTool, read, returns, search, step, write};
use crate::keeping::{input, session, store};
use crate::scene::{Scene, ScriptedRun, closed};
use crate::small_models::ask_small;

const SPECIFICATION: &str = include_str!("../../../../docs/systems/plan-execute.md");
const OF_STEPS: [&str; 5] = ["stageIndex", "stepId", "narrativeStep", "toolName", "agentRole"];

/// The events that the specification lists, each with its fields.
fn listed() -> Vec<(Vec<String>, BTreeSet<String>)> {
    let (_, section) = SPECIFICATION.split_once("\n## Events\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let quoted = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut cells = row.split('|').skip(1);
        (quoted(cells.next().unwrap()), quoted(cells.next().unwrap()).into_iter().collect())
    })
    .collect()
}

/// The pages "long", which is to be summarised, and "lost" and "gone", which are not there.
fn pages() -> Arc<FakeTool> {
    Arc::new(FakeTool::new("read_page", |arguments| match arguments["url"].as_str() {
        Some("lost" | "gone") => Err(closed("the server answered 404")),
        Some("long") => Ok(json!({"text": "Tea. ".repeat(1_000)})),
        _ => Ok(json!({"text": "Two minutes."})),
    }))
}

fn scene(settings: &Json) -> Scene {
    Scene::new(settings).tool(&pages())
}

async fn goes_well() -> ScriptedRun {
    let plan = json!([[read("r1", "long")], [write("w", "Shorten: @{outputs.r1.result_data}")]]);
    scene(&json!({}))
        .plans(&[plan])
        .role("summariser", [json!({"summary": "Two minutes."})])
        .role("step_executor", ["Two."])
        .answers("Two minutes.")
        .ask("How long?")
        .await
}

async fn fails() -> ScriptedRun {
    let first = json!([[read("r1", "a")], [read("r2", "lost")]]);
    let second = json!([[read("r1", "a")], [read("r3", "gone")], [read("r4", "a")]]);
    let scene = scene(&json!({"max_revisions": 1})).plans(&[first, second]);
    scene.answers("It is lost.").ask("How long?").await
}

#[tokio::test]
async fn a_task_that_is_done_tells_its_story_in_order() {
    assert_eq!(
        goes_well().await.journal(),
        [
            "TASK_RECEIVED",
            "CWC_INITIALIZED",
            "PLANNING_STARTED",
            "PLANNING_COMPLETED",
            "CWC_UPDATED_PRE_ATTEMPT",
            "EXECUTION_CYCLE_STARTED",
            "EXECUTION_ATTEMPT_START",
            "PLAN_EXECUTION_START",
            "EXECUTION_STAGE_START",
            "EXECUTION_STEP_DISPATCHED",
            "EXECUTION_STEP_RESULT_RECEIVED",
            "EXECUTION_DATA_SUMMARIZATION_START",
            "EXECUTION_DATA_SUMMARIZATION_SUCCESS",
            "EXECUTION_STEP_COMPLETED",
            "EXECUTION_STAGE_COMPLETED",
            "EXECUTION_STAGE_START",
            "EXECUTION_STEP_ORCHESTRATOR_START",
            "EXECUTION_STEP_RESULT_RECEIVED",
            "EXECUTION_STEP_COMPLETED",
            "EXECUTION_STAGE_COMPLETED",
            "CWC_UPDATED",
            "PLAN_EXECUTION_COMPLETED",
            "EXECUTION_ATTEMPT_SUCCESS",
            "EXECUTION_CYCLE_COMPLETED_SUCCESS",
            "CWC_UPDATE_LLM_START",
            "CWC_UPDATED_BY_LLM",
            "SYNTHESIS_STARTED",
            "FINAL_SYNTHESIS_START",
            "FINAL_SYNTHESIS_SUCCESS",
            "TASK_COMPLETED_SUCCESSFULLY",
        ]
    );
}

#[tokio::test]
async fn a_task_that_fails_tells_its_story_in_order() {
    let begins = ["EXECUTION_STAGE_START", "EXECUTION_STEP_DISPATCHED"];
    let read = ["EXECUTION_STEP_RESULT_RECEIVED", "EXECUTION_STEP_COMPLETED"];
    let completed = ["EXECUTION_STAGE_COMPLETED"];
    let lost = [
        "EXECUTION_STAGE_START",
        "EXECUTION_STEP_DISPATCHED",
        "EXECUTION_STEP_RESULT_ERROR",
        "EXECUTION_STEP_FAILED",
        "EXECUTION_STAGE_FAILED",
        "CWC_UPDATED",
        "PLAN_EXECUTION_FAILED",
        "EXECUTION_ATTEMPT_FAILED",
    ];
    let parts: [&[&str]; 10] = [
        &["TASK_RECEIVED", "CWC_INITIALIZED", "PLANNING_STARTED", "PLANNING_COMPLETED"],
        &["CWC_UPDATED_PRE_ATTEMPT", "EXECUTION_CYCLE_STARTED", "EXECUTION_ATTEMPT_START"],
        &["PLAN_EXECUTION_START"],
        &[&begins[..], &read, &completed].concat(),
        &lost,
        &["REPLANNING_STARTED", "REPLANNING_SUCCESS", "CWC_UPDATED_PRE_ATTEMPT"],
        &["REPLANNING_EXECUTION_ATTEMPT_START", "PLAN_EXECUTION_START", "EXECUTION_STAGE_START"],
        &["EXECUTION_STEP_REUSED", "EXECUTION_STEP_COMPLETED", "EXECUTION_STAGE_COMPLETED"],
        &[&lost[..], &["MAX_REVISIONS_REACHED", "EXECUTION_CYCLE_COMPLETED_FAILURE"]].concat(),
        &[
            "CWC_UPDATE_LLM_START",
            "CWC_UPDATED_BY_LLM",
            "SYNTHESIS_STARTED",
            "FINAL_SYNTHESIS_START",
            "FINAL_SYNTHESIS_SUCCESS",
            "TASK_FAILED_FINAL",
        ],
    ];
    assert_eq!(fails().await.journal(), parts.concat());
}

/// A plan that is made from a template, and only made; then a plan that is put right, and one in
/// which something is wrong.
async fn plans() -> Vec<(ScriptedRun, &'static [&'static str])> {
    let only = TaskInput { mode: ExecutionMode::PlanOnly, ..TaskInput::from("calculate 2*3") };
    let calculate = returns("calculate", &json!({"number": 6}));
    let template = Scene::new(&json!({})).tool(&calculate).ask(only).await;
    let loose = json!([[{"tool": "ReadWebpageTool", "sub_task_input": "a"}]]);
    let repaired = scene(&json!({})).plans(&[loose]).answers("Two.").ask("How long?").await;
    let empty = scene(&json!({})).plans(&[json!([]), json!([])]).answers("None.");
    let lost = json!({"stages": [[read("r1", "lost")]]}).to_string();
    let none = scene(&json!({"max_reasks": 0})).role("planner", [lost, "none".to_owned()]);
    vec![
        (template, &["PLAN_TEMPLATE_MATCHED", "TASK_PLANNED"]),
        (repaired, &["PLAN_REPAIRED"]),
        (empty.ask("How long?").await, &["PLAN_VALIDATION_FAILED", "PLANNING_FAILED"]),
        (none.answers("None.").ask("How long?").await, &["REPLANNING_FAILED"]),
    ]
}

/// Plans that a person changes and refuses.
async fn approvals() -> Vec<(ScriptedRun, &'static [&'static str])> {
    let changed = json!({"approve": true, "args": {"stages": [[read("r2", "a")]]}});
    let mut seen: Vec<(ScriptedRun, &'static [&'static str])> = Vec::new();
    for (answer, names) in
        [(changed, &["PLAN_CHANGED"]), (json!({"approve": false}), &["PLAN_REFUSED"])]
    {
        let scene = scene(&json!({"approve_plan": true}));
        let mut scene = scene.plans(&[json!([[read("r1", "a")]])]).answers("Two.");
        let (system, model) = scene.system();
        let paused = system.ask("How long?", scene.session()).await.unwrap();
        let start = SystemStart::Continue(paused.paused.unwrap(), Answers::Only(answer));
        let result = system.run(start, scene.session()).await.unwrap();
        seen.push((ScriptedRun { result, model }, names));
    }
    seen
}

/// Steps that are not prepared, that fail in part, and whose last one is the answer; with models
/// that fail, and a small one.
async fn steps() -> Vec<(ScriptedRun, &'static [&'static str])> {
    let lost = json!([[read("r1", "@{outputs.s9.result_data}")]]);
    let settings = json!({"max_reasks": 0, "max_revisions": 0});
    let unprepared = scene(&settings).plans(&[lost]).answers("Nothing.").ask("Read.").await;
    let half = json!({"result": "half", "partial_errors": [{"source": "b", "message": "lost"}]});
    let half = returns("half", &half);
    let partly = json!([[step("h", "UtilityAgent", "half", &json!({}))]]);
    let partly = Scene::new(&json!({})).tool(&half).plans(&[partly]).answers("Half.");
    let last = json!({"prompt": "Say two.", "isFinalAnswer": true});
    let last = json!([[step("w", "Orchestrator", "LLMStepExecutor", &last)]]);
    let last = scene(&json!({})).plans(&[last]).role("step_executor", ["Two."]).keeps_context();
    let alone = scene(&json!({})).plans(&[json!([[read("r1", "long")]])]).ask("Read.").await;
    let plan = json!({"stages": [[read("r1", "a")]]});
    let replies: [(&str, &[Json]); 2] =
        [("planner", &[plan]), ("synthesiser", &[json!({"answer": "Two."})])];
    let small = ask_small(&replies, &[pages()], "How long?").await;
    vec![
        (unprepared, &["EXECUTION_STEP_PREPARATION_FAILED"]),
        (partly.ask("Do it.").await, &["EXECUTION_STEP_PARTIAL_ERRORS"]),
        (
            last.ask("How long?").await,
            &["PLAN_EXECUTOR_FINAL_ANSWER_IDENTIFIED", "FINAL_SYNTHESIS_SKIPPED"],
        ),
        (
            alone,
            &[
                "EXECUTION_DATA_SUMMARIZATION_FAILED",
                "CWC_UPDATE_LLM_ERROR",
                "FINAL_SYNTHESIS_FAILED",
            ],
        ),
        (small, &["CWC_POST_EXECUTION_CYCLE"]),
    ]
}

/// Failures that come again, credentials that are refused, and a thread that keeps a task.
async fn limits() -> Vec<(ScriptedRun, &'static [&'static str])> {
    let same = ["r2", "r3", "r4"].map(|id| json!([[read(id, id)], [read("r1", "lost")]]));
    let failing = |settings: &Json| scene(settings).plans(&same).answers("It is lost.");
    let cycle = failing(&json!({"max_revisions": 9})).ask("How long?").await;
    let total = failing(&json!({"max_total_replans": 1})).ask("How long?").await;
    let refused: [Arc<dyn Tool>; 1] = [Arc::new(FakeTool::new("web_search", |_| {
        Err(Fault::foreign(Category::Auth, "key_refused", "the key is refused"))
    }))];
    let usual = returns("web_search", &json!([])) as Arc<dyn Tool>;
    let profiles = json!({"role_profiles": {"ResearchAgent": ["old", "new"]}});
    let profiled = Scene::new(&profiles)
        .native(&usual)
        .key_profile("old", &refused)
        .key_profile("new", std::slice::from_ref(&usual))
        .plans(&[json!([[search("s1", "tea")]])])
        .answers("Tea.");
    let store = store();
    let mut kept = scene(&json!({})).plans(&[json!([[read("r1", "a")]])]).keeps_context();
    kept = kept.role("synthesiser", [json!({"answer": "Two."}), json!({"answer": "Two again."})]);
    let (system, model) = kept.system();
    let full = input("How long?", ExecutionMode::ExecuteFullPlan);
    system.ask(full, session(&kept, &store)).await.unwrap();
    let again = input("", ExecutionMode::SynthesizeOnly);
    let result = system.ask(again, session(&kept, &store)).await.unwrap();
    vec![
        (cycle, &["REPLAN_CYCLE_LIMIT_EXCEEDED"]),
        (total, &["REPLAN_TOTAL_LIMIT_EXCEEDED"]),
        (profiled.ask("Tea?").await, &["EXECUTION_STEP_PROFILE_REFUSED"]),
        (ScriptedRun { result, model }, &["CWC_LOADED"]),
    ]
}

/// A worker that sends the result of the first step while the second one is under way.
async fn late() -> ScriptedRun {
    let plans = [json!([[search("s1", "tea")]]), json!([[search("s2", "green tea")]])];
    let mut scene = Scene::new(&json!({"step_timeout_s": 5}))
        .tool(&returns("web_search", &json!("not called")))
        .plans(&plans)
        .answers("Two.");
    let queue = Arc::new(MemoryQueue::new(queue_settings(), scene.clock.clone()));
    scene.queue = Some(queue.clone());
    let topic = task_topic("ResearchAgent").unwrap();
    let _guard = queue.register_consumer(&topic);
    let working = async {
        let mut taken = Vec::new();
        while taken.len() < 2 {
            taken.extend(queue.take(&topic, 1, Duration::from_mins(1)).await.unwrap());
        }
        for delivery in taken {
            let task = SubTask::read(&delivery.message).unwrap();
            let result = task.result(Ok(json!(format!("of {}", task.step_id))));
            let message = result.message(&task.result_topic, Time::from_micros(u64::MAX));
            queue.publish(message, Duration::ZERO).await.unwrap();
        }
        std::future::pending::<()>().await;
    };
    tokio::select! { run = scene.ask("Tea?") => run, () = working => unreachable!() }
}

/// PE-18 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_late_result_is_told_and_does_not_disturb_the_next_attempt() {
    let run = late().await;
    let first = &run.output().attempt_history[0].execution_context[0];
    assert_eq!(first.error_details.as_ref().unwrap().kind, StepErrorKind::Timeout);
    assert_eq!(run.step("s2").raw_result_data, "of s2");
    let dropped = run.notes("EXECUTION_STEP_RESULT_DROPPED");
    let id = first.sub_task_id.clone().unwrap();
    assert_eq!(dropped, [json!({"message_id": id, "reason": "late"})]);
}

/// PE-43 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn every_event_of_the_specification_is_told_with_the_fields_that_it_lists() {
    let mut all: Vec<(ScriptedRun, &[&str])> = vec![
        (goes_well().await, &["TASK_COMPLETED_SUCCESSFULLY"]),
        (fails().await, &["MAX_REVISIONS_REACHED"]),
        (late().await, &["EXECUTION_STEP_RESULT_DROPPED"]),
    ];
    all.extend(Box::pin(plans()).await);
    all.extend(Box::pin(approvals()).await);
    all.extend(Box::pin(steps()).await);
    all.extend(Box::pin(limits()).await);
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (run, names) in &all {
        let journal = run.journal();
        assert!(names.iter().all(|name| journal.contains(name)), "{names:?}: {journal:?}");
        let notes = run.result.events.iter().filter(|event| event.kind == EventKind::Custom);
        for event in notes {
            let data = event.data.to_json();
            let fields = data.as_object().into_iter().flatten().map(|(name, _)| name.clone());
            told.entry(event.name.to_string()).or_default().extend(fields);
        }
    }
    let mut listed_names = BTreeSet::new();
    for (names, fields) in listed() {
        let seen = names.iter().filter_map(|name| told.get(name)).flatten().cloned();
        let seen: BTreeSet<String> =
            seen.filter(|field| !OF_STEPS.contains(&field.as_str())).collect();
        let fields = fields.into_iter().filter(|field| !OF_STEPS.contains(&field.as_str()));
        assert_eq!(seen, fields.collect(), "{names:?}");
        listed_names.extend(names);
    }
    assert_eq!(told.into_keys().collect::<BTreeSet<_>>(), listed_names);
}
