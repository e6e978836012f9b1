//! Stages and steps: what runs when, with which input, and what comes of failures.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Category, Fault};
use antiphon_systems::plan_execute::{StepErrorKind, StepStatus, TaskStatus};
use serde_json::{Value as Json, json};

use crate::fake_tools::{FakeTool, read, returns, search, step, write};
use crate::scene::{Scene, ScriptedRun, closed};

fn hits(links: &[&str]) -> Json {
    let one = |link: &&str| json!({"title": "Tea", "url": link, "snippet": "Hot."});
    json!({"results": links.iter().map(one).collect::<Vec<_>>()})
}

fn page() -> Arc<FakeTool> {
    Arc::new(FakeTool::new("read_page", |arguments| {
        let url = arguments["url"].as_str().unwrap();
        if url.ends_with("lost") {
            return Err(closed("the server answered 404"));
        }
        Ok(json!({"text": format!("page of {url}")}))
    }))
}

/// PE-03 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_step_gets_the_value_and_the_context_keeps_the_reference() {
    let page = page();
    let reference = "@{outputs.s1.result_data.0.link}";
    let run = Scene::new(&json!({}))
        .tool(&returns("web_search", &hits(&["https://a.example"])))
        .tool(&page)
        .plans(&[json!([[search("s1", "tea")], [read("r1", reference)]])])
        .answers("Tea.")
        .ask("Tea?")
        .await;
    assert_eq!(page.calls(), [json!({"url": "https://a.example"})]);
    assert_eq!(run.step("r1").sub_task_input["url"], reference);
    assert_eq!(run.step("r1").stage_index, 2);
}

/// PE-04, PE-05 and PE-29 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn values_within_texts_are_put_in_once() {
    let trap = "see @{outputs.s1.result_data}";
    let tool = returns("lookup", &json!(trap));
    let lookup = |id: &str, input: Json| step(id, "UtilityAgent", "lookup", &input);
    let last = lookup("s3", json!({"text": "Again: @{outputs.s2.result_data}"}));
    let run = Scene::new(&json!({}))
        .tool(&tool)
        .plans(&[json!([
            [lookup("s1", json!({}))],
            [lookup("s2", json!({"text": "Summarise: @{outputs.s1.processed_result_data}", "raw": "@{outputs.s1.processed_result_data}"}))],
            [last],
        ])])
        .answers("Done.")
        .ask("Look.")
        .await;
    assert_eq!(run.step("s1").processed_result_data, None, "the result stands for it");
    assert_eq!(
        tool.calls(),
        [
            json!({}),
            json!({"text": format!("Summarise: {trap}"), "raw": trap}),
            json!({"text": format!("Again: {trap}")}),
        ]
    );
}

/// What a calculator is given for an expression with the outputs of two steps.
async fn calculated(expression: &str, [first, second]: [&Json; 2]) -> Json {
    let calculate = returns("calculate", &json!({"number": 1}));
    let lookup = |id: &str, tool: &str| step(id, "UtilityAgent", tool, &json!({}));
    let expression = json!({ "expression": expression });
    Scene::new(&json!({}))
        .tool(&returns("first", first))
        .tool(&returns("second", second))
        .tool(&calculate)
        .plans(&[json!([
            [lookup("s1", "first"), lookup("s2", "second")],
            [step("s3", "UtilityAgent", "CalculatorTool", &expression)],
        ])])
        .answers("Done.")
        .ask("Calculate that.")
        .await;
    calculate.calls().first().and_then(|call| call.get("expression")).cloned().unwrap()
}

/// PE-48 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_calculation_gets_the_number_that_a_text_states() {
    for (said, expression) in [
        (json!("1,260"), "2 * 1260"),
        (json!(" 1,260 tonnes of salt a year. "), "2 * 1260"),
        (json!("146 pupils"), "2 * 146"),
        (json!("3.2 million"), "2 * 3200000"),
        (json!("€4.60"), "2 * 4.6"),
        (json!(7), "2 * 7"),
        (json!("-2.50"), "2 * -2.50"),
    ] {
        let given = calculated("2 * @{outputs.s1.result_data}", [&said, &said]).await;
        assert_eq!(given, expression, "{said}");
    }
    for said in [
        "3 * 4",
        "5 %",
        "-1,260",
        "about 300 litres",
        "not 300 litres",
        "3 to 5 crowns",
        "12 May 1903",
        "340 and 430 litres",
        "300 litres - 20",
        "5 documents mention no price",
        "The lamp of Orrel burns 340 litres",
        "340 litres of oil a year and no more than that",
    ] {
        let given = calculated("2 * @{outputs.s1.result_data}", [&json!(said), &json!("")]).await;
        assert_eq!(given, format!("2 * {said}"));
    }
}

