//! Questions in threads: RL-23, and what else may happen to a thread.

use antiphon_systems::review_loop::{Answer, ReviewLoop, State};
use antiphon_systems::{Outcome, Session, SystemResult, SystemRunner, SystemStart};
use std::path::Path;
use std::sync::Arc;

use antiphon_core::checkpoint::{Commit, GraphSnapshot};
use antiphon_core::graph::Graph;
use antiphon_core::{Fault, FaultCode, Seed, Time};
use antiphon_models::{ScriptedModel, ScriptedReply};
use antiphon_runtime::store::{Store, StoreFuture as Stored};
use antiphon_runtime::{
    Answers, CancellationToken, ManualClock, OpenedThread, RunOrigin, SystemClock, ThreadLease,
    ThreadRef,
};
use antiphon_stores::{
    Cipher, Durability, MemoryStore, SealedStore, SqliteSettings, SqliteStore, StoredThread,
};
use serde_json::Value as Json;

use crate::scene::{a1, approve, as_model, found, plan, reject, solved, worded};

const DURABILITIES: [Durability; 3] = [Durability::Sync, Durability::Async, Durability::Exit];

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::new(SystemClock::new())))
}

fn sqlite(path: &Path) -> Arc<dyn Store> {
    let clock = Arc::new(SystemClock::new());
    Arc::new(SqliteStore::open(path, SqliteSettings::default(), clock).unwrap())
}

pub(crate) fn room(store: &Arc<dyn Store>, durability: Durability) -> StoredThread {
    StoredThread::new(
        SealedStore::new(Arc::clone(store), Arc::new(Cipher::tagged())),
        "q1",
        durability,
    )
}

pub(crate) fn within(thread: impl ThreadRef + 'static) -> Session {
    Session { thread: Some(Arc::new(thread)), ..outside() }
}

fn outside() -> Session {
    let session = Session::new(Arc::new(ManualClock::default()));
    Session { seed: Seed::new(7), run_id: "run".into(), ..session }
}

/// The outcome when another process continues.
async fn resume(
    system: &SystemRunner<ReviewLoop>,
    room: StoredThread,
) -> SystemResult<Answer, State> {
    let session = Session { run_id: "another".into(), ..Session::new(outside().clock) };
    system.resume(Arc::new(room), Answers::NONE, session).await.unwrap()
}

/// The system of RL-01 and its script.
fn system_and_model() -> (SystemRunner<ReviewLoop>, Arc<ScriptedModel>) {
    let mut scene = a1();
    let model = scene.model();
    (scene.system(&as_model(&model)), model)
}

/// What RL-01 comes to without any thread.
async fn undisturbed() -> SystemResult<Answer, State> {
    let (system, _) = system_and_model();
    system.ask("q", outside()).await.unwrap()
}

/// What happens to a run after so many of its commits.
#[derive(Clone, Copy)]
enum Fate {
    /// Its process dies: nothing moves any more.
    Dies,
    /// Its store fails.
    Fails,
}

/// A thread where a run meets its fate.
struct Doomed {
    room: StoredThread,
    after: usize,
    fate: Fate,
    reached: Arc<tokio::sync::Notify>,
}

struct Fatal {
    lease: Box<dyn ThreadLease>,
    left: usize,
    fate: Fate,
    reached: Arc<tokio::sync::Notify>,
}

impl ThreadRef for Doomed {
    fn name(&self) -> &str {
        self.room.thread()
    }

    fn open(&self, graph: Arc<Graph<Json>>) -> Stored<OpenedThread> {
        let (opening, left, fate) = (self.room.open(graph), self.after, self.fate);
        let reached = Arc::clone(&self.reached);
        Box::pin(async move {
            let OpenedThread { lease, contents } = opening.await?;
            Ok(OpenedThread { lease: Box::new(Fatal { lease, left, fate, reached }), contents })
        })
    }
}

impl ThreadLease for Fatal {
    fn begin(&mut self, run: &RunOrigin) {
        self.lease.begin(run);
    }

    fn keep(
        &mut self,
        commit: &Commit<Json>,
        image: &dyn Fn() -> Option<GraphSnapshot<Json>>,
        at: Time,
    ) -> Result<Option<Stored<()>>, Fault> {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return self.lease.keep(commit, image, at);
        }
        let (reached, fate) = (Arc::clone(&self.reached), self.fate);
        let durable = match fate {
            Fate::Dies => self.lease.keep(commit, image, at)?,
            Fate::Fails => None,
        };
        Ok(Some(Box::pin(async move {
            if let Some(durable) = durable {
                durable.await?;
            }
            reached.notify_one();
            match fate {
                Fate::Dies => std::future::pending().await,
                Fate::Fails => Err(Fault::new(FaultCode::StoreFull, "the disk is full")),
            }
        })))
    }

    fn checkpoint(&self) -> u64 {
        self.lease.checkpoint()
    }

    fn close(self: Box<Self>) -> Stored<()> {
        self.lease.close()
    }
}

