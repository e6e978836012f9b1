//! Native runs in threads: asking, answering, and what is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use antiphon_core::approval::{Approval, HostVerdict};
use antiphon_core::channel::{Reducer, Write};
use antiphon_core::command::Update;
use antiphon_core::effect::{Effect, Ending};
use antiphon_core::graph::{Graph, START};
use antiphon_core::rules::NoRules;
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Fault, Seed, ToolOutcome, ToolSpec};
use antiphon_runtime::store::Store;
use antiphon_runtime::{
    Answers, CallContext, Clock, DriveOutcome, Driver, DurableRun, Host, ManualClock, NodeCall,
    OpenedThread, RunCommitter, StartMode, ThreadRef, Tool,
};
use antiphon_stores::{Cipher, Durability, MemoryStore, SealedStore, StoredThread};
use async_trait::async_trait;
use serde_json::{Value, json};

/// One node asks, the next writes down what both have heard.
struct AskingHost;

#[async_trait]
impl Host for AskingHost {
    async fn node(&self, call: NodeCall) -> TaskOutcome<Value> {
        match call.answers.first() {
            None => TaskOutcome::Ask(json!("who?")),
            Some(answer) => TaskOutcome::Done(call.update([("names", answer.clone())]).unwrap()),
        }
    }
}

fn graph() -> Arc<Graph<Value>> {
    let mut graph = Graph::builder("asking");
    graph.channel("names", Reducer::Append);
    graph.node("ask");
    graph.edge(START, "ask");
    graph.build().unwrap()
}

/// A graph, and the thread that its runs are kept in.
struct Scene {
    graph: Arc<Graph<Value>>,
    thread: StoredThread,
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
}

impl Scene {
    fn new(durability: Durability) -> Self {
        let clock = Arc::new(ManualClock::default());
        let store: Arc<dyn Store> =
            Arc::new(MemoryStore::new(Arc::<ManualClock>::clone(&clock) as Arc<dyn Clock>));
        let sealed_store = SealedStore::new(Arc::clone(&store), Arc::new(Cipher::tagged()));
        Self {
            graph: graph(),
            thread: StoredThread::new(sealed_store, "t", durability),
            store,
            clock,
        }
    }

    async fn begin(&self, begin: StartMode) -> Result<DurableRun, Fault> {
        let opened = self.thread.open(Arc::clone(&self.graph)).await?;
        let options = Options { run_id: "run".into(), seed: Seed::new(3), ..Options::default() };
        DurableRun::start(opened, begin, (&self.graph, options), self.clock.now()).await
    }

    async fn drive(&self, kept: &mut DurableRun) -> DriveOutcome {
        self.drive_by(Arc::new(AskingHost), kept).await
    }

    async fn drive_by(
        &self,
        host: Arc<impl Host + 'static>,
        kept: &mut DurableRun,
    ) -> DriveOutcome {
        let clock = Arc::<ManualClock>::clone(&self.clock);
        Driver::new(host, clock).run_durable(kept).await.unwrap()
    }

    /// Opens the thread at a checkpoint, or at its end.
    async fn open(&self, checkpoint: Option<u64>) -> OpenedThread {
        let thread = self.thread.clone().at_checkpoint(checkpoint);
        thread.open(Arc::clone(&self.graph)).await.unwrap()
    }

    /// What starting so is refused with.
    async fn refusal(&self, mode: StartMode, checkpoint: Option<u64>) -> Fault {
        let opened = self.open(checkpoint).await;
        let about = (&self.graph, Options::default());
        let Err(refused) = DurableRun::start(opened, mode, about, self.clock.now()).await else {
            unreachable!()
        };
        assert!(self.is_free().await, "the refused run has released the thread");
        refused
    }

    async fn is_free(&self) -> bool {
        self.store.threads("", 1).await.unwrap().pop().unwrap().held.is_none()
    }
}

fn input(name: &str) -> StartMode {
    let names = graph().channel_id("names").unwrap();
    StartMode::Turn(Update::from(vec![Write::merge(names, json!(name))]))
}

fn names(kept: &DurableRun, graph: &Graph<Value>) -> Value {
    kept.run.state().get(graph.channel_id("names").unwrap()).cloned().unwrap()
}

