//! Numbers that are no quantities, against those of evidence.

use antiphon_citation::check_numbers;
use serde_json::json;

use crate::scene::Scene;

/// A sentence of the evidence, and what claims say in its place.
type Case<'c> = (&'c str, &'c [&'c str]);

const WRONG: &[Case<'_>] = &[
    ("was founded in the 18th century", &["was founded in the 16th century"]),
    ("won the 3rd prize", &["won the 5th prize", "won the fifth prize", "won the 1st prize"]),
    ("has a third wheel", &["has a fifth wheel"]),
    ("won the 1,000th prize", &["won the 2,000th prize"]),
    ("was founded in the eighteenth century", &["was founded in the sixteenth century"]),
    ("came third in the race", &["came fifth in the race", "came first in the race"]),
    ("stood in the twenty-first row", &["stood in the thirty-first row", "stood in row 2I"]),
    ("was in the 2nd division", &["was in the 1st division", "was in the first division"]),
    ("grew most in Q3", &["grew most in Q2", "grew most in the second quarter"]),
    ("lost money in FY2023", &["lost money in FY2021", "lost money in fiscal year 2021"]),
    ("stands by road A38", &["stands by road A83", "stands by road B38"]),
    ("closes at 5 pm", &["closes at 5 am", "closes at 05:00", "closes at 6 pm"]),
    ("closes at 17:30", &["closes at 5:30 am"]),
    ("was sold in 300 BC", &["was sold in 300 AD", "was sold in 300 CE"]),
    ("was sold in 300", &["was sold in 300 BC"]),
    ("stood from 300 to 200 BC", &["stood until AD 200"]),
    ("was built in the third century BC", &["was built in the third century AD"]),
    (
        "grinds 50 sacks an hour",
        &["grinds 50 sacks a minute", "grinds 50 sacks per day", "grinds 50 sacks/day"],
    ),
    ("grinds 50 sacks an hour, 8 hours a day", &["grinds 50 sacks a day"]),
    ("is closed twice a day", &["is closed twice a week", "is closed once a day"]),
    ("is closed three times a week", &["is closed three times a day", "is closed twice a week"]),
    ("cost 500 crowns", &["cost 500 crowns a year", "cost 500 crowns per month"]),
    ("has no stones", &["has one stone"]),
    ("has three stones", &["has one stone", "has no stones"]),
    ("burnt down once", &["burnt down thrice", "burnt down twice", "burnt down three times"]),
    ("burnt down twice", &["burnt down once", "burnt down thrice"]),
    ("has hundreds of sacks", &["has millions of sacks", "has tens of thousands of sacks"]),
    ("has a few sacks", &["has thousands of sacks"]),
    ("has 450 sacks", &["has thousands of sacks"]),
    ("has a single wheel", &["has a double wheel", "has a triple wheel"]),
    ("has a double wheel", &["has a single wheel"]),
    (
        "doubled its output",
        &["tripled its output", "halved its output", "raised its output tenfold"],
    ),
    ("doubled its price from 10 to 20 crowns", &["raised its price tenfold from 10 to 20 crowns"]),
    (
        "stands in chapter IX of the act",
        &["stands in chapter XIV of the act", "stands in chapter 8 of the act"],
    ),
    ("stands in chapter nine of the act", &["stands in chapter ten of the act"]),
    ("belonged to Louis XIV", &["belonged to Louis XVI", "belonged to Louis the sixteenth"]),
    ("fell in World War I", &["fell in World War II"]),
];

