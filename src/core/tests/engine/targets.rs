//! Targets that do not exist.

use antiphon_core::FaultCode;
use antiphon_core::command::Route;
use antiphon_core::event::{EventKind, Level};
use antiphon_core::graph::{END, Graph, GraphError, NodeId, Semantics};
use serde_json::{Value, json};

use crate::support::{Script, chain, choose, driver, name, send};

/// EN-03 of `docs/engine.md`.
#[test]
fn an_undeclared_target_is_found_when_the_graph_is_built() {
    let mut graph = chain(&["a"]);
    graph.edge("a", "nowhere");
    let error = graph.build().unwrap_err();
    assert_eq!(error, GraphError::UnknownTarget("a".into(), "nowhere".into()));
    assert_eq!(error.to_string(), "an edge from `a` leads to an unknown node: nowhere");
    assert_eq!(error.code(), "graph_invalid");
}

/// EN-03 of `docs/engine.md`.
#[test]
fn a_label_of_a_branch_must_lead_to_a_node_when_the_graph_is_built() {
    let mut graph = chain(&["a"]);
    graph.branch("a", "which", 0, Some(&[("yes", "a"), ("no", "nowhere")]));
    let error = graph.build().unwrap_err();
    assert_eq!(error, GraphError::UnknownTarget("a".into(), "nowhere".into()));
}

/// EN-03 of `docs/engine.md`.
#[test]
fn an_undeclared_target_at_run_time_is_a_state_fault_with_a_trace() {
    let mut graph = chain(&["a"]);
    graph.branch("a", "which", 0, Some(&[("yes", "a"), ("no", END)]));
    let script = Script::new().router(0, |_| choose([name("maybe")]));
    let mut driver = driver(&graph.build().unwrap(), script);
    let fault = driver.fails();
    assert_eq!(fault.code, FaultCode::TargetUnknown);
    assert_eq!(fault.message, "`a` leads to a target that does not exist: maybe");
    assert_eq!(fault.details["known"], json!("no, yes"));
    assert_eq!(fault.details["branch"], json!("which"));
    let kinds = driver.kinds();
    assert_eq!(kinds.first(), Some(&EventKind::RunStarted));
    assert_eq!(kinds[kinds.len() - 2..], [EventKind::Error, EventKind::RunFinished]);
    assert_eq!(driver.events.last().unwrap().data["outcome"], json!("error"));
}

#[test]
fn a_strict_graph_fails_at_a_wish_for_an_unknown_node() {
    let graph = chain(&["a"]).build().unwrap();
    for choice in [|| name("nowhere"), || send("nowhere", Value::Null), || name("__start__")] {
        let script = Script::new().node("a", move |call| call.route(Route::Also(vec![choice()])));
        let fault = driver(&graph, script).fails();
        assert_eq!(fault.code, "target_unknown");
        assert!(fault.message.starts_with("`a` leads to"), "{fault}");
    }
}

#[test]
fn a_node_that_was_looked_up_wrong_is_no_target_either() {
    let graph = chain(&["a"]).build().unwrap();
    for number in [0, 9] {
        let wrong = antiphon_core::command::Destination::Node(NodeId(number));
        let wrong = Route::Only(vec![wrong]);
        let script = Script::new().node("a", move |call| call.route(wrong.clone()));
        assert_eq!(driver(&graph, script).fails().code, "target_unknown");
    }
}

#[test]
fn a_lenient_graph_ends_the_path_with_a_warning() {
    let mut graph = chain(&["a"]);
    graph.semantics(Semantics { lenient: true, ..Semantics::default() });
    let script = Script::new().node("a", |call| {
        call.route(Route::Also(vec![name("nowhere"), send("neither", Value::Null)]))
    });
    let mut driver = driver(&graph.build().unwrap(), script);
    driver.complete();
    let warned = driver.of_kind(EventKind::EdgeTaken).into_iter();
    let warned: Vec<_> = warned.filter(|event| event.level == Level::Warning).collect();
    let targets: Vec<_> = warned.iter().map(|event| event.data["target"].clone()).collect();
    assert_eq!(targets, [json!("nowhere"), json!("neither")]);
    assert!(warned.iter().all(|event| event.data["exists"] == json!(false)));
}

#[test]
fn a_lenient_graph_still_holds_a_branch_to_its_labels() {
    let mut graph = chain(&["a"]);
    graph.semantics(Semantics { lenient: true, ..Semantics::default() });
    graph.branch("a", "which", 0, Some(&[("yes", "a")]));
    let script = Script::new().router(0, |_| choose([name("maybe")]));
    assert_eq!(driver(&graph.build().unwrap(), script).fails().code, "target_unknown");
}

#[test]
fn a_router_that_the_host_does_not_have_fails_its_node() {
    let mut graph = chain(&["a"]);
    graph.branch("a", "which", 0, None);
    let graph: std::sync::Arc<Graph<Value>> = graph.build().unwrap();
    let mut run = antiphon_core::run::Run::new(
        graph,
        vec![],
        crate::support::options(),
        crate::support::BEGIN,
    );
    let mut rules = antiphon_core::rules::NoRules;
    let antiphon_core::effect::Effect::Start(tasks) = run.step(crate::support::BEGIN, &mut rules)
    else {
        panic!()
    };
    run.resolve(
        tasks[0].id,
        antiphon_core::task::TaskOutcome::Done(antiphon_core::command::Update::default()),
        crate::support::BEGIN,
    );
    let antiphon_core::effect::Effect::Failed(fault) = run.step(crate::support::BEGIN, &mut rules)
    else {
        panic!()
    };
    assert_eq!(fault.code, "rule_missing");
}
