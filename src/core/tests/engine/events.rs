//! What a watcher sees.

use antiphon_core::budget::Limits;
use antiphon_core::channel::Reducer;
use antiphon_core::event::{Event, EventKind, Level};
use antiphon_core::graph::{NodePolicy, NodeWork, START};
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Category, RetryPolicy, Seed};
use serde_json::json;

use crate::support::{BEGIN, Script, TestDriver, chain, driver, fault, nested, options};

fn kinds_and_paths(events: &[Event]) -> Vec<(EventKind, String)> {
    events.iter().map(|event| (event.kind, event.path.join("/"))).collect()
}

#[test]
fn a_run_is_reported_from_its_start_to_its_finish() {
    let graph = chain(&["a"]).build().unwrap();
    let script = Script::new().writes("a", "log", json!("a"));
    let mut driver = driver(&graph, script);
    driver.complete();
    let expected = [
        (EventKind::RunStarted, ""),
        (EventKind::StateUpdated, ""),
        (EventKind::EdgeTaken, "__start__"),
        (EventKind::NodeStarted, "a"),
        (EventKind::NodeFinished, "a"),
        (EventKind::StateUpdated, ""),
        (EventKind::RunFinished, ""),
    ];
    assert_eq!(
        kinds_and_paths(&driver.events),
        expected.map(|(kind, path)| (kind, path.to_owned()))
    );
    assert_eq!(&*driver.events[0].name, "test");
    assert_eq!(driver.events[4].data["wrote"], json!(["log"]));
    assert_eq!(driver.events[5].data["changed"], json!({"log": 1}));
    assert_eq!(driver.events[6].data["outcome"], "completed");
    assert!(driver.events.iter().all(|event| event.at == BEGIN));
}

#[test]
fn a_superstep_tells_what_it_changed_and_not_what_others_did() {
    let mut graph = chain(&["a", "b"]);
    graph.channel("x", Reducer::Set);
    let script = Script::new().writes("a", "log", json!("a")).writes("b", "x", json!("four"));
    let mut driver = driver(&graph.build().unwrap(), script);
    driver.complete();
    let updates = driver.of_kind(EventKind::StateUpdated).into_iter();
    let changed: Vec<_> = updates.map(|event| event.data["changed"].clone()).collect();
    assert_eq!(changed, [json!({}), json!({"log": 1}), json!({"x": 4})]);
}

#[test]
fn internal_channels_are_not_named_but_the_keys_of_an_open_state_are() {
    let mut graph = chain(&["a", "b", "c"]);
    graph.channel("__extras__", Reducer::Fields);
    graph.channel("__note__", Reducer::Set);
    let script = Script::new()
        .writes("a", "__extras__", json!({"x": "four", "y": 1}))
        .writes("b", "__extras__", json!({"y": 2}))
        .writes("c", "__note__", json!(true));
    let mut driver = driver(&graph.build().unwrap(), script);
    driver.complete();
    let data = |kind, key: &str| -> Vec<_> {
        driver.of_kind(kind).into_iter().map(|event| event.data[key].clone()).collect()
    };
    let changed = data(EventKind::StateUpdated, "changed");
    assert_eq!(changed, [json!({}), json!({"x": 4, "y": 1}), json!({"y": 1}), json!({})]);
    let wrote = data(EventKind::NodeFinished, "wrote");
    assert_eq!(wrote, [json!(["x", "y"]), json!(["y"]), json!([])]);
}

#[test]
fn failures_pauses_and_retries_are_reported() {
    let mut graph = chain(&[]);
    let retry = Some(RetryPolicy::default());
    graph.add_node(crate::support::policy(NodePolicy { retry, ..NodePolicy::default() }, "a"));
    graph.edge(START, "a");
    let script = Script::new().node("a", |call| match (call.task.attempt, call.answers().len()) {
        (1, _) => TaskOutcome::failed(fault(Category::Timeout)),
        (_, 0) => TaskOutcome::Ask(json!("?")),
        _ => TaskOutcome::failed(fault(Category::Tool)),
    });
    let mut driver = driver(&graph.build().unwrap(), script);
    let asked = driver.pauses();
    driver.run.answer(&asked[0].id, json!("!"), driver.now).unwrap();
    driver.fails();
    let of_node: Vec<_> =
        kinds_and_paths(&driver.events).into_iter().filter(|(_, path)| path == "a").collect();
    let kinds: Vec<_> = of_node.into_iter().map(|(kind, _)| kind).collect();
    let started = EventKind::NodeStarted;
    let (retry, asks) = (EventKind::Retry, EventKind::Interrupt);
    assert_eq!(kinds, [started, retry, started, asks, started, EventKind::Error]);
    let levels =
        [(retry, Level::Warning), (EventKind::Error, Level::Error), (started, Level::Info)];
    for (kind, level) in levels {
        assert!(driver.of_kind(kind).iter().all(|event| event.level == level));
    }
}

