//! Numbers of claims against those of evidence.

use antiphon_citation::{
    CitationQuery, NumberStatus, Verdict, check_numbers, verdict_after_numbers,
};
use serde_json::json;

use crate::scene::{HARVEST, REVENUE, STAFF, Scene, TEA};

/// Whether a claim passes with this evidence.
fn passes(claim: &str, evidence: &str) -> bool {
    check_numbers(claim, &[evidence], &[]).iter().all(|check| check.status.is_match())
}

/// DR-25 of `docs/systems/deep-research.md`.
#[test]
fn right_numbers_pass_however_they_are_written() {
    for (claim, evidence) in [
        ("Acme's revenue was $3.2 billion in 2023.", REVENUE),
        ("In 2023, Acme had revenue of 3.19bn USD.", REVENUE),
        ("Acme's profit was $410M.", REVENUE),
        ("Acme had revenue of about $3.1 billion.", REVENUE),
        ("Kenya harvested more than half a million tonnes of tea.", HARVEST),
        ("Kenya harvested over 500,000 tonnes of tea in 2023.", HARVEST),
        ("The harvest was 570 thousand tonnes.", HARVEST),
        ("Acme employs 12,400 people.", STAFF),
        ("Globex employs 9,100 people.", STAFF),
        ("Acme employs some 12,000 people in 14 countries.", STAFF),
        ("Therefore, the answer is that green tea steeps for two minutes at 80 °C.", TEA),
        ("Overall, it steeps for two minutes.", TEA),
    ] {
        assert!(passes(claim, evidence), "{claim}: {:#?}", check_numbers(claim, &[evidence], &[]));
    }
}

/// DR-25 of `docs/systems/deep-research.md`: wrong value, entity, period, unit, digits, multiplier, direction.
#[test]
fn wrong_numbers_are_found() {
    for (claim, evidence) in [
        ("Acme's revenue was $3.9 billion in 2023.", REVENUE),
        ("Acme's revenue was $3.19 billion in 2022.", REVENUE),
        ("Acme's revenue was €3.19 billion in 2023.", REVENUE),
        ("Acme's revenue was $3.19 million in 2023.", REVENUE),
        ("Acme's revenue was $3.1942 billion in 2023.", REVENUE),
        ("Acme's revenue was $410 million in 2023.", REVENUE),
        ("Acme's profit was $3.19 billion in 2023.", REVENUE),
        ("Globex reported revenue of $3.19 billion in 2023.", REVENUE),
        ("Kenya harvested 570,000 kilograms of tea in 2023.", HARVEST),
        ("Kenya harvested 6 % less tea in 2023.", HARVEST),
        ("Kenya harvested 507,000 tonnes of tea in 2023.", HARVEST),
        ("Kenya harvested 570,000 tonnes of tea in 2022.", HARVEST),
        ("Acme employs 9,100 people.", STAFF),
        ("Globex employs 12,400 people.", STAFF),
        ("Acme employs 12,400 people in 41 countries.", STAFF),
        (
            "On 32 March 32 people were aboard.",
            "On 14 March 32 people were aboard, says the log. 32 of 40.",
        ),
    ] {
        assert!(!passes(claim, evidence), "{claim}: {:#?}", check_numbers(claim, &[evidence], &[]));
    }
}

/// DR-25 of `docs/systems/deep-research.md`: money is no number of people, whatever is cited beside it.
#[test]
fn an_amount_of_money_counts_nobody() {
    let passes = |claim: &str, evidence: &[&str]| {
        check_numbers(claim, evidence, &[]).iter().all(|check| check.status.is_match())
    };
    let fleet = "Acme keeps 4,300 kilns in Lund.";
    for (claim, evidence, is_right) in [
        ("Acme employs 12,400 people and had $3.19 billion revenue.", [REVENUE, STAFF], true),
        ("Acme had $3.2 billion in revenue and a profit of $410 million.", [REVENUE, STAFF], true),
        ("Acme employs $3.19 billion people.", [REVENUE, STAFF], false),
        ("Acme has $410 million employees.", [REVENUE, TEA], false),
        ("Acme keeps $410 million kilns.", [REVENUE, fleet], false),
        ("Acme employs 3.19 billion people.", [REVENUE, STAFF], false),
        ("Acme had revenue of $12,400.", [REVENUE, STAFF], false),
        ("Acme had revenue of 12,400.", [REVENUE, STAFF], false),
    ] {
        assert_eq!(passes(claim, &evidence), is_right, "{claim}");
    }
}

