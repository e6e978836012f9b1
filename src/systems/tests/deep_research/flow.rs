//! Questions from start to end.

use antiphon_core::{Category, Fault};
use antiphon_models::ScriptedReply;
use antiphon_systems::Outcome;
use antiphon_systems::deep_research::{
    Depth, QueryMode, ResearchDepth, ResearchOutcome, ResearchRequest,
};
use serde_json::json;

use crate::scene::{Library, Scene, decision, moderate, observed, plan, report, search};

/// A research of two steps in light depth.
pub(crate) fn light(library: Library) -> Scene {
    let text = report("Green takes two minutes [2], black four [1, 9].");
    light_with(library, ScriptedReply::json(&text))
}

/// As [`light`], with another reply of the synthesiser.
pub(crate) fn light_with(library: Library, written: ScriptedReply) -> Scene {
    light_with_each(library, [written])
}

/// As [`light`], with other replies of the synthesiser.
pub(crate) fn light_with_each<const N: usize>(
    library: Library,
    written: [ScriptedReply; N],
) -> Scene {
    Scene::with(&json!({}), library)
        .role("coordinator", [json!({"is_simple_query": false, "complexity": "simple"})])
        .role("background", [json!({"queries": ["tea", "steeping"]})])
        .role("planner", [plan(&["Green tea", "Black tea"])])
        .role(
            "researcher",
            [
                json!({"queries": ["green"]}),
                json!({"observation": "Two minutes [2]."}),
                json!({"queries": ["black"]}),
                json!({"observation": "Four minutes [1]."}),
            ],
        )
        .role("reflector", [decision("continue"), decision("complete")])
        .role("synthesiser", written)
}

#[tokio::test]
async fn a_question_is_planned_researched_and_reported_with_links() {
    let run = light(Library::tea()).ask("How long do teas steep?").await;
    let output = &run.result.output;
    assert_eq!(run.result.outcome, Outcome::Answered, "{:?}", run.result.error);
    assert_eq!(
        output.answer,
        "Green takes two minutes [About Green](https://green.example/tea), \
         black four [About Black](https://black.example/tea)."
    );
    assert_eq!((output.links_removed, output.effective_depth), (1, Depth::Light));
    let cited: Vec<bool> = output.sources.iter().map(|source| source.is_cited).collect();
    assert_eq!(cited, [true, true, false]);
    assert_eq!(output.observations.len(), 2);
    assert_eq!(output.research_outcome, ResearchOutcome::Completed);
    let roles = "coordinator background planner researcher researcher reflector researcher \
                 researcher reflector synthesiser";
    assert_eq!(run.roles().join(" "), roles);
    assert_eq!(run.notes("step_completed").len(), 2);
    assert_eq!(run.model.remaining(), 0);
}

/// DR-01 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_greeting_is_answered_by_the_coordinator_alone() {
    let reply =
        json!({"is_simple_query": true, "complexity": "simple", "direct_response": "Hello."});
    let run = Scene::new(&json!({})).role("coordinator", [reply]).ask("Hi!").await;
    assert_eq!(run.result.output.answer, "Hello.");
    assert_eq!((run.roles().len(), run.library.called().len()), (1, 0));
    assert_eq!(run.result.output.research_outcome, ResearchOutcome::Direct);
    let reply = json!({"is_simple_query": true, "complexity": "simple", "direct_response": ""});
    let run = Scene::new(&json!({}))
        .role("coordinator", [reply])
        .role("responder", [json!({"response": "Hello there."})])
        .ask("Hi!")
        .await;
    assert_eq!(run.result.output.answer, "Hello there.");
}

#[tokio::test]
async fn a_question_of_fact_is_researched_though_the_coordinator_answers_it() {
    let direct = json!({
        "is_simple_query": true,
        "complexity": "simple",
        "direct_response": "Green tea steeps for nine minutes.",
    });
    for reply in [direct, json!({"is_simple_query": true, "complexity": "simple"})] {
        let run = Scene::new(&json!({"background_investigation": false}))
            .role("coordinator", [reply])
            .role("planner", [plan(&["Green tea"])])
            .role("researcher", [json!({"queries": ["green"]}), json!({"observation": "Two [1]."})])
            .role("reflector", [decision("complete")])
            .role("synthesiser", ["Two minutes [1]."])
            .ask("How long does green tea steep?")
            .await;
        assert_eq!(run.result.output.research_outcome, ResearchOutcome::Completed);
        assert!(run.result.output.answer.contains("https://green.example/tea"));
        assert_eq!(run.notes("direct_response_declined").len(), 1);
    }
}

#[tokio::test]
async fn a_direct_answer_links_only_what_is_known() {
    let answer = "Hello! Read [this](https://evil.example/x) or https://evil.example/y first.";
    let greeting = json!({
        "is_simple_query": true, "complexity": "simple", "direct_response": answer,
    });
    let run = Scene::new(&json!({})).role("coordinator", [greeting]).ask("Hello!").await;
    assert_eq!(run.result.output.answer, "Hello! Read this or first.");
    assert_eq!(run.result.output.links_removed, 2);
}

/// DR-02 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_coordinator_that_cannot_be_read_leaves_a_moderate_question() {
    let run = Scene::new(&json!({"background_investigation": false}))
        .role("coordinator", ["what?", "still not"])
        .role("planner", [plan(&["a", "b", "c"])])
        .role("researcher", [search("green"), observed("Two minutes.")])
        .role("reflector", [decision("continue")])
        .ask("How long?")
        .await;
    let output = &run.result.output;
    assert_eq!(output.effective_depth, Depth::Medium);
    assert_eq!(run.errors()[0], "COORDINATOR_FAILED");
    assert!(output.observations.len() > 1, "the run continues");
}

