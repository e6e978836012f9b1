//! The layer that asks again.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault, FaultCode, Jitter, ModelReply, RetryPolicy, Time};
use antiphon_models::{ModelSettings, Retrying, ScriptedModel, ScriptedReply};
use antiphon_runtime::{CallContext, Clock as _, ManualClock, Model as _, ReplyChunk};
use serde_json::json;

use crate::answers::{chunks, delta, fails, opened, question, says, settings, streams, watched};
use crate::server::{Answer, Server};

const SECOND: Duration = Duration::from_secs(1);

fn fault(code: FaultCode) -> Fault {
    Fault::new(code, "no luck")
}

fn exact() -> RetryPolicy {
    RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() }
}

/// Asks a scripted model through the layer; the result and the time it took.
async fn ask(
    replies: impl IntoIterator<Item = ScriptedReply>,
    deadline: Option<Duration>,
) -> (Result<ModelReply, Fault>, Duration) {
    let model = Retrying::new(Arc::new(ScriptedModel::new(replies)), exact());
    let clock = Arc::new(ManualClock::jumping());
    let mut cx = CallContext::new(clock.clone());
    cx.deadline = deadline.map(|deadline| Time::default() + deadline);
    let result = model.call(&question(), &cx).await;
    (result, clock.now().since(Time::default()))
}

#[tokio::test]
async fn transient_faults_are_tried_again_with_growing_pauses() {
    let replies = [
        fault(FaultCode::ModelServerError).into(),
        fault(FaultCode::ModelTimeout).into(),
        "42".into(),
    ];
    let (reply, took) = ask(replies, None).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.attempts), ("42", 3));
    assert_eq!((took, reply.latency), (3 * SECOND, 3 * SECOND));
}

#[tokio::test]
async fn the_last_fault_counts_its_attempts() {
    let replies: Vec<ScriptedReply> =
        (0..3).map(|_| fault(FaultCode::ModelServerError).into()).collect();
    let (result, took) = ask(replies, None).await;
    assert_eq!(result.unwrap_err().details["attempts"], 3);
    assert_eq!(took, 3 * SECOND);
}

#[tokio::test]
async fn the_message_counts_the_attempts_and_names_the_limit_of_each() {
    let server = Server::start([fails(503, "", "busy"), fails(503, "", "busy")]).await;
    let retry = RetryPolicy { initial: Duration::ZERO, max_attempts: 2, ..RetryPolicy::default() };
    let settings = ModelSettings { retry, ..settings(&server) };
    let fault = opened(&settings).call(&question(), &crate::answers::cx()).await.unwrap_err();
    assert!(fault.message.ends_with("the server failed: busy (2 attempts)"), "{}", fault.message);

    let silent = || Answer::pieces::<String>(200, "application/json", []).hang();
    let server = Server::start([silent(), silent()]).await;
    let settings = ModelSettings {
        base_url: Some(server.url("/v1")),
        timeout: Duration::from_millis(50),
        ..settings
    };
    let fault = opened(&settings).call(&question(), &crate::answers::cx()).await.unwrap_err();
    let start = "openai:m-1: 2 attempts of 0.050 s each timed out at http://127.0.0.1:";
    assert!(fault.message.starts_with(start), "{}", fault.message);
    assert_eq!(fault.details["attempts"], 2);
}

#[tokio::test]
async fn other_faults_are_final() {
    for category in Category::ALL {
        if matches!(category, Category::ModelTransport | Category::Timeout) {
            continue;
        }
        let (result, took) =
            ask([Fault::foreign(category, "x", "no luck").into(), "42".into()], None).await;
        assert_eq!(result.unwrap_err().details["attempts"], 1, "{category:?}");
        assert_eq!(took, Duration::ZERO);
    }
}

#[tokio::test]
async fn no_pause_reaches_past_the_deadline() {
    let replies = || {
        let limited = fault(FaultCode::ModelRateLimited);
        [limited.retry_after(5 * SECOND).into(), "42".into()]
    };
    let (result, took) = ask(replies(), Some(5 * SECOND)).await;
    assert_eq!(result.unwrap_err().code, "model_rate_limited");
    assert_eq!(took, Duration::ZERO);
    let (result, took) = ask(replies(), Some(6 * SECOND)).await;
    assert_eq!((result.unwrap().attempts, took), (2, 5 * SECOND));
}

#[tokio::test]
async fn nobody_waits_for_a_day() {
    let limited = fault(FaultCode::ModelRateLimited);
    let (result, took) =
        ask([limited.retry_after(86_400 * SECOND).into(), "42".into()], None).await;
    assert_eq!(result.unwrap_err().retry_after, Some(86_400 * SECOND));
    assert_eq!(took, Duration::ZERO);
}

/// EN-08 of `docs/engine.md`.
#[tokio::test]
async fn rate_limit_hint_is_honoured() {
    let limited = fails(429, "", "slow down").header("retry-after", "2");
    let server = Server::start([limited, says("42")]).await;
    let retry = RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() };
    let settings = ModelSettings { retry, ..settings(&server) };
    let clock = Arc::new(ManualClock::default());
    let model = opened(&settings);
    let cx = CallContext::new(clock.clone());
    let call = tokio::spawn(async move { model.call(&question(), &cx).await });
    let two = Time::default() + 2 * SECOND;
    while clock.next_wake() != Some(two) {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.seen().len(), 1);
    clock.advance(2 * SECOND);
    let reply = call.await.unwrap().unwrap();
    assert_eq!((reply.text.as_str(), reply.attempts), ("42", 2));
    assert!(reply.latency >= 2 * SECOND);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_stream_that_broke_begins_anew_and_the_watcher_is_notified() {
    let broken = streams([delta(&json!({"content": "4"}), None)]).cut();
    let whole = streams([delta(&json!({"content": "42"}), Some("stop")), "[DONE]".to_owned()]);
    let server = Server::start([broken, whole]).await;
    let retry = RetryPolicy { initial: Duration::ZERO, ..RetryPolicy::default() };
    let settings = ModelSettings { retry, ..settings(&server) };
    let (cx, mut watcher) = watched(crate::answers::cx());
    let reply = opened(&settings).call(&question(), &cx).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.attempts), ("42", 2));
    let code = "model_reply_cut".into();
    let again = ReplyChunk::Retry { code, attempt: 1, delay: Duration::ZERO };
    let expected = [ReplyChunk::Text("4".into()), again, ReplyChunk::Text("42".into())];
    assert_eq!(chunks(&mut watcher), expected);
}

#[tokio::test]
async fn a_spent_quota_is_asked_once() {
    let quota = || fails(429, "insufficient_quota", "pay first");
    let server = Server::start([quota(), quota()]).await;
    let settings = ModelSettings { retry: RetryPolicy::default(), ..settings(&server) };
    let fault = opened(&settings).call(&question(), &crate::answers::cx()).await.unwrap_err();
    assert_eq!(fault.code, "model_quota_exhausted");
    assert_eq!(server.seen().len(), 1);
}
