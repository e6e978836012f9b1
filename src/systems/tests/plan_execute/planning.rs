//! Plans: of templates, of the planner, of the caller.

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::Answers;
use antiphon_systems::plan_execute::{
    AnswerSource, ExecutionMode, PlanSource, StepErrorKind, TaskInput, TaskStatus,
};
use antiphon_systems::{Outcome, SystemStart};
use serde_json::{Value as Json, json};

use crate::fake_tools::{FakeTool, returns, search, step, write};
use crate::scene::{Scene, ScriptedRun};

fn hits() -> Arc<FakeTool> {
    let one = json!({"title": "Tea", "url": "https://a.example", "snippet": "Hot."});
    returns("web_search", &json!({"results": [one]}))
}

/// PE-01 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_calculation_needs_no_planner() {
    let run = Scene::new(&json!({}))
        .tool(&returns("calculate", &json!({"result": "14", "number": 14})))
        .answers("14")
        .ask("calculate 2*(3+4)")
        .await;
    assert_eq!(run.step("t1").raw_result_data, json!(14));
    assert_eq!(run.output().status, TaskStatus::Completed);
    assert_eq!(run.output().plan_source, Some(PlanSource::Template));
    assert_eq!(run.result.outcome, Outcome::Answered);
    assert!(run.requests("planner").is_empty());
}

#[tokio::test]
async fn a_refused_key_is_the_error_of_the_task() {
    let refused = Fault::new(FaultCode::ModelKeyRefused, "the key was refused");
    let run = Scene::new(&json!({}))
        .tool(&hits())
        .role("planner", [refused])
        .ask("Compare teas and cups, then write a page about both")
        .await;
    assert_eq!(run.result.outcome, Outcome::Error);
    assert_eq!(run.result.reason.as_deref(), Some("no request to a model succeeded"));
    assert_eq!(run.result.error.as_ref().unwrap().code, "model_key_refused");
    assert_eq!(run.output().status, TaskStatus::FailedPlanning);
}

/// PE-02 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn quotes_in_a_task_break_no_template() {
    let search = hits();
    let run = Scene::new(&json!({}))
        .tool(&search)
        .answers("Sunny.")
        .ask("What is the weather in \"Bad\" City?")
        .await;
    assert_eq!(run.output().status, TaskStatus::Completed);
    assert_eq!(search.calls(), [json!({"query": "current weather in \"Bad\" City"})]);
}

/// PE-06 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_reference_to_an_unknown_step_is_asked_about_once_and_then_fails_its_step() {
    let both = [search("s1", "tea"), search("s2", "cups")];
    let wrong = json!([both, [write("w", "@{outputs.s9.result_data}")]]);
    let right = json!([[search("s1", "tea")], [write("w2", "@{outputs.s1.result_data}")]]);
    let scene_with = |settings: &Json| {
        Scene::new(settings)
            .tool(&hits())
            .plans(&[wrong.clone(), wrong.clone(), right.clone()])
            .role("step_executor", ["a text"])
            .keeps_context()
    };
    let run =
        scene_with(&json!({})).role("synthesiser", [json!({"answer": "Tea."})]).ask("Tea?").await;
    let asked = &run.requests("planner")[1].messages[1].content.to_string();
    assert!(asked.contains("[1][0].sub_task_input.prompt: there is no such step"), "{asked}");
    let first = &run.output().attempt_history[0];
    let error = first.execution_context[2].error_details.as_ref().unwrap();
    assert_eq!(error.kind, StepErrorKind::ReferenceResolution);
    assert_eq!(error.reference.as_deref(), Some("@{outputs.s9.result_data}"));
    assert_eq!((run.output().attempts, run.output().warnings.len()), (2, 1));
    assert_eq!(run.output().status, TaskStatus::Completed);

    let strict = scene_with(&json!({"strict_plan": true}));
    let run = strict.role("synthesiser", [json!({"answer": "No plan."})]).ask("Tea?").await;
    assert_eq!(run.output().status, TaskStatus::FailedPlanning);
    assert_eq!(run.output().final_answer.as_deref(), Some("No plan."));
    assert_eq!(run.output().final_answer_source, Some(AnswerSource::FailureExplanation));
    assert_eq!((run.output().answer.as_str(), run.result.outcome), ("", Outcome::NoAnswer));
}

/// PE-08 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_planner_reads_where_its_plan_is_wrong() {
    let run = Scene::new(&json!({}))
        .tool(&hits())
        .plans(&[
            json!([[search("s1", "tea")], [search("s1", "coffee")]]),
            json!([[search("s1", "tea"), search("s2", "coffee")]]),
        ])
        .answers("Both.")
        .ask("Tea or coffee?")
        .await;
    assert!(run.read_by("planner").contains("[1][0].stepId: the id is that of [0][0] too: s1"));
    assert_eq!(run.output().status, TaskStatus::Completed);
}

