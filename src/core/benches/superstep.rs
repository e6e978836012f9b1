//! What the engine itself costs: nanoseconds a superstep and a task, with
//! limits, a retry policy and deadlines on. `cargo bench -p antiphon-core`.
#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a bench stops at the first surprise")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what is measured is real time"
)]
#![expect(clippy::cast_precision_loss, reason = "the counts are small")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use antiphon_core::budget::Limits;
use antiphon_core::channel::{ChannelId, Reducer, Write};
use antiphon_core::command::{Destination, Destinations, Route, Send, Update};
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::graph::{Graph, Node, NodeId, NodePolicy, NodeWork, START};
use antiphon_core::rules::{ReducerSite, Rules};
use antiphon_core::run::{Options, Run};
use antiphon_core::state::View;
use antiphon_core::task::{Failure, TaskOutcome};
use antiphon_core::{Fault, RetryPolicy, Time};
use serde_json::Value;

const COUNT: ChannelId = ChannelId(0);
const HUB: NodeId = NodeId(1);
/// A round is short, so that one of them is not disturbed: a million supersteps in all.
const STEPS: u64 = 50_000;
const WIDTH: u64 = 1_000;
const ROUNDS: u64 = 20;

fn main() {
    let superstep = best(STEPS, || drive(&looped(), STEPS, &Route::Follow));
    println!("superstep: one node, an edge to itself     {superstep:7.1} ns   goal 60, gate 120");
    let superstep = best(STEPS, || drive(&routed(), STEPS, &Route::Follow));
    println!("superstep: one node, a router to itself    {superstep:7.1} ns");
    let task = best(WIDTH * ROUNDS, || drive(&fanned(), ROUNDS, &Route::Follow));
    println!("task: fan-out to {WIDTH} nodes and back       {task:7.1} ns");
    let sends = (0..WIDTH).map(|item| {
        Destination::Send(Send {
            node: "leaf".into(),
            input: item.into(),
            timeout: None,
            limit: None,
        })
    });
    let scatter = Route::Also(sends.collect());
    let task = best(WIDTH * ROUNDS, || drive(&sent(), ROUNDS, &scatter));
    println!("task: fan-out of {WIDTH} sends and back       {task:7.1} ns");
}

/// Nanoseconds a piece in the fastest of a few rounds: the least disturbed one.
fn best(pieces: u64, mut work: impl FnMut()) -> f64 {
    let rounds = (0..20).map(|_| {
        let begin = Instant::now();
        work();
        begin.elapsed()
    });
    rounds.min().unwrap_or_default().as_secs_f64() * 1e9 / pieces as f64
}

/// Runs until the hub has run so often. Each task writes a number.
fn drive(graph: &Arc<Graph<Value>>, rounds: u64, route: &Route<Value>) {
    let limits = Limits {
        supersteps: Some(u64::MAX),
        model_calls: Some(100),
        wall_time: Some(Duration::from_hours(1)),
        ..Limits::default()
    };
    let options = Options { limits, ..Options::default() };
    let mut now = Time::from_micros(1_000_000);
    let mut run = Run::new(Arc::clone(graph), Vec::new(), options, now);
    let mut done = 0;
    loop {
        match run.step(now, &mut Back) {
            Effect::Start(tasks) => {
                now = Time::from_micros(now.as_micros() + 1);
                for task in tasks {
                    done += u64::from(task.node == HUB);
                    let way = if done == rounds { &Route::End } else { route };
                    let update = update(task.node, done, way);
                    run.resolve(task.id, TaskOutcome::Done(update), now);
                }
            }
            Effect::Done(Ending::Completed) => return,
            other => panic!("{other:?}"),
        }
    }
}

fn update(node: NodeId, count: u64, way: &Route<Value>) -> Update<Value> {
    let mut update = Update::default();
    update.writes.push(Write::merge(COUNT, count.into()));
    if node == HUB {
        update.route = way.clone();
    }
    update
}

/// Always back to the hub.
struct Back;

impl Rules<Value> for Back {
    fn reduce(
        &mut self,
        _: ReducerSite<'_, Value>,
        _: Option<Value>,
        new: Value,
    ) -> Result<Value, Fault> {
        Ok(new)
    }

    fn route(&mut self, _: u32, _: &View<'_, Value>) -> Result<Destinations<Value>, Failure> {
        Ok(Destinations::from_iter([Destination::Node(HUB)]))
    }
}

fn node(name: &str) -> Node<Value> {
    let policy = NodePolicy {
        retry: Some(RetryPolicy::default()),
        timeout: Some(Duration::from_mins(1)),
        ..NodePolicy::default()
    };
    Node { name: name.into(), work: NodeWork::Call, policy }
}

fn looped() -> Arc<Graph<Value>> {
    let mut graph = Graph::builder("looped");
    graph.channel("count", Reducer::Last);
    graph.add_node(node("hub"));
    graph.edge(START, "hub").edge("hub", "hub");
    graph.build().unwrap()
}

fn routed() -> Arc<Graph<Value>> {
    let mut graph = Graph::builder("routed");
    graph.channel("count", Reducer::Last);
    graph.add_node(node("hub"));
    graph.edge(START, "hub").branch("hub", "back", 0, None);
    graph.build().unwrap()
}

fn fanned() -> Arc<Graph<Value>> {
    let mut graph = Graph::builder("fanned");
    graph.channel("count", Reducer::Last);
    graph.add_node(node("hub"));
    graph.edge(START, "hub");
    for place in 0..WIDTH {
        let name = format!("leaf{place:04}");
        graph.add_node(node(&name));
        graph.edge("hub", name.as_str()).edge(name.as_str(), "hub");
    }
    graph.build().unwrap()
}

fn sent() -> Arc<Graph<Value>> {
    let mut graph = Graph::builder("sent");
    graph.channel("count", Reducer::Last);
    graph.add_node(node("hub"));
    graph.add_node(node("leaf"));
    graph.edge(START, "hub").edge("leaf", "hub");
    graph.build().unwrap()
}
