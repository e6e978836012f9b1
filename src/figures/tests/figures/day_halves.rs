//! Times in hours of twelve.

use antiphon_figures::{FigureEvidence, FigureMismatch, added, quantities};

#[test]
fn the_half_of_the_day_belongs_to_an_hour() {
    for (known, stated) in [
        ("It opens at 5 pm.", "It opens at 5 p.m."),
        ("It opens at 17:00.", "It opens at 5pm."),
        ("It opens at 5:30 PM.", "It opens at 17:30."),
        ("It opens at 12 am on Monday.", "It opens at 00:00."),
        ("It opens at noon, 12 pm.", "It opens at 12:00."),
        ("It opens at 8 am Monday.", "It opens at 8 a.m."),
    ] {
        assert_eq!(added(stated, known), [], "{stated}");
        assert_eq!(quantities(stated), [], "{stated}");
    }
    for (known, stated, text) in [
        ("It opens at 5 pm.", "It opens at 5 am.", "5 am"),
        ("It opens at 5 a.m.", "It opens at 5 p.m.", "5 p.m"),
        ("It opens at 17:30.", "It opens at 5:30 am.", "5:30 am"),
    ] {
        assert_eq!(added(stated, known), [FigureMismatch::Date(text.to_owned())], "{stated}");
    }
}

#[test]
fn an_hour_of_a_result_is_known_by_its_number() {
    let mut known = FigureEvidence::new();
    known.number(17);
    assert_eq!(known.mismatches("Most came at 5 pm."), []);
    assert_eq!(known.mismatches("Most came at 5 am.").len(), 1);
    assert!(known.states("Most came at 5 pm.", 17));
    assert!(!known.states("Most came at 5 am.", 17));
}

#[test]
fn a_german_word_is_no_half_of_the_day() {
    for text in ["Die 5 am besten verkauften.", "Die Halle 5 am Bahnhof."] {
        assert_eq!(quantities(text).len(), 1, "{text}");
    }
}
