//! A question makes exactly two requests whenever there is a tool, whatever goes wrong.

use antiphon_core::{Category, Fault, FaultCode, FinishReason};
use antiphon_models::ScriptedReply;
use antiphon_systems::Outcome;
use serde_json::json;

use crate::scene::{Scene, answer, fails, plan, says, task};

fn down() -> ScriptedReply {
    Fault::foreign(Category::ModelTransport, "model_unreachable", "it is down").into()
}

/// Everything that a model may say instead of what it is asked for.
fn odd_replies() -> Vec<ScriptedReply> {
    let refused = ScriptedReply::text("no").finish(FinishReason::ContentFilter);
    let cut =
        ScriptedReply::text("{\"tasks\": [{\"tool_name\": \"sto").finish(FinishReason::Length);
    vec![
        down(),
        "".into(),
        "prose".into(),
        "{".into(),
        "[]".into(),
        "null".into(),
        "<div>a".into(),
        json!({}).into(),
        json!({"tasks": "none", "response_content": 3}).into(),
        json!({"tasks": [], "response_content": ""}).into(),
        json!({"tasks": [{"tool": "stories"}]}).into(),
        plan(&[task("unknown", "a")]).into(),
        plan(&[json!({"tool_name": "stories", "tool_arguments": {"size": {}}})]).into(),
        ScriptedReply::calls([("stories", json!({"query": "a"}))]),
        refused,
        cut,
    ]
}

/// AS-32 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_question_makes_two_requests_in_every_path() {
    let plans = odd_replies().into_iter().chain([
        plan(&[task("stories", "a"), task("broken", "b")]).into(),
        plan(&[task("broken", "a"), task("broken", "b")]).into(),
        plan(&[]).into(),
    ]);
    for (number, reply) in plans.enumerate() {
        for (second, words) in
            odd_replies().into_iter().chain([answer("<p>a</p>").into()]).enumerate()
        {
            let run = Scene::new(&json!({}))
                .tool(&says("stories", "12 stories"))
                .tool(&fails("broken"))
                .planner([reply.clone(), "a second reply".into()])
                .synthesiser([words, "a second reply".into()])
                .ask("How many?")
                .await;
            let asked: Vec<String> =
                run.model.requests().iter().map(|one| one.tags["role"].clone()).collect();
            assert_eq!(asked, ["planner", "synthesiser"], "{number}, {second}");
            assert_eq!(run.result.spent.model_calls, 2, "{number}, {second}");
            let offered = run.model.requests().iter().map(|one| one.tools.len()).sum::<usize>();
            assert_eq!(offered, 0, "no tool is offered that a model could call");
            assert!(!run.html().is_empty(), "there is something to show: {number}, {second}");
        }
    }
}

/// AS-32 of `docs/systems/agentic-search.md`: the second request of the two could only fail.
#[tokio::test]
async fn a_model_that_cannot_be_asked_is_not_asked_again() {
    for code in [FaultCode::ModelKeyRefused, FaultCode::ModelNotFound] {
        let refused = Fault::new(code.clone(), "the provider refuses");
        let run = Scene::new(&json!({}))
            .tool(&says("stories", "12 stories"))
            .planner([refused.clone()])
            .synthesiser([answer("<p>12</p>")])
            .ask("How many?")
            .await;
        assert_eq!(run.model.requests().len(), 1, "{code}");
        assert_eq!(run.spent(), (1, 1), "a request that is not sent is not counted: {code}");
        assert_eq!(run.result.outcome, Outcome::Error, "{code}");
        assert_eq!(run.result.error.as_ref().unwrap().code, refused.code);
        assert!(run.html().contains("12 stories"), "{}", run.html());
    }
}
