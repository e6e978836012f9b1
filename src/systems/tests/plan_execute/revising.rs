//! Revised plans, answers and explanations.

use std::sync::Arc;

use antiphon_core::{Category, Fault, SideEffect};
use antiphon_systems::Outcome;
use antiphon_systems::plan_execute::record::ReplanOutcome;
use antiphon_systems::plan_execute::{AnswerSource, StepStatus, TaskStatus};
use serde_json::{Value as Json, json};

use crate::fake_tools::{FakeTool, step};
use crate::scene::{Scene, closed};

/// A tool that fails with its input, unless that is `good`.
fn moody() -> Arc<FakeTool> {
    Arc::new(FakeTool::new("moody", |arguments| match arguments["mood"].as_str() {
        Some("good") => Ok(json!("found")),
        Some(mood) => Err(closed(&format!("{mood} mood"))),
        None => Ok(json!("nothing")),
    }))
}

fn mood(id: &str, mood: &str) -> Json {
    step(id, "UtilityAgent", "moody", &json!({"mood": mood}))
}

/// PE-11 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_plan_that_fails_is_revised_once_with_all_that_is_known() {
    let run = Scene::new(&json!({}))
        .tool(&moody())
        .plans(&[json!([[mood("a", "good")], [mood("b", "bad")]]), json!([[mood("c", "good")]])])
        .answers("Found.")
        .ask("Find it.")
        .await;
    let output = run.output();
    assert_eq!((output.attempts, output.answer.as_str()), (2, "Found."));
    let wanted = [
        "EXECUTION_ATTEMPT_FAILED",
        "REPLANNING_STARTED",
        "REPLANNING_SUCCESS",
        "EXECUTION_ATTEMPT_SUCCESS",
    ];
    let journal = run.journal();
    let order: Vec<&str> = journal.into_iter().filter(|name| wanted.contains(name)).collect();
    assert_eq!(order, wanted);
    let findings = &output.current_working_context.key_findings;
    assert_eq!(findings[0].source_step_narrative, "do a", "findings of the first attempt stay");
    assert_eq!(output.current_working_context.errors_encountered.len(), 1);
    let read = run.read_by("planner");
    for part in
        ["<failed_step>", "bad mood", "<failed_plan>", "<completed_steps>", "\"stepId\":\"a\""]
    {
        assert!(read.contains(part), "{part}: {read}");
    }
    assert_eq!(output.replan_history[0].error_message, "bad mood");
}

/// PE-12 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn three_plans_that_fail_are_the_end() {
    let plans = ["bad", "worse", "worst"].map(|one| json!([[mood("a", one)]]));
    let run = Scene::new(&json!({}))
        .tool(&moody())
        .plans(&plans)
        .answers("It cannot be found.")
        .ask("Find it.")
        .await;
    let output = run.output();
    assert!(run.journal().contains(&"MAX_REVISIONS_REACHED"));
    assert_eq!((output.status, output.attempts), (TaskStatus::FailedExecution, 3));
    assert_eq!(output.final_answer.as_deref(), Some("It cannot be found."));
    assert_eq!(output.final_answer_source, Some(AnswerSource::FailureExplanation));
    assert_eq!((run.result.outcome, output.answer.as_str()), (Outcome::RetryLimit, ""));
    assert_eq!(run.requests("planner").len(), 3);
}

/// PE-13 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn the_same_failure_is_not_revised_for_ever() {
    // Each plan does something that the others have not done.
    let plans = ["a1", "a2", "a3", "a4"].map(|id| {
        let good = step(id, "UtilityAgent", "moody", &json!({"mood": "good", "for": id}));
        json!([[good], [mood("a", "bad")]])
    });
    let scene_with = |settings: &Json| {
        Scene::new(settings).tool(&moody()).plans(&plans).answers("It cannot be found.")
    };
    let run = scene_with(&json!({"max_revisions": 9})).ask("Find it.").await;
    assert!(run.journal().contains(&"REPLAN_CYCLE_LIMIT_EXCEEDED"));
    assert_eq!(run.output().attempts, 3);
    let settings =
        json!({"max_revisions": 9, "max_replans_same_failure": 9, "max_total_replans": 1});
    let run = scene_with(&settings).ask("Find it.").await;
    assert!(run.journal().contains(&"REPLAN_TOTAL_LIMIT_EXCEEDED"));
    assert_eq!(run.output().attempts, 2);
}

