//! From the question to the answer, and without tools.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_systems::Outcome;
use antiphon_systems::agentic_search::{
    Config, PlanSource, SearchInput, SearchOutcome, TaskStatus,
};
use serde_json::json;

use crate::scene::{FakeTool, Scene, answer, fails, plan, says, task};

/// AS-01 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn two_tasks_take_two_requests_and_two_calls_and_tell_their_steps_in_order() {
    let (stories, notes) = (says("stories", "12 stories"), says("notes", "5 notes"));
    let run = Scene::new(&json!({}))
        .tool(&stories)
        .tool(&notes)
        .planner([plan(&[task("stories", "upstream"), task("notes", "upstream tag")])])
        .synthesiser([answer("<p>There are <strong>12</strong> and 5.</p>")])
        .ask("How many stories have upstream?")
        .await;
    assert_eq!(run.spent(), (2, 2));
    let output = &run.result.output;
    assert_eq!(run.result.outcome, Outcome::Answered);
    assert_eq!(output.search_outcome, SearchOutcome::Answered);
    assert_eq!(output.html, "<p>There are <strong>12</strong> and 5.</p>");
    assert_eq!(output.answer, "There are **12** and 5.");
    assert_eq!(output.execution_plan.as_ref().unwrap().source, PlanSource::Model);
    assert_eq!(
        output.thinking_steps,
        [
            "Question: How many stories have upstream?",
            "2 tools can be used: stories, notes",
            "Plan: look it up",
            "1. stories: upstream",
            "2. notes: upstream tag",
            "Task 1: stories({\"query\":\"upstream\"})",
            "Result of task 1: 12 stories",
            "Task 2: notes({\"query\":\"upstream tag\"})",
            "Result of task 2: 5 notes",
            "2 results, 0 failures, from: stories, notes",
            "The answer has 43 characters",
        ]
    );
    let gathered = &output.gathered_information;
    assert_eq!(gathered.sources_used, ["stories", "notes"]);
    assert_eq!(gathered.task_results[1].result, json!("5 notes"));
    assert_eq!(gathered.summary.as_deref(), Some("There are **12** and 5."));
}

/// AS-02 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn five_tasks_take_two_requests_too() {
    let stories = says("stories", "12 stories");
    let tasks: Vec<_> = (0..5).map(|number| task("stories", &format!("part {number}"))).collect();
    let run = Scene::new(&json!({}))
        .tool(&stories)
        .planner([plan(&tasks)])
        .synthesiser([answer("<p>Many.</p>")])
        .ask("How many?")
        .await;
    assert_eq!(run.spent(), (2, 5));
    assert_eq!(run.result.state.current_task_index, 5);
}

/// AS-08 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_task_that_fails_is_told_and_the_others_are_answered_from() {
    let (broken, notes) = (fails("stories"), says("notes", "5 notes"));
    let run = Scene::new(&json!({}))
        .tool(&broken)
        .tool(&notes)
        .planner([plan(&[task("stories", "upstream"), task("notes", "upstream")])])
        .synthesiser([answer("<p>At least 5.</p>")])
        .ask("How many?")
        .await;
    let states: Vec<TaskStatus> = run.tasks().iter().map(|task| task.status).collect();
    assert_eq!(states, [TaskStatus::Failed, TaskStatus::Completed]);
    assert_eq!(run.result.output.search_outcome, SearchOutcome::AnsweredPartial);
    assert_eq!(run.result.outcome, Outcome::Answered);
    let prompt = run.read_by("synthesiser");
    assert!(prompt.contains("<failed_task number=\"1\">"), "{prompt}");
    assert!(prompt.contains("the index is closed"), "{prompt}");
}

#[tokio::test]
async fn a_tool_that_asks_a_person_fails_its_task_alone() {
    let asking = Arc::new(FakeTool::search("asking", |_| Err(Fault::question(json!("Which?")))));
    let elsewhere = Arc::new(FakeTool::search("elsewhere", |_| {
        Err(Fault::new(FaultCode::ThreadBusy, "another run holds the thread"))
    }));
    let run = Scene::new(&json!({}))
        .tool(&asking)
        .tool(&elsewhere)
        .tool(&says("notes", "5 notes"))
        .planner([plan(&[task("asking", "a"), task("elsewhere", "b"), task("notes", "c")])])
        .synthesiser([answer("<p>At least 5.</p>")])
        .ask("How many?")
        .await;
    let messages: Vec<Option<&str>> = run
        .tasks()
        .iter()
        .map(|task| task.error.as_ref().map(|error| error.message.as_str()))
        .collect();
    let asked = "a tool cannot ask a person where no team or graph calls it: asking";
    assert_eq!(messages, [Some(asked), Some("another run holds the thread"), None]);
    assert_eq!(run.result.output.search_outcome, SearchOutcome::AnsweredPartial);
    assert_eq!(run.spent(), (2, 3));
}

