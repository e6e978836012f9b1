//! What code makes of the reply of the synthesiser.

use antiphon_core::{Category, Fault, FinishReason};
use antiphon_models::ScriptedReply;
use antiphon_systems::Outcome;
use antiphon_systems::agentic_search::SearchOutcome;
use serde_json::json;
use std::sync::Arc;

use crate::scene::{FakeTool, Scene, ScriptedRun, answer, plan, says, task};

async fn worded_by(reply: impl Into<ScriptedReply>) -> ScriptedRun {
    let stories = says("stories", "12 <stories>");
    Scene::new(&json!({}))
        .tool(&stories)
        .planner([plan(&[task("stories", "upstream")])])
        .synthesiser([reply.into()])
        .ask("How many?")
        .await
}

/// AS-13 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn html_without_json_is_taken_to_its_matching_end() {
    for (reply, html) in [
        ("<div><div>a</div>b</div>", "<div><div>a</div>b</div>"),
        ("Here: <div><div>a</div>b</div> I hope it helps.", "<div><div>a</div>b</div>"),
        ("<h3>A</h3>\n<p>b</p>", "<h3>A</h3>\n<p>b</p>"),
        ("```html\n<p>a</p>\n```", "<p>a</p>"),
    ] {
        let run = worded_by(reply).await;
        assert_eq!(run.html(), html, "{reply}");
        assert_eq!(run.notes("synthesis_fallback"), [json!({"level": 2})]);
        assert_eq!(run.result.output.search_outcome, SearchOutcome::Answered);
        assert_eq!(run.spent(), (2, 1));
    }
}

#[tokio::test]
async fn html_in_a_reply_that_is_broken_is_an_answer() {
    let unescaped =
        "{\"response_content\": \"<p class=\"x\">12 \\\"stories\\\"</p>\", \"sources\": [1]}";
    let run = worded_by(unescaped).await;
    assert_eq!(run.html(), "<p>12 &quot;stories&quot;</p>");
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_shown_and_never_taken_for_a_whole_one() {
    for (cut, html) in [
        ("{\"response_content\": \"<p class=\\\"x\\\">a</p>\\n<p>b", "<p>a</p>\n<p>b</p>"),
        ("{\"response_content\": \"There are **12", "<p>There are **12</p>"),
        ("There are 12", "<p>There are 12</p>"),
    ] {
        let run = worded_by(ScriptedReply::text(cut).finish(FinishReason::Length)).await;
        assert_eq!(run.spent(), (2, 1));
        assert_eq!(run.result.outcome, Outcome::NoAnswer);
        assert_eq!(run.result.output.search_outcome, SearchOutcome::FallbackHtml);
        assert_eq!(run.result.output.answer, "");
        let lead =
            "<p><strong>The answer breaks off: the limit of tokens cut off its end.</strong></p>";
        assert_eq!(run.html(), format!("{lead}{html}"));
        assert_eq!(run.result.reason.as_deref(), Some("The limit of tokens cut off the answer."));
    }
}

/// AS-14 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_text_is_an_answer_and_no_reply_lists_what_was_found() {
    let run = worded_by("12 < many.").await;
    assert_eq!(run.html(), "<p>12 &lt; many.</p>");
    assert_eq!(run.result.output.answer, "12 \\< many.");
    assert_eq!(run.notes("synthesis_fallback"), [json!({"level": 3})]);

    let down = Fault::foreign(Category::ModelTransport, "model_unreachable", "it is down");
    let broken = "{\"reasoning\": \"because";
    for reply in [ScriptedReply::from(down), "".into(), broken.into(), "null".into()] {
        let run = worded_by(reply).await;
        assert_eq!(run.spent(), (2, 1));
        assert_eq!(run.result.outcome, Outcome::NoAnswer);
        assert_eq!(run.result.output.search_outcome, SearchOutcome::FallbackHtml);
        assert!(run.html().contains("<pre>12 &lt;stories&gt;</pre>"), "{}", run.html());
        assert!(run.html().contains("<h3>How many?</h3>"));
        assert_eq!(run.result.output.answer, "");
        assert!(run.result.output.gathered_information.summary.is_none());
        assert_eq!(run.result.state.conversation_history.len(), 1, "it is a turn");
    }
}

#[tokio::test]
async fn a_refused_key_is_the_error_of_the_search_and_is_sent_once() {
    let stories = says("stories", "12 <stories>");
    let refused = Fault::foreign(Category::Auth, "model_key_refused", "the key was refused");
    let run = Scene::new(&json!({})).tool(&stories).planner([refused]).ask("How many?").await;
    assert_eq!(run.result.outcome, Outcome::Error);
    assert_eq!(run.result.reason.as_deref(), Some("no request to a model succeeded"));
    assert_eq!(run.result.error.as_ref().unwrap().code, "model_key_refused");
    assert_eq!((run.model.requests().len(), run.result.output.answer.as_str()), (1, ""));
    assert!(run.html().contains("<pre>12 &lt;stories&gt;</pre>"), "{}", run.html());
}

