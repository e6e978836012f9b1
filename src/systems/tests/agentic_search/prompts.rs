//! The conversations as models see them, held against committed copies. To renew the copies after a
//! wanted change, run the tests with `ANTIPHON_RENEW=1` and read the difference.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use antiphon_core::ModelRequest;
use antiphon_systems::agentic_search::{AgenticSearch, Config};
use antiphon_systems::{RoleModel, SystemResourcesBuilder, SystemRunner};
use serde_json::json;

use crate::scene::{FakeTool, Scene, answer, fails, plan, says, task};

fn shown(request: &ModelRequest) -> String {
    let mut text = String::new();
    for message in &request.messages {
        let role = json!(message.role);
        let role = role.as_str().unwrap_or_default();
        writeln!(text, "=== {role}\n{}", message.content).unwrap();
    }
    if let Some(schema) = &request.schema {
        writeln!(text, "=== schema\n{}", schema.json).unwrap();
    }
    text
}

fn compare(name: &str, text: &str) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/agentic_search/snapshots").join(name);
    if std::env::var_os("ANTIPHON_RENEW").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, known, "the conversation differs from {}", path.display());
}

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
    let played = Scene::new(&json!({"guidance": "Times are in minutes."}))
        .tool(&Arc::new(search))
        .tool(&fails("pages"))
        .planner([plan(&[task("search_documents", "green tea"), task("pages", "tea")])])
        .synthesiser([answer("<p>Two minutes.</p>")])
        .ask("How long does green tea steep?")
        .await;
    compare("planner.txt", &shown(&played.request("planner")));
    compare("synthesiser.txt", &shown(&played.request("synthesiser")));
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
    let played = scene
        .planner([plan(&[task("tool_33", "tea")])])
        .synthesiser([answer("<p>12</p>")])
        .ask("What of green tea?")
        .await;
    let prompt = played.read_by("planner");
    assert!(prompt.contains("Knows green tea."), "{prompt}");
    assert!(prompt.chars().count() < 3_500, "{}", prompt.len());
    assert_eq!(played.spent(), (2, 1));
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
