//! Native runs in threads: asking, answering, and what is refused.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise, in what it shares too"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use antiphon_core::approval::{Approval, HostVerdict};
use antiphon_core::channel::{Reducer, Write};
use antiphon_core::command::Update;
use antiphon_core::effect::Ending;
use antiphon_core::graph::{Graph, START};
use antiphon_core::run::Options;
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Fault, Seed, ToolOutcome, ToolSpec};
use antiphon_runtime::store::Store;
use antiphon_runtime::{
    CallContext, Clock, DriveOutcome, Driver, Host, ManualClock, NodeCall, StartMode, StartedRun,
    ThreadRef, Tool,
};
use antiphon_stores::{Cipher, Durability, MemoryStore, SealedStore, StoredThread};
use async_trait::async_trait;
use serde_json::{Value, json};

/// One node asks, the next writes down what both have heard.
struct Clerk;

#[async_trait]
impl Host for Clerk {
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

struct Desk {
    graph: Arc<Graph<Value>>,
    room: StoredThread,
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
}

impl Desk {
    fn new(durability: Durability) -> Self {
        let clock = Arc::new(ManualClock::default());
        let store: Arc<dyn Store> =
            Arc::new(MemoryStore::new(Arc::<ManualClock>::clone(&clock) as Arc<dyn Clock>));
        let sealed_store = SealedStore::new(Arc::clone(&store), Arc::new(Cipher::tagged()));
        Self {
            graph: graph(),
            room: StoredThread::new(sealed_store, "t", durability),
            store,
            clock,
        }
    }

    async fn begin(&self, begin: StartMode) -> Result<StartedRun, Fault> {
        let opened = self.room.open(Arc::clone(&self.graph)).await?;
        let options = Options { run_id: "run".into(), seed: Seed::new(3), ..Options::default() };
        StartedRun::on(opened, begin, (&self.graph, options), self.clock.now()).await
    }

    async fn drive(&self, begun: &mut StartedRun) -> DriveOutcome {
        self.drive_by(Arc::new(Clerk), begun).await
    }

    async fn drive_by(
        &self,
        host: Arc<impl Host + 'static>,
        begun: &mut StartedRun,
    ) -> DriveOutcome {
        let clock = Arc::<ManualClock>::clone(&self.clock);
        Driver::new(host, clock).run_kept(begun).await.unwrap()
    }

    async fn is_free(&self) -> bool {
        self.store.threads("", 1).await.unwrap().pop().unwrap().held.is_none()
    }
}

fn input(name: &str) -> StartMode {
    let names = graph().channel_id("names").unwrap();
    StartMode::Turn(Update::from(vec![Write::merge(names, json!(name))]))
}

fn names(begun: &StartedRun, graph: &Graph<Value>) -> Value {
    begun.run.state().get(graph.channel_id("names").unwrap()).cloned().unwrap()
}

/// EN-22 of `docs/engine.md`.
#[tokio::test]
async fn a_question_is_answered_by_another_driver_later() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let desk = Desk::new(durability);
        let mut begun = desk.begin(input("Ada")).await.unwrap();
        let DriveOutcome::Paused(questions) = desk.drive(&mut begun).await else { unreachable!() };
        assert_eq!(questions[0].value, json!("who?"));
        assert!(desk.is_free().await, "whoever answers may take the thread");
        drop(begun);

        let answers = vec![(questions[0].id.clone(), json!("Bob"))];
        let mut begun = desk.begin(StartMode::Resume(answers)).await.unwrap();
        assert_eq!(desk.drive(&mut begun).await, DriveOutcome::Ended(Ending::Completed));
        assert_eq!(names(&begun, &desk.graph), json!(["Ada", "Bob"]));
        assert!(desk.is_free().await);
    }
}

#[tokio::test]
async fn a_question_without_an_answer_stays_open() {
    let desk = Desk::new(Durability::Sync);
    let mut begun = desk.begin(input("Ada")).await.unwrap();
    let first = desk.drive(&mut begun).await;
    let mut begun = desk.begin(StartMode::Resume(Vec::new())).await.unwrap();
    assert_eq!(desk.drive(&mut begun).await, first);
    let Some(refused) = desk.begin(StartMode::Resume(vec![("x".into(), json!(1))])).await.err()
    else {
        unreachable!()
    };
    assert_eq!(refused.code, "question_unknown");
    assert!(desk.is_free().await);
}

#[tokio::test]
async fn a_further_turn_goes_on_with_what_the_thread_holds() {
    let desk = Desk::new(Durability::Async);
    for (turn, expected) in [("Ada", json!(["Ada"])), ("Eve", json!(["Ada", "Eve"]))] {
        let mut begun = desk.begin(input(turn)).await.unwrap();
        assert!(matches!(desk.drive(&mut begun).await, DriveOutcome::Paused(_)));
        assert_eq!(names(&begun, &desk.graph), expected);
    }
}

#[tokio::test]
async fn nobody_else_gets_a_thread_while_a_run_has_it() {
    let desk = Desk::new(Durability::Sync);
    let begun = desk.begin(input("Ada")).await.unwrap();
    let Some(refused) = desk.begin(input("Eve")).await.err() else { unreachable!() };
    assert_eq!(refused.code, "thread_busy");
    drop(begun);
    assert!(desk.begin(input("Eve")).await.is_ok());
}

#[tokio::test]
async fn a_run_that_is_over_is_taken_up_without_the_thread() {
    let desk = Desk::new(Durability::Sync);
    let mut begun = desk.begin(input("Ada")).await.unwrap();
    let DriveOutcome::Paused(questions) = desk.drive(&mut begun).await else { unreachable!() };
    let answers = vec![(questions[0].id.clone(), json!("Bob"))];
    let mut begun = desk.begin(StartMode::Resume(answers)).await.unwrap();
    desk.drive(&mut begun).await;
    let kept = desk.store.head("t").await.unwrap();
    let mut begun = desk.begin(StartMode::Resume(Vec::new())).await.unwrap();
    assert!(desk.is_free().await);
    assert_eq!(desk.drive(&mut begun).await, DriveOutcome::Ended(Ending::Completed));
    assert_eq!(names(&begun, &desk.graph), json!(["Ada", "Bob"]));
    assert_eq!(desk.store.head("t").await.unwrap(), kept, "nothing is written");
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
    let desk = Desk::new(Durability::Sync);
    let mut begun = desk.begin(input("Ada")).await.unwrap();
    let DriveOutcome::Paused(questions) = desk.drive_by(Arc::clone(&teller), &mut begun).await
    else {
        unreachable!()
    };
    assert_eq!(begun.run.budget().spent().tool_calls, 1, "what was refused counts for nothing");
    let answers = vec![(questions[0].id.clone(), json!("Bob"))];
    let mut begun = desk.begin(StartMode::Resume(answers)).await.unwrap();
    assert_eq!(desk.drive_by(teller, &mut begun).await, DriveOutcome::Ended(Ending::Completed));
    assert_eq!(names(&begun, &desk.graph), json!(["Ada", ["tool_refused", "only Lyon", "Lyon"]]));
    assert_eq!((purse.asked.load(Ordering::Relaxed), purse.paid.load(Ordering::Relaxed)), (2, 1));
}
