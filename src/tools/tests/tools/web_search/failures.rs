//! Engines that fail: the fault says what to do, and never the key.

use std::sync::Arc;

use antiphon_runtime::{CallContext, ManualClock};
use antiphon_tools::web_search::{SearchBackend, SearchEngine, WebQuery};
use serde_json::json;

use super::support::{KEY, ask, backend, context, query};
use crate::server::{Answer, Server};

#[tokio::test]
async fn a_refused_key_is_not_tried_again_and_not_shown() {
    let replies = [
        (
            SearchEngine::Brave,
            422,
            json!({"error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": format!("The provided subscription token is invalid: {KEY}")}}),
        ),
        (
            SearchEngine::Tavily,
            401,
            json!({"detail": {"error": format!("Unauthorized: invalid API key {KEY}.")}}),
        ),
        (
            SearchEngine::Serper,
            403,
            json!({"message": format!("Unauthorized. {KEY}"), "statusCode": 403}),
        ),
    ];
    for (engine, status, reply) in replies {
        let (found, server) = ask(engine, vec![Answer::json(status, &reply)], &query("x")).await;
        let fault = found.unwrap_err();
        assert_eq!(fault.code, "search_key_refused", "{engine:?}");
        let shown = format!("{fault:?} {fault}");
        assert!(!shown.contains(KEY) && !shown.contains(&KEY[..8]), "{shown}");
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn an_empty_account_is_a_refusal() {
    for (engine, status) in
        [(SearchEngine::Brave, 402), (SearchEngine::Tavily, 432), (SearchEngine::Tavily, 433)]
    {
        let reply =
            json!({"detail": {"error": "This request exceeds your plan's set usage limit."}});
        let (found, _server) = ask(engine, vec![Answer::json(status, &reply)], &query("x")).await;
        let fault = found.unwrap_err();
        assert_eq!(
            (fault.code.as_str(), fault.hint.as_deref()),
            ("search_refused", Some("the plan has no searches left"))
        );
    }
    let reply = json!({"message": "Not enough credits", "statusCode": 400});
    let (found, _server) =
        ask(SearchEngine::Serper, vec![Answer::json(400, &reply)], &query("x")).await;
    assert_eq!(
        found.unwrap_err().message,
        "`serper` refused the search with status 400: Not enough credits"
    );
}

#[tokio::test]
async fn searxng_without_json_says_how_to_enable_it() {
    let page = Answer::pieces(403, "text/html", ["<title>403</title>"]);
    let (found, _server) = ask(SearchEngine::Searxng, vec![page], &query("x")).await;
    assert!(found.unwrap_err().hint.as_deref().unwrap().starts_with("enable the format `json`"));
}

#[tokio::test]
async fn busy_engines_are_asked_again_after_the_pause_that_they_name() {
    let busy = || Answer::json(429, &json!({"message": "slow down"})).header("retry-after", "3");
    let answers = vec![busy(), Answer::json(503, &""), Answer::json(200, &json!({"results": []}))];
    let (found, server) = ask(SearchEngine::Tavily, answers, &query("x")).await;
    assert!(found.is_ok());
    assert_eq!(server.seen().len(), 3);
    let long = Answer::json(429, &json!({"message": "slow down"})).header("retry-after", "3600");
    let (found, server) = ask(SearchEngine::Tavily, vec![long], &query("x")).await;
    let fault = found.unwrap_err();
    assert_eq!(fault.message, "`tavily` did not answer the search: status 429: slow down");
    assert_eq!(server.seen().len(), 1);
    let server = Server::start([busy()]).await;
    let cx = CallContext { has_alternative: true, ..context() };
    let fault = backend(SearchEngine::Tavily, &server).search(&query("x"), &cx).await.unwrap_err();
    assert_eq!(fault.details["status"], 429, "other credentials are tried instead");
}

#[tokio::test]
async fn replies_of_another_shape_are_failures() {
    for reply in ["not json", "[]", "{\"results\": 5}", "", "null"] {
        let answers = (0..3).map(|_| Answer::pieces(200, "application/json", [reply])).collect();
        let (found, _server) = ask(SearchEngine::Searxng, answers, &query("x")).await;
        assert_eq!(found.unwrap_err().code, "search_failed", "{reply}");
    }
}

#[tokio::test]
async fn a_reply_that_is_cut_is_asked_for_again() {
    let cut = Answer::pieces(200, "application/json", ["{\"results\":"]).cut();
    let answers = vec![cut, Answer::json(200, &json!({"results": []}))];
    let (found, _server) = ask(SearchEngine::Searxng, answers, &query("x")).await;
    assert!(found.is_ok());
}

#[tokio::test]
async fn a_key_goes_to_no_other_host() {
    let answer = Answer::json(302, &"").header("location", "http://127.0.0.1:1/");
    let (found, server) = ask(SearchEngine::Brave, vec![answer], &query("x")).await;
    assert_eq!(found.unwrap_err().message, "`brave` refused the search with status 302");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_page_that_an_engine_does_not_have_is_not_asked_for() {
    let asked = WebQuery { page: 2, ..query("x") };
    let (found, server) = ask(SearchEngine::Tavily, vec![], &asked).await;
    assert_eq!(found.unwrap_err().message, "`tavily` has no such page of results: 2");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_slow_engine_is_given_up() {
    let server = Server::start([Answer::pieces(200, "application/json", ["{"]).hang()]).await;
    let clock = CallContext::new(Arc::new(ManualClock::jumping()));
    let fault =
        backend(SearchEngine::Searxng, &server).search(&query("x"), &clock).await.unwrap_err();
    assert_eq!(fault.message, "`searxng` did not answer the search: no reply within 5 s");
}
