//! What a host sees of the state, and how it writes to it.

use std::sync::Arc;

use antiphon_core::channel::Write;
use antiphon_core::graph::START;
use antiphon_core::run::{Options, Run};
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, FaultCode};
use antiphon_runtime::{Clock, Driver, Snapshot};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::support::{TestHost, clock, graph, nothing};

#[derive(Debug, Deserialize, PartialEq)]
struct Seen<'s> {
    question: &'s str,
    #[serde(default)]
    log: Vec<u32>,
}

/// Drives a graph of one node that looks at its state.
async fn looking(log: Json, look: impl Fn(Snapshot) + Send + Sync + 'static) {
    let clock = clock();
    let mut graph = graph();
    graph.node("a");
    graph.edge(START, "a");
    let graph = graph.build().unwrap();
    let write = |key, value| Write::merge(graph.channel_id(key).unwrap(), value);
    let input = vec![write("question", json!("why?")), write("log", log)];
    let mut run = Run::new(Arc::clone(&graph), input, Options::default(), clock.now());
    let host = TestHost::default().node("a", move |call| {
        look(call.state);
        async { nothing() }
    });
    Driver::new(Arc::new(host), clock).run(&mut run).await.unwrap();
}

#[tokio::test]
async fn a_snapshot_is_read_by_name() {
    looking(json!(7), |state| {
        assert_eq!(state.text("question"), "why?");
        assert_eq!((state.get("answer"), state.get("nothing of that name")), (None, None));
        assert_eq!(Json::Object(state.as_object()), json!({"question": "why?", "log": [7]}));
    })
    .await;
}

#[tokio::test]
async fn a_snapshot_is_read_as_a_type() {
    looking(json!(7), |state| {
        assert_eq!(state.read::<Seen<'_>>(), Ok(Seen { question: "why?", log: vec![7] }));
    })
    .await;
    looking(json!("seven"), |state| {
        let fault = state.read::<Seen<'_>>().unwrap_err();
        assert_eq!(fault.code, FaultCode::StateUnreadable);
    })
    .await;
}

#[tokio::test]
async fn a_write_to_an_unknown_key_is_a_fault_that_names_those_there_are() {
    looking(json!(7), |state| {
        let fault = state.update([("anwser", json!(1))]).unwrap_err();
        assert_eq!(fault.code, FaultCode::StateKeyUnknown);
        assert_eq!(fault.message, "unknown key of the state: anwser");
        assert_eq!(fault.details["known"], json!("question, answer, log"));
        let TaskOutcome::<Json>::Failed(failure) = TaskOutcome::failed(fault) else {
            unreachable!()
        };
        assert_eq!(failure.fault.category, Category::State);
    })
    .await;
}
