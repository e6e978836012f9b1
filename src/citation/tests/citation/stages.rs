//! The stages in their order, and what becomes of a report when one of them fails.

use antiphon_citation::{
    AuditRule, BlockKind, CitationQuery, CitationRun, GenerationMode, PageOrigin, Verdict,
    VerdictSummary, blocks,
};
use serde_json::{Value as Json, json};

use crate::scene::{HARVEST, REVENUE, STAFF, Scene, TEA};

/// DR-16 of `docs/systems/deep-research.md`.
#[test]
fn without_evidence_the_report_says_that_nothing_was_verified() {
    let run = Scene::new(&[]).writes("Tea is a drink. See [here](https://fake.example).").run();
    let report = "Tea is a drink. See here (not confirmed by the sources).";
    assert_eq!(run.result.report, report);
    assert_eq!(run.result.summary.verification_skipped.as_deref(), Some("no_evidence"));
    assert_eq!(run.result.summary.verdicts.abstained_count, 1);
    run.assert_clean();
}

#[test]
fn without_evidence_no_number_and_no_quotation_is_stated_as_known() {
    let text = "# Tea in 2,023 tonnes\n\nKenya harvested 912,000 tonnes of tea. The guild said \
                “no tea was better”. Two sources of Acme were asked for: revenue, profit.";
    let run = Scene::new(&[]).writes(text).run();
    let report = &run.result.report;
    assert!(report.contains("912,000 tonnes of tea (not confirmed by the sources)."), "{report}");
    assert!(report.contains("“no tea was better” (not confirmed by the sources)."), "{report}");
    let rules: Vec<_> = run.result.audit.violations.iter().map(|it| it.rule).collect();
    assert_eq!(rules, [AuditRule::NumberKnown], "nothing can be added to a heading");
    assert!(run.result.markdown().ends_with("1 check of this report has failed."));
}

/// A page of an earlier question.
#[test]
fn a_page_that_was_known_before_is_cited_as_such() {
    let mut scene = Scene::new(&[TEA]).writes("Green tea steeps for two minutes {Green tea}.");
    scene.input.sources[0].origin = PageOrigin::Known;
    let run = scene.run();
    assert_eq!(run.result.references[0].origin, PageOrigin::Known);
    let markdown = run.result.markdown();
    assert!(
        markdown.ends_with("<https://sitea.example/0> (known before, not read again)"),
        "{markdown}"
    );
    run.assert_clean();
}

/// DR-21 of `docs/systems/deep-research.md`.
#[test]
fn a_verifier_sees_a_claim_and_its_evidence_alone() {
    let text = "Green tea steeps for two minutes {Green tea}. Acme reported revenue of $3.19 billion in 2023 {Acme reported}.";
    let run = Scene::new(&[TEA, REVENUE]).writes(text).run();
    let verified: Vec<String> = run
        .requests
        .iter()
        .filter(|it| matches!(it.query, CitationQuery::Verify { .. }))
        .map(|it| serde_json::to_string(&it.query).unwrap())
        .collect();
    assert_eq!(verified.len(), 2);
    assert!(verified.iter().all(|query| query.contains("minutes") != query.contains("revenue")));
    assert!(verified.iter().all(|query| !query.contains("What is known")));
    assert_eq!(run.result.summary.verdicts.supported, 2);
}

/// DR-22 of `docs/systems/deep-research.md`.
#[test]
fn claims_of_the_same_words_in_another_order_are_verified_separately() {
    let page = "Acme bought Globex in the spring after a long negotiation about tea.";
    let text = "Acme bought Globex {bought}. Globex bought Acme {bought}.";
    let run = Scene::new(&[page])
        .writes(text)
        .verifies(|item| {
            json!(if item.claim.starts_with("Acme") { "supported" } else { "contradicted" })
        })
        .run();
    assert_eq!(run.result.report, "Acme bought Globex [Sitea].");
    run.assert_clean();
}

