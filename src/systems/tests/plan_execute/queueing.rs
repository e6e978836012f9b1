//! Steps that workers carry out over a queue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_queue::MemoryQueue;
use antiphon_runtime::queue::PublishOutcome;
use antiphon_runtime::{CallContext, CancellationToken, Queue, Tool};
use antiphon_systems::plan_execute::{Capabilities, StepErrorKind, TaskStatus};
use antiphon_systems::sub_task::name::task_topic;
use antiphon_systems::sub_task::{SubTask, SubTaskWorker, WorkerSettings, queue_settings};
use serde_json::json;

use crate::fake_tools::{FakeTool, read, returns, search, step};
use crate::scene::{Scene, ScriptedRun, closed};

fn tools(link: &str) -> [Arc<FakeTool>; 2] {
    let hit = json!({"title": "Tea", "url": link, "snippet": "Hot."});
    [
        returns("web_search", &json!({"results": [hit]})),
        returns("read_page", &json!({"text": link})),
    ]
}

#[tokio::test]
async fn steps_of_workers_go_over_the_queue_and_their_results_come_back() {
    let (own, of_worker) = (tools("https://own.example"), tools("https://worker.example"));
    let mut scene = Scene::new(&json!({}))
        .tool(&own[0])
        .tool(&own[1])
        .plans(&[json!([
            [search("s1", "tea"), search("s2", "cups")],
            [read("r1", "@{outputs.s1.result_data.0.link}")],
        ])])
        .answers("Tea.");
    let queue = Arc::new(MemoryQueue::new(queue_settings(), scene.clock.clone()));
    scene.queue = Some(queue.clone());
    let given = of_worker.clone().map(|tool| tool as Arc<dyn Tool>);
    let capabilities = Capabilities::of(&given, &BTreeMap::new()).unwrap();
    let worker = SubTaskWorker::new(queue, WorkerSettings::default(), scene.clock.clone());
    let roles = capabilities.worker_tools().into_iter();
    let worker = roles.fold(worker, |worker, (role, tools)| worker.role(&role, tools).unwrap());
    let working = tokio::spawn(worker.run(CancellationToken::new()));
    let run = scene.ask("Tea?").await;
    assert_eq!(run.result.output.status, TaskStatus::Completed);
    assert!(own.iter().all(|tool| tool.calls().is_empty()));
    assert_eq!(of_worker[0].calls().len(), 2);
    assert_eq!(of_worker[1].calls(), [json!({"url": "https://worker.example"})]);
    assert_eq!(run.step("r1").raw_result_data, "https://worker.example");
    working.abort();
}

#[tokio::test]
async fn a_step_that_no_worker_of_this_process_carries_out_fails_at_once() {
    let mut scene = Scene::new(&json!({"max_revisions": 0}))
        .tool(&tools("https://own.example")[0])
        .plans(&[json!([[search("s1", "tea")]])])
        .answers("No worker was there.");
    scene.queue = Some(Arc::new(MemoryQueue::new(queue_settings(), scene.clock.clone())));
    let (system, model) = scene.system();
    // Nobody moves the time.
    let result = system.ask("Tea?", scene.session()).await.unwrap();
    assert_eq!(ScriptedRun { result, model }.failure("s1"), StepErrorKind::NoWorker);
}

#[tokio::test]
async fn a_task_that_has_ended_leaves_nothing_in_the_queue() {
    let mut scene = Scene::new(&json!({"max_revisions": 0}))
        .tool(&tools("https://own.example")[0])
        .plans(&[json!([[search("s1", "tea")]])])
        .answers("No worker was there.");
    let queue = Arc::new(MemoryQueue::new(queue_settings(), scene.clock.clone()));
    scene.queue = Some(queue.clone());
    let topic = task_topic("ResearchAgent").unwrap();
    let _guard = queue.register_consumer(&topic);
    let (run, taken) =
        tokio::join!(scene.ask("Tea?"), queue.take(&topic, 1, Duration::from_mins(1)));
    assert_eq!(run.failure("s1"), StepErrorKind::Timeout);
    let task = SubTask::read(&taken.unwrap()[0].message).unwrap();
    let late = task.result(Ok(json!([]))).message(&task.result_topic, Time::from_micros(u64::MAX));
    assert_eq!(queue.publish(late, Duration::ZERO).await.unwrap(), PublishOutcome::Known);
    assert!(queue.take(&task.result_topic, 9, Duration::ZERO).await.unwrap().is_empty());
}

/// What a worker returns that is not whole reaches the context, the next planner, the answer and
/// the result; a worker reads how the task stands if that is sent.
#[tokio::test]
async fn what_has_failed_of_a_result_is_told_to_all_that_read_it() {
    let errors = json!([{"source": "https://b.example", "message": "it is lost"}]);
    let found = json!({"result": [{"link": "https://a.example"}], "partial_errors": errors});
    let step_of = |id: &str| step(id, "UtilityAgent", "lookup", &json!({}));
    let failing = step("bad", "UtilityAgent", "broken", &json!({}));
    let mut scene = Scene::new(&json!({"send_context_summary": true}))
        .tool(&returns("lookup", &json!("not called")))
        .tool(&returns("broken", &json!("not called")))
        .plans(&[json!([[step_of("a")], [failing]]), json!([[step_of("a")]])])
        .answers("Most of it.");
    let queue = Arc::new(MemoryQueue::new(queue_settings(), scene.clock.clone()));
    scene.queue = Some(queue.clone());
    let given: [Arc<dyn Tool>; 2] = [
        returns("lookup", &found),
        Arc::new(FakeTool::new("broken", |_| Err(closed("it is broken")))),
    ];
    let tools = Capabilities::of(&given, &BTreeMap::new()).unwrap().worker_tools();
    let (mut work, clock) = (Vec::new(), scene.clock.clone());
    let topic = task_topic("UtilityAgent").unwrap();
    let _guard = queue.register_consumer(&topic);
    let working = async {
        loop {
            for delivery in queue.take(&topic, 1, Duration::from_secs(1)).await.unwrap() {
                let task = SubTask::read(&delivery.message).unwrap();
                let tool = tools["UtilityAgent"].iter().find(|it| it.spec().name == task.tool_name);
                let outcome = tool.unwrap().call(json!({}), &CallContext::new(clock.clone())).await;
                let kept_until = Time::from_micros(u64::MAX);
                let result = task.result(outcome).message(&task.result_topic, kept_until);
                queue.publish(result, Duration::ZERO).await.unwrap();
                delivery.lease.acknowledge().await.unwrap();
                work.push(task);
            }
        }
    };
    let run =
        tokio::select! { run = scene.ask("Find both.") => run, () = working => unreachable!() };
    let (entry, error) = (run.step("a"), "https://b.example: it is lost");
    assert_eq!(entry.raw_result_data, json!([{"link": "https://a.example"}]));
    assert_eq!(entry.partial_errors[0].to_string(), error);
    assert!(entry.reused);
    let context = &run.output().current_working_context;
    assert_eq!(context.errors_encountered[0].error_message, error);
    for role in ["planner", "synthesiser"] {
        assert!(run.read_by(role).contains("it is lost"), "{role}: {}", run.read_by(role));
    }
    assert_eq!(work.len(), 2);
    let told = work[1].context_summary.as_deref().unwrap();
    assert!(told.contains("Carry out the first stage.") && told.contains("do a: "), "{told}");
}
