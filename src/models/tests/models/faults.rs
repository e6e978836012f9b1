//! What goes wrong, by kind.

use std::time::Duration;

use antiphon_core::{Category, Fault, FaultCode, ModelRequest, ToolSpec};
use antiphon_models::{ModelSettings, open};
use serde_json::json;

use crate::answers::{ask, completes, cx, fails, opened, question, says, settings};
use crate::server::{Answer, Server};

async fn fault(answer: Answer) -> Fault {
    ask(answer).await.unwrap_err()
}

#[tokio::test]
async fn each_status_has_its_code() {
    let table = [
        (400, FaultCode::ModelRequestRefused),
        (401, FaultCode::ModelKeyRefused),
        (402, FaultCode::ModelQuotaExhausted),
        (403, FaultCode::ModelKeyRefused),
        (404, FaultCode::ModelNotFound),
        (408, FaultCode::ModelTimeout),
        (422, FaultCode::ModelRequestRefused),
        (429, FaultCode::ModelRateLimited),
        (500, FaultCode::ModelServerError),
        (503, FaultCode::ModelServerError),
        (529, FaultCode::ModelServerError),
    ];
    for (status, code) in table {
        let fault = fault(fails(status, "", "no luck")).await;
        assert_eq!(fault.code, code, "{status}");
        let named = format!(
            "openai:m-1: {} answered {status}, ",
            fault.details["address"].as_str().unwrap()
        );
        assert!(fault.message.starts_with(&named), "{}", fault.message);
        assert!(fault.message.ends_with(": no luck"), "{}", fault.message);
        assert_eq!(fault.details["status"], status);
        assert_eq!(fault.details["model"], "openai:m-1");
    }
}

#[tokio::test]
async fn a_spent_quota_is_no_rate_limit() {
    let fault = fault(fails(429, "insufficient_quota", "pay first")).await;
    assert_eq!(fault.code, FaultCode::ModelQuotaExhausted);
    assert_eq!(fault.details["provider_code"], "insufficient_quota");
}

