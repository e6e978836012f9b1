//! Questions whose calls are spent while an agent works: what it has found is delivered.

use antiphon_core::budget::Limits;
use antiphon_systems::data_analyst::TraceEventKind;
use antiphon_systems::{Outcome, Session};
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, asked, plan, query, said};

const ALL: &str = "SELECT id, net_eur FROM orders ORDER BY id";

/// A question that may ask its models so often.
async fn limited(mut scene: Scene, model_calls: u64, question: &str) -> ScriptedRun {
    let (model, request) = (scene.model(), asked(question, json!({"trace": true})));
    let limits = Limits { model_calls: Some(model_calls), ..Limits::default() };
    let session = Session { limits, ..scene.session() };
    let result = scene.system(&model).ask(request, session).await.unwrap();
    ScriptedRun { result, model, database: scene.database.take(), api: scene.api.take() }
}

/// DA-66 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn rows_that_cannot_be_worded_within_the_limits_are_delivered() {
    let scene = Scene::new(&json!({}))
        .role("sql_writer", [query(ALL)])
        .role("sql_reviewer", [json!({"sql": ALL})])
        .role("sql_answerer", [said("There are 3.")]);
    let run = limited(scene, 2, "Which orders are there?").await;
    assert_eq!(run.result.outcome, Outcome::Answered);
    assert_eq!(run.results(), [("sql", "succeeded".to_owned(), String::new())]);
    assert_eq!(run.result.output.data.as_ref().unwrap().row_count, 3);
    assert!(run.answer().contains("11.5"), "{}", run.answer());
    let metadata = &run.result.output.metadata;
    assert_eq!((&metadata["limit"], &metadata["partial"]), (&json!("model_calls"), &json!(false)));
    let ran = run.events(TraceEventKind::Tool);
    assert!(ran.iter().any(|(message, _)| message == "query"), "the trace has the query: {ran:?}");
}

/// DA-66 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_reply_of_the_api_that_cannot_be_worded_within_the_limits_is_delivered() {
    let call = json!({"make_request": true, "method": "GET", "path": "/v1/orders"});
    let mut scene = Scene::new(&json!({}))
        .with_api([Ok(json!({"status": 200, "data": {"orders": 7}}))])
        .role("api_planner", [call]);
    scene.database = None;
    let run = limited(scene, 1, "How many orders has the endpoint?").await;
    assert_eq!(run.result.outcome, Outcome::Answered);
    assert!(run.answer().contains("{\"orders\":7}"), "{}", run.answer());
}

#[tokio::test]
async fn a_result_that_is_compared_with_others_is_delivered_too() {
    let scene = Scene::new(&json!({"candidate_queries": 2, "check_query": false}))
        .role("sql_writer", [query(ALL)]);
    let run = limited(scene, 1, "Which orders are there?").await;
    assert_eq!(run.result.outcome, Outcome::Answered);
    assert_eq!(run.result.output.data.as_ref().unwrap().row_count, 3);
}

#[tokio::test]
async fn an_agent_that_is_not_finished_within_the_limits_makes_the_answer_partial() {
    let scene = Scene::new(&json!({"check_query": false}))
        .with_api([])
        .role("planner", [plan(&["sql", "api_docs"])])
        .role("sql_writer", [query(ALL)])
        .role("sql_answerer", [said("There are 3.")]);
    let run = limited(scene, 3, "Count the orders at the endpoint").await;
    let skipped = ("api_docs", "skipped".to_owned(), "Unfinished".to_owned());
    assert_eq!(run.results(), [("sql", "succeeded".to_owned(), String::new()), skipped]);
    let output = &run.result.output;
    assert_eq!(output.metadata["partial"], json!(true));
    let error = output.agent_results[1].error.as_ref().unwrap();
    assert!(error.message.ends_with("limit before: model_calls"), "{}", error.message);

    let nothing = Scene::new(&json!({})).role::<Json>("sql_writer", []);
    let run = limited(nothing, 0, "Which orders are there?").await;
    assert_eq!(
        (run.result.outcome, run.result.reason.as_deref()),
        (Outcome::Budget, Some("model_calls"))
    );
    assert_eq!(run.result.output.metadata["partial"], json!(true), "the agent was not finished");
}
