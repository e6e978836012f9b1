//! Markdown and plain text.

use antiphon_tools::document::markdown::{markdown_text, plain_text};
use proptest::prelude::*;

#[test]
fn headings_of_both_forms_are_found_and_code_is_not_taken_for_one() {
    let text =
        "Title\n=====\n\n## Part #\n\n```sh\n# comment\n```\n\nOther\n-----\n\n- item\n---\n";
    let page = markdown_text(text, 1000);
    let headings: Vec<_> =
        page.headings.iter().map(|h| (h.level, h.title.as_str(), h.start)).collect();
    assert_eq!(headings, [(1, "Title", 0), (2, "Part", 13), (2, "Other", 45)]);
    assert_eq!(page.title.as_deref(), Some("Title"));
}

#[test]
fn front_matter_gives_the_title() {
    let page = markdown_text("---\ntitle: \"Tea\"\n---\n# Other\n", 1000);
    assert_eq!(page.title.as_deref(), Some("Tea"));
    assert_eq!(page.headings.len(), 1);
}

#[test]
fn lines_end_in_line_feeds_and_control_characters_are_dropped() {
    assert_eq!(plain_text("a\r\nb\rc\x07\x1b[31m", 100).text, "a\nb\nc[31m");
}

proptest! {
    #[test]
    fn any_markdown_is_read(text in "([#=~`-]{0,4} ?[a-zé]{0,5}\n){0,30}", limit in 0_usize..200) {
        let page = markdown_text(&text, limit);
        let length = page.text.chars().count();
        prop_assert!(length <= limit);
        prop_assert!(page.headings.iter().all(|heading| heading.start < length));
    }
}