/// EN-22 of `docs/engine.md`.
#[tokio::test]
async fn a_question_is_answered_by_another_driver_later() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let scene = Scene::new(durability);
        let mut kept = scene.begin(input("Ada")).await.unwrap();
        let DriveOutcome::Paused(questions) = scene.drive(&mut kept).await else { unreachable!() };
        assert_eq!(questions[0].value, json!("who?"));
        assert!(scene.is_free().await, "the run that answers may take the thread");
        drop(kept);

        let answers = vec![(questions[0].id.clone(), json!("Bob"))];
        let mut kept = scene.begin(StartMode::Resume(Answers::ById(answers))).await.unwrap();
        assert_eq!(scene.drive(&mut kept).await, DriveOutcome::Ended(Ending::Completed));
        assert_eq!(names(&kept, &scene.graph), json!(["Ada", "Bob"]));
        assert!(scene.is_free().await);
    }
}

#[tokio::test]
async fn a_question_without_an_answer_stays_open() {
    let scene = Scene::new(Durability::Sync);
    let mut kept = scene.begin(input("Ada")).await.unwrap();
    let first = scene.drive(&mut kept).await;
    let mut kept = scene.begin(StartMode::Resume(Answers::NONE)).await.unwrap();
    assert_eq!(scene.drive(&mut kept).await, first);
    let Some(refused) =
        scene.begin(StartMode::Resume(Answers::ById(vec![("x".into(), json!(1))]))).await.err()
    else {
        unreachable!()
    };
    assert_eq!(refused.code, "question_unknown");
    assert!(scene.is_free().await);
}

#[tokio::test]
async fn a_further_turn_continues_with_what_the_thread_holds() {
    let scene = Scene::new(Durability::Async);
    for (turn, expected) in [("Ada", json!(["Ada"])), ("Eve", json!(["Ada", "Eve"]))] {
        let mut kept = scene.begin(input(turn)).await.unwrap();
        assert!(matches!(scene.drive(&mut kept).await, DriveOutcome::Paused(_)));
        assert_eq!(names(&kept, &scene.graph), expected);
    }
}

#[tokio::test]
async fn nobody_else_gets_a_thread_while_a_run_has_it() {
    let scene = Scene::new(Durability::Sync);
    let kept = scene.begin(input("Ada")).await.unwrap();
    let Some(refused) = scene.begin(input("Eve")).await.err() else { unreachable!() };
    assert_eq!(refused.code, "thread_busy");
    drop(kept);
    assert!(scene.begin(input("Eve")).await.is_ok());
}

#[tokio::test]
async fn a_run_that_is_over_is_resumed_without_writing_to_its_thread() {
    let scene = Scene::new(Durability::Sync);
    let mut kept = scene.begin(input("Ada")).await.unwrap();
    let DriveOutcome::Paused(questions) = scene.drive(&mut kept).await else { unreachable!() };
    let answers = vec![(questions[0].id.clone(), json!("Bob"))];
    let mut kept = scene.begin(StartMode::Resume(Answers::ById(answers))).await.unwrap();
    scene.drive(&mut kept).await;
    let stored = scene.store.head("t").await.unwrap();
    let mut kept = scene.begin(StartMode::Resume(Answers::NONE)).await.unwrap();
    assert_eq!(scene.drive(&mut kept).await, DriveOutcome::Ended(Ending::Completed));
    assert!(scene.is_free().await);
    assert_eq!(names(&kept, &scene.graph), json!(["Ada", "Bob"]));
    assert_eq!(scene.store.head("t").await.unwrap(), stored, "nothing is written");
}

/// A tool that pays in one city alone, and how often it was asked whether it may.
struct Purse {
    spec: ToolSpec,
    asked: AtomicUsize,
    paid: AtomicUsize,
}

#[async_trait]
impl Tool for Purse {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn approve(&self, arguments: &Value, _: &CallContext) -> Result<HostVerdict, Fault> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let fits = arguments["city"] == "Lyon";
        Ok(if fits { HostVerdict::Approve } else { HostVerdict::Refuse(Some("only Lyon".into())) })
    }

    async fn call(&self, arguments: Value, _: &CallContext) -> ToolOutcome {
        self.paid.fetch_add(1, Ordering::Relaxed);
        Ok(arguments["city"].clone())
    }
}

/// A node that wants to pay in two cities, and then asks.
struct Teller(Arc<Purse>);