/// PE-48 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn numbers_of_several_units_are_not_calculated_with() {
    let sum = "@{outputs.s1.result_data} + @{outputs.s2.result_data}";
    for (first, second, given) in [
        ("3 km", "2 km", "3 + 2"),
        ("3 km", "500 m", "3 km + 500 m"),
        ("3 km", "€4.60", "3 km + €4.60"),
        ("3 km", "146 pupils", "3 + 146"),
        ("1,260", "3 km", "1260 + 3"),
    ] {
        assert_eq!(calculated(sum, [&json!(first), &json!(second)]).await, given);
    }
}

/// PE-48: what is no number is said with what gives one.
#[tokio::test]
async fn a_text_for_readers_is_no_operand() {
    let page = "The lamp of Orrel burns 340 litres of oil a year. ".repeat(3);
    let calculate = returns("calculate", &json!({"number": 1}));
    let sum = json!({"expression": "sum(@{outputs.s1.result_data})"});
    for (found, is_read) in [
        (json!(page), false),
        (json!([{"passage": page}]), false),
        (json!([3, 4.5, 7]), true),
        (json!(vec!["3 km"; 30]), true),
    ] {
        let run = Scene::new(&json!({"max_revisions": 0}))
            .tool(&returns("first", &found))
            .tool(&calculate)
            .plans(&[json!([
                [step("s1", "UtilityAgent", "first", &json!({}))],
                [step("s3", "UtilityAgent", "CalculatorTool", &sum)],
            ])])
            .answers("Done.")
            .ask("Calculate that.")
            .await;
        let error = run.step("s3").error_details.as_ref().map(|error| error.message.as_str());
        let wrong = "@{outputs.s1.result_data} is a text and no number; have LLMStepExecutor \
                     write only the number of it in an earlier stage";
        assert_eq!(error, (!is_read).then_some(wrong), "{found}");
    }
    assert_eq!(calculate.calls().len(), 2);
}

/// PE-07 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_step_that_cannot_be_prepared_does_not_start_and_the_others_do() {
    let page = page();
    let first = [read("r1", "@{outputs.r3.result_data}"), read("r2", "https://a.example")];
    let plan = json!([first, [read("r3", "https://b.example")]]);
    let run = Scene::new(&json!({"max_reasks": 0, "max_revisions": 0}))
        .tool(&page)
        .plans(&[plan])
        .answers("Not all was read.")
        .ask("Read.")
        .await;
    assert_eq!(run.failure("r1"), StepErrorKind::ReferenceResolution);
    assert_eq!(run.step("r1").sub_task_id, None);
    assert_eq!(run.step("r2").status, StepStatus::Completed);
    assert_eq!(page.calls().len(), 1);
    assert!(run.journal().contains(&"EXECUTION_STEP_PREPARATION_FAILED"));
}

/// PE-10 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn all_steps_of_a_failed_stage_finish_and_later_ones_are_skipped() {
    let mut slow = FakeTool::new("read_page", |arguments| match arguments["url"].as_str() {
        Some("b") => Err(closed("the page is gone")),
        _ => Ok(json!({"text": "a page"})),
    });
    slow.delay =
        Box::new(|arguments| Duration::from_millis(if arguments["url"] == "b" { 10 } else { 200 }));
    let plan = json!([[read("r1", "a"), read("r2", "b"), read("r3", "c")], [read("r4", "d")]]);
    let run = Scene::new(&json!({"max_revisions": 0}))
        .tool(&Arc::new(slow))
        .plans(&[plan])
        .answers("Two of three.")
        .ask("Read.")
        .await;
    let statuses: Vec<StepStatus> =
        run.output().executed_plan.iter().map(|entry| entry.status).collect();
    let (done, failed, skipped) = (StepStatus::Completed, StepStatus::Failed, StepStatus::Skipped);
    assert_eq!(statuses, [done, failed, done, skipped]);
    let summary = run.output().error_summary.as_ref().unwrap();
    assert_eq!(summary.failed_step.as_ref().unwrap().step_id, "r2");
    assert!(run.read_by("synthesiser").contains("the page is gone"));
}