const SCHOOL: &str = "The school of Lund, opened on 1 June 1903, has 146 pupils and 5 teachers.";

#[test]
fn a_number_of_the_evidence_in_the_place_of_another_one_is_found() {
    for claim in [
        "The school of Lund was opened on 1 June 1903.",
        "In June 1903 the school of Lund was opened.",
        "The school of Lund has 146 pupils and 5 teachers.",
        "The school of Lund has 146 children.",
    ] {
        assert!(passes(claim, SCHOOL), "{claim}: {:#?}", check_numbers(claim, &[SCHOOL], &[]));
    }
    for claim in [
        "The school of Lund was opened on 5 June 1903.",
        "The school of Lund was opened on 1 July 1903.",
        "The school of Lund was opened in May 1903.",
        "The school of Lund has 5 pupils and 5 teachers.",
        "The school of Lund has 5 pupils.",
        "The school of Lund has 5 pupils and 146 teachers.",
        "The school of Lund was opened in 146 and has 146 pupils.",
        "In 146 the school of Lund was opened.",
    ] {
        assert!(!passes(claim, SCHOOL), "{claim}: {:#?}", check_numbers(claim, &[SCHOOL], &[]));
    }
}

#[test]
fn a_numeral_that_names_something_has_to_stand_in_the_evidence() {
    let evidence = "The levels of isolation are described in Table 13.1; for the changes of \
                    release 15 of 13 October 2022 see Section E.1 and version 3.";
    for (claim, is_right) in [
        ("The levels of isolation are described in Table 13.1.", true),
        ("The levels are in table 13.1, the changes of release 15 in Section E.1.", true),
        ("Release 15 came on 2022-10-13.", true),
        ("The levels of isolation are described in Table 77.", false),
        ("The changes of release 150 are in Section E.1.", false),
        ("The changes of release 15 are in Section E.210.", false),
        ("It is version 4.", false),
    ] {
        let checks = check_numbers(claim, &[evidence], &[]);
        assert_eq!(checks.iter().all(|it| it.status.is_match()), is_right, "{claim}: {checks:#?}");
    }
}

#[test]
fn a_sentence_that_ends_with_a_quotation_is_marked_within() {
    let evidence =
        "In 1928 the chairman of the tea harvest said: \"Our tea line is 24.7 kilometres long.\"";
    let text = "In 1982 the chairman of the tea harvest said: \"Our tea line is 24.7 kilometres long.\" \
        The tea line is 24.7 kilometres long {chairman of the tea}.";
    let run = Scene::new(&[evidence]).writes(text).verifies(|_| json!("supported")).run();
    let marked = "kilometres long\" (not confirmed by the sources). The tea line is";
    assert!(run.result.report.contains(marked), "{}", run.result.report);
    run.assert_clean();
}

#[test]
fn a_sentence_in_brackets_is_marked_within() {
    let evidence = "(If a page is not 8kB, the default value scales with it.) The leaves of tea are cached for each of the pages.";
    let text = "(If a page is not 1kB, the default value scales with it.) The leaves of tea are cached {leaves}.";
    let run = Scene::new(&[evidence]).writes(text).verifies(|_| json!("supported")).run();
    let marked = "scales with it) (not confirmed by the sources). The leaves";
    assert!(run.result.report.contains(marked), "{}", run.result.report);
    run.assert_clean();
}