#[async_trait]
impl Host for Teller {
    async fn node(&self, call: NodeCall) -> TaskOutcome<Value> {
        let refused = call.invoke(&*self.0, json!({"city": "Nice"})).await.unwrap_err();
        let paid = call.invoke(&*self.0, json!({"city": "Lyon"})).await.unwrap();
        if call.answers.is_empty() {
            return TaskOutcome::Ask(json!("who?"));
        }
        let heard = json!([refused.code, refused.details["reason"], paid]);
        TaskOutcome::Done(call.update([("names", heard)]).unwrap())
    }
}

#[tokio::test]
async fn a_tool_decides_once_about_a_call_of_a_node_that_begins_again() {
    let mut spec = ToolSpec::new("pay", "pays", json!({"type": "object"}));
    spec.approval = Approval::Host;
    let purse = Arc::new(Purse { spec, asked: AtomicUsize::new(0), paid: AtomicUsize::new(0) });
    let teller = Arc::new(Teller(Arc::clone(&purse)));
    let scene = Scene::new(Durability::Sync);
    let mut kept = scene.begin(input("Ada")).await.unwrap();
    let DriveOutcome::Paused(questions) = scene.drive_by(Arc::clone(&teller), &mut kept).await
    else {
        unreachable!()
    };
    assert_eq!(kept.run.budget().spent().tool_calls, 1, "what was refused counts for nothing");
    let answers = vec![(questions[0].id.clone(), json!("Bob"))];
    let mut kept = scene.begin(StartMode::Resume(Answers::ById(answers))).await.unwrap();
    assert_eq!(scene.drive_by(teller, &mut kept).await, DriveOutcome::Ended(Ending::Completed));
    assert_eq!(names(&kept, &scene.graph), json!(["Ada", ["tool_refused", "only Lyon", "Lyon"]]));
    assert_eq!((purse.asked.load(Ordering::Relaxed), purse.paid.load(Ordering::Relaxed)), (2, 1));
}

#[tokio::test]
async fn an_answer_without_an_id_is_for_the_only_question() {
    let scene = Scene::new(Durability::Sync);
    let mut kept = scene.begin(input("Ada")).await.unwrap();
    scene.drive(&mut kept).await;
    for expected in ["the question is answered", "no question is open any more"] {
        let answer = StartMode::Resume(Answers::Only(json!("Bob")));
        let mut kept = scene.begin(answer).await.unwrap();
        assert_eq!(scene.drive(&mut kept).await, DriveOutcome::Ended(Ending::Completed));
        assert_eq!(names(&kept, &scene.graph), json!(["Ada", "Bob"]), "{expected}");
    }
}

#[tokio::test]
async fn an_answer_without_an_id_is_refused_if_several_questions_are_open() {
    let mut graph = Graph::builder("asking");
    graph.channel("names", Reducer::Append);
    for node in ["first", "second"] {
        graph.node(node);
        graph.edge(START, node);
    }
    let scene = Scene { graph: graph.build().unwrap(), ..Scene::new(Durability::Sync) };
    let mut kept = scene.begin(input("Ada")).await.unwrap();
    let DriveOutcome::Paused(questions) = scene.drive(&mut kept).await else { unreachable!() };
    let refused = scene.refusal(StartMode::Resume(Answers::Only(json!("Bob"))), None).await;
    assert_eq!(refused.code, "answer_invalid");
    let named = refused.details["questions"].as_array().unwrap();
    assert_eq!(named.len(), 2);
    assert!(questions.iter().all(|question| named.contains(&json!(question.id))));
}

/// The checkpoint that merges the input: the thread begins with the run's header.
const INPUT: u64 = 2;

#[tokio::test]
async fn a_checkpoint_that_has_not_asked_yet_takes_no_answer() {
    let scene = Scene::new(Durability::Sync);
    let mut kept = scene.begin(input("Ada")).await.unwrap();
    scene.drive(&mut kept).await;
    let mut kept = scene.begin(StartMode::Resume(Answers::Only(json!("Bob")))).await.unwrap();
    scene.drive(&mut kept).await;
    for answers in [Answers::Only(json!("Eve")), Answers::ById(vec![("x".into(), json!("Eve"))])] {
        let refused = scene.refusal(StartMode::Resume(answers), Some(INPUT)).await;
        assert_eq!(refused.code, "answer_invalid");
    }
}

