//! Reports whose claims are verified.

use std::sync::Arc;
use std::time::Duration;

use antiphon_citation::Verdict;
use antiphon_models::ScriptedReply;
use antiphon_systems::Outcome;
use antiphon_systems::deep_research::{Config, QueryMode, ResearchOutcome, ResearchRequest};
use serde_json::json;

use crate::flow::light;
use crate::scene::{Library, Scene, report};

fn verified() -> ResearchRequest {
    ResearchRequest { verify_sources: Some(true), .."How long does green tea steep?".into() }
}

#[tokio::test]
async fn a_deep_research_verifies_each_claim_of_its_report() {
    let supported =
        json!({"verdicts": [{"number": 0, "reasoning": "so it is", "verdict": "supported"}]});
    let run = light(Library::tea())
        .role("reporter", [json!({"report": "Green tea steeps for two minutes [0]."})])
        .always("verifier", ScriptedReply::json(&supported))
        .always("quick_verifier", ScriptedReply::json(&supported))
        .ask(verified())
        .await;
    let output = &run.result.output;
    assert_eq!(run.result.outcome, Outcome::Answered, "{:?}", output.errors);
    assert!(
        output.answer.starts_with("Green tea steeps for two minutes [Green]"),
        "{}",
        output.answer
    );
    assert_eq!(output.claims[0].verdict, Some(Verdict::Supported));
    assert!(output.audit.as_ref().unwrap().is_clean());
    assert_eq!(output.verification_summary.as_ref().unwrap().verdicts.supported, 1);
    assert!(output.sources.iter().any(|source| source.is_cited));
    assert!(!run.roles().contains(&"synthesiser".to_owned()));
}

#[tokio::test]
async fn without_a_reporter_the_evidence_is_the_report_and_says_so() {
    let run = light(Library::tea()).ask(verified()).await;
    let output = &run.result.output;
    assert_eq!(output.research_outcome, ResearchOutcome::Degraded);
    assert_eq!((run.result.outcome, output.answer.as_str()), (Outcome::NoAnswer, ""));
    assert!(output.final_report.contains("[Black]"), "{}", output.final_report);
    assert!(output.claims.is_empty() && output.verification_summary.is_none());
}

#[tokio::test]
async fn a_report_whose_verification_takes_too_long_is_delivered_without_verdicts() {
    let late = ScriptedReply::text("late").after(Duration::from_secs(400));
    let run = light(Library::tea())
        .role("reporter", [json!({"report": "Green tea steeps for two minutes [0]."})])
        .always("verifier", late.clone())
        .always("quick_verifier", late)
        .ask(verified())
        .await;
    let output = &run.result.output;
    assert_eq!(output.research_outcome, ResearchOutcome::TimeoutPartial);
    assert_eq!((run.result.outcome, output.answer.as_str()), (Outcome::Budget, ""));
    assert!(!output.final_report.is_empty());
    assert!(output.claims.is_empty() && output.verification_summary.is_none());
    assert!(run.seconds() < 300.0, "{}", run.seconds());
}

/// A research within some seconds whose claims are verified.
fn verified_within(limit: f64) -> Scene {
    let mut scene = light(Library::tea());
    scene.config = Config::from_json(&json!({"research_timeout_s": limit})).unwrap();
    scene.role("reporter", [json!({"report": "Green tea steeps for two minutes [0]."})])
}

/// DR-14 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_verified_research_ends_within_any_limit() {
    for (limit, role) in [
        (0.5, "verifier"),
        (4.0, "verifier"),
        (14.0, "verifier"),
        (60.0, "verifier"),
        (14.0, "passage_extractor"),
    ] {
        let late = ScriptedReply::text("late").after(Duration::from_secs(400));
        let run = verified_within(limit)
            .always(role, late.clone())
            .always("quick_verifier", late)
            .ask(verified())
            .await;
        let output = &run.result.output;
        assert_eq!(output.research_outcome, ResearchOutcome::TimeoutPartial, "{limit} {role}");
        assert_eq!((run.result.outcome, output.answer.as_str()), (Outcome::Budget, ""));
        let begins = if role == "verifier" {
            "Green tea steeps for two minutes"
        } else {
            "No report was written. "
        };
        assert!(output.final_report.starts_with(begins), "{role}: {}", output.final_report);
        assert!(output.claims.is_empty() && output.verification_summary.is_none());
        assert_eq!(run.errors().last(), Some(&"RESEARCH_TIMEOUT"));
        assert!(run.seconds() < limit, "{limit}: {}", run.seconds());
    }
}

