//! When a question is given up: RL-06 to RL-10, RL-18, RL-19, RL-26, RL-28.

use antiphon_systems::Outcome;
use antiphon_systems::review_loop::{Config, FAILURE_TEXT, Participant, State};
use std::time::Duration;

use antiphon_models::ScriptedReply;
use antiphon_runtime::CancellationToken;
use antiphon_systems::review_loop::state::{Decision, Retries};
use serde_json::{Value as Json, json};

use crate::scene::{
    Scene, ScriptedRun, always, approve, as_model, found, plan, reject, solved, worded,
};

fn assert_given_up(run: &ScriptedRun, outcome: Outcome) {
    assert_eq!(run.answer.outcome, outcome);
    assert_eq!(run.answer.output.final_answer, FAILURE_TEXT);
    assert_eq!(run.answer.output.final_reasoning_trace, FAILURE_TEXT);
}

fn rejections(count: usize) -> Vec<Json> {
    vec![reject("no"); count]
}

/// RL-06 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn the_fifth_rejection_ends_the_question_without_another_model_call() {
    let run = Scene::new(&json!({}))
        .role("planner", vec![plan(&[], &["e"]); 5])
        .role("critic", rejections(5))
        .ask("q")
        .await;
    assert_given_up(&run, Outcome::RetryLimit);
    assert_eq!(FAILURE_TEXT, "The question could not be answered.");
    let counts = run.counts();
    assert_eq!((counts["planner"], counts["critic"]), (5, 5));
    assert_eq!(run.agents().last(), Some(&"finalizer_bypass"));
    assert_eq!(run.model.requests().len(), 10);
    assert_eq!(run.answer.output.error_component.as_deref(), Some("planner"));
    assert_eq!(run.notes("retry_limit_reached"), [json!({"agent": "planner"})]);
    let last = run.log().last().unwrap();
    assert_eq!((last.sender, last.content.as_str()), (Participant::Finalizer, FAILURE_TEXT));
}

/// RL-07 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn the_counter_is_shared_and_approval_does_not_reset_it() {
    let mut verdicts = rejections(4);
    verdicts.extend([approve(), reject("no")]);
    let run = Scene::new(&json!({}))
        .role("planner", vec![plan(&[], &["e"]); 5])
        .role("critic", verdicts)
        .role("expert", [solved("x", "why")])
        .ask("q")
        .await;
    assert_given_up(&run, Outcome::RetryLimit);
    assert_eq!(run.answer.output.retry_count, 5);
    assert_eq!(run.answer.output.error_component.as_deref(), Some("expert"));
    assert_eq!(run.state().expert_answer, "x");
}

/// RL-08 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn rejections_of_different_agents_add_up() {
    let verdicts =
        [reject("p"), approve(), reject("r"), reject("r"), approve(), reject("e"), reject("e")];
    let run = Scene::new(&json!({}))
        .role("planner", vec![plan(&["r1"], &["e"]); 2])
        .role("critic", verdicts)
        .role("researcher", [found("a"), found("b"), found("c")])
        .role("expert", [solved("x", "1"), solved("y", "2")])
        .ask("q")
        .await;
    assert_given_up(&run, Outcome::RetryLimit);
    let expected = Retries { planner: 1, researcher: 2, expert: 2 };
    assert_eq!(run.answer.output.retries_by_agent, expected);
    assert_eq!(run.answer.output.error_component.as_deref(), Some("expert"));
}

/// RL-09 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn with_a_limit_of_one_the_first_rejection_ends_the_question() {
    let run = Scene::new(&json!({"retry_limit": 1}))
        .role("planner", [plan(&[], &["e"])])
        .role("critic", rejections(1))
        .ask("q")
        .await;
    assert_given_up(&run, Outcome::RetryLimit);
    assert_eq!(run.counts()["planner"], 1);
}

/// RL-10 of `docs/systems/review-loop.md`.
#[test]
fn a_limit_of_zero_is_refused_before_anything_costs() {
    let fault = Config::from_json(&json!({"retry_limit": 0})).unwrap_err();
    assert_eq!(fault.code, "system_setting_invalid");
    assert_eq!(fault.message, "`retry_limit` must be at least 1: 0");
}

#[tokio::test]
async fn an_agents_own_limit_ends_the_question_first() {
    let run = Scene::new(&json!({"per_agent_limits": {"expert": 2}}))
        .role("planner", [plan(&[], &["e"])])
        .role("critic", [approve(), reject("no"), reject("no")])
        .role("expert", [solved("x", "1"), solved("y", "2")])
        .ask("q")
        .await;
    assert_given_up(&run, Outcome::RetryLimit);
    assert_eq!(run.answer.output.retry_count, 2);
}

