//! Searches with filters that the question did not ask for.

use std::sync::Arc;

use antiphon_core::SideEffect;
use antiphon_core::budget::Limits;
use antiphon_systems::Session;
use serde_json::{Value as Json, json};

use crate::scene::{FakeTool, Scene, ScriptedRun, answer, in_time, plan};

/// A search in documents that finds something only without a path.
fn documents() -> FakeTool {
    let mut tool = FakeTool::search("search_documents", |arguments| {
        let is_narrow = arguments["path"].is_string();
        let results = if is_narrow { json!([]) } else { json!([{"passage": "Two minutes."}]) };
        Ok(json!({"results": results}))
    });
    tool.spec.parameters = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "default": 6},
            "path": {"type": ["string", "null"], "default": null},
        },
        "required": ["query"],
    });
    tool
}

fn narrow(query: &str) -> Json {
    let arguments = json!({"query": query, "limit": 1, "path": "src/main"});
    json!({"tool_name": "search_documents", "tool_arguments": arguments})
}

async fn searched(tool: &Arc<FakeTool>, tasks: &[Json]) -> ScriptedRun {
    Scene::new(&json!({}))
        .tool(tool)
        .planner([plan(tasks)])
        .synthesiser([answer("<p>Two minutes.</p>")])
        .ask("How long does tea steep?")
        .await
}

/// AS-40 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_search_that_finds_nothing_is_repeated_once_without_its_filters() {
    let tool = Arc::new(documents());
    let run = searched(&tool, &[narrow("tea")]).await;
    let wide = json!({"query": "tea", "limit": 1, "path": null});
    assert_eq!(tool.calls().len(), 2);
    assert_eq!(tool.calls()[1], wide);
    assert_eq!(run.spent(), (2, 2), "the repeated call counts");
    let task = &run.tasks()[0];
    assert_eq!(task.tool_arguments, wide);
    assert_eq!(Json::Object(task.left_out.clone()), json!({"path": "src/main"}));
    let repeated = json!({"task_number": 1, "tool": "search_documents", "arguments": wide});
    assert_eq!(run.notes("search_repeated"), [repeated]);
    let prompt = run.read_by("synthesiser");
    assert!(prompt.contains("without {\"path\":\"src/main\"}"), "{prompt}");
    assert_eq!(run.result.output.answer, "Two minutes.");
}

#[tokio::test]
async fn only_searches_that_read_and_are_narrow_are_repeated() {
    let mut writing = documents();
    writing.spec.side_effect = SideEffect::External;
    let writing = Arc::new(writing);
    assert_eq!(searched(&writing, &[narrow("tea")]).await.spent(), (2, 1));

    let mut wide = narrow("tea");
    wide["tool_arguments"] = json!({"query": "tea", "limit": 2});
    let mut nothing = FakeTool::search("search_documents", |_| Ok(json!([])));
    nothing.spec = documents().spec;
    let nothing = Arc::new(nothing);
    assert_eq!(searched(&nothing, &[wide]).await.spent(), (2, 1));
    let run = searched(&nothing, &[narrow("tea")]).await;
    assert_eq!(run.spent(), (2, 2), "once, whatever it finds");
    assert_eq!(run.tasks()[0].tool_arguments["path"], "src/main", "the first result counts");
}

#[tokio::test]
async fn a_spent_budget_of_calls_leaves_the_first_result() {
    let tool = Arc::new(documents());
    let mut scene = Scene::new(&json!({}))
        .tool(&tool)
        .planner([plan(&[narrow("tea")])])
        .synthesiser([answer("<p>Nothing.</p>")]);
    let (system, _) = scene.system();
    let limits = Limits { tool_calls: Some(1), ..Limits::default() };
    let session = Session { limits, ..scene.session() };
    let result = in_time(&scene.clock, system.ask("How long?", session)).await.unwrap();
    assert_eq!((tool.calls().len(), result.spent.model_calls), (1, 2));
    assert_eq!(result.output.error_message.as_deref(), Some("no task has found anything"));
}

#[tokio::test]
async fn an_equal_search_of_a_later_plan_is_known_as_it_was_planned() {
    let tool = Arc::new(documents());
    let insufficient = json!({"response_content": "<p>A part.</p>", "sufficient": false});
    let run = Scene::new(&json!({"max_turn_iterations": 2}))
        .tool(&tool)
        .planner([plan(&[narrow("tea")]), plan(&[narrow("tea")])])
        .synthesiser([insufficient])
        .ask("How long?")
        .await;
    assert_eq!((run.spent(), &*run.result.output.answer), ((3, 2), "A part."));
}
