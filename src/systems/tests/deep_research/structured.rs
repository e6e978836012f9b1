//! Reports in a form that the caller gives.

use antiphon_core::Schema;
use antiphon_reply::CompiledSchema;
use antiphon_systems::Outcome;
use antiphon_systems::deep_research::structured_report::fitted;
use antiphon_systems::deep_research::{Config, ResearchOutcome, ResearchRequest};
use serde_json::{Value as Json, json};

use crate::conversation_snapshot::compare_conversation;
use crate::flow::light;
use crate::scene::{Library, Scene};

const STEEPS: &str = "Green tea steeps for two minutes at 80 degrees.";

/// The schema of a report with one statement and its sources.
fn form() -> Json {
    json!({
        "type": "object",
        "properties": {
            "time": {"type": "string", "minLength": 1},
            "time_source_refs": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["time", "time_source_refs"],
    })
}

fn verdict(verdict: &str) -> Json {
    json!({"verdicts": [{"number": 0, "reasoning": "so it is", "verdict": verdict}]})
}

fn structured() -> Scene {
    let mut scene = light(Library::tea());
    scene.config.output = Some(form());
    scene
}

fn question(verify: bool) -> ResearchRequest {
    let system_instructions = Some("Times are in minutes.".to_owned());
    ResearchRequest {
        verify_sources: Some(verify),
        system_instructions,
        .."How long does green tea steep?".into()
    }
}

/// DR-33 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_report_in_a_callers_form_is_verified_and_fits_its_schema() {
    let replies =
        [json!({"report": "Two minutes [0]."}), json!({"time": STEEPS, "time_source_refs": [1]})];
    let run = structured()
        .role("reporter", replies)
        .role("verifier", [verdict("unsupported"), verdict("supported")])
        .ask(question(true))
        .await;
    let output = &run.result.output;
    assert_eq!(run.result.outcome, Outcome::Answered, "{:?}", output.errors);
    let value = output.structured_output.clone().unwrap();
    assert_eq!(value, json!({"time": STEEPS, "time_source_refs": [2]}));
    assert_eq!(output.sources[1].url, "https://green.example/tea");
    assert!(output.answer.starts_with("## Time\n\nGreen tea steeps"), "{}", output.answer);
    assert_eq!(output.verification_summary.as_ref().unwrap().citation_corrections, 1);
    assert!(output.audit.as_ref().unwrap().is_clean());
    compare_conversation(
        "deep_research",
        "structured_reporter.txt",
        &run.requests("reporter")[..1],
    );
}

#[tokio::test]
async fn a_form_from_which_nothing_may_be_left_out_is_not_filled_with_what_is_refuted() {
    let run = structured()
        .role("reporter", [json!({"time": STEEPS, "time_source_refs": [2]})])
        .role("verifier", vec![verdict("contradicted"); 4])
        .ask(question(true))
        .await;
    let output = &run.result.output;
    assert_eq!(output.research_outcome, ResearchOutcome::Degraded);
    assert_eq!((run.result.outcome, &output.structured_output), (Outcome::NoAnswer, &None));
    assert_eq!(run.errors(), ["SYNTHESIS_FAILED"]);
}

#[tokio::test]
async fn without_verdicts_a_form_is_checked_by_code_alone() {
    let run = structured()
        .role("reporter", [json!({"time": "It takes nine minutes.", "time_source_refs": [2, 9]})])
        .ask(question(false))
        .await;
    let output = &run.result.output;
    assert_eq!(run.result.outcome, Outcome::Answered, "{:?}", output.errors);
    let text = "It takes nine minutes (not confirmed by the sources).";
    let value = json!({"time": text, "time_source_refs": []});
    assert_eq!(output.structured_output, Some(value));
    assert!(!run.roles().contains(&"verifier".to_owned()));
}

#[test]
fn what_does_not_fit_becomes_null_or_goes_with_what_it_belongs_to() {
    let text = json!({"type": "string", "minLength": 1});
    let item = json!({
        "type": "object",
        "properties": {"text": text, "refs": {"type": "array", "items": {"type": "string"}}},
        "required": ["text"],
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "title": {"anyOf": [{"type": "null"}, text]},
            "price": {"type": "number"},
            "items": {"type": "array", "items": item},
        },
        "required": ["title", "items"],
    });
    let schema = CompiledSchema::compile(&Schema::new("report", schema)).unwrap();
    let given = json!({
        "title": "",
        "price": null,
        "items": [{"text": "hot"}, {"text": ""}, {"text": "cold", "refs": [2]}],
    });
    let left = json!({"title": null, "items": [{"text": "hot"}, {"text": "cold", "refs": ["2"]}]});
    assert_eq!(fitted(given, &schema), Some(left));
    assert_eq!(fitted(json!([]), &schema), None);
}

#[test]
fn a_form_that_is_no_schema_is_refused_before_anything_costs() {
    let fault = Config::from_json(&json!({"output": {"type": "text"}})).unwrap_err();
    assert_eq!(fault.code.as_str(), "schema_invalid");
}