/// AS-15 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn scripts_and_handlers_are_removed() {
    let evil = "<p onclick=\"steal()\">a<script>steal()</script></p>\
                <a href=\"javascript:steal()\">b</a><img src=\"https://spy.example/x\">";
    for reply in [ScriptedReply::from(answer(evil)), evil.into()] {
        let run = worded_by(reply).await;
        let html = run.html();
        assert!(!html.contains("steal") && !html.contains("spy"), "{html}");
        assert!(html.starts_with("<p>a</p>"), "{html}");
    }
}

/// AS-29 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn the_error_of_a_provider_is_never_an_answer() {
    let error = "<html><body>502 Bad Gateway</body></html>";
    let down = Fault::foreign(Category::ModelTransport, "model_server_error", error);
    let run = worded_by(down).await;
    assert!(!run.html().contains("Gateway"), "{}", run.html());
    assert_eq!(run.result.error.as_ref().unwrap().code, "model_server_error");
}

#[tokio::test]
async fn the_form_as_it_was_given_is_no_answer() {
    for (html, outcome) in [
        ("<p>&lt;the answer&gt;</p>", Outcome::NoAnswer),
        ("<p><the answer></p>", Outcome::NoAnswer),
        ("<p>the answer is 12</p>", Outcome::Answered),
    ] {
        let run = worded_by(answer(html)).await;
        assert!(
            run.request("synthesiser").messages[0]
                .content
                .to_string()
                .contains("<p>&lt;the answer&gt;</p>")
        );
        assert_eq!(run.result.outcome, outcome, "{html}");
        assert_eq!(run.spent(), (2, 1), "nothing is asked again");
        assert!(run.html().contains("12"), "the results are shown: {}", run.html());
    }
}

#[tokio::test]
async fn the_words_of_the_placeholder_may_be_the_answer() {
    let run = worded_by(answer("<p>the answer</p>")).await;
    assert_eq!(run.result.outcome, Outcome::Answered);
    assert!(run.html().contains("<p>the answer</p>"), "{}", run.html());
}

#[tokio::test]
async fn markdown_in_the_reply_becomes_html() {
    let run = worded_by(answer("There are **12**:\n\n- long\n- short")).await;
    assert!(run.html().contains("<strong>12</strong>"), "{}", run.html());
    assert_eq!(run.result.output.answer, "There are **12**:\n\n- long\n- short");
}

#[tokio::test]
async fn an_answer_names_its_sources_by_number() {
    let hits = json!({"results": [
        {"path": "tea.md", "anchor": "green", "title": "Tea", "passage": "Two minutes."},
        {"path": "coffee.md", "title": "Coffee", "passage": "Four minutes."},
    ], "documents": 2});
    let search = Arc::new(FakeTool::search("search", move |_| Ok(hits.clone())));
    let reply = |sources| json!({"reasoning": "", "response_content": "<p>Two minutes.</p>", "sources": sources});
    for (sources, named) in
        [(json!([1, 7]), vec!["tea.md#green"]), (json!([]), vec!["tea.md#green", "coffee.md"])]
    {
        let run = Scene::new(&json!({}))
            .tool(&search)
            .planner([plan(&[task("search", "tea")])])
            .synthesiser([reply(sources)])
            .ask("How long?")
            .await;
        let prompt = run.read_by("synthesiser");
        assert!(prompt.contains("[1] Tea, tea.md#green\nTwo minutes."), "{prompt}");
        assert!(prompt.contains("2 results, documents: 2"), "{prompt}");
        let found: Vec<_> = run.result.output.sources.iter().collect();
        let places: Vec<_> = found.iter().filter_map(|one| one.location.as_deref()).collect();
        assert_eq!(places, named);
        assert_eq!(found[0].excerpt, "Two minutes.");
        assert_eq!((found[0].number, found[0].task_number), (1, 1));
        assert_eq!(&*found[0].tool_name, "search");
    }
}

#[tokio::test]
async fn results_share_the_budget_and_say_what_is_missing() {
    let long = says("long", &"x".repeat(5_000));
    let short = says("short", "a short one");
    let settings = json!({"synthesis_chars": 1_000});
    let tasks = [task("long", "a"), task("short", "b")];
    let run = Scene::new(&settings)
        .tool(&long)
        .tool(&short)
        .planner([plan(&tasks)])
        .synthesiser([answer("<p>x</p>")])
        .ask("What?")
        .await;
    let prompt = run.read_by("synthesiser");
    assert!(prompt.contains("a short one"));
    assert!(prompt.contains(&"x".repeat(989)), "what the short one leaves is for the long one");
    assert!(prompt.contains("[4011 more characters]"), "{prompt}");
    let compact = Scene::new(&json!({"compact_synthesis": true}))
        .tool(&long)
        .tool(&short)
        .planner([plan(&tasks)])
        .synthesiser([answer("<p>x</p>")])
        .ask("What?")
        .await;
    let prompt = compact.read_by("synthesiser");
    assert!(prompt.contains("[4800 more characters]"), "{prompt}");
}
