//! What critics and later workers see of the work before: RL-34, RL-35.

use antiphon_systems::review_loop::{Attachment, QuestionInput};
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, always, approve, found, plan, reject, solved};
use crate::tools::{search, search_tool};

fn about_file(text: &str) -> QuestionInput {
    let file = Attachment::new("notes.txt", text).unwrap();
    QuestionInput { file: Some(file), ..QuestionInput::from("What do the notes say?") }
}

async fn with_tools(settings: Json, text: &str) -> ScriptedRun {
    let mut scene = Scene::new(&settings)
        .role("planner", [plan(&["read it"], &["say it"])])
        .role("critic", [approve(), approve(), reject("look again"), approve()])
        .role("researcher", [search("lima"), found("Lima").into()])
        .role(
            "expert",
            [search("peru"), solved("Lima", "found").into(), solved("Lima", "again").into()],
        );
    scene.research_tools = vec![search_tool(true)];
    scene.expert_tools = vec![search_tool(true)];
    scene.ask(about_file(text)).await
}

/// RL-34 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn critics_see_the_file_and_the_tool_calls_with_their_results() {
    let run = with_tools(json!({"answer_format": "plain"}), "Peru: Lima").await;
    let asked = run.requests("critic");
    for request in &asked {
        let shown = request.messages[1].content.to_string();
        assert!(shown.contains("<file name=\"notes.txt\">\nPeru: Lima\n</file>"), "{shown}");
    }
    let research = asked[1].messages[1].content.to_string();
    assert!(research.contains("search({\"query\":\"lima\"})\n{\"hits\":[\"lima\"]}"), "{research}");
    let answer = asked[2].messages[1].content.to_string();
    assert!(answer.contains("search({\"query\":\"peru\"})\n{\"hits\":[\"peru\"]}"), "{answer}");
}

/// RL-34 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_long_file_is_cut_for_critics_and_sent_to_a_worker_once() {
    let text = format!("{}END", "x".repeat(20_000));
    let run = with_tools(json!({"answer_format": "plain"}), &text).await;
    for request in run.requests("critic") {
        let shown = request.messages[1].content.to_string();
        assert!(shown.contains("[4003 more characters]") && !shown.contains("END"));
    }
    let rework = run.requests("expert").pop().unwrap().messages;
    let whole: String = rework.iter().map(|message| message.content.to_string()).collect();
    assert_eq!(whole.matches("END\n</file>").count(), 1, "the rework has it from the beginning");
    assert!(rework.last().unwrap().content.text().ends_with("look again"));
}

/// RL-35 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_research_step_that_needs_another_waits_for_its_result() {
    let settings = json!({"research_mode": "parallel", "answer_format": "plain"});
    let needs = |step: &str, numbers: &[usize]| json!({"step": step, "depends_on": numbers});
    let steps = json!([
        "who",
        "when",
        needs("where was the person born", &[1]),
        "how",
        needs("sum", &[3, 4])
    ]);
    let run = Scene::new(&settings)
        .role("planner", [json!({"research_steps": steps, "expert_steps": ["e"]})])
        .branch(always("critic", approve()))
        .role("researcher", ["a", "b", "c", "d", "e"].map(found))
        .role("expert", [solved("x", "why")])
        .ask("q")
        .await;
    assert_eq!(run.state().research_results.iter().flatten().count(), 5);
    let names: Vec<&str> = run.agents();
    let waves: Vec<usize> = names
        .chunk_by(|one, other| one == other)
        .filter(|wave| wave[0] == "researcher")
        .map(<[_]>::len)
        .collect();
    assert_eq!(waves, [2, 2, 1]);
    let last = run.requests("researcher").pop().unwrap();
    let shown = last.messages[1].content.to_string();
    assert_eq!(shown.matches("<earlier_result").count(), 4, "{shown}");
    let order = run.requests("planner")[0].messages[0].content.to_string();
    assert!(order.contains("depends_on"));
}

/// RL-35 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_plan_whose_step_needs_a_later_one_is_an_error_that_counts() {
    let settings = json!({"research_mode": "parallel", "answer_format": "plain"});
    let bad = json!({
        "research_steps": [{"step": "a", "depends_on": [1]}], "expert_steps": ["e"],
    });
    let run = Scene::new(&settings)
        .role("planner", [bad, plan(&[], &["e"])])
        .role("critic", [approve(), approve()])
        .role("expert", [solved("x", "why")])
        .ask("q")
        .await;
    let error = &run.notes("agent_error")[0];
    assert_eq!(error["code"], "role_reply_invalid");
    assert_eq!(
        error["message"],
        "research step 1 may depend on earlier research steps only, not on: 1"
    );
    assert_eq!(run.answer.output.retry_count, 1);
}
