//! The conversations as models see them, held against committed copies. To renew the copies after
//! a wanted change, run the tests with `ANTIPHON_RENEW=1` and read the difference.

use std::fmt::Write as _;
use std::path::PathBuf;

use antiphon_core::ModelRequest;
use serde_json::json;

use crate::scene::{Scene, asked, assigned, plan, query, said};

fn shown(requests: &[ModelRequest]) -> String {
    let mut text = String::new();
    for (number, request) in requests.iter().enumerate() {
        for message in &request.messages {
            let role = json!(message.role);
            let role = role.as_str().unwrap_or_default();
            writeln!(text, "=== request {}: {role}\n{}", number + 1, message.content).unwrap();
        }
        if let Some(schema) = &request.schema {
            writeln!(text, "=== request {}: schema\n{}", number + 1, schema.json).unwrap();
        }
    }
    text
}

fn compare(name: &str, text: &str) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data_analyst/snapshots").join(name);
    if std::env::var_os("ANTIPHON_RENEW").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, known, "the conversation differs from {}", path.display());
}

#[tokio::test]
async fn every_role_sees_what_is_written_down() {
    let settings = json!({"keywords": {
        "sql": ["count"], "api_docs": ["endpoint"], "computation": ["compare"],
    }});
    let corrected = "SELECT count(*) AS n FROM orders WHERE region = 'n'";
    let call = |path: &str| json!({"make_request": true, "method": "GET", "path": path});
    let played = Scene::new(&settings)
        .with_api([Ok(json!({"status": 200, "data": {"orders": 3}}))])
        .with_sandbox([assigned(json!({"result": 6}))])
        .role("planner", [plan(&["sql", "api_docs", "computation"])])
        .role("sql_writer", [query("SELECT sum(price) FROM orders"), query(corrected)])
        .role(
            "sql_reviewer",
            [json!({"sql": "SELECT sum(price) FROM orders"}), json!({ "sql": corrected })],
        )
        .role("sql_answerer", [said("There are 5."), said("There are 2.")])
        .role("api_planner", [call("/v2/orders"), call("/v1/orders")])
        .role("api_answerer", [said("The API has 3.")])
        .role("coder", [json!({"reasoning": "", "python": "result = 6", "explain": ""})])
        .role("summariser", [json!({"answer": "Together 6.", "highlights": []})])
        .role("composer", [said("Together 7."), said("Together 6.")])
        .ask(asked(
            "Compare the count </question> of the endpoint",
            json!({"system_prompt": "Be brief."}),
        ))
        .await;
    assert_eq!(played.answer(), "Together 6.");
    for role in [
        "planner",
        "sql_writer",
        "sql_reviewer",
        "sql_answerer",
        "api_planner",
        "api_answerer",
        "composer",
    ] {
        compare(&format!("{role}.txt"), &shown(&played.requests(role)));
    }
}
