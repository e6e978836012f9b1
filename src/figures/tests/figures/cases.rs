//! Hard cases, one a line: what is known, and what a sentence may say of it.

use antiphon_figures::{FigureEvidence, FigureMismatch, added};

/// A result with the text around it, and a sentence.
type Case<'c> = (f64, &'c str, &'c str);

const RIGHT: &[Case<'_>] = &[
    (2.0, "Which month?", "It was February."),
    (2.0, "How many?", "There are two."),
    (2.0, "How many?", "2"),
    (0.0, "How many?", "There are none."),
    (1.0, "How many?", "Only one does."),
    (35.6172, "temp_c", "It was 35.6 °C."),
    (35.6172, "temp_c", "It was 35.6 degrees Celsius."),
    (35.6172, "temp_c", "It was 35.62 degrees."),
    (35.6172, "", "It was 36."),
    (1_200_000.0, "", "It was 1200000."),
    (1_200_000.0, "", "It was 1,200,000."),
    (1_200_000.0, "", "Es waren 1.200.000."),
    (1_200_000.0, "", "C'était 1 200 000."),
    (1_200_000.0, "", "It was 1'200'000."),
    (1_200_000.0, "", "It was 12,00,000."),
    (1_200_000.0, "", "It was 1.2 million."),
    (1_200_000.0, "", "Es waren 1,2 Mio."),
    (1_234_567.0, "", "Es waren 1,23 Millionen."),
    (1_234_567.0, "net_eur", "It was €1.2M."),
    (1_234_567.0, "", "It was about 1,200,000."),
    (2_000_000_000.0, "", "It was 2 bn."),
    (2_000_000_000.0, "", "Es waren 2 Milliarden."),
    (1_234.5, "", "It was 1,234.5."),
    (1_234.5, "", "Es waren 1.234,5."),
    (1_234.5, "", "C'était 1\u{202f}234,5."),
    (0.25, "", "25 %"),
    (0.2537, "", "About 25% do."),
    (0.2537, "", "25.4 percent do."),
    (25.0, "share_pct", "25% do."),
    (25.0, "What percentage?", "It is 25 percent."),
    (-5.0, "", "It was -5."),
    (-5.0, "", "It was −5."),
    (-5.0, "", "It fell by 5."),
    (1.5e-7, "", "It was 1.5e-7."),
    (6.022e23, "", "It was 6.022E23."),
    (35.0, "longer than 220 mm", "35 have flippers longer than 220 mm."),
    (25.0, "", "It was twenty-five."),
    (250.0, "", "It was two hundred and fifty."),
    (25.0, "", "Es waren fünfundzwanzig."),
    (3.0, "", "The 3rd of them."),
    (2023.0, "Which year?", "In 2023."),
    (40.0, "price in $", "It cost $40."),
    (40.0, "price_usd", "It cost 40 dollars."),
    (5.0, "How many days?", "It took 5 days."),
    (0.0, "Which weekday?", "On Monday."),
    (42.0, "age", "She is 42 years old."),
    (120.0, "speed_kmh", "It drove 120 km/h."),
    (12.0, "area m2", "It has 12 m²."),
    (12.0, "Q3", "Q3 sold 12."),
    (7.0, "on 2023-04-15", "On 15 April 2023 there were 7."),
    (7.0, "on 2023-04-15", "Am 15. April 2023 waren es 7."),
    (7.0, "on 2023-04-15", "On April 15th, 2023 there were 7."),
    (7.0, "on 2023-04-15", "Le 15 avril 2023 : 7."),
    (7.0, "on 2023-04-15", "On 4/15/2023, a Saturday, it was 7."),
    (7.0, "on 2023-04-15", "Am 15.04.2023 waren es 7."),
    (7.0, "on 2023-04-15", "In April 2023 there were 7."),
    (7.0, "at 2023-04-15T14:35:00", "At 14:35 it was 7."),
    (7.0, "since the 1960s", "Since the 1960s there were 7."),
    (9.0, "", "1. It was 9.\n2. That is all."),
    (3.0, "", "It may be 3, and they march on."),
    (42_000_000_000.0, "", "It was 42B."),
    (42_000.0, "", "It was 42 k."),
    (42.0, "depth_m", "It was 42 m deep."),
    (4_200.0, "", "It was 42 hundred."),
    (4_200.0, "", "It was forty-two hundred."),
    (999.0, "", "It was ９９９."),
    (999.0, "", "It was ٩٩٩."),
    (999.0, "", "It was 9\u{200b}99."),
    (999.0, "10²", "It was 999 times 10²."),
    (-7.5, "", "It was –7.5."),
    (-7.5, "", "It was \u{2011}7.5."),
    (-7.5, "", "It was - 7.5."),
    (-7.5, "", "- 7.5"),
    (-7.5, "net_usd", "It was -$7.5."),
    (-7.5, "net_usd", "It was $-7.5."),
    (-7.5, "net_usd", "It was minus 7.5 dollars."),
    (-42.0, "", "It was negative forty-two."),
    (40.0, "", "North - 40"),
    (40.0, "", "Sold:\n- 40 in the north\n- 40 in the south"),
    (4_915_112_345_678.0, "", "It was 4,915,112,345,678."),
    (4_915_112_345_678.0, "", "It was 4.915 trillion."),
    (9_007_199_254_740_992.0, "", "It was 9007199254740992."),
    (0.1 + 0.2, "", "It was 0.3."),
    (1.0, "share", "100% do."),
    (0.0, "share", "0% do."),
    (1.35, "growth rate", "It grew by 135%."),
];

