//! Agents with tools: RL-16, RL-17.

use antiphon_systems::Outcome;
use std::sync::Arc;

use antiphon_core::{Category, Fault, SideEffect, ToolOutcome, ToolSpec};
use antiphon_models::ScriptedReply;
use antiphon_runtime::{CallContext, Tool};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use crate::scene::{Scene, approve, found, plan, solved, worded};

struct Search {
    spec: ToolSpec,
    works: bool,
}

/// A tool called `search` that works, or always fails.
pub(crate) fn search_tool(works: bool) -> Arc<dyn Tool> {
    tool("search", works)
}

/// The same with another name.
pub(crate) fn tool(name: &str, works: bool) -> Arc<dyn Tool> {
    let parameters = json!({
        "type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"],
    });
    let mut spec = ToolSpec::new(name, "Searches the web.\nSlowly.", parameters);
    spec.side_effect = SideEffect::Read;
    Arc::new(Search { spec, works })
}

#[async_trait]
impl Tool for Search {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Json, _: &CallContext) -> ToolOutcome {
        if self.works {
            return Ok(json!({"hits": [arguments["query"]]}));
        }
        Err(Fault::foreign(Category::Tool, "search_failed", "the search failed: timeout"))
    }
}

pub(crate) fn search(query: &str) -> ScriptedReply {
    ScriptedReply::calls([("search", json!({ "query": query }))])
}

fn scene(settings: &Json, works: bool, researcher: Vec<ScriptedReply>) -> Scene {
    let mut scene = Scene::new(settings)
        .role("planner", [plan(&["r1"], &["e1"])])
        .role("critic", [approve(), approve(), approve()])
        .role("researcher", researcher)
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")]);
    scene.research_tools = vec![search_tool(works)];
    scene
}

/// RL-16 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_tool_that_fails_is_the_models_to_deal_with() {
    let run =
        scene(&json!({}), false, vec![search("a"), found("from memory").into()]).ask("q").await;
    assert_eq!((run.answer.outcome, run.answer.output.retry_count), (Outcome::Answered, 0));
    let second = &run.requests("researcher")[1].messages;
    assert!(second.last().unwrap().content.text().contains("the search failed: timeout"));
    assert_eq!(run.state().result(0), Some("from memory"));
    assert!(run.notes("agent_error").is_empty());
}

/// RL-17 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_researcher_without_calls_left_concludes_without_tools() {
    let settings = json!({"researcher_max_tool_calls": 2});
    let replies = vec![search("a"), search("b"), found("c").into()];
    let run = scene(&settings, true, replies).ask("q").await;
    assert_eq!((run.answer.outcome, run.answer.output.retry_count), (Outcome::Answered, 0));
    let asked = run.requests("researcher");
    assert_eq!(asked.iter().map(|request| request.tools.len()).collect::<Vec<_>>(), [1, 1, 0]);
    assert!(asked[2].schema.is_some());
    let finished = json!({"index": 0, "attempt": 1, "tool_calls": 2});
    assert_eq!(run.notes("research_finished"), [finished]);
}

#[tokio::test]
async fn a_critic_of_research_sees_the_tool_calls_and_their_results() {
    let run = scene(&json!({}), true, vec![search("lyon"), found("a").into()]).ask("q").await;
    let shown = run.requests("critic")[1].messages[1].content.to_string();
    let call = "<tool_call number=\"1\">\nsearch({\"query\":\"lyon\"})\n{\"hits\":[\"lyon\"]}\n</tool_call>";
    assert!(shown.contains(call), "{shown}");
    let run = scene(&json!({}), true, vec![found("a").into()]).ask("q").await;
    let shown = run.requests("critic")[1].messages[1].content.to_string();
    assert!(shown.contains("<tool_call>\nnone\n</tool_call>"), "{shown}");
}

#[tokio::test]
async fn a_tool_without_a_limit_gets_that_of_the_settings() {
    let run = scene(&json!({"tool_timeout_s": 7}), true, vec![found("a").into()]).ask("q").await;
    let spec = &run.requests("researcher")[0].tools[0];
    assert_eq!(spec.timeout, Some(std::time::Duration::from_secs(7)));
}

#[tokio::test]
async fn a_rework_sees_the_tools_of_the_attempt_before() {
    let mut scene = Scene::new(&json!({}))
        .role("planner", [plan(&["r1"], &["e1"])])
        .role("critic", [approve(), crate::scene::reject("cite"), approve(), approve()])
        .role("researcher", [search("a"), found("a").into(), found("a2").into()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")]);
    scene.research_tools = vec![search_tool(true)];
    let run = scene.ask("q").await;
    let rework = &run.requests("researcher")[2].messages;
    assert!(rework.iter().any(|message| message.content.text().contains("hits")));
    assert_eq!(rework.last().unwrap().content, "cite");
}