/// DR-13 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_web_search_is_answered_directly_when_its_verification_takes_too_long() {
    let late = ScriptedReply::text("late").after(Duration::from_secs(5));
    let run = Scene::new(&json!({"web_search_timeout_s": 1.5}))
        .role("researcher", [json!({"queries": ["green"]}), json!({"observation": "Two [1]."})])
        .role("reporter", [json!({"report": "Green tea steeps for two minutes [0]."})])
        .always("verifier", late.clone())
        .always("quick_verifier", late)
        .role("responder", [json!({"response": "About two minutes [1]."})])
        .ask(ResearchRequest { query_mode: QueryMode::WebSearch, ..verified() })
        .await;
    let output = &run.result.output;
    assert_eq!(output.research_outcome, ResearchOutcome::FallbackSimple);
    assert!(output.answer.contains("https://green.example/tea"), "{}", output.answer);
    assert!(output.claims.is_empty() && output.verification_summary.is_none());
    assert!(run.errors().contains(&"WEB_SEARCH_TIMEOUT"));
    assert!((run.seconds() - 1.5).abs() < 0.1, "{}", run.seconds());
}

/// DR-31 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_claim_that_takes_too_long_to_be_taken_apart_is_one_fact() {
    let claim = "Green tea steeps for two minutes at 80 degrees in every house of the land.";
    let late = ScriptedReply::text("late").after(Duration::from_secs(400));
    let partial =
        json!({"verdicts": [{"number": 0, "reasoning": "in part", "verdict": "partial"}]});
    let mut scene = light(Library::tea());
    scene.config.citation.insert("revises".to_owned(), json!(true));
    let run = scene
        .role("reporter", [report(&claim.replace("land.", "land [0]."))])
        .always("verifier", ScriptedReply::json(&partial))
        .always("quick_verifier", ScriptedReply::json(&partial))
        .always("claim_splitter", late)
        .ask(verified())
        .await;
    assert_eq!(run.notes("atomic_facts")[0]["facts"], json!([claim]));
    assert_eq!(run.result.outcome, Outcome::NoAnswer, "that fact is not confirmed");
    assert!(run.result.error.is_none());
    assert!((run.seconds() - 10.0).abs() < 0.1, "{}", run.seconds());
}

#[tokio::test]
async fn a_small_model_has_more_time_to_take_a_claim_apart() {
    let facts =
        ["Green tea steeps for two minutes at 80 degrees.", "Each house of the land does so."];
    let claim = "Green tea steeps for two minutes at 80 degrees in every house of the land.";
    let partial =
        json!({"verdicts": [{"number": 0, "reasoning": "in part", "verdict": "partial"}]});
    let splits = ScriptedReply::json(&json!({ "facts": facts })).after(Duration::from_secs(30));
    let mut scene = light(Library::tea());
    scene.model_name = "local:qwen-1.5b";
    scene.config.citation.insert("revises".to_owned(), json!(true));
    let run = scene
        .role("reporter", [report(&claim.replace("land.", "land [0]."))])
        .always("verifier", ScriptedReply::json(&partial))
        .always("quick_verifier", ScriptedReply::json(&partial))
        .always("claim_splitter", splits)
        .ask(verified())
        .await;
    assert!(run.seconds() > 29.0, "{}", run.seconds());
    assert_ne!(run.notes("atomic_facts")[0]["facts"], json!([claim]));
}

#[tokio::test]
async fn a_small_model_reads_only_what_bears_on_the_question_unless_nothing_does() {
    let green = "Green tea steeps for two minutes at 80 degrees.";
    let house = "A greenhouse has 80 degrees.";
    let hut = "The hut of the guild, with its evergreens, was painted by Ada Fry.";
    for (name, page, reads_all) in [
        ("local:qwen-1.5b", green, false),
        ("gpt-large", green, true),
        ("local:qwen-1.5b", house, true),
    ] {
        let library = [("https://a.example/hut", hut), ("https://b.example/page", page)];
        let mut scene = light(Library::of(&library));
        scene.model_name = name;
        let run = scene.ask(verified()).await;
        let read = run.requests("researcher")[1].messages.last().unwrap().content.to_string();
        assert!(read.contains("80 degrees"), "{name}, {page}: {read}");
        assert_eq!(read.contains("Ada Fry"), reads_all, "{name}, {page}: {read}");
    }
}

/// A claim that is weak, so that it is taken apart and searched for.
fn weak_claim(mut scene: Scene) -> Scene {
    let unsupported =
        json!({"verdicts": [{"number": 0, "reasoning": "not so", "verdict": "unsupported"}]});
    scene.config.citation.insert("revises".to_owned(), json!(true));
    scene
        .role("reporter", [report("Green tea steeps for an age [0].")])
        .always("verifier", ScriptedReply::json(&unsupported))
        .always("quick_verifier", ScriptedReply::json(&unsupported))
}

#[tokio::test]
async fn a_search_for_a_fact_has_less_time_than_one_of_a_step() {
    for (delay, has_failed) in [(9, false), (12, true)] {
        let delay = Duration::from_secs(delay);
        let library = Library { search_delay: delay, ..Library::tea() };
        let run = weak_claim(light(library)).ask(verified()).await;
        assert_eq!(run.result.outcome, Outcome::NoAnswer, "its one claim is not confirmed");
        let stages = run.notes("stage_failed");
        let failed = stages.iter().any(|it| it["stage"] == "search");
        assert_eq!(failed, has_failed, "{stages:?}");
        assert_eq!(run.notes("verification_summary")[0]["external_searches"], 1);
    }
}

