//! Reports in a caller's form: texts, numbers and addresses that no source supports are not in them.

use antiphon_citation::{CitationQuery, CitedSource, Verdict};
use serde_json::{Value as Json, json};

use crate::scene::{HARVEST, Played, REVENUE, Scene, TEA};

/// Plays a report of this value; sources have the numbers 1 for [`TEA`] and 2 for [`HARVEST`].
fn play(value: &Json) -> (Played, Json) {
    play_with(value, |_| json!("supported"))
}

fn play_with(value: &Json, verify: fn(&str) -> Json) -> (Played, Json) {
    let value = value.clone();
    let mut scene = Scene::new(&[TEA, HARVEST]).writes_reply(move || value.clone());
    scene.input.output = Some(json!({"type": "object"}));
    let played = scene.verifies(move |item| verify(&item.claim)).play();
    let number = |source: &CitedSource| {
        played.result.sources.iter().position(|it| it.url == source.url).map(|place| place + 1)
    };
    let left = played.run.value(&number).unwrap();
    played.assert_clean();
    (played, left)
}

/// DR-33 of `docs/systems/deep-research.md`.
#[test]
fn a_wrong_reference_of_a_field_is_corrected() {
    let text = "Kenya harvested 570,000 tonnes of tea in 2023.";
    let (played, left) =
        play_with(&json!({"harvest": text, "harvest_source_refs": ["1"], "is_good": true}), |_| {
            json!("unsupported")
        });
    assert_eq!(left["harvest_source_refs"], json!([]), "the verifier supports nothing");
    assert!(played.result.report.starts_with("## Harvest\n\n"), "{}", played.result.report);

    let value = json!({"harvest": text, "harvest_source_refs": ["1"], "is_good": true});
    let mut scene = Scene::new(&[TEA, HARVEST]).writes_reply(move || value.clone());
    scene.input.output = Some(json!({}));
    let played = scene
        .verifies(|item| {
            json!(if item.evidence[0].text == HARVEST { "supported" } else { "unsupported" })
        })
        .play();
    let left = played.run.value(&|source| Some(if source.text == HARVEST { 2 } else { 1 }));
    let right = json!({"harvest": text, "harvest_source_refs": ["2"], "is_good": true});
    assert_eq!(left, Some(right));
    assert_eq!(played.result.summary.citation_corrections, 1);
    assert_eq!(played.claim("Kenya").verdict, Some(Verdict::Supported));
    played.assert_clean();
}

#[test]
fn what_no_source_supports_is_not_in_the_value() {
    let statement = |text: &str, refs: &[usize]| json!({"text": text, "source_refs": refs});
    let (played, left) = play(&json!({
        "name": "Tea",
        "minutes": 2,
        "harvest_tonnes": 570_000,
        "price_usd": 9,
        "page": "https://sitea.example/0",
        "other_page": "https://fake.example/",
        "summary": "Green tea steeps for two minutes [1]. It costs $9 in Kenya.",
        "findings": [
            statement("Green tea steeps for two minutes at 80 °C.", &[1, 2, 7]),
            statement("Kenya harvested 570,000 tonnes of tea in 2023.", &[9]),
        ],
        "notes": ["hot", "green"],
        "source_refs": [1, 2],
    }));
    assert_eq!(left["name"], json!("Tea"));
    assert_eq!((&left["harvest_tonnes"], &left["price_usd"]), (&json!(570_000), &Json::Null));
    assert_eq!(
        (&left["page"], &left["other_page"]),
        (&json!("https://sitea.example/0"), &json!(""))
    );
    let summary =
        "Green tea steeps for two minutes. It costs $9 in Kenya (not confirmed by the sources).";
    assert_eq!(left["summary"], json!(summary), "{}", played.result.report);
    assert_eq!(left["findings"][0], statement("Green tea steeps for two minutes at 80 °C.", &[1]));
    assert_eq!(left["findings"][1]["source_refs"], json!([2]), "{}", played.result.report);
    assert_eq!(left["notes"], json!(["hot", "green"]));
}

#[test]
fn a_contradicted_element_goes_with_its_object() {
    let finding = |name: &str, text: &str| json!({"name": name, "text": text, "source_refs": "1"});
    let steeps = "Green tea steeps for two minutes.";
    let (_, left) = play_with(
        &json!({"findings": [finding("Growers", "The guild of growers hates tea."), finding("Time", steeps)],
                "bullets": ["The guild of growers hates green tea.", steeps], "bullets_source_refs": ["1"]}),
        |claim| json!(if claim.contains("hates") { "contradicted" } else { "supported" }),
    );
    assert_eq!(left["findings"], json!([finding("Time", steeps)]));
    assert_eq!((&left["bullets"], &left["bullets_source_refs"]), (&json!([steeps]), &json!(["1"])));
}

#[test]
fn a_short_text_says_what_it_is_about_and_a_number_has_its_unit() {
    let company = json!({"name": "Acme", "revenue": "$3.19 billion in 2023", "profit_usd": 410_000_000,
        "revenue_source_refs": [1], "profit_usd_source_refs": [1]});
    let value = json!({"companies": [company]});
    let given = value.clone();
    let mut scene = Scene::new(&[REVENUE]).writes_reply(move || given.clone());
    scene.input.output = Some(json!({}));
    let played = scene.play();
    let report = &played.result.report;
    assert!(report.contains("- Acme, revenue: $3.19 billion in 2023 [Sitea]"), "{report}");
    assert!(report.starts_with("## Companies\n\n### Acme\n\n- Name: Acme\n"), "{report}");
    assert_eq!(played.run.value(&|_| Some(1)), Some(value), "{report}");
    let has_source = |query: &CitationQuery| matches!(query, CitationQuery::Write { evidence, output: Some(_), .. } if evidence[0].source == 1);
    assert!(played.requests.iter().any(|it| has_source(&it.query)));
    played.assert_clean();
}

#[test]
fn without_a_value_there_is_none() {
    for reply in [json!(null), json!("a text")] {
        let mut scene = Scene::new(&[TEA]).writes_reply(move || reply.clone());
        scene.input.output = Some(json!({}));
        let played = scene.play();
        assert!(played.result.is_degraded && played.run.value(&|_| None).is_none());
    }
}
