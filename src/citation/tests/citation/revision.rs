//! Claims without support: taken apart, searched for, rewritten.

use antiphon_citation::{CitationQuery, RevisionKind, Verdict};
use serde_json::{Value as Json, json};

use crate::scene::{HARVEST, Played, Scene, TEA};

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

fn revision(played: &Played) -> RevisionKind {
    played.result.claims[0].revision.as_ref().unwrap().kind
}

/// DR-27 of `docs/systems/deep-research.md`.
#[test]
fn a_claim_of_which_a_part_is_verified_says_so() {
    let known = |fact: &str| if fact.contains("minutes") { 1.0 } else { 0.2 };
    let played = scene(known).answers(facts).play();
    let expected = "Green tea steeps for two minutes [Sitea]. Reportedly, Green tea cures every headache of weary growers.";
    assert_eq!(played.result.report, expected);
    assert_eq!(revision(&played), RevisionKind::PartiallySoftened);
    assert_eq!(played.result.claims[0].verdict, Some(Verdict::Partial));
    let summary = &played.result.summary;
    assert_eq!((summary.atomic_facts_total, summary.atomic_facts_verified), (2, 1));
    played.assert_clean();
}

/// DR-27 of `docs/systems/deep-research.md`.
#[test]
fn a_sentence_of_the_model_is_taken_only_if_it_adds_nothing() {
    let known = |fact: &str| if fact.contains("minutes") { 1.0 } else { 0.2 };
    let play = |sentence: &'static str| {
        let played = scene(known)
            .answers(move |query| match query {
                CitationQuery::Revise { .. } => json!({"sentence": sentence}),
                other => facts(other),
            })
            .play();
        played.assert_clean();
        played.result.report
    };
    let good = "Green tea steeps for two minutes and reportedly cures every headache of growers.";
    assert_eq!(play(good), good.replace("growers.", "growers [Sitea]."));
    for bad in [
        "Green tea steeps for 7 minutes and may cure every headache.",
        "Green tea steeps for two minutes and may cure headaches, says Harvard.",
        "Green tea steeps for two minutes and cures every headache.",
        "Green tea steeps for two minutes and may cure headaches [Nature].",
        "Green tea steeps for two minutes and may cure every headache, as has been said again and again by very many people who grow it and drink it and sell it.",
        "",
    ] {
        assert!(play(bad).contains("minutes [Sitea]. Reportedly, Green"), "{bad}");
    }
}

#[test]
fn a_claim_of_which_nothing_is_verified_loses_its_citation_and_says_so() {
    let played = scene(|_| 0.2).answers(facts).play();
    assert_eq!(played.result.report, format!("Reportedly, {CLAIM}."));
    assert_eq!(revision(&played), RevisionKind::FullySoftened);
    assert_eq!(played.result.claims[0].verdict, Some(Verdict::Unsupported));
    played.assert_clean();
}

#[test]
fn a_contradicted_fact_is_not_told() {
    let judge = |fact: &str| if fact.contains("minutes") { 1.0 } else { -1.0 };
    let played = scene(judge).settings(|it| it.searches_per_fact = 0).answers(facts).play();
    // The passage about steeping is no candidate for the other fact, so it is only uncertain.
    assert!(played.result.report.starts_with("Green tea steeps for two minutes [Sitea]."));
    played.assert_clean();
}

/// DR-31 of `docs/systems/deep-research.md`.
#[test]
fn a_claim_that_cannot_be_taken_apart_is_one_fact() {
    let played = scene(|_| 1.0).answers(|_| Json::Null).play();
    let facts = &played.events.iter().find(|(name, _)| name == "atomic_facts").unwrap().1["facts"];
    assert_eq!(facts, &json!([format!("{CLAIM}.")]));
}

#[test]
fn facts_that_add_something_are_not_taken() {
    let added = json!({"facts": ["Green tea cures cancer.", "Growers are 5 m tall."]});
    let played = scene(|_| 0.0)
        .answers(move |query| match query {
            CitationQuery::Decompose { .. } => added.clone(),
            _ => Json::Null,
        })
        .play();
    assert_eq!(played.result.summary.atomic_facts_total, 1);
}

/// DR-28 of `docs/systems/deep-research.md`.
#[test]
fn what_the_web_supports_is_cited_with_its_new_source() {
    let text =
        "Growers say that green tea cures every headache of weary growers, in 2023 and before.";
    let played = scene(|_| 1.0)
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
        .play();
    assert_eq!(played.result.report, format!("{CLAIM} [Sitea][Health]."));
    assert_eq!(revision(&played), RevisionKind::FullyVerified);
    let summary = &played.result.summary;
    assert_eq!((summary.external_searches, summary.new_sources_added), (1, 1));
    assert!(played.result.sources.last().unwrap().is_cited);
    played.assert_clean();
}

#[test]
fn a_search_that_fails_costs_nothing_but_certainty() {
    let played = scene(|_| 1.0).answers(facts).play();
    assert_eq!(revision(&played), RevisionKind::PartiallySoftened);
    assert!(played.names().contains(&"stage_failed"));
    played.assert_clean();
}
