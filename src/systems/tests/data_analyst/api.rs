//! The API agent: its plan must match an endpoint.

use antiphon_core::approval::Approval;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::Answers;
use antiphon_systems::data_analyst::TraceEventKind;
use antiphon_systems::{Outcome, SystemStart};
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, asked, said};

fn call(method: &str, path: &str) -> Json {
    json!({"make_request": true, "method": method, "path": path, "reason": "it fits"})
}

fn orders() -> Json {
    json!({"status": 200, "table": {"columns": [{"name": "id"}], "rows": [[7], [9]], "row_count": 2}})
}

async fn planned(plans: &[Json], reply: Json) -> ScriptedRun {
    Scene::new(&json!({"max_reasks": 0}))
        .with_api([Ok(reply)])
        .role("api_planner", plans.to_vec())
        .role("api_answerer", [said("There are orders 7 and 9.")])
        .role("composer", [said("Orders 7 and 9.")])
        .ask(asked("Which orders does the endpoint return?", json!({"disable_agents": ["sql"]})))
        .await
}

#[tokio::test]
async fn an_endpoint_is_called_as_planned_and_its_rows_are_the_data() {
    let mut plan = call("get", "/v1/orders/:id");
    plan["path_params"] = json!({"id": 7});
    plan["query_params"] = json!({"open": true});
    let run = planned(&[plan], orders()).await;
    let calls = run.api.as_ref().unwrap().calls.lock().unwrap();
    assert_eq!(calls[0]["path_parameters"], json!({"id": 7}));
    assert_eq!((&calls[0]["method"], &calls[0]["query"]), (&json!("GET"), &json!({"open": true})));
    assert_eq!(run.result.output.data.as_ref().unwrap().row_count, 2);
    assert_eq!(run.answer(), "Orders 7 and 9.");
    let tools = run.events(TraceEventKind::Tool);
    assert_eq!(tools[0].1["status"], json!(200));
}

#[tokio::test]
async fn the_path_of_an_endpoint_may_be_named_and_what_is_in_it_is_no_figure() {
    for (answer, is_known) in
        [("GET /v1/orders returns 7 and 9.", true), ("GET /v9/orders returns 7 and 9.", false)]
    {
        let scene = Scene::new(&json!({"max_reasks": 0}))
            .with_api([Ok(orders())])
            .role("api_planner", [call("GET", "/v1/orders")])
            .role("api_answerer", [said(answer), said("7 and 9.")])
            .role("composer", [said(answer), said("7 and 9.")]);
        let question = "Which orders does the endpoint return?";
        let run = scene.ask(asked(question, json!({"disable_agents": ["sql"]}))).await;
        assert_eq!(run.answer(), if is_known { answer } else { "7 and 9." });
    }
}

/// DA-18 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_catalogue_without_endpoints_is_missing_context() {
    let scene = Scene::new(&json!({})).with_api([]).role("composer", [said("It is not known.")]);
    *scene.api.as_ref().unwrap().endpoints.lock().unwrap() = json!([]);
    let run = scene.ask(asked("Which endpoint?", json!({"disable_agents": ["sql"]}))).await;
    assert_eq!(run.results(), [("api_docs", "failed".to_owned(), "MissingContext".to_owned())]);
    assert_eq!(run.requests("api_planner").len(), 0);
}

/// DA-19 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_plan_that_matches_no_endpoint_is_asked_for_again_once_and_sends_nothing() {
    for evil in [
        "/v1/secrets",
        "https://evil.example/v1/orders",
        "/v1/../admin",
        "/v1/orders#x",
        "/v1/orders ",
    ] {
        let run = planned(&[call("GET", evil), call("GET", evil)], json!({})).await;
        let failed = ("api_docs", "failed".to_owned(), "PlanningValidationError".to_owned());
        assert_eq!(run.results(), [failed], "{evil}");
        assert!(run.api.as_ref().unwrap().calls.lock().unwrap().is_empty(), "{evil} was sent");
        let again = run.requests("api_planner")[1].messages.last().unwrap().content.to_string();
        assert!(again.contains("no listed endpoint"), "{again}");
    }
    let mended = planned(&[call("GET", "/v2/orders"), call("GET", "/v1/orders")], orders()).await;
    assert_eq!(mended.result.outcome, Outcome::Answered);
}

/// DA-24 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_read_that_the_documentation_does_not_describe_is_tried_and_others_are_declined() {
    let declined = |method: &str, reason: &str| json!({"make_request": false, "method": method, "path": "/v1/orders", "failure_reason": reason});
    let unclear = "the documentation does not specify the parameters";
    let tried = planned(&[declined("GET", unclear)], orders()).await;
    assert_eq!(tried.result.outcome, Outcome::Answered);
    let notes = tried.events(TraceEventKind::Message);
    assert!(notes.iter().any(|(text, _)| text.starts_with("tried although")), "{notes:?}");
    for plan in [declined("GET", "orders are private"), declined("POST", unclear)] {
        let run = planned(&[plan], json!({})).await;
        assert_eq!(run.results()[0].2, "PlanningDeclined");
    }
}

