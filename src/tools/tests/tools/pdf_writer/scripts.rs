//! Fonts and scripts.

use serde_json::json;

use super::PdfFolder;

/// A font with `一`, `二`, `三` and nothing else.
const NUMERALS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/pdf_writer/numerals.ttf");

#[tokio::test]
async fn characters_that_no_font_has_are_named() {
    let folder = PdfFolder::new();
    let result = folder.write("A 𓀀 and 一一 in **bold 一**.").await;
    assert_eq!(
        result["missing_characters"],
        json!([
            {"character": "一", "code": "U+4E00", "count": 3},
            {"character": "𓀀", "code": "U+13000", "count": 1},
        ])
    );
    assert!(result["note"].as_str().unwrap().contains("boxes"));
}

#[tokio::test]
async fn a_given_font_has_what_the_built_in_ones_do_not() {
    let folder = PdfFolder::with(&json!({"fonts": [NUMERALS]}));
    let result = folder.write("# 一 numerals\n\n**二** and *三*: `一`").await;
    assert_eq!(result.get("missing_characters"), None);
    assert!(folder.text().contains("一 numerals"));
    assert!(folder.fonts().iter().any(|name| name.contains("Numerals")), "{:?}", folder.fonts());
}

#[tokio::test]
async fn right_to_left_text_is_there_and_stands_right() {
    let folder = PdfFolder::new();
    let result = folder.write("שלום עולם\n\nمرحبا بالعالم 123").await;
    assert_eq!(result.get("missing_characters"), None, "{result}");
    let lefts = folder.lefts();
    // The last one is the number of the page, in the middle.
    let (number, texts) = lefts.split_last().unwrap();
    assert!(texts.iter().all(|left| *left > 400.0), "{lefts:?}");
    assert!(*number < 300.0, "{lefts:?}");
    let text = folder.text();
    assert!(text.contains('ש') && text.contains('ם'), "{text}");
}

#[tokio::test]
async fn control_and_invisible_characters_do_no_harm() {
    let folder = PdfFolder::new();
    let result = folder
        .write("a\u{0}b\u{7}c\u{200b}d\u{feff}e\u{202e}f\u{202c} soft\u{ad}hyphen\r\n\r\nnext")
        .await;
    assert_eq!(result.get("missing_characters"), None, "{result}");
    assert!(folder.text().contains("next"));
}