#[tokio::test]
async fn a_run_on_a_branch_has_its_own_mark() {
    let scene = Scene::new(Durability::Sync);
    let mut kept = scene.begin(input("Ada")).await.unwrap();
    scene.drive(&mut kept).await;
    let mut kept = scene.begin(StartMode::Resume(Answers::Only(json!("Bob")))).await.unwrap();
    scene.drive(&mut kept).await;
    let origin = async |checkpoint| {
        let OpenedThread { lease, contents } = scene.open(checkpoint).await;
        lease.close().await.unwrap();
        contents.unwrap().origin.unwrap()
    };
    let (tip, branch) = (origin(None).await, origin(Some(INPUT)).await);
    assert_eq!((&tip.run_id, tip.seed), (&branch.run_id, branch.seed));
    assert_ne!(tip.key_salt, branch.key_salt);
    assert!(scene.is_free().await);
}

#[tokio::test]
async fn an_unknown_checkpoint_leaves_the_thread_free() {
    let scene = Scene::new(Durability::Sync);
    let mut kept = scene.begin(input("Ada")).await.unwrap();
    scene.drive(&mut kept).await;
    let thread = scene.thread.clone().at_checkpoint(Some(99));
    let Err(refused) = thread.open(Arc::clone(&scene.graph)).await else { unreachable!() };
    assert_eq!(refused.code, "checkpoint_unknown");
    assert!(scene.is_free().await);
}

#[tokio::test]
async fn an_edit_merges_writes_in_the_name_of_a_node_and_runs_nothing() {
    let scene = Scene::new(Durability::Sync);
    let node = scene.graph.node_id("ask").unwrap();
    for expected in [json!(["Ada"]), json!(["Ada", "Ada"])] {
        let StartMode::Turn(update) = input("Ada") else { unreachable!() };
        let mut kept = scene.begin(StartMode::Edit(node, update)).await.unwrap();
        assert_eq!(scene.drive(&mut kept).await, DriveOutcome::Ended(Ending::Completed));
        assert_eq!(names(&kept, &scene.graph), expected);
    }
}

#[tokio::test]
async fn a_resumed_run_keeps_its_id_unless_it_gets_another() {
    let scene = Scene::new(Durability::Sync);
    let mut kept = scene.begin(input("Ada")).await.unwrap();
    scene.drive(&mut kept).await;
    let resumed_as = async |mode| {
        let options = Options { run_id: "another".into(), ..Options::default() };
        let opened = scene.open(None).await;
        let about = (&scene.graph, options);
        DurableRun::start(opened, mode, about, scene.clock.now()).await.unwrap().run_id
    };
    assert_eq!(resumed_as(StartMode::Resume(Answers::NONE)).await, "run");
    assert_eq!(resumed_as(StartMode::ResumeAs(Answers::NONE)).await, "another");
}

#[tokio::test]
async fn an_abandoned_run_is_cancelled_in_its_thread_once_it_has_committed() {
    let scene = Scene::new(Durability::Sync);
    let started = |lease| {
        let mut committer = RunCommitter::new(lease);
        let options = Options { commits: true, run_id: "run".into(), ..Options::default() };
        let about = (&scene.graph, options);
        let started = committer.start((input("Ada"), None), about, scene.clock.now());
        (committer, started.unwrap().run)
    };
    let (mut committer, run) = started(scene.open(None).await.lease);
    committer.abandon(&run, scene.clock.now()).unwrap().await.unwrap();
    let OpenedThread { lease, contents } = scene.open(None).await;
    assert!(contents.is_none(), "until its first commit a run leaves no trace");

    let (mut committer, mut run) = started(lease);
    let Effect::Commit(commit) = run.step(scene.clock.now(), &mut NoRules) else { unreachable!() };
    committer.commit(&mut run, &commit, scene.clock.now());
    let answer = committer.durable().await;
    committer.acknowledge(&mut run, answer, scene.clock.now());
    committer.abandon(&run, scene.clock.now()).unwrap().await.unwrap();
    assert_eq!(committer.checkpoint(), INPUT);
    let ended = scene.open(None).await.contents.unwrap().recovered.ended;
    assert!(matches!(ended, Some(Ok(Ending::Cancelled(_)))), "{ended:?}");
}
