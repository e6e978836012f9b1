//! What is told of the thread once a report is delivered, and a store that fails before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use antiphon_core::event::Event;
use antiphon_core::{Category, Fault, FaultCode, Time};
use antiphon_models::ScriptedReply;
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, Store, StoreFuture,
    StoredThreadInfo, ThreadHead,
};
use antiphon_runtime::{Answers, ManualClock, Watcher};
use antiphon_stores::MemoryStore;
use antiphon_systems::deep_research::ResearchRequest;
use antiphon_systems::{Outcome, Session};
use serde_json::json;

use crate::flow::{light, light_with};
use crate::scene::{Library, in_time, unverified};
use crate::threads::{store, thread};
use crate::unfinished::stored;

/// A store that takes nothing any more once a report is complete.
pub(crate) struct FailingStore {
    inner: Arc<dyn Store>,
    is_down: AtomicBool,
}

impl FailingStore {
    /// What is told of it.
    pub(crate) const CODE: &str = "PERSISTENCE_FAILED";

    fn new() -> Arc<Self> {
        let inner = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
        Arc::new(Self { inner, is_down: AtomicBool::new(false) })
    }

    fn unless_down(&self, work: impl FnOnce() -> StoreFuture<()>) -> StoreFuture<()> {
        if !self.is_down.load(Ordering::Relaxed) {
            return work();
        }
        let fault = Fault::new(FaultCode::StoreUnavailable, "the store is down");
        Box::pin(std::future::ready(Err(fault)))
    }
}

impl Watcher for FailingStore {
    fn see(&self, event: &Arc<Event>) {
        if &*event.name == "research_completed" {
            self.is_down.store(true, Ordering::Relaxed);
        }
    }

    fn wants_chunks(&self) -> bool {
        false
    }
}

impl Store for FailingStore {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn claim(&self, thread: &str, owner: &str, term: Duration) -> StoreFuture<ThreadHead> {
        self.inner.claim(thread, owner, term)
    }

    fn release(&self, thread: &str, owner: &str) -> StoreFuture<()> {
        self.inner.release(thread, owner)
    }

    fn append(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.unless_down(|| self.inner.append(batch))
    }

    fn append_soon(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.unless_down(|| self.inner.append_soon(batch))
    }

    fn read(&self, thread: &str, span: EntryRange) -> StoreFuture<Vec<Entry>> {
        self.inner.read(thread, span)
    }

    fn find(&self, thread: &str, seq: u64) -> StoreFuture<Option<Entry>> {
        self.inner.find(thread, seq)
    }

    fn marks(
        &self,
        thread: &str,
        span: EntryRange,
        kind: Option<EntryKind>,
    ) -> StoreFuture<Vec<(EntryMark, EntryTag)>> {
        self.inner.marks(thread, span, kind)
    }

    fn head(&self, thread: &str) -> StoreFuture<Option<ThreadHead>> {
        self.inner.head(thread)
    }

    fn thread(&self, thread: &str) -> StoreFuture<Option<StoredThreadInfo>> {
        self.inner.thread(thread)
    }

    fn threads(&self, after: &str, limit: u32) -> StoreFuture<Vec<StoredThreadInfo>> {
        self.inner.threads(after, limit)
    }

    fn recent(&self, prefix: &str) -> StoreFuture<Vec<(String, Time)>> {
        self.inner.recent(prefix)
    }

    fn remove(&self, thread: &str, owner: &str, span: EntryRange) -> StoreFuture<u64> {
        self.inner.remove(thread, owner, span)
    }

    fn delete(&self, thread: &str) -> StoreFuture<bool> {
        self.inner.delete(thread)
    }

    fn replace(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.inner.replace(batch)
    }

    fn protection(&self, proposed: EntryTag) -> StoreFuture<EntryTag> {
        self.inner.protection(proposed)
    }

    fn protect(&self, tag: EntryTag) -> StoreFuture<()> {
        self.inner.protect(tag)
    }
}

fn names(events: &[Arc<Event>]) -> Vec<&str> {
    events.iter().map(|event| &*event.name).collect()
}

