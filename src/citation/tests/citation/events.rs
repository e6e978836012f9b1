//! What a watcher is told.

use antiphon_citation::{CitationQuery, SynthesisMode};
use serde_json::{Value as Json, json};

use crate::documented_events::DocumentedEvents;
use crate::scene::{HARVEST, REVENUE, STAFF, Scene, TEA};

/// A claim that is corrected, one whose number is wrong, and one that is taken apart.
fn corrected() -> Scene {
    let text = "Kenya harvested 570,000 tonnes of tea in 2023 {guild}. \
                Acme reported a profit of $999 million {Acme reported}. \
                Green tea steeps for two minutes and cures every headache of weary growers {guild}.";
    Scene::new(&[TEA, HARVEST, REVENUE])
        .settings(|it| it.revises = true)
        .writes(text)
        .verifies(|item| {
            let is_right = item.evidence[0].text == HARVEST;
            let partial = item.claim.starts_with("Green");
            json!(if is_right {
                "supported"
            } else if partial {
                "partial"
            } else {
                "unsupported"
            })
        })
        .judges(|item| json!(if item.claim.contains("minutes") { 1.0 } else { 0.2 }))
        .answers(|query| match query {
            CitationQuery::Decompose { claim, .. } if claim.starts_with("Green") => {
                json!({"facts": [
                    "Green tea steeps for two minutes.",
                    "Green tea cures every headache of weary growers.",
                ]})
            }
            _ => Json::Null,
        })
}

/// A writer who looks evidence up.
fn composed() -> Scene {
    Scene::new(&[TEA]).settings(|it| it.synthesis_mode = SynthesisMode::React).answers(|query| {
        match query {
            CitationQuery::Compose { calls, .. } if calls.is_empty() => {
                json!({"calls": [{"tool": "search_evidence", "query": "green tea"}]})
            }
            CitationQuery::Compose { .. } => {
                json!({"text": "<cite key=\"0\">Green tea steeps for two minutes.</cite>"})
            }
            _ => Json::Null,
        }
    })
}

/// Two passages that score alike, between which an arbiter decides.
fn arbitrated() -> Scene {
    let harvest = |year: u32| {
        format!("Kenya harvested tea on large estates in the highlands in {year}, says the guild.")
    };
    let (earlier, later) = (harvest(2019), harvest(2020));
    Scene::new(&[&earlier, &later])
        .settings(|it| it.asks_arbiter = true)
        .writes("In the highlands Kenya harvested tea on estates which growers own {in 2019}.")
        .verifies(|_| json!("partial"))
        .answers(|_| json!({"action": "keep", "number": null, "reasoning": "so"}))
}

#[test]
fn every_event_of_the_specification_happens() {
    let scenes =
        [corrected(), composed(), arbitrated(), Scene::new(&[STAFF]).writes_reply(|| Json::Null)];
    let events: Vec<_> = scenes.into_iter().flat_map(|scene| scene.run().events).collect();
    let page = include_str!("../../../../docs/systems/citation.md");
    let events = events.iter().map(|(name, data)| (name.as_str(), data));
    DocumentedEvents::of(page).check_all(events);
}
