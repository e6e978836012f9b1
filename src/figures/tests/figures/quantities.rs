//! The quantities of sentences, and how they compare.

use antiphon_figures::{
    QuantityBound, QuantityChange, QuantityKind, QuantityMismatch, QuantityVerdict, StatedQuantity,
    quantities,
};
use proptest::prelude::*;

fn one(text: &str) -> StatedQuantity {
    let found = quantities(text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found.into_iter().next().unwrap()
}

fn same(left: &str, right: &str) -> bool {
    one(left).compare(&one(right)).is_match()
}

#[test]
fn a_quantity_has_its_number_kind_and_unit_however_it_is_written() {
    for (text, normalized) in [
        ("It cost $3.2 billion.", "3200000000 USD"),
        ("It cost 3.2bn USD.", "3200000000 USD"),
        ("It cost USD 3.2 billion.", "3200000000 USD"),
        ("It cost 1,000M USD.", "1000000000 USD"),
        ("It cost US$5m.", "5000000 USD"),
        ("It is 25 meters long.", "25 m"),
        ("It is 25 m long.", "25 m"),
        ("It has 25M downloads.", "25000000"),
        ("It has 25K downloads.", "25000"),
        ("It has 3 million users.", "3000000 users"),
        ("It has 3 lakh users.", "300000 users"),
        ("It has 2.5 crore users.", "25000000 users"),
        ("It has 1,234 employees.", "1234 employees"),
        ("It has 1.234.567 Einwohner.", "1234567 people"),
        ("It has 12\u{2009}500 seats.", "12500 seats"),
        ("It grew 4.5 %.", "4.5 %"),
        ("It grew by 4.5 percentage points.", "4.5 percentage points"),
        ("It grew by 25 basis points.", "0.25 percentage points"),
        ("It is 3x faster.", "3 times"),
        ("It had minus 5 °C.", "-5 °C"),
        ("There were two hundred and fifty.", "250"),
        ("It has half a million users.", "500000 users"),
        ("In 2023.", "2023"),
        ("It takes 3–5 days.", "3–5 d"),
        ("It takes between 3 and 5 days.", "3–5 d"),
        ("It has 3–5 million users.", "3000000–5000000 users"),
        ("It cost $3–5 million.", "3000000–5000000 USD"),
    ] {
        assert_eq!(one(text).normalized(), normalized, "{text}");
    }
}

#[test]
fn names_with_numbers_in_them_are_no_quantities() {
    for text in [
        "Version 3.2 is out.",
        "GPT-4 and COVID-19.",
        "See section 4.",
        "He came 3rd.",
        "It is number 7.",
        "Release 1.2.3 fixes it.",
        "Q3 was good.",
        "At 14:35.",
        "On 3 May.",
    ] {
        assert_eq!(quantities(text), [], "{text}");
    }
    // Of a date the year counts.
    assert_eq!(one("On 3 May 2021.").kind, QuantityKind::Year);
}

#[test]
fn all_quantities_of_a_sentence_are_found_in_order() {
    let found = quantities("Of 120 patients, 45 (37.5%) fell from 3 mg to 2 mg in 2019-2021.");
    let texts: Vec<_> = found.iter().map(StatedQuantity::normalized).collect();
    assert_eq!(texts, ["120 patients", "45", "37.5 %", "3 mg", "2 mg", "2019", "2021"]);
}

#[test]
fn bounds_and_changes_are_read_from_the_words_around_a_number() {
    for (text, bound) in [
        ("about 5 %", QuantityBound::About),
        ("over 5 %", QuantityBound::Above),
        ("more than $5", QuantityBound::Above),
        ("no more than 5 %", QuantityBound::AtMost),
        ("at least 5 %", QuantityBound::AtLeast),
        ("less than 5 %", QuantityBound::Below),
        ("5M+ downloads", QuantityBound::AtLeast),
        ("exactly 5 %", QuantityBound::Exact),
    ] {
        assert_eq!(one(text).bound, bound, "{text}");
    }
    assert_eq!(one("Sales fell 5 %.").change, Some(QuantityChange::Down));
    assert_eq!(one("A 5 % increase.").change, Some(QuantityChange::Up));
    assert_eq!(one("It is more than 5 %.").change, None);
    let both = quantities("Revenue rose 5 % while costs fell 3 %.");
    assert_eq!(both[0].change, Some(QuantityChange::Up));
    assert_eq!(both[1].change, Some(QuantityChange::Down));
}

/// DR-25 of `docs/systems/deep-research.md`: quantities alone.
#[test]
fn quantities_are_the_same_only_with_the_same_unit_and_the_digits_that_are_shown() {
    assert!(same("$3.2 billion", "$3.19 billion"));
    assert!(!same("$3.2 billion", "$3.9 billion"));
    assert_eq!(one("1,000M USD").compare(&one("$1B")), QuantityVerdict::Exact);
    assert!(!same("25 meters", "25 million"));
    assert!(!same("95 %", "99 %"));
    assert!(same("95 %", "95.3 %"));
    assert!(!same("12 patients", "13 patients"));
    assert!(!same("5 users", "5 employees"));
    assert!(!same("3 €", "$3"));
    assert!(same("2 km", "2,000 m"));
    assert!(same("24 months", "2 years"));
    assert!(!same("in 2022", "in 2023"));
    assert!(!same("about 3.2 million", "4 million"));
    assert!(same("about 3 million", "2.9 million"));
    let differs = |left: &str, right: &str| one(left).compare(&one(right));
    for (left, right, how) in [
        ("3 %", "3 percentage points", QuantityMismatch::Kind),
        ("3 %", "3", QuantityMismatch::Kind),
        ("$3", "€3", QuantityMismatch::Unit),
        ("fell 3 %", "rose 3 %", QuantityMismatch::Change),
        ("a margin of 5 %", "a margin of -5 %", QuantityMismatch::Change),
        ("1,000,000,000,001 people", "1,000,000,000,002 people", QuantityMismatch::Value),
    ] {
        assert_eq!(differs(left, right), QuantityVerdict::Different(how), "{left} {right}");
    }
}

#[test]
fn a_bound_holds_what_lies_beyond_it() {
    let follows = |claim: &str, known: &str| one(claim).follows_from(&one(known)).is_match();
    assert!(follows("over 3M users", "3.2M users"));
    assert!(!follows("over 3M users", "2.9M users"));
    assert!(!follows("over 3M users", "3M users"));
    assert!(follows("at least 3M users", "3M users"));
    assert!(follows("over 3M users", "over 4M users"));
    assert!(!follows("over 4M users", "over 3M users"));
    assert!(follows("under 5 %", "4 %"));
    assert!(!follows("under 5 %", "over 4 %"));
    assert!(follows("between 3 and 5 days", "4 days"));
    assert!(!follows("between 3 and 5 days", "6 days"));
    assert!(!follows("4 days", "3–5 days"));
    assert!(follows("3–5 days", "between 3 and 5 days"));
}

#[test]
fn a_claim_may_round_what_is_known_and_not_refine_it() {
    let follows = |claim: &str, known: &str| one(claim).follows_from(&one(known)).is_match();
    assert!(follows("$3 billion", "$3.19 billion") || !same("$3 billion", "$3.19 billion"));
    assert!(follows("3.2 million", "3,214,567"));
    assert!(!follows("3,214,567", "3.2 million"));
    assert!(follows("about 3.2 million", "3,300,000"));
    assert!(!follows("3.2 million", "about 3.3 million"));
}

const UNITS: [&str; 8] = ["%", "km", "m", "users", "USD", "kg", "days", ""];
const SCALES: [&str; 4] = ["", " thousand", " million", " billion"];

prop_compose! {
    fn quantity()(
        whole in 0_u32..100_000,
        places in 0_usize..3,
        scale in 0..SCALES.len(),
        unit in 0..UNITS.len(),
    ) -> String {
        let number = f64::from(whole) / 10_f64.powi(i32::try_from(places).unwrap());
        format!("worth {number:.places$}{} {}", SCALES[scale], UNITS[unit])
    }
}

proptest! {
    #[test]
    fn a_quantity_is_the_same_as_itself(text in quantity()) {
        for quantity in quantities(&text) {
            prop_assert_eq!(quantity.compare(&quantity), QuantityVerdict::Exact);
            prop_assert_eq!(quantity.follows_from(&quantity), QuantityVerdict::Exact);
        }
    }

    #[test]
    fn plain_quantities_compare_the_same_in_both_orders(left in quantity(), right in quantity()) {
        let (left, right) = (quantities(&left), quantities(&right));
        for left in &left {
            for right in &right {
                let (one, other) = (left.compare(right), right.compare(left));
                prop_assert_eq!(one.is_match(), other.is_match(), "{:?} {:?}", left, right);
            }
        }
    }

    #[test]
    fn what_follows_is_also_the_same(left in quantity(), right in quantity()) {
        for left in &quantities(&left) {
            for right in &quantities(&right) {
                if left.follows_from(right).is_match() {
                    prop_assert!(left.compare(right).is_match());
                }
            }
        }
    }

    #[test]
    fn a_changed_digit_is_found(number in 1_000_u32..9_999_999, digit in 0_usize..4, by in 1_u32..9) {
        let text = number.to_string();
        let mut signs: Vec<u32> = text.chars().filter_map(|sign| sign.to_digit(10)).collect();
        signs[digit] = (signs[digit] + by) % 10;
        let other: String = signs.iter().map(ToString::to_string).collect();
        let (one, other) = (format!("{text} users"), format!("{other} users"));
        for left in &quantities(&one) {
            for right in &quantities(&other) {
                prop_assert!(!left.compare(right).is_match(), "{} {}", one, other);
            }
        }
    }

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        for quantity in quantities(&text) {
            let _ = quantity.normalized();
        }
    }
}
