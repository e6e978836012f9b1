//! Plans that change, and people who are asked.

use antiphon_runtime::Answers;
use antiphon_systems::deep_research::StepStatus::{Completed, Skipped};
use antiphon_systems::deep_research::{ResearchRequest, StepStatus};
use antiphon_systems::{Outcome, Session};
use serde_json::{Value as Json, json};

use crate::scene::{
    Scene, ScriptedRun, decision, in_time, moderate, observed, plan, report, search,
};

fn medium(plans: &[Json], decisions: &[&str]) -> Scene {
    let decisions: Vec<Json> = decisions.iter().map(|one| decision(one)).collect();
    let steps = (0..8).flat_map(|number| {
        [search(&format!("tea {number}")), observed(&format!("Finding {number}."))]
    });
    Scene::new(&json!({"background_investigation": false}))
        .role("coordinator", [moderate()])
        .role("planner", plans.to_vec())
        .role("researcher", steps)
        .role("reflector", decisions)
        .role("synthesiser", [report("Two minutes [1].")])
}

fn titles(run: &ScriptedRun) -> Vec<(&str, StepStatus)> {
    let plan = run.result.output.plan.as_ref().unwrap();
    plan.steps.iter().map(|step| (step.title.as_str(), step.status)).collect()
}

/// DR-06 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_short_plan_is_asked_again_once_and_a_long_one_cut() {
    let many: Vec<String> = (1..=12).map(|number| format!("Step {number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let plans = [plan(&["a", "b"]), plan(&many)];
    let run = medium(&plans, &["continue", "continue", "complete"]).ask("How long?").await;
    assert_eq!(titles(&run).len(), 6);
    let asked = run.requests("planner");
    assert_eq!(asked.len(), 2);
    let again = asked[1].messages.last().unwrap().content.to_string();
    assert!(again.contains("Your plan had 2 steps. Plan at least 3."), "{again}");
    let run = medium(&[plan(&["a", "b"]), plan(&["c", "d"])], &["continue"; 3]).ask("Q?").await;
    let first: Vec<_> = titles(&run).into_iter().map(|(title, _)| title).take(2).collect();
    assert_eq!(first, ["c", "d"], "the second one is accepted");
}

#[tokio::test]
async fn what_a_planner_copies_from_the_form_of_its_reply_is_no_step() {
    let copied = json!({"title": "what it finds", "description": "what exactly"});
    let titled = json!({"title": "what it finds", "description": "the time of green tea"});
    let plan = json!({"steps": [copied, titled, {"title": "black tea"}]});
    let run = medium(&[plan.clone(), plan], &["continue"; 2]).ask("How long?").await;
    let found: Vec<_> = titles(&run).into_iter().map(|(title, _)| title).collect();
    assert_eq!(found, ["the time of green tea", "black tea"]);
    let form = run.requests("planner")[0].messages[0].content.to_string();
    assert!(form.contains(r#""title": "what it finds", "description": "what exactly""#), "{form}");
}

#[tokio::test]
async fn a_plan_that_is_the_form_of_its_reply_is_the_question_itself() {
    let copied = json!({"steps": [{"title": "what it finds", "description": "what exactly"}]});
    let searched = json!({"queries": ["a few words", "other words"]});
    let run = Scene::new(&json!({}))
        .role("coordinator", [moderate()])
        .role("background", [searched])
        .role("planner", [copied.clone(), copied])
        .role("researcher", [search("a few words"), search("tea"), observed("Two minutes.")])
        .role("reflector", [decision("continue")])
        .role("synthesiser", [report("Two minutes [1].")])
        .ask("How long?")
        .await;
    assert_eq!(titles(&run)[0].0, "How long?");
    let mut searched = run.library.called();
    searched.retain(|call| call.starts_with("search "));
    assert_eq!(searched, ["search How long?", "search tea"]);
    for role in ["background", "researcher"] {
        let form = run.requests(role)[0].messages[0].content.to_string();
        assert!(form.contains("\"a few words\""), "{form}");
    }
}

/// DR-06 of `docs/systems/deep-research.md`: what is told of a plan without steps.
#[tokio::test]
async fn a_plan_without_steps_is_asked_for_again_and_then_told_with_what_is_done_instead() {
    let none = || json!({"steps": []});
    let told = |run: &ScriptedRun| {
        let errors = run.result.output.errors.iter();
        errors.map(|error| (error.error_message.clone(), error.recoverable)).collect::<Vec<_>>()
    };
    let mended = medium(&[none(), plan(&["a", "b", "c"])], &["continue"; 3]).ask("How?").await;
    assert_eq!(told(&mended), []);
    let again = mended.requests("planner")[1].messages.last().unwrap().content.to_string();
    assert!(again.contains("Your plan had 0 steps. Plan at least 3."), "{again}");
    let run = medium(&[none(), none(), none()], &["adjust", "complete"]).ask("How?").await;
    let message = |text: &str| (format!("the planner named no {text}"), true);
    assert_eq!(
        told(&run),
        [
            message("step: the question itself is researched"),
            message("further step: the report is written from what was found"),
        ]
    );
    assert_eq!(titles(&run), [("How?", Completed)]);
    assert_eq!(run.result.outcome, Outcome::Answered);
}

/// DR-07 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn another_plan_keeps_what_is_completed() {
    let plans = [plan(&["a", "b", "x"]), plan(&["c", "d"])];
    let run = medium(&plans, &["adjust", "continue", "complete"]).ask("How long?").await;
    assert_eq!(titles(&run), [("a", Completed), ("c", Completed), ("d", Completed)]);
    let output = &run.result.output;
    assert_eq!(output.plan.as_ref().unwrap().iteration, 2);
    assert!(output.observations[0].text.starts_with("Finding 0."));
    let skipped: Vec<_> = output.skipped_steps.iter().map(|step| step.title.as_str()).collect();
    assert_eq!(skipped, ["b", "x"]);
    let second = run.requests("planner")[1].messages.last().unwrap().content.to_string();
    assert!(second.contains("Finding 0.") && second.contains("to adjust"), "{second}");
}

/// DR-08 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn after_three_plans_pending_steps_are_researched() {
    let plans = [plan(&["a", "b", "x"]), plan(&["c", "d"]), plan(&["e", "f"])];
    let decisions = ["adjust", "adjust", "adjust", "complete"];
    let run = medium(&plans, &decisions).ask("How long?").await;
    let all = [("a", Completed), ("c", Completed), ("e", Completed), ("f", Completed)];
    assert_eq!(titles(&run), all);
    assert_eq!(run.requests("planner").len(), 3);
    assert_eq!(run.notes("reflection_decision")[2]["overridden"], true);
}

/// DR-09 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn complete_counts_from_the_least_steps_on() {
    let plans = [plan(&["a", "b", "c", "d", "e"])];
    let run = medium(&plans, &["complete", "continue", "complete"]).ask("How long?").await;
    let all =
        [("a", Completed), ("b", Completed), ("c", Completed), ("d", Skipped), ("e", Skipped)];
    assert_eq!(titles(&run), all);
    assert_eq!(run.notes("reflection_decision")[0]["overridden"], true);
    assert_eq!(run.notes("reflection_decision")[0]["decision"], "continue");
}

