//! Many sub-tasks at a time: each result reaches its own call.

use std::sync::Arc;

use antiphon_queue::MemoryQueue;
use antiphon_runtime::{Clock, SystemClock};
use antiphon_systems::sub_task::queue_settings;
use serde_json::json;

use crate::scene::{CountingTool, RunningWorker, Scene, brief};

/// Stages of parallel steps; returns how many results there were.
pub(crate) async fn run_stages(scene: &Scene, tool: &Arc<CountingTool>, run_id: &str, first: i64) {
    let run = scene.run();
    for stage in 0..10 {
        let calls: Vec<_> = (0..10)
            .map(|step| {
                let number = first + stage * 10 + step;
                let brief = brief(run_id, &format!("stage{stage}.step{step}"));
                (number, scene.call(&run, tool, brief, number))
            })
            .collect();
        for (number, call) in calls {
            assert_eq!(call.await.unwrap(), Ok(json!(number * 2)));
        }
        assert!(run.settle().await.is_empty());
    }
}

/// PE-19 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn every_result_of_two_runs_reaches_its_own_step() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let queue = Arc::new(MemoryQueue::new(queue_settings(), clock.clone()));
    let (scene, tool) = (Scene { queue, clock }, Arc::new(CountingTool::doubling()));
    let workers = [(); 3].map(|()| RunningWorker::begin(scene.worker(&tool)));
    tokio::join!(run_stages(&scene, &tool, "one", 0), run_stages(&scene, &tool, "two", 1000));
    assert_eq!(tool.calls(), (200, 200));
    let mut done = 0;
    for worker in workers {
        done += worker.stopped().await.completed;
    }
    assert_eq!(done, 200);
}
