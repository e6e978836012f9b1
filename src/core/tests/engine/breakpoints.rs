//! Stopping between two supersteps.

use std::sync::Arc;

use antiphon_core::checkpoint::RecoveredRun;
use antiphon_core::effect::Ending;
use antiphon_core::graph::{Graph, NodeId};
use antiphon_core::run::{Breakpoints, Options};
use serde_json::{Value, json};

use crate::support::{End, Script, TestDriver, chain, options};

fn abc() -> (Arc<Graph<Value>>, Script) {
    let names = ["a", "b", "c"];
    let graph = chain(&names).build().unwrap();
    (
        graph,
        names.iter().fold(Script::new(), |script, name| script.writes(name, "log", json!(name))),
    )
}

fn stopping(graph: &Graph<Value>, before: &[&str], after: &[&str]) -> Options {
    let ids = |names: &[&str]| -> Vec<NodeId> {
        names.iter().map(|name| graph.node_id(name).unwrap()).collect()
    };
    let breakpoints = Some(Arc::new(Breakpoints { before: ids(before), after: ids(after) }));
    Options { commits: true, breakpoints, ..options() }
}

#[test]
fn a_run_stops_before_or_after_a_node_and_is_resumed_there() {
    for (before, after) in [(vec!["b"], vec![]), (vec![], vec!["a"])] {
        let (graph, script) = abc();
        let mut driver =
            TestDriver::with(&graph, script.clone(), json!({}), stopping(&graph, &before, &after));
        assert!(matches!(driver.go(), End::Done(Ending::Breakpoint)));
        assert_eq!(driver.started, ["a"]);
        let mut recovered = RecoveredRun::new(&graph);
        for commit in &driver.commits {
            recovered.fold(&graph, commit.clone()).unwrap();
        }
        assert_eq!(recovered.ended, Some(Ok(Ending::Breakpoint)));
        assert!(!recovered.is_paused(), "nobody has to answer");
        let mut resumed = TestDriver::resume(&graph, script, recovered);
        assert_eq!(resumed.complete(), json!({"log": ["a", "b", "c"]}));
        assert_eq!(resumed.started, ["b", "c"]);
    }
}

#[test]
fn a_breakpoint_that_the_run_does_not_come_to_changes_nothing() {
    let (graph, script) = abc();
    let mut driver = TestDriver::with(&graph, script, json!({}), stopping(&graph, &[], &["c"]));
    assert!(matches!(driver.go(), End::Done(Ending::Completed)), "nothing is left to stop before");
}
