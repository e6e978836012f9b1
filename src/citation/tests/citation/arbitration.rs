//! An arbiter of citations: when it is asked, and what its decisions are worth.

use antiphon_citation::{CitationOption, CitationQuery, Verdict};
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun};

/// Two years that score alike for a claim about one of them.
const EARLIER: &str =
    "Kenya harvested tea on large estates in the highlands in 2019, says the guild.";
const LATER: &str =
    "Kenya harvested tea on large estates in the highlands in 2020, says the guild.";
const BOARD: &str =
    "The board of tea growers in Kenya met in the rain in 2021 and spoke about prices.";
const CLAIM: &str = "In the highlands Kenya harvested tea on estates which growers own";

fn options(query: &CitationQuery) -> &[CitationOption] {
    match query {
        CitationQuery::Arbitrate { options, .. } => options,
        _ => &[],
    }
}

/// The number of the option that has these words.
fn number(query: &CitationQuery, words: &str) -> usize {
    let has = |it: &&CitationOption| it.passage.text.contains(words);
    options(query).iter().find(has).unwrap().number
}

/// Runs with an arbiter, and a verifier to whom only the later harvest supports the claim.
fn run_with_arbiter(arbiter: impl Fn(&CitationQuery) -> Json + 'static) -> ScriptedRun {
    Scene::new(&[EARLIER, LATER, BOARD])
        .settings(|it| it.asks_arbiter = true)
        .writes(&format!("{CLAIM} {{in 2019}}."))
        .verifies(|item| {
            let supports = item.evidence.iter().any(|one| one.text == LATER);
            json!(if supports { "supported" } else { "partial" })
        })
        .answers(arbiter)
        .run()
}

fn arbitrated(run: &ScriptedRun) -> Vec<&CitationQuery> {
    let asked = run.requests.iter().map(|it| &it.query);
    asked.filter(|it| !options(it).is_empty()).collect()
}

/// DR-39 of `docs/systems/deep-research.md`.
#[test]
fn an_arbiter_chooses_among_evidence_that_scores_alike() {
    let run = run_with_arbiter(
        |query| json!({"action": "replace", "number": number(query, "2020"), "reasoning": "so"}),
    );
    assert_eq!(run.result.report, format!("{CLAIM} [Siteb]."));
    assert_eq!(run.claim("highlands").verdict, Some(Verdict::Supported));
    assert_eq!(run.result.corrections[0].kind, "replace");
    let asked = arbitrated(&run);
    assert_eq!(asked.len(), 1);
    let cited: Vec<bool> = options(asked[0]).iter().map(|it| it.is_cited).collect();
    assert_eq!(cited, [true, false, false], "what is cited comes first");
    let (_, told) = run.events.iter().find(|it| it.0 == "citation_arbitrated").unwrap();
    assert_eq!((&told["action"], &told["reasoning"]), (&json!("replace"), &json!("so")));
    run.assert_clean();
}

#[test]
fn an_arbiter_may_add_evidence_or_leave_it() {
    let added = run_with_arbiter(|query| json!({"action": "add", "number": number(query, "2020")}));
    assert_eq!(added.result.report, format!("{CLAIM} [Sitea][Siteb]."));
    let kept = run_with_arbiter(|_| json!({"action": "keep"}));
    assert_eq!(kept.result.report, format!("{CLAIM} [Sitea]."));
    assert_eq!(kept.claim("highlands").verdict, Some(Verdict::Partial));
    let verified = |run: &ScriptedRun| {
        let is_verify = |query: &CitationQuery| matches!(query, CitationQuery::Verify { .. });
        run.requests.iter().filter(|it| is_verify(&it.query)).count()
    };
    assert_eq!((verified(&added), verified(&kept)), (2, 1));
}

/// DR-39 of `docs/systems/deep-research.md`.
#[test]
fn a_decision_counts_only_if_it_can_be_carried_out_and_helps() {
    // Code decides as it would alone.
    let alone = run_with_arbiter(|_| Json::Null).result.report;
    for reply in [
        json!({"action": "replace", "number": 99}),
        json!({"action": "replace", "number": null}),
        json!({"action": "replace", "number": 0}),
        // The claim is supported in part.
        json!({"action": "remove"}),
        json!({"action": "invent", "number": 1}),
        json!("text"),
    ] {
        let given = reply.clone();
        let run = run_with_arbiter(move |_| given.clone());
        assert_eq!(run.result.report, alone, "{reply}");
        assert!(!run.names().contains(&"citation_arbitrated"), "{reply}");
    }
    let worse = run_with_arbiter(
        |query| json!({"action": "replace", "number": number(query, "The board")}),
    );
    assert_eq!(worse.result.report, format!("{CLAIM} [Sitea]."), "the verdict is no better");
    assert_eq!(worse.result.summary.citation_corrections, 0);
}

#[test]
fn citations_that_no_evidence_supports_are_removed() {
    let run = Scene::new(&[EARLIER, LATER, BOARD])
        .settings(|it| it.asks_arbiter = true)
        .writes(&format!("{CLAIM} {{in 2019}}."))
        .verifies(|_| json!("unsupported"))
        .answers(|_| json!({"action": "remove"}))
        .run();
    assert!(!run.result.report.contains('['), "{}", run.result.report);
    assert_eq!(run.result.corrections[0].kind, "remove");
    run.assert_clean();
}

#[test]
fn an_arbiter_is_asked_only_where_it_is_wanted_and_scores_are_close() {
    let scene = |claim: &str, change: fn(&mut antiphon_citation::CitationSettings)| {
        Scene::new(&[EARLIER, LATER, BOARD])
            .settings(change)
            .writes(&format!("{claim} {{in 2019}}."))
            .verifies(|_| json!("partial"))
            .run()
    };
    assert!(arbitrated(&scene(CLAIM, |_| {})).is_empty(), "by default nobody is");
    assert!(
        arbitrated(&scene(CLAIM, |it| (it.asks_arbiter, it.corrects) = (true, false))).is_empty()
    );
    let clear = "The board of tea growers in Kenya met in the rain in 2021 and spoke about prices";
    assert!(arbitrated(&scene(clear, |it| it.asks_arbiter = true)).is_empty());
    let several = format!("{CLAIM} {{in 2019}}. {CLAIM} too");
    let most = scene(&several, |it| (it.asks_arbiter, it.max_arbitrations) = (true, 1));
    assert_eq!(arbitrated(&most).len(), 1);
}