#[test]
fn a_spent_budget_and_a_checkpoint_are_reported() {
    let graph = chain(&["a", "b"]).build().unwrap();
    let limits = Limits { supersteps: Some(1), ..Limits::default() };
    let stored = Options { commits: true, limits, ..options() };
    let mut driver = TestDriver::with(&graph, Script::new(), json!({}), stored);
    driver.go();
    assert_eq!(driver.of_kind(EventKind::Budget)[0].data["dimension"], "supersteps");
    let checkpoints = driver.of_kind(EventKind::Checkpoint);
    assert_eq!((&checkpoints[1].data["id"], &checkpoints[1].data["step"]), (&json!(2), &json!(1)));
}

#[test]
fn spans_contain_each_other() {
    let mut graph = chain(&[]);
    graph.add_node(nested("sub", chain(&["deep"]).build().unwrap()));
    graph.edge(START, "sub");
    let mut driver = driver(&graph.build().unwrap(), Script::new());
    driver.complete();
    let started = driver.of_kind(EventKind::NodeStarted);
    let (sub, deep) = (started[0], started[1]);
    assert_eq!((sub.path.join("/"), deep.path.join("/")), ("sub".into(), "sub/deep".into()));
    assert_eq!(deep.parent_span_id.as_ref(), Some(&sub.span_id));
    assert_eq!(sub.parent_span_id.as_ref(), Some(&driver.events[0].span_id));
    let edge = driver.of_kind(EventKind::EdgeTaken)[1];
    assert_eq!(edge.path.join("/"), "sub/__start__", "an edge of a nested graph is inside of it");
    assert!(driver.events.iter().all(|event| event.span_id.len() == 16));
}

#[test]
fn spans_of_two_runs_differ() {
    let graph = chain(&["a"]).build().unwrap();
    let span = |seed| {
        let seeded = Options { seed: Seed::new(seed), ..options() };
        let mut driver = TestDriver::with(&graph, Script::new(), json!({}), seeded);
        driver.complete();
        driver.of_kind(EventKind::NodeStarted)[0].span_id.clone()
    };
    assert_ne!(span(1), span(2));
    assert_eq!(span(1), span(1));
}

#[test]
fn a_host_adds_its_own_events_to_a_tasks_trace() {
    let graph = chain(&["a", "b"]).build().unwrap();
    let script = Script::new().node("a", |call| {
        call.run.note(call.task.id, EventKind::Custom, "progress", json!({"done": 3}));
        call.run.note(call.task.id, EventKind::Custom, "plain", json!("piece"));
        call.done([])
    });
    let mut driver = driver(&graph, script);
    driver.complete();
    let (custom, plain) =
        (driver.of_kind(EventKind::Custom)[0], driver.of_kind(EventKind::Custom)[1]);
    assert_eq!((&*custom.name, &custom.data["done"]), ("progress", &json!(3)));
    assert_eq!((custom.path.join("/"), &plain.data["value"]), ("a".into(), &json!("piece")));
    assert_eq!(custom.span_id, driver.of_kind(EventKind::NodeStarted)[0].span_id);
    let over = driver.tasks[0].id;
    let before = driver.run.event_count();
    driver.run.note(over, EventKind::Custom, "late", json!({}));
    assert_eq!(driver.run.event_count(), before, "an attempt that is over says nothing");
}

