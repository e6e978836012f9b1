//! Models with scripted answers.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{
    Category, Fault, FaultCode, FinishReason, ModelReply, ModelRequest, Time, ToolCall, Usage,
};
use antiphon_models::{ScriptBranch, ScriptedModel, ScriptedReply};
use antiphon_runtime::{CallContext, Clock as _, ManualClock, Model as _};
use serde_json::json;

use crate::answers::{question, texts, watched};

fn tagged(role: &str) -> ModelRequest {
    ModelRequest { tags: [("role".to_owned(), role.to_owned())].into(), ..question() }
}

async fn ask(model: &ScriptedModel, request: &ModelRequest) -> Result<ModelReply, Fault> {
    model.call(request, &CallContext::new(Arc::new(ManualClock::jumping()))).await
}

#[tokio::test]
async fn replies_come_in_order_and_requests_are_kept() {
    let model = ScriptedModel::new(["one", "two"]);
    assert_eq!(ask(&model, &tagged("a")).await.unwrap().text, "one");
    assert_eq!(ask(&model, &tagged("b")).await.unwrap().text, "two");
    assert_eq!(model.requests(), [tagged("a"), tagged("b")]);
    assert_eq!(model.remaining(), 0);
}

#[tokio::test]
async fn every_kind_of_reply_can_be_scripted() {
    let malformed = ToolCall { id: "x".into(), name: "add".into(), arguments: "{oops".into() };
    let model = ScriptedModel::new([
        ScriptedReply::from(json!({"score": 3})),
        ScriptedReply::calls([("add", json!({"a": 1})), ("sub", json!({}))]).saying("let me see"),
        ScriptedReply::raw_calls([malformed.clone()]),
        ScriptedReply::text("{\"cut\": ").finish(FinishReason::Length).usage(10, 2),
    ])
    .named("test:all");
    assert_eq!(model.name(), "test:all");
    let value = ask(&model, &question()).await.unwrap();
    assert_eq!((value.text.as_str(), value.model.as_str()), ("{\"score\":3}", "test:all"));
    let calls = ask(&model, &question()).await.unwrap();
    let ids: Vec<&str> = calls.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_0", "call_1"]);
    assert_eq!((calls.text.as_str(), calls.finish), ("let me see", FinishReason::ToolCalls));
    assert_eq!(ask(&model, &question()).await.unwrap().tool_calls, [malformed]);
    let cut = ask(&model, &question()).await.unwrap();
    assert_eq!(cut.finish, FinishReason::Length);
    assert_eq!(cut.usage, Usage { input_tokens: 10, output_tokens: 2 });
}

#[tokio::test]
async fn lanes_keep_roles_apart_in_any_order() {
    let script = || {
        ScriptedModel::new(["rest"])
            .branch(ScriptBranch::tag("role", "a").replies(["a1", "a2"]))
            .branch(ScriptBranch::tag("role", "b").replies(["b1"]).then_always("b…"))
    };
    for order in [["a", "a", "b", "b", "b", "c"], ["b", "c", "a", "b", "a", "b"]] {
        let model = script();
        let mut replies = Vec::new();
        for role in order {
            replies.push(ask(&model, &tagged(role)).await.unwrap().text);
        }
        replies.sort();
        assert_eq!(replies, ["a1", "a2", "b1", "b…", "b…", "rest"]);
    }
}

#[tokio::test]
async fn a_predicate_claims_what_no_earlier_branch_does() {
    let has_tools = |request: &ModelRequest| !request.messages.is_empty();
    let model = ScriptedModel::new(["rest"])
        .branch(ScriptBranch::tag("role", "a").replies(["a"]))
        .branch(ScriptBranch::when(has_tools).replies(["asked"]));
    assert_eq!(ask(&model, &tagged("a")).await.unwrap().text, "a");
    assert_eq!(ask(&model, &tagged("b")).await.unwrap().text, "asked");
    assert_eq!(ask(&model, &ModelRequest::default()).await.unwrap().text, "rest");
}

