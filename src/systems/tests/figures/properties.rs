//! What holds for all numbers, dates and texts.

use antiphon_systems::figures::{FigureEvidence, added};
use proptest::prelude::*;

/// The digits of a whole number in groups of three.
fn grouped(number: u64, mark: &str) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push_str(mark);
        }
        text.push(digit);
    }
    text
}

fn known(number: f64) -> FigureEvidence {
    let mut known = FigureEvidence::new();
    known.number(number);
    known
}

proptest! {
    #[test]
    fn a_whole_number_is_found_in_every_grouping(number in 0_u64..1_000_000_000) {
        for mark in ["", ",", ".", " ", "'", "\u{a0}", "\u{202f}"] {
            let sentence = format!("It was {}.", grouped(number, mark));
            #[expect(clippy::cast_precision_loss, reason = "smaller than 2^53")]
            let found = known(number as f64).mismatches(&sentence);
            prop_assert!(found.is_empty(), "{sentence}: {found:?}");
        }
    }

    #[test]
    fn another_whole_number_is_always_reported(number in 0_u32..1_000_000, off in 1_u32..1_000_000) {
        let sentence = format!("It was {}.", number + off);
        prop_assert_eq!(known(f64::from(number)).mismatches(&sentence).len(), 1);
    }

    #[test]
    fn a_number_may_be_rounded_to_two_digits_or_more(
        number in 10.0_f64..1e6, places in 0_usize..4, is_negative in any::<bool>(),
    ) {
        let number = if is_negative { -number } else { number };
        let figure = format!("{number:.places$}");
        for sentence in [format!("It was {figure}."), format!("Es waren {}.", figure.replace('.', ","))] {
            let found = known(number).mismatches(&sentence);
            prop_assert!(found.is_empty(), "{sentence}: {found:?}");
            prop_assert!(known(number).states(&sentence, number), "{sentence}");
        }
    }

    #[test]
    fn a_date_is_the_same_in_every_notation(year in 1900_i32..2100, month in 1_usize..=12, day in 1_u32..=28) {
        const NAMES: [&str; 12] = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September",
            "October", "November", "December",
        ];
        let mut known = FigureEvidence::new();
        known.text(&format!("{year}-{month:02}-{day:02}"));
        let name = NAMES[month - 1];
        let notations = [
            format!("{day} {name} {year}"), format!("{name} {day}, {year}"), format!("{name} {year}"),
            format!("{day}.{month}.{year}"), format!("{month}/{day}/{year}"),
            format!("{day}/{month:02}/{year}"), format!("{day} {name}"),
        ];
        for notation in notations {
            prop_assert_eq!(known.mismatches(&notation), [], "{}", notation);
        }
        let next = format!("{} {name} {year}", day + 1);
        prop_assert_eq!(known.mismatches(&next).len(), 1);
    }

    #[test]
    fn a_text_adds_nothing_to_itself(text in "[ -~äöü€°²’−\n]{0,80}") {
        prop_assert_eq!(added(&text, &text), []);
    }

    #[test]
    fn no_text_is_too_strange(known in "\\PC{0,60}", text in "\\PC{0,60}") {
        let _ = added(&text, &known);
    }
}
