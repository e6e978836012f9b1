//! Steps in which the model decides what to search and read.

use antiphon_models::ScriptedReply;
use serde_json::{Value as Json, json};

use crate::scene::{
    Library, Scene, ScriptedRun, crawl, decision, moderate, observed, plan, report, search,
};

/// Pages about tea, all good, or all short.
fn pages(count: usize, is_good: bool) -> Library {
    let text = "Tea steeps for some minutes in hot water, says this page. ";
    let text = if is_good { text.repeat(30) } else { text.to_owned() };
    let urls: Vec<String> =
        (0..count).map(|number| format!("https://p{number:02}.example/")).collect();
    let pages: Vec<(&str, &str)> = urls.iter().map(|url| (url.as_str(), text.as_str())).collect();
    Library::of(&pages)
}

async fn research(library: Library, replies: Vec<Json>) -> ScriptedRun {
    let replies = replies.into_iter().map(ScriptedReply::from);
    Scene::with(&json!({"background_investigation": false}), library)
        .role("coordinator", [moderate()])
        .role("planner", [plan(&["Tea", "Water", "Time"])])
        .role("researcher", replies)
        .role("reflector", [decision("complete")])
        .role("synthesiser", [report("Two minutes [1].")])
        .ask("How long does tea steep?")
        .await
}

fn reads(run: &ScriptedRun) -> usize {
    run.library.called().iter().filter(|call| call.starts_with("read")).count()
}

/// DR-10 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn no_call_is_made_beyond_the_budget() {
    let all: Vec<usize> = (1..=10).collect();
    let replies = vec![
        json!({"calls": [
            {"tool": "web_search", "query": "tea", "count": 10},
            {"tool": "web_search", "query": "tea water"},
        ]}),
        crawl(&[&all[..], &[1, 2, 3, 4, 5]].concat()),
        observed("Minutes."),
    ];
    let run = research(pages(20, false), replies).await;
    let completed = &run.notes("step_completed")[0];
    assert_eq!(completed["failed"], false);
    assert_eq!(reads(&run), 10, "two searches and ten pages");
    assert_eq!(run.notes("research_stopped")[0], json!({"reason": "budget", "calls": 12}));
    assert!(run.result.output.observations[0].text.starts_with("Minutes."));
    let asked = run.requests("researcher")[2].messages.last().unwrap().content.to_string();
    assert!(asked.contains("No call is left."), "{asked}");
}

/// DR-11 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn an_unknown_source_is_an_error_that_the_model_reads() {
    let replies = vec![search("tea"), crawl(&[99]), crawl(&[1]), observed("Minutes.")];
    let run = research(pages(2, true), replies).await;
    assert_eq!(reads(&run), 1);
    let asked = run.requests("researcher")[2].messages.last().unwrap().content.to_string();
    assert!(asked.contains("error: there is no source 99"), "{asked}");
    assert!(asked.contains("10 calls are left"), "it counts: {asked}");
}

/// DR-12 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_step_with_good_sources_stops_once_calls_bring_nothing() {
    let useless: Vec<Json> = (0..5).map(|number| search(&format!("nothing{number}"))).collect();
    let mut replies = vec![search("tea"), crawl(&[1, 2, 3])];
    replies.extend(useless);
    replies.push(observed("Minutes."));
    let run = research(pages(3, true), replies).await;
    let stopped = &run.notes("research_stopped")[0];
    assert_eq!(*stopped, json!({"reason": "enough_sources", "calls": 9}));
}

#[tokio::test]
async fn what_was_searched_and_read_before_costs_nothing() {
    let replies = vec![
        search("tea"),
        json!({"calls": [
            {"tool": "web_search", "query": " TEA "},
            {"tool": "web_crawl", "index": 1},
        ]}),
        crawl(&[1]),
        observed("Minutes."),
    ];
    let run = research(pages(2, true), replies).await;
    assert_eq!(reads(&run), 1);
    let asked = run.requests("researcher")[3].messages.last().unwrap().content.to_string();
    assert!(asked.contains("10 calls are left"), "{asked}");
    assert!(asked.contains("read 1: was read before"), "{asked}");
}

#[tokio::test]
async fn a_few_words_are_no_observation_and_the_sources_speak() {
    let replies = vec![search("tea"), crawl(&[1]), json!({"observation": "Done."})];
    let run = research(pages(1, true), replies).await;
    let text = &run.result.output.observations[0].text;
    assert!(text.contains("[1]: Tea steeps for some minutes"), "{text}");
}

#[tokio::test]
async fn a_model_that_repeats_itself_for_ever_is_stopped() {
    let mut replies = vec![search("tea")];
    replies.extend((0..40).map(|_| search("tea")));
    let run = research(pages(1, true), replies).await;
    let steps = run.notes("step_completed");
    assert_eq!(steps[0]["failed"], false);
    assert_eq!(run.library.called(), ["search tea"]);
}
