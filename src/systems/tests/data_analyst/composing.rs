//! The composed answer, and what a response has.

use antiphon_core::{Fault, FaultCode};
use antiphon_models::ScriptedReply;
use antiphon_systems::Outcome;
use serde_json::json;

use crate::scene::{Scene, asked, assigned, plan, said};

const COUNT: &str = "SELECT count(*) AS n FROM orders";

fn sql_and_api() -> Scene {
    let unauthorized =
        Fault::new(FaultCode::ApiUnauthorized, "status 401 at https://u:pw@x.example/secret");
    Scene::new(&json!({}))
        .with_api([Err(unauthorized)])
        .role("planner", [plan(&["sql", "api_docs"])])
        .queries(&[COUNT], "There are 3 orders.")
        .role("api_planner", [json!({"make_request": true, "method": "GET", "path": "/v1/orders"})])
}

/// DA-30 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn what_succeeds_is_answered_and_what_fails_is_said_without_its_details() {
    let scene = sql_and_api().role("composer", [said("There are 3 orders; the API is not known.")]);
    let run = scene.ask("List the orders of the API").await;
    assert_eq!(run.result.outcome, Outcome::Answered);
    let output = &run.result.output;
    assert_eq!(output.metadata["partial"], json!(true));
    assert_eq!(output.metadata["agents"], json!(["sql", "api_docs"]));
    assert_eq!(output.data.as_ref().unwrap().rows[0]["n"], json!(3));
    assert_eq!(run.results()[1], ("api_docs", "failed".to_owned(), "HttpError".to_owned()));
    let composer = run.requests("composer")[0].messages[1].content.to_string();
    assert!(composer.contains("the API did not answer as expected"), "{composer}");
    assert!(!composer.contains("example"), "no details: {composer}");
}

/// DA-31 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn without_a_composer_the_answers_are_put_together() {
    let down = ScriptedReply::fault(Fault::new(FaultCode::ModelUnreachable, "down"));
    let run = sql_and_api().role("composer", [down]).ask("List the orders of the API").await;
    assert_eq!(
        run.answer(),
        "sql: There are 3 orders.\napi_docs has no answer: the API did not answer as expected."
    );
    assert_eq!(run.result.output.metadata["composer_fallback"], json!(true));
    assert_eq!(run.result.outcome, Outcome::Answered);
    assert_eq!(run.result.error, None);
}

/// DA-32 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_response_has_trace_and_rows_as_the_request_says() {
    let scene = || {
        Scene::new(&json!({}))
            .queries(&["SELECT code, name FROM regions"], "Two.")
            .role("composer", [said("Two.")])
    };
    let plain = scene().ask("List the regions").await;
    assert!(plain.result.output.trace.is_empty());
    assert!(plain.result.output.agent_results[0].trace.is_empty());
    assert!(!plain.result.state.trace.is_empty());
    let traced = scene().ask(asked("List the regions", json!({"trace": true}))).await;
    assert_eq!(traced.result.output.trace, traced.result.state.trace);
    assert!(!traced.result.output.agent_results[0].trace.is_empty());
    let bare = scene().ask(asked("List the regions", json!({"include_data": false}))).await;
    assert_eq!(bare.result.output.data, None);
    let table = bare.result.output.agent_results[0].tabular.as_ref().unwrap();
    assert_eq!((table.rows.len(), table.row_count, table.columns.len()), (0, 2, 2));
}

/// DA-37 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn an_answer_with_a_number_that_nobody_found_is_worded_again_or_composed_plainly() {
    let scene = |settings| Scene::new(&settings).queries(&[COUNT], "There are 3 orders.");
    let again = scene(json!({}))
        .role("composer", [said("There are 12 orders."), said("There are 3 orders.")])
        .ask("How many orders?")
        .await;
    assert_eq!(again.answer(), "There are 3 orders.");
    let feedback = again.requests("composer")[1].messages.last().unwrap().content.to_string();
    assert!(feedback.contains("`12` is not in the result"), "{feedback}");
    let rejected = &again.result.output.metadata["rejected_answers"];
    assert_eq!(rejected.as_array().unwrap().len(), 1);
    let once = scene(json!({"max_answer_attempts": 1}))
        .role("composer", [said("There are 12 orders.")])
        .ask("How many orders?")
        .await;
    assert_eq!(once.answer(), "There are 3 orders.");
    assert_eq!(once.result.output.metadata["composer_fallback"], json!(true));
}

/// DA-45 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn an_answer_states_the_only_number_that_was_found() {
    for wrong in ["0", "None.", "There were zero of them."] {
        let run = Scene::new(&json!({}))
            .queries(&[COUNT], "There are 3 orders.")
            .role("composer", [said(wrong), said("There are 3 orders.")])
            .ask("How many orders?")
            .await;
        assert_eq!(run.answer(), "There are 3 orders.");
        let [rejected] = &*run.result.state.rejected else { panic!("{wrong} was rejected") };
        assert!(rejected.differences.iter().any(|it| it.contains("`3` is missing")), "{wrong}");
    }
}

