//! Research in waves: RL-24, RL-25.

use antiphon_systems::Outcome;
use antiphon_systems::review_loop::FAILURE_TEXT;
use std::time::Duration;

use antiphon_core::event::EventKind;
use antiphon_core::{Category, Fault, FaultCode};
use antiphon_models::{ScriptBranch, ScriptedReply};
use serde_json::{Value as Json, json};

use crate::scene::{Scene, ScriptedRun, approve, as_model, found, plan, reject, solved, worded};

/// The replies of a role to the agent whose present conversation holds `words`.
fn about<R: Into<ScriptedReply>>(
    role: &'static str,
    words: &'static str,
    replies: impl IntoIterator<Item = R>,
) -> ScriptBranch {
    let claims = move |request: &antiphon_core::ModelRequest| {
        request.tags.get("role").is_some_and(|known| known == role)
            && request.messages.iter().any(|message| message.content.text().contains(words))
    };
    ScriptBranch::when(claims).replies(replies)
}

fn scene(mut settings: Json, steps: &[&str]) -> Scene {
    settings["research_mode"] = json!("parallel");
    Scene::new(&settings).role("planner", [plan(steps, &["e1"])])
}

fn ending(scene: Scene) -> Scene {
    scene
        .branch(about("critic", "Review plan:", [approve()]))
        .branch(about("critic", "Review expert answer:", [approve()]))
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
}

/// Which research was begun in the first wave, of that size, and after it.
fn waves(run: &ScriptedRun, first: usize) -> [Vec<u64>; 2] {
    let started = run.notes("research_started");
    let started: Vec<u64> = started.iter().map(|note| note["index"].as_u64().unwrap()).collect();
    let (wave, rest) = started.split_at(first);
    let mut wave = wave.to_vec();
    wave.sort_unstable();
    [wave, rest.to_vec()]
}

/// RL-24 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn only_what_was_rejected_goes_out_again() {
    let scene = ending(scene(json!({}), &["s0", "s1", "s2"]))
        .branch(about("researcher", "Research: s0", [found("a")]))
        .branch(about("researcher", "Research: s1", [found("b"), found("b2")]))
        .branch(about("researcher", "Research: s2", [found("c")]))
        .branch(about("critic", "\ns0\n</research_step>", [approve()]))
        .branch(about("critic", "\ns1\n</research_step>", [reject("cite"), approve()]))
        .branch(about("critic", "\ns2\n</research_step>", [approve()]));
    let run = scene.ask("q").await;
    let expected = [
        "planner",
        "critic",
        "researcher",
        "researcher",
        "researcher",
        "critic",
        "critic",
        "critic",
        "researcher",
        "critic",
        "expert",
        "critic",
        "finalizer",
    ];
    assert_eq!(run.agents(), expected);
    let results: Vec<&str> =
        run.state().research_results.iter().flatten().map(String::as_str).collect();
    assert_eq!(results, ["a", "b2", "c"]);
    assert_eq!(
        (run.answer.output.retry_count, run.answer.output.retries_by_agent.researcher),
        (1, 1)
    );
    assert_eq!(waves(&run, 3), [vec![0, 1, 2], vec![1]]);
}

/// RL-24 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn results_have_the_order_of_the_plan_in_any_order_of_ends() {
    let slow = |result: &str, seconds| {
        ScriptedReply::json(&found(result)).after(Duration::from_secs(seconds))
    };
    let mut scene = ending(scene(json!({}), &["s0", "s1", "s2"]))
        .branch(about("researcher", "Research: s0", [slow("a", 30)]))
        .branch(about("researcher", "Research: s1", [slow("b", 10)]))
        .branch(about("researcher", "Research: s2", [slow("c", 20)]))
        .branch(ScriptBranch::tag("role", "critic").replies([approve(), approve(), approve()]));
    let (model, clock) = (scene.model(), scene.clock.clone());
    let system = scene.system(&as_model(&model));
    let session = scene.session();
    let question = tokio::spawn(async move { system.ask("q", session).await.unwrap() });
    while model.requests().len() < 5 {
        tokio::task::yield_now().await;
    }
    while !question.is_finished() {
        clock.advance(Duration::from_secs(1));
        tokio::task::yield_now().await;
    }
    let run = ScriptedRun::new(model, question.await.unwrap());
    let done: Vec<_> = run.notes("research_finished").iter().map(|n| n["index"].clone()).collect();
    assert_eq!(done, [1, 2, 0]);
    let results: Vec<&str> =
        run.state().research_results.iter().flatten().map(String::as_str).collect();
    assert_eq!(results, ["a", "b", "c"]);
    let responses: Vec<_> =
        run.log().iter().filter(|m| m.content.len() == 1).map(|m| m.step_id).collect();
    assert_eq!(responses, [Some(0), Some(1), Some(2)], "so has the log");
}

