//! Those who watch: what they see, and that they hold nothing up.

use std::sync::{Arc, Mutex, Weak};

use antiphon_core::agent::AgentSpec;
use antiphon_core::budget::Limits;
use antiphon_core::event::Event;
use antiphon_core::event::EventKind::{self, Chunk, Dropped, ModelCall, ModelReply};
use antiphon_core::graph::{END, Graph, NodePolicy, START};
use antiphon_core::run::Options;
use antiphon_runtime::{Driver, Recorder, Subscription, Watcher, subscribe};
use serde_json::{Value as Json, json};

use crate::support::script::{Script, says};
use crate::support::{TestHost, agent, clock, graph, nothing, run, run_with};

/// All that waits in a queue.
fn rest_of(subscription: &mut Subscription) -> Vec<Arc<Event>> {
    std::iter::from_fn(|| subscription.try_next()).collect()
}

/// A graph of one agent whose model writes its reply in so many pieces.
fn talker(pieces: usize) -> (Arc<Graph<Json>>, Arc<TestHost>) {
    let mut graph = graph();
    agent(&mut graph, "a", AgentSpec::default(), NodePolicy::default());
    graph.edge(START, "a").edge("a", END);
    let host = TestHost::default().model(Script::in_pieces(pieces, [says("whole")]));
    (graph.build().unwrap(), Arc::new(host))
}

/// EN-14 of `docs/engine.md`.
#[tokio::test]
async fn numbers_have_no_gaps_over_eight_branches_and_ten_thousand_events() {
    let clock = clock();
    let mut graph = graph();
    let mut host = TestHost::default();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        graph.node(name);
        graph.edge(START, name);
        host = host.node(name, |call| async move {
            for number in 0..1_250 {
                call.note("tick", json!({"number": number}));
                tokio::task::yield_now().await;
            }
            nothing()
        });
    }
    let graph = graph.build().unwrap();
    let recorder = Recorder::with_limit(20_000);
    let driver = Driver::new(Arc::new(host), clock.clone()).watch(recorder.clone());
    driver.run(&mut run(&graph, &clock)).await.unwrap();
    let events = recorder.events();
    assert!(events.len() > 10_000);
    assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as u64));
    for name in ["a", "h"] {
        let of_branch =
            events.iter().filter(|e| e.kind == EventKind::Custom && &*e.path[0] == name);
        assert!(of_branch.map(|event| event.data["number"].as_u64()).eq((0..1_250).map(Some)));
    }
}

/// EN-15 of `docs/engine.md`.
#[tokio::test]
async fn a_reader_who_does_not_read_loses_only_pieces_and_is_notified() {
    let clock = clock();
    let (graph, host) = talker(5_000);
    let recorder = Recorder::new();
    let (feed, mut subscription) = subscribe(16);
    let driver = Driver::new(host, clock.clone()).watch(feed).watch(recorder.clone());
    driver.run(&mut run(&graph, &clock)).await.unwrap();
    let events = rest_of(&mut subscription);
    let lasting = |event: &&Arc<Event>| !matches!(event.kind, Chunk | Dropped);
    let kept: Vec<_> = events.iter().filter(lasting).cloned().collect();
    assert_eq!(kept, recorder.events());
    let pieces = events.iter().filter(|event| event.kind == Chunk).count() as u64;
    let dropped = events.iter().filter(|event| event.kind == Dropped);
    let lost: u64 = dropped.map(|event| event.data["count"].as_u64().unwrap()).sum();
    assert!(pieces < 16);
    assert_eq!(pieces + lost, 5_000);
    assert!(events.windows(2).all(|pair| pair[0].seq < pair[1].seq));
}

#[tokio::test]
async fn a_reader_sees_pieces_before_the_reply_and_the_end_with_the_driver() {
    let clock = clock();
    let (graph, host) = talker(3);
    let (feed, mut subscription) = subscribe(1_000);
    let driver = Driver::new(host, clock.clone()).watch(feed);
    let reader = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(event) = subscription.next().await {
            seen.push(event);
        }
        seen
    });
    driver.run(&mut run(&graph, &clock)).await.unwrap();
    drop(driver);
    let seen = reader.await.unwrap();
    let from = seen.iter().position(|event| event.kind == ModelCall).unwrap();
    let kinds: Vec<_> = seen[from..from + 5].iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [ModelCall, Chunk, Chunk, Chunk, ModelReply]);
    assert_eq!(seen[from + 2].data["text"], json!("1"));
    assert_eq!(seen.last().unwrap().kind, EventKind::RunFinished);
}

