//! Whole replies, and the requests behind them.

use antiphon_core::{
    Content, FinishReason, Message, ModelRequest, Schema, ToolCall, ToolSpec, Usage,
};
use antiphon_models::{ModelSettings, open};
use antiphon_runtime::ReplyChunk;
use serde_json::{Value as Json, json};

use crate::answers::{ask, chunks, completes, cx, opened, question, says, settings, watched};
use crate::server::{Answer, Seen, Server};

fn body(seen: &Seen) -> Json {
    serde_json::from_str(&seen.body).unwrap()
}

#[tokio::test]
async fn a_whole_reply_is_read() {
    let reply = ask(says("42")).await.unwrap();
    assert_eq!(reply.text, "42");
    assert_eq!(reply.finish, FinishReason::Stop);
    assert_eq!(reply.usage, Usage { input_tokens: 11, output_tokens: 7 });
    assert_eq!((reply.model.as_str(), reply.attempts), ("m-1-2026", 1));
    assert!(!reply.latency.is_zero());
}

#[tokio::test]
async fn the_request_says_what_was_asked_and_opens_with_the_key() {
    let server = Server::start([says("42"), says("42")]).await;
    let request = ModelRequest {
        messages: vec![Message::system("be brief"), Message::user("how many?")],
        temperature: Some(0.5),
        max_output_tokens: Some(100),
        tags: [("role".to_owned(), "counter".to_owned())].into(),
        ..ModelRequest::default()
    };
    let mut cx = cx();
    cx.idempotency_key = Some("run-1/node-2/3".to_owned());
    let settings = ModelSettings { idempotency_header: true, ..settings(&server) };
    opened(&settings).call(&request, &cx).await.unwrap();
    let settings = ModelSettings { idempotency_header: false, ..settings };
    opened(&settings).call(&request, &cx).await.unwrap();
    assert!(!server.seen()[1].head.contains("idempotency-key"), "only where it is asked for");

    let seen = &server.seen()[0];
    assert!(seen.head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{}", seen.head);
    assert!(seen.head.contains("authorization: Bearer sk-test-0123456789abcdef"));
    assert!(seen.head.contains("idempotency-key: run-1/node-2/3"));
    let expected = json!({
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "how many?"},
        ],
        "temperature": 0.5,
        "max_tokens": 100,
    });
    assert_eq!(body(seen), expected);
}

#[tokio::test]
async fn tools_are_offered_and_their_calls_and_answers_are_passed_on() {
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c-1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1"}},
        {"type": "function", "function": {"name": "sub", "arguments": {"b": 2}}},
    ]});
    let server = Server::start([completes(&message, "stop")]).await;
    let call = ToolCall { id: "c-0".into(), name: "add".into(), arguments: "{}".into() };
    let calling = Message { tool_calls: vec![call], ..Message::assistant("") };
    let parameters = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let request = ModelRequest {
        messages: vec![calling, Message::tool("c-0", "0")],
        tools: vec![ToolSpec::new("add", "Adds.", parameters.clone())],
        ..ModelRequest::default()
    };
    let reply = opened(&settings(&server)).call(&request, &cx()).await.unwrap();

    let call = |id: &str, name: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    assert_eq!(
        reply.tool_calls,
        [call("c-1", "add", "{\"a\": 1"), call("call_1", "sub", "{\"b\":2}")]
    );
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    let sent = body(&server.seen()[0]);
    let function = json!({"name": "add", "description": "Adds.", "parameters": parameters});
    assert_eq!(sent["tools"], json!([{"type": "function", "function": function}]));
    let function = json!({"name": "add", "arguments": "{}"});
    let calls = json!([{"id": "c-0", "type": "function", "function": function}]);
    assert_eq!(
        sent["messages"],
        json!([
            {"role": "assistant", "content": null, "tool_calls": calls},
            {"role": "tool", "content": "0", "tool_call_id": "c-0"},
        ])
    );
}

#[tokio::test]
async fn images_and_files_are_sent_as_parts_and_those_of_tools_after_their_results() {
    let server = Server::start([says("hi")]).await;
    let image = |data: &str| json!({"type": "image", "mime_type": "image/png", "base64": data});
    let content = |parts: Json| serde_json::from_value::<Content>(parts).unwrap();
    let asked = content(json!([
        {"type": "text", "text": "Why?"},
        image("QQ=="),
        {"type": "image", "url": "https://example.org/b.png"},
        {"type": "file", "filename": "c.pdf", "mime_type": "application/pdf", "base64": "Qw=="},
        {"type": "data", "value": {"n": 1}},
    ]));
    let plotted = content(json!([{"type": "text", "text": "done"}, image("RA==")]));
    let plot = Message { name: Some("plot".into()), ..Message::tool("c-1", plotted) };
    let messages =
        vec![Message::user(asked), plot, Message::tool("c-2", "0"), Message::user("so?")];
    let request = ModelRequest { messages, ..ModelRequest::default() };
    opened(&settings(&server)).call(&request, &cx()).await.unwrap();

    let text = |text: &str| json!({"type": "text", "text": text});
    let url = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let file = json!({"filename": "c.pdf", "file_data": "data:application/pdf;base64,Qw=="});
    let parts = json!([
        text("Why?"),
        url("data:image/png;base64,QQ=="),
        url("https://example.org/b.png"),
        {"type": "file", "file": file},
        text("{\"n\":1}"),
    ]);
    let follow =
        json!([text("[part 2 of the result of plot c-1]"), url("data:image/png;base64,RA=="),]);
    let result = "done\n[part 2 of the result of plot c-1: see below]";
    assert_eq!(
        body(&server.seen()[0])["messages"],
        json!([
            {"role": "user", "content": parts},
            {"role": "tool", "content": result, "tool_call_id": "c-1"},
            {"role": "tool", "content": "0", "tool_call_id": "c-2"},
            {"role": "user", "content": follow},
            {"role": "user", "content": "so?"},
        ])
    );
}

