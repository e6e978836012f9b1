//! Reading documents part by part.

use std::sync::atomic::AtomicBool;

use antiphon_tools::document::CharRange;
use antiphon_tools::document_search::PageRequest;

use super::folder::{DocumentFolder, search};
use crate::page_reader::pdf;

fn part(path: &str, start: Option<usize>, characters: usize) -> PageRequest {
    PageRequest { path: path.to_owned(), start, characters }
}

#[test]
fn the_parts_of_a_document_make_up_its_text() {
    let text = "## Teil\n\nGröße: ä🦀.\n\n".repeat(500);
    let folder = DocumentFolder::new(&[("a.md", &text)]);
    let index = folder.index();
    let mut read = String::new();
    let mut start = 0;
    loop {
        let page = index.read(&part("a.md", Some(start), 777)).unwrap();
        if page.text.is_empty() {
            break;
        }
        assert_eq!(page.range, CharRange { start, end: start + page.text.chars().count() });
        start = page.range.end;
        read += &page.text;
    }
    assert_eq!(read, text);
}

#[test]
fn an_anchor_is_a_place_to_begin() {
    let page = "<h1 id=a>A</h1><p>one</p><h2 id=b>B</h2><p>two</p>";
    let folder = DocumentFolder::new(&[("x/page.html", page)]);
    let index = folder.index();
    let found = index.read(&part("x/page.html#b", None, 100)).unwrap();
    assert_eq!(found.text, "## B\n\ntwo\n");
    let outline = index.read(&part("./x/page.html", None, 100)).unwrap().outline;
    assert_eq!(
        outline.iter().map(|heading| heading.title.as_str()).collect::<Vec<_>>(),
        ["A", "B"]
    );
    let fault = index.read(&part("x/page.html#c", None, 100)).unwrap_err();
    assert_eq!(fault.message, "the document `x/page.html` has no anchor: c");
}

#[test]
fn paths_outside_of_the_index_are_unknown() {
    let folder = DocumentFolder::new(&[("guide/tea.md", "tea"), ("secret.bin", "x")]);
    let index = folder.index();
    for path in ["/etc/passwd", "../a", "secret.bin", "", "guide", "' OR 1=1 --"] {
        let fault = index.read(&part(path, None, 100)).unwrap_err();
        assert_eq!(fault.code, "document_unknown", "{path}");
    }
    let fault = index.read(&part("tea.html", None, 100)).unwrap_err();
    assert_eq!(fault.hint.as_deref(), Some("similar paths are guide/tea.md"));
}

#[test]
fn pages_of_a_pdf_are_found_cited_and_read() {
    let page = |text: &str| format!("BT /A 12 Tf 72 700 Td ({text}) Tj ET");
    let contents = [page("Green tea is old."), page("Steep it for two minutes.")];
    let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
    let folder = DocumentFolder::new(&[("damaged.pdf", "%PDF-1.7 nothing")]);
    folder.write("tea.pdf", &pdf::bytes(pdf::file(&contents, &[])));
    let index = folder.index();
    let found = search(&index, "steep for how many minutes?").remove(0);
    assert_eq!((found.path.as_str(), found.anchor.as_deref()), ("tea.pdf", Some("page=2")));
    assert_eq!((found.title.as_deref(), found.heading.as_str()), (Some("On tea"), "Page 2"));
    assert_eq!(found.passage, "Steep it for two minutes.");
    let read = index.read(&part("tea.pdf#page=2", None, 100)).unwrap();
    assert_eq!(
        (read.text.as_str(), read.range.start),
        ("Steep it for two minutes.\n", found.range.start)
    );
    let report = index.refresh(None, &AtomicBool::new(false)).unwrap();
    assert_eq!((report.documents, report.skipped["damaged"].count), (1, 1));
}
