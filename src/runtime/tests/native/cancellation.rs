//! Stopping runs: by a handle, by dropping the driver, by another's failure.

use std::sync::Arc;

use antiphon_core::effect::Ending;
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, START};
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, Fault, FaultCode};
use antiphon_runtime::{CancellationToken, Clock, DriveOutcome, Driver};
use serde_json::{Value as Json, json};

use crate::support::guard::Alive;
use crate::support::{TestHost, clock, graph, nothing, run, run_with};

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// A fan-out in which nothing ever ends.
fn endless(alive: &Alive) -> (Arc<Graph<Json>>, TestHost) {
    let mut graph = graph();
    let mut host = TestHost::default();
    for name in NAMES {
        graph.node(name);
        graph.edge(START, name);
        let alive = alive.clone();
        host = host.node(name, move |_| {
            let guard = alive.guard();
            async move {
                let _guard = guard;
                std::future::pending().await
            }
        });
    }
    (graph.build().unwrap(), host)
}

/// EN-17 of `docs/engine.md`.
#[tokio::test]
async fn a_pulled_handle_stops_all_branches() {
    let (clock, alive, stop) = (clock(), Alive::default(), CancellationToken::new());
    let (graph, host) = endless(&alive);
    let mut run = run_with(&graph, &clock, Options { commits: true, ..Options::default() });
    let driver = Driver::new(Arc::new(host), clock).cancel_on(&stop);
    let pull = async {
        alive.until_started(NAMES.len()).await;
        stop.cancel("enough");
        stop.cancel("another reason");
    };
    let (rest, ()) = tokio::join!(driver.run(&mut run), pull);
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Cancelled("enough".into()))));
    assert_eq!(alive.ended(), NAMES.len());
    let events = run.take_events();
    let last = events.last().unwrap();
    assert_eq!((last.kind, &last.data["outcome"]), (EventKind::RunFinished, &json!("cancelled")));
}

/// EN-17 of `docs/engine.md`.
#[tokio::test]
async fn a_handle_that_was_pulled_before_stops_a_run_at_once() {
    let (clock, alive, stop) = (clock(), Alive::default(), CancellationToken::new());
    let (graph, host) = endless(&alive);
    stop.cancel("never mind");
    let mut run = run(&graph, &clock);
    let rest = Driver::new(Arc::new(host), clock).cancel_on(&stop).run(&mut run).await;
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Cancelled("never mind".into()))));
    assert_eq!(alive.started(), 0);
}

#[tokio::test]
async fn a_failure_stops_the_other_branches_and_waits_for_them() {
    let (clock, alive) = (clock(), Alive::default());
    let (graph, host) = endless(&alive);
    let host = host.node("h", |_| async {
        tokio::task::yield_now().await;
        TaskOutcome::failed(Fault::foreign(Category::Tool, "test", "no"))
    });
    let mut run = run(&graph, &clock);
    let fault = Driver::new(Arc::new(host), clock).run(&mut run).await.unwrap_err();
    assert_eq!(fault.code, "test");
    assert_eq!((alive.started(), alive.ended()), (7, 7));
}

#[tokio::test]
async fn a_dropped_driver_stops_everything_and_the_run_can_still_be_cancelled() {
    let (clock, alive) = (clock(), Alive::default());
    let (graph, host) = endless(&alive);
    let mut run = run(&graph, &clock);
    let driver = Driver::new(Arc::new(host), clock.clone());
    tokio::select! {
        biased;
        _ = driver.run(&mut run) => panic!("it ended"),
        () = alive.until_started(NAMES.len()) => {}
    }
    while alive.ended() < NAMES.len() {
        tokio::task::yield_now().await;
    }
    let fault = driver.run(&mut run).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::RunAbandoned);
    run.cancel("its driver is gone", clock.now());
    let rest = driver.run(&mut run).await;
    assert_eq!(rest, Ok(DriveOutcome::Ended(Ending::Cancelled("its driver is gone".into()))));
}

#[tokio::test]
async fn what_a_task_says_after_its_end_is_not_heard() {
    let clock = clock();
    let mut graph = graph();
    graph.node("a");
    graph.node("b");
    graph.edge(START, "a").edge("a", "b");
    let graph = graph.build().unwrap();
    let (keep, kept) = std::sync::mpsc::channel();
    let kept = std::sync::Mutex::new(kept);
    let host = TestHost::default()
        .node("a", move |call| {
            keep.send(call.reporter).unwrap();
            async { nothing() }
        })
        .node("b", move |call| {
            let late = kept.lock().unwrap().recv().unwrap();
            async move {
                late.note(EventKind::Custom, "late", json!({}));
                call.note("in time", json!({}));
                let intent = antiphon_core::budget::BudgetCharge::Model;
                assert_eq!(late.request(intent).await.unwrap_err().code, "task_cancelled");
                nothing()
            }
        });
    let mut run = run(&graph, &clock);
    Driver::new(Arc::new(host), clock).run(&mut run).await.unwrap();
    let events = run.take_events();
    let said = events.iter().filter(|event| event.kind == EventKind::Custom);
    assert_eq!(said.map(|event| &*event.name).collect::<Vec<_>>(), ["in time"]);
    assert_eq!(run.budget().spent().model_calls, 0);
}