#[test]
fn a_wrong_number_lowers_a_verdict_and_a_right_one_never_raises_it() {
    let after = |claim: &str, verdict| {
        verdict_after_numbers(verdict, &check_numbers(claim, &[REVENUE], &[]))
    };
    let wrong = "Acme reported revenue of $3.9 billion in 2023.";
    assert_eq!(after(wrong, Verdict::Supported), Verdict::Contradicted);
    let in_part = "Acme reported revenue of $3.19 billion and 500 patents in 2023.";
    assert_eq!(after(in_part, Verdict::Supported), Verdict::Partial);
    assert_eq!(after("Revenue was $3.19 billion.", Verdict::Unsupported), Verdict::Unsupported);
}

/// DR-26 of `docs/systems/deep-research.md`.
#[test]
fn a_sum_of_numbers_in_the_evidence_is_checked_by_computing_it() {
    let evidence =
        "The north plant made 10 tonnes of tea and the south plant made 20 tonnes of tea.";
    let run_with_total = |total: &str| {
        let text = format!("The plants made {total} tonnes of tea in total {{north plant}}.");
        let reply = json!({"answers": [], "computation":
            {"operation": "sum", "operands": ["10 tonnes", "20 tonnes"]}});
        Scene::new(&[evidence]).writes(&text).answers(move |_| reply.clone()).run()
    };
    let right = run_with_total("30");
    assert_eq!(right.claim("30 tonnes").numbers[0].status, NumberStatus::Computed);
    assert!(right.result.report.contains("[Sitea]"), "{}", right.result.report);
    right.assert_clean();
    let wrong = run_with_total("35");
    assert!(!wrong.claim("35 tonnes").is_delivered(), "{}", wrong.result.report);
    wrong.assert_clean();
}

/// DR-25 of `docs/systems/deep-research.md`: the evidence is asked without the claim.
#[test]
fn what_the_evidence_answers_can_be_asked_without_the_claim() {
    let run_isolating = |isolates: bool| {
        Scene::new(&[REVENUE])
            .settings(|it| it.isolates_answers = isolates)
            .writes("Acme reported revenue of $9.99 billion in 2023 {Acme reported}.")
            .answers(|query| {
                let answer = |claim: &str, evidence: &str| {
                    json!({"answers": [{"question": "What was the revenue?",
                    "claim_answer": claim, "evidence_answer": evidence}]})
                };
                match query {
                    CitationQuery::AskNumbers { .. } => answer("$9.99 billion", ""),
                    CitationQuery::AnswerNumbers { .. } => answer("", "$3.19 billion"),
                    _ => answer("$9.99 billion", "$3.19 billion"),
                }
            })
            .run()
    };
    let (isolated, shown) = (run_isolating(true), run_isolating(false));
    assert_eq!(isolated.claim("revenue").numbers, shown.claim("revenue").numbers);
    assert_eq!(isolated.result.report, shown.result.report);
    let asked: Vec<String> = isolated
        .requests
        .iter()
        .map(|it| json!(it.query).to_string())
        .filter(|query| query.contains("_numbers"))
        .collect();
    let [claim, evidence] = &asked[..] else { panic!("{asked:?}") };
    assert!(claim.contains("9.99") && !claim.contains("3.19"), "{claim}");
    assert!(evidence.contains("What was the revenue?") && evidence.contains("3.19"), "{evidence}");
    assert!(!evidence.contains("9.99"), "{evidence}");
    // Without an answer code alone decides.
    let text = "Acme reported revenue of $9.99 billion in 2023 {Acme reported}.";
    let silent =
        Scene::new(&[REVENUE]).settings(|it| it.isolates_answers = true).writes(text).run();
    assert_eq!(silent.result.report, shown.result.report);
    silent.assert_clean();
}

#[test]
fn operands_that_are_not_in_the_evidence_prove_nothing() {
    let reply = json!({"answers": [], "computation":
        {"operation": "sum", "operands": ["15 tonnes", "20 tonnes"]}});
    let evidence =
        "The north plant made 10 tonnes of tea and the south plant made 20 tonnes of tea.";
    let run = Scene::new(&[evidence])
        .writes("The plants made 35 tonnes of tea in total {north plant}.")
        .answers(move |_| reply.clone())
        .run();
    assert!(!run.claim("35 tonnes").is_delivered(), "{}", run.result.report);
    run.assert_clean();
}