/// DR-23 of `docs/systems/deep-research.md`.
#[test]
fn a_wrong_citation_is_replaced_where_the_right_evidence_is_known() {
    let text = "Kenya harvested 570,000 tonnes of tea in 2023 {guild}.";
    let run = Scene::new(&[TEA, HARVEST])
        .writes(text)
        .verifies(|item| {
            json!(if item.evidence[0].text == HARVEST { "supported" } else { "unsupported" })
        })
        .run();
    assert_eq!(run.result.report, "Kenya harvested 570,000 tonnes of tea in 2023 [Siteb].");
    assert_eq!(run.result.summary.citation_corrections, 1);
    assert_eq!(run.result.corrections[0].kind, "replace");
    assert_eq!(run.claim("Kenya").verdict, Some(Verdict::Supported));
    assert!(run.names().contains(&"citation_corrected"));
    assert_eq!(run.result.summary.initial.unwrap().unsupported, 1);
    run.assert_clean();
}

/// DR-24 of `docs/systems/deep-research.md`.
#[test]
fn a_replacement_that_does_not_help_is_taken_back() {
    let text = "Kenya harvested tea in the rain {guild}.";
    let run = Scene::new(&[TEA, HARVEST]).writes(text).verifies(|_| json!("partial")).run();
    assert_eq!(run.result.report, "Kenya harvested tea in the rain [Sitea].");
    assert_eq!(run.result.summary.citation_corrections, 0);
}

#[test]
fn a_sentence_without_a_citation_gets_the_evidence_that_fits() {
    let text = "Kenya harvested 570,000 tonnes of tea in 2023.";
    let run = Scene::new(&[TEA, HARVEST]).writes(text).run();
    assert_eq!(run.result.report, "Kenya harvested 570,000 tonnes of tea in 2023 [Siteb].");
    assert_eq!(run.result.corrections[0].kind, "add");
    assert_eq!(run.claim("Kenya").verdict, Some(Verdict::Supported));
    assert!(!run.claim("Kenya").is_abstained);
    run.assert_clean();
}

#[test]
fn a_sentence_stays_without_a_citation_that_does_not_fit_it() {
    for (text, verdict) in [
        // The verifier finds that it says something else.
        ("Kenya harvested 570,000 tonnes of tea in 2023.", "unsupported"),
        ("Kenya harvested 570,000 tonnes of tea in 2023.", "contradicted"),
        // Hardly a word of it is known.
        ("The harbour of Lima was finished after 80 weeks.", "supported"),
    ] {
        let mut scene = Scene::new(&[TEA, HARVEST]);
        scene.input.question += " And the harbour of Lima?";
        let run = scene.writes(text).verifies(move |_| json!(verdict)).run();
        assert!(!run.result.report.contains('['), "{}", run.result.report);
        assert!(run.result.claims[0].is_abstained, "{:?}", run.result.claims);
        assert_eq!(run.result.summary.citation_corrections, 0);
        run.assert_clean();
    }
    // A number that the evidence does not have: nobody is asked.
    let text = "Kenya harvested 590,000 tonnes of tea in 2023.";
    let run = Scene::new(&[TEA, HARVEST]).writes(text).run();
    assert!(run.result.report.ends_with("(not confirmed by the sources)."));
    let is_verify = |query: &CitationQuery| matches!(query, CitationQuery::Verify { .. });
    assert!(!run.requests.iter().any(|it| is_verify(&it.query)));
    run.assert_clean();
}

#[test]
fn an_item_that_begins_with_citations_stays_an_item() {
    let text = "Of tea we know\n- [99] {Green tea} that green tea steeps for two minutes.";
    let run = Scene::new(&[TEA]).writes(text).run();
    let report = &run.result.report;
    assert!(report.ends_with(" [Sitea] that green tea steeps for two minutes."), "{report}");
    assert_eq!(blocks(report).last().unwrap().kind, BlockKind::Item, "{report}");
    run.assert_clean();
}

#[test]
fn a_verdict_that_is_missing_is_asked_for_once_more_and_then_left_open() {
    let mut asked = 0;
    let text = "Green tea steeps for two minutes {Green tea}.";
    let run = Scene::new(&[TEA])
        .writes(text)
        .verifies(move |_| {
            asked += 1;
            if asked == 2 { json!("partially supported") } else { Json::Null }
        })
        .run();
    assert_eq!(run.result.claims[0].verdict, Some(Verdict::Partial));
    let silent = Scene::new(&[TEA]).writes(text).verifies(|_| Json::Null).run();
    assert!(silent.result.claims[0].is_abstained);
    assert_eq!(silent.result.report, "Green tea steeps for two minutes [Sitea].");
    assert_eq!(silent.result.summary.verdicts.abstained_count, 1);
}