#[tokio::test]
async fn a_wish_to_wait_and_the_id_of_the_request_are_passed_on() {
    let answer =
        fails(429, "", "slow down").header("retry-after", "7").header("x-request-id", "r-1");
    let fault = fault(answer).await;
    assert_eq!(fault.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(fault.details["request_id"], "r-1");
}

#[tokio::test]
async fn error_pages_of_all_forms_are_read() {
    let page = |body: &str| Answer::pieces(500, "text/plain", [body.to_owned()]);
    for (body, words) in [
        (r#"{"error": "out of memory"}"#, "out of memory"),
        (r#"{"message": "out of memory"}"#, "out of memory"),
        (r#"{"detail": [{"msg": "bad"}]}"#, r#"[{"msg":"bad"}]"#),
        ("out\nof \u{7}memory", "out of memory"),
        ("<html><body>Bad gateway</body></html>", ""),
        ("", ""),
    ] {
        let fault = fault(page(body)).await;
        let end = if words.is_empty() { String::new() } else { format!(": {words}") };
        let end = format!("/v1/chat/completions answered 500, the server failed{end}");
        assert!(fault.message.ends_with(&end), "{body}: {}", fault.message);
    }
}

#[tokio::test]
async fn a_long_error_page_is_quoted_in_short() {
    let fault = fault(Answer::pieces(500, "text/plain", ["ä".repeat(200_000)])).await;
    assert!(fault.message.chars().count() < 400, "{}", fault.message.len());
}

#[tokio::test]
async fn an_error_with_status_200_is_a_fault_and_never_text() {
    let fault = fault(Answer::json(200, &json!({"error": {"message": "busy", "code": 503}}))).await;
    assert_eq!(
        (fault.code.as_str(), &fault.details["status"]),
        ("model_server_error", &json!(503))
    );
}

#[tokio::test]
async fn refusals_and_filters_are_output_faults() {
    let refusal = completes(&json!({"content": null, "refusal": "I will not"}), "stop");
    let filtered = completes(&json!({"content": "half of"}), "content_filter");
    let prompt = fails(400, "content_filter", "the prompt was filtered");
    for answer in [refusal, filtered, prompt] {
        let fault = fault(answer).await;
        assert_eq!(fault.code, FaultCode::ModelRefused);
    }
}

#[tokio::test]
async fn malformed_bodies_are_transport_faults() {
    for body in ["", "<html>", "{\"choices\": []}", "{\"choices\": [{}]}", "[]", "{\"choi"] {
        let fault = fault(Answer::pieces(200, "application/json", [body.to_owned()])).await;
        assert_eq!(fault.code, "model_reply_malformed", "{body}");
        assert_eq!(fault.category, Category::ModelTransport);
    }
}

#[tokio::test]
async fn a_web_page_is_quoted_and_the_address_doubted() {
    let page = "<html><body>Welcome to the gateway of the intranet, please sign in</body></html>";
    let fault = fault(Answer::pieces(200, "text/html; charset=utf-8", [page])).await;
    assert_eq!(fault.code, FaultCode::ModelReplyMalformed);
    let address = fault.details["address"].as_str().unwrap();
    let start =
        format!("openai:m-1: {address} answered 200 text/html, beginning \"<html><body>Wel");
    assert!(fault.message.starts_with(&start), "{}", fault.message);
    assert!(fault.message.ends_with("\": is `base_url` right?"), "{}", fault.message);
}

#[tokio::test]
async fn a_parameter_that_the_model_refuses_is_found_before_anything_is_sent() {
    let server = Server::start([]).await;
    let model = open("openai:gpt-5-mini", &settings(&server), &|_| None).unwrap();
    let request = ModelRequest { temperature: Some(0.0), ..question() };
    let fault = model.call(&request, &cx()).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelParameterUnsupported);
    assert_eq!(fault.message, "openai:gpt-5-mini: the model does not accept `temperature`: 0");
    assert!(fault.hint.as_ref().unwrap().contains("capabilities={\"temperature\": True}"));
    let model = open("openai:gpt-4o-search-preview", &settings(&server), &|_| None).unwrap();
    let tools = vec![ToolSpec::new("add", "Adds.", json!({"type": "object"}))];
    let fault = model.call(&ModelRequest { tools, ..question() }, &cx()).await.unwrap_err();
    assert!(fault.message.ends_with("does not accept `tools`: add"), "{}", fault.message);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn half_a_body_is_a_transport_fault() {
    let fault = fault(Answer::pieces(200, "application/json", ["{\"choices\""]).cut()).await;
    assert_eq!(fault.code, FaultCode::ModelReplyCut);
}

#[tokio::test]
async fn a_huge_reply_is_an_output_fault() {
    let server = Server::start([says(&"x".repeat(10_000))]).await;
    let settings = ModelSettings { max_reply_bytes: 9_999, ..settings(&server) };
    let fault = opened(&settings).call(&question(), &cx()).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelReplyTooLarge);
    assert!(fault.message.ends_with(": 9999"), "{}", fault.message);
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let server = Server::start([]).await;
    let base_url = Some(format!("http://{address}/v1"));
    let settings = ModelSettings { base_url, ..settings(&server) };
    let fault = opened(&settings).call(&question(), &cx()).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelUnreachable);
    assert!(fault.message.contains(&address.to_string()), "{}", fault.message);
}

#[tokio::test]
async fn a_server_that_hangs_up_without_a_word_is_unreachable() {
    let server = Server::start([]).await;
    let fault = opened(&settings(&server)).call(&question(), &cx()).await.unwrap_err();
    assert_eq!(fault.code, "model_unreachable");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_stays() {
    let elsewhere = Server::start([says("42")]).await;
    let redirect =
        Answer::json(307, &"").header("location", &elsewhere.url("/v1/chat/completions"));
    let fault = fault(redirect).await;
    assert_eq!(fault.code, FaultCode::ModelRedirected);
    assert_eq!(elsewhere.connections(), 0);
}
