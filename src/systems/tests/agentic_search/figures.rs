//! Numbers, units and dates of an answer, compared with the results.

use std::sync::Arc;

use antiphon_systems::Outcome;
use antiphon_systems::agentic_search::SearchOutcome;
use serde_json::{Value as Json, json};

use crate::scene::{FakeTool, Played, Scene, answer, plan, says, task};

const PORT: &str = "The server listens on port 5432 since 3 May 2021, for 2 minutes at most.";

async fn worded(settings: &Json, html: &str) -> Played {
    Scene::new(settings)
        .tool(&says("pages", PORT))
        .planner([plan(&[task("pages", "port 27017")])])
        .synthesiser([answer(html)])
        .ask("Which port has the server of 1999?")
        .await
}

/// AS-41 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn figures_that_no_result_holds_are_told_and_are_no_answer() {
    for (html, differences) in [
        ("<p>The port is 27017.</p>", &["the number `27017` is not in the result"][..]),
        (
            "<p>5432, since 4 May 2021, for 2 hours.</p>",
            &[
                "the date `4 May 2021` is not in the result",
                "the unit `hours` of `2` is not in the data or the question",
            ],
        ),
    ] {
        let played = worded(&json!({}), html).await;
        let output = &played.result.output;
        assert_eq!(played.spent(), (2, 1), "nothing is asked again");
        assert_eq!(played.result.outcome, Outcome::NoAnswer);
        assert_eq!(output.search_outcome, SearchOutcome::Unsupported);
        let told: Vec<&str> = output.unsupported.iter().map(String::as_str).collect();
        assert_eq!((&*output.answer, &*told), ("", differences));
        assert!(output.html.ends_with(html), "{}", output.html);
        assert!(output.html.contains("The results do not hold all that follows"));
        let message = format!("the answer is not supported: {}", differences.join("; "));
        assert_eq!(output.error_message.as_deref(), Some(&*message));
        assert_eq!(played.notes("answer_unsupported"), [json!({"differences": differences})]);
    }
}

#[tokio::test]
async fn figures_of_results_question_and_sources_are_an_answer() {
    for html in [
        "<p>Port 5432 [1], since May 2021 [1, 2]; you asked about 1999.</p>",
        "<p>There is 1 result: two minutes at most.</p>",
        "<ol><li>5432</li><li>since 2021</li></ol>",
        "<p>Nothing is said of it.</p>",
    ] {
        let played = worded(&json!({}), html).await;
        assert_eq!(
            played.result.outcome,
            Outcome::Answered,
            "{:?}",
            played.result.output.unsupported
        );
        assert!(played.result.output.unsupported.is_empty());
    }
    let unchecked = worded(&json!({"check_figures": false}), "<p>27017</p>").await;
    assert_eq!(unchecked.result.output.answer, "27017");
}

#[tokio::test]
async fn what_the_synthesiser_does_not_read_supports_nothing() {
    let long = format!("{} 5432", "words ".repeat(100));
    let played = Scene::new(&json!({"synthesis_chars": 100}))
        .tool(&Arc::new(FakeTool::search("pages", move |_| Ok(json!(long)))))
        .planner([plan(&[task("pages", "port")])])
        .synthesiser([answer("<p>5432</p>")])
        .ask("Which port?")
        .await;
    assert_eq!(played.result.output.search_outcome, SearchOutcome::Unsupported);
}
