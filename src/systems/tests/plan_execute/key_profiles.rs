//! Key profiles: tools with other credentials, by name.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use antiphon_core::{Category, Fault};
use antiphon_queue::MemoryQueue;
use antiphon_runtime::queue::{DeadLetter, Delivery, PublishOutcome, QueueMessage};
use antiphon_runtime::{CancellationToken, Queue, Tool};
use antiphon_systems::plan_execute::{PlanExecute, StepErrorKind, TaskInput, TaskStatus};
use antiphon_systems::sub_task::{SubTaskWorker, WorkerSettings, queue_settings};
use antiphon_systems::{System as _, SystemResourcesBuilder, SystemRunner};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use crate::fake_tools::{FakeTool, returns, search};
use crate::scene::{Scene, ScriptedRun};

const VALID: &str = "key-that-is-valid";
const USED_UP: &str = "key-that-is-used-up";
const BUSY: &str = "key-of-too-many-requests";

/// A search engine for one key, which says the keys that it refuses.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().flatten().for_each(answer));
    port
}

fn answer(mut stream: TcpStream) {
    let reader = BufReader::new(stream.try_clone().unwrap());
    let lines = reader.lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let request = lines.collect::<Vec<_>>().join(" ");
    let (status, body) = if request.contains(VALID) {
        let hit = json!({"title": "Tea", "url": "https://a.example", "description": "Hot."});
        ("200 OK", json!({"web": {"results": [hit]}}))
    } else {
        let status = if request.contains(USED_UP) {
            "402 Payment Required"
        } else if request.contains(BUSY) {
            "429 Too Many Requests"
        } else {
            "401 Unauthorized"
        };
        (status, json!({"error": {"detail": format!("not with this: {request}")}}))
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close");
    // The tool may have gone by now.
    let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
}

fn engine(port: u16, key: &str) -> Vec<Arc<dyn Tool>> {
    let base = format!("http://127.0.0.1:{port}");
    let settings = json!({"backends": ["brave"], "brave_api_key": key, "base_url": base});
    antiphon_tools::find("web_search").unwrap().open(&settings).unwrap()
}

/// A queue that notes what passes through it.
struct NotedQueue {
    queue: MemoryQueue,
    noted: Mutex<Vec<QueueMessage>>,
}

#[async_trait]
impl Queue for NotedQueue {
    fn name(&self) -> &str {
        self.queue.name()
    }

    async fn publish(
        &self,
        message: QueueMessage,
        wait: Duration,
    ) -> Result<PublishOutcome, Fault> {
        self.noted.lock().unwrap().push(message.clone());
        self.queue.publish(message, wait).await
    }

    async fn take(
        &self,
        topic: &str,
        limit: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, Fault> {
        self.queue.take(topic, limit, wait).await
    }

    async fn cancel(&self, id: &str, reason: &str) -> Result<(), Fault> {
        self.queue.cancel(id, reason).await
    }

    async fn dead_letters(&self, topic: &str) -> Result<Vec<DeadLetter>, Fault> {
        self.queue.dead_letters(topic).await
    }

    async fn retire(&self, topic: &str) -> Result<(), Fault> {
        self.queue.retire(topic).await
    }

    fn close(&self) {
        self.queue.close();
    }
}

/// PE-28 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn keys_are_tried_in_order_and_nothing_but_the_names_of_their_profiles_is_told() {
    let port = serve();
    for has_queue in [false, true] {
        let profiles = json!({"role_profiles": {"ResearchAgent": ["old", "spent", "busy", "new"]}});
        let mut scene = Scene::new(&profiles)
            .native(&engine(port, "key-of-nobody")[0])
            .key_profile("old", &engine(port, "key-of-old"))
            .key_profile("spent", &engine(port, USED_UP))
            .key_profile("busy", &engine(port, BUSY))
            .key_profile("new", &engine(port, VALID))
            .plans(&[json!([[search("s1", "tea")]])])
            .answers("Tea.");
        let queue = NotedQueue {
            queue: MemoryQueue::new(queue_settings(), scene.clock.clone()),
            noted: Mutex::default(),
        };
        let queue = Arc::new(queue);
        scene.queue = has_queue.then(|| queue.clone() as Arc<dyn Queue>);
        // The network is not in the time of the scene.
        let (system, model) = scene.system();
        let worker =
            SubTaskWorker::new(queue.clone(), WorkerSettings::default(), scene.clock.clone());
        let worker = worker.roles(system.system().worker_tools(), None).unwrap();
        let working = tokio::spawn(worker.run(CancellationToken::new()));
        let result = system.ask("Tea?", scene.session()).await.unwrap();
        working.abort();
        let run = ScriptedRun { result, model };
        assert_eq!(run.output().status, TaskStatus::Completed, "{:?}", run.output().message);
        assert_eq!(run.step("s1").raw_result_data[0]["link"], "https://a.example/");
        let refused = run.notes("EXECUTION_STEP_PROFILE_REFUSED");
        let refused: Vec<_> =
            refused.iter().map(|note| note["keyProfile"].as_str().unwrap()).collect();
        assert_eq!(
            refused,
            ["old", "spent", "busy"],
            "the time of the scene stands: none is waited for"
        );
        assert_eq!(run.notes("EXECUTION_STEP_DISPATCHED")[3]["keyProfile"], "new");
        let noted: Vec<Json> =
            queue.noted.lock().unwrap().iter().map(|message| message.body.clone()).collect();
        let named: Vec<_> =
            noted.iter().filter_map(|body| body["api_keys_config_ref"].as_str()).collect();
        assert_eq!(named, if has_queue { &["old", "spent", "busy", "new"][..] } else { &[] });
        let ScriptedRun { result, model } = &run;
        let told = json!([noted, result.events, result.output, result.state]).to_string();
        let told = format!("{told} {:?}", model.requests());
        for key in [VALID, USED_UP, BUSY, "key-of-old", "key-of-nobody"] {
            assert!(!told.contains(key), "{key}: {told}");
        }
    }
}

#[tokio::test]
async fn a_run_chooses_its_profiles_and_other_failures_are_those_of_the_step() {
    let say = |text: &str| returns("web_search", &json!(text)) as Arc<dyn Tool>;
    let broken = FakeTool::new("web_search", |_| {
        Err(Fault::foreign(Category::Tool, "tool_failed", "the engine is broken"))
    });
    let profiles = json!({"role_profiles": {"ResearchAgent": "paid"}, "max_revisions": 0});
    let choose = |choice: &Json| {
        let input = json!({"question": "Tea?", "role_profiles": {"ResearchAgent": choice}});
        serde_json::from_value::<TaskInput>(input).unwrap()
    };
    let scene = || {
        Scene::new(&profiles)
            .native(&say("usual"))
            .key_profile("paid", &[say("paid")])
            .key_profile("free", &[say("free")])
            .plans(&[json!([[search("s1", "tea")]])])
            .answers("Tea.")
    };
    for (input, found) in [
        (TaskInput::from("Tea?"), "paid"),
        (choose(&json!("free")), "free"),
        (choose(&json!(["free", "paid"])), "free"),
        (choose(&json!([])), "usual"),
    ] {
        assert_eq!(scene().ask(input).await.step("s1").raw_result_data, found);
    }
    let unknown = scene().ask(choose(&json!("stolen"))).await;
    let fault = unknown.result.error.unwrap();
    assert_eq!(
        (fault.code.as_str(), &*fault.message),
        ("input_invalid", "there is no key profile of that name: stolen")
    );
    let broken: [Arc<dyn Tool>; 1] = [Arc::new(broken)];
    let run = scene().key_profile("broken", &broken).ask(choose(&json!(["broken", "paid"])));
    assert_eq!(run.await.failure("s1"), StepErrorKind::ToolError);
}

#[test]
fn profiles_that_cannot_be_used_are_refused() {
    let refused = |settings: &Json| {
        let model = Arc::new(antiphon_models::ScriptedModel::new::<&str>([]));
        let usual = returns("web_search", &json!([])) as Arc<dyn Tool>;
        let other = returns("read_page", &json!("")) as Arc<dyn Tool>;
        let resources = SystemResourcesBuilder::new()
            .model(model)
            .tools("plan_execute", [usual.clone()])
            .key_profile(if settings["other"] == true { "other" } else { "paid" }, {
                if settings["other"] == true { [other] } else { [usual] }
            });
        let config = json!({"role_profiles": settings["role_profiles"]});
        let config = antiphon_systems::plan_execute::Config::from_json(&config);
        let opened = config.and_then(|config| SystemRunner::<PlanExecute>::new(config, resources));
        opened.err().unwrap().message.clone()
    };
    for (settings, message) in [
        (
            json!({"role_profiles": {"Nobody": "paid"}}),
            "`role_profiles` names a role that is not there: Nobody",
        ),
        (
            json!({"role_profiles": {"ResearchAgent": "stolen"}}),
            "there is no key profile of that name: stolen",
        ),
        (
            json!({"role_profiles": {"ResearchAgent": "a b"}}),
            "a key profile has a name of letters, digits, `_`, `.` and `-`, at most 64: a b",
        ),
        (
            json!({"role_profiles": {}, "other": true}),
            "the key profile `other` has a tool that the system does not have: read_page",
        ),
    ] {
        assert_eq!(refused(&settings), message);
    }
}