#[test]
fn the_events_of_a_run_within_a_task_continue_its_path_and_spans() {
    let graph = chain(&["inner"]).build().unwrap();
    let mut within = driver(&graph, Script::new());
    within.complete();
    let events = within.events.clone();
    let outer = chain(&["a"]).build().unwrap();
    let script = Script::new().node("a", move |call| {
        for event in &events {
            call.run.relay(call.task.id, event.clone());
        }
        call.done([])
    });
    let mut driver = driver(&outer, script);
    driver.complete();
    let started = driver.of_kind(EventKind::NodeStarted);
    assert_eq!(started[1].path.join("/"), "a/inner");
    let run = driver.of_kind(EventKind::RunStarted)[1];
    assert_eq!(
        (run.path.join("/"), &run.parent_span_id),
        ("a".into(), &Some(started[0].span_id.clone()))
    );
    assert_eq!(started[1].parent_span_id.as_ref(), Some(&run.span_id));
    let seen: Vec<_> = driver.events.iter().map(|event| event.seq).collect();
    assert_eq!(seen, (1..=driver.run.event_count()).collect::<Vec<_>>(), "no gap, no repetition");
    let over = driver.tasks[0].id;
    let before = driver.run.event_count();
    let late = driver.events[0].clone();
    driver.run.relay(over, late);
    assert_eq!(driver.run.event_count(), before, "an attempt that is over says nothing");
}

#[test]
fn only_pieces_of_a_reply_may_be_dropped() {
    let kinds = [
        (EventKind::RunStarted, "run_started"),
        (EventKind::RunFinished, "run_finished"),
        (EventKind::NodeStarted, "node_started"),
        (EventKind::NodeFinished, "node_finished"),
        (EventKind::EdgeTaken, "edge_taken"),
        (EventKind::StateUpdated, "state_updated"),
        (EventKind::ModelCall, "model_call"),
        (EventKind::ModelReply, "model_reply"),
        (EventKind::OutputRepaired, "output_repaired"),
        (EventKind::ToolCall, "tool_call"),
        (EventKind::ToolResult, "tool_result"),
        (EventKind::Retry, "retry"),
        (EventKind::Budget, "budget"),
        (EventKind::Checkpoint, "checkpoint"),
        (EventKind::Interrupt, "interrupt"),
        (EventKind::Error, "error"),
        (EventKind::Custom, "custom"),
        (EventKind::Chunk, "chunk"),
        (EventKind::Dropped, "dropped"),
    ];
    for (kind, name) in kinds {
        assert_eq!(serde_json::to_value(kind).unwrap(), name);
        assert_eq!(kind.is_droppable(), kind == EventKind::Chunk);
    }
}

#[test]
fn an_event_survives_its_own_json() {
    let graph = chain(&["a"]).build().unwrap();
    let mut driver = driver(&graph, Script::new());
    driver.complete();
    let text = serde_json::to_string(&driver.events).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Event>>(&text).unwrap(), driver.events);
}

#[test]
fn an_agent_without_tools_asks_its_model_once() {
    let mut graph = chain(&[]);
    graph.add_node(antiphon_core::graph::Node {
        name: "agent".into(),
        work: NodeWork::Agent(std::sync::Arc::default()),
        policy: NodePolicy::default(),
    });
    graph.edge(START, "agent");
    let script = Script::new().node("agent", |call| crate::support::agent(call, &["hello"]));
    let mut driver = driver(&graph.build().unwrap(), script);
    assert_eq!(driver.complete(), json!({"log": ["hello"]}));
    assert_eq!(driver.of_kind(EventKind::ModelCall)[0].data["turn"], 1);
    assert_eq!(driver.of_kind(EventKind::ModelReply)[0].data["model"], "scripted");
    let spent = driver.run.budget().spent();
    assert_eq!((spent.model_calls, spent.usage.input_tokens), (1, 10));
}

/// EN-18 of `docs/engine.md`.
#[test]
fn agents_spend_the_runs_calls_of_the_model() {
    let mut graph = chain(&[]);
    let mut before = START.to_owned();
    let names = ["one", "two", "three", "four", "five"];
    let mut script = Script::new().writes("wrap up", "log", json!("wrapped up"));
    for name in names {
        graph.add_node(antiphon_core::graph::Node {
            name: name.into(),
            work: NodeWork::Agent(std::sync::Arc::default()),
            policy: NodePolicy::default(),
        });
        graph.edge(before.as_str(), name);
        before = name.to_owned();
        script = script.node(name, |call| crate::support::agent(call, &["said"]));
    }
    graph.node("wrap up");
    graph.on_budget("wrap up");
    let limits = Limits { model_calls: Some(3), ..Limits::default() };
    let mut driver = TestDriver::new(&graph.build().unwrap(), script, json!({}), limits);
    assert_eq!(driver.complete(), json!({"log": ["said", "said", "said", "wrapped up"]}));
    assert_eq!(driver.run.budget().spent().model_calls, 3);
    assert_eq!(driver.of_kind(EventKind::ModelCall).len(), 3);
}
