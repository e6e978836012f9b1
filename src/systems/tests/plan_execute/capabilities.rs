//! The roles of plans and their tools, over native ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::SideEffect;
use antiphon_runtime::{CallContext, ManualClock, Tool};
use antiphon_systems::plan_execute::{Capabilities, WorkerRole};
use serde_json::{Value as Json, json};

use crate::fake_tools::{FakeTool, capabilities, returns};

/// What a tool of a plan returns, and what its native tool was asked.
async fn called(native: &str, result: Json, tool: &str, input: Json) -> (Json, Json) {
    let native = returns(native, &result);
    let given = [native.clone() as Arc<dyn Tool>];
    let capabilities = Capabilities::of(&given, &BTreeMap::new()).unwrap();
    let workers = capabilities.worker_tools();
    let mut all = workers.values().flatten();
    let found = all.find(|one| one.spec().name == tool).unwrap();
    let cx = CallContext::new(Arc::new(ManualClock::default()));
    let value = found.call(input, &cx).await.unwrap();
    (value, native.calls().remove(0))
}

#[tokio::test]
async fn native_tools_give_what_plans_count_on() {
    let hits = json!({"results": [{"rank": 1, "title": "Tea", "url": "https://a.example", "snippet": "Hot."}]});
    assert_eq!(
        called("web_search", hits, "WebSearchTool", json!({"query": "tea", "num": 3})).await,
        (
            json!([{"title": "Tea", "link": "https://a.example", "snippet": "Hot."}]),
            json!({"query": "tea", "count": 3}),
        )
    );
    let none = json!({"results": [], "notes": ["nothing"]});
    let (found, _) = called("web_search", none, "WebSearchTool", json!({"query": "tea"})).await;
    assert_eq!(found, json!([]));
    let page = json!({"text": "Green tea", "next_offset": 9});
    let (found, asked) =
        called("read_page", page, "ReadWebpageTool", json!({"url": "https://a.example"})).await;
    assert_eq!(found, json!("Green tea\n[the page goes on]"));
    assert_eq!(asked, json!({"url": "https://a.example"}));
    let sum = json!({"result": "14", "exact": true, "number": 14});
    let (found, asked) =
        called("calculate", sum, "CalculatorTool", json!({"expression": "2*7"})).await;
    assert_eq!((found, asked), (json!(14), json!({"expression": "2*7"})));
    let date = json!({"result": "2024-02-29", "exact": true});
    let (found, _) = called("calculate", date, "CalculatorTool", json!({"expression": "a"})).await;
    assert_eq!(found, json!("2024-02-29"));
}

#[test]
fn every_role_has_its_tools_and_a_planner_reads_of_them() {
    let capabilities = capabilities();
    for (tool, role) in [
        ("WebSearchTool", "ResearchAgent"),
        ("ReadWebpageTool", "ResearchAgent"),
        ("search_documents", "ResearchAgent"),
        ("read_document", "ResearchAgent"),
        ("CalculatorTool", "UtilityAgent"),
        ("FileSystemTool", "Orchestrator"),
        ("FileDownloaderTool", "Orchestrator"),
        ("GeminiStepExecutor", "Orchestrator"),
        ("LLMStepExecutor", "Orchestrator"),
    ] {
        assert_eq!(capabilities.role_of(tool), Some(role), "{tool}");
        assert!(tool == "GeminiStepExecutor" || capabilities.text().contains(tool));
    }
    assert_eq!(capabilities.role_of("web_search"), None, "plans name the tool above it");
    let workers = capabilities.worker_tools();
    assert_eq!(workers.keys().collect::<Vec<_>>(), ["ResearchAgent", "UtilityAgent"]);
}

#[test]
fn what_a_tool_returns_is_named_as_references_name_it() {
    let mut weigh = FakeTool::new("weigh", |_| Ok(json!({"kg": 3})));
    weigh.spec.results = Some(json!({"type": "object", "properties": {"kg": {"type": "number"}}}));
    let given: [Arc<dyn Tool>; 1] = [Arc::new(weigh)];
    let text = Capabilities::of(&given, &BTreeMap::new()).unwrap().text();
    assert!(text.contains("returns: result_data.kg"), "{text}");
}

#[test]
fn a_worker_of_the_caller_claims_tools_and_the_rest_is_for_the_utility_agent() {
    let mut paint = FakeTool::new("paint", |_| Ok(json!("done")));
    paint.spec.side_effect = SideEffect::External;
    let given: [Arc<dyn Tool>; 2] = [Arc::new(paint), returns("mix", &json!("done"))];
    let artist = |tool: &str| {
        let worker = WorkerRole { description: "paints".to_owned(), tools: vec![tool.to_owned()] };
        BTreeMap::from([("Artist".to_owned(), worker)])
    };
    let capabilities = Capabilities::of(&given, &artist("paint")).unwrap();
    assert_eq!(capabilities.role_of("paint"), Some("Artist"));
    assert_eq!(capabilities.role_of("mix"), Some("UtilityAgent"));
    assert!(capabilities.text().contains("Artist: paints"));
    let fault = Capabilities::of(&given, &artist("carve")).err().unwrap();
    assert_eq!(fault.code, "system_setting_invalid");
}