/// RL-24 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn with_one_step_the_story_is_the_same_in_both_modes() {
    let story = async |mode: &str| {
        let run = Scene::new(&json!({"research_mode": mode}))
            .role("planner", [plan(&["r1"], &["e1"])])
            .role("critic", [approve(), reject("cite"), approve(), approve()])
            .role("researcher", [found("a"), found("b")])
            .role("expert", [solved("x", "why")])
            .role("finalizer", [worded("x", "t")])
            .ask("q")
            .await;
        let events = run.answer.events.iter().map(|event| {
            let mut event = (**event).clone();
            // The modes differ in what the planner may say about the steps that a step uses.
            if event.kind == EventKind::ModelCall
                && event.path.iter().any(|name| **name == *"planner")
            {
                event.data.remove("messages");
                event.data.remove("schema");
            }
            event
        });
        (events.collect::<Vec<_>>(), run.answer.state)
    };
    let (sequential, parallel) = (story("sequential").await, story("parallel").await);
    assert_eq!(sequential.0, parallel.0);
    assert_eq!(sequential.1, parallel.1);
}

/// RL-25 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_limit_reached_in_a_wave_starts_no_further_one() {
    let run = scene(json!({"retry_limit": 2}), &["s0", "s1", "s2"])
        .role("critic", [approve(), reject("0"), reject("1"), reject("2")])
        .role("researcher", [found("a"), found("b"), found("c")])
        .ask("q")
        .await;
    assert_eq!(run.answer.outcome, Outcome::RetryLimit);
    assert_eq!(run.answer.output.final_answer, FAILURE_TEXT);
    assert_eq!(run.counts()["researcher"], 3);
    assert_eq!(run.answer.output.retry_count, 2, "counting stops at the limit");
    assert_eq!(run.answer.output.error_component.as_deref(), Some("researcher"));
}

#[tokio::test]
async fn a_wave_waits_for_the_step_that_failed() {
    let down = Fault::new(FaultCode::ModelUnreachable, "no way to the model: x");
    let scene = ending(scene(json!({}), &["s0", "s1"]))
        .branch(about(
            "researcher",
            "Research: s0",
            [ScriptedReply::fault(down), found("a").into()],
        ))
        .branch(about("researcher", "Research: s1", [found("b")]))
        .branch(ScriptBranch::tag("role", "critic").replies([approve(), approve()]));
    let run = scene.ask("q").await;
    assert_eq!(waves(&run, 2), [vec![0, 1], vec![0]]);
    assert_eq!((run.answer.outcome, run.answer.output.retry_count), (Outcome::Answered, 1));
    assert_eq!(run.state().counted_errors, 1);
}

#[tokio::test]
async fn a_critic_of_a_wave_that_failed_is_asked_again_alone() {
    let down = || Fault::new(FaultCode::ModelTimeout, "the model took too long: x");
    let scene = ending(scene(json!({}), &["s0", "s1"]))
        .branch(about(
            "critic",
            "\ns1\n</research_step>",
            [ScriptedReply::fault(down()), approve().into()],
        ))
        .branch(about("critic", "\ns0\n</research_step>", [reject("cite"), approve()]))
        .branch(about("researcher", "Research: s0", [found("a"), found("a2")]))
        .branch(about("researcher", "Research: s1", [found("b")]));
    let run = scene.ask("q").await;
    let expected = [
        "planner",
        "critic",
        "researcher",
        "researcher",
        "critic",
        "critic",
        "critic",
        "researcher",
        "critic",
        "expert",
        "critic",
        "finalizer",
    ];
    assert_eq!(run.agents(), expected);
    assert_eq!(run.answer.output.retry_count, 2);
}

#[tokio::test]
async fn of_two_failures_in_a_wave_the_one_that_lasts_decides() {
    let fault = |category, code: &str| ScriptedReply::fault(Fault::foreign(category, code, "x"));
    for flipped in [false, true] {
        let mut faults = [fault(Category::Auth, "lasting"), fault(Category::Timeout, "passing")];
        if flipped {
            faults.reverse();
        }
        let [first, second] = faults;
        let run = scene(json!({}), &["s0", "s1"])
            .role("critic", [approve()])
            .branch(about("researcher", "Research: s0", [first]))
            .branch(about("researcher", "Research: s1", [second]))
            .ask("q")
            .await;
        assert_eq!(run.answer.outcome, Outcome::Error);
        assert_eq!(run.answer.error.unwrap().code, "lasting");
    }
}
