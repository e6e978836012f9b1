//! Anthropic's API: whole replies, and the requests behind them.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{
    ContentPart, FinishReason, Media, Message, ModelRequest, ProviderContent, Schema, ToolCall,
    ToolSpec, Usage,
};
use antiphon_models::{ModelSettings, open};
use antiphon_runtime::{Model, ReplyChunk};
use serde_json::{Value as Json, json};

use crate::answers::{chunks, cx, question, settings, watched};
use crate::server::{Answer, Seen, Server};

pub(crate) const MODEL: &str = "anthropic:claude-sonnet-5-5";

pub(crate) fn opened(settings: &ModelSettings) -> Arc<dyn Model> {
    open(MODEL, settings, &|_| None).unwrap()
}

/// A whole reply of those content blocks.
fn writes(content: &Json, stop_reason: &str) -> Answer {
    let usage = json!({"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 100});
    Answer::json(
        200,
        &json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5",
            "content": content, "stop_reason": stop_reason, "stop_sequence": null, "usage": usage,
        }),
    )
}

fn says(text: &str) -> Answer {
    writes(&json!([{"type": "text", "text": text}]), "end_turn")
}

/// An error page.
pub(crate) fn fails(status: u16, kind: &str, message: &str) -> Answer {
    let error = json!({"type": kind, "message": message});
    Answer::json(status, &json!({"type": "error", "error": error, "request_id": "req_1"}))
}

fn body(seen: &Seen) -> Json {
    serde_json::from_str(&seen.body).unwrap()
}

/// What is sent for `request`.
async fn sent(model: &str, request: ModelRequest) -> Json {
    let server = Server::start([says("42")]).await;
    let model = open(model, &settings(&server), &|_| None).unwrap();
    model.call(&request, &cx()).await.unwrap();
    body(&server.seen()[0])
}

fn schema() -> Schema {
    let n = json!({"type": "integer", "minimum": 1});
    Schema::new("my answer", json!({"type": "object", "properties": {"n": n}, "required": ["n"]}))
}

fn search() -> ToolSpec {
    let parameters = json!({"type": "object", "properties": {"query": {"type": "string"}}});
    ToolSpec::new("search", "Searches.", parameters)
}

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "search".into(), arguments: arguments.into() }
}

#[tokio::test]
async fn a_whole_reply_is_read() {
    let server = Server::start([says("42")]).await;
    let reply = opened(&settings(&server)).call(&question(), &cx()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("42", FinishReason::Stop));
    assert_eq!(reply.usage, Usage { input_tokens: 111, output_tokens: 7 });
    assert_eq!((reply.model.as_str(), reply.attempts), ("claude-sonnet-5-5", 1));
}

#[tokio::test]
async fn the_request_has_the_headers_and_the_limit_that_the_api_requires() {
    let server = Server::start([says("42"), says("42")]).await;
    let request = ModelRequest {
        messages: vec![
            Message::system("be brief"),
            Message::user("how many?"),
            Message::system("be kind"),
        ],
        ..ModelRequest::default()
    };
    opened(&settings(&server)).call(&request, &cx()).await.unwrap();
    let seen = &server.seen()[0];
    assert!(seen.head.starts_with("POST /v1/messages HTTP/1.1"), "{}", seen.head);
    assert!(seen.head.contains("x-api-key: sk-test-0123456789abcdef"));
    assert!(seen.head.contains("anthropic-version: 2026-10-21"));
    assert!(!seen.head.contains("authorization"));
    let expected = json!({
        "model": "claude-sonnet-5-5",
        "max_tokens": 16384,
        "system": "be brief\n\nbe kind",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "how many?"}]}],
    });
    assert_eq!(body(seen), expected);
    let settings = ModelSettings {
        headers: [("anthropic-version".to_owned(), "2023-06-01".into())].into(),
        extra_body: [("thinking".to_owned(), json!({"type": "adaptive"}))].into_iter().collect(),
        ..settings(&server)
    };
    let request = ModelRequest { max_output_tokens: Some(100), ..question() };
    opened(&settings).call(&request, &cx()).await.unwrap();
    let seen = &server.seen()[1];
    assert!(seen.head.contains("anthropic-version: 2023-06-01"), "{}", seen.head);
    assert!(!seen.head.contains("2026-10-21"), "{}", seen.head);
    assert_eq!(body(seen)["thinking"], json!({"type": "adaptive"}));
    assert_eq!(body(seen)["max_tokens"], 100);
}

