//! A run from input to end.
use antiphon_core::Time;
use antiphon_core::channel::{Merge, Write};
use antiphon_core::command::Update;
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::graph::{END, Graph, START};
use antiphon_core::rules::NoRules;
use antiphon_core::run::{Options, Run};
use antiphon_core::task::Outcome;
use serde_json::{Value, json};

#[test]
fn a_chain_runs_to_its_end() {
    let mut graph = Graph::<Value>::builder("chain");
    let log = graph.channel("log", Merge::Append);
    for name in ["a", "b"] {
        graph.node(name);
    }
    graph.edge(START, "a").edge("a", "b").edge("b", END);
    let graph = graph.build().unwrap();
    let now = Time::default();
    let mut run = Run::new(graph, vec![], Options { events: true, ..Options::default() }, now);
    let mut order = vec![];
    loop {
        match run.step(now, &mut NoRules) {
            Effect::Start(tasks) => {
                for task in tasks {
                    let name = run.node(task.id.unit, task.node).unwrap().name.to_string();
                    order.push(name.clone());
                    let mut update = Update::default();
                    update.writes.push(Write::merge(log, json!(name)));
                    assert!(run.resolve(task.id, Outcome::Done(update), now));
                }
            }
            Effect::Done(ending) => {
                assert_eq!(ending, Ending::Completed);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(order, ["a", "b"]);
    assert_eq!(run.state().get(log), Some(&json!(["a", "b"])));
    for event in run.take_events() {
        println!("{event:?}");
    }
}