/// PE-09 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_plan_in_prose_is_read_and_an_empty_one_is_none() {
    let stages = json!([[search("s1", "tea")]]);
    for text in [
        format!("Here is the plan:\n```json\n{}\n```\nGood luck!", json!({"stages": stages})),
        format!("Here is the plan:\n```json\n{stages}\n```"),
        stages.to_string(),
    ] {
        let scene = Scene::new(&json!({})).tool(&hits()).role("planner", [text.as_str()]);
        let run = scene.answers("Tea.").ask("Tea?").await;
        assert_eq!(run.output().status, TaskStatus::Completed, "{text}");
    }
    let empty = Scene::new(&json!({})).tool(&hits()).plans(&[json!([]), json!([])]);
    let run = empty.answers("There is no plan.").ask("Tea?").await;
    assert_eq!(run.output().status, TaskStatus::FailedPlanning);
    assert!(run.journal().contains(&"PLANNING_FAILED"));
    assert_eq!(run.output().attempts, 0);
}

/// PE-17 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_misplaced_answer_is_asked_about_once_and_then_ignored() {
    let early = json!({"prompt": "Say tea.", "isFinalAnswer": true});
    let early = step("w", "Orchestrator", "LLMStepExecutor", &early);
    let plan = json!([[early], [search("s1", "tea")]]);
    let run = Scene::new(&json!({}))
        .tool(&hits())
        .plans(&[plan.clone(), plan])
        .role("step_executor", ["tea"])
        .answers("Tea it is.")
        .ask("Tea?")
        .await;
    assert_eq!(run.requests("planner").len(), 2);
    assert_eq!(run.output().answer, "Tea it is.");
    assert!(run.output().warnings[0].contains("isFinalAnswer"));
}

/// PE-25 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_plan_of_the_caller_is_executed_without_a_planner() {
    let input = |plan: Json| TaskInput {
        question: "Tea?".to_owned(),
        mode: ExecutionMode::ExecutePlannedTask,
        plan: Some(plan),
        ..TaskInput::default()
    };
    let scene = Scene::new(&json!({})).tool(&hits()).answers("Tea.");
    let run = scene.ask(input(json!([[search("s1", "tea")]]))).await;
    assert_eq!(run.output().plan_source, Some(PlanSource::Saved));
    assert_eq!(run.output().answer, "Tea.");
    assert!(run.requests("planner").is_empty());
    let scene = Scene::new(&json!({})).tool(&hits()).answers("It is no plan.");
    let run = scene.ask(input(json!([[search("a b", "tea")]]))).await;
    assert_eq!(run.output().status, TaskStatus::FailedPlanning);
}

#[tokio::test]
async fn only_a_plan_is_made_if_that_is_asked_for() {
    let input = TaskInput {
        question: "Tea?".to_owned(),
        mode: ExecutionMode::PlanOnly,
        ..TaskInput::default()
    };
    let search_tool = hits();
    let scene = Scene::new(&json!({})).tool(&search_tool).plans(&[json!([[search("s1", "tea")]])]);
    let run = scene.ask(input).await;
    let output = run.output();
    assert_eq!(output.status, TaskStatus::PlanGenerated);
    assert!(output.success && output.final_answer.is_none() && output.answer.is_empty());
    assert_eq!(output.plan.0[0][0].step_id, "s1");
    assert!(search_tool.calls().is_empty());
}

/// PE-39 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_person_approves_changes_or_refuses_a_plan() {
    let search_tool = hits();
    let scene_with = || {
        let scene = Scene::new(&json!({"approve_plan": true})).tool(&search_tool);
        scene.plans(&[json!([[search("s1", "tea")]])]).answers("Tea.")
    };
    let mut scene = scene_with();
    let (system, _) = scene.system();
    let paused = system.ask("Tea?", scene.session()).await.unwrap();
    assert_eq!(paused.outcome, Outcome::Paused);
    assert_eq!(paused.questions[0].value["arguments"]["stages"][0][0]["stepId"], "s1");
    assert!(search_tool.calls().is_empty(), "nothing runs before");
    let edited = |id: &str| json!({"approve": true, "args": {"stages": [[search(id, "coffee")]]}});
    let go_on = |paused, answer| SystemStart::Continue(paused, Answers::Only(answer));
    let start = go_on(paused.paused.unwrap(), edited("a b"));
    let again = system.run(start, scene.session()).await.unwrap();
    assert_eq!(again.outcome, Outcome::Paused, "something is wrong in the changed plan");
    let violations = again.questions[0].value["violations"].to_string();
    assert!(violations.contains("[0][0].stepId"), "{violations}");
    let start = go_on(again.paused.unwrap(), edited("c1"));
    let done = system.run(start, scene.session()).await.unwrap();
    assert_eq!(done.output.plan.0[0][0].step_id, "c1");
    assert_eq!(search_tool.calls(), [json!({"query": "coffee"})]);
    assert_eq!(done.outcome, Outcome::Answered);

    let mut scene = scene_with();
    let (system, _) = scene.system();
    let paused = system.ask("Tea?", scene.session()).await.unwrap();
    let start = go_on(paused.paused.unwrap(), json!({"approve": false, "reason": "too dear"}));
    let refused = system.run(start, scene.session()).await.unwrap();
    assert_eq!(
        (refused.output.status, refused.outcome),
        (TaskStatus::Cancelled, Outcome::NoAnswer)
    );
    assert_eq!(refused.reason.as_deref(), Some("a person refused the plan: too dear"));
    assert_eq!(search_tool.calls().len(), 1);
}

