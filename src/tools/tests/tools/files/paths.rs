//! Which paths are taken.

use std::path::{Component, Path};

use antiphon_tools::files::RelativePath;
use proptest::prelude::*;

#[test]
fn paths_are_normalised() {
    for (given, expected) in [
        ("a/b.txt", "a/b.txt"),
        ("./a/./b.txt", "a/b.txt"),
        ("a/", "a"),
        ("", ""),
        (".", ""),
        ("cafe\u{301}.md", "caf\u{e9}.md"),
        ("日本語/план.md", "日本語/план.md"),
        ("..a/b..", ""),
        ("-rf", "-rf"),
    ] {
        match RelativePath::parse(given) {
            Ok(path) => assert_eq!(path.as_str(), expected, "{given}"),
            Err(fault) => assert_eq!(given, "..a/b..", "{fault}"),
        }
    }
}

#[test]
fn paths_that_lead_out_or_fit_no_system_are_refused() {
    let long = "a".repeat(256);
    let deep = "a/".repeat(100) + "a";
    for path in [
        "..",
        "../x",
        "a/../../x",
        "a/..",
        "/etc/passwd",
        "/",
        "//x",
        "\\x",
        "C:\\x",
        "C:x",
        "a\\..\\b",
        "~/x",
        "a//b",
        "a\0b",
        "a\nb",
        "a\u{7f}",
        "con",
        "NUL.txt",
        "a/Com1.log",
        "lpt9",
        "aux .txt",
        "CONIN$",
        "com¹",
        "a.",
        "a ",
        " a",
        "a:b",
        "a?b",
        "a*",
        "a|b",
        "<a>",
        "a\"b",
        "a\u{202e}txt.exe",
        "\u{200b}a",
        &long,
        &deep,
    ] {
        let fault = RelativePath::parse(path).expect_err(path);
        assert_eq!(fault.code, "path_refused");
        assert!(!fault.message.contains(['\0', '\n', '\u{202e}']), "{fault}");
    }
}

proptest! {
    #[test]
    fn no_text_becomes_a_path_that_goes_up(text in "(\\.|/|\\\\|[a-c:~ ]|\\PC){0,24}") {
        if let Ok(path) = RelativePath::parse(&text) {
            let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
            prop_assert!(Path::new(path.as_str()).components().all(normal));
            prop_assert_eq!(RelativePath::parse(path.as_str()).unwrap(), path);
        }
    }
}
