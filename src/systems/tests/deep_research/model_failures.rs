//! Models that cannot be asked.

use antiphon_core::{Category, Fault, FaultCode};
use antiphon_models::ScriptedReply;
use antiphon_runtime::Answers;
use antiphon_systems::deep_research::ResearchOutcome;
use antiphon_systems::{Outcome, Session};
use serde_json::json;

use crate::flow::light_with;
use crate::scene::{Library, Scene, in_time, moderate, unverified};
use crate::threads::{store, thread};

const QUESTION: &str = "How long do teas steep?";
const NOT_ASKED: &str = "no request to a model succeeded";

fn unreachable() -> ScriptedReply {
    Fault::new(FaultCode::ModelUnreachable, "the model is down").into()
}

#[tokio::test]
async fn a_key_or_a_model_that_is_refused_ends_the_research_after_one_request() {
    for code in [FaultCode::ModelKeyRefused, FaultCode::ModelNotFound] {
        let fault = Fault::new(code.clone(), "it was refused");
        let run = Scene::new(&json!({})).role("coordinator", [fault]).ask(QUESTION).await;
        assert_eq!(run.result.outcome, Outcome::Error);
        assert_eq!(run.result.reason.as_deref(), Some(NOT_ASKED));
        assert_eq!(run.result.error.as_ref().unwrap().code, code);
        assert_eq!(run.result.output.research_outcome, ResearchOutcome::Failed);
        assert_eq!((run.roles(), run.library.called()), (vec!["coordinator".to_owned()], vec![]));
    }
}

#[tokio::test]
async fn a_model_that_is_not_reached_twice_ends_the_research() {
    let run = Scene::new(&json!({}))
        .role("coordinator", [unreachable()])
        .role("background", [unreachable()])
        .ask(QUESTION)
        .await;
    assert_eq!(run.result.outcome, Outcome::Error);
    assert_eq!(run.result.error.as_ref().unwrap().code, "model_unreachable");
    assert_eq!(run.roles(), ["coordinator", "background"]);
    assert!(run.library.called().is_empty());
}

#[tokio::test]
async fn a_research_that_has_had_a_reply_goes_on_without_the_others() {
    let run = light_with(Library::tea(), unreachable()).ask(QUESTION).await;
    assert_eq!(run.result.outcome, Outcome::NoAnswer);
    assert_eq!(run.result.output.research_outcome, ResearchOutcome::Degraded);
    assert_eq!(run.result.error.as_ref().unwrap().code, "model_unreachable");
    let reason = run.result.reason.as_deref();
    assert_eq!(reason, Some("no model has written the report: the model is down"));
    assert!(run.result.output.final_report.contains("Two minutes"));

    let refused = || Fault::foreign(Category::Auth, "model_key_refused", "the key was refused");
    let run = Scene::new(&json!({}))
        .role("coordinator", [moderate()])
        .role("background", [refused()])
        .always("planner", refused())
        .always("researcher", refused())
        .always("synthesiser", refused())
        .ask(QUESTION)
        .await;
    assert_eq!(run.result.outcome, Outcome::NoAnswer, "the pages that were found are there");
    assert!(!run.library.called().is_empty());
}

#[tokio::test]
async fn a_thread_goes_on_with_a_question_once_its_model_can_be_asked() {
    let store = store();
    let refused = Fault::new(FaultCode::ModelKeyRefused, "the key was refused");
    let mut scene = Scene::new(&json!({})).role("coordinator", [refused.clone()]);
    let (system, _) = scene.system();
    let session = Session { thread: Some(thread(&store)), ..scene.session() };
    let asked = Box::pin(system.ask(unverified(QUESTION), session));
    let result = in_time(&scene.clock, asked).await.unwrap();
    assert_eq!((result.outcome, result.reason.as_deref()), (Outcome::Error, Some(NOT_ASKED)));

    let mut scene = Scene::new(&json!({})).role("background", [json!({"queries": ["tea"]})]);
    let (system, model) = scene.system();
    let resumed = Box::pin(system.resume(thread(&store), Answers::NONE, scene.session()));
    let result = in_time(&scene.clock, resumed).await.unwrap();
    assert_eq!(model.requests()[0].tags["role"], "background");
    assert!(!result.output.sources.is_empty());
}
