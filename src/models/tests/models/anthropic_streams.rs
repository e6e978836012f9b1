//! Anthropic's API: replies in pieces.

use antiphon_core::{Fault, FinishReason, ModelReply, ModelRequest, Schema, Usage};
use antiphon_models::open;
use serde_json::{Value as Json, json};

use crate::answers::{cx, question, settings, texts, watched};
use crate::anthropic::{MODEL, opened};
use crate::server::{Answer, Server};

fn streams(events: &[Json]) -> Answer {
    let frame = |event: &Json| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    Answer::pieces(200, "text/event-stream; charset=utf-8", events.iter().map(frame))
}

fn start() -> Json {
    let usage = json!({"input_tokens": 11, "output_tokens": 1, "cache_read_input_tokens": 4});
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5",
        "content": [], "stop_reason": null, "usage": usage,
    });
    json!({"type": "message_start", "message": message})
}

fn block(index: u64, block: &Json) -> Json {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Json) -> Json {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text(index: u64, text: &str) -> Json {
    delta(index, &json!({"type": "text_delta", "text": text}))
}

fn arguments(index: u64, piece: &str) -> Json {
    delta(index, &json!({"type": "input_json_delta", "partial_json": piece}))
}

fn end(index: u64) -> Json {
    json!({"type": "content_block_stop", "index": index})
}

fn stop(reason: &str) -> [Json; 2] {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    let usage = json!({"output_tokens": 7});
    [
        json!({"type": "message_delta", "delta": delta, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

async fn ask(events: &[Json]) -> (Result<ModelReply, Fault>, Vec<String>) {
    let server = Server::start([streams(events)]).await;
    let (cx, mut watcher) = watched(cx());
    let reply = opened(&settings(&server)).call(&question(), &cx).await;
    (reply, texts(&mut watcher))
}

#[tokio::test]
async fn text_is_shown_as_it_comes_and_counts_are_running_totals() {
    let events = [
        vec![start(), json!({"type": "ping"}), block(0, &json!({"type": "text", "text": ""}))],
        vec![text(0, "4"), json!({"type": "of_the_future"}), text(0, "2"), end(0)],
        stop("end_turn").to_vec(),
    ];
    let (reply, shown) = ask(&events.concat()).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("42", FinishReason::Stop));
    assert_eq!(reply.usage, Usage { input_tokens: 15, output_tokens: 7 });
    assert_eq!((reply.model.as_str(), shown), ("claude-sonnet-5-5", vec!["4".into(), "2".into()]));
}

#[tokio::test]
async fn calls_and_thinking_are_assembled_from_their_pieces() {
    let tool = |id: &str| json!({"type": "tool_use", "id": id, "name": "search", "input": {}});
    let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
    let events = [
        vec![start(), block(0, &thinking)],
        vec![delta(0, &json!({"type": "thinking_delta", "thinking": "h"}))],
        vec![delta(0, &json!({"type": "thinking_delta", "thinking": "m"}))],
        vec![delta(0, &json!({"type": "signature_delta", "signature": "c2ln"})), end(0)],
        vec![block(1, &tool("toolu_1")), arguments(1, ""), arguments(1, "{\"query\": \"Ly")],
        vec![arguments(1, "on\"}"), end(1), block(2, &tool("toolu_2")), end(2)],
        vec![block(3, &tool("toolu_3")), arguments(3, "{\"qu"), end(3)],
        stop("tool_use").to_vec(),
    ];
    let (reply, shown) = ask(&events.concat()).await;
    let reply = reply.unwrap();
    assert_eq!((reply.finish, shown), (FinishReason::ToolCalls, vec![]));
    let calls: Vec<(&str, &str)> =
        reply.tool_calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())).collect();
    let expected = [("toolu_1", "{\"query\": \"Lyon\"}"), ("toolu_2", "{}"), ("toolu_3", "{\"qu")];
    assert_eq!(calls, expected);
    let own = reply.provider_content.unwrap();
    let filled = |id: &str, input: &Json| json!({"type": "tool_use", "id": id, "name": "search", "input": input});
    let content = json!([
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        filled("toolu_1", &json!({"query": "Lyon"})),
        filled("toolu_2", &json!({})),
        filled("toolu_3", &json!({"malformed": "{\"qu"})),
    ]);
    assert_eq!((own.model.as_str(), own.content), (MODEL, content));
}

#[tokio::test]
async fn a_reply_by_the_answer_tool_is_its_text() {
    let tool = json!({"type": "tool_use", "id": "toolu_1", "name": "answer", "input": {}});
    let events = [
        vec![start(), block(0, &tool), arguments(0, "{\"n\":"), arguments(0, "42}"), end(0)],
        stop("tool_use").to_vec(),
    ];
    let server = Server::start([streams(&events.concat())]).await;
    let model = open("anthropic:claude-3-haiku-20240307", &settings(&server), &|_| None).unwrap();
    let schema = Schema::new("answer", json!({"type": "object"}));
    let (cx, mut watcher) = watched(cx());
    let request = ModelRequest { schema: Some(schema), ..question() };
    let reply = model.call(&request, &cx).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("{\"n\":42}", FinishReason::Stop));
    assert_eq!(texts(&mut watcher), ["{\"n\":42}"]);
}

#[tokio::test]
async fn a_stream_that_ends_early_is_cut_and_one_without_a_message_is_malformed() {
    let started = [start(), block(0, &json!({"type": "text", "text": "4"}))];
    let (reply, shown) = ask(&started).await;
    assert_eq!((reply.unwrap_err().code.as_str(), shown), ("model_reply_cut", vec!["4".into()]));
    let (reply, _) = ask(&[json!({"type": "ping"})]).await;
    assert_eq!(reply.unwrap_err().code, "model_reply_malformed");
    let far = [start(), block(4_000_000_000, &json!({"type": "text", "text": ""}))];
    assert_eq!(ask(&far).await.0.unwrap_err().code, "model_reply_malformed");
}

#[tokio::test]
async fn an_error_inside_a_stream_is_a_fault_with_the_code_of_its_type() {
    for (kind, code) in [
        ("overloaded_error", "model_server_error"),
        ("rate_limit_error", "model_rate_limited"),
        ("invalid_request_error", "model_request_refused"),
        ("authentication_error", "model_key_refused"),
    ] {
        let error = json!({"type": kind, "message": "no luck"});
        let (reply, _) = ask(&[start(), json!({"type": "error", "error": error})]).await;
        let fault = reply.unwrap_err();
        assert_eq!(fault.code, code);
        assert!(fault.message.ends_with(": no luck"), "{}", fault.message);
    }
}

#[tokio::test]
async fn a_refusal_is_reported_in_the_words_of_the_provider() {
    let details = json!({"type": "refusal", "category": "bio", "explanation": "not this"});
    let delta = json!({"stop_reason": "refusal", "stop_details": details});
    let events = [start(), json!({"type": "message_delta", "delta": delta, "usage": {}})];
    let fault = ask(&events).await.0.unwrap_err();
    assert_eq!(fault.code, "model_refused");
    assert!(fault.message.ends_with(": not this"), "{}", fault.message);
}