const WRONG: &[(f64, &str, &str, &str)] = &[
    (2.0, "", "June", "June"),
    (2.0, "Which month?", "It was June.", "June"),
    (2.0, "", "There are three.", "three"),
    (40.0, "", "It was 1200000.", "1200000"),
    (40.0, "", "It was 1.2 million.", "1.2 million"),
    (42.0, "", "It was 43.", "43"),
    (42.0, "", "Es waren dreiundvierzig.", "dreiundvierzig"),
    (35.6, "temp_c", "It was 35.6 degrees Fahrenheit.", "degrees"),
    (35.6, "", "It was 35.6 °C.", "°C"),
    (35.6, "", "It was 35.6 on 2023-04-15.", "2023-04-15"),
    (35.6, "", "It was 35.6 on 15 April 2023.", "15 April 2023"),
    (35.6172, "", "It was 35.7.", "35.7"),
    (35.6172, "", "It was 35.617284.", "35.617284"),
    (1_234.5, "", "It was 12,345.", "12,345"),
    (1_234_567.0, "", "It was 1,200,000.", "1,200,000"),
    (0.25, "", "2.5%", "2.5"),
    (0.25, "", "0.25 %", "0.25"),
    (25.0, "", "25% do.", "25"),
    (0.3, "", "It was 0.", "0"),
    (5.0, "", "It was -5.", "5"),
    (-5.0, "", "It was 5.", "5"),
    (5.0, "How long?", "It took 5 days.", "5"),
    (5.0, "How many days?", "It took 5 hours.", "5"),
    (40.0, "price_eur", "It cost $40.", "40"),
    (40.0, "price_eur", "It cost 40 dollars.", "40"),
    (7.0, "on 2023-04-15", "On 16 April 2023: 7.", "16 April 2023"),
    (7.0, "on 2023-04-15", "In May 2023: 7.", "May 2023"),
    (7.0, "on 2023-04-15", "On Sunday: 7.", "Sunday"),
    (7.0, "at 14:35", "At 14:36: 7.", "14:36"),
    (7.0, "Q3", "Q4 sold 7.", "Q4"),
    (7.0, "", "It is 7 kg.", "7"),
    (7.0, "mass_g", "It is 7 kg.", "7"),
    (42.0, "", "It was 42B.", "42B"),
    (42.0, "", "It was 42k.", "42k"),
    (42.0, "", "It was 42-k.", "42-k"),
    (42.0, "", "It was 42 T.", "42 T"),
    (42.0, "", "It was 42 M.", "42 M"),
    (42.0, "", "It was 42 b.", "42 b"),
    (42.0, "", "It was 42 hundred.", "42 hundred"),
    (42.0, "depth_m", "It was 42 M.", "42 M"),
    (9.0, "", "It was ９９９.", "999"),
    (9.0, "", "It was ٩٩٩.", "999"),
    (9.0, "", "It was ²³⁹.", "²³⁹"),
    (9.0, "", "It was 9².", "9²"),
    (9.0, "", "It was ½.", "½"),
    (9.0, "", "It was 9\u{200b}9.", "99"),
    (9.0, "", "17. It was that.", "17"),
    (9.0, "", "17) of them.", "17"),
    (9.0, "", "1. of them.", "1"),
    (9.0, "234", "It was 9,234.", "9,234"),
    (1.0, "234 567", "It was 1,234,567.", "1,234,567"),
    (7.5, "", "It was –7.5.", "7.5"),
    (7.5, "", "It was \u{2011}7.5.", "7.5"),
    (7.5, "", "It was - 7.5.", "7.5"),
    (7.5, "", "- 7.5", "7.5"),
    (7.5, "price in $", "It was -$7.5.", "7.5"),
    (42.0, "", "It was minus 42.", "42"),
    (42.0, "", "It was negative 42.", "42"),
    (42.0, "", "It was minus forty-two.", "forty-two"),
    (5.0, "", "It fell by -5.", "5"),
    (9.0, "", "It was 900%.", "900"),
    (9.0, "share", "It was 900%.", "900"),
    (1.0, "", "It was 100%.", "100"),
    (1.35, "", "It was 135%.", "135"),
    (4_915_112_345_678.0, "", "It was 4915112345999.", "4915112345999"),
    (9_007_199_254_740_992.0, "", "It was 9007199254740993.", "9007199254740993"),
    (1_234_567.891, "", "It was 1234567.892.", "1234567.892"),
    (36.0, "", "It was about 35.6.", "35.6"),
];

