//! What holds for all numbers, dates and texts.

use antiphon_figures::{FigureEvidence, added};
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

fn known(number: impl std::fmt::Display) -> FigureEvidence {
    let mut known = FigureEvidence::new();
    known.number(number);
    known
}

/// The number of findings in a sentence.
fn count(known: &FigureEvidence, sentence: &str) -> usize {
    known.mismatches(sentence).len()
}

const SCALES: [(&str, u64); 9] = [
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("b", 1_000_000_000),
    ("B", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("hundred", 100),
    ("thousand", 1_000),
    ("million", 1_000_000),
];
/// Zeros: Arabic, Persian, Devanagari, Bengali, Thai, Tibetan, Khmer, full-width, bold.
const ZEROS: [u32; 9] = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xf20, 0x17e0, 0xff10, 0x1d7ce];
const INVISIBLE: [char; 6] = ['\u{ad}', '\u{200b}', '\u{200d}', '\u{2060}', '\u{202e}', '\u{feff}'];
const MINUS: [&str; 12] =
    ["-", "−", "–", "\u{2011}", "- ", "– ", "minus ", "negative ", "-$", "$-", "−$", "-$ "];

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
    fn whole_numbers_of_any_size_differ_by_their_last_digit(number in 0_u128..=u128::MAX / 2, off in 1_u128..1_000) {
        let known = known(number);
        prop_assert_eq!(count(&known, &format!("It was {number}.")), 0);
        prop_assert_eq!(count(&known, &format!("It was {}.", number + off)), 1);
    }

    #[test]
    fn a_scale_multiplies(number in 2_u64..1_000, place in 0_usize..SCALES.len(), gap in prop::sample::select(vec!["", " ", "-"])) {
        let (scale, factor) = SCALES[place];
        let sentence = format!("It was {number}{gap}{scale}.");
        prop_assert_eq!(count(&known(number * factor), &sentence), 0, "{}", &sentence);
        prop_assert_eq!(count(&known(number), &sentence), 1, "{}", &sentence);
    }

    #[test]
    fn digits_of_every_script_are_read(number in 10_u64..1_000_000, zero in prop::sample::select(ZEROS.to_vec())) {
        let own = |digit: char| char::from_u32(zero + digit.to_digit(10).unwrap()).unwrap();
        let sentence = format!("It was {}.", number.to_string().chars().map(own).collect::<String>());
        prop_assert_eq!(count(&known(number), &sentence), 0, "{}", &sentence);
        prop_assert_eq!(count(&known(number + 1), &sentence), 1, "{}", &sentence);
    }

    #[test]
    fn what_is_invisible_splits_no_number(number in 10_u64..1_000_000, place in 1_usize..6, sign in prop::sample::select(INVISIBLE.to_vec())) {
        let mut digits = number.to_string();
        let place = place.min(digits.len() - 1);
        let head = digits[..place].to_owned();
        digits.insert(place, sign);
        let sentence = format!("It was {digits}.");
        prop_assert_eq!(count(&known(number), &sentence), 0, "{:?}", &sentence);
        let mut parts = known(head);
        parts.number(&number.to_string()[place..]);
        prop_assert_eq!(count(&parts, &sentence), 1, "{:?}", &sentence);
    }

    #[test]
    fn a_number_below_zero_is_another_one(number in 1_u32..1_000_000, places in 0_usize..3, before in prop::sample::select(MINUS.to_vec())) {
        let number = f64::from(number) / 10_f64.powi(i32::try_from(places).unwrap());
        let sentence = format!("It was {before}{number}.");
        let of = |number: f64| {
            let mut known = known(number);
            known.text("in $");
            known
        };
        prop_assert_eq!(count(&of(-number), &sentence), 0, "{}", &sentence);
        prop_assert_eq!(count(&of(number), &sentence), 1, "{}", &sentence);
    }

    #[test]
    fn a_count_is_no_percentage(number in 1_u32..100) {
        let sentence = format!("It was {}%.", number * 100);
        prop_assert_eq!(count(&known(number), &sentence), 1, "{}", &sentence);
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