/// DA-45 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn the_only_number_of_an_agent_is_stated_beside_what_others_found() {
    let pages = Ok(json!({"status": 200, "body": "It is open."}));
    let run = Scene::new(&json!({}))
        .with_api([pages])
        .role("planner", [plan(&["sql", "api_docs"])])
        .queries(&[COUNT], "There are 3 orders.")
        .role("api_planner", [json!({"make_request": true, "method": "GET", "path": "/v1/orders"})])
        .role("api_answerer", [said("It is open.")])
        .role("composer", [said("It is open."), said("There are 3 orders, and it is open.")])
        .ask("List the orders of the API")
        .await;
    assert_eq!(run.answer(), "There are 3 orders, and it is open.");
    assert!(run.result.state.rejected[0].differences[0].contains("`3` is missing"));
    for (code, rejected) in [("result = 4", 1), ("result = sql_rows[0]['n'] + 1", 0)] {
        let run = Scene::new(&json!({}))
            .with_sandbox([assigned(json!({"result": 4}))])
            .role("planner", [plan(&["sql", "computation"])])
            .queries(&[COUNT], "There are 3 orders.")
            .role("coder", [json!({"reasoning": "", "python": code, "explain": ""})])
            .role("summariser", [json!({"answer": "It is 4.", "highlights": []})])
            .role("composer", [said("It is 4."), said("It is 4; there are 3 orders.")])
            .ask("Compute one more than the orders")
            .await;
        assert_eq!(run.result.state.rejected.len(), rejected, "{code}");
    }
}

/// DA-46 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn an_answer_without_any_result_has_no_number() {
    for wrong in ["0", "There were 2,024 of them."] {
        let refused = ["DROP TABLE orders"; 4];
        let run = Scene::new(&json!({"max_answer_attempts": 1}))
            .queries(&refused, "unused")
            .role("composer", [said(wrong)])
            .ask("How many orders were there in 2024?")
            .await;
        assert_eq!(run.result.outcome, Outcome::NoAnswer);
        let answer = &run.result.output.answer;
        assert!(answer.starts_with("sql has no answer"), "{answer}");
    }
}

#[tokio::test]
async fn units_and_dates_of_the_answer_are_compared_too() {
    let run = Scene::new(&json!({}))
        .queries(&["SELECT max(net_eur) AS net_eur FROM orders"], "It was 20 euros.")
        .role("composer", [said("It was 20 dollars on 3 May 2021."), said("It was 20 euros.")])
        .ask("What was the largest order?")
        .await;
    assert_eq!(run.answer(), "It was 20 euros.");
    let [rejected] = &*run.result.state.rejected else { panic!("one answer was rejected") };
    assert_eq!(rejected.differences.len(), 2, "{rejected:?}");
}

#[tokio::test]
async fn the_answer_of_a_single_agent_is_delivered_as_it_is_if_the_settings_say_so() {
    let settings = json!({"compose_single": false});
    let run = Scene::new(&settings).queries(&[COUNT], "There are 3.").ask("How many orders?").await;
    assert_eq!(run.answer(), "There are 3.");
    assert_eq!(run.result.output.metadata["composer_fallback"], json!(false));
    let guided = Scene::new(&settings)
        .queries(&[COUNT], "There are 3.")
        .role("composer", [said("Ahoy, 3.")])
        .ask(asked("How many orders?", json!({"system_prompt": "Speak like a sailor."})))
        .await;
    assert_eq!(guided.answer(), "Ahoy, 3.");
    let instructions = guided.requests("composer")[0].messages[0].content.to_string();
    assert!(instructions.contains("Speak like a sailor."), "{instructions}");
    let others = ["sql_writer", "sql_answerer"];
    assert!(
        others.iter().all(|role| {
            !guided.requests(role)[0].messages[0].content.to_string().contains("sailor")
        }),
        "it is for the composer alone"
    );
}

/// DA-33 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn agents_beyond_the_limit_of_turns_are_skipped() {
    let run = Scene::new(&json!({}))
        .with_sandbox([assigned(json!({}))])
        .role("planner", [plan(&["sql", "computation"])])
        .queries(&[COUNT], "There are 3.")
        .role("composer", [said("There are 3.")])
        .ask(asked("Count, then compare", json!({"max_turns": 1})))
        .await;
    assert_eq!(run.results()[1], ("computation", "skipped".to_owned(), "MaxTurns".to_owned()));
    assert_eq!(run.result.output.metadata["skipped"], json!(["computation"]));
    assert_eq!(run.result.output.metadata["turns"], json!(1));
}

#[tokio::test]
async fn the_form_of_a_reply_is_no_answer() {
    let run = Scene::new(&json!({"check_query": false}))
        .role("sql_writer", [json!({"missing": "", "sql": "SELECT name FROM regions"})])
        .role("sql_answerer", [said("<the answer>"), said("<The answer>.")])
        .role("composer", [said("<the answer>"), said("There are North and South.")])
        .ask("Which regions are there in the database?")
        .await;
    let found = run.result.output.agent_results[0].answer.as_deref().unwrap();
    assert!(found.contains("North") && found.contains("South"), "the rows themselves: {found}");
    assert_eq!(run.answer(), "There are North and South.");
    assert_eq!(run.requests("composer").len(), 2, "it is asked for again");
}
