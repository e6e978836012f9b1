//! What a watcher is told, held against the page of the specification.

use std::time::Duration;

use antiphon_core::event::EventKind;
use antiphon_models::ScriptedReply;
use antiphon_systems::Session;
use antiphon_systems::deep_research::{QueryMode, ResearchRequest};
use serde_json::{Value as Json, json};

use crate::documented_events::DocumentedEvents;
use crate::flow::light;
use crate::plans::ambiguous;
use crate::scene::{
    Library, Scene, ScriptedRun, crawl, decision, in_time, moderate, observed, plan, search,
};
use crate::storing::FailingStore;
use crate::threads::{store, thread};

const PAGE: &str = include_str!("../../../../docs/systems/deep-research.md");

fn told(run: Vec<ScriptedRun>) -> Vec<(String, Json)> {
    let events = run.into_iter().flat_map(|it| it.result.events);
    let events = events.filter(|event| event.kind == EventKind::Custom);
    events.map(|event| (event.name.to_string(), event.data.to_json())).collect()
}

fn web(question: &str) -> ResearchRequest {
    ResearchRequest { query_mode: QueryMode::WebSearch, ..question.into() }
}

/// A step in which the model decides.
fn decided() -> Scene {
    Scene::new(&json!({"background_investigation": false}))
        .role("coordinator", [moderate()])
        .role("planner", [plan(&["Tea", "Water", "Time"])])
        .role("researcher", [search("tea"), crawl(&[1]), observed("Minutes.")])
}

/// A research of two steps of which the first one is enough.
fn skipped() -> Scene {
    let observation = json!({"observation": "Two [1]."});
    Scene::new(&json!({"background_investigation": false}))
        .role("coordinator", [json!({"is_simple_query": false, "complexity": "simple"})])
        .role("planner", [plan(&["Green tea", "Black tea"])])
        .role("researcher", [json!({"queries": ["green"]}), observation])
        .role("reflector", [decision("complete")])
}

/// A question that a person has to explain.
fn unclear() -> Scene {
    Scene::new(&json!({})).role("coordinator", [ambiguous()])
}

/// A question of fact that the coordinator would answer.
fn answered_at_once() -> Scene {
    let answer = json!({
        "is_simple_query": true, "complexity": "simple", "direct_response": "570,000 farms.",
    });
    Scene::new(&json!({})).role("coordinator", [answer])
}

/// A web search that takes too long while its report is written.
fn late() -> Scene {
    let written = ScriptedReply::text("late").after(Duration::from_secs(30));
    let observation = json!({"observation": "Two [1]."});
    Scene::new(&json!({}))
        .role("researcher", [json!({"queries": ["green"]}), observation])
        .role("synthesiser", [written])
        .role("responder", [json!({"response": "About two minutes."})])
}

#[tokio::test]
async fn every_event_of_the_specification_happens() {
    let plain = light(Library::tea());
    let asked = vec![
        plain.ask("How long do teas steep?").await,
        decided().ask("How long do teas steep?").await,
        skipped().ask("How long do teas steep?").await,
        unclear().ask("How long?").await,
        answered_at_once().ask("How many farms has Kenya?").await,
        late().ask(web("How long is green?")).await,
    ];
    let mut events = told(asked);
    let mut kept = light(Library::tea());
    let (system, _) = kept.system();
    let session = Session { thread: Some(thread(&store())), ..kept.session() };
    let asked = Box::pin(system.ask(web("How long do teas steep?"), session));
    let result = in_time(&kept.clock, asked).await.unwrap();
    let last = result.events.last().unwrap();
    events.push((last.name.to_string(), last.data.to_json()));
    let events = events.iter().map(|(name, data)| (name.as_str(), data));
    DocumentedEvents::of(PAGE).check_all(events);
}

#[tokio::test]
async fn every_code_of_an_error_is_told() {
    let unread = Library { is_unreadable: true, ..Library::tea() };
    let down = Library { is_down: true, ..Library::tea() };
    let slow = Library { search_delay: Duration::from_secs(25), ..Library::tea() };
    let asked = vec![
        Scene::new(&json!({})).ask("How long?").await,
        light(unread).ask("How long?").await,
        light(down).ask("How long?").await,
        Scene::new(&json!({})).ask(web("How long is green?")).await,
        late().ask(web("How long is green?")).await,
        Scene::with(&json!({"research_timeout_s": 10}), slow).ask("How long?").await,
    ];
    let told = told(asked);
    let codes: Vec<&str> = told
        .iter()
        .filter(|(name, _)| name == "error")
        .map(|(_, data)| data["error_code"].as_str().unwrap())
        .collect();
    let list = PAGE.split("The codes of `error` are ").nth(1).unwrap();
    let list = list.split(".\n").next().unwrap();
    for code in list.split('`').skip(1).step_by(2).filter(|code| *code != FailingStore::CODE) {
        assert!(codes.contains(&code), "{code}: {codes:?}");
    }
}
