//! What happens when a node fails for good.

use antiphon_core::Category;
use antiphon_core::channel::{Channel, Reducer, ValueKind};
use antiphon_core::event::EventKind;
use antiphon_core::graph::GraphBuilder;
use serde_json::{Value, json};

use crate::support::{Script, TestDriver, chain, driver, fan};

fn failing(
    change: impl FnOnce(&mut GraphBuilder<Value>) -> &mut GraphBuilder<Value>,
) -> TestDriver {
    let mut graph = chain(&["a", "b"]);
    graph.channel("error", Reducer::Set);
    graph.node("rescue");
    change(&mut graph);
    driver(&graph.build().unwrap(), Script::new().fails("a", Category::Tool))
}

#[test]
fn raise_fails_the_run_with_the_fault_as_it_was() {
    let mut driver = failing(|graph| graph);
    let fault = driver.fails();
    assert_eq!((fault.category, fault.code.as_str()), (Category::Tool, "tool"));
    assert_eq!(driver.of_kind(EventKind::Error)[0].data["code"], "tool");
}

#[test]
fn record_writes_the_fault_and_follows_the_edges() {
    let mut driver = failing(|graph| {
        let error = antiphon_core::channel::ChannelId(1);
        graph.on_error_record("a", error)
    });
    let state = driver.complete();
    assert_eq!(
        (&state["error"]["category"], &state["error"]["code"]),
        (&json!("tool"), &json!("tool"))
    );
    let error = &state["error"];
    assert_eq!((&error["node"], &error["attempt"]), (&json!("a"), &json!(1)));
    assert_eq!(error["recoverable"], false);
    assert_eq!(driver.of_kind(EventKind::Error)[0].data["attempt"], 1);
    assert_eq!(driver.started, ["a", "b"]);
}

#[test]
fn goto_writes_the_fault_and_runs_another_node_instead_of_the_successors() {
    let mut driver = failing(|graph| {
        let error = antiphon_core::channel::ChannelId(1);
        graph.on_error_goto("a", "rescue", Some(error))
    });
    assert_eq!(driver.complete()["error"]["message"], "it failed");
    assert_eq!(driver.started, ["a", "rescue"]);
}

#[test]
fn goto_need_not_write_anything() {
    let mut driver = failing(|graph| graph.on_error_goto("a", "rescue", None));
    assert_eq!(driver.complete(), json!({}));
    assert_eq!(driver.started, ["a", "rescue"]);
}

#[test]
fn a_handler_takes_the_failed_nodes_place_within_the_superstep() {
    let mut graph = fan(&["a", "c"], &[("log", Reducer::Append)]);
    graph.node("rescue");
    graph.node("b");
    graph.node("after");
    graph.edge("a", "b").edge("rescue", "after").on_error_handle("a", "rescue");
    let script = Script::new().fails("a", Category::Tool).writes("c", "log", json!("c")).node(
        "rescue",
        |call| {
            let (node, code) = call.handled().unwrap();
            call.done([("log", json!([node, code, call.task.attempt]))])
        },
    );
    let mut driver = driver(&graph.build().unwrap(), script);
    let state = driver.complete();
    assert_eq!(state["log"], json!([["a", "tool", 1], "c"]), "in the failed node's order");
    assert_eq!(driver.started, ["a", "c", "rescue", "after"]);
    assert_eq!(driver.run.supersteps(), 2);
}

#[test]
fn a_handler_gets_what_was_sent_but_not_the_time_out_or_the_answers() {
    use antiphon_core::command::{Destination, Send};
    let mut graph = chain(&["hub"]);
    for name in ["leaf", "rescue"] {
        graph.node(name);
    }
    graph.branch("hub", "go", 0, None).on_error_handle("leaf", "rescue");
    let script = Script::new()
        .router(0, |_| {
            let timeout = Some(crate::support::ms(5));
            crate::support::choose([Destination::Send(Send {
                node: "leaf".into(),
                input: json!(7),
                timeout,
                limit: None,
            })])
        })
        .node("leaf", |call| match call.answers().len() {
            0 => antiphon_core::task::TaskOutcome::Ask(json!("?")),
            _ => antiphon_core::task::TaskOutcome::failed(crate::support::fault(Category::Tool)),
        })
        .node("rescue", |call| {
            assert_eq!((call.task.deadline, call.answers()), (None, vec![]));
            call.done([("log", call.sent().unwrap())])
        });
    let mut driver = driver(&graph.build().unwrap(), script);
    let asked = driver.pauses();
    driver.run.answer(&asked[0].id, json!("!"), driver.now).unwrap();
    assert_eq!(driver.complete(), json!({"log": [7]}));
}

