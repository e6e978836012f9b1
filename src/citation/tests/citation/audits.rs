//! The audit finds what the stages would have mended.

use antiphon_citation::{
    AuditEvidence, AuditRule, CitedReport, Claim, Evidence, PageOrigin, Reference, TextSpan,
    Verdict, audit,
};

use serde_json::json;

use crate::scene::{REVENUE, Scene, page};

/// A report of one sentence with one citation, which a change may break.
fn violations(
    change: impl Fn(
        &mut CitedReport,
        &mut Vec<Evidence>,
        &mut Vec<Reference>,
        &mut antiphon_citation::CitedSource,
    ),
) -> Vec<AuditRule> {
    let sentence = "Acme reported revenue of $3.2 billion in 2023 [Acme].".to_owned();
    let claim = Claim {
        id: "c1".to_owned(),
        text: sentence.replace(" [Acme]", ""),
        span: Some(TextSpan::new(0, sentence.len())),
        sentence: sentence.clone(),
        keys: vec!["Acme".to_owned()],
        evidence: vec!["e1".to_owned()],
        verdict: Some(Verdict::Supported),
        ..Claim::default()
    };
    let mut report = CitedReport { text: sentence, claims: vec![claim], ..CitedReport::default() };
    let mut evidence = vec![Evidence {
        id: "e1".to_owned(),
        quote: REVENUE.to_owned(),
        span: Some(TextSpan::new(0, REVENUE.len())),
        ..Evidence::default()
    }];
    let mut source = page("https://acme.example/", REVENUE);
    let mut references = vec![Reference {
        number: 1,
        key: "Acme".to_owned(),
        url: source.url.clone(),
        origin: PageOrigin::Fetched,
        ..Reference::default()
    }];
    change(&mut report, &mut evidence, &mut references, &mut source);
    let found = audit(&AuditEvidence {
        report: &report,
        evidence: &evidence,
        sources: &[source],
        references: &references,
        question: "",
    });
    found.violations.into_iter().map(|violation| violation.rule).collect()
}

fn rewritten(report: &mut CitedReport, text: &str) {
    text.clone_into(&mut report.text);
    let claim = &mut report.claims[0];
    text.clone_into(&mut claim.sentence);
    claim.text = text.replace(" [Acme]", "");
    claim.span = Some(TextSpan::new(0, text.len()));
}

#[test]
fn a_report_that_keeps_all_promises_has_no_violation() {
    assert_eq!(violations(|_, _, _, _| {}), []);
}

#[test]
fn each_promise_that_is_broken_is_named() {
    use AuditRule::{
        CitationKnown, CitationRelated, ClaimInReport, ContradictionRemoved, EvidenceInPage,
        LinkKnown, NumberKnown, NumberSupported, QuotationInPage, SourceFetched,
    };
    let found = violations(|_, evidence, _, _| evidence[0].quote.push('!'));
    assert!(found.contains(&EvidenceInPage), "{found:?}");
    for origin in [PageOrigin::Found, PageOrigin::Known] {
        assert_eq!(violations(|_, _, _, source| source.origin = origin), [SourceFetched]);
    }
    let told = violations(|_, _, references, source| {
        source.origin = PageOrigin::Known;
        references[0].origin = PageOrigin::Known;
    });
    assert_eq!(told, []);
    assert_eq!(violations(|report, _, _, _| report.text.insert(0, ' ')), [ClaimInReport]);
    assert_eq!(violations(|report, _, _, _| report.text.push_str(" [Acme]")), [CitationKnown]);
    assert_eq!(violations(|report, _, _, _| report.text.push_str(" [Other]")), [CitationKnown]);
    let unheard =
        violations(|report, _, _, _| rewritten(report, "Kings drank coffee in Vienna [Acme]."));
    assert_eq!(unheard, [CitationRelated]);
    let number = violations(|report, _, _, _| {
        rewritten(report, "Acme reported revenue of $3.9 billion in 2023 [Acme].");
    });
    assert_eq!(number, [NumberSupported]);
    let quoted = violations(|report, _, _, _| {
        rewritten(report, "Acme reported “revenue of a very large size” [Acme].");
    });
    assert_eq!(quoted, [QuotationInPage]);
    assert_eq!(
        violations(|report, _, _, _| report.text.push_str(" It has 7 legs.")),
        [NumberKnown]
    );
    assert_eq!(
        violations(|report, _, _, _| report.text.push_str(" See https://x.example.")),
        [LinkKnown]
    );
    for heading in ["# Acme killed 45,000 people", "# “We killed them all on purpose”"] {
        let found = violations(|report, _, _, _| {
            report.text.push_str("\n\n");
            report.text.push_str(heading);
        });
        assert_eq!(found.len(), 1, "{heading}: {found:?}");
    }
    assert_eq!(violations(|report, _, _, _| report.text.push_str("\n\n# 3 reasons")), []);
    let long =
        "\n\nIts head said: “We lied to all customers. We will lie to them again.” So it was.";
    assert_eq!(violations(|report, _, _, _| report.text.push_str(long)), [QuotationInPage]);
    let inches = "\n\nIt fits a wide 5\" pipe of steel. The \"green\" one is another.";
    let found = violations(|report, _, _, _| report.text.push_str(inches));
    assert!(!found.contains(&QuotationInPage), "{found:?}");
    let refuted =
        violations(|report, _, _, _| report.claims[0].verdict = Some(Verdict::Contradicted));
    assert_eq!(refuted, [ContradictionRemoved]);
    assert_eq!(
        violations(|_, _, references, _| references.clear()),
        [CitationKnown, CitationKnown]
    );
    let behind = violations(|report, _, _, _| report.claims[0].evidence.clear());
    assert!(behind.contains(&CitationKnown), "{behind:?}");
}

