//! What becomes of each element of Markdown.

use std::fs;

use serde_json::json;

use super::PdfFolder;

const REPORT: &str = include_str!("report.md");

#[tokio::test]
async fn all_texts_of_a_report_are_in_the_file() {
    let folder = PdfFolder::new();
    let result = folder.write(REPORT).await;
    assert_eq!(result["path"], "out.pdf");
    assert_eq!(result["size"], fs::metadata(folder.path("out.pdf")).unwrap().len());
    assert!(result.get("missing_characters").is_none(), "{result}");
    let text = folder.text();
    for expected in [
        "Quarterly report",
        "Sales rose by 12 % in the north",
        "bold italic, code() and struck",
        "1. first",
        "2. second",
        "• nested",
        "☑ done",
        "☐ open",
        "for index in range(3):",
        "Żółć Ελληνικά Кириллица “quoted” – € ≤ → ∑",
        "A quotation.",
        "North 12,000 +12 %",
        "<script>alert(1)</script>",
        "the site",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
}

#[tokio::test]
async fn headings_are_the_outline_and_the_title() {
    let folder = PdfFolder::new();
    folder.write("# First\n\n## Below\n\ntext\n\n# Second\n").await;
    let pdf = folder.pdf();
    let contents = pdf.get_toc().unwrap();
    let entries: Vec<_> =
        contents.toc.iter().map(|entry| (entry.level, entry.title.as_str(), entry.page)).collect();
    assert_eq!(entries, [(1, "First", 1), (2, "Below", 1), (1, "Second", 1)]);
    assert_eq!(folder.title(), "First");

    folder
        .call(json!({"path": "out.pdf", "content": "# A", "title": "Given", "overwrite": true}))
        .await
        .unwrap();
    assert_eq!(folder.title(), "Given");
}

#[tokio::test]
async fn links_lead_to_web_addresses_only() {
    let folder = PdfFolder::new();
    folder
        .write(
            "[site](https://example.com/a) [mail](mailto:a@example.com) [script](javascript:alert) \
         [file](file:///etc/passwd) <https://example.org>",
        )
        .await;
    let mut addresses = folder.addresses();
    addresses.sort();
    assert_eq!(addresses, ["https://example.com/a", "https://example.org", "mailto:a@example.com"]);
}

#[tokio::test]
async fn images_of_the_folder_are_shown_and_those_of_the_web_are_named() {
    let folder = PdfFolder::new();
    fs::create_dir(folder.path("my charts")).unwrap();
    fs::write(folder.path("my charts/dot.png"), PNG).unwrap();
    folder.write(
        "Before ![A dot](my%20charts/dot.png) after.\n\n![Logo](https://example.com/logo.png)\n",
    )
    .await;
    let text = folder.text();
    for expected in ["Before", "A dot", "after.", "Logo (https://example.com/logo.png)"] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
    let pdf = folder.pdf();
    let images = pdf.page_iter().flat_map(|page| pdf.get_page_images(page).unwrap());
    assert_eq!(images.count(), 1);

    for (path, code) in [
        ("missing.png", "file_missing"),
        ("../secret.png", "path_refused"),
        ("/etc/passwd", "path_refused"),
        ("out.pdf", "pdf_unwritable"),
    ] {
        let content = format!("![x]({path})");
        assert_eq!(folder.code(json!({"path": "b.pdf", "content": content})).await, code, "{path}");
    }
    assert!(!folder.path("b.pdf").exists());
}

#[tokio::test]
async fn plain_text_keeps_its_lines_and_is_no_markdown() {
    let folder = PdfFolder::new();
    fs::write(folder.path("notes.txt"), "# not a heading\n\n  two *stars*\nlast\n").unwrap();
    let arguments = json!({"path": "out.pdf", "source": "notes.txt", "format": "text"});
    folder.call(arguments).await.unwrap();
    let text = folder.text();
    assert!(text.contains("# not a heading"), "{text}");
    assert!(text.contains("two *stars*"), "{text}");
    assert!(text.lines().any(|line| line.trim() == "last"), "{text}");
}

#[tokio::test]
async fn pages_are_numbered_unless_the_host_says_no() {
    let long = "One line of a paragraph.\n\n".repeat(100);
    let folder = PdfFolder::new();
    let pages = folder.write(&long).await["pages"].as_u64().unwrap();
    assert!(pages > 2);
    assert!(folder.text().contains(&format!("2 / {pages}")));

    let plain = PdfFolder::with(&json!({"page_numbers": false, "page_size": "letter"}));
    plain.write(&long).await;
    assert!(!plain.text().contains("2 / "));
    assert_eq!(plain.size_of_first_page(), (612.0, 792.0));
}

#[tokio::test]
async fn the_same_text_makes_the_same_file() {
    let (one, other) = (PdfFolder::new(), PdfFolder::new());
    one.write(REPORT).await;
    other.write(REPORT).await;
    assert_eq!(fs::read(one.path("out.pdf")).unwrap(), fs::read(other.path("out.pdf")).unwrap());
}

/// One red pixel.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, b'I', b'D', b'A', b'T',
    0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I',
    b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];
