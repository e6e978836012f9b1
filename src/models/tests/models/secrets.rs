//! EN-16: a key never shows, even if a server repeats it.

use antiphon_models::endpoint::Endpoint;
use antiphon_models::{ModelName, ModelSettings, OpenAiChat};
use antiphon_net::HttpClient;

use crate::answers::{KEY, ask, ask_streamed, cx, fails, opened, question, streams};
use crate::server::{Answer, Server};

/// EN-16 of `docs/engine.md`.
#[tokio::test]
async fn a_key_echoed_by_a_server_is_in_no_fault() {
    let words = format!("key {KEY} and sk-test-0123… and Bearer {KEY}");
    let answers = || {
        [
            fails(401, KEY, &words),
            fails(400, "", &words).header("x-request-id", KEY),
            Answer::pieces(500, "text/plain", [words.clone()]),
            Answer::pieces(200, "application/json", [format!("\"{KEY}\"")]),
            Answer::json(200, &serde_json::json!({"error": words})),
        ]
    };
    for answer in answers() {
        let fault = ask(answer).await.unwrap_err();
        let all = format!("{fault} {fault:?} {}", serde_json::to_string(&fault).unwrap());
        assert!(!all.contains("sk-test"), "{all}");
    }
    let frame = serde_json::json!({"error": {"message": words, "type": KEY}});
    let fault = ask_streamed(streams([frame])).await.unwrap_err();
    assert!(!format!("{fault} {fault:?}").contains("sk-test"));
}

/// EN-16 of `docs/engine.md`.
#[tokio::test]
async fn settings_endpoints_and_models_print_no_key() {
    let server = Server::start([]).await;
    let settings = ModelSettings {
        headers: [("x-other".to_owned(), KEY.into())].into(),
        ..crate::answers::settings(&server)
    };
    let name = ModelName::parse("openai:m-1").unwrap();
    let endpoint = Endpoint::resolve(&name, &settings, &|_| None).unwrap();
    let model = OpenAiChat::new(endpoint.clone(), HttpClient::default());
    let all = format!("{settings:?} {endpoint:?} {model:?}");
    assert!(all.contains("***") && !all.contains("sk-test"), "{all}");
}

/// EN-16 of `docs/engine.md`.
#[tokio::test]
async fn a_key_in_the_address_is_in_no_fault() {
    let server = Server::start([fails(404, "", &format!("no such path: /v1?key={KEY}"))]).await;
    let mut settings = crate::answers::settings(&server);
    settings.base_url = settings.base_url.map(|base| format!("{base}?key={KEY}"));
    settings.api_key = None;
    let fault = opened(&settings).call(&question(), &cx()).await.unwrap_err();
    let all = format!("{fault} {fault:?} {}", serde_json::to_string(&fault).unwrap());
    assert!(fault.message.contains("/v1?key=***"), "{all}");
    assert!(!all.contains("sk-test"), "{all}");
}
