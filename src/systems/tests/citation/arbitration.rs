//! The arbiter of citations, as a role of a system.

use antiphon_citation::Verdict;
use antiphon_models::ScriptedReply;
use serde_json::json;

use crate::conversation_snapshot::compare_conversation;
use crate::scene::{Scene, page};

const EARLIER: &str =
    "Kenya harvested tea on large estates in the highlands in 2019, says the guild.";
const LATER: &str =
    "Kenya harvested tea on large estates in the highlands in 2020, says the guild.";

fn scene() -> Scene {
    let mut scene = Scene::new();
    "Where does Kenya harvest tea?".clone_into(&mut scene.input.question);
    scene.input.sources =
        vec![page("https://early.example/tea", EARLIER), page("https://late.example/tea", LATER)];
    scene.config.citation.asks_arbiter = true;
    scene.config.citation.extracts_with_model = false;
    scene.config.citation.revises = false;
    let verdict = |verdict: &str| json!({"verdicts": [{"number": 0, "reasoning": "so it is", "verdict": verdict}]});
    let report = "In the highlands Kenya harvested tea on estates which growers own [0].";
    scene
        .role("reporter", [json!({"report": report})])
        .role("quick_verifier", [verdict("partial"), verdict("supported")])
}

#[tokio::test]
async fn an_arbiter_that_keeps_what_is_cited_names_no_other() {
    let ruling = json!({"reasoning": "it says so", "action": "keep"});
    let run = scene().role("citation_arbiter", [ruling]).run().await;
    assert_eq!(run.requests("citation_arbiter").len(), 1, "it is not asked again");
    assert_eq!(run.notes("citation_arbitrated")[0]["reasoning"], "it says so");
}

#[tokio::test]
async fn an_arbiter_reads_the_claim_and_its_options_and_decides() {
    let ruling = json!({"reasoning": "the later one", "action": "replace", "number": 1});
    let run = scene().role("citation_arbiter", [ruling]).run().await;
    assert!(run.report().ends_with("own [Late]."), "{}", run.report());
    assert_eq!(run.result.output.claims[0].verdict, Some(Verdict::Supported));
    assert_eq!(run.notes("citation_arbitrated")[0]["reasoning"], "the later one");
    let requests = run.requests("citation_arbiter");
    assert_eq!(requests.len(), 1);
    compare_conversation("citation", "citation_arbiter.large.txt", &requests);

    let ruling = json!({"reasoning": "", "action": "keep", "number": null});
    let small = scene().small("citation_arbiter").role("citation_arbiter", [ruling]).run().await;
    compare_conversation("citation", "citation_arbiter.txt", &small.requests("citation_arbiter"));
}

#[tokio::test]
async fn without_a_readable_decision_the_scores_decide() {
    let replies = [ScriptedReply::text("both"), ScriptedReply::text("neither")];
    let run = scene().role("citation_arbiter", replies).run().await;
    assert!(!run.report().is_empty());
    let failed = run.notes("stage_failed");
    assert!(failed.iter().any(|it| it["stage"] == "correct"), "{failed:?}");
    assert!(run.notes("citation_arbitrated").is_empty());
    assert!(run.result.state.error.is_none());
}
