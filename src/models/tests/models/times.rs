//! Limits in time, by a clock that the test moves.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, ModelReply, ModelRequest, Time};
use antiphon_models::ModelSettings;
use antiphon_runtime::{CallContext, ManualClock};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::answers::{delta, opened, question, settings, streams, watched};
use crate::server::{Answer, Server};

const SECOND: Duration = Duration::from_secs(1);

fn silent() -> Answer {
    Answer::pieces::<String>(200, "application/json", []).hang()
}

fn call(
    settings: &ModelSettings,
    request: ModelRequest,
    cx: CallContext,
) -> JoinHandle<Result<ModelReply, Fault>> {
    let model = opened(settings);
    tokio::spawn(async move { model.call(&request, &cx).await })
}

/// Lets the others run until the next sleeper wants to wake at `at`.
async fn until(clock: &ManualClock, at: Duration) {
    let woken = Some(Time::default() + at);
    let patient = async {
        while clock.next_wake() != woken {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(10 * SECOND, patient).await.unwrap();
}

fn assert_late(result: Result<ModelReply, Fault>, limit: &str) {
    let fault = result.unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelTimeout);
    assert_eq!(fault.details["limit"], limit);
}

#[tokio::test]
async fn a_silent_server_ends_at_the_time_out_of_the_attempt() {
    let server = Server::start([silent()]).await;
    let clock = Arc::new(ManualClock::default());
    let settings = ModelSettings { timeout: 30 * SECOND, ..settings(&server) };
    let call = call(&settings, question(), CallContext::new(clock.clone()));
    until(&clock, 30 * SECOND).await;
    clock.advance(30 * SECOND);
    assert_late(call.await.unwrap(), "attempt");
}

#[tokio::test]
async fn a_request_can_only_shorten_the_time_out() {
    for (asked, expected) in [(5, 5), (60, 30)] {
        let server = Server::start([silent()]).await;
        let clock = Arc::new(ManualClock::default());
        let settings = ModelSettings { timeout: 30 * SECOND, ..settings(&server) };
        let request = ModelRequest { timeout: Some(asked * SECOND), ..question() };
        let call = call(&settings, request, CallContext::new(clock.clone()));
        until(&clock, expected * SECOND).await;
        clock.advance(expected * SECOND);
        assert_late(call.await.unwrap(), "attempt");
    }
}

/// EN-10 of `docs/engine.md`.
#[tokio::test]
async fn a_deadline_shorter_than_the_own_time_out_counts() {
    let server = Server::start([silent()]).await;
    let clock = Arc::new(ManualClock::default());
    let mut cx = CallContext::new(clock.clone());
    cx.deadline = Some(Time::default() + 4 * SECOND);
    let call = call(&settings(&server), question(), cx);
    until(&clock, 4 * SECOND).await;
    clock.advance(4 * SECOND);
    assert_late(call.await.unwrap(), "deadline");
}

#[tokio::test]
async fn a_deadline_that_is_past_sends_nothing() {
    let server = Server::start([silent()]).await;
    let clock = Arc::new(ManualClock::at(Time::from_micros(10)));
    let mut cx = CallContext::new(clock);
    cx.deadline = Some(Time::from_micros(10));
    assert_late(call(&settings(&server), question(), cx).await.unwrap(), "deadline");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_stream_that_stalls_ends_at_the_idle_time_out() {
    let answer = streams([delta(&json!({"content": "4"}), None)]).hang();
    let server = Server::start([answer]).await;
    let clock = Arc::new(ManualClock::default());
    let settings = ModelSettings { idle_timeout: 20 * SECOND, ..settings(&server) };
    let (cx, mut watcher) = watched(CallContext::new(clock.clone()));
    let call = call(&settings, question(), cx);
    assert!(watcher.recv().await.is_some());
    until(&clock, 20 * SECOND).await;
    clock.advance(20 * SECOND);
    assert_late(call.await.unwrap(), "idle");
}

#[tokio::test]
async fn a_dropped_call_closes_its_connection() {
    let server = Server::start([silent()]).await;
    let clock = Arc::new(ManualClock::default());
    let call = call(&settings(&server), question(), CallContext::new(clock));
    while server.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    while server.open() > 0 {
        tokio::task::yield_now().await;
    }
}
