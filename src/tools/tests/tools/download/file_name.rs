//! Names of files that strangers propose.

use antiphon_tools::download::safe_file_name;
use proptest::prelude::*;

#[test]
fn a_proposed_name_becomes_a_plain_one() {
    for (proposed, name) in [
        ("report.pdf", "report.pdf"),
        ("Bericht für März.pdf", "Bericht für März.pdf"),
        ("/etc/passwd", "passwd"),
        ("..", "download"),
        ("../", "download"),
        ("C:\\Windows\\system.ini", "system.ini"),
        (".ssh/authorized_keys", "authorized_keys"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("a\0b\n.txt", "ab .txt"),
        ("x.txt. . ", "x.txt"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("com1.log", "_com1.log"),
        ("common.log", "common.log"),
        ("`rm`;$(x)|y.sh", "rm(x)y.sh"),
        ("\u{202e}gpj.exe", "gpj.exe"),
        ("   ", "download"),
    ] {
        assert_eq!(safe_file_name(proposed), name, "{proposed:?}");
    }
    let long = safe_file_name(&format!("{}.tar.gz", "é".repeat(500)));
    assert!(long.len() <= 150 && long.ends_with("é.gz"), "{long}");
}

proptest! {
    #[test]
    fn no_name_leads_anywhere_else(proposed in "\\PC{0,40}|[./\\\\~a\u{0}\n\u{202e} -]{0,20}") {
        let name = safe_file_name(&proposed);
        prop_assert!(!name.is_empty() && name.len() <= 160);
        prop_assert!(!name.contains(['/', '\\', '\0', '\n', ':']));
        prop_assert!(!name.starts_with(['.', '-', '~', ' ']) && !name.ends_with(['.', ' ']));
        prop_assert_eq!(std::path::Path::new(&name).components().count(), 1);
        prop_assert_eq!(safe_file_name(&name), name);
    }
}
