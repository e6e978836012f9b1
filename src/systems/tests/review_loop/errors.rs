//! Failures of agents: RL-15, and what ends a question at once.

use antiphon_systems::Outcome;
use antiphon_systems::review_loop::{FAILURE_TEXT, Participant};
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, RetryPolicy};
use antiphon_models::{Retrying, ScriptedReply};
use antiphon_runtime::Model;
use serde_json::json;

use crate::scene::{Scene, ScriptedRun, approve, plan, solved, worded};

fn unreachable() -> ScriptedReply {
    Fault::new(FaultCode::ModelUnreachable, "no way to the model: x").into()
}

/// Runs with a model whose calls are tried three times without a pause.
async fn run_with_transport(errors: usize) -> ScriptedRun {
    let mut replies = vec![unreachable(); errors];
    replies.push(plan(&[], &["e1"]).into());
    let mut scene = Scene::new(&json!({}))
        .role("planner", replies)
        .role("critic", [approve(), approve()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")]);
    let script = scene.model();
    let policy = RetryPolicy { initial: Duration::ZERO, ..RetryPolicy::default() };
    let model: Arc<dyn Model> = Arc::new(Retrying::new(script.clone(), policy));
    let system = scene.system(&model);
    let answer = system.ask("q", scene.session()).await.unwrap();
    ScriptedRun::new(script, answer)
}

/// RL-15 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn errors_that_the_transport_overcomes_do_not_count() {
    let run = run_with_transport(2).await;
    assert_eq!((run.answer.outcome, run.answer.output.retry_count), (Outcome::Answered, 0));
    assert_eq!(run.counts()["planner"], 1);
}

/// RL-15 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_transport_that_gives_up_counts_and_the_agent_hears_the_same_again() {
    let run = run_with_transport(3).await;
    assert_eq!((run.answer.outcome, run.answer.output.retry_count), (Outcome::Answered, 1));
    assert_eq!(run.counts()["planner"], 2);
    let instructions = run.instructions(Participant::Planner);
    assert_eq!(instructions[0].content, instructions[1].content);
    assert_eq!(run.answer.error, None, "it was overcome");
    assert_eq!(run.answer.output.error_component, None);
    assert!(run.state().error_component.is_none());
}

#[tokio::test]
async fn errors_alone_end_a_question_at_the_limit() {
    let run = Scene::new(&json!({"retry_limit": 2}))
        .role("planner", [plan(&[], &["e1"])])
        .role("critic", vec![unreachable(); 2])
        .ask("q")
        .await;
    assert_eq!(run.answer.outcome, Outcome::RetryLimit);
    assert_eq!(run.answer.output.error_component.as_deref(), Some("critic_planner"));
    assert_eq!(run.answer.error.unwrap().code, "model_unreachable");
}

#[tokio::test]
async fn a_question_whose_requests_have_all_failed_ends_with_their_error() {
    for limit in [2, 4] {
        let mut scene =
            Scene::new(&json!({"retry_limit": limit})).role("planner", vec![unreachable(); 2]);
        let script = scene.model();
        let system = scene.system(&(script.clone() as Arc<dyn Model>));
        let answer = system.ask("q", scene.session()).await.unwrap();
        assert_eq!(answer.outcome, Outcome::Error);
        assert_eq!(answer.state.outcome, Some(Outcome::Error));
        assert_eq!(answer.reason.as_deref(), Some("no request to a model succeeded"));
        assert_eq!(answer.error.unwrap().code, "model_unreachable");
        assert_eq!(answer.output.final_answer, FAILURE_TEXT);
        assert_eq!(script.requests().len(), 2, "after the second one the model is not asked again");
    }
}

#[tokio::test]
async fn an_error_that_will_not_pass_ends_a_question_at_once() {
    let refused = Fault::new(FaultCode::ModelKeyRefused, "the key was refused: openai");
    let run = Scene::new(&json!({})).role("planner", [refused]).ask("q").await;
    assert_eq!(run.answer.outcome, Outcome::Error);
    assert_eq!(run.answer.output.final_answer, FAILURE_TEXT);
    assert_eq!(run.answer.output.retry_count, 0);
    assert_eq!(run.answer.error.as_ref().unwrap().code, "model_key_refused");
    assert_eq!(run.answer.reason.as_deref(), Some("no request to a model succeeded"));
    assert_eq!(run.answer.output.error_component.as_deref(), Some("planner"));
    assert_eq!(run.agents(), ["planner", "finalizer_bypass"]);
}

#[tokio::test]
async fn a_finalizer_that_fails_is_tried_again() {
    let run = Scene::new(&json!({}))
        .role("planner", [plan(&[], &["e1"])])
        .role("critic", [approve(), approve()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [unreachable(), worded("x", "t").into()])
        .ask("q")
        .await;
    assert_eq!((run.answer.outcome, run.answer.output.retry_count), (Outcome::Answered, 1));
    assert_eq!(run.agents()[4..], ["finalizer", "finalizer"]);
}

#[tokio::test]
async fn a_spent_quota_spares_the_finalizers_model_under_any_settings() {
    let spent = Fault::new(FaultCode::ModelQuotaExhausted, "nothing is left: openai");
    let run = Scene::new(&json!({"finalizer_on_failure": "model"}))
        .role("planner", [spent])
        .ask("q")
        .await;
    assert_eq!(run.answer.outcome, Outcome::Budget);
    assert_eq!(run.agents(), ["planner", "finalizer_bypass"]);
}
