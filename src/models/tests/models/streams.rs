//! Replies that come in pieces.

use antiphon_core::{Category, FaultCode, FinishReason, ToolCall, Usage};
use antiphon_models::{ModelSettings, open};
use serde_json::json;

use crate::answers::{
    ask_streamed, counts, cx, delta, opened, question, settings, streams, texts, watched,
};
use crate::server::{Answer, Server};

fn says_in_pieces() -> Vec<String> {
    vec![
        delta(&json!({"role": "assistant", "content": ""}), None),
        delta(&json!({"content": "4"}), None),
        delta(&json!({"content": "2 größe"}), None),
        delta(&json!({}), Some("stop")),
        counts(),
        "[DONE]".to_owned(),
    ]
}

#[tokio::test]
async fn pieces_are_passed_on_and_put_together() {
    let server = Server::start([streams(says_in_pieces())]).await;
    let (cx, mut watcher) = watched(cx());
    let reply = opened(&settings(&server)).call(&question(), &cx).await.unwrap();
    assert_eq!(reply.text, "42 größe");
    assert_eq!(texts(&mut watcher), ["4", "2 größe"]);
    assert_eq!(reply.usage, Usage { input_tokens: 11, output_tokens: 7 });
    assert_eq!((reply.finish, reply.model.as_str()), (FinishReason::Stop, "m-1-2026"));
    let sent = &server.seen()[0].body;
    assert!(sent.ends_with(r#""stream":true,"stream_options":{"include_usage":true}}"#), "{sent}");
}

#[tokio::test]
async fn a_provider_that_refuses_the_question_is_not_asked_for_usage() {
    let server = Server::start([streams(says_in_pieces())]).await;
    let (cx, _watcher) = watched(cx());
    let model = open("mistral:m", &settings(&server), &|_| None).unwrap();
    assert_eq!(model.call(&question(), &cx).await.unwrap().usage.output_tokens, 7);
    assert!(!server.seen()[0].body.contains("stream_options"));
}

#[tokio::test]
async fn frames_cut_anywhere_give_the_same_reply() {
    let stream: String =
        says_in_pieces().iter().flat_map(|data| [": ping\r\ndata: ", data, "\r\n\r\n"]).collect();
    let bytes = stream.as_bytes().chunks(7).map(<[u8]>::to_vec);
    let reply = ask_streamed(Answer::pieces(200, "text/event-stream", bytes)).await.unwrap();
    assert_eq!(reply.text, "42 größe");
}

#[tokio::test]
async fn tool_calls_are_put_together_by_index() {
    let call = |index: u32, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        let call = json!({"index": index, "id": id, "function": function});
        delta(&json!({"tool_calls": [call]}), None)
    };
    let events = [
        call(0, Some("c-1"), Some("add"), ""),
        call(1, Some("c-2"), Some("sub"), "{"),
        call(0, None, None, "{\"a\":"),
        call(1, Some("c-2"), Some("sub"), "}"),
        call(0, None, None, " 1}"),
        delta(&json!({}), Some("tool_calls")),
        "[DONE]".to_owned(),
    ];
    let reply = ask_streamed(streams(events)).await.unwrap();
    let call = |id: &str, name: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    assert_eq!(reply.tool_calls, [call("c-1", "add", "{\"a\": 1}"), call("c-2", "sub", "{}")]);
    assert_eq!(reply.finish, FinishReason::ToolCalls);
}

#[tokio::test]
async fn tool_calls_without_an_index_are_distinguished_by_id() {
    let call = |id: Option<&str>, function: serde_json::Value| {
        delta(&json!({"tool_calls": [{"id": id, "function": function}]}), None)
    };
    let events = [
        call(Some("a"), json!({"name": "add", "arguments": "{"})),
        call(None, json!({"arguments": "}"})),
        call(Some("b"), json!({"name": "sub", "arguments": "{}"})),
        delta(&json!({}), Some("stop")),
    ];
    let reply = ask_streamed(streams(events)).await.unwrap();
    let calls = reply.tool_calls.iter().map(|c| (c.name.as_str(), c.arguments.as_str()));
    let calls: Vec<_> = calls.collect();
    assert_eq!(calls, [("add", "{}"), ("sub", "{}")]);
}

#[tokio::test]
async fn a_stream_may_end_without_its_last_word_but_not_without_a_reason() {
    let finished = [delta(&json!({"content": "42"}), Some("stop"))];
    assert_eq!(ask_streamed(streams(finished)).await.unwrap().text, "42");
    let silent = [delta(&json!({"content": "4"}), None)];
    let fault = ask_streamed(streams(silent)).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelReplyCut);
}