#[test]
fn a_strict_report_with_too_few_citations_is_written_once_more() {
    let mut drafts = vec![
        json!("Tea is a drink of many people in the world. ".repeat(6)),
        json!("Green tea steeps for two minutes [0]."),
    ]
    .into_iter();
    let mut scene = Scene::new(&[TEA]).settings(|it| it.generation = GenerationMode::Strict);
    scene = scene.writes("");
    let mut run = CitationRun::new(scene.input);
    let mut requests = run.advance(&std::collections::BTreeMap::new());
    let mut corrections = Vec::new();
    while !requests.is_empty() {
        let replies = requests
            .iter()
            .map(|it| {
                let reply = match &it.query {
                    CitationQuery::Write { correction, .. } => {
                        corrections.push(correction.is_some());
                        drafts.next().unwrap()
                    }
                    _ => Json::Null,
                };
                (it.id.clone(), reply)
            })
            .collect();
        requests = run.advance(&replies);
    }
    assert_eq!(corrections, [false, true]);
    assert_eq!(run.text(), "Green tea steeps for two minutes [Sitea].");
}

#[test]
fn a_run_that_is_cut_short_delivers_what_code_can_check() {
    let text = "Acme reported revenue of $9.99 billion in 2023 {Acme reported}. Acme employs 12,400 people {employs}.";
    let scene = Scene::new(&[REVENUE, STAFF]).writes(text);
    let mut run = CitationRun::new(scene.input);
    let requests = run.advance(&std::collections::BTreeMap::new());
    let id = requests[0].id.clone();
    let place = |words: &str| {
        let CitationQuery::Write { evidence, .. } = &requests[0].query else { unreachable!() };
        evidence.iter().position(|one| one.text.contains(words)).unwrap()
    };
    let text = text
        .replace("{Acme reported}", &format!("[{}]", place("Acme reported")))
        .replace("{employs}", &format!("[{}]", place("employs")));
    run.advance(&[(id, json!(text))].into());
    run.conclude();
    let result = run.result();
    assert!(result.is_finished);
    assert_eq!(result.summary.verification_skipped.as_deref(), Some("not_finished"));
    assert!(
        result.report.contains("$9.99 billion in 2023 (not confirmed by the sources)."),
        "{}",
        result.report
    );
    assert!(result.report.ends_with("Acme employs 12,400 people [Siteb]."), "{}", result.report);
    assert!(result.audit.is_clean(), "{:?}", result.audit);
}

/// DR-29 of `docs/systems/deep-research.md`.
#[test]
fn a_contradicted_item_goes_and_an_empty_section_goes_with_its_heading() {
    let text = "# Tea\n\nGreen tea steeps for two minutes {Green tea}.\n\n## Myths\n\n- Green tea steeps for hours {Green tea}.\n\n## End\n\nKenya harvested tea {Kenya}.";
    let run = Scene::new(&[TEA, HARVEST])
        .writes(text)
        .verifies(|item| {
            json!(if item.claim.contains("hours") { "contradicted" } else { "supported" })
        })
        .run();
    let expected = "# Tea\n\nGreen tea steeps for two minutes [Sitea].\n\n## End\n\nKenya harvested tea [Siteb].";
    assert_eq!(run.result.report, expected);
    assert_eq!(run.result.summary.verdicts.contradicted, 1);
    run.assert_clean();
}

/// DR-30 of `docs/systems/deep-research.md`.
#[test]
fn the_last_event_of_a_revised_text_has_the_text_that_is_delivered() {
    let text = "Acme reported revenue of $9.99 billion in 2023 {Acme reported}. Acme employs 12,400 people {employs}.";
    let run = Scene::new(&[REVENUE, STAFF]).writes(text).run();
    let last = run.events.iter().rev().find(|(name, _)| name == "content_revised").unwrap();
    assert_eq!(last.1["text"], json!(run.result.report));
    assert_eq!(run.names().last(), Some(&"verification_summary"));
}