fn assert_without_gap(events: &[Arc<Event>]) {
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

/// DR-34 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_report_that_the_store_does_not_take_is_returned_and_nothing_of_it_is_stored() {
    let failing = FailingStore::new();
    let mut scene = light(Library::tea());
    let (system, model) = scene.system();
    let held = thread(&(Arc::clone(&failing) as Arc<dyn Store>));
    let session =
        Session { thread: Some(held), watchers: vec![failing.clone()], ..scene.session() };
    let asked = Box::pin(system.ask(unverified("How long do teas steep?"), session));
    let result = in_time(&scene.clock, asked).await.unwrap();
    assert_eq!(result.outcome, Outcome::Answered, "{:?}", result.error);
    assert!(result.output.answer.starts_with("Green takes two minutes"));
    assert_eq!(result.error.unwrap().code.as_str(), "store_unavailable");
    let error = result.output.errors.last().unwrap();
    assert_eq!((error.error_code.as_str(), error.recoverable), (FailingStore::CODE, false));
    assert!(result.output.warnings[0].contains("not stored"));
    let last = result.events.last().unwrap();
    assert_eq!((&*last.name, &last.data["error_code"]), ("error", &json!(FailingStore::CODE)));
    assert_without_gap(&result.events);

    let left = stored(&failing.inner).await;
    assert_eq!((&*left.final_report, left.completed_at), ("", None));
    assert!(left.conversation_history.is_empty() && left.chat_sources.all().is_empty());

    // The thread ends before the report was delivered: nobody is asked again.
    let asked = model.requests().len();
    let session = Session::new(Arc::new(ManualClock::default()));
    let resumed = system.resume(thread(&failing.inner), Answers::NONE, session).await.unwrap();
    assert_eq!(resumed.output.answer, result.output.answer);
    assert!(names(&resumed.events).contains(&"research_completed"));
    assert_eq!(model.requests().len(), asked);
}

#[tokio::test]
async fn the_reason_is_why_there_is_no_report_not_what_failed_after_it() {
    let down = Fault::foreign(Category::ModelTransport, "model_unavailable", "the model is down");
    let failing = FailingStore::new();
    let mut scene = light_with(Library::tea(), ScriptedReply::fault(down));
    let (system, _) = scene.system();
    let held = thread(&(Arc::clone(&failing) as Arc<dyn Store>));
    let session =
        Session { thread: Some(held), watchers: vec![failing.clone()], ..scene.session() };
    let asked = Box::pin(system.ask(unverified("How long do teas steep?"), session));
    let result = in_time(&scene.clock, asked).await.unwrap();
    assert_eq!(result.output.errors.last().unwrap().error_code, "PERSISTENCE_FAILED");
    let reason = result.reason.unwrap();
    assert_eq!(reason, "no model has written the report: the model is down");
}

/// DR-37 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn events_have_no_gap_and_the_last_tells_that_the_report_is_stored() {
    let verdict =
        |number| json!({"number": number, "reasoning": "so it is", "verdict": "supported"});
    let verdicts = json!({"verdicts": (0..6).map(verdict).collect::<Vec<_>>()});
    let written = "Green tea steeps for two minutes [1]. Black tea steeps for four minutes [0].";
    let mut scene = light(Library::tea())
        .role("reporter", [json!({"report": written})])
        .always("verifier", ScriptedReply::json(&verdicts))
        .always("quick_verifier", ScriptedReply::json(&verdicts));
    let (system, _) = scene.system();
    let store = store();
    let session = Session { thread: Some(thread(&store)), ..scene.session() };
    let question: ResearchRequest = "How long do teas steep?".into();
    let asked = Box::pin(system.ask(question, session));
    let result = in_time(&scene.clock, asked).await.unwrap();
    assert_eq!(result.outcome, Outcome::Answered, "{:?}", result.output.errors);
    assert_without_gap(&result.events);
    let names = names(&result.events);
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
    assert!(place("agent_started") < place("plan_created"));
    assert!(place("verification_summary") < place("research_completed"));
    assert!(place("research_completed") < place("persistence_completed"));
    let last = result.events.last().unwrap();
    assert_eq!((&*last.name, &last.data["messages"]), ("persistence_completed", &json!(2)));

    // One that has ended is not told again.
    let session = Session::new(Arc::new(ManualClock::default()));
    let again = system.resume(thread(&store), Answers::NONE, session).await.unwrap();
    assert!(!again.events.iter().any(|event| &*event.name == "persistence_completed"));
    assert_eq!(again.output.answer, result.output.answer);
}