/// Asks until so many commits are durable, and leaves the run there.
async fn die_after(system: &SystemRunner<ReviewLoop>, room: StoredThread, commits: usize) -> bool {
    let reached = Arc::new(tokio::sync::Notify::new());
    let thread = Doomed { room, after: commits, fate: Fate::Dies, reached: Arc::clone(&reached) };
    tokio::select! {
        biased;
        _ = system.ask("q", within(thread)) => false,
        () = reached.notified() => true,
    }
}

/// RL-23 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_question_that_is_lost_after_any_commit_resumes_from_there() {
    let whole = undisturbed().await;
    let folder = tempfile::tempdir().unwrap();
    let mut crashes = 0;
    for commits in 1.. {
        let path = folder.path().join(format!("{commits}.db"));
        for on_disk in [false, true] {
            let (system, model) = system_and_model();
            let open = || if on_disk { sqlite(&path) } else { memory() };
            let store = open();
            if !die_after(&system, room(&store, Durability::Sync), commits).await {
                assert_eq!(crashes, 60, "after each commit, in two stores");
                return;
            }
            crashes += 1;
            let store = if on_disk {
                drop(store);
                open()
            } else {
                store
            };
            let answer = resume(&system, room(&store, Durability::Sync)).await;
            assert_eq!(answer.outcome, Outcome::Answered);
            assert_eq!(answer.state, whole.state, "after {commits} commits");
            assert_eq!(answer.run_id, "run");
            assert_eq!(model.remaining(), 0, "nobody is asked twice: {commits}");
        }
    }
}

/// RL-23 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn the_researcher_is_not_asked_again_for_the_step_that_was_stored() {
    let (system, model) = system_and_model();
    let store = memory();
    // Input, orchestrator, planner, orchestrator, critic, orchestrator, researcher; of each that
    // asks a model the reply comes before.
    assert!(die_after(&system, room(&store, Durability::Sync), 11).await);
    let asked =
        |role: &str| model.requests().iter().filter(|request| request.tags["role"] == role).count();
    assert_eq!((asked("planner"), asked("critic"), asked("researcher")), (1, 1, 1));
    let answer = resume(&system, room(&store, Durability::Sync)).await;
    assert_eq!((asked("planner"), asked("critic"), asked("researcher")), (1, 4, 2));
    assert_eq!(answer.state.research_results, [Some("a".to_owned()), Some("b".to_owned())]);
    let first = answer.events.first().unwrap().seq;
    assert!(first > 1, "the trace continues where it was");
}

#[tokio::test]
async fn a_question_in_a_thread_comes_to_the_same_as_one_outside() {
    let whole = undisturbed().await;
    for durability in DURABILITIES {
        let (system, _) = system_and_model();
        let store = memory();
        let answer = system.ask("q", within(room(&store, durability))).await.unwrap();
        assert_eq!(answer.state, whole.state);
        let again = resume(&system, room(&store, durability)).await;
        assert_eq!((again.state, again.outcome), (whole.state.clone(), Outcome::Answered));
        assert_eq!(again.output.final_answer, "x");
        assert_eq!(again.spent, answer.spent, "what it has cost is known");
    }
}

#[tokio::test]
async fn a_store_that_fails_ends_the_question_with_its_fault() {
    let (system, model) = system_and_model();
    let thread = Doomed {
        room: room(&memory(), Durability::Sync),
        after: 4,
        fate: Fate::Fails,
        reached: Arc::default(),
    };
    let answer = system.ask("q", within(thread)).await.unwrap();
    assert_eq!(answer.outcome, Outcome::Error);
    assert_eq!(answer.error.unwrap().code, "store_full");
    let asked: Vec<_> = model.requests().iter().map(|asked| asked.tags["role"].clone()).collect();
    assert_eq!(asked, ["planner"], "nothing new happens that could be lost");
}

#[tokio::test]
async fn two_questions_cannot_have_one_thread_at_a_time() {
    let (system, _) = system_and_model();
    let store = memory();
    let thread = room(&store, Durability::Sync);
    let opened = thread.open(Arc::clone(system.graph())).await.unwrap();
    let refused = system.ask("q", within(thread.clone())).await.unwrap_err();
    assert_eq!(refused.code, "thread_busy");
    drop(opened);
    assert_eq!(system.ask("q", within(thread)).await.unwrap().outcome, Outcome::Answered);
}

#[tokio::test]
async fn a_question_that_is_dropped_lets_its_thread_go_at_once() {
    let store = memory();
    for commits in [1, 5, 9] {
        let (system, _) = system_and_model();
        assert!(die_after(&system, room(&store, Durability::Async), commits).await);
        let held = store.threads("", 1).await.unwrap().pop().unwrap().held;
        assert_eq!(held, None);
    }
}

