//! EN-21: a panic of native code is a failure of its node, and nothing more.

use std::sync::Arc;

use antiphon_core::agent::AgentSpec;
use antiphon_core::graph::{END, NodePolicy, START};
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::{Driver, NodeCall};
use serde_json::{Value as Json, json};

use crate::support::script::{Script, calls, says};
use crate::support::tools::{declared, tool};
use crate::support::{TestHost, agent, clock, graph, held, nothing, run};

async fn failure_of(host: TestHost) -> Fault {
    let clock = clock();
    let mut graph = graph();
    graph.node("a");
    graph.edge(START, "a").branch("a", "next", 0, None);
    let graph = graph.build().unwrap();
    let mut run = run(&graph, &clock);
    Driver::new(Arc::new(host), clock).run(&mut run).await.unwrap_err()
}

async fn fall(_: NodeCall) -> TaskOutcome<Json> {
    panic!("fell over {}", 1)
}

/// EN-21 of `docs/engine.md`.
#[tokio::test]
async fn a_panic_at_once_is_a_fault_of_the_node() {
    let fault = failure_of(TestHost::default().node("a", fall)).await;
    assert_eq!(fault.code, FaultCode::NodePanicked);
    assert_eq!(fault.message, "the code of a node panicked: a");
    assert_eq!(fault.details["panic"], json!("fell over 1"));
}

/// EN-21 of `docs/engine.md`.
#[tokio::test]
async fn a_panic_later_is_a_fault_of_the_node() {
    let host = TestHost::default().node("a", |_| async {
        tokio::task::yield_now().await;
        panic!("fell over later")
    });
    let fault = failure_of(host).await;
    assert_eq!(fault.details["panic"], json!("fell over later"));
}

/// EN-21 of `docs/engine.md`.
#[tokio::test]
async fn a_panic_of_a_router_is_a_fault_of_its_task() {
    let host = TestHost::default().node("a", |_| async { nothing() }).router(|_| panic!("no way"));
    let fault = failure_of(host).await;
    assert_eq!(fault.code, FaultCode::RulePanicked);
    assert_eq!(fault.details["panic"], json!("no way"));
}

/// EN-21 of `docs/engine.md`.
#[tokio::test]
async fn a_panic_of_a_tool_is_reported_to_the_model() {
    let clock = clock();
    let broken = tool("broken", None, |_, _| async { panic!("in the tool") });
    let spec = AgentSpec { tools: vec![declared(&broken)], ..AgentSpec::default() };
    let mut graph = graph();
    agent(&mut graph, "a", spec, NodePolicy::default());
    graph.edge(START, "a").edge("a", END);
    let graph = graph.build().unwrap();
    let script = Script::new([calls("broken", "{}"), says("without it")]);
    let host = TestHost::default().model(script.clone()).tool("broken", broken);
    let mut run = run(&graph, &clock);
    Driver::new(Arc::new(host), clock).run(&mut run).await.unwrap();
    assert_eq!(held(&run, "answer"), json!("without it"));
    let asked = script.asked.lock().unwrap();
    assert!(asked[1].messages.last().unwrap().content.text().contains("panicked"), "{asked:?}");
}
