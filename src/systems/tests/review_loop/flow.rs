//! Questions that find their way: RL-01 to RL-05.

use antiphon_systems::Outcome;
use antiphon_systems::review_loop::state::Decision;
use antiphon_systems::review_loop::{Participant, State};
use serde_json::json;

use crate::scene::{A1_AGENTS, Scene, a1, approve, found, plan, reject, solved, worded};

/// RL-01 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_question_without_rejections_visits_everybody_in_order() {
    let run = a1().ask("q").await;
    assert_eq!(run.agents(), A1_AGENTS);
    let answer = &run.answer;
    assert_eq!(
        (answer.output.final_answer.as_str(), answer.output.final_reasoning_trace.as_str()),
        ("x", "t")
    );
    assert_eq!(answer.outcome, Outcome::Answered);
    assert_eq!(answer.output.retry_count, 0);
    assert_eq!(answer.error, None);
    assert_eq!(answer.output.error_component, None);
    let state = run.state();
    assert_eq!(state.research_results, [Some("a".to_owned()), Some("b".to_owned())]);
    assert_eq!(state.current_research_index, 1);
    assert_eq!((state.current_step.as_str(), state.next_step.as_str()), ("finalizer", "finalizer"));
    assert_eq!((state.expert_answer.as_str(), state.expert_reasoning.as_str()), ("x", "why"));
}

/// RL-01 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn the_trace_tells_the_story() {
    let run = a1().ask("q").await;
    assert_eq!(run.notes("question_received"), [json!({"question": "q", "file": null})]);
    let plan = json!({"research_steps": ["r1", "r2"], "expert_steps": ["e1"], "attempt": 1});
    assert_eq!(run.notes("plan_created"), [plan]);
    assert_eq!(run.notes("research_started")[1], json!({"index": 1, "attempt": 1}));
    let finished = json!({"index": 1, "attempt": 1, "tool_calls": 0});
    assert_eq!(run.notes("research_finished")[1], finished);
    assert_eq!(run.notes("expert_started"), [json!({"attempt": 1})]);
    assert_eq!(run.notes("expert_finished"), [json!({"attempt": 1})]);
    let verdict = json!({
        "target": "researcher", "decision": "approve", "feedback": "", "attempt": 1, "index": 1,
    });
    assert_eq!(run.notes("verdict")[2], verdict);
    assert_eq!(run.notes("message_sent").len(), 18);
    assert_eq!(run.notes("finalized"), [json!({"outcome": "answered", "bypassed": false})]);
    let rules: Vec<_> =
        run.notes("step_determined").into_iter().map(|n| n["rule"].clone()).collect();
    let expected = [
        "planned_first",
        "plan_made",
        "plan_approved",
        "research_done",
        "research_approved",
        "research_done",
        "research_complete",
        "answer_made",
        "answer_approved",
    ];
    assert_eq!(rules, expected);
}

/// RL-02 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_plan_without_research_goes_straight_to_the_expert() {
    let run = Scene::new(&json!({}))
        .role("planner", [plan(&[], &["e1"])])
        .role("critic", [approve(), approve()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
        .ask("q")
        .await;
    assert_eq!(run.agents(), ["planner", "critic", "expert", "critic", "finalizer"]);
    assert_eq!(run.state().current_research_index, -1);
    assert!(run.state().research_results.is_empty());
}

/// RL-02 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_plan_without_research_forgets_research_of_an_earlier_plan() {
    let state = State {
        question: "q".into(),
        current_step: "critic_planner".into(),
        critic_planner_decision: Decision::Approve,
        expert_steps: vec!["e1".into()],
        current_research_index: 0,
        research_results: vec![Some("stale".into())],
        ..State::default()
    };
    let run = Scene::new(&json!({}))
        .role("expert", [solved("x", "why")])
        .role("critic", [approve()])
        .role("finalizer", [worded("x", "t")])
        .resume(&state)
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!(run.state().current_research_index, -1);
    assert!(run.state().research_results.is_empty());
    let asked = &run.requests("expert")[0].messages;
    assert!(asked.iter().all(|message| !message.content.text().contains("stale")));
}

/// RL-03 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_rejected_plan_is_made_again_from_the_feedback() {
    let run = Scene::new(&json!({}))
        .role("planner", [plan(&[], &["e1"]), plan(&["r1"], &["e1", "e2"])])
        .role("critic", [reject("more"), approve(), approve(), approve()])
        .role("researcher", [found("a")])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
        .ask("q")
        .await;
    assert_eq!(run.answer.output.retry_count, 1);
    assert_eq!(run.answer.output.retries_by_agent.planner, 1);
    assert_eq!(run.instructions(Participant::Planner)[1].content, "more");
    assert_eq!(run.state().research_steps, ["r1"]);
    assert_eq!(run.state().expert_steps, ["e1", "e2"]);
    let again = &run.requests("planner")[1].messages;
    let said: Vec<_> = again.iter().skip(1).map(|message| message.content.text()).collect();
    let first = r#"{"research_steps":[],"expert_steps":["e1"]}"#;
    assert_eq!(said, ["Develop a logical plan to answer: q", first, "more"]);
    assert_eq!(run.notes("retry"), [json!({"agent": "planner", "count": 1, "limit": 5})]);
}

/// RL-04 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn a_rejected_result_is_replaced_in_its_slot() {
    let run = Scene::new(&json!({}))
        .role("planner", [plan(&["r1"], &["e1"])])
        .role("critic", [approve(), reject("cite"), approve(), approve()])
        .role("researcher", [found("a"), found("a2")])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
        .ask("q")
        .await;
    assert_eq!(run.state().research_results, [Some("a2".to_owned())]);
    assert_eq!(run.state().current_research_index, 0);
    let instructions = run.instructions(Participant::Researcher);
    assert_eq!((instructions[1].content.as_str(), instructions[1].step_id), ("cite", Some(0)));
    let reviews = run.instructions(Participant::CriticResearcher);
    assert_eq!(reviews[1].content, "Review research: a2");
}

/// RL-05 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn each_research_step_keeps_its_own_conversation() {
    let run = Scene::new(&json!({}))
        .role("planner", [plan(&["r1", "r2"], &["e1"])])
        .role(
            "critic",
            [
                approve(),
                reject("one"),
                reject("two"),
                approve(),
                reject("three"),
                approve(),
                approve(),
            ],
        )
        .role("researcher", [found("a"), found("b"), found("c"), found("d"), found("e")])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
        .ask("q")
        .await;
    assert_eq!(run.answer.output.retry_count, 3);
    let texts = |index: usize| -> Vec<String> {
        let messages = &run.state().researcher_states[&index].messages;
        messages.iter().skip(2).map(|message| message.content.to_string()).collect()
    };
    let said = |result: &str| found(result).to_string();
    assert_eq!(texts(0), [said("a"), "one".into(), said("b"), "two".into(), said("c")]);
    assert_eq!(texts(1), [said("d"), "three".into(), said("e")]);
    assert_eq!(run.state().researcher_states[&0].result.as_deref(), Some("c"));
    // The rework of a step was asked with the conversation of that step alone.
    let rework = &run.requests("researcher")[4].messages;
    assert!(rework.iter().any(|message| message.content.text().contains("Research: r2")));
    assert!(rework.iter().all(|message| !message.content.text().contains("Research: r1")));
}
