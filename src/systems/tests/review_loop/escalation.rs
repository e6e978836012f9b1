//! The way from a rejected answer back to the planner: RL-38.

use antiphon_core::{Fault, FaultCode, ModelRequest};
use antiphon_models::ScriptedReply;
use antiphon_systems::review_loop::{Participant, StepName};
use antiphon_systems::{Drawing, Outcome};
use serde_json::{Value as Json, json};

use crate::conversation_snapshot::compare_conversation;
use crate::scene::{Scene, ScriptedRun, approve, as_model, found, plan, solved};
use crate::tools::search_tool;

/// A scene in which the researcher can look something up.
fn scene(settings: &Json) -> Scene {
    let mut settings = settings.clone();
    settings["answer_format"] = json!("plain");
    if settings.get("escalate_to_planner").is_none() {
        settings["escalate_to_planner"] = json!(true);
    }
    let mut scene = Scene::new(&settings);
    scene.research_tools = vec![search_tool(true)];
    scene
}

fn needs(fact: &str) -> Json {
    json!({"decision": "reject", "feedback": fact, "needs_research": true})
}

fn rules(run: &ScriptedRun) -> Vec<String> {
    let notes = run.notes("step_determined").into_iter();
    notes.map(|note| note["rule"].as_str().unwrap().to_owned()).collect()
}

/// The fields that a reply may have; none where it may also be a call of a tool.
fn fields(request: &ModelRequest) -> Vec<String> {
    let schema = request.schema.iter().filter_map(|schema| schema.json["properties"].as_object());
    schema.flat_map(|fields| fields.keys().cloned()).collect()
}

/// RL-38 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn an_answer_that_lacks_a_fact_sends_the_question_back_to_the_planner() {
    for mode in ["sequential", "parallel"] {
        let run = scene(&json!({"research_mode": mode}))
            .role(
                "planner",
                [plan(&["Find A", "Find B", "Find C"], &["Add"]), plan(&["Find D"], &["Multiply"])],
            )
            .role(
                "critic",
                [vec![approve(); 4], vec![needs("D is missing.")], vec![approve(); 3]].concat(),
            )
            .role("researcher", [found("1"), found("2"), found("3"), found("4")])
            .role("expert", [solved("6", "1 + 2 + 3"), solved("4", "D is 4")])
            .ask("How much is it?")
            .await;
        assert_eq!(run.answer.outcome, Outcome::Answered, "{mode}");
        assert_eq!(run.answer.output.final_answer, "4");
        assert_eq!(run.counts()["planner"], 2);
        let told: Vec<&str> = run
            .instructions(Participant::Planner)
            .iter()
            .map(|message| message.content.as_str())
            .collect();
        assert_eq!(told[1..], ["D is missing."], "the critic's words and nothing else");
        let state = run.state();
        assert_eq!(state.research_results, [Some("4".to_owned())], "old research is forgotten");
        assert_eq!((state.current_research_index, state.research_steps.len()), (0, 1));
        assert!(!state.critic_expert_needs_research);
        assert_eq!(run.answer.output.retry_count, 1);
        assert_eq!(run.answer.output.retries_by_agent.expert, 1, "the answer was rejected");
        assert!(rules(&run).contains(&"escalated".to_owned()));
        let said = json!({
            "target": "expert", "decision": "reject", "feedback": "D is missing.", "attempt": 1,
            "needs_research": true,
        });
        assert!(run.notes("verdict").contains(&said));
        let asked = run.requests("expert");
        let last = asked.last().unwrap().messages.last().unwrap().content.to_string();
        assert!(last.contains("Find D") && !last.contains("Find A"), "{last}");
    }
}

/// RL-38 of `docs/systems/review-loop.md`.
#[tokio::test]
async fn the_way_back_is_off_unless_it_is_asked_for() {
    let mut off = scene(&json!({"escalate_to_planner": false}))
        .role("planner", [plan(&["r"], &["e"])])
        .role("critic", [approve(), approve(), needs("more"), approve()])
        .role("researcher", [found("a")])
        .role("expert", [solved("x", "why"), solved("y", "why")]);
    let model = off.model();
    let system = off.system(&as_model(&model));
    assert!(!labels(&Drawing::of(system.graph())).contains(&"needs_research".to_owned()));
    let answer = system.ask("q", off.session()).await.unwrap();
    assert_eq!((answer.outcome, answer.output.final_answer.as_str()), (Outcome::Answered, "y"));
    for request in model.requests() {
        let words: String = request.messages.iter().map(|one| one.content.to_string()).collect();
        assert!(!words.contains("needs_research") && !words.contains("may also name"), "{words}");
        assert!(!fields(&request).contains(&"needs_research".to_owned()));
    }
    let on = scene(&json!({}));
    let model = Scene::new(&json!({})).model();
    let drawing = Drawing::of(on.system(&as_model(&model)).graph());
    let drawn = drawing.edges.iter().find(|edge| edge.label == "needs_research").unwrap();
    assert_eq!((drawn.source.as_str(), drawn.target.as_str()), ("orchestrator", "planner"));
}

fn labels(drawing: &Drawing) -> Vec<String> {
    drawing.edges.iter().map(|edge| edge.label.clone()).collect()
}