#[tokio::test]
async fn a_fact_is_searched_with_the_next_tool_only_if_the_one_before_finds_nothing() {
    let fact = "search Green tea steeps for an age.";
    let asked = |library: &Library| library.called().iter().filter(|it| *it == fact).count();
    let page = ("https://age.example/", "An age of kettles.");
    for (first, calls) in [(Library::of(&[]), [1, 1]), (Library::of(&[page]), [1, 0])] {
        let mut scene = weak_claim(light(first));
        let second = Arc::new(Library::tea());
        scene.second = Some(Arc::clone(&second));
        let run = scene.ask(verified()).await;
        assert_eq!(run.result.outcome, Outcome::NoAnswer, "{:?}", run.result.output.errors);
        assert_eq!([asked(&run.library), asked(&second)], calls);
    }
}

#[tokio::test]
async fn a_page_with_two_addresses_is_read_once_for_a_fact() {
    let mut library = Library::tea();
    for url in ["https://age.example/kettles", "https://age.example/kettles/?utm_source=x"] {
        library.pages.insert(url.to_owned(), "An age of kettles lasts.".to_owned());
    }
    let run = weak_claim(light(library)).ask(verified()).await;
    let reads = run.library.called();
    let reads: Vec<_> = reads.iter().filter(|it| it.starts_with("read https://age")).collect();
    assert_eq!(reads, ["read https://age.example/kettles"]);
    let sources = &run.result.output.sources;
    assert_eq!(sources.iter().filter(|it| it.url.contains("age.example")).count(), 1);
}

#[tokio::test]
async fn some_claims_are_verified_at_once_and_others_wait() {
    let claims: Vec<String> = (1..=20)
        .map(|number| format!("Green tea steeps for two minutes, says note {number} [0]."))
        .collect();
    let slow = ScriptedReply::json(&json!({"verdicts": [{
        "number": 0, "reasoning": "so it is", "verdict": "supported",
    }]}));
    let slow = slow.after(Duration::from_secs(10));
    for (limit, seconds) in [(8, 30.0), (32, 10.0)] {
        let mut scene = light(Library::tea());
        scene.config.citation.insert("max_parallel_requests".to_owned(), json!(limit));
        scene.config.citation.insert("corrects".to_owned(), json!(false));
        let run = scene
            .role("reporter", [report(&claims.join(" "))])
            .always("verifier", slow.clone())
            .always("quick_verifier", slow.clone())
            .ask(verified())
            .await;
        assert_eq!(run.requests("verifier").len() + run.requests("quick_verifier").len(), 20);
        assert!((run.seconds() - seconds).abs() < 0.5, "{limit}: {}", run.seconds());
    }
}

#[tokio::test]
async fn claims_that_wait_have_no_time_of_their_own() {
    let claims: Vec<String> = (1..=60)
        .map(|number| format!("Green tea steeps for two minutes, says note {number} [0]."))
        .collect();
    let verdict = json!({"number": 0, "reasoning": "so it is", "verdict": "supported"});
    let slow = ScriptedReply::json(&json!({"verdicts": [verdict]})).after(Duration::from_secs(4));
    let mut scene = light(Library::tea());
    scene.config = Config::from_json(&json!({"research_timeout_s": 10})).unwrap();
    scene.config.citation.insert("max_parallel_requests".to_owned(), json!(8));
    let run = scene
        .role("reporter", [report(&claims.join(" "))])
        .always("verifier", slow.clone())
        .always("quick_verifier", slow)
        .ask(verified())
        .await;
    assert!(run.seconds() < 10.0, "{}", run.seconds());
    let output = &run.result.output;
    assert_eq!(output.research_outcome, ResearchOutcome::TimeoutPartial);
    assert_eq!(output.warnings, ["the claims of the report were not verified"]);
    assert!(output.audit.is_some() && output.claims.is_empty());
}

#[tokio::test]
async fn the_time_out_of_a_role_holds_while_claims_are_verified() {
    let late = ScriptedReply::text("late").after(Duration::from_secs(400));
    let mut scene = light(Library::tea());
    scene.timeout = Some(("verifier", Duration::from_secs(7)));
    scene.config.citation.insert("corrects".to_owned(), json!(false));
    let run = scene
        .role("reporter", [report("Green tea may steep for two minutes [0].")])
        .always("verifier", late)
        .ask(verified())
        .await;
    // Asked twice, then left open.
    assert!((run.seconds() - 14.0).abs() < 0.1, "{}", run.seconds());
    assert_eq!(run.result.outcome, Outcome::Answered, "{:?}", run.result.output.errors);
    assert!(run.result.output.claims[0].is_abstained);
}

#[test]
fn verification_is_the_default_of_a_deep_research_only() {
    assert!(ResearchRequest::default().verifies());
    let query_mode = QueryMode::WebSearch;
    let web = ResearchRequest { query_mode, ..ResearchRequest::default() };
    assert!(!web.verifies());
}
