//! What is handed to a store.

use antiphon_core::channel::{ChannelId, Merge};
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::event::EventKind;
use antiphon_core::graph::{NodeId, Policy, START};
use antiphon_core::run::Options;
use serde_json::{Value, json};

use crate::support::{Play, Script, chain, choose, nested, options, policy, send};

fn stored(
    graph: &mut antiphon_core::graph::GraphBuilder<Value>,
    script: Script,
    input: Value,
) -> Play {
    let graph = std::mem::replace(graph, antiphon_core::graph::Graph::builder("")).build().unwrap();
    Play::with(&graph, script, input, Options { commits: true, ..options() })
}

#[test]
fn each_superstep_is_a_delta_of_what_changed_and_what_comes_next() {
    let mut graph = chain(&["a", "b"]);
    graph.channel("x", Merge::Set);
    let script = Script::new().writes("a", "log", json!("a")).writes("b", "x", json!(2));
    let mut play = stored(&mut graph, script, json!({"x": 1}));
    play.complete();
    let seen: Vec<_> =
        play.deltas.iter().map(|d| (d.id, d.step, d.changed.clone(), d.next.clone())).collect();
    let (log, x) = (ChannelId(0), ChannelId(1));
    assert_eq!(
        seen,
        [
            (1, 0, vec![(x, Some(json!(1)))], vec![NodeId(1)]),
            (2, 1, vec![(log, Some(json!(["a"])))], vec![NodeId(2)]),
            (3, 2, vec![(x, Some(json!(2)))], vec![]),
            (4, 2, vec![], vec![]),
        ]
    );
    assert_eq!(play.deltas[3].ending, Some(Ending::Completed));
    assert_eq!(play.of_kind(EventKind::Checkpoint).len(), 3);
}

#[test]
fn nothing_is_started_before_the_commit_is_acknowledged() {
    let mut graph = chain(&["a"]);
    let mut play = stored(&mut graph, Script::new(), json!({}));
    play.acknowledges = false;
    assert!(matches!(play.step(), Effect::Commit(_)));
    for _ in 0..3 {
        assert!(matches!(play.step(), Effect::Wait(None)));
        assert!(!play.run.is_ready());
    }
    play.run.committed(99);
    assert!(matches!(play.step(), Effect::Wait(None)), "another id acknowledges nothing");
    play.run.committed(1);
    assert!(play.run.is_ready());
    assert!(matches!(play.step(), Effect::Start(_)));
}

#[test]
fn replaying_the_deltas_gives_the_state() {
    let mut graph = chain(&["a", "b", "c"]);
    graph.channel("x", Merge::Sum);
    graph.branch("c", "again", 0, None);
    let script = ["a", "b", "c"].iter().fold(Script::new(), |script, name| {
        let name = (*name).to_owned();
        script.node(&name.clone(), move |call| call.done([("log", json!(name)), ("x", json!(1))]))
    });
    let script = script.router(0, |view| {
        let on = view.named("x").and_then(Value::as_i64) < Some(12);
        choose(on.then(|| crate::support::name("a")))
    });
    let mut play = stored(&mut graph, script, json!({}));
    let state = play.complete();
    let mut replayed = [None, None];
    for (channel, value) in play.deltas.iter().flat_map(|delta| delta.changed.clone()) {
        replayed[channel.0 as usize] = value;
    }
    assert_eq!(replayed, [Some(state["log"].clone()), Some(state["x"].clone())]);
    let ids: Vec<_> = play.deltas.iter().map(|delta| delta.id).collect();
    assert_eq!(ids, (1..=play.deltas.len() as u64).collect::<Vec<_>>());
}

#[test]
fn sends_and_deferred_nodes_are_part_of_what_comes_next() {
    let mut graph = chain(&["hub"]);
    graph.node("leaf");
    graph.add_node(policy(Policy { deferred: true, ..Policy::default() }, "last"));
    graph.edge(START, "last").branch("hub", "scatter", 0, None);
    let script =
        Script::new().router(0, |_| choose([send("leaf", json!(1)), send("leaf", json!(2))]));
    let mut play = stored(&mut graph, script, json!({}));
    play.complete();
    let inputs: Vec<_> = play.deltas[1].sends.iter().map(|sent| sent.input.clone()).collect();
    assert_eq!(inputs, [1, 2]);
    assert_eq!(play.deltas[1].next, [], "the deferred node waits for the sends");
    assert_eq!(play.deltas[2].next, [NodeId(3)], "and then comes next");
}

#[test]
fn a_nested_graph_commits_as_a_unit_of_its_own() {
    let mut graph = chain(&[]);
    graph.add_node(nested("sub", chain(&["deep"]).build().unwrap()));
    graph.edge(START, "sub");
    let mut play = stored(&mut graph, Script::new().writes("deep", "log", json!(1)), json!({}));
    play.complete();
    let units: Vec<_> = play.deltas.iter().map(|delta| delta.unit).collect();
    assert_eq!(units, [0, 1, 1, 0, 0]);
}

#[test]
fn a_failed_run_has_no_last_commit() {
    let mut graph = chain(&["a"]);
    let script = Script::new().fails("a", antiphon_core::Category::Tool);
    let mut play = stored(&mut graph, script, json!({}));
    play.fails();
    assert_eq!(play.deltas.len(), 1);
}

#[test]
fn no_write_is_lost_between_a_merge_and_a_router_that_failed() {
    let mut graph = chain(&["a", "b"]);
    graph.channel("error", Merge::Set);
    graph.branch("a", "way", 0, None).on_error_goto("a", "b", Some(ChannelId(1)));
    let script = Script::new()
        .writes("a", "log", json!("kept"))
        .router(0, |_| Err(crate::support::fault(antiphon_core::Category::State)));
    let mut play = stored(&mut graph, script, json!({}));
    play.complete();
    let changed: Vec<_> = play.deltas[1].changed.iter().map(|(channel, _)| *channel).collect();
    assert_eq!(changed, [ChannelId(0), ChannelId(1)]);
}
