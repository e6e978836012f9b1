//! Parts of a whole, in words and signs, and what only looks like one.

use antiphon_figures::{QuantityKind, QuantityVerdict, StatedQuantity, quantities};
use proptest::prelude::*;

fn one(text: &str) -> StatedQuantity {
    let found = quantities(text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found.into_iter().next().unwrap()
}

fn follows(claim: &str, known: &str) -> bool {
    one(claim).follows_from(&one(known)).is_match()
}

#[test]
fn a_part_of_a_whole_is_a_percentage_of_it() {
    for (text, value) in [
        ("Two thirds of the isles.", 66.6667),
        ("two-thirds of the isles", 66.6667),
        ("2/3 of the isles", 66.6667),
        ("⅔ of the isles", 66.6667),
        ("zwei Drittel der Inseln", 66.6667),
        ("dos tercios de las islas", 66.6667),
        ("a third of the isles", 33.3333),
        ("One third of the isles.", 33.3333),
        ("It fell by a third.", 33.3333),
        ("It needs a third less.", 33.3333),
        ("Half of the isles.", 50.0),
        ("Half the isles.", 50.0),
        ("one half of the isles", 50.0),
        ("More than half were lost.", 50.0),
        ("Die Hälfte der Inseln.", 50.0),
        ("la moitié des îles", 50.0),
        ("la mitad de las islas", 50.0),
        ("½ of the isles", 50.0),
        ("three quarters of the isles", 75.0),
        ("a quarter of the isles", 25.0),
        ("ein Viertel der Inseln", 25.0),
        ("three tenths of it", 30.0),
        ("three fifths voted", 60.0),
        ("a two-thirds majority", 66.6667),
        ("a 2/3 majority", 66.6667),
        ("A tenth of it.", 10.0),
        ("a hundredth of it", 1.0),
    ] {
        let found = one(text);
        assert_eq!(found.kind, QuantityKind::Percent, "{text}");
        assert!((found.value() - value).abs() < 1e-9, "{text}: {}", found.value());
    }
}

#[test]
fn a_part_of_a_unit_is_a_measure() {
    for (text, normalized) in [
        ("It is half a mile long.", "0.5 mi"),
        ("a quarter of an hour", "0.25 h"),
        ("It is 2½ km long.", "2.5 km"),
        ("½ km", "0.5 km"),
        ("It took two and a half hours.", "2.5 h"),
        ("two and a half million users", "2500000 users"),
        ("one and a half million users", "1500000 users"),
        ("a half million users", "500000 users"),
        ("5 and a quarter hours", "5.25 h"),
        ("half a million users", "500000 users"),
    ] {
        assert_eq!(one(text).normalized(), normalized, "{text}");
    }
    assert!(follows("two and a half hours", "2.5 hours"));
    assert!(follows("2.5 hours", "two and a half hours"));
    assert!(!follows("two hours", "two and a half hours"));
}

#[test]
fn what_only_looks_like_a_part_is_none() {
    for text in [
        "It came at half past two.",
        "The third place went to Hamn.",
        "A third man was there.",
        "The second quarter of 1934 was good.",
        "In a quarter of 1934 it fell.",
        "The first half of the match was lost.",
        "the second half of the century",
        "the southern half of the isle",
        "Her half-brother came.",
        "a half-hearted try",
        "He lived in the Latin quarter of the town.",
        "A quarter past six it rang.",
        "one third place",
        "a fifth wheel",
        "The fourth of May.",
        "the tenth of them",
        "On 2/3 it rained.",
        "the left half of the page",
        "half a loaf",
        "von der ersten Hälfte der Saison",
        "das Viertel der Fischer",
        "un tiers payant",
    ] {
        let parts: Vec<_> =
            quantities(text).into_iter().filter(|it| it.kind == QuantityKind::Percent).collect();
        assert_eq!(parts, [], "{text}");
    }
    // Three months each, and none of a whole.
    for text in ["the last three quarters of the year", "for three quarters in a row"] {
        assert!(quantities(text).iter().all(|it| it.kind != QuantityKind::Percent), "{text}");
    }
}

#[test]
fn parts_and_percentages_are_compared_as_numbers() {
    for (claim, known) in [
        ("two thirds of the isles", "66.7 % of the isles"),
        ("66.7 % of the isles", "two thirds of the isles"),
        ("66.67 %", "2/3 of the isles"),
        ("67 %", "two thirds of it"),
        ("two thirds of it", "67 %"),
        ("half of it", "50 %"),
        ("50 %", "half of it"),
        ("0.5 km", "half a kilometre"),
        ("three quarters of it", "75 %"),
        ("a third of it", "33.3 %"),
        ("about half of it", "51.2 %"),
        ("more than half of it", "54 %"),
        ("nearly two thirds of it", "65 %"),
        ("two thirds of it", "⅔ of it"),
    ] {
        assert!(follows(claim, known), "{claim} | {known}");
    }
    for (claim, known) in [
        ("two thirds of it", "66 %"),
        ("half of it", "two thirds of it"),
        ("a third of it", "a quarter of it"),
        ("half of it", "45 %"),
        ("more than half of it", "45 %"),
        ("three quarters of it", "70 %"),
        ("half a mile", "a quarter of a mile"),
        ("70 %", "two thirds of it"),
        ("66.6 %", "two thirds of it"),
    ] {
        assert!(!follows(claim, known), "{claim} | {known}");
    }
    assert_eq!(one("2/3 of it").compare(&one("two thirds of it")), QuantityVerdict::Exact);
}

#[test]
fn a_part_has_its_direction_and_its_bound() {
    assert!(!follows("It rose by a third.", "It fell by a third."));
    assert!(follows("It fell by half.", "It fell by 50 %."));
}

const COUNTS: [&str; 8] = ["two", "three", "four", "five", "six", "seven", "eight", "nine"];
const PARTS: [(&str, u32); 7] = [
    ("thirds", 3),
    ("fifths", 5),
    ("sixths", 6),
    ("sevenths", 7),
    ("eighths", 8),
    ("ninths", 9),
    ("tenths", 10),
];

proptest! {
    #[test]
    fn a_part_is_the_same_in_words_digits_and_percent(count in 2_u32..10, part in 0_usize..PARTS.len(), places in 0_usize..4) {
        let (name, parts) = PARTS[part];
        prop_assume!(count < parts);
        let words = format!("{} {name} of them", COUNTS[count as usize - 2]);
        let digits = format!("{count}/{parts} of them");
        prop_assert_eq!(one(&words).compare(&one(&digits)), QuantityVerdict::Exact);
        let value = f64::from(count) * 100.0 / f64::from(parts);
        let percent = format!("{value:.places$} % of them");
        prop_assert!(follows(&percent, &words), "{} {}", percent, words);
        prop_assert!(follows(&words, &percent), "{} {}", percent, words);
        let wrong = format!("{:.places$} % of them", value + 1.5);
        prop_assert!(!follows(&wrong, &words), "{} {}", wrong, words);
        prop_assert!(!follows(&words, &wrong), "{} {}", wrong, words);
    }

    #[test]
    fn different_parts_are_different(left in 1_u32..40, right in 1_u32..40, under in 2_u32..40) {
        prop_assume!(left < under && right < under);
        let part = |over: u32| format!("{over}/{under} of them");
        let is_same = one(&part(left)).compare(&one(&part(right))).is_match();
        prop_assert_eq!(is_same, left == right);
    }

    #[test]
    fn ordinals_before_halves_and_quarters_are_no_parts(
        before in prop::sample::select(vec!["first", "second", "last", "next", "other", "previous"]),
        name in prop::sample::select(vec!["half", "quarter"]),
        after in prop::sample::select(vec!["of the year", "of 1934", "of the match", "was good", "of May"]),
    ) {
        let text = format!("the {before} {name} {after}");
        prop_assert!(quantities(&text).iter().all(|it| it.kind != QuantityKind::Percent), "{}", text);
    }
}

#[test]
fn a_part_of_a_unit_with_a_slash_is_that_part() {
    for (claim, known) in [
        ("0.5 inch thick", "1/2 inch thick"),
        ("half an inch thick", "1/2 inch thick"),
        ("1/2 inch thick", "½ inch thick"),
        ("2.5 miles", "2 1/2 miles"),
        ("0.75 hours", "3/4 hours"),
    ] {
        assert!(follows(claim, known), "{claim}: {known}");
    }
    for (claim, known) in
        [("2 inch thick", "1/2 inch thick"), ("2 miles", "2 1/2 miles"), ("4 hours", "3/4 hours")]
    {
        assert!(!follows(claim, known), "{claim}: {known}");
    }
    for text in ["5/10 km", "on 1/2/1934", "24/7 hours"] {
        let found = quantities(text);
        assert!(found.iter().all(|it| it.value() > 0.9), "{text}: {found:?}");
    }
}