/// DA-26 of `docs/systems/data-analyst.md`; `tests/systems/test_data_analyst_api.py` sends one.
#[tokio::test]
async fn a_method_that_changes_something_needs_a_listed_endpoint_and_a_tool_that_may() {
    let delete = || vec![call("DELETE", "/v1/orders"), call("DELETE", "/v1/orders")];
    let question = || asked("Which endpoint deletes orders?", json!({"disable_agents": ["sql"]}));
    let scene = Scene::new(&json!({"max_reasks": 0})).with_api([]);
    *scene.api.as_ref().unwrap().writes.lock().unwrap() = Some(Approval::None);
    let scene = scene.role("api_planner", delete()).role("composer", [said("It cannot be done.")]);
    let unlisted = scene.ask(question()).await;
    assert_eq!(unlisted.results()[0].2, "PlanningValidationError");
    assert!(unlisted.api.as_ref().unwrap().calls.lock().unwrap().is_empty());
    for plans in [vec![call("POST", "/v1/orders")], delete()] {
        let read_only = planned(&plans, json!({})).await;
        assert_eq!(read_only.results()[0].2, "MethodNotAllowed");
        assert!(read_only.api.as_ref().unwrap().calls.lock().unwrap().is_empty());
    }
    let run = new_order(Approval::None)
        .ask(asked("Make an order at the endpoint", json!({"disable_agents": ["sql"]})))
        .await;
    let calls = run.api.as_ref().unwrap().calls.lock().unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["body"], json!({"item": "lamp"}));
}

/// A scene in which an order is made.
fn new_order(approval: Approval) -> Scene {
    let plan = json!({
        "make_request": true, "method": "POST", "path": "/v1/orders", "json_body": {"item": "lamp"},
    });
    let scene = Scene::new(&json!({}))
        .with_api([Ok(json!({"status": 201, "data": {"id": 11}}))])
        .role("api_planner", [plan])
        .role("api_answerer", [said("Order 11 was made.")])
        .role("composer", [said("Order 11 was made.")]);
    *scene.api.as_ref().unwrap().writes.lock().unwrap() = Some(approval);
    scene
}

/// DA-51 of `docs/systems/data-analyst.md`.
#[tokio::test]
async fn a_person_approves_changes_or_refuses_a_call_of_the_api() {
    let changed = json!({"method": "POST", "path": "/v1/orders", "body": {"item": "vase"}});
    let cases = [
        (json!(true), Some(json!({"item": "lamp"}))),
        (json!({"approve": true, "args": changed}), Some(json!({"item": "vase"}))),
        (json!({"approve": false, "reason": "too dear"}), None),
    ];
    for (decision, sent) in cases {
        let mut scene = new_order(Approval::Person);
        let model = scene.model();
        let system = scene.system(&model);
        let question = asked("Make an order at the endpoint", json!({"disable_agents": ["sql"]}));
        let paused = system.ask(question, scene.session()).await.unwrap();
        assert_eq!(paused.outcome, Outcome::Paused);
        assert_eq!(paused.questions[0].value["tool"], "api_write");
        let calls = || scene.api.as_ref().unwrap().calls.lock().unwrap().clone();
        assert!(calls().is_empty(), "nothing is sent unasked");
        let start = SystemStart::Continue(paused.paused.unwrap(), Answers::Only(decision));
        let result = system.run(start, scene.session()).await.unwrap();
        let bodies: Vec<Json> = calls().iter().map(|call| call["body"].clone()).collect();
        assert_eq!(bodies, Vec::from_iter(sent.clone()));
        let error = result.output.agent_results[0].error.as_ref().map(|error| &*error.kind);
        assert_eq!(error, if sent.is_some() { None } else { Some("Refused") });
    }
}

#[tokio::test]
async fn a_failed_call_fails_the_agent_with_its_status() {
    let fault = Fault::new(FaultCode::ApiCallRejected, "status 404").with("status", 404);
    let run = Scene::new(&json!({}))
        .with_api([Err(fault)])
        .role("api_planner", [call("GET", "/v1/orders")])
        .role("composer", [said("The API has no answer.")])
        .ask(asked("Which endpoint?", json!({"disable_agents": ["sql"]})))
        .await;
    let error = run.result.output.agent_results[0].error.as_ref().unwrap();
    assert_eq!((error.kind.as_str(), &error.details["status"]), ("HttpError", &json!(404)));
}
