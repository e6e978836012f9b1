//! What models see, held against committed copies.

use std::sync::Arc;

use antiphon_core::graph::NodePolicy;
use antiphon_core::retry::RetryPolicy;
use antiphon_systems::agentic_search::{AgenticSearch, Config};
use antiphon_systems::{RoleModel, SystemResourcesBuilder, SystemRunner};
use serde_json::json;

use crate::conversation_snapshot::compare_conversation;
use crate::scene::{FakeTool, Scene, answer, fails, plan, says, task};

#[tokio::test]
async fn both_roles_see_what_is_written_down() {
    let hits = json!({"results": [
        {"path": "tea.md", "title": "Tea", "heading": "Green", "passage": "Two minutes."},
    ], "documents": 2});
    let mut search = FakeTool::search("search_documents", move |_| Ok(hits.clone()));
    search.spec.parameters = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "limit": {"type": "integer", "default": 6},
            "format": {"enum": ["html", "pdf"]},
        },
        "required": ["query"],
    });
    search.spec.results = Some(json!({
        "type": "object",
        "properties": {
            "results": {"type": "array", "items": {"$ref": "#/$defs/Hit"}},
            "notes": {"type": "array", "items": {"type": "string"}},
            "a.b": {"type": "string"},
        },
        "$defs": {"Hit": {"type": "object", "properties": {
            "path": {"type": "string"},
            "range": {"anyOf": [{"type": "null"}, {"properties": {"start": {"type": "integer"}}}]},
            "next": {"$ref": "#/$defs/Hit"},
        }}},
    }));
    let run = Scene::new(&json!({"guidance": "Times are in minutes."}))
        .tool(&Arc::new(search))
        .tool(&fails("pages"))
        .planner([plan(&[task("search_documents", "green tea"), task("pages", "tea")])])
        .synthesiser([answer("<p>Two minutes.</p>")])
        .ask("How long does green tea steep?")
        .await;
    compare_conversation("agentic_search", "planner.txt", &[run.request("planner")]);
    compare_conversation("agentic_search", "synthesiser.txt", &[run.request("synthesiser")]);
}

#[tokio::test]
async fn many_tools_are_shown_shortly_and_the_fitting_ones_first() {
    let mut scene = Scene::new(&json!({"planning_chars": 2_000}));
    for number in 0..40 {
        let topic = if number == 33 { "green tea" } else { "steel" };
        let mut tool = FakeTool::search(&format!("tool_{number}"), |_| Ok(json!("12")));
        tool.spec.description = format!("Knows {topic}. {}", "It is long. ".repeat(40));
        scene = scene.tool(&Arc::new(tool));
    }
    let run = scene
        .planner([plan(&[task("tool_33", "tea")])])
        .synthesiser([answer("<p>12</p>")])
        .ask("What of green tea?")
        .await;
    let prompt = run.read_by("planner");
    assert!(prompt.contains("Knows green tea."), "{prompt}");
    assert!(prompt.chars().count() < 3_500, "{}", prompt.len());
    assert_eq!(run.spent(), (2, 1));
}

#[test]
fn an_agent_with_tools_is_refused_because_it_would_make_more_requests() {
    let model = Arc::new(antiphon_models::ScriptedModel::new::<&str>([]));
    let own = RoleModel { tools: Some(vec![says("own", "12")]), ..RoleModel::new(model.clone()) };
    let resources = SystemResourcesBuilder::new().model(model.clone()).role("planner", own);
    let refused = SystemRunner::<AgenticSearch>::new(Config::default(), resources).err().unwrap();
    assert_eq!(refused.code, "role_tools_invalid");
    let twice = SystemResourcesBuilder::new()
        .model(model)
        .tools("agentic_search", [says("a", "1") as Arc<_>, says("a", "2") as Arc<_>]);
    let refused = SystemRunner::<AgenticSearch>::new(Config::default(), twice).err().unwrap();
    assert_eq!(refused.code, "role_tools_invalid");
}

/// AS-32 of `docs/systems/agentic-search.md`.
#[test]
fn an_agent_that_is_tried_again_is_refused_because_it_would_make_more_requests() {
    let model = Arc::new(antiphon_models::ScriptedModel::new::<&str>([]));
    for (attempts, host_retries, is_refused) in
        [(3, false, true), (2, false, true), (1, false, false), (1, true, true)]
    {
        for role in ["planner", "synthesiser"] {
            let mut agent = RoleModel::new(model.clone());
            let retry = RetryPolicy { max_attempts: attempts, ..RetryPolicy::default() };
            agent.policy = NodePolicy { retry: Some(retry), host_retries, ..NodePolicy::default() };
            let resources = SystemResourcesBuilder::new().model(model.clone()).role(role, agent);
            let made = SystemRunner::<AgenticSearch>::new(Config::default(), resources);
            let code = made.err().map(|fault| fault.code.as_str().to_owned());
            assert_eq!(code.as_deref(), is_refused.then_some("role_invalid"), "{attempts} {role}");
        }
    }
}
