//! A tiny system on the shared scaffold: one role, one pause. Run with `--features echo`.

#![cfg(feature = "echo")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use antiphon_core::event::EventKind;
use antiphon_models::ScriptedModel;
use antiphon_runtime::{Answers, ManualClock, Store};
use antiphon_stores::{Cipher, Durability, MemoryStore, SealedStore, StoredThread};
use antiphon_systems::echo::{Config, Echo, Input, State};
use antiphon_systems::{
    Drawing, Outcome, Session, SystemResourcesBuilder, SystemRunner, SystemStart, find, registry,
};
use serde_json::{Map, Value as Json, json};

fn echo(replies: &[Json]) -> SystemRunner<Echo> {
    let model = Arc::new(ScriptedModel::new(replies.iter().cloned()));
    SystemRunner::new(Config::default(), SystemResourcesBuilder::new().model(model)).unwrap()
}

fn session() -> Session {
    Session { run_id: "run".to_owned(), ..Session::new(Arc::new(ManualClock::default())) }
}

fn question(text: &str) -> Input {
    Input { question: text.to_owned() }
}

#[tokio::test]
async fn a_system_pauses_and_is_resumed_by_an_answer_in_another_process() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    let thread = || {
        let sealed = SealedStore::new(Arc::clone(&store), Arc::new(Cipher::tagged()));
        Arc::new(StoredThread::new(sealed, "t", Durability::Sync))
    };
    let first = Session { thread: Some(thread()), ..session() };
    let paused = echo(&[]).ask(question("hello"), first).await.unwrap();
    assert_eq!((paused.outcome, paused.output.answer.as_str()), (Outcome::Paused, ""));
    let [asked] = &*paused.questions else { panic!("one question: {:?}", paused.questions) };
    assert_eq!(asked.value, "Shall I say it again: hello?");

    // Another runner stands for another process: all it has is the store.
    let other = echo(&[json!({"said": "hello"})]);
    let unknown = Answers::ById(vec![("0".repeat(32), json!(true))]);
    let refused = other.resume(thread(), unknown, session()).await.unwrap_err();
    assert_eq!(refused.code, "question_unknown");
    let answers = Answers::ById(vec![(asked.id.clone(), json!(true))]);
    let result = other.resume(thread(), answers, session()).await.unwrap();
    assert_eq!((result.outcome, result.output.answer.as_str()), (Outcome::Answered, "hello"));
    assert_eq!(result.run_id, "run");
}

#[tokio::test]
async fn a_refusal_ends_it_without_a_call_of_the_model() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    let sealed = SealedStore::new(store, Arc::new(Cipher::tagged()));
    let thread = Arc::new(StoredThread::new(sealed, "t", Durability::Sync));
    let system = echo(&[]);
    let first = Session { thread: Some(thread.clone()), ..session() };
    let paused = system.ask(question("hello"), first).await.unwrap();
    let answers = Answers::ById(vec![(paused.questions[0].id.clone(), json!(false))]);
    let result = system.resume(thread, answers, session()).await.unwrap();
    assert_eq!((result.outcome, result.output.answer.as_str()), (Outcome::Answered, ""));
    assert!(result.events.iter().all(|event| event.kind != EventKind::ModelCall));
}

#[tokio::test]
async fn a_thread_that_waits_for_an_answer_takes_no_other_question() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    let thread = || {
        let sealed = SealedStore::new(Arc::clone(&store), Arc::new(Cipher::tagged()));
        Arc::new(StoredThread::new(sealed, "t", Durability::Sync))
    };
    let system = echo(&[]);
    let asking = || Session { thread: Some(thread()), ..session() };
    let paused = system.ask(question("hello"), asking()).await.unwrap();
    let refused = system.ask(question("again"), asking()).await.unwrap_err();
    assert_eq!(refused.code, "thread_paused");
    let message = "the thread `t` is waiting for an answer to: Shall I say it again: hello?";
    assert_eq!(refused.message, message);
    assert_eq!(refused.details["questions"], json!([paused.questions[0].id]));
    let answers = Answers::Only(json!(false));
    let result = system.resume(thread(), answers, session()).await.unwrap();
    assert_eq!(result.outcome, Outcome::Answered);
    let next = system.ask(question("again"), asking()).await.unwrap();
    assert_eq!(next.questions[0].value, "Shall I say it again: again?");
}