/// PE-49 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_revised_plan_that_begins_with_what_has_failed_is_refused_once() {
    let plan = |id: &str, next: &str| {
        let input = json!({"mood": "@{outputs.a.result_data}"});
        json!([
            [mood("a", "good")],
            [mood(id, "bad")],
            [step(next, "UtilityAgent", "moody", &input)]
        ])
    };
    let scene_with = |plans: &[Json]| {
        Scene::new(&json!({})).tool(&moody()).plans(plans).answers("The mood stays bad.")
    };
    // Other ids change nothing, nor what comes after it, nor that a completed step is left out.
    let rest = json!([[mood("b", "bad"), mood("d", "good")]]);
    for repeated in [plan("b", "c"), plan("x", "y"), rest] {
        let run = scene_with(&[plan("b", "c"), repeated.clone(), repeated]).ask("Find it.").await;
        let output = run.output();
        assert_eq!((output.attempts, output.status), (1, TaskStatus::FailedExecution));
        assert_eq!(run.requests("planner").len(), 3);
        assert!(run.read_by("planner").contains("the step fails in the same way again: bad mood"));
        assert_eq!(output.final_answer.as_deref(), Some("The mood stays bad."));
        assert!(output.error_summary.as_ref().unwrap().reason.contains("bad mood"));
        assert_eq!(output.replan_history[0].outcome, ReplanOutcome::NoPlan);
    }
    let plans = [plan("b", "c"), plan("b", "c"), json!([[mood("d", "good")]])];
    let run = scene_with(&plans).ask("Find it.").await;
    assert_eq!((run.output().attempts, run.output().status), (2, TaskStatus::Completed));
}

/// PE-49: what may go well the next time is tried again.
#[tokio::test]
async fn a_step_that_has_failed_is_tried_again_if_it_may_go_well() {
    let lost = || Fault::foreign(Category::ToolTransport, "tool_unreachable", "lost".to_owned());
    let unreachable = || Arc::new(FakeTool::new("moody", move |_| Err(lost())));
    let mut writing = FakeTool::new("write", |arguments| Ok(arguments.clone()));
    writing.spec.side_effect = SideEffect::Write;
    let writing = Arc::new(writing);
    let write = step("w", "UtilityAgent", "write", &json!({}));
    let again = json!([[mood("a", "good")], [mood("b", "bad")]]);
    let first = json!([[mood("c", "good")], [mood("b", "bad")]]);
    let source = json!({"mood": "@{outputs.a.result_data}"});
    let uses = |of: &str| json!([[mood("a", of)], [step("b", "UtilityAgent", "moody", &source)]]);
    let nothing = json!({});
    for (tool, settings, plans) in [
        (unreachable(), &nothing, [again.clone(), again.clone()]),
        (moody(), &json!({"reuse_completed_steps": false}), [again.clone(), again.clone()]),
        (moody(), &nothing, [again.clone(), first]),
        (moody(), &nothing, [json!([[mood("b", "bad"), write]]), json!([[mood("b", "bad")]])]),
        (
            moody(),
            &nothing,
            [uses("good"), json!([[mood("a", "good"), mood("d", "good")], uses("good")[1]])],
        ),
    ] {
        let mut settings = settings.clone();
        settings["max_revisions"] = json!(1);
        let scene = Scene::new(&settings).tool(&tool).tool(&writing);
        let run = scene.plans(&plans).answers("Not found.").ask("Find it.").await;
        assert_eq!((run.output().attempts, run.requests("planner").len()), (2, 2), "{plans:?}");
    }
}

/// PE-14 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_revision_that_is_no_plan_is_the_end() {
    let run = Scene::new(&json!({}))
        .tool(&moody())
        .role(
            "planner",
            [
                json!({"stages": [[mood("a", "bad")]]}).to_string(),
                "{broken".to_owned(),
                "so sorry".to_owned(),
            ],
        )
        .answers("It could not be planned.")
        .ask("Find it.")
        .await;
    assert!(run.journal().contains(&"REPLANNING_FAILED"));
    assert_eq!(run.output().status, TaskStatus::FailedExecution);
    assert_eq!(run.output().final_answer.as_deref(), Some("It could not be planned."));
    assert_eq!(run.requests("planner").len(), 3);
}

/// PE-15 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_completed_step_is_not_repeated_unless_it_or_its_sources_differ() {
    let mut writing = FakeTool::new("write", |arguments| Ok(arguments.clone()));
    writing.spec.side_effect = SideEffect::Write;
    let writing = Arc::new(writing);
    let write = |id: &str, text: &str| step(id, "UtilityAgent", "write", &json!({"text": text}));
    let plan = |first: &str, last: &str| {
        json!([
            [write("w1", first)],
            [write("w2", "@{outputs.w1.result_data.text}!")],
            [mood("m", last)],
        ])
    };
    let scene_with = |settings: &Json, second: &str| {
        let scene = Scene::new(settings).tool(&moody()).tool(&writing);
        scene.plans(&[plan("a", "bad"), plan(second, "good")]).answers("Written.")
    };
    let run = scene_with(&json!({}), "a").ask("Write.").await;
    assert_eq!(writing.calls(), [json!({"text": "a"}), json!({"text": "a!"})]);
    assert!(run.step("w1").reused && run.step("w2").reused && !run.step("m").reused);
    assert_eq!(run.notes("EXECUTION_STEP_REUSED").len(), 2);
    let run = scene_with(&json!({}), "b").ask("Write.").await;
    assert_eq!(writing.calls()[4..], [json!({"text": "b"}), json!({"text": "b!"})]);
    assert!(!run.step("w2").reused, "what it refers to has changed");
    scene_with(&json!({"reuse_completed_steps": false}), "a").ask("Write.").await;
    assert_eq!(writing.calls().len(), 10);
}