/// PE-39 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_person_approves_a_plan_of_the_caller_too() {
    let search_tool = hits();
    let input = TaskInput {
        mode: ExecutionMode::ExecutePlannedTask,
        plan: Some(json!([[search("s1", "tea")]])),
        .."Tea?".into()
    };
    for (approve, status) in [(true, TaskStatus::Completed), (false, TaskStatus::Cancelled)] {
        let mut scene =
            Scene::new(&json!({"approve_plan": true})).tool(&search_tool).answers("Tea.");
        let (system, _) = scene.system();
        let paused = system.ask(input.clone(), scene.session()).await.unwrap();
        assert_eq!(paused.outcome, Outcome::Paused);
        assert_eq!(paused.questions[0].value["arguments"]["stages"][0][0]["stepId"], "s1");
        let answer = Answers::Only(json!({"approve": approve}));
        let start = SystemStart::Continue(paused.paused.unwrap(), answer);
        let done = system.run(start, scene.session()).await.unwrap();
        assert_eq!((done.output.status, search_tool.calls().len()), (status, 1));
    }
}

#[tokio::test]
async fn a_planner_that_fails_ends_the_task_with_an_explanation() {
    let scene = Scene::new(&json!({})).tool(&hits());
    let run = scene.role("synthesiser", [json!({"answer": "No planner."})]).ask("Tea?").await;
    assert_eq!(ScriptedRun::wire(run.output().status), "FAILED_PLANNING");
    assert_eq!(run.output().final_answer.as_deref(), Some("No planner."));
    assert!(run.result.error.is_some());
}

#[test]
fn a_task_is_not_blank_and_a_plan_needs_its_mode() {
    use antiphon_systems::SystemInput;
    assert_eq!(TaskInput::from(" ").check().unwrap_err().code, "question_blank");
    let given = TaskInput { plan: Some(json!([])), ..TaskInput::from("Tea?") };
    assert_eq!(given.check().unwrap_err().code, "input_invalid");
}

/// PE-35 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_calculation_with_numbers_from_nowhere_is_asked_about_once() {
    let calculate = |expression: &str| {
        json!([[step("c", "UtilityAgent", "CalculatorTool", &json!({"expression": expression}))]])
    };
    let scene = |tools: &[&Arc<FakeTool>]| {
        let scene = tools.iter().fold(Scene::new(&json!({})), |scene, tool| scene.tool(tool));
        let plans = [calculate("200 * 3"), json!([[search("s1", "tea")]])];
        scene.plans(&plans).answers("Two minutes.")
    };
    let (found, number) = (hits(), returns("calculate", &json!({"number": 600})));
    let run = scene(&[&found, &number]).ask("How long does tea steep?").await;
    assert_eq!(number.calls(), Vec::<Json>::new());
    assert_eq!(run.step("s1").tool_name, "WebSearchTool");
    let asked = run.read_by("planner");
    assert!(
        asked.contains("[0][0].sub_task_input.expression: neither the task nor a step has"),
        "{asked}"
    );
    for (task, tools) in [
        ("How long do 200 pots steep?", &[&found, &number][..]),
        ("How long does tea steep?", &[&number]),
    ] {
        let run = scene(tools).ask(task).await;
        assert_eq!(run.requests("planner").len(), 1, "{task}");
        assert_eq!(run.step("c").raw_result_data, 600);
    }
}

