//! Results that are not what is asked for, and what the model reads of them.

use antiphon_systems::Outcome;
use antiphon_systems::computation::Task;
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, plan, raised, result, sales};

const QUESTION: &str = "Which region sold most? Give its region.";

async fn ask(question: &str, model_name: &'static str, evidence: Json) -> ScriptedRun {
    let [first, second] = ["result = sales['net'].max()", "result = sales['net'].min()"].map(plan);
    // A small model is asked for the column too.
    let column = json!({"asked_for": "the region", "column": "region"});
    let is_small = model_name == "local:1.5b";
    let replies = [Some(first), is_small.then_some(column), Some(second)];
    let mut scene = Scene::new(&json!({"summarise": false}))
        .role("planner", replies.into_iter().flatten())
        .runs([result(json!(4)), result(json!(3))]);
    scene.sandbox.columns =
        json!([{"name": "region", "missing": 0}, {"name": "net", "missing": 0}]);
    scene.sandbox.evidence = evidence;
    scene.model_name = model_name;
    scene.answer(Task { question: question.to_owned(), ..sales() }).await
}

fn found(held: &[&str]) -> Json {
    json!({"form": "number", "items": 1, "rows": 2, "present": ["region", "net"], "held": held})
}

/// CO-22 of `docs/systems/computation.md`.
#[tokio::test]
async fn a_result_that_is_not_what_is_asked_for_goes_back_and_is_then_no_answer_of_a_small_model() {
    let small = ask(QUESTION, "local:1.5b", found(&["net"])).await;
    assert_eq!(small.answer.outcome, Outcome::NoAnswer);
    let reason = small.answer.reason.unwrap();
    assert!(reason.contains("a value of the column `region`"), "{reason}");
    let run = ask(QUESTION, "test:scripted", found(&["net"])).await;
    assert_eq!((run.answer.outcome, &*run.answer.output.answer), (Outcome::Answered, "3"));
    assert_eq!(run.answer.output.attempts[0].no_answer.as_ref(), Some(&reason));
    let requests = run.model.requests();
    assert_eq!(requests.len(), 2);
    let first = requests[0].messages.last().unwrap().content.text();
    assert!(first.contains("the answer, a value of `region`, to `result`"), "{first}");
    let again = requests[1].messages.last().unwrap().content.text();
    assert!(again.contains(&*reason) && again.contains("sales.loc[row, 'region']"), "{again}");

    let right = ask(QUESTION, "test:scripted", found(&["region"])).await;
    assert_eq!((right.answer.outcome, right.model.requests().len()), (Outcome::Answered, 1));
    let unknown = ask(QUESTION, "test:scripted", json!(null)).await;
    assert_eq!(unknown.answer.outcome, Outcome::Answered, "what is not found out is no fault");
}

/// CO-23 of `docs/systems/computation.md`.
#[tokio::test]
async fn an_unusual_result_goes_back_and_is_then_the_answer() {
    let question = "What is the lowest net?";
    let run = ask(question, "test:scripted", found(&["net"])).await;
    assert_eq!((run.answer.outcome, &*run.answer.output.answer), (Outcome::Answered, "3"));
    let first = run.answer.output.attempts[0].no_answer.clone().unwrap();
    assert!(first.contains("the code takes the largest"), "{first}");
    let question = "What is the mean net?";
    let kept = ask(question, "test:scripted", found(&["net"])).await;
    assert_eq!((kept.answer.outcome, &*kept.answer.output.answer), (Outcome::Answered, "3"));
    assert_eq!(kept.answer.output.attempts.len(), 2);
}

#[tokio::test]
async fn a_small_model_reads_the_mistake_but_not_its_code() {
    let run = ask(QUESTION, "local:1.5b", found(&["net"])).await;
    let requests = run.model.requests();
    let again = &requests.last().unwrap().messages;
    assert_eq!(again.len(), 2, "the system prompt and the question");
    let text = again[1].content.text();
    assert!(text.contains("a value of the column `region`"), "{text}");
    assert!(!text.contains("['net'].max()"), "{text}");
    let large = ask(QUESTION, "test:scripted", found(&["net"])).await;
    let requests = large.model.requests();
    assert!(requests[1].messages[2].content.text().contains("['net'].max()"));
}

#[tokio::test]
async fn a_common_mistake_comes_with_a_hint() {
    for (exception, message, hint) in [
        ("KeyError", "'sold'", "sales[sales['region'] == 'sold']"),
        ("TypeError", "Cannot perform 'rand_' with a dtyped [bool] array", "(a == 1) & (b > 2)"),
        ("ValueError", "Location based indexing can only have integers", "iloc[0]['region']"),
    ] {
        let mut scene = Scene::new(&json!({"summarise": false}))
            .role("planner", [plan("result = a"), plan("result = b")])
            .runs([raised(exception, message), result(json!(3))]);
        scene.sandbox.columns = json!([{"name": "region", "missing": 0}]);
        let run = scene.answer(sales()).await;
        let requests = run.model.requests();
        let again = requests[1].messages.last().unwrap().content.text();
        assert!(again.contains(hint), "{again}");
    }
    let mut scene = Scene::new(&json!({"summarise": false}))
        .role("planner", [plan("result = a"), plan("result = b")])
        .runs([raised("KeyError", "'Payment'"), result(json!(3))]);
    scene.sandbox.columns = json!([{"name": "region", "missing": 0}]);
    let requests = scene.answer(sales()).await.model.requests();
    let again = requests[1].messages.last().unwrap().content.text();
    assert!(!again.contains("Select rows"), "the question does not name it: {again}");
}