#[tokio::test]
async fn where_nothing_can_be_looked_up_nobody_is_told_of_the_way_back() {
    let mut scene = scene(&json!({}))
        .role("planner", [plan(&[], &["e"])])
        .role("critic", [approve(), needs("more"), approve()])
        .role("expert", [solved("x", "why"), solved("y", "why")]);
    scene.research_tools.clear();
    let run = scene.ask("q").await;
    assert_eq!(run.counts()["planner"], 1);
    let critic = &run.requests("critic")[1];
    assert!(!fields(critic).contains(&"needs_research".to_owned()));
}

#[tokio::test]
async fn only_a_rejected_answer_goes_back() {
    let approved = json!({"decision": "approve", "feedback": "", "needs_research": true});
    let run = scene(&json!({}))
        .role("planner", [plan(&["r"], &["e"]), plan(&["r"], &["e"])])
        .role("critic", [needs("a step"), approve(), needs("a source"), approve(), approved])
        .role("researcher", [found("a"), found("b")])
        .role("expert", [solved("x", "why")])
        .ask("q")
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    assert_eq!(run.answer.output.retry_count, 2);
    assert!(!rules(&run).contains(&"escalated".to_owned()));
    assert!(run.notes("verdict").iter().all(|note| note.get("needs_research").is_none()));
}

#[tokio::test]
async fn an_answer_that_goes_back_counts_against_the_limits() {
    for settings in [json!({"retry_limit": 2}), json!({"per_agent_limits": {"expert": 2}})] {
        let run = scene(&settings)
            .role("planner", [plan(&["r"], &["e"]), plan(&["s"], &["e"])])
            .role("critic", [approve(), approve(), needs("1"), approve(), approve(), needs("2")])
            .role("researcher", [found("a"), found("b")])
            .role("expert", [solved("x", "why"), solved("x", "why")])
            .ask("q")
            .await;
        assert_eq!(run.answer.outcome, Outcome::RetryLimit);
        assert_eq!(run.answer.output.error_component.as_deref(), Some("expert"));
        assert_eq!(run.state().research_results, [Some("b".to_owned())], "what was found stays");
    }
}

#[tokio::test]
async fn the_same_findings_and_answer_are_progress_after_a_new_plan_but_the_same_plan_is_none() {
    let run = scene(&json!({"stop_on_no_progress": true}))
        .role("researcher", [found("a"), found("a"), found("b")])
        .role("planner", [plan(&["r"], &["e"]), plan(&["r", "s"], &["e"])])
        .role("critic", [vec![approve(); 2], vec![needs("s")], vec![approve(); 4]].concat())
        .role("expert", [solved("x", "a"), solved("x", "a and b")])
        .ask("q")
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    let same = scene(&json!({"stop_on_no_progress": true}))
        .role("planner", [plan(&["r"], &["e"]), plan(&["r"], &["e"])])
        .role("critic", [approve(), approve(), needs("s")])
        .role("researcher", [found("a")])
        .role("expert", [solved("x", "a")])
        .ask("q")
        .await;
    assert_eq!(same.answer.outcome, Outcome::RetryLimit);
    assert_eq!(rules(&same).last().unwrap(), "no_progress");
}

/// A planner that fails on its way back is asked the same again.
#[tokio::test]
async fn a_planner_that_fails_after_an_escalation_gets_the_same_words_again() {
    let down = Fault::new(FaultCode::ModelTimeout, "the model took too long: x");
    let run = scene(&json!({}))
        .role(
            "planner",
            [plan(&["r"], &["e"]).into(), ScriptedReply::fault(down), plan(&["s"], &["e"]).into()],
        )
        .role("critic", [approve(), approve(), needs("s"), approve(), approve(), approve()])
        .role("researcher", [found("a"), found("b")])
        .role("expert", [solved("x", "a"), solved("y", "b")])
        .ask("q")
        .await;
    assert_eq!(run.answer.outcome, Outcome::Answered);
    let told = run.instructions(Participant::Planner);
    assert_eq!((told[1].content.as_str(), told[2].content.as_str()), ("s", "s"));
    assert_eq!(run.answer.output.retry_count, 2);
    assert_eq!(StepName::parse(&run.state().current_step), Some(StepName::Finalizer));
}

#[tokio::test]
async fn planner_and_critic_read_how_to_go_back() {
    for (model, tier) in [("test:scripted", "large"), ("local:qwen-1.5b", "small")] {
        let mut scene = scene(&json!({}))
            .role("planner", [plan(&["Find A"], &["Say it"]), plan(&["Find B"], &["Say it"])])
            .role(
                "critic",
                [vec![approve(); 2], vec![needs("B is missing.")], vec![approve(); 3]].concat(),
            )
            .role("researcher", [found("a"), found("b")])
            .role("expert", [solved("x", "a"), solved("y", "b")]);
        scene.model_name = model;
        let run = scene.ask("q").await;
        let shown = [run.requests("critic")[2].clone(), run.requests("planner")[1].clone()];
        compare_conversation("review_loop", &format!("escalation_{tier}.txt"), &shown);
    }
}