/// PE-16 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn the_text_of_the_last_step_is_the_answer() {
    let last = json!({
        "prompt_template": "Say {{ what }} of {{previous_step_output}}",
        "prompt_params": {"what": "@{outputs.r1.result_data}"}, "isFinalAnswer": true,
    });
    let last = step("w", "Orchestrator", "GeminiStepExecutor", &last);
    let run = Scene::new(&json!({}))
        .tool(&page())
        .plans(&[json!([[read("r1", "a")], [last]])])
        .role("step_executor", ["Tea, of course."])
        .keeps_context()
        .ask("Read.")
        .await;
    assert_eq!(run.output().answer, "Tea, of course.");
    assert_eq!(ScriptedRun::wire(run.output().final_answer_source), "pre_synthesized");
    assert!(run.requests("synthesiser").is_empty());
    assert!(run.journal().contains(&"FINAL_SYNTHESIS_SKIPPED"));
    let page = "<result name=\"r1\">\npage of a\n</result>";
    assert_eq!(run.read_by("step_executor"), format!("Say \n{page}\n of \n{page}"));
}

#[tokio::test]
async fn a_model_step_says_why_it_cannot_be_written() {
    for (input, message) in [
        (json!({"prompt": " "}), "the prompt is blank"),
        (json!({"prompt_template": "{{a}}"}), "a placeholder of the prompt has no value: a"),
    ] {
        let plan = json!([[step("w", "Orchestrator", "LLMStepExecutor", &input)]]);
        let scene = Scene::new(&json!({"max_revisions": 0})).plans(&[plan]).answers("Nothing.");
        let run = scene.ask("Write.").await;
        assert_eq!(run.failure("w"), StepErrorKind::InvalidInput);
        assert_eq!(run.step("w").error_details.as_ref().unwrap().message, message);
    }
    let plan = json!([[write("w", "Say it."), write("v", "Say it.")]]);
    let scene = Scene::new(&json!({"max_revisions": 0})).plans(&[plan]);
    let run = scene.role("step_executor", ["said"]).answers("Half of it.").ask("Write.").await;
    let done = [run.step("w"), run.step("v")].map(|entry| entry.status);
    assert!(
        done.contains(&StepStatus::Completed) && done.contains(&StepStatus::Failed),
        "{done:?}"
    );
}

/// PE-18 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_tool_that_never_answers_fails_its_step_in_time() {
    let mut slow = FakeTool::new("read_page", |_| Ok(json!({"text": "late"})));
    slow.delay = Box::new(|arguments| {
        Duration::from_secs(if arguments["url"] == "slow" { 3_000 } else { 0 })
    });
    let run = Scene::new(&json!({"step_timeout_s": 5}))
        .tool(&Arc::new(slow))
        .plans(&[json!([[read("r1", "slow")]]), json!([[read("r2", "fast")]])])
        .answers("Read.")
        .ask("Read.")
        .await;
    let first = &run.output().attempt_history[0].execution_context[0];
    assert_eq!(first.error_details.as_ref().unwrap().kind, StepErrorKind::Timeout);
    assert_eq!(run.output().status, TaskStatus::Completed);
    assert_eq!(run.step("r2").raw_result_data, "late");
}

/// PE-19 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn every_result_reaches_its_own_step() {
    let mut echo = FakeTool::new("echo", |arguments| Ok(arguments["n"].clone()));
    echo.delay = Box::new(|arguments| {
        Duration::from_millis(arguments["n"].as_u64().unwrap_or_default() * 7 % 50)
    });
    let echo = Arc::new(echo);
    let stage = |number: u64| {
        let steps = (0..50).map(|at| {
            let n = number * 50 + at;
            step(&format!("e{n}"), "UtilityAgent", "echo", &json!({"n": n}))
        });
        Json::Array(steps.collect())
    };
    let plan = json!([stage(0), stage(1)]);
    let task =
        || Scene::new(&json!({})).tool(&echo).plans(std::slice::from_ref(&plan)).answers("Done.");
    let both = tokio::join!(task().ask("First."), task().ask("Second."));
    for run in [both.0, both.1] {
        assert_eq!(run.output().executed_plan.len(), 100);
        for entry in &run.output().executed_plan {
            assert_eq!(entry.raw_result_data, entry.sub_task_input["n"]);
        }
    }
}