#[tokio::test]
async fn the_researchers_own_limit_may_begin_anew_with_each_step() {
    let settings = |scope: &str| json!({"per_agent_limits": {"researcher": 2}, "researcher_limit_scope": scope});
    let scene =
        |scope: &str| Scene::new(&settings(scope)).role("planner", [plan(&["r1", "r2"], &["e"])]);
    let run = scene("step")
        .role("critic", [approve(), reject("1"), approve(), reject("2"), approve(), approve()])
        .role("researcher", [found("a"), found("b"), found("c"), found("d")])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
        .ask("q")
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    let run = scene("question")
        .role("critic", [approve(), reject("1"), approve(), reject("2")])
        .role("researcher", [found("a"), found("b"), found("c")])
        .ask("q")
        .await;
    assert_given_up(&run, Outcome::RetryLimit);
}

#[tokio::test]
async fn rejected_work_that_is_submitted_unchanged_ends_the_question_if_asked_to() {
    let scene = |stop: bool| Scene::new(&json!({"stop_on_no_progress": stop}));
    let run = scene(true)
        .role("planner", [plan(&[], &["Add  the numbers"]), plan(&[], &["add the numbers"])])
        .role("critic", [reject("vague")])
        .ask("q")
        .await;
    assert_given_up(&run, Outcome::RetryLimit);
    assert_eq!(run.answer.output.retry_count, 1);
    assert_eq!(run.answer.output.error_component.as_deref(), Some("planner"));
    let run = scene(false)
        .role("planner", [plan(&[], &["e"]), plan(&[], &["e"])])
        .role("critic", [reject("vague"), approve(), approve()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
        .ask("q")
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
}

/// RL-18 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_step_that_does_not_exist_ends_the_question() {
    let state = State { question: "q".into(), current_step: "Planner".into(), ..State::default() };
    let run = Scene::new(&json!({})).resume(&state).await;
    assert_given_up(&run, Outcome::Error);
    assert_eq!(run.agents(), ["finalizer_bypass"]);
    let error = run.answer.error.unwrap();
    assert_eq!((error.category.as_str(), error.code.as_str()), ("state", "review_state_corrupt"));
}

/// RL-19 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn the_limit_is_checked_on_every_pass() {
    let state = State {
        question: "q".into(),
        current_step: "critic_planner".into(),
        critic_planner_decision: Decision::Approve,
        research_steps: vec!["r1".into()],
        expert_steps: vec!["e1".into()],
        retry_count: 5,
        retries_by_agent: Retries { planner: 5, ..Retries::default() },
        ..State::default()
    };
    let run = Scene::new(&json!({})).resume(&state).await;
    assert_given_up(&run, Outcome::RetryLimit);
    assert_eq!(run.agents(), ["finalizer_bypass"]);
}

#[tokio::test]
async fn a_critic_that_left_no_verdict_ends_the_question() {
    let state =
        State { question: "q".into(), current_step: "critic_expert".into(), ..State::default() };
    let run = Scene::new(&json!({})).resume(&state).await;
    assert_given_up(&run, Outcome::Error);
    assert_eq!(run.notes("agent_error")[0]["code"], "review_state_corrupt");
    assert_eq!(run.answer.output.error_component.as_deref(), Some("expert"));
}

#[tokio::test]
async fn research_that_the_plan_does_not_hold_ends_the_question() {
    let state = State {
        question: "q".into(),
        current_step: "critic_researcher".into(),
        current_research_index: 0,
        critic_researcher_decision: Decision::Reject,
        ..State::default()
    };
    let run = Scene::new(&json!({})).resume(&state).await;
    assert_given_up(&run, Outcome::Error);
    let error = run.answer.error.as_ref().unwrap();
    assert_eq!(error.message, "the plan has no research step with the number: 0");
}

#[tokio::test]
async fn a_state_that_does_not_hold_together_is_not_gone_on_with() {
    let broken = [
        State { retry_count: 1, ..State::default() },
        State { current_research_index: 1, ..State::default() },
        State { research_results: vec![Some("early".into())], ..State::default() },
    ];
    for state in broken {
        let mut scene = Scene::new(&json!({}));
        let model = scene.model();
        let system = scene.system(&as_model(&model));
        let fault = system.resume_from(&state, scene.session()).await.unwrap_err();
        assert_eq!(fault.code, "review_state_corrupt");
    }
}

