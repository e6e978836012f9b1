//! Fonts that are chosen by their names, and margins.

use std::fs;

use antiphon_tools::find;
use serde_json::{Value as Json, json};

use super::PdfFolder;

/// A folder with a font of Chinese numerals.
const FONTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/pdf_writer");
/// A link in the first line, long enough to fill several.
const LINE: &str = "[a word and a word and a word and a word and a word and a word and a word and a \
                    word and a word and a word and a word and a word](https://a.example)";

/// Left, bottom, right and top of all links, in points from the lower left corner.
fn link_areas(folder: &PdfFolder) -> Vec<[f32; 4]> {
    let pdf = folder.pdf();
    let links = pdf.page_iter().flat_map(|page| pdf.get_page_annotations(page).unwrap());
    let area = |link: &lopdf::Dictionary| {
        let sides = link.get(b"Rect").unwrap().as_array().unwrap().clone();
        [0, 1, 2, 3].map(|side| sides[side].as_float().unwrap())
    };
    links.map(area).collect()
}

/// The edges of what links cover on the first page: top, right, left, from the edges of the paper.
fn edges(folder: &PdfFolder) -> [f32; 3] {
    let (width, height) = folder.size_of_first_page();
    let areas = link_areas(folder);
    let most = |side: usize| areas.iter().map(|area| area[side]).fold(f32::MIN, f32::max);
    let left = areas.iter().map(|area| area[0]).fold(f32::MAX, f32::min);
    [height - most(3), width - most(2), left]
}

#[tokio::test]
async fn a_text_keeps_its_margins() {
    let word = 40.0;
    for (margins, [top, right, left]) in [
        (json!(null), [56.7, 56.7, 56.7]),
        (json!(100), [100.0, 100.0, 100.0]),
        (json!([20, 60.5, 90, 200]), [20.0, 60.5, 200.0]),
    ] {
        let settings = if margins.is_null() { json!({}) } else { json!({"margins": margins}) };
        let of_host = PdfFolder::with(&settings);
        of_host.write(LINE).await;
        let of_call = PdfFolder::new();
        let call = json!({"path": "out.pdf", "content": LINE, "margins": margins});
        of_call.call(call).await.unwrap();
        for folder in [of_host, of_call] {
            let found = edges(&folder);
            assert!((found[0] - top).abs() < 4.0, "{margins}: {found:?}");
            assert!((right..right + word).contains(&found[1]), "{margins}: {found:?}");
            assert!((found[2] - left).abs() < 0.5, "{margins}: {found:?}");
        }
    }
}

#[tokio::test]
async fn narrow_margins_take_more_text_on_a_page() {
    let text = "a line\n\n".repeat(60);
    let mut pages = Vec::new();
    for margins in [json!([18, 0, 18, 0]), json!([300, 0, 300, 0])] {
        let folder = PdfFolder::with(&json!({"margins": margins}));
        pages.push(folder.write(&text).await["pages"].as_u64().unwrap());
        assert_eq!(folder.text().matches("a line").count(), 60);
        // The number of the page stands below the text, on the paper.
        assert!(folder.text().contains(&format!("1 / {}", pages.last().unwrap())));
    }
    assert!(pages[0] * 2 < pages[1], "{pages:?}");
}

#[tokio::test]
async fn margins_that_leave_no_room_are_refused_at_once() {
    let root = tempfile::tempdir().unwrap();
    let folder = PdfFolder::new();
    for (margins, problem) in [
        (json!(-1), "`margins` must be points from 0 on: -1"),
        (json!(300), "`margins` must leave 144 of the 595 points of the width: 600"),
        (
            json!([400, 20, 400, 20]),
            "`margins` must leave 144 of the 842 points of the height: 800",
        ),
        (
            json!([0, 0, 10, 0]),
            "`margins` must leave 18 points at the bottom for the page number: 10",
        ),
        (json!([1, 2]), "must be a number of points, or four: top, right, bottom, left"),
        (json!("wide"), "must be a number of points, or four: top, right, bottom, left"),
    ] {
        let settings = json!({"root": root.path(), "margins": margins});
        let fault = find("write_pdf").unwrap().open(&settings).err().unwrap();
        assert_eq!(fault.code.to_string(), "tool_setting_invalid");
        assert!(fault.message.contains(problem), "{}", fault.message);
        let call = json!({"path": "out.pdf", "content": "x", "margins": margins});
        folder.call(call).await.unwrap_err();
        assert!(!folder.path("out.pdf").exists());
    }
    let without = json!({"root": root.path(), "margins": 0, "page_numbers": false});
    assert!(find("write_pdf").unwrap().open(&without).is_ok());
}

/// The fonts of a file that a text of one word makes.
async fn fonts_with(settings: &Json, arguments: &Json) -> (Vec<String>, Json) {
    let folder = PdfFolder::with(settings);
    let mut call = json!({"path": "out.pdf", "content": "word"});
    for (name, value) in arguments.as_object().unwrap() {
        call[name] = value.clone();
    }
    let written = folder.call(call).await.unwrap();
    (folder.fonts(), written["unusable_font"].clone())
}

#[tokio::test]
async fn a_font_is_chosen_by_the_name_of_its_family() {
    let settings = json!({"page_numbers": false});
    let has = |fonts: &[String], name: &str| fonts.len() == 1 && fonts[0].ends_with(name);
    for (name, used) in [
        ("Noto Sans Mono", "NotoSansMono-Regular"),
        (" courier ", "NotoSansMono-Regular"),
        ("Helvetica", "NotoSans-Regular"),
    ] {
        let chosen = json!({"font_name": name});
        let (fonts, unusable) = fonts_with(&settings, &chosen).await;
        assert!(has(&fonts, used) && unusable.is_null(), "{name}: {fonts:?} {unusable}");
        let by_host = json!({"page_numbers": false, "font_name": name});
        assert!(has(&fonts_with(&by_host, &json!({})).await.0, used), "{name}");
    }
    // A folder of fonts has them under their own names, and a call may take another one.
    let by_host = json!({"page_numbers": false, "fonts_dir": FONTS, "font_name": "numerals"});
    let (fonts, _) = fonts_with(&by_host, &json!({"content": "一"})).await;
    assert!(fonts[0].contains("Numerals"), "{fonts:?}");
    let (fonts, _) = fonts_with(&by_host, &json!({"font_name": "Courier"})).await;
    assert!(has(&fonts, "NotoSansMono-Regular"), "{fonts:?}");
}

#[tokio::test]
async fn a_name_that_no_font_has_is_an_error_of_the_host_and_a_note_of_a_call() {
    let (fonts, unusable) = fonts_with(&json!({}), &json!({"font_name": "Comic"})).await;
    assert!(fonts.iter().all(|font| font.ends_with("NotoSans-Regular")), "{fonts:?}");
    let reason = "no font of that name is here, only Noto Sans, Noto Sans Mono (Comic)";
    assert_eq!(unusable, reason);
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("Broken-Regular.ttf"), "no font").unwrap();
    let settings = json!({
        "root": root.path(), "fonts_dir": root.path(), "system_fonts": false, "font_name": "Comic",
    });
    let fault = find("write_pdf").unwrap().open(&settings).err().unwrap();
    assert_eq!(fault.message, format!("`font_name` cannot be used: {reason}"));
    let folder = PdfFolder::new();
    let both = json!({"path": "a.pdf", "content": "x", "font": "A.ttf", "font_name": "Courier"});
    assert_eq!(folder.code(both).await, "invalid_value");
}
