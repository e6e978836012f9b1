//! The layer that asks somewhere else.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault, FaultCode, RetryPolicy, Time};
use antiphon_models::{Fallback, Retrying, ScriptedModel, ScriptedReply};
use antiphon_runtime::{CallContext, ManualClock, Model, ReplyChunk};
use serde_json::json;

use crate::answers::{chunks, question, watched};

fn down() -> Fault {
    Fault::new(FaultCode::ModelServerError, "no luck")
}

fn model(name: &str, reply: impl Into<ScriptedReply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new([reply.into()]).named(name))
}

fn cx() -> CallContext {
    CallContext::new(Arc::new(ManualClock::jumping()))
}

#[tokio::test]
async fn the_next_model_answers_when_one_is_down() {
    let others: [Arc<dyn Model>; 2] = [model("b", "42"), model("c", "no")];
    let fallback = Fallback::new(model("a", down()), others);
    assert_eq!(fallback.name(), "a | b | c");
    assert_eq!(fallback.names(), ["a", "b", "c"]);
    let (cx, mut watcher) = watched(cx());
    let reply = fallback.call(&question(), &cx).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str(), reply.attempts), ("42", "b", 2));
    let code = "model_server_error".into();
    let again = ReplyChunk::Retry { code, attempt: 1, delay: Duration::ZERO };
    assert_eq!(chunks(&mut watcher), [again, ReplyChunk::Text("42".into())]);
}

#[tokio::test]
async fn attempts_of_all_models_add_up() {
    let flaky = ScriptedModel::new([down(), down()]);
    let retry = RetryPolicy { max_attempts: 2, ..RetryPolicy::default() };
    let first = Arc::new(Retrying::new(Arc::new(flaky), retry));
    let second: Arc<dyn Model> = model("b", "42");
    let reply = Fallback::new(first, [second]).call(&question(), &cx()).await.unwrap();
    assert_eq!(reply.attempts, 3);
}

#[tokio::test]
async fn the_last_fault_lists_who_was_tried() {
    let second: Arc<dyn Model> = model("b", down());
    let fault = Fallback::new(model("a", down()), [second]).call(&question(), &cx()).await;
    let tried = json!([
        {"model": "a", "code": "model_server_error"},
        {"model": "b", "code": "model_server_error"},
    ]);
    assert_eq!(fault.unwrap_err().details["tried"], tried);
}

#[tokio::test]
async fn a_refused_key_does_not_fall_back() {
    let refused = Fault::new(FaultCode::ModelKeyRefused, "no");
    let second = model("b", "42");
    let fallback = Fallback::new(model("a", refused), [second.clone() as Arc<dyn Model>]);
    let fault = fallback.call(&question(), &cx()).await.unwrap_err();
    assert_eq!(fault.code, "model_key_refused");
    assert_eq!(second.remaining(), 1);
}

#[tokio::test]
async fn nobody_else_is_asked_when_time_is_over() {
    let slow = ScriptedReply::text("late").after(Duration::from_mins(1));
    let second = model("b", "42");
    let fallback = Fallback::new(model("a", slow), [second.clone() as Arc<dyn Model>]);
    let mut cx = cx();
    cx.deadline = Some(Time::default() + Duration::from_secs(5));
    let fault = fallback.call(&question(), &cx).await.unwrap_err();
    assert_eq!(fault.category, Category::Timeout);
    assert_eq!(second.remaining(), 1);
}
