//! Positions of quotations.

use antiphon_tools::document::{CharRange, DocumentText};
use antiphon_tools::page_reader::{StoredPage, find_quote, text_id};
use proptest::prelude::*;

fn page(text: &str) -> StoredPage {
    let document = DocumentText { text: text.to_owned(), ..DocumentText::default() };
    StoredPage::new("https://a.example/".to_owned(), "text", document)
}

fn found(text: &str, quote: &str) -> Vec<String> {
    let page = page(text);
    find_quote(text, quote).into_iter().map(|range| page.excerpt(range).text.to_owned()).collect()
}

#[test]
fn white_space_and_marks_are_as_a_reader_sees_them() {
    for (text, quote, expected) in [
        ("One\n  two\tthree.", "two three", "two\tthree"),
        ("He said ‘no’.", "'no'", "‘no’"),
        ("“Yes” – now…", "\"Yes\" - now...", "“Yes” – now…"),
        ("10\u{a0}000 people", "10 000", "10\u{a0}000"),
        ("in\u{ad}visible \u{200b}mark", "invisible mark", "in\u{ad}visible \u{200b}mark"),
        ("Über naïve Ärzte", "naïve", "naïve"),
        ("  padded  ", " padded ", "padded"),
    ] {
        assert_eq!(found(text, quote), [expected], "{text}");
    }
}

#[test]
fn letters_are_exact_and_nothing_is_found_for_nothing() {
    assert_eq!(found("Tea", "tea"), [""; 0]);
    assert_eq!(found("a\nb", "ab"), [""; 0]);
    assert_eq!(found("text", " \n "), [""; 0]);
}

#[test]
fn all_places_are_found_in_order() {
    let places = find_quote("ä a b, ä  b, ä b", "ä b");
    assert_eq!(places, [CharRange { start: 7, end: 11 }, CharRange { start: 13, end: 16 }]);
}

#[test]
fn the_id_is_that_of_the_text() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(text_id(""), empty);
    assert_eq!(page("x").id, page("x").id);
    assert_ne!(page("x").id, page("y").id);
}

#[test]
fn an_excerpt_ends_between_paragraphs_lines_or_words() {
    let page = page("First one here.\n\nSecond one here and more.\n");
    assert_eq!(page.excerpt_from(0, 20).text, "First one here.\n\n");
    assert_eq!(page.excerpt_from(17, 15).text, "Second one ");
    assert_eq!(page.excerpt_from(17, 3).text, "Sec");
    let last = page.excerpt_from(17, 1000);
    assert_eq!((last.range.start, last.range.end), (17, page.characters));
    assert!(page.excerpt_from(1000, 5).text.is_empty());
}

proptest! {
    #[test]
    fn an_excerpt_is_found_at_its_place_however_it_is_typed(
        text in "[a-c ’“é\n\u{ad}\u{a0}–…]{0,60}",
        start in 0_usize..60,
        length in 1_usize..20,
    ) {
        let page = page(&text);
        let excerpt = page.excerpt(CharRange { start, end: start + length });
        let typed = excerpt.text.replace('’', "'").replace('“', "\"").replace('–', "-")
            .replace('…', "...").replace('\u{ad}', "").replace(['\n', '\u{a0}'], "  ");
        prop_assume!(!typed.trim().is_empty());
        let places = page.find_quote(&typed);
        let near = places.iter().any(|place| {
            place.start >= excerpt.range.start && place.start <= excerpt.range.end
        });
        // Places do not overlap, so one that begins before may stand for it.
        let covered = places.iter().any(|place| {
            place.start < excerpt.range.end && place.end > excerpt.range.start
        });
        prop_assert!(near || covered, "{:?} in {:?}: {:?}", typed, text, places);
    }

    #[test]
    fn reading_on_returns_the_whole_text_once(text in "[ab \n]{1,200}", limit in 1_usize..50) {
        let page = page(&text);
        let (mut at, mut read) = (0, String::new());
        while at < page.characters {
            let excerpt = page.excerpt_from(at, limit);
            prop_assert!(excerpt.range.end > at && excerpt.range.len() <= limit);
            read.push_str(excerpt.text);
            at = excerpt.range.end;
        }
        prop_assert_eq!(read, text);
    }
}