#[tokio::test]
async fn outputs_of_earlier_attempts_can_be_referred_to() {
    let last = step("c", "UtilityAgent", "moody", &json!({"mood": "@{outputs.a.result_data}"}));
    let plans = [json!([[mood("a", "good")], [mood("b", "bad")]]), json!([[last]])];
    let scene_with =
        |settings: &Json| Scene::new(settings).tool(&moody()).plans(&plans).answers("Not found.");
    let run = scene_with(&json!({"max_revisions": 1})).ask("Find it.").await;
    let message = run.step("c").error_details.as_ref().unwrap().message.clone();
    assert_eq!(message, "found mood", "the tool was given the earlier output");
    let settings = json!({"max_revisions": 1, "carry_outputs": false, "max_reasks": 0});
    let run = scene_with(&settings).ask("Find it.").await;
    let message = run.step("c").error_details.as_ref().unwrap().message.clone();
    assert!(message.contains("names a step that does not exist"), "{message}");
}

/// PE-27 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_context_that_cannot_be_updated_stays_as_it_is() {
    let run = Scene::new(&json!({}))
        .tool(&moody())
        .plans(&[json!([[mood("a", "good")]])])
        .role("synthesiser", [json!({"answer": "Found."})])
        .ask("Find it.")
        .await;
    assert_eq!(run.output().status, TaskStatus::Completed);
    assert!(run.journal().contains(&"CWC_UPDATE_LLM_ERROR"));
    let summary = &run.output().current_working_context.summary_of_progress;
    assert_eq!(summary, "Attempt 1 to carry out the plan begins.");
}

/// PE-30 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn without_a_synthesiser_the_results_stand_for_the_answer() {
    for replies in [vec![], vec!["", ""]] {
        let run = Scene::new(&json!({}))
            .tool(&moody())
            .plans(&[json!([[mood("a", "good")]])])
            .keeps_context()
            .role("synthesiser", replies)
            .ask("Find it.")
            .await;
        assert_eq!(run.output().status, TaskStatus::Completed);
        assert_eq!(run.output().answer, "What was done:\n- do a: found");
        assert_eq!(run.output().final_answer_source, Some(AnswerSource::Digest));
        assert_eq!(run.output().warnings.len(), 1);
    }
    let run = Scene::new(&json!({"max_revisions": 0}))
        .tool(&moody())
        .plans(&[json!([[mood("a", "good")], [mood("b", "bad")]])])
        .ask("Find it.")
        .await;
    let explained = run.output().final_answer.as_deref().unwrap();
    assert!(explained.starts_with("The task was not completed: the step b failed: bad mood."));
    assert!(explained.contains("- do a: found"), "{explained}");
}

#[tokio::test]
async fn a_result_that_another_step_has_worked_with_is_not_shown_again() {
    let mut sum = mood("b", "good");
    sum["sub_task_input"]["text"] = json!("@{outputs.a.result_data}");
    let run = Scene::new(&json!({}))
        .tool(&moody())
        .plans(&[json!([[mood("a", "good")], [sum]])])
        .keeps_context()
        .role("synthesiser", ["", ""])
        .ask("Find it.")
        .await;
    assert_eq!(run.output().answer, "What was done:\n- do a\n- do b: found");
}

#[tokio::test]
async fn a_spent_budget_ends_with_what_was_done() {
    let mut slow = FakeTool::new("slow", |_| Ok(json!("late")));
    slow.delay = Box::new(|_| std::time::Duration::from_secs(9));
    let plan = json!([[mood("a", "good")], [step("b", "UtilityAgent", "slow", &json!({}))]]);
    let run = Scene::new(&json!({"question_timeout_s": 5, "step_timeout_s": 60}))
        .tool(&moody())
        .tool(&Arc::new(slow))
        .plans(&[plan])
        .ask("Find it.")
        .await;
    assert_eq!(run.result.outcome, Outcome::Budget);
    let explained = run.output().final_answer.as_deref().unwrap();
    assert!(
        explained.contains("not finished: 1 of 2 steps") && explained.contains("found"),
        "{explained}"
    );
    assert_eq!(run.output().executed_plan[0].status, StepStatus::Completed);
}