#[tokio::test]
async fn a_script_that_has_run_out_says_for_whom() {
    let model = ScriptedModel::new(["rest"]).branch(ScriptBranch::tag("role", "a").replies(["a"]));
    ask(&model, &tagged("a")).await.unwrap();
    let fault = ask(&model, &tagged("a")).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ScriptExhausted);
    assert!(fault.message.ends_with("`role=a`"), "{}", fault.message);
    assert_eq!(fault.details["request"], 2);
    assert_eq!(model.remaining(), 1);
}

#[tokio::test]
async fn faults_are_returned_as_they_are() {
    let fault =
        Fault::new(FaultCode::ModelRateLimited, "slow down").retry_after(Duration::from_secs(2));
    let model = ScriptedModel::new([fault.clone()]);
    assert_eq!(ask(&model, &question()).await.unwrap_err(), fault);
}

#[tokio::test]
async fn delays_pass_by_the_clock_and_end_at_the_first_limit() {
    let slow = || ScriptedModel::new([ScriptedReply::text("42").after(Duration::from_secs(9))]);
    let clock = Arc::new(ManualClock::jumping());
    let mut cx = CallContext::new(clock.clone());
    let reply = slow().call(&question(), &cx).await.unwrap();
    assert_eq!(
        (reply.latency, clock.now()),
        (Duration::from_secs(9), Time::from_micros(9_000_000))
    );

    cx.deadline = Some(clock.now() + Duration::from_secs(4));
    let fault = slow().call(&question(), &cx).await.unwrap_err();
    assert_eq!((fault.category, clock.now()), (Category::Timeout, Time::from_micros(13_000_000)));

    cx.deadline = None;
    let request = ModelRequest { timeout: Some(Duration::from_secs(1)), ..question() };
    let fault = slow().call(&request, &cx).await.unwrap_err();
    assert_eq!(
        (fault.code.as_str(), clock.now()),
        ("model_timeout", Time::from_micros(14_000_000))
    );
}

#[tokio::test]
async fn a_watched_reply_comes_word_by_word() {
    let model = ScriptedModel::new(["one two  three"]);
    let (cx, mut watcher) = watched(CallContext::new(Arc::new(ManualClock::jumping())));
    model.call(&question(), &cx).await.unwrap();
    assert_eq!(texts(&mut watcher), ["one ", "two ", " ", "three"]);
}

#[tokio::test]
async fn replies_are_read_from_json() {
    let read: Vec<ScriptedReply> = serde_json::from_value(json!([
        {"text": "two", "usage": {"input_tokens": 3, "output_tokens": 4}, "finish": "length"},
        {"json": {"n": 1}, "delay": 0.5},
        {"text": "let me see", "tool_calls": [
            {"name": "add", "arguments": {"a": 1}},
            {"name": "sub", "arguments": "{oops", "id": "x"},
            {"name": "mul"},
        ]},
        {"fault": {"category": "model_transport", "code": "busy", "message": "slow down", "retry_after": 2}},
    ]))
    .unwrap();
    let model = ScriptedModel::new(read);
    let request = question();
    let reply = ask(&model, &request).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("two", FinishReason::Length));
    assert_eq!(reply.usage, Usage { input_tokens: 3, output_tokens: 4 });
    let reply = ask(&model, &request).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.latency), ("{\"n\":1}", Duration::from_millis(500)));
    let reply = ask(&model, &request).await.unwrap();
    let calls: Vec<_> =
        reply.tool_calls.iter().map(|call| (&*call.id, &*call.name, &*call.arguments)).collect();
    assert_eq!(
        calls,
        [("call_1", "add", "{\"a\":1}"), ("x", "sub", "{oops"), ("call_3", "mul", "{}")]
    );
    assert_eq!((reply.text.as_str(), reply.finish), ("let me see", FinishReason::ToolCalls));
    let fault = ask(&model, &request).await.unwrap_err();
    assert_eq!((fault.category, fault.code.as_str()), (Category::ModelTransport, "busy"));
}

#[test]
fn a_reply_that_cannot_be_read_says_why() {
    for (given, reason) in [
        (json!({"txt": "hi"}), "txt"),
        (json!({"text": "hi", "delay": -1}), "`delay` must be a non-negative number of seconds"),
        (json!({"tool_calls": [{"arguments": {}}]}), "name"),
    ] {
        let error = serde_json::from_value::<ScriptedReply>(given).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
