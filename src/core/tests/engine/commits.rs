//! What is handed to a store.

use antiphon_core::channel::{ChannelId, Reducer, Write};
use antiphon_core::checkpoint::{CommitChange, NestedLevel, WriteSource};
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::event::EventKind;
use antiphon_core::graph::{NodeId, NodePolicy, START};
use antiphon_core::run::Options;
use serde_json::{Value, json};

use crate::support::{Script, TestDriver, chain, choose, fan, ms, nested, options, policy, send};

fn stored(
    graph: &mut antiphon_core::graph::GraphBuilder<Value>,
    script: Script,
    input: Value,
) -> TestDriver {
    let graph = std::mem::replace(graph, antiphon_core::graph::Graph::builder("")).build().unwrap();
    TestDriver::with(&graph, script, input, Options { commits: true, ..options() })
}

#[test]
fn each_superstep_is_a_delta_of_what_was_written_and_what_comes_next() {
    let mut graph = chain(&["a", "b"]);
    graph.channel("x", Reducer::Set);
    let script = Script::new().writes("a", "log", json!("a")).writes("b", "x", json!(2));
    let mut driver = stored(&mut graph, script, json!({"x": 1}));
    driver.complete();
    let seen: Vec<_> = driver
        .deltas()
        .into_iter()
        .map(|delta| {
            let merged = delta.merges.iter().flat_map(|merged| merged.writes.clone());
            (
                delta.source,
                delta.step,
                merged.collect::<Vec<_>>(),
                delta.pending_work.ready.to_vec(),
            )
        })
        .collect();
    let (log, x) = (ChannelId(0), ChannelId(1));
    assert_eq!(
        seen,
        [
            (WriteSource::Begin, 0, vec![Write::merge(x, json!(1))], vec![NodeId(1)]),
            (WriteSource::Step, 1, vec![Write::merge(log, json!("a"))], vec![NodeId(2)]),
            (WriteSource::Step, 2, vec![Write::merge(x, json!(2))], vec![]),
        ]
    );
    assert!(matches!(driver.commits[3].change, CommitChange::Ended(Ok(Ending::Completed))));
    assert_eq!(driver.of_kind(EventKind::Checkpoint).len(), 3);
    let ids: Vec<_> = driver.commits.iter().map(|commit| commit.id).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
}

#[test]
fn a_list_that_grows_costs_no_more_to_store_at_its_end() {
    let mut graph = chain(&["a"]);
    graph.branch("a", "again", 0, None);
    let script = Script::new().writes("a", "log", json!("an item")).router(0, |view| {
        let on = view.named("log").and_then(Value::as_array).map_or(0, Vec::len) < 50;
        choose(on.then(|| crate::support::name("a")))
    });
    let mut driver = stored(&mut graph, script, json!({}));
    driver.complete();
    let deltas = driver.deltas();
    let sizes: Vec<_> =
        deltas[1..].iter().map(|delta| format!("{:?}", delta.merges).len()).collect();
    assert_eq!(sizes.len(), 50);
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
}

#[test]
fn nothing_is_started_before_the_commit_is_acknowledged() {
    let mut graph = chain(&["a"]);
    let mut driver = stored(&mut graph, Script::new(), json!({}));
    driver.acknowledges = false;
    assert!(matches!(driver.step(), Effect::Commit(_)));
    for _ in 0..3 {
        assert!(matches!(driver.step(), Effect::Wait(None)));
        assert!(!driver.run.is_ready());
    }
    driver.run.committed(99);
    assert!(matches!(driver.step(), Effect::Wait(None)), "another id acknowledges nothing");
    driver.run.committed(driver.commits[0].id);
    assert!(driver.run.is_ready());
    assert!(matches!(driver.step(), Effect::Start(_)));
}

#[test]
fn sends_and_deferred_nodes_are_part_of_what_comes_next() {
    let mut graph = chain(&["hub"]);
    graph.node("leaf");
    graph.add_node(policy(NodePolicy { deferred: true, ..NodePolicy::default() }, "last"));
    graph.edge(START, "last").branch("hub", "scatter", 0, None);
    let script =
        Script::new().router(0, |_| choose([send("leaf", json!(1)), send("leaf", json!(2))]));
    let mut driver = stored(&mut graph, script, json!({}));
    driver.complete();
    let deltas = driver.deltas();
    let (ready, sends) = deltas[1].pending_work.upcoming();
    assert_eq!(ready, [], "the deferred node waits for the sends");
    assert_eq!(sends.iter().map(|sent| sent.input.clone()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(deltas[2].pending_work.upcoming().0, [NodeId(3)], "and then comes next");
}

#[test]
fn a_nested_graph_commits_as_a_separate_unit() {
    let mut graph = chain(&[]);
    graph.add_node(nested("sub", chain(&["deep"]).build().unwrap()));
    graph.edge(START, "sub");
    let mut driver = stored(&mut graph, Script::new().writes("deep", "log", json!(1)), json!({}));
    driver.complete();
    let depths: Vec<_> = driver.commits.iter().map(|commit| commit.within.len()).collect();
    assert_eq!(depths, [0, 1, 1, 0, 0]);
    let NestedLevel { node, attempt, .. } = driver.commits[1].within[0];
    assert_eq!((node, attempt), (NodeId(1), 1));
}

#[test]
fn the_last_commit_of_a_run_that_failed_records_it() {
    let mut graph = chain(&["a"]);
    let script = Script::new().fails("a", antiphon_core::Category::Tool);
    let mut driver = stored(&mut graph, script, json!({}));
    driver.fails();
    let CommitChange::Ended(Err(fault)) = &driver.commits[1].change else { panic!() };
    assert_eq!(fault.category, antiphon_core::Category::Tool);
}

#[test]
fn a_task_is_stored_by_itself_only_while_others_run() {
    let graph = fan(&["a", "b", "c"], &[("log", Reducer::Append)]).build().unwrap();
    let script = Script::new().takes("b", ms(1));
    let mut driver =
        TestDriver::with(&graph, script, json!({}), Options { commits: true, ..options() });
    driver.complete();
    let tasks: Vec<_> = driver
        .commits
        .iter()
        .filter_map(|commit| match &commit.change {
            CommitChange::Finished(task, _) => Some((task.slot, task.node)),
            _ => None,
        })
        .collect();
    assert_eq!(tasks, [(0, NodeId(1)), (2, NodeId(3))], "b was the last: its superstep follows");
}

#[test]
fn no_write_is_lost_between_a_merge_and_a_router_that_failed() {
    let mut graph = chain(&["a", "b"]);
    graph.channel("error", Reducer::Set);
    graph.branch("a", "way", 0, None).on_error_goto("a", "b", Some(ChannelId(1)));
    let script = Script::new()
        .writes("a", "log", json!("kept"))
        .router(0, |_| Err(crate::support::fault(antiphon_core::Category::State)));
    let mut driver = stored(&mut graph, script, json!({}));
    driver.complete();
    let deltas = driver.deltas();
    let merged: Vec<_> = deltas[1].merges.iter().map(|merged| merged.writes.clone()).collect();
    let channels: Vec<_> = merged.iter().map(|writes| writes[0].channel).collect();
    assert_eq!(channels, [ChannelId(0), ChannelId(1)], "both merges are in the one commit");
}