#[test]
fn a_second_failure_ends_the_run() {
    let mut graph = chain(&["a"]);
    graph.node("rescue");
    graph.on_error_handle("a", "rescue").on_error_handle("rescue", "a");
    let script = Script::new().fails("a", Category::Tool).fails("rescue", Category::Auth);
    let mut driver = driver(&graph.build().unwrap(), script);
    assert_eq!(driver.fails().category, Category::Auth);
    assert_eq!(driver.started, ["a", "rescue"], "handlers do not handle handlers");
}

#[test]
fn a_fault_that_cannot_be_recorded_ends_the_run() {
    let mut driver = failing(|graph| {
        let number = graph.add_channel(Channel {
            name: "count".into(),
            merge: Reducer::Sum,
            default: None,
            kind: ValueKind::Number,
        });
        graph.on_error_record("a", number)
    });
    assert_eq!(driver.fails().code, "write_unmergeable");
}

fn lost(change: impl FnOnce(&mut GraphBuilder<Value>) -> &mut GraphBuilder<Value>) -> TestDriver {
    let mut graph = chain(&["a", "b"]);
    graph.node("rescue");
    graph.branch("a", "way", 0, None);
    change(&mut graph);
    let script = Script::new()
        .writes("a", "log", json!("done"))
        .router(0, |_| Err(crate::support::fault(Category::Internal)));
    driver(&graph.build().unwrap(), script)
}

#[test]
fn a_router_that_fails_is_the_failure_of_its_node() {
    let log = antiphon_core::channel::ChannelId(0);
    let mut driver = lost(|graph| graph.on_error_goto("a", "rescue", Some(log)));
    let log = driver.complete()["log"].clone();
    assert_eq!((&log[0], &log[1]["code"]), (&json!("done"), &json!("internal")));
    assert_eq!(log.as_array().unwrap().len(), 2, "what was merged is not merged again");
    assert_eq!(driver.started, ["a", "rescue"]);
}

#[test]
fn a_router_that_fails_leaves_no_way_to_follow() {
    let log = antiphon_core::channel::ChannelId(0);
    let mut driver = lost(|graph| graph.on_error_record("a", log));
    assert_eq!(driver.fails().category, Category::Internal);
    assert_eq!(driver.started, ["a"]);
}

#[test]
fn a_failure_stops_the_siblings_and_waits_for_them() {
    let graph = fan(&["a", "slow"], &[("log", Reducer::Append)]).build().unwrap();
    let script = Script::new()
        .fails("a", Category::Tool)
        .writes("slow", "log", json!("late"))
        .takes("slow", crate::support::ms(50));
    let mut driver = driver(&graph, script);
    assert_eq!(driver.fails().category, Category::Tool);
    assert_eq!(driver.cancelled.len(), 1);
    assert_eq!(driver.state(), json!({}));
}

#[test]
fn an_outcome_of_another_kind_of_work_is_a_fault() {
    let graph = chain(&["a"]).build().unwrap();
    let script = Script::new().node("a", |_| antiphon_core::task::TaskOutcome::Opened(vec![]));
    assert_eq!(driver(&graph, script).fails().code, "outcome_misplaced");
}

#[test]
fn a_wish_to_stop_is_nobodys_to_handle() {
    for policy in ["record", "goto", "handle"] {
        let mut graph = chain(&["a", "b"]);
        graph.channel("error", Reducer::Set);
        graph.node("rescue");
        let error = antiphon_core::channel::ChannelId(1);
        match policy {
            "record" => graph.on_error_record("a", error),
            "goto" => graph.on_error_goto("a", "rescue", Some(error)),
            _ => graph.on_error_handle("a", "rescue"),
        };
        let script = Script::new().fails("a", Category::Cancelled);
        let mut driver = driver(&graph.build().unwrap(), script);
        assert_eq!(driver.fails().category, Category::Cancelled, "{policy}");
        assert_eq!(driver.started, ["a"], "{policy}");
    }
}
