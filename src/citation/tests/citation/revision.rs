//! Claims without support: taken apart, searched for, rewritten.

use antiphon_citation::{CitationQuery, RevisionKind, Verdict};
use serde_json::{Value as Json, json};

use crate::scene::{HARVEST, Scene, ScriptedRun, TEA};

const CLAIM: &str = "Green tea steeps for two minutes and cures every headache of weary growers";

fn scene(judge: impl Fn(&str) -> f64 + 'static) -> Scene {
    Scene::new(&[TEA, HARVEST])
        .settings(|it| {
            it.revises = true;
            it.corrects = false;
        })
        .writes(&format!("{CLAIM} {{Green tea}}."))
        .verifies(|_| json!("partial"))
        .judges(move |item| json!(judge(&item.claim)))
}

fn facts(query: &CitationQuery) -> Json {
    match query {
        CitationQuery::Decompose { .. } => json!({"facts": [
            "Green tea steeps for two minutes.",
            "Green tea cures every headache of weary growers.",
        ]}),
        _ => Json::Null,
    }
}

fn revision(run: &ScriptedRun) -> RevisionKind {
    run.result.claims[0].revision.as_ref().unwrap().kind
}

/// DR-27 of `docs/systems/deep-research.md`.
#[test]
fn a_claim_of_which_a_part_is_verified_says_so() {
    let known = |fact: &str| if fact.contains("minutes") { 1.0 } else { 0.2 };
    let run = scene(known).answers(facts).run();
    let expected = "Green tea steeps for two minutes [Sitea]. Reportedly, Green tea cures every headache of weary growers.";
    assert_eq!(run.result.report, expected);
    assert_eq!(revision(&run), RevisionKind::PartiallySoftened);
    assert_eq!(run.result.claims[0].verdict, Some(Verdict::Partial));
    let summary = &run.result.summary;
    assert_eq!((summary.atomic_facts_total, summary.atomic_facts_verified), (2, 1));
    run.assert_clean();
}

/// DR-27 of `docs/systems/deep-research.md`.
#[test]
fn a_sentence_of_the_model_is_taken_only_if_it_adds_nothing() {
    let known = |fact: &str| if fact.contains("minutes") { 1.0 } else { 0.2 };
    let revise = |sentence: &'static str| {
        let run = scene(known)
            .answers(move |query| match query {
                CitationQuery::Revise { .. } => json!({"sentence": sentence}),
                other => facts(other),
            })
            .run();
        run.assert_clean();
        run.result.report
    };
    let good = "Green tea steeps for two minutes and reportedly cures every headache of growers.";
    assert_eq!(revise(good), good.replace("growers.", "growers [Sitea]."));
    for bad in [
        "Green tea steeps for 7 minutes and may cure every headache.",
        "Green tea steeps for two minutes and may cure headaches, says Harvard.",
        "Green tea steeps for two minutes and cures every headache.",
        "Green tea steeps for two minutes and may cure headaches [Nature].",
        "Green tea steeps for two minutes and may cure every headache, as has been said again and again by very many people who grow it and drink it and sell it.",
        "",
    ] {
        assert!(revise(bad).contains("minutes [Sitea]. Reportedly, Green"), "{bad}");
    }
}

#[test]
fn a_claim_of_which_nothing_is_verified_loses_its_citation_and_says_so() {
    let run = scene(|_| 0.2).answers(facts).run();
    assert_eq!(run.result.report, format!("Reportedly, {CLAIM}."));
    assert_eq!(revision(&run), RevisionKind::FullySoftened);
    assert_eq!(run.result.claims[0].verdict, Some(Verdict::Unsupported));
    run.assert_clean();
}

#[test]
fn a_contradicted_fact_is_not_told() {
    let judge = |fact: &str| if fact.contains("minutes") { 1.0 } else { -1.0 };
    let run = scene(judge).settings(|it| it.searches_per_fact = 0).answers(facts).run();
    // The passage about steeping is no candidate for the other fact, so it is only uncertain.
    assert!(run.result.report.starts_with("Green tea steeps for two minutes [Sitea]."));
    run.assert_clean();
}

/// DR-31 of `docs/systems/deep-research.md`.
#[test]
fn a_claim_that_cannot_be_taken_apart_is_one_fact() {
    let run = scene(|_| 1.0).answers(|_| Json::Null).run();
    let facts = &run.events.iter().find(|(name, _)| name == "atomic_facts").unwrap().1["facts"];
    assert_eq!(facts, &json!([format!("{CLAIM}.")]));
}

#[test]
fn facts_that_add_something_are_not_taken() {
    let added = json!({"facts": ["Green tea cures cancer.", "Growers are 5 m tall."]});
    let run = scene(|_| 0.0)
        .answers(move |query| match query {
            CitationQuery::Decompose { .. } => added.clone(),
            _ => Json::Null,
        })
        .run();
    assert_eq!(run.result.summary.atomic_facts_total, 1);
}

/// DR-28 of `docs/systems/deep-research.md`.
#[test]
fn what_the_web_supports_is_cited_with_its_new_source() {
    let text =
        "Growers say that green tea cures every headache of weary growers, in 2023 and before.";
    let run = scene(|_| 1.0)
        .settings(|it| it.max_external_searches = 1)
        .answers(move |query| match query {
            CitationQuery::Search { .. } => json!({"pages": [
                {"url": "https://health.example/tea", "title": "Tea", "snippet": "…"},
            ]}),
            CitationQuery::Read { url, .. } => {
                json!({"url": url, "text": text, "origin": "fetched"})
            }
            other => facts(other),
        })
        .run();
    assert_eq!(run.result.report, format!("{CLAIM} [Sitea][Health]."));
    assert_eq!(revision(&run), RevisionKind::FullyVerified);
    let summary = &run.result.summary;
    assert_eq!((summary.external_searches, summary.new_sources_added), (1, 1));
    assert!(run.result.sources.last().unwrap().is_cited);
    run.assert_clean();
}

#[test]
fn a_search_that_fails_costs_nothing_but_certainty() {
    let run = scene(|_| 1.0).answers(facts).run();
    assert_eq!(revision(&run), RevisionKind::PartiallySoftened);
    assert!(run.names().contains(&"stage_failed"));
    run.assert_clean();
}
