//! What runs at once, and on what.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use antiphon_core::budget::{BudgetDimension, Limits};
use antiphon_core::effect::Ending;
use antiphon_core::graph::START;
use antiphon_core::run::Options;
use antiphon_runtime::{Clock, DriveOutcome, Driver};
use serde_json::json;

use crate::support::{
    TestHost, clock, graph, held, in_virtual_time, ms, nothing, run, run_with, wrote,
};

#[tokio::test]
async fn parallel_nodes_overlap_and_write_in_the_order_of_the_graph() {
    let clock = clock();
    let mut graph = graph();
    let mut host = TestHost::default();
    for (name, delay) in [("slow", 3_000), ("fast", 1_000), ("middling", 2_000)] {
        graph.node(name);
        graph.edge(START, name);
        host = host.node(name, move |call| async move {
            call.cx.clock.sleep(ms(delay)).await;
            wrote(&call, "log", json!(name))
        });
    }
    let graph = graph.build().unwrap();
    let (mut run, start) = (run(&graph, &clock), clock.now());
    let driver = Driver::new(Arc::new(host), clock.clone());
    let rest = in_virtual_time(&clock, driver.run(&mut run)).await;
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Completed)));
    assert_eq!(held(&run, "log"), json!(["slow", "fast", "middling"]));
    assert_eq!(clock.now().since(start), ms(3_000));
}

#[tokio::test]
async fn a_node_that_answers_at_once_gets_no_separate_task() {
    let clock = clock();
    let mut graph = graph();
    graph.node("at_once");
    graph.node("later");
    graph.edge(START, "at_once").edge("at_once", "later");
    let graph = graph.build().unwrap();
    let task = |call: antiphon_runtime::NodeCall| {
        let apart = tokio::task::try_id().is_some();
        wrote(&call, "log", json!(apart))
    };
    let host = TestHost::default().node("at_once", move |call| async move { task(call) }).node(
        "later",
        move |call| async move {
            tokio::task::yield_now().await;
            task(call)
        },
    );
    let mut run = run(&graph, &clock);
    Driver::new(Arc::new(host), clock).run(&mut run).await.unwrap();
    assert_eq!(held(&run, "log"), json!([false, true]));
}

#[tokio::test]
async fn a_run_that_never_waits_lets_others_run() {
    let clock = clock();
    let mut graph = graph();
    graph.node("a");
    graph.edge(START, "a").edge("a", "a");
    let graph = graph.build().unwrap();
    let turns = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            other.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    let limits = Limits { supersteps: Some(2_000), ..Limits::default() };
    let mut run = run_with(&graph, &clock, Options { limits, ..Options::default() });
    let host = TestHost::default().node("a", |_| async { nothing() });
    let rest = Driver::new(Arc::new(host), clock).run(&mut run).await;
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Budget(BudgetDimension::Supersteps))));
    assert!(turns.load(Ordering::SeqCst) >= 5, "{turns:?}");
    other.abort();
}

/// EN-20 of `docs/engine.md`.
#[test]
fn runs_on_eight_threads_come_to_what_runs_in_turn_come_to() {
    let mut graph = graph();
    let mut host = TestHost::default();
    for name in ["a", "b", "c"] {
        graph.node(name);
        host = host.node(name, move |call| async move {
            tokio::task::yield_now().await;
            let before = call.state.get("log").and_then(|log| log.as_array()).map_or(0, Vec::len);
            wrote(&call, "log", json!([name, before]))
        });
    }
    graph.edge(START, "a").edge("a", "b").edge("a", "c").edge("b", "a").edge("c", "a");
    let (graph, host) = (graph.build().unwrap(), Arc::new(host));
    let drive = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let clock = clock();
        let limits = Limits { supersteps: Some(200), ..Limits::default() };
        let mut run = run_with(&graph, &clock, Options { limits, ..Options::default() });
        let driver = Driver::new(Arc::clone(&host), clock);
        let rest = runtime.block_on(driver.run(&mut run)).unwrap();
        assert_eq!(rest, DriveOutcome::Ended(Ending::Budget(BudgetDimension::Supersteps)));
        held(&run, "log")
    };
    let in_turn: Vec<_> = (0..8).map(|_| drive()).collect();
    let at_once: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(drive)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(in_turn[0].as_array().unwrap().len(), 300);
    assert_eq!(at_once, in_turn);
}

#[test]
fn a_drive_can_be_spawned() {
    fn is_send<T: Send>(_: &T) {}
    let clock = clock();
    let mut graph = graph();
    graph.node("a");
    graph.edge(START, "a");
    let graph = graph.build().unwrap();
    let mut run = run(&graph, &clock);
    let host = TestHost::default().node("a", |_| async { nothing() });
    is_send(&Driver::new(Arc::new(host), clock).run(&mut run));
}