/// PE-35: the numbers of a task may be words, or a percentage that is calculated with.
#[tokio::test]
async fn a_number_of_the_task_is_none_from_nowhere_however_it_is_written() {
    for (task, expression) in [
        ("What do five pots cost at 17 crowns each?", "5 * 17"),
        ("What is 80 crowns with 19 % tax?", "80 * 1.19"),
        ("What is 25 % of 1,840?", "0.25 * 1840"),
        ("How many hours are 3.50 days?", "3.5 * 24"),
    ] {
        let (found, number) = (hits(), returns("calculate", &json!({"number": 600})));
        let input = json!({"expression": expression});
        let plan = json!([[step("c", "UtilityAgent", "CalculatorTool", &input)]]);
        let scene = Scene::new(&json!({})).tool(&found).tool(&number);
        let run = scene.plans(&[plan]).answers("So much.").ask(task).await;
        assert_eq!(run.requests("planner").len(), 1, "{task}");
    }
    let (found, number) = (hits(), returns("calculate", &json!({"number": 600})));
    let input = json!({"expression": "0.25 * 1840"});
    let made_up = json!([[step("c", "UtilityAgent", "CalculatorTool", &input)]]);
    let scene = Scene::new(&json!({})).tool(&found).tool(&number);
    let scene = scene.plans(&[made_up, json!([[search("s1", "tea")]])]).answers("So much.");
    let run = scene.ask("What do 25 of 1,840 pots cost?").await;
    assert_eq!(run.requests("planner").len(), 2, "25 is no percentage here");
}

/// PE-35: a file gets no number that the planner has made up, and lists may count.
#[tokio::test]
async fn a_file_with_numbers_from_nowhere_is_asked_about_once() {
    let write = |content: &str| {
        let params = json!({"filename": "tea.md", "content": content});
        let input = json!({"operation": "create_file", "params": params});
        json!([[search("s1", "tea")], [step("w", "Orchestrator", "FileSystemTool", &input)]])
    };
    for (content, requests) in [
        ("Tea steeps for 240 seconds.", 2),
        ("1. Green\n2. Black\n\n@{outputs.s1.result_data}", 1),
        ("Tea for 30 people.", 1),
    ] {
        let (found, file) = (hits(), returns("write_file", &json!({"path": "tea.md"})));
        let scene = Scene::new(&json!({})).tool(&found).tool(&file);
        let plans = [write(content), write("@{outputs.s1.result_data}")];
        let run = scene.plans(&plans).answers("Done.").ask("Write a file on tea.").await;
        assert_eq!(run.requests("planner").len(), requests, "{content}");
        if requests == 2 {
            assert!(
                run.read_by("planner").contains("[1][0].sub_task_input.params.content: neither")
            );
        }
    }
}

/// PE-50 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_calculation_that_a_model_is_asked_for_is_asked_about_once() {
    let plan =
        |prompt: &str| json!([[search("a", "tea"), search("b", "cups")], [write("w", prompt)]]);
    let (tea, cups) = ("@{outputs.a.result_data}", "@{outputs.b.result_data}");
    let number = "Write the number, only the number: pupils";
    for (prompt, requests) in [
        (format!("{number}\n\n{tea} + {cups}"), 2),
        (format!("Write the costs, Only the number: 3 * ({tea} - {cups})"), 2),
        (format!("{number}\n\n{tea}"), 1),
        (format!("{number}\n\n{tea}\n\n{cups}"), 1),
        (format!("{number} of 3-4 cups\n{tea}"), 1),
        (format!("Tell of both: {tea} + {cups}"), 1),
    ] {
        let numbers = returns("calculate", &json!({"number": 310}));
        let scene = Scene::new(&json!({})).tool(&hits()).tool(&numbers);
        let scene = scene.plans(&[plan(&prompt), plan(&prompt)]).answers("So many.");
        let run = scene.role("step_executor", ["310"]).ask("How many?").await;
        assert_eq!(run.requests("planner").len(), requests, "{prompt}");
        assert_eq!(run.output().status, TaskStatus::Completed, "it can run nevertheless");
        if requests == 2 {
            let wrong =
                "[1][0].sub_task_input.prompt: a model calculates wrongly; have CalculatorTool";
            assert!(run.read_by("planner").contains(wrong), "{}", run.read_by("planner"));
        }
        let numbers = returns("calculate", &json!({"number": 310}));
        let strict = Scene::new(&json!({"strict_plan": true})).tool(&hits()).tool(&numbers);
        let strict = strict.plans(&[plan(&prompt), plan(&prompt)]).answers("So many.");
        let run = strict.role("step_executor", ["310"]).ask("How many?").await;
        assert_eq!(run.output().status == TaskStatus::FailedPlanning, requests == 2, "{prompt}");
        let without = Scene::new(&json!({})).tool(&hits()).plans(&[plan(&prompt)]);
        let run = without.role("step_executor", ["310"]).answers("So many.").ask("How many?").await;
        assert_eq!(run.requests("planner").len(), 1, "nothing else can calculate");
    }
}