#[tokio::test]
async fn tools_are_offered_and_their_calls_and_results_are_passed_on() {
    let content = json!([
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"query": "Lyon"}},
        {"type": "tool_use", "id": "toolu_2", "name": "search", "input": {}},
    ]);
    let server = Server::start([writes(&content, "tool_use")]).await;
    let request = ModelRequest {
        messages: vec![
            Message::user("how many?"),
            Message {
                tool_calls: vec![call("functions.search:0", "{\"query\": 1}"), call("b", "{\"q")],
                ..Message::assistant(" ")
            },
            Message::tool("functions.search:0", "one"),
            Message::tool("b", ""),
            Message::user("and now?"),
        ],
        tools: vec![search()],
        ..ModelRequest::default()
    };
    let reply = opened(&settings(&server)).call(&request, &cx()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("Let me see.", FinishReason::ToolCalls));
    let calls = [call("toolu_1", "{\"query\":\"Lyon\"}"), call("toolu_2", "{}")];
    assert_eq!(reply.tool_calls, calls);
    assert_eq!(reply.provider_content, None, "only thinking has to go back unchanged");

    let sent = body(&server.seen()[0]);
    let parameters = search().parameters;
    let offered = json!([
        {"name": "search", "description": "Searches.", "input_schema": parameters},
    ]);
    assert_eq!(sent["tools"], offered);
    assert!(sent.get("tool_choice").is_none());
    let uses = json!([
        {"type": "tool_use", "id": "functions_search_0", "name": "search", "input": {"query": 1}},
        {"type": "tool_use", "id": "b", "name": "search", "input": {"malformed": "{\"q"}},
    ]);
    let results = json!([
        {"type": "tool_result", "tool_use_id": "functions_search_0", "content": [
            {"type": "text", "text": "one"},
        ]},
        {"type": "tool_result", "tool_use_id": "b"},
        {"type": "text", "text": "and now?"},
    ]);
    assert_eq!(sent["messages"][1], json!({"role": "assistant", "content": uses}));
    assert_eq!(sent["messages"][2], json!({"role": "user", "content": results}));
}

#[tokio::test]
async fn images_and_files_are_blocks_in_questions_and_in_results_of_tools() {
    let image = ContentPart::Image(Media::base64("image/png", "aW1n"));
    let far = ContentPart::Image(Media::url("https://host/plot.png"));
    let media = Media::base64("application/pdf", "cGRm");
    let file = ContentPart::File { filename: Some("report.pdf".into()), media };
    let asked = vec![ContentPart::text("What is wrong?"), image.clone(), far, file];
    let messages = vec![
        Message::user(asked),
        Message { tool_calls: vec![call("a", "{}")], ..Message::assistant("") },
        Message::tool("a", vec![image, ContentPart::Data { value: json!({"n": 1}) }]),
    ];
    let request = ModelRequest { messages, tools: vec![search()], ..ModelRequest::default() };
    let sent = sent(MODEL, request).await;
    let near = json!({"type": "base64", "media_type": "image/png", "data": "aW1n"});
    let pdf = json!({"type": "base64", "media_type": "application/pdf", "data": "cGRm"});
    let expected = json!([
        {"type": "text", "text": "What is wrong?"},
        {"type": "image", "source": near},
        {"type": "image", "source": {"type": "url", "url": "https://host/plot.png"}},
        {"type": "document", "source": pdf, "title": "report.pdf"},
    ]);
    assert_eq!(sent["messages"][0]["content"], expected);
    let result = json!([
        {"type": "image", "source": near},
        {"type": "text", "text": "{\"n\":1}"},
    ]);
    assert_eq!(sent["messages"][2]["content"][0]["content"], result);
}

