//! Paths, limits and settings.

use std::fs;

use antiphon_tools::find;
use serde_json::json;

use super::PdfFolder;

#[tokio::test]
async fn nothing_is_written_outside_or_over_what_is_there() {
    let folder = PdfFolder::new();
    for path in ["../out.pdf", "/tmp/out.pdf", "a/../../out.pdf", ".."] {
        let code = folder.code(json!({"path": path, "content": "x"})).await;
        assert_eq!(code, "path_refused", "{path}");
    }
    for path in ["out.txt", ".pdf", "out"] {
        assert_eq!(folder.code(json!({"path": path, "content": "x"})).await, "invalid_value");
    }
    folder.call(json!({"path": "deep/er/out.pdf", "content": "x"})).await.unwrap();
    let again = json!({"path": "deep/er/out.pdf", "content": "y"});
    assert_eq!(folder.code(again.clone()).await, "file_exists");
    let mut replaced = again;
    replaced["overwrite"] = json!(true);
    folder.call(replaced).await.unwrap();
    assert_eq!(fs::read_dir(folder.path("deep/er")).unwrap().count(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn no_link_leads_out_of_the_folder() {
    let folder = PdfFolder::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.txt"), "secret").unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path("link")).unwrap();
    folder.call(json!({"path": "link/out.pdf", "content": "x"})).await.unwrap_err();
    let read = json!({"path": "out.pdf", "source": "link/secret.txt"});
    assert_eq!(folder.code(read).await, "path_refused");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn one_text_is_given_and_it_is_text() {
    let folder = PdfFolder::new();
    fs::write(folder.path("binary"), [0xff, 0xfe, 0x00]).unwrap();
    let neither = json!({"path": "a.pdf"});
    let both = json!({"path": "a.pdf", "content": "x", "source": "binary"});
    let binary = json!({"path": "a.pdf", "source": "binary"});
    assert_eq!(folder.code(neither).await, "invalid_value");
    assert_eq!(folder.code(both).await, "invalid_value");
    assert_eq!(folder.code(binary).await, "file_not_text");
    assert_eq!(folder.write("").await["pages"], 1);
}

#[tokio::test]
async fn sizes_are_bounded() {
    let folder = PdfFolder::with(&json!({"max_pages": 2, "max_file_size": 100_000}));
    let long = "line\n\n".repeat(500);
    assert_eq!(folder.code(json!({"path": "a.pdf", "content": long})).await, "pdf_unwritable");
    let large = "x".repeat(100_001);
    assert_eq!(folder.code(json!({"path": "a.pdf", "content": large})).await, "file_too_large");
    let unlimited = PdfFolder::with(&json!({"max_file_size": 100_000_000}));
    let huge = "x".repeat(2_000_001);
    assert_eq!(unlimited.code(json!({"path": "a.pdf", "content": huge})).await, "file_too_large");
    let deep = "> ".repeat(500) + "x";
    assert_eq!(folder.code(json!({"path": "a.pdf", "content": deep})).await, "pdf_unwritable");
    let nested = (0..15).fold(String::new(), |text, depth| {
        format!("{text}{}- level {depth}\n", "  ".repeat(depth))
    });
    folder.write(&nested).await;
    assert!(folder.text().contains("level 14"));
    assert!(!folder.path("a.pdf").exists());
}

#[test]
fn settings_that_cannot_work_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let font = folder.path().join("no-font.ttf");
    fs::write(&font, "no font").unwrap();
    for settings in [
        json!({}),
        json!({"root": "/missing"}),
        json!({"root": folder.path(), "fonts": ["/missing.ttf"]}),
        json!({"root": folder.path(), "fonts": [font]}),
        json!({"root": folder.path(), "font_size": 0}),
        json!({"root": folder.path(), "max_pages": 0}),
        json!({"root": folder.path(), "page_size": "a9"}),
    ] {
        let fault = find("write_pdf").unwrap().open(&settings).err().unwrap();
        assert_eq!(fault.code.to_string(), "tool_setting_invalid", "{settings}");
    }
}