#[tokio::test]
async fn a_connection_cut_in_the_middle_is_a_transport_fault() {
    let fault = ask_streamed(streams([delta(&json!({"content": "4"}), None)]).cut()).await;
    let fault = fault.unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelReplyCut);
}

#[tokio::test]
async fn frames_that_are_no_json_are_malformed() {
    for frame in ["{\"choices\": [", "hello", "[1, 2]", "{\"choices\": 3}"] {
        let fault = ask_streamed(streams([frame, "[DONE]"])).await.unwrap_err();
        assert_eq!(fault.code, "model_reply_malformed", "{frame}");
        assert_eq!(fault.category, Category::ModelTransport);
    }
}

#[tokio::test]
async fn a_stream_of_nothing_and_a_web_page_are_malformed() {
    let nothing = streams(["[DONE]"]);
    let page = Answer::pieces(200, "text/html", ["<html>hello</html>"]);
    for answer in [nothing, page] {
        assert_eq!(ask_streamed(answer).await.unwrap_err().code, "model_reply_malformed");
    }
}

#[tokio::test]
async fn an_absurd_index_of_a_tool_call_is_malformed_and_costs_no_memory() {
    let call = json!({"index": 4_000_000_000_u32, "function": {"name": "a"}});
    let event = delta(&json!({"tool_calls": [call]}), None);
    assert_eq!(ask_streamed(streams([event])).await.unwrap_err().code, "model_reply_malformed");
    let nameless = json!({"index": 1, "function": {"name": "a", "arguments": "{}"}});
    let event = delta(&json!({"tool_calls": [nameless]}), Some("tool_calls"));
    assert_eq!(ask_streamed(streams([event])).await.unwrap_err().code, "model_reply_malformed");
}

#[tokio::test]
async fn an_error_inside_a_stream_is_a_fault_and_never_text() {
    let error = json!({"error": {"message": "overloaded", "type": "server_error"}});
    let text = delta(&json!({"content": "4"}), None);
    let fault = ask_streamed(streams([text, error.to_string()])).await.unwrap_err();
    assert_eq!(fault.code, "model_server_error");
    assert!(fault.message.ends_with(": overloaded"), "{}", fault.message);
    let frame = "event: error\ndata: {\"message\": \"slow down\", \"code\": 429}\n\n";
    let fault = ask_streamed(Answer::pieces(200, "text/event-stream", [frame])).await.unwrap_err();
    assert_eq!(fault.code, "model_rate_limited");
}

#[tokio::test]
async fn a_refusal_in_pieces_is_a_refusal() {
    let events = [
        delta(&json!({"refusal": "I will "}), None),
        delta(&json!({"refusal": "not"}), Some("stop")),
        "[DONE]".to_owned(),
    ];
    let fault = ask_streamed(streams(events)).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelRefused);
    assert!(fault.message.ends_with(": I will not"), "{}", fault.message);
}

#[tokio::test]
async fn a_stream_over_the_limit_ends_at_the_limit() {
    let events = (0..100).map(|_| delta(&json!({"content": "x".repeat(100)}), None));
    let server = Server::start([streams(events).hang()]).await;
    let settings = ModelSettings { max_reply_bytes: 5000, ..settings(&server) };
    let (cx, _watcher) = watched(cx());
    let fault = opened(&settings).call(&question(), &cx).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelReplyTooLarge);
}
