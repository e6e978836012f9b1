//! From pages to a cited report, with every role scripted, failing or lying.

use antiphon_citation::{RevisionKind, Verdict};
use serde_json::json;

use crate::scene::{Scene, page};

const STEEPS: &str = "Green tea steeps for two minutes";

fn written(text: &str) -> serde_json::Value {
    json!({"report": text})
}

fn verdict(verdict: &str) -> serde_json::Value {
    json!({"verdicts": [{"number": 0, "reasoning": "so it is", "verdict": verdict}]})
}

#[tokio::test]
async fn a_report_is_written_verified_and_cited() {
    let run = Scene::new()
        .extractor()
        .role("reporter", [written(&format!("# Tea\n\n{STEEPS} [0]."))])
        .role("verifier", [verdict("supported")])
        .run()
        .await;
    assert_eq!(run.report(), format!("# Tea\n\n{STEEPS} [Guild]."));
    let output = &run.result.output;
    assert_eq!(output.claims[0].verdict, Some(Verdict::Supported));
    assert_eq!(output.references[0].url, "https://guild.example/tea");
    assert!(output.markdown().ends_with("- [Guild] A page, <https://guild.example/tea>"));
    assert_eq!(run.notes("claim_verified").len(), 1);
    let last = run.notes("content_revised").pop().unwrap();
    assert_eq!(last["text"], json!(output.report));
    assert!(run.result.state.error.is_none());
}

#[tokio::test]
async fn a_report_as_plain_text_counts_too() {
    let text = format!("{STEEPS} [0].");
    let run = Scene::new()
        .extractor()
        .role("reporter", [text.as_str()])
        .role("verifier", [verdict("supported")])
        .run()
        .await;
    assert_eq!(run.report(), format!("{STEEPS} [Guild]."));
}

#[tokio::test]
async fn without_any_model_the_report_is_what_the_pages_say() {
    let run = Scene::new().run().await;
    assert!(run.report().contains("two minutes at 80 °C"), "{}", run.report());
    assert!(run.report().ends_with("[Guild]"), "{}", run.report());
    assert!(run.result.output.is_degraded);
    assert!(!run.notes("stage_failed").is_empty());
    assert!(run.result.state.error.is_none());
}

#[tokio::test]
async fn a_number_that_no_page_states_is_not_cited_whatever_the_models_say() {
    let run = Scene::new()
        .extractor()
        .role("reporter", [written("Green tea steeps for seven minutes at 80 °C [0].")])
        .role("verifier", [verdict("supported")])
        .run()
        .await;
    assert!(!run.report().contains('['), "{}", run.report());
    assert!(!run.report().contains("seven minutes at 80 °C."), "{}", run.report());
}

#[tokio::test]
async fn what_is_not_supported_is_searched_for_read_and_cited() {
    let claim = "Green tea steeps for two minutes and soothes weary growers in Kenya";
    let mut scene = Scene::new();
    scene.config.citation.corrects = false;
    scene.input.web = vec![
        page("https://health.example/tea", &format!("{claim}, so doctors say in 2023.")),
        antiphon_citation::CitedSource {
            origin: antiphon_citation::PageOrigin::Found,
            ..page("https://dead.example/", "")
        },
    ];
    let judged = json!({"scores": [{"number": 0, "score": 1.0, "is_contradicted": false}]});
    let run = scene
        .extractor()
        .role("reporter", [written(&format!("{claim} [0]."))])
        .role("verifier", [verdict("partial")])
        .role("claim_splitter", [json!({"facts": [format!("{claim}.")]})])
        .role("entailment_judge", [judged])
        .run()
        .await;
    assert_eq!(run.report(), format!("{claim} [Health]."));
    let output = &run.result.output;
    let revision = output.claims[0].revision.as_ref().unwrap();
    assert_eq!(revision.kind, RevisionKind::FullyVerified);
    assert_eq!(output.summary.external_searches, 1);
    assert_eq!(output.summary.new_sources_added, 2);
    assert_eq!(run.notes("stage_failed").len(), 1, "one page is dead");
}

#[tokio::test]
async fn a_search_that_fails_leaves_the_claim_uncertain() {
    let claim = "Green tea steeps for two minutes and soothes weary growers in Kenya";
    let mut scene = Scene::new();
    scene.config.citation.corrects = false;
    let run = scene
        .extractor()
        .role("reporter", [written(&format!("{claim} [0]."))])
        .role("verifier", [verdict("partial")])
        .role("claim_splitter", [json!({"facts": [format!("{claim}.")]})])
        .run()
        .await;
    assert_eq!(run.report(), format!("Reportedly, {claim}."));
    assert!(run.result.state.error.is_none());
}
