//! What models see, held against committed copies.

use std::sync::Arc;

use antiphon_systems::plan_execute::{Config, PlanExecute};
use antiphon_systems::{RoleModel, SystemResourcesBuilder, SystemRunner};
use serde_json::json;

use crate::conversation_snapshot::compare_conversation;
use crate::fake_tools::{FakeTool, read, returns, search, write};
use crate::scene::{Scene, closed};

#[tokio::test]
async fn every_role_sees_what_is_written_down() {
    let hit = json!({"title": "Tea", "url": "https://a.example", "snippet": "Hot."});
    let page = FakeTool::new("read_page", |arguments| match arguments["url"].as_str() {
        Some("https://a.example") => Ok(json!({"text": "Steep it for two minutes. ".repeat(50)})),
        _ => Err(closed("the server answered 404")),
    });
    let misplaced =
        json!([[read("r1", "@{outputs.s1.result_data.0.link}")], [search("s1", "tea")]]);
    let lost = json!([[search("s1", "tea")], [read("r1", "https://lost.example")]]);
    let found = json!([
        [read("r2", "@{outputs.s1.result_data.0.link}")],
        [write("w", "Shorten: @{outputs.r2.processed_result_data}")],
    ]);
    let run = Scene::new(&json!({}))
        .tool(&returns("web_search", &json!({"results": [hit]})))
        .tool(&Arc::new(page))
        .plans(&[misplaced, lost, found])
        .role("summariser", [json!({"summary": "Two minutes."})])
        .role("step_executor", ["Two minutes."])
        .answers("Two minutes.")
        .ask("How long does green tea steep?")
        .await;
    assert_eq!(run.output().answer, "Two minutes.");
    for role in ["planner", "summariser", "step_executor", "context_keeper", "synthesiser"] {
        compare_conversation("plan_execute", &format!("{role}.txt"), &run.requests(role));
    }
    let failed = Scene::new(&json!({"max_revisions": 0}))
        .tool(&Arc::new(FakeTool::new("read_page", |_| Err(closed("the server answered 404")))))
        .plans(&[json!([[read("r1", "https://lost.example")]])])
        .answers("The page is gone.")
        .ask("How long does green tea steep?")
        .await;
    compare_conversation("plan_execute", "explainer.txt", &failed.requests("synthesiser"));
}

#[test]
fn an_agent_with_tools_is_refused_because_the_plan_calls_them() {
    let model = Arc::new(antiphon_models::ScriptedModel::new::<&str>([]));
    let tools = vec![returns("own", &json!(1)) as Arc<_>];
    let own = RoleModel { tools: Some(tools), ..RoleModel::new(model.clone()) };
    let resources = SystemResourcesBuilder::new().model(model).role("planner", own);
    let refused = SystemRunner::<PlanExecute>::new(Config::default(), resources).err().unwrap();
    assert_eq!(refused.code, "role_tools_invalid");
}
