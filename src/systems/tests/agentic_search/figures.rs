//! Numbers, units and dates of an answer, compared with the results.

use std::sync::Arc;

use antiphon_systems::Outcome;
use antiphon_systems::agentic_search::SearchOutcome;
use serde_json::{Value as Json, json};

use crate::scene::{FakeTool, Scene, ScriptedRun, answer, plan, says, task};

const PORT: &str = "The server listens on port 5432 since 3 May 2021, for 2 minutes at most.";

async fn worded(settings: &Json, html: &str) -> ScriptedRun {
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
        let run = worded(&json!({}), html).await;
        let output = &run.result.output;
        assert_eq!(run.spent(), (2, 1), "nothing is asked again");
        assert_eq!(run.result.outcome, Outcome::NoAnswer);
        assert_eq!(output.search_outcome, SearchOutcome::Unsupported);
        let told: Vec<&str> = output.unsupported.iter().map(String::as_str).collect();
        assert_eq!((&*output.answer, &*told), ("", differences));
        assert!(output.html.ends_with(html), "{}", output.html);
        assert!(output.html.contains("The results do not hold all that follows"));
        let message = format!("the answer is not supported: {}", differences.join("; "));
        assert_eq!(output.error_message.as_deref(), Some(&*message));
        assert_eq!(run.notes("answer_unsupported"), [json!({"differences": differences})]);
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
        let run = worded(&json!({}), html).await;
        assert_eq!(run.result.outcome, Outcome::Answered, "{:?}", run.result.output.unsupported);
        assert!(run.result.output.unsupported.is_empty());
    }
    let unchecked = worded(&json!({"check_figures": false}), "<p>27017</p>").await;
    assert_eq!(unchecked.result.output.answer, "27017");
}

/// AS-42 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn figures_that_follow_from_results_are_an_answer_and_say_from_which() {
    let asked = async |html: &str| {
        let found = |arguments: &Json| match arguments["query"].as_str() {
            Some("Rome") => Ok(json!("Rome has 12 servers.")),
            _ => Ok(json!("Oslo has 5.")),
        };
        Scene::new(&json!({}))
            .tool(&Arc::new(FakeTool::search("servers", found)))
            .planner([plan(&[task("servers", "Rome"), task("servers", "Oslo")])])
            .synthesiser([answer(html)])
            .ask("How many servers are there?")
            .await
    };
    for (html, stated, operation) in [
        ("<p>In all there are 17 servers [1, 2].</p>", "17", "sum"),
        ("<p>Rome has 12, which is 7 more than the 5 of Oslo.</p>", "7", "difference"),
        ("<p>Rome has 12.</p><p>That is 2.4 times as many.</p>", "2.4", "ratio"),
    ] {
        let run = asked(html).await;
        let output = &run.result.output;
        assert_eq!(run.result.outcome, Outcome::Answered, "{html}: {:?}", output.unsupported);
        let figures = json!([
            {"stated": stated, "operation": operation, "operands": ["12 servers", "5"]}
        ]);
        assert_eq!(json!(output.computed), figures);
        assert_eq!(run.notes("figures_computed"), [json!({"computed": figures})]);
    }
    for html in [
        "<p>Rome has 17.</p>",
        "<p>In all there are 71.</p>",
        "<p>In all there are 7.</p>",
        "<p>In all there are 17. Rome has 17.</p>",
        "<p>In all there are 20: 12, 5 and 3.</p>",
    ] {
        let run = asked(html).await;
        assert_eq!(run.result.output.search_outcome, SearchOutcome::Unsupported, "{html}");
    }
}

#[tokio::test]
async fn what_the_synthesiser_does_not_read_supports_nothing() {
    let long = format!("{} 5432", "words ".repeat(100));
    let run = Scene::new(&json!({"synthesis_chars": 100}))
        .tool(&Arc::new(FakeTool::search("pages", move |_| Ok(json!(long)))))
        .planner([plan(&[task("pages", "port")])])
        .synthesiser([answer("<p>5432</p>")])
        .ask("Which port?")
        .await;
    assert_eq!(run.result.output.search_outcome, SearchOutcome::Unsupported);
}