/// AS-10 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn an_answer_is_asked_for_when_all_tasks_fail() {
    let broken = fails("stories");
    let run = Scene::new(&json!({}))
        .tool(&broken)
        .planner([plan(&[task("stories", "a"), task("stories", "b")])])
        .synthesiser([answer("<p>Nothing could be found.</p>")])
        .ask("How many?")
        .await;
    assert_eq!(run.spent(), (2, 2));
    let output = &run.result.output;
    assert_eq!(output.error_message.as_deref(), Some("all tasks have failed"));
    assert_eq!(run.result.reason.as_deref(), Some("all tasks have failed"));
    assert_eq!(output.search_outcome, SearchOutcome::FallbackHtml);
    assert_eq!((run.result.outcome, &*output.answer), (Outcome::NoAnswer, ""));
    assert!(output.html.ends_with("<p>Nothing could be found.</p>"), "{}", output.html);
    assert!(output.html.contains("no source supports what follows"), "{}", output.html);
    let [turn] = &*run.result.state.conversation_history else { panic!("one turn") };
    assert!(turn.response.contains("no source supports what follows"), "{}", turn.response);
}

/// AS-36 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn results_that_are_empty_are_no_sources() {
    let nothing = [json!(null), json!(" "), json!([]), json!({"results": [], "documents": 1169})];
    for empty in nothing {
        let tool = |name, result: &serde_json::Value| {
            let result = result.clone();
            Arc::new(FakeTool::search(name, move |_| Ok(result.clone())))
        };
        let (lost, found) = (tool("lost", &empty), tool("found", &json!({"rows": 0, "n": 12})));
        let alone = Scene::new(&json!({}))
            .tool(&lost)
            .planner([plan(&[task("lost", "a")])])
            .synthesiser([answer("<p>There are 1169.</p>")])
            .ask("How many?")
            .await;
        assert_eq!(alone.result.outcome, Outcome::NoAnswer, "{empty}");
        assert_eq!(alone.result.reason.as_deref(), Some("no task has found anything"));
        assert!(alone.result.output.sources.is_empty());
        assert!(alone.read_by("synthesiser").contains("Nothing was found"));
        let beside = Scene::new(&json!({}))
            .tool(&lost)
            .tool(&found)
            .planner([plan(&[task("lost", "a"), task("found", "b")])])
            .synthesiser([answer("<p>12.</p>")])
            .ask("How many?")
            .await;
        assert_eq!(beside.result.outcome, Outcome::Answered, "{empty}");
        let tools: Vec<&str> =
            beside.result.output.sources.iter().map(|it| it.tool_name.as_str()).collect();
        assert_eq!(tools, ["found"]);
    }
}

/// AS-12 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn without_a_tool_no_model_is_asked() {
    let stories = says("stories", "12 stories");
    let enabled = SearchInput {
        enabled_tools: vec!["nothing".to_owned()],
        ..SearchInput::from("What is <b>?")
    };
    for (scene, input) in [
        (Scene::new(&json!({})).tool(&stories), enabled),
        (Scene::new(&json!({})), SearchInput::from("What is <b>?")),
    ] {
        let run = scene.ask(input).await;
        assert_eq!(run.spent(), (0, 0));
        assert_eq!(run.result.outcome, Outcome::NoAnswer);
        assert_eq!(run.result.output.search_outcome, SearchOutcome::NoTools);
        assert!(run.html().contains("What is &lt;b&gt;?"), "{}", run.html());
        assert_eq!(run.result.output.answer, "");
        assert!(run.result.reason.is_some());
        assert_eq!(run.result.state.conversation_history, [], "it is no turn");
    }
}

#[tokio::test]
async fn a_model_may_answer_without_tools_where_that_is_wanted() {
    let run = Scene::new(&json!({"on_no_tools": "model"}))
        .synthesiser([answer("<p>Hello.</p>")])
        .ask("Hello?")
        .await;
    assert_eq!(run.spent(), (1, 0));
    assert_eq!(run.result.output.answer, "Hello.");
}

#[tokio::test]
async fn only_enabled_tools_are_planned_with_and_unknown_names_are_told() {
    let (stories, notes) = (says("stories", "12"), says("notes", "5"));
    let input = SearchInput {
        enabled_tools: vec!["notes".to_owned(), "pages".to_owned()],
        ..SearchInput::from("How many?")
    };
    let run = Scene::new(&json!({}))
        .tool(&stories)
        .tool(&notes)
        .planner([plan(&[task("stories", "a"), task("notes", "b")])])
        .synthesiser([answer("<p>5.</p>")])
        .ask(input)
        .await;
    assert_eq!(
        run.notes("tools_discovered"),
        [json!({"count": 1, "names": ["notes"], "unknown_enabled": ["pages"]})]
    );
    assert!(!run.read_by("planner").contains("Searches stories."));
    assert_eq!(stories.calls().len(), 0);
    assert_eq!(run.tasks().len(), 1);
}

#[tokio::test]
async fn a_blank_question_is_refused_before_anything_is_asked() {
    let mut scene = Scene::new(&json!({})).tool(&says("stories", "12"));
    let (system, model) = scene.system();
    let refused = system.ask(" ", scene.session()).await.unwrap_err();
    assert_eq!(refused.code, "question_blank");
    assert!(model.requests().is_empty());
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    for (setting, name) in [
        (json!({"max_tasks": 0}), "max_tasks"),
        (json!({"max_turn_iterations": 0}), "max_turn_iterations"),
        (json!({"temperature": 3}), "temperature"),
        (json!({"tool_timeout_s": 0}), "tool_timeout_s"),
        (json!({"question_timeout_s": -1}), "question_timeout_s"),
        (json!({"registry": "x"}), "registry"),
    ] {
        let fault = Config::from_json(&setting).unwrap_err();
        assert_eq!(fault.code, "system_setting_invalid");
        assert!(fault.message.contains(name), "{}", fault.message);
    }
}
