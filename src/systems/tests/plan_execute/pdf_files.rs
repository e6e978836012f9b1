//! PDF files of steps, with fonts of the host.

use std::path::Path;

use antiphon_systems::plan_execute::{ContextEntry, StepStatus};
use antiphon_tools::document::{DocumentFormat, DocumentLimits, read_document};
use serde_json::{Value as Json, json};

use crate::fake_tools::step;
use crate::scene::Scene;

const FONTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/fonts");

async fn written(root: &Path, params: &Json) -> ContextEntry {
    let settings =
        json!({"root": root, "fonts_dir": FONTS, "system_fonts": false, "page_numbers": false});
    let tools = antiphon_tools::find("write_pdf").unwrap().open(&settings).unwrap();
    let input = json!({"operation": "create_pdf_from_text", "params": params});
    let plan = json!([[step("f", "Orchestrator", "FileSystemTool", &input)]]);
    let mut scene = Scene::new(&json!({"max_revisions": 0}))
        .native(tools.first().unwrap())
        .plans(&[plan])
        .answers("Written.");
    // The disk is not in the time of the scene.
    let (system, _) = scene.system();
    let result = system.ask("Write.", scene.session()).await.unwrap();
    let entry = result.output.executed_plan.first().unwrap().clone();
    assert_eq!(entry.status, StepStatus::Completed, "{entry:?}");
    entry
}

/// PE-21 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_pdf_file_has_the_font_and_the_text_of_its_step() {
    let folder = tempfile::tempdir().unwrap();
    let line = "Tea is hot. Чай горячий. Το τσάι είναι ζεστό.";
    let text = vec![line; 600].join("\n");
    let params = json!({
        "filename": "tea.pdf", "content": text, "customFontFileName": "NotoSansMono-Regular.ttf", "fontSize": 12,
    });
    let entry = written(folder.path(), &params).await;
    assert!(entry.partial_errors.is_empty(), "{:?}", entry.partial_errors);
    assert!(entry.raw_result_data["pages"].as_u64().unwrap() >= 10, "{:?}", entry.raw_result_data);
    let bytes = std::fs::read(folder.path().join("tea.pdf")).unwrap();
    let read = read_document(&bytes, DocumentFormat::Pdf, &DocumentLimits::default()).unwrap();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&read.text), words(&text));

    let params = json!({
        "filename": "tea.pdf", "content": "Tea 茶 茶 𓀀", "customFontFileName": "Lost.ttf",
    });
    let entry = written(folder.path(), &params).await;
    let errors: Vec<_> = entry.partial_errors.iter().map(ToString::to_string).collect();
    assert!(errors[0].starts_with("tea.pdf: the font cannot be used: No such file"), "{errors:?}");
    assert_eq!(errors[1], "tea.pdf: characters that no font has: 2");
}

/// PE-21 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_pdf_file_has_the_margins_and_the_family_of_its_step() {
    let folder = tempfile::tempdir().unwrap();
    let text = "Tea is hot.\n".repeat(40);
    let sides = json!({"top": 300, "right": "72", "bottom": 300, "left": 72});
    let mut pages = Vec::new();
    for margins in [json!(36), json!([300, 72, 300, 72]), sides] {
        let params = json!({
            "filename": "tea.pdf", "content": text, "margins": margins, "fontName": "Courier",
        });
        let entry = written(folder.path(), &params).await;
        assert!(entry.partial_errors.is_empty(), "{:?}", entry.partial_errors);
        pages.push(entry.raw_result_data["pages"].as_u64().unwrap());
    }
    assert!(pages[0] < pages[1] && pages[1] == pages[2], "{pages:?}");
    let file = std::fs::read(folder.path().join("tea.pdf")).unwrap();
    let is_set_in = |font: &[u8]| file.windows(font.len()).any(|part| part == font);
    assert!(is_set_in(b"NotoSansMono-Regular") && !is_set_in(b"NotoSans-Regular"));

    let params = json!({"filename": "tea.pdf", "content": "Tea", "fontName": "Comic"});
    let entry = written(folder.path(), &params).await;
    let error = entry.partial_errors[0].to_string();
    assert!(error.contains("no font of that name is here"), "{error}");
}