#[tokio::test]
async fn a_question_resumes_from_the_state_it_is_given() {
    let state = State {
        question: "q".into(),
        current_step: "critic_researcher".into(),
        current_research_index: 0,
        critic_researcher_decision: Decision::Approve,
        research_steps: vec!["r1".into(), "r2".into()],
        research_results: vec![Some("a".into())],
        expert_steps: vec!["e1".into()],
        ..State::default()
    };
    let run = Scene::new(&json!({}))
        .role("researcher", [found("b")])
        .role("critic", [approve(), approve()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
        .resume(&state)
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!(run.state().research_results, [Some("a".to_owned()), Some("b".to_owned())]);
}

#[tokio::test]
async fn a_missing_result_ends_the_question_unless_the_state_may_be_loose() {
    let state = State {
        question: "q".into(),
        current_step: "researcher".into(),
        current_research_index: 0,
        research_steps: vec!["r1".into()],
        expert_steps: vec!["e1".into()],
        ..State::default()
    };
    let run = Scene::new(&json!({})).resume(&state).await;
    assert_given_up(&run, Outcome::Error);
    let run = Scene::new(&json!({"strict_state": false}))
        .role("critic", [approve(), approve()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
        .resume(&state)
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!(run.instructions(Participant::CriticResearcher)[0].content, "Review research: ");
}

#[tokio::test]
async fn an_endless_question_stops_at_its_rounds() {
    let run = Scene::new(&json!({"retry_limit": 1000, "recursion_limit": 21}))
        .branch(always("planner", plan(&[], &["e"])))
        .branch(always("critic", reject("no")))
        .ask("q")
        .await;
    assert_given_up(&run, Outcome::Budget);
    assert_eq!(run.agents().last(), Some(&"finalizer_bypass"));
    assert_eq!(run.counts()["planner"], 5);
    assert_eq!(run.notes("finalized"), [json!({"outcome": "budget", "bypassed": true})]);
}

/// RL-26 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn the_deadline_of_the_question_keeps_what_is_known() {
    let mut scene = Scene::new(&json!({}))
        .role("planner", [plan(&["r1"], &["e1"])])
        .role("critic", [approve(), approve()])
        .role("researcher", [found("a")])
        .role(
            "expert",
            [ScriptedReply::json(&solved("x", "late")).after(Duration::from_secs(700))],
        );
    let (model, clock) = (scene.model(), scene.clock.clone());
    let system = scene.system(&as_model(&model));
    let question = tokio::spawn({
        let session = scene.session();
        async move { system.ask("q", session).await.unwrap() }
    });
    while model.requests().len() < 5 || clock.next_wake().is_none() {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_mins(10));
    let run = ScriptedRun::new(model, question.await.unwrap());
    assert_given_up(&run, Outcome::Budget);
    assert_eq!(run.answer.output.error_component.as_deref(), Some("expert"));
    assert_eq!(run.state().research_results, [Some("a".to_owned())]);
}

#[tokio::test]
async fn a_cancelled_question_reports_it() {
    let mut scene = Scene::new(&json!({}))
        .role("planner", [ScriptedReply::text("{}").after(Duration::from_mins(1))]);
    let (model, token) = (scene.model(), CancellationToken::new());
    let system = scene.system(&as_model(&model));
    let question = tokio::spawn({
        let mut session = scene.session();
        session.cancel = Some(token.clone());
        async move { system.ask("q", session).await.unwrap() }
    });
    while model.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    token.cancel("enough");
    let answer = question.await.unwrap();
    assert_eq!(answer.outcome, Outcome::Cancelled);
    assert_eq!(answer.output.final_answer, FAILURE_TEXT);
    assert_eq!(answer.output.error_component.as_deref(), Some("planner"));
}

/// RL-28 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_finalizer_that_is_asked_after_all_words_an_answer() {
    let scene = || {
        Scene::new(&json!({"retry_limit": 1, "finalizer_on_failure": "model"}))
            .role("planner", [plan(&[], &["e"])])
            .role("critic", rejections(1))
    };
    let run = scene().role("finalizer", [worded("perhaps x", "a guess")]).ask("q").await;
    assert_eq!(run.answer.outcome, Outcome::RetryLimit);
    assert_eq!(run.answer.output.final_answer, "perhaps x");
    assert_eq!(run.answer.output.final_reasoning_trace, "a guess");
    assert_eq!(run.agents().last(), Some(&"finalizer"));
    // One that fails is not asked for ever.
    let run = scene().role("finalizer", ["", ""]).ask("q").await;
    assert_given_up(&run, Outcome::RetryLimit);
    assert_eq!(run.agents().last(), Some(&"finalizer_bypass"));
}

#[tokio::test]
async fn tokens_of_all_models_are_added_up() {
    let paid = |reply: serde_json::Value| ScriptedReply::json(&reply).usage(10, 3);
    let run = Scene::new(&json!({}))
        .role("planner", [paid(plan(&[], &["e1"]))])
        .role("critic", [paid(approve()), paid(approve())])
        .role("expert", [paid(solved("x", "why"))])
        .role("finalizer", [paid(worded("x", "t"))])
        .ask("q")
        .await;
    assert_eq!(run.answer.models, ["test:scripted"]);
    let usage = run.answer.spent.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (50, 15));
}
