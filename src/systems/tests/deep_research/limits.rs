//! Time that is over.

use std::time::Duration;

use antiphon_core::budget::Limits;
use antiphon_models::ScriptedReply;
use antiphon_systems::deep_research::{QueryMode, ResearchOutcome, ResearchRequest};
use antiphon_systems::{Outcome, Session};
use serde_json::{Value as Json, json};

use crate::scene::{
    Library, Scene, decision, in_time, moderate, observed, plan, report, search, unverified,
};

/// A reply that comes after some seconds.
fn slow(reply: &Json, seconds: u64) -> ScriptedReply {
    ScriptedReply::json(reply).after(Duration::from_secs(seconds))
}

fn web_search() -> ResearchRequest {
    ResearchRequest { query_mode: QueryMode::WebSearch, .."How long is green?".into() }
}

/// DR-13 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_web_search_that_takes_too_long_is_answered_directly() {
    let library = Library { search_delay: Duration::from_secs(20), ..Library::tea() };
    let run = Scene::with(&json!({}), library)
        .role("researcher", [json!({"queries": ["green"]})])
        .role("responder", [json!({"response": "About two minutes."})])
        .ask(web_search())
        .await;
    let output = &run.result.output;
    assert_eq!(output.research_outcome, ResearchOutcome::FallbackSimple);
    assert_eq!((run.result.outcome, &*output.answer), (Outcome::Answered, "About two minutes."));
    let error = output.errors.iter().find(|error| error.error_code == "WEB_SEARCH_TIMEOUT");
    assert!(error.unwrap().recoverable);
    assert!((run.seconds() - 15.0).abs() < 0.1, "{}", run.seconds());
    assert!(run.notes("content_reset").is_empty(), "no text was shown");
}

/// DR-13 of `docs/systems/deep-research.md`: with a text that was shown.
#[tokio::test]
async fn a_report_that_takes_too_long_is_reset_before_the_direct_answer() {
    let slow = slow(&report("Two minutes [1]."), 20);
    let run = Scene::new(&json!({}))
        .role("researcher", [json!({"queries": ["green"]}), json!({"observation": "Two [1]."})])
        .role("synthesiser", [slow])
        .role("responder", [json!({"response": "About two minutes [1]."})])
        .ask(web_search())
        .await;
    assert_eq!(run.notes("content_reset"), [json!({"reason": "WEB_SEARCH_TIMEOUT"})]);
    assert!(run.result.output.answer.contains("https://green.example/tea"));
    assert!((run.seconds() - 15.0).abs() < 0.1, "{}", run.seconds());
}

#[tokio::test]
async fn a_web_search_that_finds_nothing_is_answered_directly() {
    let library = Library { is_down: true, ..Library::tea() };
    let run = Scene::with(&json!({}), library)
        .role("researcher", [json!({"queries": ["green"]})])
        .role("responder", [json!({"response": "About two minutes."})])
        .ask(web_search())
        .await;
    assert_eq!(run.errors().last(), Some(&"WEB_SEARCH_FAILED"));
    assert_eq!(run.result.outcome, Outcome::Answered);
}

fn slow_steps(seconds: u64, report_seconds: u64) -> Scene {
    let library = Library { search_delay: Duration::from_secs(seconds), ..Library::tea() };
    let report = slow(&report("Two minutes [1]."), report_seconds);
    let steps = (0..6).flat_map(|number| [search(&format!("tea {number}")), observed("Two.")]);
    let mut scene =
        Scene::with(&json!({"background_investigation": false, "search_timeout_s": 200}), library)
            .role("coordinator", [moderate()])
            .role("planner", [plan(&["a", "b", "c", "d", "e"])])
            .role("researcher", steps)
            .always("reflector", ScriptedReply::json(&decision("continue")))
            .role("synthesiser", [report]);
    scene.config.search_timeout_s = 200.0;
    scene
}

/// DR-14 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn no_step_begins_late_and_the_report_is_there_in_time() {
    let run = slow_steps(100, 10).ask("How long?").await;
    let output = &run.result.output;
    assert_eq!(output.research_outcome, ResearchOutcome::Completed);
    assert_eq!(output.observations.len(), 3, "the third begins at 200 s, and is given up at 270 s");
    let skipped: Vec<_> = output.skipped_steps.iter().map(|step| step.title.as_str()).collect();
    assert_eq!(skipped, ["d", "e"]);
    assert!(run.seconds() < 300.0, "{}", run.seconds());
    let run = slow_steps(130, 20).ask("How long?").await;
    assert_eq!(run.result.output.observations.len(), 2, "no step begins at 260 s");
}

#[tokio::test]
async fn a_report_that_takes_too_long_is_delivered_as_what_was_found() {
    let run = slow_steps(130, 200).ask("How long?").await;
    let output = &run.result.output;
    assert_eq!(output.research_outcome, ResearchOutcome::TimeoutPartial);
    assert_eq!(run.result.outcome, Outcome::Budget);
    assert!(output.final_report.contains("\n\n## a\n\nTwo."), "{}", output.final_report);
    assert!(run.errors().contains(&"RESEARCH_TIMEOUT"));
    assert!(run.seconds() <= 290.0, "{}", run.seconds());
}

/// DR-14 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_direct_answer_has_no_more_time_than_the_research() {
    let run = Scene::new(&json!({"research_timeout_s": 4}))
        .role("coordinator", [json!({"is_simple_query": true, "complexity": "simple"})])
        .role("responder", [slow(&json!({"response": "Hello."}), 20)])
        .ask("Hello!")
        .await;
    assert_eq!(run.roles(), ["coordinator", "responder"]);
    assert_eq!(run.result.outcome, Outcome::Error);
    assert!(run.seconds() < 4.0, "{}", run.seconds());
}

#[tokio::test]
async fn spent_calls_leave_what_was_found() {
    let mut scene = slow_steps(1, 1);
    let (system, _) = scene.system();
    let limits = Limits { model_calls: Some(5), ..Limits::default() };
    let session = Session { limits, ..scene.session() };
    let asked = Box::pin(system.ask(unverified("How long?"), session));
    let result = in_time(&scene.clock, asked).await.unwrap();
    assert_eq!(result.outcome, Outcome::Budget);
    assert!(result.output.final_report.contains("\n\n## a\n"), "{}", result.output.final_report);
}
