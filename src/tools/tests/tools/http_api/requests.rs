//! What is told of requests, and requests without a token.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_runtime::CallContext;
use antiphon_tools::http_api::{ApiCall, ApiPrincipal, AuthProfile};
use serde_json::{Value as Json, json};

use super::exchange::{SECRET, Setup, targets, token_server, tokens};
use super::server::{Answer, TestServer};

/// What the trace of a run is told of a call.
async fn told(setup: &Setup, call: ApiCall) -> Vec<Json> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&all);
    let mut context = CallContext::new(Arc::clone(&setup.clock) as _);
    context.notes = Some(Arc::new(move |name, data| {
        assert_eq!(name, "http_request");
        seen.lock().unwrap().push(data);
    }));
    let endpoint = setup.api.catalogue().find("GET", "/orders").unwrap();
    let _ = setup.api.call(endpoint, call, &ApiPrincipal::new("ada"), &context).await;
    all.lock().unwrap().clone()
}

#[tokio::test]
async fn a_read_is_sent_without_a_token_that_cannot_be_had_and_says_so() {
    for (status, code) in [
        (200, None),
        (401, Some("api_token_failed")),
        (403, Some("api_token_failed")),
        (404, Some("api_call_rejected")),
    ] {
        let server = TestServer::start(move |request, _| {
            if request.target == "/token" {
                return Answer::json(400, &json!({"error": format!("invalid_client {SECRET}")}));
            }
            assert_eq!(request.header("authorization"), None);
            Answer::json(status, &json!([{"id": 1}]))
        })
        .await;
        let setup = Setup::new(&server, tokens(&server));
        let outcome = setup.get().await;
        assert!(!format!("{outcome:?}").contains(SECRET), "{outcome:?}");
        assert_eq!(targets(&server), ["/token", "/orders"], "{status}");
        let notes = match &outcome {
            Ok(exchange) => json!(exchange.notes),
            Err(fault) => fault.details["notes"].clone(),
        };
        let note = notes[0].as_str().unwrap();
        assert!(note.starts_with("the request was sent without a token: "), "{note}");
        let fault = outcome.err();
        assert_eq!(fault.as_ref().map(|fault| fault.code.as_str()), code);
        assert!(fault.is_none_or(|fault| fault.details["status"] == status));
    }
}

#[tokio::test]
async fn a_run_is_told_of_every_request_without_its_query_and_secrets() {
    let server = token_server(3_600, |token| token.starts_with("token-2")).await;
    let setup = Setup::new(&server, tokens(&server));
    let query = json!({"region": "north"}).as_object().cloned().unwrap();
    let seen = told(&setup, ApiCall { query, ..ApiCall::default() }).await;
    let url = format!("{}/orders", server.url);
    let shown = |one: &Json| (one["method"].clone(), one["url"].clone(), one["status"].clone());
    let expected = [401, 200].map(|status| (json!("GET"), json!(url), json!(status)));
    assert_eq!(seen.iter().map(shown).collect::<Vec<_>>(), expected);
    assert!(seen.iter().all(|one| one["elapsed_ms"].is_number() && one.get("error").is_none()));

    let cut = TestServer::start(|_, _| Answer::cut()).await;
    let setup = Setup::new(&cut, AuthProfile::None);
    let (seen, ()) =
        tokio::join!(told(&setup, ApiCall::default()), setup.pass(Duration::from_millis(500)));
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|one| one["status"].is_null() && one["error"].is_string()), "{seen:?}");
}

#[tokio::test]
async fn a_reply_whose_body_breaks_off_is_a_failure_and_a_read_is_repeated() {
    let server = TestServer::start(|_, number| match number {
        1 => Answer::json(200, &json!([{"id": 1}])),
        _ => Answer::json(200, &json!([{"id": 1}])).with("content-length", "9999"),
    })
    .await;
    let setup = Setup::new(&server, AuthProfile::None);
    let pause = Duration::from_millis(500);
    let (seen, ()) = tokio::join!(told(&setup, ApiCall::default()), setup.pass(pause));
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen[0]["status"] == 200 && seen[0]["error"].is_string(), "{seen:?}");
    assert!(seen[1]["status"] == 200 && seen[1].get("error").is_none(), "{seen:?}");

    let (failed, ()) = tokio::join!(setup.get(), setup.pass(pause));
    let fault = failed.unwrap_err();
    assert_eq!(
        (fault.code.as_str(), fault.details["requests"].clone()),
        ("server_unreachable", json!(2))
    );
}
