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
async fn a_call_names_a_font_of_the_folder_of_fonts() {
    let fonts = std::path::Path::new(NUMERALS).parent().unwrap();
    let folder = PdfFolder::with(&json!({"fonts_dir": fonts}));
    let write = |font: &str| {
        let content = "one 一";
        folder.call(json!({"path": "out.pdf", "content": content, "font": font, "overwrite": true}))
    };
    let result = write("numerals.ttf").await.unwrap();
    assert_eq!((result.get("missing_characters"), result.get("unusable_font")), (None, None));
    assert!(folder.text().contains("one 一"));
    assert!(folder.fonts().iter().any(|name| name.contains("Numerals")), "{:?}", folder.fonts());
    // Its text is Rust, and no font.
    std::fs::write(folder.path("broken.ttf"), include_str!("scripts.rs")).unwrap();
    for (settings, font, reason) in [
        (json!({"fonts_dir": fonts}), "nowhere.ttf", "No such file"),
        (json!({"fonts_dir": folder.path("")}), "broken.ttf", "no font in it: broken.ttf"),
        (json!({}), "numerals.ttf", "there is no folder of fonts: numerals.ttf"),
    ] {
        let other = PdfFolder::with(&settings);
        let arguments = json!({"path": "out.pdf", "content": "one", "font": font});
        let result = other.call(arguments).await.unwrap();
        let found = result["unusable_font"].as_str().unwrap();
        assert!(found.contains(reason), "{found}");
        assert!(other.text().contains("one"));
    }
    for font in ["../numerals.ttf", "fonts/numerals.ttf", "numerals.txt"] {
        assert_eq!(write(font).await.unwrap_err().code, "invalid_value", "{font}");
    }
    let large = json!({"path": "large.pdf", "content": "one", "font_size": 400});
    assert_eq!(folder.code(large).await, "invalid_value");
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