#[tokio::test]
async fn without_steps_and_sources_a_question_is_answered_with_a_warning() {
    let run = Scene::new(&json!({"background_investigation": false}))
        .role("coordinator", [moderate()])
        .role("planner", [json!({"has_enough_context": true, "steps": []})])
        .role("responder", [json!({"response": "Two minutes."})])
        .ask("How long?")
        .await;
    assert_eq!(run.result.output.answer, "Two minutes.");
    assert_eq!(run.result.output.warnings, ["needs_sources"]);
}

pub(crate) fn ambiguous() -> Json {
    json!({
        "is_simple_query": false, "complexity": "moderate", "is_ambiguous": true,
        "clarifying_questions": ["Which tea?", "Which water?", "Where?", "When?"],
    })
}

/// DR-03 of `docs/systems/deep-research.md`.
#[tokio::test]
async fn a_person_is_asked_at_most_three_times() {
    let mut scene = Scene::new(&json!({"background_investigation": false}))
        .role("coordinator", [ambiguous(), ambiguous(), ambiguous(), ambiguous()])
        .role("planner", [json!({"has_enough_context": true, "steps": []})])
        .role("responder", ["Two minutes."]);
    let (system, model) = scene.system();
    let asked = Box::pin(system.ask("How long?", scene.session()));
    let mut result = in_time(&scene.clock, asked).await.unwrap();
    for round in 1..=3 {
        assert_eq!(result.outcome, Outcome::Paused, "round {round}");
        let question = &result.questions[0];
        assert_eq!(question.value, json!("Which tea?\nWhich water?\nWhere?"));
        let answers = Answers::Only(json!(format!("answer {round}")));
        let paused = result.paused.take().unwrap();
        let start = antiphon_systems::SystemStart::Continue(paused, answers);
        let session: Session = scene.session();
        let resumed = Box::pin(system.run(start, session));
        result = in_time(&scene.clock, resumed).await.unwrap();
    }
    assert_eq!(result.outcome, Outcome::Answered);
    let last = model.requests().into_iter().rfind(|it| it.tags["role"] == "coordinator").unwrap();
    let read = last.messages.last().unwrap().content.to_string();
    assert!(read.contains("answer 1") && read.contains("answer 3"), "{read}");
    assert_eq!(result.state.clarification_history.len(), 3);
}

#[tokio::test]
async fn nobody_is_asked_if_it_is_not_wanted() {
    let input = ResearchRequest { enable_clarification: false, .."How long?".into() };
    let run = Scene::new(&json!({"background_investigation": false}))
        .role("coordinator", [ambiguous()])
        .role("planner", [json!({"has_enough_context": true, "steps": []})])
        .role("responder", ["Two minutes."])
        .ask(input)
        .await;
    assert_eq!(run.result.outcome, Outcome::Answered);
}