/// DR-32 of `docs/systems/deep-research.md`.
#[test]
fn rates_are_of_claims_that_were_judged() {
    let claim = |verdict, is_abstained| antiphon_citation::Claim {
        verdict: Some(verdict),
        is_abstained,
        ..antiphon_citation::Claim::default()
    };
    let mut claims = vec![claim(Verdict::Supported, false); 6];
    claims.extend([claim(Verdict::Unsupported, false), claim(Verdict::Unsupported, false)]);
    claims.extend([claim(Verdict::Unsupported, true), claim(Verdict::Unsupported, true)]);
    let summary = VerdictSummary::of(&claims);
    assert_eq!((summary.total_claims, summary.abstained_count), (10, 2));
    assert!((summary.unsupported_rate - 0.25).abs() < 1e-9 && summary.warning);
}

#[test]
fn stages_begin_and_end_in_their_order() {
    let text = "Green tea steeps for two minutes {Green tea}.";
    let run = Scene::new(&[TEA]).writes(text).run();
    let stages: Vec<_> = run
        .events
        .iter()
        .filter(|(name, _)| name == "stage_completed")
        .map(|(_, data)| data["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["extract", "write", "verify", "correct", "numbers"]);
}

#[test]
fn a_verdict_on_one_claim_of_a_batch_is_none_on_the_others() {
    let text = "Green tea steeps for two minutes {Green tea}. Kenya harvested tea {Kenya}.";
    let run = Scene::new(&[TEA, HARVEST])
        .writes(text)
        .settings(|it| it.verification_batch = 5)
        .verifies(
            |item| if item.claim.starts_with("Kenya") { json!("contradicted") } else { Json::Null },
        )
        .run();
    assert_eq!(run.result.report, "Green tea steeps for two minutes [Sitea].");
    assert!(run.claim("minutes").is_abstained);
}

#[test]
fn sentences_that_are_contradicted_side_by_side_all_go() {
    let text = "Kenya harvested tea {Kenya}. Green tea is for two {Green tea}. Green tea is for growers {Green tea}.";
    let run = Scene::new(&[TEA, HARVEST])
        .writes(text)
        .verifies(|item| {
            json!(if item.claim.starts_with("Kenya") { "supported" } else { "contradicted" })
        })
        .run();
    assert_eq!(run.result.report, "Kenya harvested tea [Siteb].");
    let all = Scene::new(&[TEA, HARVEST]).writes(text).verifies(|_| json!("contradicted")).run();
    assert!(all.result.claims.iter().take(3).all(|claim| !claim.is_delivered()));
    assert!(all.result.is_degraded, "the passages stand in the place of what is gone");
    all.assert_clean();
}

#[test]
fn citations_that_were_exchanged_among_claims_are_put_right() {
    let claims = [
        ("Green tea steeps for two minutes at 80 °C", "Green tea", "Sitea"),
        ("Kenya harvested 570,000 tonnes of tea in 2023", "Kenya", "Siteb"),
        ("Acme reported revenue of $3.19 billion in 2023", "Acme reported", "Sitec"),
        ("Acme employs 12,400 people in 14 countries", "Acme employs", "Sited"),
    ];
    let exchanged = claims.iter().zip(claims.iter().cycle().skip(1));
    let sentences = exchanged.map(|((claim, ..), (_, other, _))| format!("{claim} {{{other}}}."));
    let text = sentences.collect::<Vec<_>>().join(" ");
    let run = Scene::new(&[TEA, HARVEST, REVENUE, STAFF])
        .writes(&text)
        .verifies(move |item| {
            let known = claims.iter().find(|(claim, ..)| item.claim.starts_with(claim));
            let (_, words, _) = known.unwrap();
            let is_right = item.evidence.iter().any(|one| one.text.contains(words));
            json!(if is_right { "supported" } else { "unsupported" })
        })
        .run();
    let right = claims.iter().map(|(claim, _, key)| format!("{claim} [{key}]."));
    assert_eq!(run.result.report, right.collect::<Vec<_>>().join(" "));
    assert_eq!(run.result.summary.citation_corrections, 4);
    run.assert_clean();
}
