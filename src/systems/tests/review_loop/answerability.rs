//! Small models that say that nobody could know an answer: RL-37.

use std::sync::Arc;

use antiphon_core::{Category, Fault};
use antiphon_models::{Fallback, ScriptedModel, ScriptedReply};
use antiphon_systems::review_loop::{Attachment, FAILURE_TEXT, QuestionInput, ReviewLoop};
use antiphon_systems::{Outcome, RoleModel, SystemResourcesBuilder, SystemRunner};
use serde_json::{Value as Json, json};

use crate::conversation_snapshot::compare_conversation;
use crate::scene::{Scene, approve, as_model, plan, solved};
use crate::tools::tool;

const SMALL: &str = "local:qwen-1.5b";
const QUESTION: &str = "What did I have for breakfast?";

fn found(is_found: bool) -> ScriptedReply {
    json!({ "found": is_found }).into()
}

fn scene(model: &'static str, settings: &Json, expert: Vec<ScriptedReply>) -> Scene {
    let mut scene = Scene::new(settings).role("expert", expert);
    scene.model_name = model;
    scene
}

/// A question that is planned and answered after the expert's first reply.
fn proceeds(first: ScriptedReply) -> Scene {
    let replies = vec![first, solved("Lima", "recalled").into()];
    scene(SMALL, &json!({"answer_format": "plain"}), replies)
        .role("planner", [plan(&[], &["recall it"])])
        .role("critic", [approve(), approve()])
}

/// RL-37 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_question_that_nobody_could_answer_ends_before_it_is_planned() {
    let run = scene(SMALL, &json!({}), vec![found(false)]).ask(QUESTION).await;
    assert_eq!(run.answer.outcome, Outcome::NoAnswer);
    assert_eq!(run.answer.output.final_answer, FAILURE_TEXT);
    assert!(run.answer.reason.as_deref().unwrap().contains("no book has the answer"));
    assert_eq!(run.agents(), ["finalizer_bypass"]);
    assert_eq!(run.state().is_answerable, Some(false));
    assert_eq!(run.notes("answerability_checked"), [json!({"answerable": false})]);
    assert_eq!(run.notes("step_determined")[0]["rule"], "not_answerable");
    compare_conversation("review_loop", "answerability.txt", &run.requests("expert"));
}

#[tokio::test]
async fn other_questions_are_planned() {
    for first in [found(true), ScriptedReply::from("maybe")] {
        let run = proceeds(first).ask("Capital of Peru?").await;
        assert_eq!(run.answer.output.final_answer, "Lima");
        assert_eq!(run.state().is_answerable, Some(true));
    }
}

#[tokio::test]
async fn a_failure_of_the_check_leaves_the_question_open() {
    let broken = Fault::foreign(Category::ModelOutput, "down", "the server is down");
    let run = proceeds(ScriptedReply::fault(broken)).ask("Capital of Peru?").await;
    assert_eq!(run.answer.output.final_answer, "Lima");
    assert_eq!((run.state().is_answerable, run.state().counted_errors), (None, 0));
    assert_eq!(run.answer.error, None);
}

#[tokio::test]
async fn a_failure_that_lasts_ends_it() {
    let refused = Fault::foreign(Category::Auth, "refused", "the key is refused");
    let scene = scene(SMALL, &json!({}), vec![ScriptedReply::fault(refused)]);
    assert_eq!(scene.ask(QUESTION).await.answer.outcome, Outcome::Error);
}

#[tokio::test]
async fn it_is_not_asked_where_it_cannot_tell_or_something_can_be_looked_up() {
    let off = json!({"check_answerability": false});
    let on = json!({});
    let looks_up = [tool("search", true)];
    for (model, settings, research_tools) in [
        ("openai:gpt-5", &on, &[][..]),
        ("ollama:llama3.1:70b", &on, &[]),
        ("local:qwen-0.5b", &on, &[]),
        (SMALL, &off, &[]),
        (SMALL, &on, &looks_up),
    ] {
        let mut scene = scene(model, settings, vec![solved("eggs", "a guess").into()])
            .role("planner", [plan(&[], &["guess"])])
            .role("critic", [approve(), approve()])
            .role("finalizer", [crate::scene::worded("eggs", "a guess")]);
        scene.research_tools = research_tools.to_vec();
        let run = scene.ask(QUESTION).await;
        assert_eq!(run.state().is_answerable, None, "{model}");
    }
}

#[tokio::test]
async fn a_file_may_have_what_no_book_has() {
    let mut input = QuestionInput::from(QUESTION);
    input.file = Some(Attachment::from_bytes("diary.txt".to_owned(), b"Eggs.".to_vec()).unwrap());
    let scene = scene(SMALL, &json!({"answer_format": "plain"}), vec![solved("Eggs", "?").into()])
        .role("planner", [plan(&[], &["read it"])])
        .role("critic", [approve(), approve()]);
    let run = scene.ask(input).await;
    assert_eq!((run.answer.outcome, run.state().is_answerable), (Outcome::Answered, None));
}

#[tokio::test]
async fn it_is_not_asked_if_the_caller_tells_a_role_more_or_a_large_model_may_reply() {
    for told in ["planner", "expert", "prompt", "fallback"] {
        let mut scene =
            scene(SMALL, &json!({"answer_format": "plain"}), vec![solved("9", "told").into()])
                .role("planner", [plan(&[], &["recall it"])])
                .role("critic", [approve(), approve()]);
        let model = scene.model();
        let resources = SystemResourcesBuilder::new().model(as_model(&model));
        let instructions = Some("ACME opens at 9.".to_owned());
        let resources = match told {
            // The large model may be the one that replies.
            "fallback" => {
                let large = Arc::new(ScriptedModel::new::<&str>([]).named("openai:gpt-5"));
                let either = Fallback::new(as_model(&model), [as_model(&large)]);
                SystemResourcesBuilder::new().model(Arc::new(either))
            }
            "prompt" => resources.prompt("expert", "ACME opens at 9."),
            role => {
                let own = RoleModel { instructions, ..RoleModel::new(as_model(&model)) };
                resources.role(role, own)
            }
        };
        let system = SystemRunner::<ReviewLoop>::new(scene.config.clone(), resources).unwrap();
        let answer = system.ask("When does it open?", scene.session()).await.unwrap();
        assert_eq!(answer.state.is_answerable, None, "{told}");
        assert_eq!(answer.output.final_answer, "9");
    }
}
