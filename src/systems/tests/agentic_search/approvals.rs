//! What a person is asked: whether a call is made, and what a question means.

use std::sync::Arc;

use antiphon_core::approval::Approval;
use antiphon_runtime::Answers;
use antiphon_systems::agentic_search::{TaskErrorKind, TaskStatus};
use antiphon_systems::{Outcome, SystemStart};
use serde_json::{Value as Json, json};

use crate::scene::{FakeTool, Scene, answer, plan, says, task};

/// AS-33 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_person_approves_changes_or_refuses_a_call() {
    let cases: [(Json, Vec<Json>, TaskStatus); 3] = [
        (json!(true), vec![json!({"query": "a"})], TaskStatus::Completed),
        (
            json!({"approve": true, "args": {"query": "b"}}),
            vec![json!({"query": "b"})],
            TaskStatus::Completed,
        ),
        (json!({"approve": false, "reason": "too dear"}), vec![], TaskStatus::Failed),
    ];
    for (decision, sent, status) in cases {
        let mut tool = FakeTool::search("paid", |_| Ok(json!("12")));
        tool.spec.approval = Approval::Person;
        let (paid, notes) = (Arc::new(tool), says("notes", "5"));
        let mut scene = Scene::new(&json!({}))
            .tool(&paid)
            .tool(&notes)
            .planner([plan(&[task("paid", "a"), task("notes", "b")])])
            .synthesiser([answer("<p>It is known.</p>")]);
        let (system, model) = scene.system();
        let paused = system.ask("How many?", scene.session()).await.unwrap();
        assert_eq!(paused.outcome, Outcome::Paused);
        let [question] = &*paused.questions else { panic!("one question") };
        assert_eq!(question.value["tool"], "paid");
        assert_eq!((paid.calls().len(), notes.calls().len()), (0, 1), "the others go on");
        let start = SystemStart::Continue(paused.paused.unwrap(), Answers::Only(decision));
        let result = system.run(start, scene.session()).await.unwrap();
        assert_eq!(result.outcome, Outcome::Answered);
        assert_eq!(paid.calls(), sent);
        assert_eq!(notes.calls().len(), 1, "nothing is repeated");
        let plan = result.output.execution_plan.unwrap();
        assert_eq!(plan.tasks[0].status, status);
        if status == TaskStatus::Failed {
            assert_eq!(plan.tasks[0].error.as_ref().unwrap().kind, TaskErrorKind::Refused);
        }
        assert_eq!(model.requests().len(), 2);
    }
}

/// AS-34 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_planner_asks_a_person_once_what_a_question_means() {
    let stories = says("stories", "12");
    let asks = || json!({"tasks": [], "question": "Which river?"});
    let scene_with = |settings: &Json| {
        Scene::new(settings)
            .tool(&stories)
            .planner([asks(), plan(&[task("stories", "the Rhône")])])
            .synthesiser([answer("<p>12.</p>")])
    };
    let mut scene = scene_with(&json!({"clarify": true}));
    let (system, model) = scene.system();
    let paused = system.ask("How long is it?", scene.session()).await.unwrap();
    assert_eq!((paused.outcome, paused.questions.len()), (Outcome::Paused, 1));
    assert_eq!(paused.questions[0].value, "Which river?");
    let answer = Answers::Only(json!("The Rhône"));
    let start = SystemStart::Continue(paused.paused.unwrap(), answer);
    let result = system.run(start, scene.session()).await.unwrap();
    assert_eq!((result.outcome, &*result.output.answer), (Outcome::Answered, "12."));
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    let first = requests[0].messages[0].content.to_string();
    assert!(
        first.contains("ask in `question`") && first.contains("\"question\": \"\"}"),
        "{first}"
    );
    assert!(!requests[1].messages[0].content.to_string().contains("ask in `question`"));
    for request in &requests[1..] {
        let read = request.messages[1].content.to_string();
        let said = "<clarification>\nasked: Which river?\nanswer: The Rhône\n</clarification>";
        assert!(read.contains(said), "{read}");
    }

    // Without the setting nobody is asked, and the question is looked up.
    let mut scene = scene_with(&json!({}));
    let (system, model) = scene.system();
    let result = system.ask("How long is it?", scene.session()).await.unwrap();
    assert_eq!((result.outcome, model.requests().len()), (Outcome::Answered, 2));
    assert_eq!(stories.calls().last().unwrap()["query"], "How long is it?");
}