#[tokio::test]
async fn without_a_reader_of_pieces_models_are_not_asked_for_them() {
    let clock = clock();
    let (graph, host) = talker(3);
    let mut run = run(&graph, &clock);
    Driver::new(host, clock).watch(Recorder::new()).run(&mut run).await.unwrap();
    // As many events as of a model that writes no pieces.
    let (graph, host) = talker(0);
    let clock = crate::support::clock();
    let mut silent = crate::support::run(&graph, &clock);
    Driver::new(host, clock).run(&mut silent).await.unwrap();
    assert_eq!(run.event_count(), silent.event_count());
}

#[tokio::test]
async fn a_recorder_counts_what_goes_beyond_its_limit() {
    let clock = clock();
    let (graph, host) = talker(0);
    let recorder = Recorder::with_limit(2);
    let mut run = run(&graph, &clock);
    Driver::new(host, clock).watch(recorder.clone()).run(&mut run).await.unwrap();
    let kinds: Vec<_> = recorder.events().iter().map(|event| event.kind).collect();
    assert_eq!(kinds.len(), 2);
    assert_eq!(kinds[0], EventKind::RunStarted);
    assert_eq!(recorder.dropped() + 2, run.event_count());
}

/// Knows every event without holding any.
#[derive(Debug, Default)]
struct WeakRecorder(Mutex<Vec<Weak<Event>>>);

impl Watcher for WeakRecorder {
    fn see(&self, event: &Arc<Event>) {
        self.0.lock().unwrap().push(Arc::downgrade(event));
    }
}

/// How many events a run has, and how many of them somebody still holds after it.
async fn events_held(feed: Arc<dyn Watcher>) -> (usize, usize) {
    let clock = clock();
    let (graph, host) = talker(3);
    let recorder = Arc::new(WeakRecorder::default());
    let watchers = [feed, recorder.clone() as Arc<dyn Watcher>];
    let driver = Driver::new(host, clock.clone());
    let driver = watchers.into_iter().fold(driver, Driver::watch);
    driver.run(&mut run(&graph, &clock)).await.unwrap();
    let events = recorder.0.lock().unwrap();
    (events.len(), events.iter().filter(|event| event.strong_count() > 0).count())
}

#[tokio::test]
async fn a_reader_who_has_gone_is_forgotten() {
    let (feed, subscription) = subscribe(16);
    let (seen, held) = events_held(feed).await;
    assert!(seen > 3);
    assert_eq!(held, seen, "a reader who is there finds every event");
    drop(subscription);
    let (feed, subscription) = subscribe(16);
    drop(subscription);
    assert_eq!(events_held(feed).await, (seen, 0));
}

#[tokio::test]
async fn the_events_of_a_run_that_a_task_has_started_follow_its_own() {
    let clock = clock();
    let mut within = graph();
    within.node("deep");
    within.edge(START, "deep");
    let within = within.build().unwrap();
    let inner = Arc::new(TestHost::default().node("deep", |_| async { nothing() }));
    let mut outer = graph();
    outer.node("a");
    outer.edge(START, "a");
    let outer = outer.build().unwrap();
    let own_clock = clock.clone();
    let host = TestHost::default().node("a", move |call| {
        let (clock, inner, within) = (own_clock.clone(), Arc::clone(&inner), Arc::clone(&within));
        async move {
            let limits = call.reporter.budget_left().await.unwrap();
            assert_eq!((limits.model_calls, limits.tool_calls), (Some(3), None));
            let recorder = Recorder::new();
            let driver = Driver::new(inner, clock.clone()).watch(recorder.clone());
            driver.run(&mut run(&within, &clock)).await.unwrap();
            for event in recorder.events() {
                call.reporter.relay(Event::clone(&event));
            }
            nothing()
        }
    });
    let recorder = Recorder::new();
    let driver = Driver::new(Arc::new(host), clock.clone()).watch(recorder.clone());
    let limits = Limits { model_calls: Some(3), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    driver.run(&mut run_with(&outer, &clock, options)).await.unwrap();
    let events = recorder.events();
    assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as u64));
    let started = events.iter().filter(|event| event.kind == EventKind::NodeStarted);
    let paths: Vec<_> = started.map(|event| event.path.join("/")).collect();
    assert_eq!(paths, ["a", "a/deep"]);
}
