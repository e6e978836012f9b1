//! Reports in a caller's form: texts, numbers and addresses that no source supports are not in them.

use antiphon_citation::{CitationQuery, CitedSource, Verdict};
use serde_json::{Value as Json, json};

use crate::scene::{HARVEST, REVENUE, Scene, ScriptedRun, TEA};

/// Runs with a report of this value; sources have the numbers 1 for [`TEA`] and 2 for [`HARVEST`].
fn run_structured(value: &Json) -> (ScriptedRun, Json) {
    run_with_verifier(value, |_| json!("supported"))
}

fn run_with_verifier(value: &Json, verify: fn(&str) -> Json) -> (ScriptedRun, Json) {
    let value = value.clone();
    let mut scene = Scene::new(&[TEA, HARVEST]).writes_reply(move || value.clone());
    scene.input.output = Some(json!({"type": "object"}));
    let run = scene.verifies(move |item| verify(&item.claim)).run();
    let number = |source: &CitedSource| {
        run.result.sources.iter().position(|it| it.url == source.url).map(|place| place + 1)
    };
    let left = run.pipeline.value(&number).unwrap();
    run.assert_clean();
    (run, left)
}

/// DR-33 of `docs/systems/deep-research.md`.
#[test]
fn a_wrong_reference_of_a_field_is_corrected() {
    let text = "Kenya harvested 570,000 tonnes of tea in 2023.";
    let (run, left) = run_with_verifier(
        &json!({"harvest": text, "harvest_source_refs": ["1"], "is_good": true}),
        |_| json!("unsupported"),
    );
    assert_eq!(left["harvest_source_refs"], json!([]), "the verifier supports nothing");
    assert!(run.result.report.starts_with("## Harvest\n\n"), "{}", run.result.report);

    let value = json!({"harvest": text, "harvest_source_refs": ["1"], "is_good": true});
    let mut scene = Scene::new(&[TEA, HARVEST]).writes_reply(move || value.clone());
    scene.input.output = Some(json!({}));
    let run = scene
        .verifies(|item| {
            json!(if item.evidence[0].text == HARVEST { "supported" } else { "unsupported" })
        })
        .run();
    let left = run.pipeline.value(&|source| Some(if source.text == HARVEST { 2 } else { 1 }));
    let right = json!({"harvest": text, "harvest_source_refs": ["2"], "is_good": true});
    assert_eq!(left, Some(right));
    assert_eq!(run.result.summary.citation_corrections, 1);
    assert_eq!(run.claim("Kenya").verdict, Some(Verdict::Supported));
    run.assert_clean();
}

#[test]
fn what_no_source_supports_is_not_in_the_value() {
    let statement = |text: &str, refs: &[usize]| json!({"text": text, "source_refs": refs});
    let (run, left) = run_structured(&json!({
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
    assert_eq!(left["summary"], json!(summary), "{}", run.result.report);
    assert_eq!(left["findings"][0], statement("Green tea steeps for two minutes at 80 °C.", &[1]));
    assert_eq!(left["findings"][1]["source_refs"], json!([2]), "{}", run.result.report);
    assert_eq!(left["notes"], json!(["hot", "green"]));
}

#[test]
fn a_contradicted_element_goes_with_its_object() {
    let finding = |name: &str, text: &str| json!({"name": name, "text": text, "source_refs": "1"});
    let steeps = "Green tea steeps for two minutes.";
    let (_, left) = run_with_verifier(
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
    let run = scene.run();
    let report = &run.result.report;
    assert!(report.contains("- Acme, revenue: $3.19 billion in 2023 [Sitea]"), "{report}");
    assert!(report.starts_with("## Companies\n\n### Acme\n\n- Name: Acme\n"), "{report}");
    assert_eq!(run.pipeline.value(&|_| Some(1)), Some(value), "{report}");
    let has_source = |query: &CitationQuery| matches!(query, CitationQuery::Write { evidence, output: Some(_), .. } if evidence[0].source == 1);
    assert!(run.requests.iter().any(|it| has_source(&it.query)));
    run.assert_clean();
}

#[test]
fn without_a_value_there_is_none() {
    for reply in [json!(null), json!("a text")] {
        let mut scene = Scene::new(&[TEA]).writes_reply(move || reply.clone());
        scene.input.output = Some(json!({}));
        let run = scene.run();
        assert!(run.result.is_degraded && run.pipeline.value(&|_| None).is_none());
    }
}