#[test]
fn a_quotation_in_any_form_has_to_stand_in_a_source() {
    let with = |text: &str| violations(|report, _, _, _| report.text.push_str(text));
    for invented in [
        "\n\nIts head said: 'we lied to all of them' in the end.",
        "\n\nIts head said: ‘we don’t lie to anyone’ in the end.",
        "\n\nIts head said: ‘the keepers’ lamps were never lit’ in the end.",
        "\n\nIts head said this:\n\n> We lied to all of them, and it was good.\n",
        "\n\nIts head said this:\n> We lied to all of them,\n> and it was good.\n",
        "\n\n- Its head said this:\n\n  > We lied to all of them, and it was good.\n",
    ] {
        assert_eq!(with(invented), [AuditRule::QuotationInPage], "{invented}");
    }
    for honest in [
        "\n\nIts head said: 'Acme reported revenue of' much in the end.",
        "\n\nThe keepers' lamps are the guild's, and it's the millers' wheel.",
        "\n\nIn the '90s the keepers' lamps of the isles were lit.",
        "\n\n> Acme reported revenue\n> of $3.19 billion in 2023 and a profit of $410 million.\n>\n> — The annual report of Acme\n",
        "\n\n> It is so.\n",
    ] {
        let found = with(honest);
        assert!(!found.contains(&AuditRule::QuotationInPage), "{honest}: {found:?}");
    }
}

#[test]
fn an_invented_quotation_loses_its_citation() {
    for (text, marked) in [
        (
            "Acme reported revenue {Acme}. Its head said: 'we lied to all of them' {Acme}.",
            "'we lied to all of them' (not confirmed by the sources).",
        ),
        (
            "Acme reported revenue {Acme}. Its head said this:\n\n> We lied to all of them, and it was good.\n",
            "> We lied to all of them, and it was good (not confirmed by the sources).",
        ),
        (
            "Acme reported revenue {Acme}.\n\n> We lied to Acme and its revenue {Acme}.\n",
            "> We lied to Acme and its revenue (not confirmed by the sources).",
        ),
    ] {
        let run = Scene::new(&[REVENUE]).writes(text).verifies(|_| json!("supported")).run();
        assert!(run.result.report.contains(marked), "{}", run.result.report);
        run.assert_clean();
    }
    let quoted =
        "> Acme reported revenue of $3.19 billion in 2023 and a profit of $410 million {Acme}.";
    let run = Scene::new(&[REVENUE]).writes(quoted).verifies(|_| json!("supported")).run();
    assert!(run.result.report.contains("million ["), "{}", run.result.report);
    run.assert_clean();
}
