//! A reporter that looks evidence up and writes part after part, as a role of a system.

use antiphon_citation::SynthesisMode;
use antiphon_core::ModelRequest;
use serde_json::json;

use crate::conversation_snapshot::compare_conversation;
use crate::scene::{Scene, ScriptedRun};

fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.config.citation.synthesis_mode = SynthesisMode::React;
    let verdict = json!({"verdicts": [{"number": 0, "reasoning": "so", "verdict": "supported"}]});
    scene.extractor().role("verifier", [verdict.clone(), verdict])
}

fn turns(run: &ScriptedRun) -> Vec<ModelRequest> {
    run.requests("reporter")
}

#[tokio::test]
async fn a_report_is_written_in_turns() {
    let search = json!({"tool": "search_evidence", "query": "green tea"});
    let snippet = json!({"tool": "read_snippet", "index": 0});
    let part = "# Tea\n\n<cite key=\"0\">Green tea steeps for two minutes.</cite>";
    let run = scene()
        .role(
            "reporter",
            [
                json!({"calls": [search], "text": null}),
                json!({"calls": [snippet], "text": part}),
                json!({"calls": [], "text": "<analysis>So it is a quick drink.</analysis>"}),
            ],
        )
        .run()
        .await;
    let report = "# Tea\n\nGreen tea steeps for two minutes [Guild].\n\nSo it is a quick drink.";
    assert_eq!(run.report(), report);
    assert_eq!(run.notes("grounding_validation")[0]["calls"], 2);
    let turns = turns(&run);
    assert_eq!(turns.len(), 3);
    compare_conversation("citation", "composing_reporter.large.txt", &turns[2..]);

    let part = json!({"calls": [], "text": "Tea is a drink."});
    let run = scene().small("reporter").role("reporter", [part]).run().await;
    compare_conversation("citation", "composing_reporter.txt", &self::turns(&run));
}

#[tokio::test]
async fn a_reporter_that_takes_no_turns_writes_in_one_go() {
    let report = json!({"report": "Green tea steeps for two minutes [0]."});
    let text = |text: &str| json!(text);
    let run = scene().role("reporter", [text("no"), text("turns"), report]).run().await;
    assert_eq!(run.report(), "Green tea steeps for two minutes [Guild].");
    assert!(!run.result.output.is_degraded);
    assert!(run.result.state.error.is_none());
}