const RIGHT: &[Case<'_>] = &[
    ("was founded in the 18th century", &["was founded in the eighteenth century"]),
    ("was founded in the twenty-first year", &["was founded in the 21st year"]),
    ("was founded in 1888", &["was first lit in 1888", "was founded on first thoughts in 1888"]),
    ("was sold, and has a lamp", &["was sold. Second, it has a lamp", "has a second lamp"]),
    ("grinds 50 sacks per second", &["grinds 50 sacks each second", "grinds 50 sacks a second"]),
    ("sold a third of its flour", &["sold one third of its flour"]),
    ("lost 33.3 % of its flour", &["lost a third of its flour"]),
    ("fell by a fifth in 1890", &["fell by a fifth in 1890", "in 1890 fell by 20 %"]),
    ("was sold on 3 May 1890", &["was sold on the 3rd of May 1890", "was sold on May 3rd, 1890"]),
    ("grew most in Q3", &["grew most in the third quarter", "grew most in the 3rd quarter"]),
    ("lost money in FY2023", &["lost money in fiscal year 2023", "lost money in FY23"]),
    ("stands by road A38", &["stands by road a38"]),
    ("has the engine B-52", &["has the engine B52"]),
    ("has 12 stones of 8kB", &["has 12 stones of 8 kB"]),
    ("closes at 5 pm", &["closes at 17:00", "closes at 5 p.m.", "closes at 5pm"]),
    ("closes at 05:30", &["closes at 5:30 am"]),
    ("was sold in 300 BC", &["was sold in 300 BCE", "was sold in 300 B.C."]),
    ("was sold in 300", &["was sold in 300 AD", "was sold in AD 300"]),
    ("stood from 300 to 200 BC", &["stood from 300 BC to 200 BC"]),
    (
        "grinds 50 sacks an hour",
        &["grinds 50 sacks per hour", "grinds 50 sacks hourly", "grinds 50 sacks every hour"],
    ),
    ("is closed twice a day", &["is closed two times a day", "is closed twice each day"]),
    ("has an annual output of 50 sacks", &["grinds 50 sacks a year"]),
    ("was sold in 1890 and burnt in 1891", &["was sold in 1890 and burnt after a year in 1891"]),
    ("has a stone", &["has one stone"]),
    ("has three stones, of which a stone is old", &["has one stone that is old"]),
    ("has not been lit", &["has no lamp"]),
    ("burnt down twice", &["burnt down two times", "burnt down 2 times"]),
    ("burnt down three times", &["burnt down thrice"]),
    ("burnt down twice", &["was once a house and burnt down twice"]),
    (
        "doubled its output",
        &["had twice the output", "had a twofold output", "had a 2-fold output"],
    ),
    ("doubled its output", &["doubles its output", "had an output two times as large"]),
    ("raised its price from 10 to 20 crowns", &["doubled its price from 10 to 20 crowns"]),
    ("raised its price from 10 to 100 crowns", &["raised its price tenfold, to 100 crowns"]),
    ("raised its price by 5 crowns", &["has not doubled its price"]),
    ("has 12,400 sacks", &["has thousands of sacks", "has tens of thousands of sacks"]),
    ("has hundreds of sacks", &["has hundreds of them"]),
    (
        "stands in chapter IX of the act",
        &["stands in chapter 9 of the act", "stands in the ninth chapter"],
    ),
    (
        "stands in chapter 9 of the act",
        &["stands in chapter IX of the act", "stands in chapter nine"],
    ),
    ("belonged to Louis XIV", &["belonged to Louis the fourteenth"]),
    ("lost 3 % of its flour", &["lost 3 per cent of its flour", "lost three percent of its flour"]),
    ("stammt aus dem 18. Jahrhundert", &["was founded in the 18th century"]),
    ("date du XVIIIe siècle", &["was founded in the 18th century"]),
];

fn checks(claim: &str, evidence: &str) -> Vec<String> {
    let claim = format!("The mill of Orrel {claim}.");
    let evidence = format!("The mill of Orrel {evidence}.");
    let checks = check_numbers(&claim, &[&evidence], &[]).into_iter();
    checks.filter(|it| !it.status.is_match()).map(|it| it.claim_value).collect()
}

/// DR-25 of `docs/systems/deep-research.md`.
#[test]
fn wrong_numbers_that_are_no_quantities_are_found() {
    let all =
        WRONG.iter().flat_map(|(evidence, claims)| claims.iter().map(move |it| (evidence, it)));
    let passing: Vec<_> =
        all.filter(|(evidence, claim)| checks(claim, evidence).is_empty()).collect();
    assert_eq!(passing, []);
}

/// DR-25 of `docs/systems/deep-research.md`.
#[test]
fn the_same_number_in_another_form_passes() {
    let all =
        RIGHT.iter().flat_map(|(evidence, claims)| claims.iter().map(move |it| (evidence, it)));
    let all = all.map(|(evidence, claim)| (evidence, claim, checks(claim, evidence)));
    let refused: Vec<_> = all.filter(|(.., found)| !found.is_empty()).collect();
    assert_eq!(refused, []);
    let all = WRONG.iter().chain(RIGHT).map(|(evidence, _)| (evidence, checks(evidence, evidence)));
    let refused: Vec<_> = all.filter(|(_, found)| !found.is_empty()).collect();
    assert_eq!(refused, []);
}

#[test]
fn what_titles_say_is_known() {
    let said = |context: &[&str]| {
        let claim = "In the third quarter the mill of chapter IX grew, the 3rd time.";
        check_numbers(claim, &["The mill grew."], context).len()
    };
    assert_eq!(said(&[]), 3);
    assert_eq!(said(&["Q3", "Chapter IX", "The third time"]), 0);
}

/// DR-16 of `docs/systems/deep-research.md`.
#[test]
fn a_place_in_an_order_without_a_citation_is_marked() {
    let evidence = "The tea house of Orrel was founded in the 18th century by a keeper of lamps.";
    let text = "The tea house of Orrel was founded in the 16th century. It was founded by a keeper \
                of lamps {keeper of lamps}.";
    let run = Scene::new(&[evidence]).writes(text).verifies(|_| json!("supported")).run();
    let marked = "in the 16th century (not confirmed by the sources). It was founded";
    assert!(run.result.report.contains(marked), "{}", run.result.report);
    run.assert_clean();
}
