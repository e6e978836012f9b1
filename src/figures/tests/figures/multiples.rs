//! Ratios in words.

use antiphon_figures::{FigureEvidence, FigureMismatch};

fn known(numbers: &[f64]) -> FigureEvidence {
    let mut known = FigureEvidence::new();
    for number in numbers {
        known.number(number);
    }
    known
}

#[test]
fn a_ratio_that_two_numbers_have_may_be_stated_in_words() {
    for (numbers, sentence) in [
        (&[20.0, 10.0][..], "The north has twice as many orders as the south."),
        (&[10.0, 20.0], "The south has half as many."),
        (&[10.2, 20.0, 7.0], "It is double the value of the south."),
        (&[100.0, 203.0], "Sales doubled."),
        (&[9.0, 3.0], "They tripled."),
        (&[16.0, 4.0], "They quadrupled."),
        (&[50.0, 25.0], "The stock was halved."),
        (&[10.0, 23.0], "It is more than twice as much."),
        (&[10.0, 18.0], "It almost doubled."),
        (&[2.04], "That is twice as much."),
        (&[0.49], "That is half as much."),
        (&[100.0], "Sales doubled, by 100 %."),
        (&[20.0, 10.0], "Der Norden hat doppelt so viele."),
        (&[20.0, 10.0], "Les ventes ont doublé."),
        (&[20.0, 10.0], "Las ventas son el doble de las otras."),
    ] {
        assert_eq!(known(numbers).multiples(sentence), [], "{sentence}");
    }
}

#[test]
fn a_ratio_that_no_two_numbers_have_is_none_of_the_result() {
    for (numbers, sentence, word) in [
        (&[30.0, 10.0][..], "The north has twice as many orders.", "twice"),
        (&[30.0, 10.0], "Sales doubled.", "doubled"),
        (&[20.0, 10.0], "Sales tripled.", "tripled"),
        (&[10.0, 14.0], "It is more than twice as much.", "twice"),
        (&[10.0, 8.0], "It is half as much.", "half"),
        (&[2.0], "It is twice as much.", "twice"),
        (&[], "It is twice as much.", "twice"),
        (&[30.0, 10.0], "Es sind doppelt so viele.", "doppelt"),
    ] {
        let expected = FigureMismatch::Multiple(word.to_owned());
        assert_eq!(known(numbers).multiples(sentence), [expected], "{sentence}");
    }
    let said = known(&[]).multiples("Sales doubled.")[0].to_string();
    assert_eq!(said, "`doubled` is not the ratio of two numbers of the result");
}

#[test]
fn a_ratio_of_numbers_of_the_background_is_none_of_the_result() {
    let mut known = known(&[0.5, 11.0]);
    known.end_background().number(22).number(20);
    assert_eq!(known.multiples("The north has twice as many.").len(), 1);
    assert!(known.mismatches("It is 11.").is_empty());
}

#[test]
fn what_claims_no_ratio_is_left_alone() {
    for sentence in [
        "A double room costs 30.",
        "It happened twice a week.",
        "In the first half of the year it was 30.",
        "Half of the orders are open.",
        "It is not twice as much.",
        "Sales didn't double or triple.",
        "It was never doubled.",
        "At half past ten.",
    ] {
        assert_eq!(known(&[30.0, 10.0]).multiples(sentence), [], "{sentence}");
    }
}

#[test]
fn a_ratio_that_is_known_in_words_is_no_claim() {
    let mut known = known(&[3.0]);
    known.text("Which region has twice as many orders as the south?");
    assert_eq!(known.multiples("The north has twice as many."), []);
    assert_eq!(known.multiples("They tripled.").len(), 1);
    known.text("How long does it take to triple?");
    assert_eq!(known.multiples("It has tripled after 23 years."), []);
}

#[test]
fn parts_of_an_identifier_are_known_as_such_and_no_numbers() {
    let mut known = FigureEvidence::new();
    known.identifier("/v1/orders/7");
    assert_eq!(known.mismatches("GET /v1/orders has them."), []);
    assert_eq!(known.mismatches("GET /v9/orders has them.").len(), 1);
    assert_eq!(known.mismatches("There are 7.").len(), 1);
}
