//! Replies that do not fit: RL-11 to RL-14, and how answers are trimmed.

use antiphon_core::ModelRequest;
use antiphon_models::ScriptedReply;
use antiphon_systems::Outcome;
use antiphon_systems::review_loop::Participant;
use serde_json::json;

use crate::scene::{Scene, ScriptedRun, always, approve, found, plan, solved, worded};

fn ending(scene: Scene) -> Scene {
    scene.role("expert", [solved("x", "why")]).role("finalizer", [worded("x", "t")])
}

fn critic(replies: Vec<ScriptedReply>) -> Scene {
    ending(Scene::new(&json!({})).role("planner", [plan(&[], &["e1"])]).role("critic", replies))
}

fn verdict(text: &str) -> ScriptedReply {
    ScriptedReply::text(text)
}

fn last(request: &ModelRequest) -> String {
    request.messages.last().unwrap().content.to_string()
}

fn assert_answered(run: &ScriptedRun, count: u32) {
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!(run.answer.output.retry_count, count);
}

/// RL-11 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_decision_counts_in_upper_or_lower_case() {
    let run = critic(vec![verdict(r#"{"decision": "APPROVE"}"#), approve().into()]).ask("q").await;
    assert_answered(&run, 0);
    assert_eq!(run.requests("critic").len(), 2);
}

/// RL-11 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_decision_that_is_none_is_asked_again_and_then_the_critic_is_retried() {
    let maybe = || verdict(r#"{"decision": "maybe", "feedback": "hm"}"#);
    let run = critic(vec![maybe(), maybe(), approve().into(), approve().into()]).ask("q").await;
    assert_answered(&run, 1);
    assert_eq!(run.state().counted_errors, 1);
    assert_eq!(run.answer.output.retries_by_agent.planner, 0);
    assert_eq!(run.counts()["planner"], 1, "the worker is not run again");
    assert_eq!(run.agents()[..3], ["planner", "critic", "critic"]);
    let instructions = run.instructions(Participant::CriticPlanner);
    assert_eq!(instructions[0].content, instructions[1].content);
    let error = &run.notes("agent_error")[0];
    assert_eq!(error["component"], "critic_planner");
    assert_eq!(error["category"], "model_output");
    assert_eq!(error["recoverable"], true);
}

/// RL-12 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_rejection_without_a_reason_is_asked_again() {
    for silent in [r#"{"decision": "reject", "feedback": " "}"#, r#"{"decision": "reject"}"#] {
        let run = critic(vec![verdict(silent), approve().into(), approve().into()]).ask("q").await;
        assert_answered(&run, 0);
        let asked = run.requests("critic");
        assert_eq!(asked.len(), 3);
        assert!(last(&asked[1]).contains("feedback"), "{}", last(&asked[1]));
    }
}

/// RL-13 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_plan_in_a_fence_amid_prose_is_read_as_it_is() {
    let text = "Here is my plan:\n```json\n{\"research_steps\": [], \"expert_steps\": [\"add\"]}\n```\nGood luck!";
    let scene =
        Scene::new(&json!({})).role("planner", [text]).role("critic", [approve(), approve()]);
    let run = ending(scene).ask("q").await;
    assert_answered(&run, 0);
    assert_eq!(run.requests("planner").len(), 1);
    assert_eq!(run.state().expert_steps, ["add"]);
}

/// RL-14 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_plan_without_expert_steps_is_asked_again_and_then_counts() {
    let bad = || plan(&["r1"], &[]);
    let scene = Scene::new(&json!({}))
        .role("planner", [bad(), bad(), plan(&[], &["e1"])])
        .role("critic", [approve(), approve()]);
    let run = ending(scene).ask("q").await;
    assert_answered(&run, 1);
    let asked = run.requests("planner");
    assert_eq!(asked.len(), 3);
    assert!(last(&asked[1]).contains("expert_steps"), "{}", last(&asked[1]));
    assert_eq!(asked[0].messages, asked[2].messages, "the retry begins anew");
    assert_eq!(run.agents()[..2], ["planner", "planner"]);
}

#[tokio::test]
async fn blank_steps_and_plans_that_are_too_long_are_asked_again() {
    for bad in [plan(&[" "], &["e1"]), plan(&["a", "b", "c"], &["e1"])] {
        let mut scene = Scene::new(&json!({"max_research_steps": 2}));
        scene =
            scene.role("planner", [bad, plan(&[], &["e1"])]).role("critic", [approve(), approve()]);
        let run = ending(scene).ask("q").await;
        assert_answered(&run, 0);
        assert!(last(&run.requests("planner")[1]).contains("research_steps"));
    }
}

#[tokio::test]
async fn a_researcher_without_tools_gets_the_schema_at_once() {
    let scene = Scene::new(&json!({}))
        .role("planner", [plan(&["r1"], &["e1"])])
        .role("critic", [approve(), approve(), approve()])
        .role("researcher", [found("a")]);
    let run = ending(scene).ask("q").await;
    let schema = run.requests("researcher")[0].schema.clone().unwrap();
    assert_eq!(schema.json["required"], json!(["result"]));
    assert_eq!(run.requests("researcher")[0].temperature, None, "sent only when it is set");
}

#[tokio::test]
async fn a_benchmarks_answer_is_trimmed_and_a_plain_one_is_not() {
    let final_answer = async |format: &str, text: &str| {
        let run = Scene::new(&json!({"answer_format": format}))
            .role("planner", [plan(&[], &["e1"])])
            .role("critic", [approve(), approve()])
            .role("expert", [solved(text, "why")])
            .branch(always("finalizer", worded(text, "t")))
            .ask("q")
            .await;
        run.answer.output.final_answer
    };
    assert_eq!(final_answer("gaia", " \"Paris.\" ").await, "Paris");
    assert_eq!(final_answer("gaia", "1,234,567").await, "1234567");
    assert_eq!(final_answer("gaia", "a, b, 12,3").await, "a, b, 12,3");
    assert_eq!(final_answer("gaia", "It rains.").await, "It rains.");
    assert_eq!(final_answer("plain", "\"1,234.\"").await, "\"1,234.\"");
}

#[tokio::test]
async fn what_stands_for_the_answer_in_the_prompt_is_none() {
    let copied = "<the answer>";
    let run = Scene::new(&json!({"answer_format": "plain"}))
        .role("planner", [plan(&[], &["recall it"])])
        .role("critic", [approve(), approve()])
        .role("expert", [solved(copied, "how you reached it"), solved("Lima", "recalled")])
        .ask("Capital of Peru?")
        .await;
    assert_answered(&run, 0);
    assert_eq!(run.answer.output.final_answer, "Lima");
    let read = run.requests("expert")[0].messages[0].content.to_string();
    let large = "<the answer, or why it cannot be known>";
    assert!(read.contains(&format!("\"expert_answer\": \"{large}\"")), "{read}");
}

#[tokio::test]
async fn the_words_of_the_placeholder_may_be_the_answer() {
    for answer in ["the answer", "The answer", "the answer."] {
        let run = Scene::new(&json!({"answer_format": "plain"}))
            .role("planner", [plan(&[], &["Translate it."])])
            .role("critic", [approve(), approve()])
            .role("expert", [solved(answer, "a dictionary")])
            .ask("What does „die Antwort“ mean in English?")
            .await;
        assert_answered(&run, 0);
        assert_eq!(run.answer.output.final_answer, answer);
    }
}