#[tokio::test]
async fn a_pause_without_a_thread_is_resumed_once_by_the_system_that_asked() {
    let system = echo(&[json!({"said": "hello"})]);
    let paused = system.ask(question("hello"), session()).await.unwrap();
    assert_eq!((paused.outcome, paused.questions.len()), (Outcome::Paused, 1));
    let run = paused.paused.unwrap();
    let resume = |answers| SystemStart::Continue(run.clone(), answers);
    let yes = || Answers::Only(json!(true));

    let unknown = Answers::ById(vec![("0".repeat(32), json!(true))]);
    let refused = system.run(resume(unknown), session()).await.unwrap_err();
    assert_eq!(refused.code, "question_unknown", "the pause is as it was");
    let foreign = echo(&[]).run(resume(yes()), session()).await.unwrap_err();
    assert!(foreign.message.contains("another system has asked it"), "{foreign:?}");

    let result = system.run(resume(yes()), session()).await.unwrap();
    assert_eq!((result.outcome, result.output.answer.as_str()), (Outcome::Answered, "hello"));
    assert_eq!(result.run_id, "run");
    let again = system.run(resume(yes()), session()).await.unwrap_err();
    assert!(again.message.contains("already resumed"), "{again:?}");
}

fn fields(values: &Json) -> Map<String, Json> {
    values.as_object().unwrap().clone()
}

#[tokio::test]
async fn the_state_of_a_thread_is_updated_in_the_name_of_a_node() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    let sealed = SealedStore::new(store, Arc::new(Cipher::tagged()));
    let thread = Arc::new(StoredThread::new(sealed, "t", Durability::Sync));
    let system = echo(&[json!({"said": "hello"})]);
    let agreed = || ("ask", fields(&json!({"consent": true})));

    let empty = system.edit(thread.clone(), agreed(), session()).await.unwrap_err();
    assert_eq!(empty.code, "thread_empty");
    assert_eq!(empty.message, "the thread is empty: t");
    let first = Session { thread: Some(thread.clone()), ..session() };
    system.ask(question("hello"), first).await.unwrap();
    for (node, values, code) in [
        ("nobody", json!({"consent": true}), "target_unknown"),
        ("ask", json!({"assent": true}), "state_key_unknown"),
        ("ask", json!({"input": {"question": "other"}}), "state_key_unknown"),
        ("ask", json!({"said": 7}), "state_unreadable"),
        ("ask", json!({"consent": "perhaps"}), "state_unreadable"),
    ] {
        let edit = (node, fields(&values));
        let refused = system.edit(thread.clone(), edit, session()).await.unwrap_err();
        assert_eq!(refused.code, code, "{values}");
    }
    let checkpoint = system.edit(thread.clone(), agreed(), session()).await.unwrap();
    assert!(checkpoint > 1);
    let result = system.resume(thread, Answers::NONE, session()).await.unwrap();
    assert_eq!((result.outcome, result.output.answer.as_str()), (Outcome::Answered, "hello"));
}

#[tokio::test]
async fn a_state_from_elsewhere_resumes_from_there() {
    let system = echo(&[]);
    let state = State { consent: Some(false), ..State::default() };
    let paused = system.resume_from(&state, session()).await.unwrap();
    assert_eq!(paused.outcome, Outcome::Paused, "the question is asked anew");
}

#[tokio::test]
async fn the_registry_opens_it_by_name() {
    let entry = find("echo").unwrap();
    assert_eq!(entry.config_schema()["properties"]["times"]["default"], json!(1));
    assert!(entry.input_schema()["properties"]["question"].is_object());
    assert!(entry.output_schema()["properties"]["answer"].is_object());
    let model = Arc::new(ScriptedModel::new([json!({"said": "hello"})]));
    let system =
        entry.open(&json!({"times": 2}), SystemResourcesBuilder::new().model(model)).unwrap();
    let start = SystemStart::Ask(json!({"question": "hello"}));
    let paused = system.run(start, Vec::new(), session()).await.unwrap();
    assert_eq!(paused.outcome, Outcome::Paused);
    let misread = SystemStart::Ask(json!({"questions": "hello"}));
    let refused = system.run(misread, Vec::new(), session()).await.err().unwrap();
    assert_eq!(refused.code, "input_invalid");
    let attached = vec![("table".to_owned(), Vec::new())];
    let start = SystemStart::Ask(json!({"question": "hello"}));
    let refused = system.run(start, attached, session()).await.err().unwrap();
    assert_eq!(refused.code, "input_invalid");
}

#[test]
fn an_unknown_name_is_answered_with_those_there_are() {
    let fault = find("ecco").unwrap_err();
    assert_eq!(fault.code, "system_unknown");
    assert!(fault.hint.clone().unwrap().contains("review_loop"));
    assert!(registry().is_sorted_by_key(|entry| entry.name));
}

#[test]
fn the_graph_is_drawn_with_the_labels_of_its_routers() {
    let drawing = Drawing::of(echo(&[]).graph());
    assert_eq!(drawing.nodes, ["__start__", "ask", "speak", "__end__"]);
    let mut arrows: Vec<_> = drawing
        .edges
        .iter()
        .map(|edge| {
            format!(
                "{} -{}-> {}{}",
                edge.source,
                edge.label,
                edge.target,
                if edge.conditional { "?" } else { "" }
            )
        })
        .collect();
    arrows.sort();
    assert_eq!(
        arrows,
        ["__start__ --> ask", "ask -no-> __end__?", "ask -yes-> speak?", "speak --> __end__"]
    );
}
