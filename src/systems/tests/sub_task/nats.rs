//! The same over a real server: its crashes, those of workers, and what is sent twice.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_runtime::SystemClock;
use antiphon_runtime::queue::{PublishOutcome, QueueSettings};
use antiphon_systems::sub_task::name::{result_topic, task_topic};
use antiphon_systems::sub_task::{SubTask, queue_settings};
use serde_json::json;

use crate::correlation::run_stages;
use crate::scene::{CountingTool, ROLE, RunningWorker, Scene, brief};
use crate::server::NatsServer;

const LONG: Duration = Duration::from_mins(1);

async fn scene(server: &NatsServer, name: &str, settings: QueueSettings) -> Scene {
    let queue = Arc::new(server.open(name, settings).await);
    Scene { queue, clock: Arc::new(SystemClock::new()) }
}

fn short_lease() -> QueueSettings {
    QueueSettings { lease: Duration::from_secs(4), ..queue_settings() }
}

/// PE-19 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn every_result_of_two_processes_reaches_its_own_step() {
    let server = NatsServer::shared();
    let tool = Arc::new(CountingTool::doubling());
    let orchestrators = [
        scene(server, "p19", queue_settings()).await,
        scene(server, "p19", queue_settings()).await,
    ];
    let others = [
        scene(server, "p19", queue_settings()).await,
        scene(server, "p19", queue_settings()).await,
    ];
    let workers = others.map(|other| RunningWorker::begin(other.worker(&tool)));
    let [one, two] = &orchestrators;
    tokio::join!(run_stages(one, &tool, "one", 0), run_stages(two, &tool, "two", 1000));
    assert_eq!(tool.calls(), (200, 200));
    for worker in workers {
        worker.kill().await;
    }
}

#[tokio::test]
async fn a_killed_server_that_comes_back_costs_no_step_and_repeats_none() {
    let server = NatsServer::start();
    let orchestrator = scene(&server, "crash", queue_settings()).await;
    let tool = Arc::new(CountingTool::doubling().slow(Duration::from_millis(5)));
    let worker =
        RunningWorker::begin(scene(&server, "crash", queue_settings()).await.worker(&tool));
    let crash = async {
        while tool.calls().1 < 30 {
            tokio::task::yield_now().await;
        }
        server.kill();
        server.come_back();
    };
    tokio::join!(run_stages(&orchestrator, &tool, "run", 0), crash);
    assert_eq!(tool.calls(), (100, 100));
    assert_eq!(worker.stopped().await.completed, 100);
}

#[tokio::test]
async fn the_work_of_a_killed_worker_goes_to_another_process() {
    let server = NatsServer::shared();
    let orchestrator = scene(server, "killed worker", short_lease()).await;
    let run = orchestrator.run();
    let stuck = Arc::new(CountingTool::doubling().slow(LONG));
    let dying =
        RunningWorker::begin(scene(server, "killed worker", short_lease()).await.worker(&stuck));
    let call = orchestrator.call(&run, &stuck, brief("run", "s1"), 3);
    while stuck.calls().0 == 0 {
        tokio::task::yield_now().await;
    }
    dying.kill().await;
    let tool = Arc::new(CountingTool::doubling());
    let worker =
        RunningWorker::begin(scene(server, "killed worker", short_lease()).await.worker(&tool));
    assert_eq!(call.await.unwrap(), Ok(json!(6)));
    assert_eq!((stuck.calls(), tool.calls()), ((1, 0), (1, 1)));
    worker.kill().await;
}

#[tokio::test]
async fn a_resumed_run_finds_a_result_of_before_and_nothing_is_done_twice() {
    let server = NatsServer::shared();
    let tool = Arc::new(CountingTool::doubling());
    let worker = RunningWorker::begin(scene(server, "resumed", short_lease()).await.worker(&tool));
    for _ in 0..2 {
        let orchestrator = scene(server, "resumed", short_lease()).await;
        let run = orchestrator.run();
        let value = orchestrator.call(&run, &tool, brief("run", "s1"), 21).await.unwrap();
        assert_eq!(value, Ok(json!(42)));
        // The process ends before the run has committed it.
    }
    assert_eq!(tool.calls(), (1, 1));
    worker.kill().await;
}

#[tokio::test]
async fn messages_that_are_sent_twice_or_late_change_nothing() {
    let server = NatsServer::shared();
    let orchestrator = scene(server, "duplicates", queue_settings()).await;
    let (run, tool) = (orchestrator.run(), Arc::new(CountingTool::doubling()));
    let call = orchestrator.call(&run, &tool, brief("run", "s1"), 5);
    let topic = task_topic(ROLE).unwrap();
    let mut taken = orchestrator.queue.take(&topic, 1, LONG).await.unwrap();
    let delivery = taken.pop().unwrap();
    let again = orchestrator.queue.publish(delivery.message.clone(), LONG).await.unwrap();
    assert_eq!(again, PublishOutcome::Known);
    delivery.lease.give_back(Duration::ZERO).await.unwrap();
    let worker = RunningWorker::begin(orchestrator.worker(&tool));
    assert_eq!(call.await.unwrap(), Ok(json!(10)));
    let other = SubTask::read(&delivery.message).unwrap().result(Ok(json!("other")));
    let other = other.message(&result_topic("run"), Time::from_micros(u64::MAX));
    assert_eq!(orchestrator.queue.publish(other, LONG).await.unwrap(), PublishOutcome::Known);
    assert!(run.settle().await.is_empty());
    assert_eq!(tool.calls(), (1, 1));
    worker.kill().await;
}