#[tokio::test]
async fn a_new_question_begins_from_nothing_for_any_thread() {
    let (system, _) = system_and_model();
    let store = memory();
    assert!(die_after(&system, room(&store, Durability::Sync), 9).await);
    let mut scene = crate::scene::Scene::new(&serde_json::json!({}))
        .role("planner", [plan(&[], &["e"])])
        .role("critic", [approve(), approve()])
        .role("expert", [solved("y", "why")])
        .role("finalizer", [worded("y", "t")]);
    let model = scene.model();
    let system = scene.system(&as_model(&model));
    let alone = system.ask("other", outside()).await.unwrap();
    assert_eq!(alone.output.final_answer, "y");

    let mut scene = crate::scene::Scene::new(&serde_json::json!({}))
        .role("planner", [plan(&[], &["e"])])
        .role("critic", [approve(), approve()])
        .role("expert", [solved("y", "why")])
        .role("finalizer", [worded("y", "t")]);
    let model = scene.model();
    let system = scene.system(&as_model(&model));
    let answer = system.ask("other", within(room(&store, Durability::Sync))).await.unwrap();
    let mut bare = answer.state.clone();
    // Ids come from how far the thread has come.
    for (message, other) in bare.agent_messages.iter_mut().zip(&alone.state.agent_messages) {
        message.id.clone_from(&other.id);
    }
    assert_eq!(bare, alone.state);
    let again = resume(&system, room(&store, Durability::Sync)).await;
    assert_eq!(again.state, answer.state, "what is stored is the same");
}

#[tokio::test]
async fn a_question_is_asked_once_however_often_it_is_put() {
    let (system, model) = system_and_model();
    let store = memory();
    let session = || within(room(&store, Durability::Sync));
    assert!(die_after(&system, room(&store, Durability::Sync), 8).await);
    for _ in 0..2 {
        let answer = system.run(SystemStart::AskOnce("q".into()), session()).await.unwrap();
        assert_eq!((answer.output.final_answer.as_str(), answer.outcome), ("x", Outcome::Answered));
    }
    assert_eq!(model.remaining(), 0);
    // Another question is another matter: the script has nothing for it.
    let answer = system.run(SystemStart::AskOnce("another".into()), session()).await.unwrap();
    assert_eq!(answer.state.question, "another");
    assert_ne!(answer.outcome, Outcome::Answered);
}

#[tokio::test]
async fn a_question_that_was_cancelled_can_be_resumed() {
    let mut scene = crate::scene::Scene::new(&serde_json::json!({}))
        .role("planner", [plan(&["r"], &["e"])])
        .role("critic", [approve(), reject("cite"), approve(), approve()])
        .role(
            "researcher",
            [
                ScriptedReply::from(found("a")).after(std::time::Duration::from_secs(5)),
                found("a").into(),
                found("a2").into(),
            ],
        )
        .role("expert", [solved("y", "why")])
        .role("finalizer", [worded("y", "t")]);
    let model = scene.model();
    let system = scene.system(&as_model(&model));
    let store = memory();
    let (token, clock) = (CancellationToken::new(), scene.clock.clone());
    let thread = Arc::new(room(&store, Durability::Async));
    let session = Session {
        clock: clock.clone(),
        cancel: Some(token.clone()),
        ..within(room(&store, Durability::Async))
    };
    let interrupt = async {
        while clock.next_wake().is_none() {
            tokio::task::yield_now().await;
        }
        token.cancel("interrupted");
    };
    let (answer, ()) = tokio::join!(system.ask("q", session), interrupt);
    assert_eq!(answer.unwrap().outcome, Outcome::Cancelled);
    let answer = system.resume(thread, Answers::NONE, Session::new(clock)).await.unwrap();
    assert_eq!((answer.outcome, answer.output.retry_count), (Outcome::Answered, 1));
    assert_eq!(model.remaining(), 0);
}

#[tokio::test]
async fn an_empty_thread_has_nothing_to_resume() {
    let (system, model) = system_and_model();
    let store = memory();
    let thread = Arc::new(room(&store, Durability::Sync));
    let refused = system.resume(thread, Answers::NONE, outside()).await.unwrap_err();
    assert_eq!(refused.code, "thread_empty");
    assert_eq!(refused.message, "the thread is empty: q1");
    assert!(model.requests().is_empty());
    assert_eq!(store.threads("", 1).await.unwrap(), [], "nothing is left of it");
}

#[tokio::test]
async fn a_question_that_is_over_is_asked_anew_where_that_is_wanted() {
    let store = memory();
    let session = || within(room(&store, Durability::Sync));
    let (system, model) = system_and_model();
    assert!(die_after(&system, room(&store, Durability::Sync), 8).await);
    assert_eq!(
        system.run(SystemStart::AskAgain("q".into()), session()).await.unwrap().outcome,
        Outcome::Answered
    );
    assert_eq!(model.remaining(), 0, "what was under way continues");
    let (system, model) = system_and_model();
    assert_eq!(
        system.run(SystemStart::AskAgain("q".into()), session()).await.unwrap().outcome,
        Outcome::Answered
    );
    assert_eq!(model.remaining(), 0, "what is over begins from nothing");
}
