//! Conversations as models see them, held against committed copies. To renew the copies after a
//! wanted change, run the tests with `ANTIPHON_RENEW=1` and read the difference.

use std::fmt::Write as _;
use std::path::PathBuf;

use antiphon_core::ModelRequest;
use serde_json::json;

/// Fails if the conversation of these requests is not the copy of that name among the tests of a
/// system.
pub(crate) fn compare_conversation(system: &str, name: &str, requests: &[ModelRequest]) {
    let text = shown(requests);
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    let path = tests.join(system).join("snapshots").join(name);
    if std::env::var_os("ANTIPHON_RENEW").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, known, "the conversation differs from {}", path.display());
}

fn shown(requests: &[ModelRequest]) -> String {
    let mut text = String::new();
    for (number, request) in (1..).zip(requests) {
        for message in &request.messages {
            let role = json!(message.role);
            let role = role.as_str().unwrap_or_default();
            writeln!(text, "=== request {number}: {role}\n{}", message.content).unwrap();
        }
        if let Some(schema) = &request.schema {
            writeln!(text, "=== request {number}: schema\n{}", schema.json).unwrap();
        }
    }
    text
}
