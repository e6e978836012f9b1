//! Tasks with their own input.

use std::time::Duration;

use antiphon_core::channel::Reducer;
use antiphon_core::command::{Destination, Route, Send};
use antiphon_core::event::EventKind;
use antiphon_core::graph::{Graph, START};
use serde_json::{Value, json};

use crate::support::{Finish, Script, chain, choose, driver, ms, send};

fn scatter(script: Script) -> crate::support::TestDriver {
    let mut graph = chain(&["hub"]);
    graph.node("leaf");
    graph.branch("hub", "scatter", 0, None);
    driver(&graph.build().unwrap(), script)
}

#[test]
fn sends_run_side_by_side_each_with_its_input_and_merge_in_order() {
    let script = Script::new()
        .router(0, |_| choose([3, 1, 2].map(|item| send("leaf", json!(item)))))
        .node("leaf", |call| call.done([("log", call.sent().unwrap())]));
    let mut driver = scatter(script);
    driver.finish = Finish::Backwards;
    assert_eq!(driver.complete(), json!({"log": [3, 1, 2]}));
    assert_eq!(driver.started, ["hub", "leaf#0", "leaf#1", "leaf#2"]);
}

#[test]
fn nodes_come_before_sends_in_the_order_of_writes() {
    let mut graph = Graph::builder("mixed");
    graph.channel("log", Reducer::Append);
    for name in ["first", "second", "leaf"] {
        graph.node(name);
    }
    graph.edge(START, "first").edge(START, "second").edge("second", "leaf");
    let script = Script::new()
        .node("first", |call| call.route(Route::Also(vec![send("leaf", json!("sent"))])))
        .node("leaf", |call| call.done([("log", call.sent().unwrap_or_else(|| json!("edge")))]));
    assert_eq!(
        driver(&graph.build().unwrap(), script).complete(),
        json!({"log": ["edge", "sent"]})
    );
}

#[test]
fn a_send_may_have_its_own_timeout() {
    let script = Script::new()
        .router(0, |_| {
            let timeout = Some(ms(20));
            choose([Destination::Send(Send {
                node: "leaf".into(),
                input: Value::Null,
                timeout,
                limit: None,
            })])
        })
        .takes("leaf", Duration::from_secs(5));
    let mut driver = scatter(script);
    assert_eq!(driver.fails().code, "node_timeout");
    assert_eq!(driver.now.since(crate::support::BEGIN), ms(20));
}

#[test]
fn a_send_is_an_edge_in_the_trace() {
    let script = Script::new().router(0, |_| choose([send("leaf", json!(1))]));
    let mut driver = scatter(script);
    driver.complete();
    let edges = driver.of_kind(EventKind::EdgeTaken);
    let sent = edges.iter().find(|edge| edge.data.get("label") == Some(&json!("send"))).unwrap();
    assert_eq!((&sent.data["source"], &sent.data["target"]), (&json!("hub"), &json!("leaf")));
}

#[test]
fn a_thousand_sends_keep_their_order() {
    let script = Script::new()
        .router(0, |_| choose((0..1000).map(|item| send("leaf", json!(item)))))
        .node("leaf", |call| call.done([("log", call.sent().unwrap())]));
    let mut driver = scatter(script);
    driver.finish = Finish::Shuffled(9);
    assert_eq!(driver.complete(), json!({"log": (0..1000).collect::<Vec<_>>()}));
}