/// PE-20 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn files_stay_within_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::create_dir(folder.path().join("root2")).unwrap();
    std::os::unix::fs::symlink(folder.path(), root.join("link")).unwrap();
    let tools = antiphon_tools::find("files").unwrap();
    let tools = tools.open(&json!({"root": root.to_str().unwrap()})).unwrap();
    let absolute = folder.path().join("x.txt");
    let absolute = absolute.to_str().unwrap();
    for (directory, name) in
        [("", "../x.txt"), ("", absolute), ("link", "x.txt"), ("../root2", "x.txt")]
    {
        let params = json!({"filename": name, "directory": directory, "content": "a"});
        let input = json!({"operation": "create_file", "params": params});
        let plan = json!([[step("f", "Orchestrator", "FileSystemTool", &input)]]);
        let mut scene = Scene::new(&json!({"max_revisions": 0})).plans(&[plan]).answers("Refused.");
        for tool in &tools {
            scene = scene.native(tool);
        }
        // The disk is not in the time of the scene.
        let (system, model) = scene.system();
        let result = system.ask("Write.", scene.session()).await.unwrap();
        let run = ScriptedRun { result, model };
        assert_eq!(run.failure("f"), StepErrorKind::Policy, "{directory}/{name}");
    }
    let found: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(found.len(), 2, "nothing was written outside");
}

/// PE-23 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_long_result_is_summarised_and_kept_whole() {
    let long = "long ".repeat(1_000);
    let scene_with = |summaries: Vec<Json>| {
        Scene::new(&json!({}))
            .tool(&returns("read_page", &json!({"text": long})))
            .plans(&[json!([[read("r1", "a")]])])
            .role("summariser", summaries)
            .answers("Long.")
    };
    let run = scene_with(vec![json!({"summary": "It is long."})]).ask("Read.").await;
    assert_eq!(run.step("r1").processed_result_data, Some(json!("It is long.")));
    assert_eq!(run.step("r1").raw_result_data, json!(long));
    assert!(run.read_by("summariser").contains(long.trim()));
    assert_eq!(run.output().current_working_context.key_findings[0].data, "It is long.");
    let run = scene_with(Vec::new()).ask("Read.").await;
    let processed = run.step("r1").processed_result_data.clone().unwrap();
    let processed = processed.as_str().unwrap();
    assert!(processed.starts_with("long ") && processed.contains("more characters"), "{processed}");
    assert_eq!(run.step("r1").status, StepStatus::Completed);
    assert!(run.journal().contains(&"EXECUTION_DATA_SUMMARIZATION_FAILED"));
}

/// PE-24 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn pages_of_a_search_are_read_and_one_may_be_lost() {
    let explore = |input: Json| step("x", "Orchestrator", "ExploreSearchResults", &input);
    let scene_with = |settings: Json, links: &[&str], input: Json| {
        Scene::new(&settings)
            .tool(&returns("web_search", &hits(links)))
            .tool(&page())
            .plans(&[json!([[search("s1", "tea")], [explore(input)]])])
            .answers("Read.")
    };
    let links =
        ["https://a.example", "https://b.example/lost", "https://c.example", "https://d.example"];
    let run = scene_with(json!({}), &links, json!({"pagesToExplore": 3})).ask("Read.").await;
    let entry = run.step("x");
    assert_eq!(entry.status, StepStatus::Completed);
    assert_eq!(
        entry.raw_result_data,
        "## https://a.example\npage of https://a.example\n\n## https://b.example/lost\nNot read: the server answered 404\n\n## https://c.example\npage of https://c.example"
    );
    assert_eq!(entry.partial_errors.len(), 1);
    assert_eq!(run.notes("EXECUTION_STEP_PARTIAL_ERRORS")[0]["stepId"], "x");

    let lost = json!({"searchResults": [{"link": "https://a.example/lost"}]});
    let run = scene_with(json!({"max_revisions": 0}), &links, lost).ask("Read.").await;
    assert_eq!(run.failure("x"), StepErrorKind::ToolError);
    let run = scene_with(json!({}), &[], json!({})).ask("Read.").await;
    assert!(run.step("x").raw_result_data.as_str().unwrap().contains("no search results"));
    let failing = json!({"explore_empty": "failed", "max_revisions": 0});
    let run = scene_with(failing, &[], json!({})).ask("Read.").await;
    assert_eq!(run.failure("x"), StepErrorKind::ToolError);
}

#[tokio::test]
async fn failures_have_the_kinds_that_a_planner_can_work_with() {
    for (category, kind) in [
        (Category::Auth, StepErrorKind::Auth),
        (Category::Policy, StepErrorKind::Policy),
        (Category::Timeout, StepErrorKind::Timeout),
        (Category::State, StepErrorKind::ToolError),
    ] {
        let tool = FakeTool::new("read_page", move |_| {
            Err(Fault::foreign(category, "tool_failed", "it failed"))
        });
        let scene = Scene::new(&json!({"max_revisions": 0})).tool(&Arc::new(tool));
        let run = scene.plans(&[json!([[read("r1", "a")]])]).answers("Failed.").ask("Read.").await;
        assert_eq!(run.failure("r1"), kind);
    }
}