/// DR-05 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn background_is_searched_with_the_question_or_not_at_all() {
    let down = || Fault::foreign(Category::ModelTransport, "model_unavailable", "down");
    let long = "tea ".repeat(100);
    let run = Scene::new(&json!({}))
        .role("coordinator", [moderate()])
        .role("background", [ScriptedReply::fault(down())])
        .role("planner", [plan(&["a", "b", "c"])])
        .ask(long.as_str())
        .await;
    let query: String = long.chars().take(200).collect();
    assert_eq!(run.library.called()[0], format!("search {query}"));
    assert!(run.errors().contains(&"BACKGROUND_FAILED"));
    assert!(run.read_by("planner").contains("<background>"));

    let library = Library { is_down: true, ..Library::tea() };
    let run = Scene::with(&json!({}), library)
        .role("coordinator", [moderate()])
        .role("background", [json!({"queries": ["tea"]})])
        .role("planner", [plan(&["a", "b", "c"])])
        .ask("How long?")
        .await;
    assert!(!run.read_by("planner").contains("<background>"));
    assert_eq!(run.result.output.research_outcome, ResearchOutcome::NothingFound);
    assert_eq!(run.result.outcome, Outcome::NoAnswer);
    assert!(run.errors().contains(&"SEARCH_UNAVAILABLE"));
}

/// DR-15 of `docs/systems/deep-research.md`: the sources.
#[tokio::test]
async fn without_pages_the_snippets_are_what_is_known() {
    let library = Library { is_unreadable: true, ..Library::tea() };
    let run = light(library).ask("How long do teas steep?").await;
    let output = &run.result.output;
    assert_eq!(run.result.outcome, Outcome::Answered);
    assert!(output.sources.iter().all(|source| source.content.is_empty()));
    assert_eq!(output.sources[0].error_reason.as_deref(), Some("the page is not there"));
    assert!(output.answer.contains("https://green.example/tea"));
    assert!(run.errors().iter().all(|code| *code == "CRAWL_FAILED"));
}

#[tokio::test]
async fn a_web_search_is_one_step_without_planner_and_reflector() {
    let input = ResearchRequest { query_mode: QueryMode::WebSearch, .."How long is green?".into() };
    let run = Scene::new(&json!({}))
        .role(
            "researcher",
            [json!({"queries": ["green"]}), json!({"observation": "Two minutes [1]."})],
        )
        .role("synthesiser", [report("Two minutes [1].")])
        .ask(input)
        .await;
    assert_eq!(run.roles(), ["researcher", "researcher", "synthesiser"]);
    assert_eq!(run.library.called(), ["search green", "read https://green.example/tea"]);
    assert_eq!(run.result.outcome, Outcome::Answered);
    let results = run.notes("tool_result");
    let preview = |place: usize| results[place]["result_preview"].as_str().unwrap();
    assert!(!preview(0).is_empty());
    let page = &run.result.output.sources[0].content;
    assert!(!page.is_empty() && page.starts_with(preview(1)), "{}", preview(1));
}

#[tokio::test]
async fn a_simple_question_is_one_request() {
    let input = ResearchRequest { query_mode: QueryMode::Simple, .."What is tea?".into() };
    let run = Scene::new(&json!({}))
        .role("responder", ["A drink, see https://tea.example."])
        .ask(input)
        .await;
    assert_eq!(run.result.output.answer, "A drink, see.");
    assert_eq!(run.roles(), ["responder"]);
}

#[tokio::test]
async fn a_report_without_the_model_lists_what_was_found() {
    let down = Fault::foreign(Category::ModelTransport, "model_unavailable", "the model is down");
    let scene = Scene::new(&json!({}))
        .role("coordinator", [json!({"is_simple_query": false, "complexity": "simple"})])
        .role("background", [json!({"queries": ["tea"]})])
        .role("planner", [plan(&["Green tea"])])
        .role("researcher", [json!({"queries": ["green"]}), json!({"observation": "Two [2]."})])
        .role("reflector", [decision("complete")])
        .role("synthesiser", [ScriptedReply::fault(down)]);
    let run = scene.ask("How long?").await;
    let output = &run.result.output;
    assert_eq!(output.research_outcome, ResearchOutcome::Degraded);
    assert_eq!((run.result.outcome, output.answer.as_str()), (Outcome::NoAnswer, ""));
    let report = &output.final_report;
    assert!(report.starts_with("No report was written. This is what the steps"), "{report}");
    assert!(report.contains("\n\n## Green tea\n\nTwo [About Green]("), "{report}");
    assert!(run.result.reason.unwrap().contains("the model is down"));
}

#[tokio::test]
async fn a_depth_that_is_asked_for_is_used() {
    let input = ResearchRequest { research_depth: ResearchDepth::Light, .."How long?".into() };
    let run = Scene::new(&json!({"background_investigation": false}))
        .role("coordinator", [json!({"is_simple_query": false, "complexity": "complex"})])
        .role("planner", [plan(&["Green tea"])])
        .role("researcher", [json!({"queries": ["green"]}), json!({"observation": "Two [1]."})])
        .role("reflector", [decision("complete")])
        .role("synthesiser", ["Two minutes [1]."])
        .ask(input)
        .await;
    assert_eq!(run.result.output.effective_depth, Depth::Light);
    assert!(run.result.output.answer.starts_with("Two minutes [About Green]"));
}
