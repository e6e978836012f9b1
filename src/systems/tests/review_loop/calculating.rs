//! Experts that are small models, and the calculators that they have: RL-36.

use std::sync::Arc;

use antiphon_core::{Category, Fault, ModelRequest};
use antiphon_models::ScriptedReply;
use antiphon_runtime::Tool;
use antiphon_stores::Durability;
use antiphon_systems::Outcome;
use serde_json::{Value as Json, json};

use crate::conversation_snapshot::compare_conversation;
use crate::scene::{Scene, approve, as_model, plan, reject, solved};
use crate::threads::{memory, room, within};
use crate::tools::tool;

const SMALL: &str = "local:qwen-1.5b";

fn scene(
    tools: Vec<Arc<dyn Tool>>,
    verdicts: impl IntoIterator<Item = Json>,
    replies: Vec<ScriptedReply>,
) -> Scene {
    let mut scene = Scene::new(&json!({"answer_format": "plain", "check_answerability": false}))
        .role("planner", [plan(&[], &["work it out"])])
        .role("critic", verdicts)
        .role("expert", replies);
    scene.model_name = SMALL;
    scene.expert_tools = tools;
    scene
}

fn needs(calculate: bool) -> ScriptedReply {
    json!({ "calculate": calculate }).into()
}

fn calculate() -> ScriptedReply {
    ScriptedReply::calls([("compute", json!({"query": "6 * 7"}))])
}

fn tools_of(requests: &[ModelRequest]) -> Vec<usize> {
    requests.iter().map(|request| request.tools.len()).collect()
}

/// RL-36 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_small_expert_has_no_calculator_where_there_is_nothing_to_calculate() {
    let replies = vec![needs(false), solved("Lima", "recalled").into()];
    let tools = vec![tool("compute", true)];
    let run = scene(tools, [approve(), approve()], replies).ask("Capital of Peru?").await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    let asked = run.requests("expert");
    assert_eq!(tools_of(&asked), [0, 0]);
    compare_conversation("review_loop", "calculation.txt", asked.get(..1).unwrap());
    assert!(!asked[1].messages[0].content.text().contains("compute"));
    assert_eq!(run.notes("calculation_checked"), [json!({"needed": false})]);
    assert_eq!(run.state().needs_calculation, Some(false));
}

#[tokio::test]
async fn it_has_one_where_there_is_and_is_asked_once() {
    let wrong = solved("41", "guessed").into();
    let replies = vec![needs(true), wrong, calculate(), solved("42", "6 * 7").into()];
    let verdicts = [approve(), reject("miscalculated"), approve()];
    let run = scene(vec![tool("compute", true)], verdicts, replies).ask("6 * 7?").await;
    assert_eq!(run.answer.output.final_answer, "42");
    assert_eq!(tools_of(&run.requests("expert")), [0, 1, 1, 1]);
}

#[tokio::test]
async fn a_rejected_answer_is_worked_out_again_without_the_calculator() {
    let replies =
        vec![needs(false), solved("Cusco", "?").into(), solved("Lima", "recalled").into()];
    let verdicts = [approve(), reject("look again"), approve()];
    let run = scene(vec![tool("compute", true)], verdicts, replies).ask("Capital?").await;
    assert_eq!(run.answer.output.final_answer, "Lima");
    assert_eq!(tools_of(&run.requests("expert")), [0, 0, 0]);
}

#[tokio::test]
async fn a_reply_that_cannot_be_read_leaves_the_expert_its_calculator() {
    let replies = vec![ScriptedReply::from("maybe"), solved("42", "6 * 7").into()];
    let tools = vec![tool("calculate", true)];
    let run = scene(tools, [approve(), approve()], replies).ask("6 * 7?").await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!(tools_of(&run.requests("expert")), [0, 1]);
}

#[tokio::test]
async fn a_failure_of_the_check_counts_as_one_of_the_expert() {
    let broken = Fault::foreign(Category::ModelOutput, "down", "the server is down");
    let replies = vec![ScriptedReply::fault(broken), needs(false), solved("Lima", "x").into()];
    let tools = vec![tool("compute", true)];
    let run = scene(tools, [approve(), approve()], replies).ask("Capital?").await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!(run.state().counted_errors, 1);
}

#[tokio::test]
async fn a_thread_goes_on_with_a_model_and_tools_that_are_not_asked() {
    let store = memory();
    for (model, tools, replies) in [
        (SMALL, vec![tool("compute", true)], vec![needs(false), solved("Lima", "x").into()]),
        ("openai:gpt-5", vec![tool("compute", true)], vec![solved("Lima", "x").into()]),
        (SMALL, vec![], vec![solved("Lima", "x").into()]),
    ] {
        let mut scene = scene(tools, [approve(), approve()], replies);
        scene.model_name = model;
        let script = scene.model();
        let session = within(room(&store, Durability::Sync));
        let answer = scene.system(&as_model(&script)).ask("Capital?", session).await.unwrap();
        assert_eq!(answer.outcome, Outcome::Answered);
    }
}

#[tokio::test]
async fn others_are_not_asked() {
    let both = vec![tool("compute", true), tool("search", true)];
    for (model, tools) in
        [(SMALL, vec![]), (SMALL, both), ("openai:gpt-5", vec![tool("compute", true)])]
    {
        let mut scene = scene(tools, [approve(), approve()], vec![solved("42", "why").into()]);
        scene.model_name = model;
        let run = scene.ask("6 * 7?").await;
        assert_eq!(run.answer.outcome, Outcome::Answered);
        assert_eq!(run.requests("expert").len(), 1);
    }
}

#[tokio::test]
async fn a_small_critic_does_not_see_calls_that_have_failed() {
    for (model, is_shown) in [(SMALL, false), ("openai:gpt-5", true)] {
        let checked = (model == SMALL).then(|| needs(true));
        let replies = checked.into_iter().chain([calculate(), solved("42", "x").into()]).collect();
        let mut scene = scene(vec![tool("compute", false)], [approve(), approve()], replies);
        scene.model_name = model;
        let run = scene.ask("6 * 7?").await;
        let shown = run.requests("critic")[1].messages[1].content.to_string();
        assert_eq!(shown.contains("timeout"), is_shown, "{shown}");
        assert_eq!(shown.contains("<tool_call>\nnone"), !is_shown, "{shown}");
    }
}
