//! What models see, held against committed copies.

use antiphon_systems::deep_research::ResearchRequest;
use serde_json::json;

use crate::conversation_snapshot::compare_conversation;
use crate::flow::light;
use crate::scene::{Library, Scene, crawl, decision, moderate, observed, plan, report, search};

#[tokio::test]
async fn the_roles_of_a_light_research_see_what_is_written_down() {
    let system_instructions = Some("Times are in minutes.".to_owned());
    let question = "How long do teas steep?";
    let input = ResearchRequest { system_instructions, ..question.into() };
    let run = light(Library::tea()).ask(input).await;
    for role in ["coordinator", "background", "planner", "synthesiser"] {
        let requests = run.requests(role);
        compare_conversation("deep_research", &format!("{role}.txt"), &requests[..1]);
    }
    let researcher = run.requests("researcher");
    compare_conversation("deep_research", "queries.txt", &researcher[2..3]);
    compare_conversation("deep_research", "observer.txt", &researcher[3..4]);
    compare_conversation("deep_research", "reflector.txt", &run.requests("reflector")[1..2]);
}

#[tokio::test]
async fn a_researcher_that_decides_sees_what_is_written_down() {
    let run = Scene::new(&json!({"background_investigation": false}))
        .role("coordinator", [moderate()])
        .role("planner", [plan(&["Tea", "Water", "Time"])])
        .role("researcher", [search("green"), crawl(&[1]), observed("Two minutes.")])
        .role("reflector", [decision("complete")])
        .role("synthesiser", [report("Two minutes [1].")])
        .ask("How long does green tea steep?")
        .await;
    compare_conversation("deep_research", "researcher.txt", &run.requests("researcher")[2..3]);
}

#[tokio::test]
async fn a_responder_sees_what_is_written_down() {
    let query_mode = antiphon_systems::deep_research::QueryMode::Simple;
    let input = ResearchRequest { query_mode, .."What is tea?".into() };
    let run = Scene::new(&json!({})).role("responder", ["A drink."]).ask(input).await;
    compare_conversation("deep_research", "responder.txt", &run.requests("responder"));
}
