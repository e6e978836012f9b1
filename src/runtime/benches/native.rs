//! What the native driver costs: `cargo bench -p antiphon-runtime`. Each row
//! is the median of seven rounds in one process, in µs per superstep or task;
//! `core` is the same run with a loop of a few lines in place of the driver.
#![expect(clippy::print_stdout, reason = "a bench prints its report")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench may fail")]
#![expect(clippy::cast_precision_loss, reason = "the counts are small")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use antiphon_core::Time;
use antiphon_core::budget::Limits;
use antiphon_core::channel::{Channel, Reducer, ValueKind, Write};
use antiphon_core::command::Update;
use antiphon_core::effect::Effect;
use antiphon_core::graph::{Graph, START};
use antiphon_core::rules::NoRules;
use antiphon_core::run::{Options, Run};
use antiphon_core::task::TaskOutcome;
use antiphon_runtime::{Driver, Host, NodeCall, Recorder, SystemClock};
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use tokio::runtime::{Builder, Runtime};

const STEPS: u64 = 20_000;
const WIDTH: u64 = 1_000;

fn main() {
    let single = Builder::new_current_thread().enable_all().build().unwrap();
    let multi = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (chain, fan) = (chain(), fan());
    report("superstep, core", STEPS, || core(&chain));
    let at_once = Arc::new(Counter { waits: false });
    let waits = Arc::new(Counter { waits: true });
    report("superstep, answers at once", STEPS, || {
        drive(&single, &chain, &at_once, EventRecording::Off);
    });
    report("superstep, recorded", STEPS, || drive(&single, &chain, &at_once, EventRecording::On));
    report("superstep, waits, one thread", STEPS, || {
        drive(&single, &chain, &waits, EventRecording::Off);
    });
    report("superstep, waits, two threads", STEPS, || {
        drive(&multi, &chain, &waits, EventRecording::Off);
    });
    report("task of 1,000, answers at once", WIDTH, || {
        drive(&single, &fan, &at_once, EventRecording::Off);
    });
    report("task of 1,000, waits", WIDTH, || drive(&single, &fan, &waits, EventRecording::Off));
}

/// Adds one to `count`, at once or after a turn of the scheduler.
struct Counter {
    waits: bool,
}

#[async_trait]
impl Host for Counter {
    async fn node(&self, call: NodeCall) -> TaskOutcome<Json> {
        if self.waits {
            tokio::task::yield_now().await;
        }
        call.update([("count", json!(1))]).map_or_else(TaskOutcome::failed, TaskOutcome::Done)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum EventRecording {
    Off,
    On,
}

/// One node that follows itself.
fn chain() -> Arc<Graph<Json>> {
    let mut graph = counting();
    graph.node("a");
    graph.edge(START, "a").edge("a", "a");
    graph.build().unwrap()
}

/// Many nodes side by side.
fn fan() -> Arc<Graph<Json>> {
    let mut graph = counting();
    for number in 0..WIDTH {
        let name = format!("n{number}");
        graph.node(name.as_str());
        graph.edge(START, name.as_str());
    }
    graph.build().unwrap()
}

fn counting() -> antiphon_core::graph::GraphBuilder<Json> {
    let mut graph = Graph::builder("bench");
    let default = Some(json!(0));
    graph.add_channel(Channel {
        name: "count".into(),
        merge: Reducer::Sum,
        default,
        kind: ValueKind::Integer,
    });
    graph
}

fn options(events: bool) -> Options {
    let limits = Limits {
        supersteps: Some(STEPS),
        wall_time: Some(Duration::from_hours(1)),
        ..Limits::default()
    };
    Options { limits, events, ..Options::default() }
}

fn drive(
    runtime: &Runtime,
    graph: &Arc<Graph<Json>>,
    host: &Arc<Counter>,
    recording: EventRecording,
) {
    let clock = Arc::new(SystemClock::new());
    let now = antiphon_runtime::Clock::now(&*clock);
    let mut run =
        Run::new(Arc::clone(graph), vec![], options(recording == EventRecording::On), now);
    let mut driver = Driver::new(Arc::clone(host), clock);
    if recording == EventRecording::On {
        driver = driver.watch(Recorder::new());
    }
    // Spawned, as a server would: a runtime's own thread has a slower path.
    runtime.block_on(async move {
        tokio::spawn(async move { driver.run(&mut run).await.unwrap() }).await.unwrap()
    });
}

fn core(graph: &Arc<Graph<Json>>) {
    let now = Time::default();
    let count = graph.channel_id("count").unwrap();
    let mut run = Run::new(Arc::clone(graph), vec![], options(false), now);
    while let Effect::Start(tasks) = run.step(now, &mut NoRules) {
        for task in tasks {
            let mut update = Update::default();
            update.writes.push(Write::merge(count, json!(1)));
            run.resolve(task.id, TaskOutcome::Done(update), now);
        }
    }
}

fn report(row: &str, units: u64, work: impl Fn()) {
    let mut rounds: Vec<f64> = (0..7)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e6 / units as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{row:34} {:7.3} µs", rounds[3]);
}
