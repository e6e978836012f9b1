//! The order of what a run leaves behind does not depend on who ends first.

use antiphon_core::channel::Reducer;
use antiphon_core::graph::{MergeOrder, START, Semantics};
use serde_json::json;

use crate::support::{Finish, Script, chain, driver, fan};

const FINISHES: [Finish; 5] = [
    Finish::InOrder,
    Finish::Backwards,
    Finish::Shuffled(1),
    Finish::Shuffled(2),
    Finish::Shuffled(3),
];

/// EN-02 of `docs/engine.md`.
#[test]
fn parallel_appends_come_in_branch_order_for_any_order_of_ends() {
    let graph = fan(&["zoe", "adam", "mia"], &[("log", Reducer::Append)]).build().unwrap();
    for finish in FINISHES {
        let script = ["zoe", "adam", "mia"]
            .iter()
            .fold(Script::new(), |script, name| script.writes(name, "log", json!(name)));
        let mut driver = driver(&graph, script);
        driver.finish = finish;
        assert_eq!(driver.complete(), json!({"log": ["zoe", "adam", "mia"]}));
    }
}

/// EN-02 of `docs/engine.md`.
#[test]
fn a_graph_may_order_its_writes_by_name() {
    let mut graph = fan(&["zoe", "adam", "mia"], &[("log", Reducer::Append)]);
    graph.semantics(Semantics { order: MergeOrder::ByName, ..Semantics::default() });
    let graph = graph.build().unwrap();
    let script = ["zoe", "adam", "mia"]
        .iter()
        .fold(Script::new(), |script, name| script.writes(name, "log", json!(name)));
    let mut driver = driver(&graph, script);
    driver.finish = Finish::Backwards;
    assert_eq!(driver.complete(), json!({"log": ["adam", "mia", "zoe"]}));
    assert_eq!(driver.started, ["adam", "mia", "zoe"]);
}

/// EN-14 of `docs/engine.md`.
#[test]
fn seq_has_no_gaps_over_eight_branches_and_ten_thousand_events() {
    let mut graph = chain(&["hub"]);
    let names: Vec<String> = (0..8).map(|place| format!("n{place}")).collect();
    for name in &names {
        graph.node(name.as_str());
        graph.edge("hub", name.as_str()).edge(name.as_str(), "hub");
    }
    let graph = graph.build().unwrap();
    let limits = antiphon_core::budget::Limits { supersteps: Some(700), ..Default::default() };
    let mut driver = crate::support::TestDriver::new(&graph, Script::new(), json!({}), limits);
    driver.finish = Finish::Shuffled(4);
    driver.go();
    assert!(driver.events.len() > 10_000, "{}", driver.events.len());
    for (place, event) in driver.events.iter().enumerate() {
        assert_eq!(event.seq, place as u64 + 1);
    }
    assert_eq!(driver.run.event_count(), driver.events.len() as u64);
}

#[test]
fn events_are_counted_though_nobody_asked_for_them() {
    let graph = chain(&["a", "b"]).build().unwrap();
    let mut heard = driver(&graph, Script::new());
    heard.complete();
    let options = antiphon_core::run::Options { events: false, ..crate::support::options() };
    let mut unheard = crate::support::TestDriver::with(&graph, Script::new(), json!({}), options);
    unheard.complete();
    assert!(unheard.events.is_empty());
    assert_eq!(unheard.run.event_count(), heard.run.event_count());
}

#[test]
fn nodes_are_started_in_the_order_they_were_added() {
    let mut graph = fan(&["c", "a"], &[]);
    graph.node("b");
    graph.edge(START, "b");
    let mut driver = driver(&graph.build().unwrap(), Script::new());
    driver.complete();
    assert_eq!(driver.started, ["c", "a", "b"]);
}