#[tokio::test]
async fn thinking_goes_back_with_the_results_of_tools_and_only_to_the_model_that_wrote_it() {
    let content = json!([
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"query": "Lyon"}},
    ]);
    let server = Server::start([writes(&content, "tool_use")]).await;
    let request = ModelRequest { tools: vec![search()], ..question() };
    let reply = opened(&settings(&server)).call(&request, &cx()).await.unwrap();
    assert_eq!(reply.text, "");
    let own = ProviderContent { model: MODEL.into(), content: content.clone() };
    assert_eq!(reply.provider_content, Some(own));

    let message = Message {
        tool_calls: reply.tool_calls.clone(),
        provider_content: reply.provider_content.clone(),
        ..Message::assistant("")
    };
    let messages = vec![Message::user("q"), message, Message::tool("toolu_1", "one")];
    let again = ModelRequest { messages, tools: vec![search()], ..ModelRequest::default() };
    assert_eq!(sent(MODEL, again.clone()).await["messages"][1]["content"], content);
    let other = sent("anthropic:claude-opus-5-5", again).await;
    assert_eq!(other["messages"][1]["content"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_conversation_with_calls_keeps_its_tools_when_none_may_be_called() {
    let messages = vec![
        Message::user("q"),
        Message { tool_calls: vec![call("a", "{}")], ..Message::assistant("") },
        Message::tool("a", "one"),
    ];
    let request = ModelRequest {
        messages,
        unavailable_tools: vec![search()],
        schema: Some(schema()),
        ..ModelRequest::default()
    };
    let whole = sent(MODEL, request.clone()).await;
    assert_eq!(whole["tools"][0]["description"], "Searches.");
    assert_eq!(whole["tool_choice"], json!({"type": "none"}));
    assert!(whole["output_config"]["format"]["schema"].is_object());
    let unknown = sent(MODEL, ModelRequest { unavailable_tools: vec![], ..request }).await;
    assert_eq!(unknown["tools"], json!([{"name": "search", "input_schema": {"type": "object"}}]));
    assert_eq!(unknown["tool_choice"], json!({"type": "none"}));
}

#[tokio::test]
async fn a_schema_is_sent_in_the_subset_that_the_server_guarantees() {
    let request = ModelRequest { schema: Some(schema()), ..question() };
    let expected = json!({
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
        "additionalProperties": false,
    });
    let whole = sent(MODEL, request).await;
    let format = json!({"type": "json_schema", "schema": expected});
    assert_eq!(whole["output_config"], json!({"format": format}));
    let free = Schema::new("answer", json!({"type": "object", "additionalProperties": {}}));
    let whole = sent(MODEL, ModelRequest { schema: Some(free), ..question() }).await;
    assert!(whole.get("output_config").is_none());
    let words = whole["system"].as_str().unwrap();
    assert!(words.ends_with("{\"type\":\"object\",\"additionalProperties\":{}}"), "{words}");
}

#[tokio::test]
async fn an_own_part_of_the_output_config_leaves_the_format_as_it_is() {
    let server = Server::start([says("{}")]).await;
    let settings = ModelSettings {
        extra_body: [("output_config".to_owned(), json!({"effort": "low"}))].into_iter().collect(),
        ..settings(&server)
    };
    let request = ModelRequest { schema: Some(schema()), ..question() };
    opened(&settings).call(&request, &cx()).await.unwrap();
    let config = &body(&server.seen()[0])["output_config"];
    assert_eq!(config["effort"], "low");
    assert_eq!(config["format"]["type"], "json_schema");
}

#[tokio::test]
async fn an_early_model_answers_by_a_tool_that_it_must_call() {
    let content = json!([
        {"type": "text", "text": "Here it is."},
        {"type": "tool_use", "id": "toolu_1", "name": "my_answer", "input": {"n": 42}},
    ]);
    let server = Server::start([writes(&content, "tool_use")]).await;
    let model = open("anthropic:claude-3-haiku-20240307", &settings(&server), &|_| None).unwrap();
    let request = ModelRequest { schema: Some(schema()), ..question() };
    let reply = model.call(&request, &cx()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("{\"n\":42}", FinishReason::Stop));
    assert!(reply.tool_calls.is_empty());
    let sent = body(&server.seen()[0]);
    assert_eq!(sent["tool_choice"], json!({"type": "tool", "name": "my_answer"}));
    assert_eq!(sent["tools"][0]["input_schema"], schema().json);
    assert_eq!(sent["max_tokens"], 4096);
}

#[tokio::test]
async fn the_conversation_begins_and_ends_with_the_user() {
    let messages = vec![Message::assistant("I am ready."), Message::assistant("Quite ready.")];
    let sent = sent(MODEL, ModelRequest { messages, ..ModelRequest::default() }).await;
    let roles: Vec<&str> =
        sent["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(sent["messages"][1]["content"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn stop_reasons_are_distinguished() {
    for (reason, finish) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("something_new", FinishReason::Stop),
    ] {
        let text = json!([{"type": "text", "text": "4"}, {"type": "of_the_future"}]);
        let server = Server::start([writes(&text, reason)]).await;
        let reply = opened(&settings(&server)).call(&question(), &cx()).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("4", finish), "{reason}");
    }
    let server = Server::start([writes(&json!([]), "refusal")]).await;
    let fault = opened(&settings(&server)).call(&question(), &cx()).await.unwrap_err();
    assert_eq!(fault.code, "model_refused");
}

#[tokio::test]
async fn failures_have_their_own_codes() {
    for (status, kind, code) in [
        (400, "invalid_request_error", "model_request_refused"),
        (401, "authentication_error", "model_key_refused"),
        (402, "billing_error", "model_quota_exhausted"),
        (403, "permission_error", "model_key_refused"),
        (404, "not_found_error", "model_not_found"),
        (413, "request_too_large", "model_request_refused"),
        (429, "rate_limit_error", "model_rate_limited"),
        (500, "api_error", "model_server_error"),
        (529, "overloaded_error", "model_server_error"),
    ] {
        let answer =
            fails(status, kind, "no luck").header("retry-after", "7").header("request-id", "r");
        let server = Server::start([answer]).await;
        let fault = opened(&settings(&server)).call(&question(), &cx()).await.unwrap_err();
        assert_eq!(fault.code, code, "{kind}");
        assert_eq!(fault.retry_after, Some(Duration::from_secs(7)));
        assert_eq!(
            (&fault.details["provider_type"], &fault.details["request_id"]),
            (&json!(kind), &json!("r"))
        );
        assert!(fault.message.starts_with(MODEL), "{}", fault.message);
    }
    let error = json!({
        "type": "rate_limit_error", "message": "spent",
        "details": {"error_code": "enforced_spend_limit_reached"},
    });
    let server =
        Server::start([Answer::json(429, &json!({"type": "error", "error": error}))]).await;
    let fault = opened(&settings(&server)).call(&question(), &cx()).await.unwrap_err();
    assert_eq!(fault.code, "model_quota_exhausted");
}

#[tokio::test]
async fn malformed_bodies_name_the_api() {
    for text in ["{}", "{\"content\": 3}", "[]", "{\"con"] {
        let answer = Answer::pieces(200, "application/json", [text.to_owned()]);
        let server = Server::start([answer]).await;
        let fault = opened(&settings(&server)).call(&question(), &cx()).await.unwrap_err();
        assert_eq!(fault.code, "model_reply_malformed", "{text}");
        assert!(fault.message.contains("the Anthropic messages API"), "{}", fault.message);
    }
    let nameless = json!([{"type": "tool_use", "id": "a", "input": {}}]);
    let server = Server::start([writes(&nameless, "tool_use")]).await;
    let fault = opened(&settings(&server)).call(&question(), &cx()).await.unwrap_err();
    assert!(fault.message.ends_with("a tool call has no name"), "{}", fault.message);
}

#[tokio::test]
async fn a_watched_call_is_answered_whole_where_a_server_cannot_stream() {
    let server = Server::start([says("42")]).await;
    let (cx, mut watcher) = watched(cx());
    let reply = opened(&settings(&server)).call(&question(), &cx).await.unwrap();
    assert_eq!(reply.text, "42");
    assert_eq!(chunks(&mut watcher), [ReplyChunk::Text("42".into())]);
    assert_eq!(body(&server.seen()[0])["stream"], true);
}
