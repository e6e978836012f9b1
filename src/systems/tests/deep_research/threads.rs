//! Conversations in threads, and questions that are lost on the way.

use std::sync::Arc;

use antiphon_runtime::{Answers, ManualClock, Store};
use antiphon_stores::{Cipher, Durability, MemoryStore, SealedStore, StoredThread};
use antiphon_systems::deep_research::{QueryMode, ResearchRequest};
use antiphon_systems::{Outcome, Session};
use serde_json::json;

use crate::flow::light;
use crate::scene::{Library, Scene, in_time, unverified};

pub(crate) fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Arc::new(ManualClock::default())))
}

pub(crate) fn thread(store: &Arc<dyn Store>) -> Arc<StoredThread> {
    let sealed = SealedStore::new(Arc::clone(store), Arc::new(Cipher::tagged()));
    Arc::new(StoredThread::new(sealed, "chat", Durability::Sync))
}

#[tokio::test]
async fn a_thread_keeps_the_conversation_and_the_sources() {
    let store = store();
    let mut first = light(Library::tea());
    let (system, _) = first.system();
    let session = Session { thread: Some(thread(&store)), ..first.session() };
    let asked = Box::pin(system.ask(unverified("How long do teas steep?"), session));
    assert_eq!(in_time(&first.clock, asked).await.unwrap().outcome, Outcome::Answered);

    let mut second = Scene::new(&json!({})).role("responder", ["Green one, two minutes [2]."]);
    let (system, model) = second.system();
    let session = Session { thread: Some(thread(&store)), ..second.session() };
    let input = ResearchRequest { query_mode: QueryMode::Simple, .."Which is short?".into() };
    let asked = Box::pin(system.ask(input, session));
    let result = in_time(&second.clock, asked).await.unwrap();
    assert!(result.output.answer.contains("(https://green.example/tea)"));
    let read = model.requests()[0].messages.last().unwrap().content.to_string();
    assert!(read.contains("How long do teas steep?"), "{read}");
    assert_eq!(result.state.conversation_history.len(), 4);
    let cited: Vec<bool> = result.output.sources.iter().map(|source| source.is_cited).collect();
    assert_eq!(cited, [false, true, false]);
}

/// DR-35 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_lost_research_goes_on_without_a_step_or_a_page_twice() {
    let expected = light(Library::tea()).ask("How long do teas steep?").await;
    let store = store();
    let mut scene = light(Library::tea());
    let (system, model) = scene.system();
    let asks = async {
        let session = Session { thread: Some(thread(&store)), ..scene.session() };
        Box::pin(system.ask(unverified("How long do teas steep?"), session)).await
    };
    // The second step has begun: its searches were chosen, and the run is lost.
    let lost = async {
        while model.requests().len() < 7 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = lost => {}
        _ = asks => unreachable!("it is lost before its end"),
    }
    let session = Session::new(Arc::new(ManualClock::default()));
    let result = system.resume(thread(&store), Answers::NONE, session).await.unwrap();
    assert_eq!(result.output.final_report, expected.result.output.final_report);
    assert_eq!(result.output.observations, expected.result.output.observations);
    let mut calls = scene.library.called();
    assert_eq!(calls.len(), expected.library.called().len());
    calls.sort();
    calls.dedup();
    assert_eq!(calls.len(), expected.library.called().len(), "no page was read twice");
}
