//! One graph, many runs.

use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use crate::engine::random::RandomGraph;
use crate::support::{Finish, TestDriver, options};

/// EN-20 of `docs/engine.md`.
#[test]
fn one_graph_run_from_eight_threads_gives_what_eight_runs_in_a_row_give() {
    let random = RandomGraph::sample();
    let graph = random.graph();
    let run = |seed: u64| -> (Value, usize) {
        let mut driver = TestDriver::with(&graph, random.script(), json!({}), options());
        driver.finish = Finish::Shuffled(seed);
        driver.go();
        (driver.state(), driver.events.len())
    };
    let alone: Vec<_> = (0..8).map(run).collect();
    assert_eq!(Arc::strong_count(&graph), 1, "a run that is over keeps nothing");
    let together: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|seed| scope.spawn(move || run(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(together, alone);
}