#[tokio::test]
async fn a_schema_is_sent_as_it_is_to_any_other_server() {
    let server = Server::start([says("{}")]).await;
    let json = json!({"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}});
    let request =
        ModelRequest { schema: Some(Schema::new("my answer", json.clone())), ..question() };
    opened(&settings(&server)).call(&request, &cx()).await.unwrap();
    let format = json!({"name": "my_answer", "schema": json});
    assert_eq!(
        body(&server.seen()[0])["response_format"],
        json!({"type": "json_schema", "json_schema": format})
    );
}

#[tokio::test]
async fn a_server_that_takes_no_schema_gets_it_in_words() {
    let server = Server::start([says("{}")]).await;
    let schema = Schema::new("answer", json!({"type": "object"}));
    let request = ModelRequest { schema: Some(schema), ..question() };
    let model = open("deepseek:chat", &settings(&server), &|_| None).unwrap();
    model.call(&request, &cx()).await.unwrap();
    let sent = body(&server.seen()[0]);
    assert_eq!(sent["response_format"], json!({"type": "json_object"}));
    let words = sent["messages"][1]["content"].as_str().unwrap();
    assert!(words.ends_with("{\"type\":\"object\"}"), "{words}");
}

#[tokio::test]
async fn a_forced_tool_takes_the_reply_where_the_settings_want_it() {
    let function = json!({"name": "answer", "arguments": "{\"n\": 42}"});
    let call = json!({"id": "c-1", "type": "function", "function": function});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let server = Server::start([completes(&message, "tool_calls")]).await;
    let own = json!({"capabilities": {"structured_output": "tool"}});
    let capabilities = serde_json::from_value::<ModelSettings>(own).unwrap().capabilities;
    let settings = ModelSettings { capabilities, ..settings(&server) };
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let request = ModelRequest { schema: Some(Schema::new("answer", schema)), ..question() };
    let (cx, mut watcher) = watched(cx());
    let reply = opened(&settings).call(&request, &cx).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("{\"n\": 42}", FinishReason::Stop));
    assert!(reply.tool_calls.is_empty());
    assert_eq!(chunks(&mut watcher), [ReplyChunk::Text("{\"n\": 42}".into())]);
    let sent = body(&server.seen()[0]);
    assert_eq!(sent["tool_choice"], json!({"type": "function", "function": {"name": "answer"}}));
    assert_eq!(sent["tools"][0]["function"]["name"], "answer");
    assert!(sent.get("response_format").is_none());
}

#[tokio::test]
async fn names_of_speakers_are_made_to_fit_the_wire() {
    let server = Server::start([says("hi")]).await;
    let message = Message { name: Some("Dr. Who?".into()), ..Message::user("hi") };
    let request = ModelRequest { messages: vec![message], ..ModelRequest::default() };
    opened(&settings(&server)).call(&request, &cx()).await.unwrap();
    assert_eq!(body(&server.seen()[0])["messages"][0]["name"], "Dr__Who_");
}

#[tokio::test]
async fn own_headers_and_fields_are_sent_along() {
    let server = Server::start([says("hi")]).await;
    let settings = ModelSettings {
        headers: [("x-title".to_owned(), "antiphon".into())].into(),
        extra_body: [("seed".to_owned(), json!(7))].into_iter().collect(),
        ..settings(&server)
    };
    opened(&settings).call(&question(), &cx()).await.unwrap();
    assert!(server.seen()[0].head.contains("x-title: antiphon"));
    assert_eq!(body(&server.seen()[0])["seed"], 7);
}

#[tokio::test]
async fn a_key_can_travel_in_a_separate_header() {
    let server = Server::start([says("hi")]).await;
    let model = open("azure:m-1", &settings(&server), &|_| None).unwrap();
    model.call(&question(), &cx()).await.unwrap();
    let head = &server.seen()[0].head;
    assert!(head.contains("api-key: sk-test-") && !head.contains("authorization"), "{head}");
}

#[tokio::test]
async fn lenient_readings_of_what_servers_leave_out() {
    let parts = json!([{"type": "thinking"}, {"type": "text", "text": "4"}, {"text": "2"}]);
    assert_eq!(ask(completes(&json!({"content": parts}), "stop")).await.unwrap().text, "42");
    let bare = Answer::json(200, &json!({"choices": [{"message": {"content": "42"}}]}));
    let reply = ask(bare).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str()), ("42", "m-1"));
    assert_eq!((reply.finish, reply.usage), (FinishReason::Stop, Usage::default()));
    let cut = ask(completes(&json!({"content": "4"}), "length")).await.unwrap();
    assert_eq!(cut.finish, FinishReason::Length);
}

#[tokio::test]
async fn a_watched_call_is_answered_whole_where_a_server_cannot_stream() {
    let server = Server::start([says("42")]).await;
    let (cx, mut watcher) = watched(cx());
    let reply = opened(&settings(&server)).call(&question(), &cx).await.unwrap();
    assert_eq!(reply.text, "42");
    assert_eq!(chunks(&mut watcher), [ReplyChunk::Text("42".into())]);
}

#[tokio::test]
async fn calls_one_after_another_share_a_connection() {
    let server = Server::start([says("1"), says("2")]).await;
    let model = opened(&settings(&server));
    for expected in ["1", "2"] {
        assert_eq!(model.call(&question(), &cx()).await.unwrap().text, expected);
    }
    assert_eq!(server.connections(), 1);
}
