//! Tools whose calls a person has to approve.

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
            .synthesiser([answer("<p>12.</p>")]);
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
