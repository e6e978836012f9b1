//! The numbers of sections are no values.

use std::sync::Arc;

use antiphon_systems::Outcome;
use serde_json::{Value as Json, json};

use crate::scene::{FakeTool, Scene, ScriptedRun, answer, plan, task};

async fn asked(results: Json, html: &str) -> ScriptedRun {
    let tool = FakeTool::search("pages", move |_| Ok(json!({"results": results})));
    Scene::new(&json!({}))
        .tool(&Arc::new(tool))
        .planner([plan(&[task("pages", "cost")])])
        .synthesiser([answer(html)])
        .ask("What is the default cost?")
        .await
}

fn manual() -> Json {
    json!([
        {
            "path": "query.html", "title": "20.7. Query Planning",
            "heading": "20.7. Query Planning › 20.7.2. Costs › page_cost",
            "passage": "page_cost\n\nThe default is 4.0.",
        },
        {
            "path": "memory.html", "title": "20.4. Memory", "heading": "20.4. Memory",
            "passage": "20.4. Memory\n\nVersion 20.4 needs less.",
        },
    ])
}

/// AS-43 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn the_number_of_a_section_is_neither_read_nor_an_answer() {
    let run = asked(manual(), "<p>The default is 4.0.</p>").await;
    let read = run.read_by("synthesiser");
    assert!(!read.contains("20.7"), "{read}");
    for shown in [
        "[1] Query Planning, query.html",
        "heading: Query Planning › Costs › page_cost",
        "[2] Memory, memory.html",
        "\nMemory\n\nVersion 20.4 needs less.",
    ] {
        assert!(read.contains(shown), "{shown}: {read}");
    }
    assert_eq!(run.result.outcome, Outcome::Answered);
    let source = &run.result.output.sources[0];
    assert_eq!(source.title.as_deref(), Some("20.7. Query Planning"), "a reader sees it");
    assert!(source.excerpt.contains("20.7.2. Costs"), "{}", source.excerpt);

    let wrong = asked(manual(), "<p>The default is 20.7.</p>").await;
    assert_eq!(wrong.result.outcome, Outcome::NoAnswer);
    assert_eq!(wrong.spent(), (2, 1), "nothing is asked again");
}

#[tokio::test]
async fn a_number_that_no_heading_shows_to_be_one_of_a_section_stays() {
    let passage = |title: &str, heading: &str, text: &str| json!([{"title": title, "heading": heading, "text": text, "url": "https://a.example"}]);
    for (results, kept) in [
        (passage("24.12. Market", "Feasts › 24.12. Market", "It opens."), "24.12. Market"),
        (passage("2.5 GB", "Plans › 2.5 GB", "It costs little."), "2.5 GB"),
        (passage("1.2. Costs", "1.2. Costs › More", "3.4. is one"), "1.2. Costs"),
        (passage("Costs", "1.2. Costs › 1.2.1. More", "3.4. is no section"), "3.4. is no section"),
        (passage("Costs", "1.2. Costs › 1.2.1. More", "1.2. 5 or 6"), "1.2. 5 or 6"),
        (json!([{"title": "1.2. Costs", "text": "1.2. Costs"}]), "1.2. Costs"),
    ] {
        let run = asked(results, "<p>It is said there.</p>").await;
        let read = run.read_by("synthesiser");
        assert!(read.contains(kept), "{kept}: {read}");
    }
}
