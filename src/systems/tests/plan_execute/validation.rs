//! What is wrong in a plan, and where.

use std::collections::BTreeSet;

use antiphon_systems::plan_execute::{ExecutionOrder, validation};
use serde_json::{Value as Json, json};

use crate::fake_tools::{capabilities, check, read, search, step, write, wrong};

#[test]
fn a_plan_that_holds_together_is_read() {
    let checked = check(&json!([
        [
            search(" s1 ", "tea"),
            step("c.1", "UtilityAgent", "CalculatorTool", &json!({"expression": "1+1"}))
        ],
        [read("r-1", "@{outputs.s1.result_data.0.link}")],
        [step(
            "end",
            "Orchestrator",
            "GeminiStepExecutor",
            &json!({"prompt": "Say it", "isFinalAnswer": true})
        )],
    ]));
    assert_eq!(checked.violations, []);
    let plan = checked.plan.unwrap();
    assert_eq!(plan.0.len(), 3);
    assert_eq!(plan.0[0][0].step_id, "s1", "ids are compared without white space around them");
    assert!(plan.0[2][0].is_final_answer());
}

#[test]
fn an_id_that_two_steps_have_is_named_with_both_places() {
    let plan = json!([[search("s1", "tea"), search("s2", "tea")], [search("s1 ", "coffee")]]);
    assert_eq!(wrong(&plan), ["[1][0].stepId: the id is that of [0][0] too: s1"]);
    assert!(check(&plan).plan.is_none());
}

#[test]
fn everything_that_is_wrong_is_found_at_once() {
    let plan = json!([
        [],
        ["no step", {"stepId": "a b", "tool_name": "WebSearchTool", "sub_task_input": 1}],
        [
            step("x", "Painter", "WebSearchTool", &json!({"query": "a"})),
            step("y", "UtilityAgent", "WebSearchTool", &json!({"query": "a"})),
            step("z", "ResearchAgent", "Paint", &json!({})),
        ],
    ]);
    assert_eq!(
        wrong(&plan),
        [
            "[0]: a stage is a list of at least one step",
            "[1][0]: a step is an object",
            "[1][1].assigned_agent_role: it must be a text that is not blank",
            "[1][1].narrative_step: it must be a text that is not blank",
            "[1][1].sub_task_input: it must be an object",
            "[1][1].stepId: an id has at most 64 letters, digits, `_`, `.` and `-`",
            "[2][0].assigned_agent_role: there is no such role: Painter",
            "[2][1].tool_name: the tool is one of ResearchAgent, not of UtilityAgent: WebSearchTool",
            "[2][2].tool_name: there is no such tool: Paint",
        ]
    );
    assert_eq!(wrong(&json!({"stages": []})), ["a plan is a list of stages"]);
    assert_eq!(wrong(&json!([])), ["the plan has no stage"]);
}

#[test]
fn inputs_are_held_against_their_tools() {
    let wrong_of =
        |tool: &str, role: &str, input: Json| wrong(&json!([[step("a", role, tool, &input)]]));
    let files = |input: Json| wrong_of("FileSystemTool", "Orchestrator", input);
    assert_eq!(
        wrong_of("WebSearchTool", "ResearchAgent", json!({"num": 3})).len(),
        1,
        "a query is needed"
    );
    assert_eq!(
        wrong_of("ReadWebpageTool", "ResearchAgent", json!({"page": "@{outputs.b.result_data}"})),
        [
            "[0][0].sub_task_input.url: the tool needs it",
            "[0][0].sub_task_input.page: the tool has no such field",
            "[0][0].sub_task_input.page: there is no such step: @{outputs.b.result_data}",
        ]
    );
    let path = "[0][0].sub_task_input";
    assert_eq!(
        files(
            json!({"operation": "create_pdf_from_text", "params": {"filename": "a.txt", "text": "b"}})
        ),
        [
            format!("{path}.params.content: `create_pdf_from_text` needs it"),
            format!("{path}.params.text: `create_pdf_from_text` has no such parameter"),
            format!("{path}.params.filename: the name of a PDF file ends with `.pdf`"),
        ]
    );
    let named = json!({"operation": "create_file", "params": {"filename": "@{outputs.a.result_data}", "content": ""}});
    assert_eq!(files(named)[0], format!("{path}.params.filename: it must not hold a reference"));
    assert!(
        files(json!({"operation": "delete", "params": {}}))[0]
            .starts_with(&format!("{path}.operation"))
    );
    assert!(
        files(json!({"operation": "read_file", "params": {}}))[0].contains("`read_file` needs it")
    );
    assert_eq!(files(json!({"operation": "list_files", "params": {}})), Vec::<String>::new());
    let download = json!({"operation": "download_file", "params": {"url": 1}});
    assert_eq!(
        wrong_of("FileDownloaderTool", "Orchestrator", download),
        [format!("{path}.params.url: it must be a text")]
    );
    assert_eq!(
        wrong_of("LLMStepExecutor", "Orchestrator", json!({})),
        [format!("{path}: it needs `prompt`, `prompt_template` or `messages`")]
    );
}

#[test]
fn references_to_what_cannot_be_known_are_soft() {
    let plan = json!([
        [search("s1", "tea"), write("w1", "@{outputs.s1.result_data} @{outputs.w1.result_data}")],
        [write("w2", "@{outputs.w3.result_data} @{outputs.s9.processed_result_data}")],
        [write("w3", "@{outputs.old.result_data}")],
    ]);
    let carried = ["old".to_owned()].into_iter().collect::<BTreeSet<_>>();
    let checked = validation::check(&plan, &capabilities(), &carried, ExecutionOrder::default());
    let found: Vec<String> = checked.violations.iter().map(ToString::to_string).collect();
    let path = "sub_task_input.prompt";
    assert_eq!(
        found,
        [
            format!(
                "[0][1].{path}: the step is not in an earlier stage: @{{outputs.s1.result_data}}"
            ),
            format!(
                "[0][1].{path}: the step is not in an earlier stage: @{{outputs.w1.result_data}}"
            ),
            format!(
                "[1][0].{path}: the step is not in an earlier stage: @{{outputs.w3.result_data}}"
            ),
            format!("[1][0].{path}: there is no such step: @{{outputs.s9.processed_result_data}}"),
        ]
    );
    assert!(checked.plan.is_some(), "it can run");
    assert!(checked.violations.iter().all(|one| one.is_soft));
}

#[test]
fn malformed_references_are_not_soft() {
    for text in [
        "@{outputs.s1.result}",
        "@{ outputs.s1.result_data }",
        "@{outputs.s1.result_data",
        "@{outputs..result_data}",
        "@{outputs.s1.result_data.}",
    ] {
        let checked = check(&json!([[search("s1", "tea")], [write("w", text)]]));
        assert!(checked.plan.is_none(), "{text}");
        assert!(checked.violations[0].path.starts_with("[1][0].sub_task_input.prompt"), "{text}");
    }
}

#[test]
fn only_the_one_step_of_the_last_stage_can_be_the_answer() {
    let last = |id| {
        step(id, "Orchestrator", "LLMStepExecutor", &json!({"prompt": "a", "isFinalAnswer": true}))
    };
    let message = "only the one step of the last stage can be the answer";
    assert_eq!(
        wrong(&json!([[last("a")], [last("b"), write("c", "d")]])),
        [
            format!("[0][0].sub_task_input.isFinalAnswer: {message}"),
            format!("[1][0].sub_task_input.isFinalAnswer: {message}"),
        ]
    );
}