fn known(number: f64, about: &str) -> FigureEvidence {
    let mut known = FigureEvidence::new();
    known.number(number).text(about).name(about);
    known
}

#[test]
fn a_sentence_may_say_a_number_in_every_way_that_is_common_somewhere() {
    for (number, about, sentence) in RIGHT {
        let known = known(*number, about);
        assert_eq!(known.mismatches(sentence), [], "{number} {about:?}: {sentence}");
        assert!(known.states(sentence, *number), "{number} {about:?}: {sentence}");
    }
}

#[test]
fn a_sentence_that_says_another_number_unit_or_date_is_reported() {
    for (number, about, sentence, expected) in WRONG {
        let found = known(*number, about).mismatches(sentence);
        let [difference] = &*found else { panic!("{number} {about:?}: {sentence}: {found:?}") };
        let message = difference.to_string();
        assert!(message.contains(expected), "{number} {about:?}: {sentence}: {message}");
    }
}

#[test]
fn a_day_that_no_month_has_is_a_date_that_nothing_states() {
    let known = known(32.0, "On 14 March 32 passengers were aboard, and 45 April fools.");
    for wrong in ["They left on 32 March.", "They left on 32 March 1926.", "It was 32 April 1926."]
    {
        let found = known.mismatches(wrong);
        assert!(matches!(&*found, [FigureMismatch::Date(_)]), "{wrong}: {found:?}");
    }
    for right in [
        "32 may leave.",
        "32 march on.",
        "There were 45 April fools.",
        "32 people came.",
        "45 fools in April.",
    ] {
        let found = known.mismatches(right);
        assert!(
            !found.iter().any(|it| matches!(it, FigureMismatch::Date(_))),
            "{right}: {found:?}"
        );
    }
}

#[test]
fn whole_numbers_of_any_length_are_compared_by_their_digits() {
    let mut known = FigureEvidence::new();
    known.number("123456789012345678901234567890");
    assert_eq!(known.mismatches("123456789012345678901234567890"), []);
    assert_eq!(known.mismatches("123456789012345678901234567891").len(), 1);
    assert!(!known.states("9007199254740993", 9_007_199_254_740_992_i64));
    assert!(known.states("9007199254740993", 9_007_199_254_740_993_i64));
}

#[test]
fn a_number_that_is_left_out_is_noticed() {
    let known = known(2.0, "How many in the north?");
    assert!(!known.states("There are some in the north.", 2.0));
    assert!(!known.states("There are 22.", 2.0));
    assert!(known.states("There are 2.0.", 2.0));
}

#[test]
fn a_short_answer_adds_nothing_to_the_long_one() {
    let long = "The sum of 132, 133 and 134 is 399, or 4.2 km as measured on 3 May 2021 at 5 °C.";
    for short in ["399", "4.2 km", "132, 133, 134", "2021-05-03", "May 2021", "5 degrees", "4.2"] {
        assert_eq!(added(short, long), [], "{short}");
    }
    assert_eq!(added("²0A", "²0A"), []);
    assert_eq!(added("132,133,134", long), []);
    assert_eq!(added("133,132,134", long).len(), 1);
    for short in ["398", "4.2 miles", "132133134", "2021-03-05", "June 2021", "5 °F", "42"] {
        assert_eq!(added(short, long).len(), 1, "{short}");
    }
}

#[test]
fn several_differences_are_all_reported_in_their_order() {
    let found = known(35.6, "").mismatches("35.7 degrees Fahrenheit on 2023-04-15 at 14:35");
    let [FigureMismatch::Number(_), FigureMismatch::Date(_), FigureMismatch::Date(_)] = &*found
    else {
        panic!("{found:?}")
    };
}
