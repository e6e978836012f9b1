//! Conversations in threads, and questions that are lost on the way.

use std::sync::Arc;
use std::time::Duration;

use antiphon_citation::PageOrigin;
use antiphon_models::ScriptedReply;
use antiphon_runtime::{Answers, ManualClock, Store};
use antiphon_stores::{Cipher, Durability, MemoryStore, SealedStore, StoredThread};
use antiphon_systems::deep_research::source::ResearchSource;
use antiphon_systems::deep_research::{QueryMode, ResearchRequest};
use antiphon_systems::{Outcome, Session};
use serde_json::json;

use crate::flow::light;
use crate::scene::{Library, Scene, in_time, report, unverified};

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

#[tokio::test]
async fn a_page_of_an_earlier_question_is_cited_as_known_before() {
    let store = store();
    let mut first = light(Library::tea());
    let (system, _) = first.system();
    let session = Session { thread: Some(thread(&store)), ..first.session() };
    let asked = Box::pin(system.ask(unverified("How long do teas steep?"), session));
    let read = in_time(&first.clock, asked).await.unwrap();
    assert!(read.output.sources.iter().any(|it| !it.content.is_empty() && !it.was_known));

    // The second question finds the same pages, and reads only the one that was not read before.
    let supported = json!({"number": 0, "reasoning": "so it is", "verdict": "supported"});
    let supported = ScriptedReply::json(&json!({"verdicts": [supported]}));
    let mut second = light(Library::tea())
        .role("reporter", [report("Green tea steeps for two minutes [0].")])
        .always("verifier", supported.clone())
        .always("quick_verifier", supported);
    let (system, _) = second.system();
    let session = Session { thread: Some(thread(&store)), ..second.session() };
    let input = ResearchRequest {
        verify_sources: Some(true),
        existing_sources: vec![ResearchSource {
            url: "https://given.example/".to_owned(),
            content: "Given teas steep for ages.".to_owned(),
            ..ResearchSource::default()
        }],
        .."How long does green tea steep?".into()
    };
    let asked = Box::pin(system.ask(input, session));
    let result = in_time(&second.clock, asked).await.unwrap();
    let output = &result.output;
    assert_eq!(result.outcome, Outcome::Answered, "{:?}", output.errors);
    let new: Vec<&str> =
        output.sources.iter().filter(|it| !it.was_known).map(|it| it.url.as_str()).collect();
    assert_eq!(new, ["https://white.example/tea"]);
    assert_eq!(output.references[0].origin, PageOrigin::Known);
    assert!(output.answer.ends_with("tea> (known before, not read again)"), "{}", output.answer);
    assert!(output.audit.as_ref().unwrap().is_clean());
    let called = second.library.called();
    let reads: Vec<&str> =
        called.iter().map(|it| &**it).filter(|it| it.starts_with("read")).collect();
    assert_eq!(reads, ["read https://white.example/tea"]);
}

#[tokio::test]
async fn a_page_that_could_not_be_read_is_read_for_the_next_question() {
    let store = store();
    let mut first = light(Library { is_unreadable: true, ..Library::tea() });
    let (system, _) = first.system();
    let session = Session { thread: Some(thread(&store)), ..first.session() };
    let asked = Box::pin(system.ask(unverified("How long do teas steep?"), session));
    let failed = in_time(&first.clock, asked).await.unwrap();
    assert!(failed.output.sources.iter().all(|source| source.content.is_empty()));

    let mut second = light(Library::tea());
    let (system, _) = second.system();
    let session = Session { thread: Some(thread(&store)), ..second.session() };
    let asked = Box::pin(system.ask(unverified("How long do teas steep?"), session));
    let read = in_time(&second.clock, asked).await.unwrap();
    let is_read = |source: &ResearchSource| {
        !source.content.is_empty() && source.error_reason.is_none() && !source.was_known
    };
    assert!(read.output.sources.iter().any(is_read), "{:?}", read.output.sources);
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

/// DR-35: the stages of citation go on with pages that are stored once, beside the run.
#[tokio::test]
async fn a_cited_report_that_is_lost_goes_on_with_the_pages_that_are_stored_once() {
    let supported = json!({"number": 0, "reasoning": "so it is", "verdict": "supported"});
    let supported = ScriptedReply::json(&json!({"verdicts": [supported]}));
    let supported = supported.after(Duration::from_secs(5));
    let scene = || {
        light(Library::tea())
            .role("reporter", [report("Green tea steeps for two minutes [0].")])
            .always("verifier", supported.clone())
            .always("quick_verifier", supported.clone())
    };
    let question = || ResearchRequest {
        verify_sources: Some(true),
        .."How long does green tea steep?".into()
    };
    let expected = scene().ask(question()).await;
    assert_eq!(expected.result.outcome, Outcome::Answered, "{:?}", expected.result.output.errors);
    let store = store();
    let mut lost_scene = scene();
    let (system, model) = lost_scene.system();
    let asks = async {
        let session = Session { thread: Some(thread(&store)), ..lost_scene.session() };
        Box::pin(system.ask(question(), session)).await
    };
    let is_verified = || {
        let requests = model.requests();
        requests.iter().any(|request| request.tags["role"].ends_with("verifier"))
    };
    let lost = async {
        while !is_verified() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = lost => {}
        _ = asks => unreachable!("it is lost before its end"),
    }
    let clock = Arc::new(ManualClock::default());
    let resumed = system.resume(thread(&store), Answers::NONE, Session::new(clock.clone()));
    let result = in_time(&clock, Box::pin(resumed)).await.unwrap();
    assert_eq!(result.output.final_report, expected.result.output.final_report);
    assert!(result.output.audit.as_ref().unwrap().is_clean());
    assert_eq!(result.output.passages, expected.result.output.passages);
    let state = serde_json::to_value(&result.state).unwrap();
    let pages = state["citation_pages"].as_object().unwrap();
    let kept = state["citation"].to_string();
    assert!(!pages.is_empty());
    for text in pages.values() {
        let text = text.as_str().unwrap();
        assert!(text.len() > 1_000 && !kept.contains(text), "{kept}");
    }
}
