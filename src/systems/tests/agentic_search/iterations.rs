//! Further plans, if something is missing.

use serde_json::{Value as Json, json};

use crate::scene::{Scene, answer, plan, says, task};

fn insufficient(missing: &str) -> Json {
    json!({
        "reasoning": "",
        "response_content": "<p>A part.</p>",
        "sufficient": false,
        "missing": missing,
    })
}

fn settings() -> Json {
    json!({"max_turn_iterations": 2})
}

/// AS-27 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn what_is_missing_is_planned_for_once_more() {
    let stories = says("stories", "12 stories");
    let next = json!({
        "task_number": 1,
        "tool_name": "stories",
        "tool_arguments": {"query": "the rest"},
    });
    let run = Scene::new(&settings())
        .tool(&stories)
        .planner([plan(&[task("stories", "a")]), plan(&[next])])
        .synthesiser([insufficient("the rest"), answer("<p>All.</p>")])
        .ask("How many?")
        .await;
    assert_eq!(run.spent(), (4, 2));
    let numbers: Vec<usize> = run.tasks().iter().map(|task| task.task_number).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(run.result.output.gathered_information.task_results.len(), 2);
    assert_eq!(run.result.output.answer, "All.");
    let prompt = run.read_by("planner");
    assert!(prompt.contains("<missing>\nthe rest\n</missing>"), "{prompt}");
    assert!(prompt.contains("<task_result number=\"1\">"), "{prompt}");
    assert!(prompt.contains("Number them from 2."), "{prompt}");

    let enough = Scene::new(&settings())
        .tool(&stories)
        .planner([plan(&[task("stories", "a")])])
        .synthesiser([answer("<p>All.</p>")])
        .ask("How many?")
        .await;
    assert_eq!(enough.spent(), (2, 1));
}

#[tokio::test]
async fn a_second_plan_without_a_task_delivers_the_answer_there_is() {
    let stories = says("stories", "12 stories");
    for second in [plan(&[]), plan(&[task("unknown", "a")]), json!("prose")] {
        let run = Scene::new(&settings())
            .tool(&stories)
            .planner([plan(&[task("stories", "a")]), second])
            .synthesiser([insufficient("the rest")])
            .ask("How many?")
            .await;
        assert_eq!(run.spent(), (3, 1));
        assert_eq!(run.result.output.answer, "A part.");
    }
}

#[tokio::test]
async fn the_last_answer_counts_whatever_it_says_of_itself() {
    let stories = says("stories", "12 stories");
    let run = Scene::new(&settings())
        .tool(&stories)
        .planner([plan(&[task("stories", "a")]), plan(&[task("stories", "b")])])
        .synthesiser([insufficient("b"), insufficient("c")])
        .ask("How many?")
        .await;
    assert_eq!((run.spent(), &*run.result.output.answer), ((4, 2), "A part."));
    assert_eq!(run.notes("answer_insufficient").len(), 1);
}

#[tokio::test]
async fn an_equal_task_of_a_second_plan_is_not_called_again() {
    let stories = says("stories", "12 stories");
    let again = [task("stories", "a"), task("stories", "b")];
    let run = Scene::new(&settings())
        .tool(&stories)
        .planner([plan(&[task("stories", "a")]), plan(&again)])
        .synthesiser([insufficient("b"), answer("<p>All.</p>")])
        .ask("How many?")
        .await;
    assert_eq!((run.spent(), stories.calls().len()), ((4, 2), 2));
    assert_eq!(run.tasks()[1].shares_result_of, Some(1));
}

/// AS-37 of `docs/systems/agentic-search.md`.
#[tokio::test]
async fn a_second_plan_that_repeats_its_tasks_costs_no_fourth_request() {
    let stories = says("stories", "12 stories");
    let run = Scene::new(&settings())
        .tool(&stories)
        .planner([plan(&[task("stories", "a")]), plan(&[task("stories", "a")])])
        .synthesiser([insufficient("b"), answer("<p>All.</p>")])
        .ask("How many?")
        .await;
    assert_eq!(run.spent(), (3, 1));
    assert_eq!(run.result.output.answer, "A part.");
    assert_eq!(run.notes("plan_fallback")[0]["reason"], "the plan repeats tasks");
    assert_eq!(run.tasks().len(), 1);
}
