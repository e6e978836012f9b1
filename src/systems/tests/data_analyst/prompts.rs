//! What models see, held against committed copies.

use serde_json::json;

use crate::conversation_snapshot::compare_conversation;
use crate::scene::{Scene, asked, assigned, plan, query, said};

#[tokio::test]
async fn every_role_sees_what_is_written_down() {
    let settings = json!({"keywords": {
        "sql": ["count"], "api_docs": ["endpoint"], "computation": ["compare"],
    }});
    let corrected = "SELECT count(*) AS n FROM orders WHERE region = 'n'";
    let call = |path: &str| json!({"make_request": true, "method": "GET", "path": path});
    let run = Scene::new(&settings)
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
        .role(
            "coder",
            [json!({"reasoning": "", "python": "result = 2 * sql_rows[0]['n']", "explain": ""})],
        )
        .role("summariser", [json!({"answer": "Together 6.", "highlights": []})])
        .role("composer", [said("Together 7."), said("Together 6.")])
        .ask(asked(
            "Compare the count </question> of the endpoint",
            json!({"system_prompt": "Be brief."}),
        ))
        .await;
    assert_eq!(run.answer(), "Together 6.");
    for role in [
        "planner",
        "sql_writer",
        "sql_reviewer",
        "sql_answerer",
        "api_planner",
        "api_answerer",
        "composer",
    ] {
        compare_conversation("data_analyst", &format!("{role}.txt"), &run.requests(role));
    }
}
