//! Questions whose time or calls are spent where the answer is due.

use std::time::Duration;

use antiphon_core::budget::Limits;
use antiphon_models::ScriptedReply;
use antiphon_systems::Outcome;
use antiphon_systems::agentic_search::SearchOutcome;
use serde_json::json;

use crate::scene::{Scene, ScriptedRun, answer, in_time, plan, says, task};

/// Whether the results are listed, and the outcome says what was spent.
fn assert_spent(run: &ScriptedRun, setting: &str) {
    let result = &run.result;
    assert_eq!(result.outcome, Outcome::Budget, "{:?}", result.reason);
    assert_eq!(result.output.search_outcome, SearchOutcome::FallbackHtml);
    assert!(run.html().contains("12 stories"), "{}", run.html());
    assert!(run.html().contains("was stopped before it was answered"), "{}", run.html());
    let fault = result.error.as_ref().unwrap();
    assert_eq!(fault.code, "budget_exhausted");
    assert!(fault.hint.as_ref().unwrap().contains(setting), "{fault:?}");
}

#[tokio::test]
async fn a_question_whose_time_is_over_while_the_answer_is_worded_is_out_of_time() {
    let late = ScriptedReply::json(&answer("<p>12</p>")).after(Duration::from_mins(1));
    let run = Scene::new(&json!({"question_timeout_s": 2}))
        .tool(&says("stories", "12 stories"))
        .planner([plan(&[task("stories", "a")])])
        .synthesiser([late])
        .ask("How many?")
        .await;
    assert_spent(&run, "question_timeout_s");
    assert_eq!(run.model.requests().len(), 2);
}

#[tokio::test]
async fn a_question_without_a_request_left_for_the_answer_is_out_of_calls() {
    let mut scene = Scene::new(&json!({}))
        .tool(&says("stories", "12 stories"))
        .planner([plan(&[task("stories", "a")])])
        .synthesiser([answer("<p>12</p>")]);
    let (system, model) = scene.system();
    let limits = Limits { model_calls: Some(1), ..Limits::default() };
    let asked = system.ask("How many?", antiphon_systems::Session { limits, ..scene.session() });
    let result = in_time(&scene.clock, asked).await.unwrap();
    let run = ScriptedRun { result, model };
    assert_spent(&run, "model_calls");
    assert_eq!(run.spent().0, 1);
    assert_eq!(run.model.requests().len(), 1, "the synthesiser is not asked");
}

#[tokio::test]
async fn a_question_without_a_tool_that_runs_out_of_time_says_so() {
    let late = ScriptedReply::json(&answer("<p>12</p>")).after(Duration::from_mins(1));
    let run = Scene::new(&json!({"question_timeout_s": 2, "on_no_tools": "model"}))
        .synthesiser([late])
        .ask("How many?")
        .await;
    assert_eq!(run.result.outcome, Outcome::Budget);
    assert_eq!(run.result.error.as_ref().unwrap().code, "budget_exhausted");
}
