//! Plans that are put right, because they could mean only one thing.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_runtime::Tool;
use antiphon_systems::plan_execute::repair::{CarriedTools, PlanRepair, repaired};
use antiphon_systems::plan_execute::{Capabilities, PlanSource, TaskStatus};
use serde_json::{Value as Json, json};

use crate::fake_tools::{FakeTool, read, returns, search, step, write};
use crate::scene::Scene;

/// A search of documents with the shape of its results, and the other native tools of a folder.
fn documents() -> [Arc<FakeTool>; 5] {
    let mut found = FakeTool::new("search_documents", |_| {
        Ok(json!({"results": [{"path": "tea.md", "passage": "Steep it for two minutes."}]}))
    });
    let text = json!({"type": "string"});
    let hit = json!({"type": "object", "properties": {"path": text, "passage": text}});
    let results = json!({"type": "array", "items": hit});
    found.spec.results = Some(json!({"type": "object", "properties": {"results": results}}));
    found.spec.parameters = json!({
        "type": "object", "required": ["query"], "additionalProperties": false,
        "properties": {"query": text, "limit": {"type": "integer"}},
    });
    let mut page = FakeTool::new("read_document", |_| Ok(json!({"text": "All of it."})));
    page.spec.parameters = json!({
        "type": "object", "required": ["path"], "additionalProperties": false,
        "properties": {"path": text},
    });
    [
        Arc::new(found),
        Arc::new(page),
        returns("calculate", &json!({"result": "14", "number": 14})),
        returns("write_pdf", &json!({"path": "tea.pdf"})),
        returns("write_file", &json!({"path": "tea.txt"})),
    ]
}

fn capabilities() -> Capabilities {
    let tools: Vec<Arc<dyn Tool>> = documents().map(|tool| tool as Arc<dyn Tool>).to_vec();
    Capabilities::of(&tools, &BTreeMap::new()).unwrap()
}

/// A plan as it is meant, and what was put right.
fn meant(plan: &Json) -> (Json, Vec<String>) {
    let repaired = repaired(plan, &capabilities(), &CarriedTools::new());
    (repaired.stages, repaired.repairs.iter().map(PlanRepair::to_string).collect())
}

/// A step as it is meant, alone in its plan.
fn meant_step(step: &Json) -> (Json, Vec<String>) {
    let (plan, repairs) = meant(&json!([[step]]));
    (plan.pointer("/0/0").unwrap().clone(), repairs)
}

fn look_up(id: &str) -> Json {
    step(id, "ResearchAgent", "search_documents", &json!({"query": "tea"}))
}

/// What a reference behind one search becomes.
fn meant_reference(reference: &str) -> String {
    let (plan, _) = meant(&json!([[look_up("s1")], [write("w", reference)]]));
    plan.pointer("/1/0/sub_task_input/prompt").and_then(Json::as_str).unwrap().to_owned()
}

#[test]
fn a_plan_as_it_is_meant_stays() {
    let plan = json!([
        [look_up("s1"), step("c", "UtilityAgent", "CalculatorTool", &json!({"expression": "1+1"}))],
        [write(
            "w",
            "@{outputs.s1.result_data.results.3.path} \\@{outputs.x} @{outputs.c.result_data}"
        )],
        [step("end", "Orchestrator", "GeminiStepExecutor", &json!({"prompt_template": "a"}))],
    ]);
    assert_eq!(meant(&plan), (plan, Vec::new()));
    let none = json!({"stages": 1});
    assert_eq!(meant(&none), (none, Vec::new()), "validation says what is wrong with it");
    let odd = json!([["no step"]]);
    assert_eq!(meant(&odd), (odd, Vec::new()));
}

/// PE-31 of `docs/systems/plan-execute.md`.
#[test]
fn a_tool_decides_its_role_and_is_known_by_other_names() {
    for (role, tool, meant_role, meant_tool) in [
        ("UtilityAgent", "search_documents", "ResearchAgent", "search_documents"),
        ("orchestrator", "`Search_Documents`", "ResearchAgent", "search_documents"),
        ("ResearchAgent", "functions.search_documents", "ResearchAgent", "search_documents"),
        ("ResearchAgent", "WebSearchTool", "ResearchAgent", "search_documents"),
        ("ResearchAgent", "search", "ResearchAgent", "search_documents"),
        ("ResearchAgent", "ReadWebpageTool", "ResearchAgent", "read_document"),
        ("LLMStepExecutor", "search_documents", "ResearchAgent", "search_documents"),
        ("LLMStepExecutor", "", "Orchestrator", "LLMStepExecutor"),
        ("search_documents", "ResearchAgent", "ResearchAgent", "search_documents"),
        ("UtilityAgent", "calculate", "UtilityAgent", "CalculatorTool"),
        ("CalculatorTool", "Calculator", "UtilityAgent", "CalculatorTool"),
        ("UtilityAgent", "UtilityAgent", "UtilityAgent", "CalculatorTool"),
    ] {
        let (step, repairs) = meant_step(&step("a", role, tool, &json!({"query": "tea"})));
        let found = (step["assigned_agent_role"].as_str(), step["tool_name"].as_str());
        assert_eq!(found, (Some(meant_role), Some(meant_tool)), "{role} {tool}");
        assert!(!repairs.is_empty());
    }
    let unknown = step("a", "ResearchAgent", "Paint", &json!({}));
    assert_eq!(meant_step(&unknown), (unknown, Vec::new()), "nothing is guessed");
}

#[test]
fn a_name_for_several_tools_stays() {
    let given: Vec<Arc<dyn Tool>> =
        vec![returns("web_search", &json!(1)), returns("search_documents", &json!(1))];
    let capabilities = Capabilities::of(&given, &BTreeMap::new()).unwrap();
    let plan = json!([[step("a", "ResearchAgent", "search", &json!({"query": "tea"}))]]);
    let repaired = repaired(&plan, &capabilities, &CarriedTools::new());
    assert_eq!((repaired.stages, repaired.repairs), (plan, Vec::new()));
}

/// PE-32 of `docs/systems/plan-execute.md`.
#[test]
fn an_input_is_made_to_fit_its_tool() {
    for (tool, given, sent) in [
        ("search_documents", json!("tea"), json!({"query": "tea"})),
        ("search_documents", json!("{\"query\": \"tea\"}"), json!({"query": "tea"})),
        ("search_documents", json!({"q": "tea"}), json!({"query": "tea"})),
        (
            "search_documents",
            json!({"query": "tea", "limit": "many", "sort": "up"}),
            json!({"query": "tea"}),
        ),
        (
            "search_documents",
            json!({"query": "tea", "limit": "3"}),
            json!({"query": "tea", "limit": "3"}),
        ),
        ("LLMStepExecutor", json!("Say it"), json!({"prompt": "Say it"})),
        ("LLMStepExecutor", json!({"text": "Say it"}), json!({"prompt": "Say it"})),
        ("CalculatorTool", json!("1 + 1"), json!({"expression": "1 + 1"})),
        (
            "FileSystemTool",
            json!({"operation": "write_pdf", "path": "tea", "text": "Tea", "bold": true}),
            json!({"operation": "create_pdf_from_text", "params": {"filename": "tea.pdf", "content": "Tea"}}),
        ),
        (
            "FileSystemTool",
            json!({"operation": "create_file", "params": {"filename": "tea.PDF", "content": "Tea"}}),
            json!({"operation": "create_pdf_from_text", "params": {"filename": "tea.PDF", "content": "Tea"}}),
        ),
        (
            "FileSystemTool",
            json!({"operation": "create_pdf_from_text", "params": {"filename": "tea.txt", "content": "Tea", "fontSize": 9}}),
            json!({"operation": "create_file", "params": {"filename": "tea.txt", "content": "Tea"}}),
        ),
        (
            "FileSystemTool",
            json!({"operation": "create_pdf_from_text", "params": {"filename": "tea.docx", "content": "Tea"}}),
            json!({"operation": "create_pdf_from_text", "params": {"filename": "tea.docx", "content": "Tea"}}),
        ),
        (
            "create_pdf_from_text",
            json!({"filename": "tea.pdf", "content": "Tea"}),
            json!({"operation": "create_pdf_from_text", "params": {"filename": "tea.pdf", "content": "Tea"}}),
        ),
        (
            "write_file",
            json!({"path": "tea.txt", "content": "Tea"}),
            json!({"operation": "create_file", "params": {"filename": "tea.txt", "content": "Tea"}}),
        ),
    ] {
        let (step, repairs) = meant_step(&step("a", "", tool, &given));
        assert_eq!(step["sub_task_input"], sent, "{tool} {given}");
        assert_eq!(repairs.is_empty(), given == sent, "{tool} {given} {repairs:?}");
    }
    let two = json!({"q": "tea", "question": "Tea?"});
    let (step, _) = meant_step(&step("a", "ResearchAgent", "search_documents", &two));
    assert_eq!(step["sub_task_input"], json!({}), "nothing is guessed, and validation says so");
}

#[test]
fn fields_of_a_step_have_other_names_and_are_filled_in() {
    let bare = json!({"tool": "search_documents", "arguments": {"query": "tea"}});
    let numbered =
        json!({"id": 7, "tool_name": "search_documents", "input": "tea", "description": "look"});
    let (plan, repairs) = meant(&json!([bare, {"steps": [numbered, look_up("s1")]}]));
    assert_eq!(
        plan,
        json!([
            [{
                "stepId": "s2", "assigned_agent_role": "ResearchAgent",
                "tool_name": "search_documents", "sub_task_input": {"query": "tea"},
                "narrative_step": "search_documents",
            }],
            [
                {
                    "stepId": "7", "assigned_agent_role": "ResearchAgent",
                    "tool_name": "search_documents", "sub_task_input": {"query": "tea"},
                    "narrative_step": "look",
                },
                look_up("s1"),
            ],
        ])
    );
    assert!(repairs.contains(&"[0][0].stepId: the step is numbered: s2".to_owned()), "{repairs:?}");
}

/// PE-33 of `docs/systems/plan-execute.md`.
#[test]
fn a_reference_leads_to_the_one_value_that_it_can_mean() {
    let path = "@{outputs.s1.result_data.results.0.path}";
    let whole = "@{outputs.s1.result_data}";
    for (given, meant) in [
        ("@{outputs.s1.results.0.path}", path),
        ("@{outputs.s1.results[0].path}", path),
        ("@{ outputs.s1.result_data.results.0.path }", path),
        ("@{s1.result_data.results.0.path}", path),
        ("@{outputs.s1.result_data.0.link}", path),
        ("@{outputs.s1.result_data.path}", path),
        ("@{outputs.s1.processed_result_data.results.0.path}", path),
        ("@{outputs.s1.result_data.results.2.link}", "@{outputs.s1.result_data.results.2.path}"),
        ("@{outputs.s1.output.results.0.path}", path),
        ("@{outputs.s1}", whole),
        ("@{outputs.s1.result}", whole),
        ("@{outputs.step1.result_data}", whole),
        ("@{outputs.S1.result_data}", whole),
        ("@{outputs.search_documents.result_data}", whole),
        ("@{outputs.lookup.result_data}", whole),
        (
            "Say @{outputs.s1.0.path}, \\@{outputs.s1} and @{x}",
            &format!("Say {path}, \\@{{outputs.s1}} and @{{x}}"),
        ),
        ("@{outputs.s1.result_data.colour}", "@{outputs.s1.result_data.colour}"),
    ] {
        assert_eq!(meant_reference(given), meant, "{given}");
    }
    let text = "@{outputs.c.result_data.result}";
    let calculated = json!([
        [step("c", "UtilityAgent", "CalculatorTool", &json!({"expression": "1+1"}))],
        [write("w", text)],
    ]);
    let (plan, repairs) = meant(&calculated);
    assert_eq!(plan[1][0]["sub_task_input"]["prompt"], "@{outputs.c.result_data}");
    assert_eq!(
        repairs,
        [
            "[1][0].sub_task_input.prompt: read as @{outputs.c.result_data}: @{outputs.c.result_data.result}"
        ]
    );
}

#[test]
fn a_reference_that_could_mean_two_steps_stays() {
    let twice =
        json!([[look_up("s1"), look_up("s2")], [write("w", "@{outputs.lookup.result_data}")]]);
    assert_eq!(meant(&twice), (twice, Vec::new()));
    let carried = CarriedTools::from([("old".to_owned(), "search_documents".to_owned())]);
    let plan = json!([[write("w", "@{outputs.search_documents.results.0.path}")]]);
    let repaired = repaired(&plan, &capabilities(), &carried);
    assert_eq!(
        repaired.stages[0][0]["sub_task_input"]["prompt"],
        "@{outputs.old.result_data.results.0.path}"
    );
}

/// PE-45 of `docs/systems/plan-execute.md`.
#[test]
fn a_calculation_gets_the_number_and_not_the_text_that_was_looked_up() {
    let calculate = |id: &str, expression: &str| {
        step(id, "UtilityAgent", "CalculatorTool", &json!({ "expression": expression }))
    };
    let page = json!({"path": "@{outputs.s1.result_data.results.0.path}"});
    let page = step("s2", "ResearchAgent", "read_document", &page);
    let number = |id: &str, what: &str, text: &str| {
        let mut taken = write(id, &format!("Write the number, only the number: {what}\n\n{text}"));
        taken["narrative_step"] = json!(format!("take the number: {what}"));
        taken
    };
    let whole = "@{outputs.s2.result_data}";
    let (plan, repairs) = meant(&json!([
        [look_up("s1")],
        [page],
        [calculate("s3", &format!("12 * {whole}"))],
        [calculate("s4", &format!("7 * {whole} + @{{outputs.s3.result_data}}"))],
    ]));
    let taken = "@{outputs.s5.result_data}";
    let with_number = json!([
        [look_up("s1")],
        [page],
        [number("s5", "tea", whole)],
        [calculate("s3", &format!("12 * {taken}"))],
        [calculate("s4", &format!("7 * {taken} + @{{outputs.s3.result_data}}"))],
    ]);
    assert_eq!(plan, with_number);
    assert_eq!(repairs[0], "[2][0].sub_task_input.expression: a model takes the number of s2: s5");
    assert_eq!(meant(&plan), (plan, Vec::new()), "it is as it is meant");

    let path = "@{outputs.s1.result_data.results.0.passage}";
    let (plan, _) = meant(&json!([[look_up("s1"), calculate("c", &format!("2 * {path}"))]]));
    let with_number = json!([
        [look_up("s1")],
        [number("s2", "tea", path)],
        [calculate("c", "2 * @{outputs.s2.result_data}")],
    ]);
    assert_eq!(plan, with_number);

    let other = "@{outputs.s1.result_data.results.1.passage}";
    let two = json!([[look_up("s1")], [calculate("c", &format!("{path} + {other}"))]]);
    assert_eq!(meant(&two), (two, Vec::new()), "which number each of the two is, nobody says");
    let apart = json!([
        [look_up("a"), look_up("b")],
        [calculate("c", "@{outputs.a.result_data} + @{outputs.b.result_data}")],
    ]);
    assert_eq!(
        meant(&apart).0[2][0]["sub_task_input"]["expression"],
        "@{outputs.s1.result_data} + @{outputs.s2.result_data}"
    );
    for several in [format!("sum({path})"), format!("2 * sum( {path} )"), path.to_owned()] {
        let plan = json!([[look_up("s1")], [calculate("c", &several)]]);
        assert_eq!(meant(&plan), (plan, Vec::new()), "{several} may mean many numbers");
    }

    let carried = CarriedTools::from([("s1".to_owned(), "search_documents".to_owned())]);
    let repaired =
        repaired(&json!([[calculate("c", &format!("2 * {path}"))]]), &capabilities(), &carried);
    let with_number =
        json!([[number("s2", "do c", path)], [calculate("c", "2 * @{outputs.s2.result_data}")],]);
    assert_eq!(repaired.stages, with_number);
}

/// PE-45 of `docs/systems/plan-execute.md`.
#[test]
fn each_text_of_several_that_a_function_is_given_is_one_number() {
    let expression = "sum(@{outputs.a.result_data}, @{outputs.b.result_data})";
    let input = json!({ "expression": expression });
    let sum = step("c", "UtilityAgent", "CalculatorTool", &input);
    let (plan, _) = meant(&json!([[look_up("a"), look_up("b")], [sum]]));
    assert_eq!(
        plan[2][0]["sub_task_input"]["expression"],
        "sum(@{outputs.s1.result_data}, @{outputs.s2.result_data})"
    );
}

/// PE-47 of `docs/systems/plan-execute.md`.
#[test]
fn a_calculation_that_is_searched_for_is_made() {
    let calculate = |expression: &str| {
        step("c", "UtilityAgent", "CalculatorTool", &json!({ "expression": expression }))
    };
    let search =
        |query: &str| step("s1", "ResearchAgent", "search_documents", &json!({ "query": query }));
    let found = "@{outputs.s1.result_data}";
    let (plan, repairs) = meant(&json!([
        [search("19 * 23")],
        [calculate(found)],
        [write("w", "@{outputs.c.result_data}")],
    ]));
    assert_eq!(plan, json!([[calculate("19 * 23")], [write("w", "@{outputs.c.result_data}")]]));
    assert_eq!(
        repairs,
        [
            "[1][0].sub_task_input.expression: the expression that s1 searches for: 19 * 23",
            "[0][0]: left out, nothing needs the step: s1",
        ]
    );

    let read_too = json!([[search("(2 + 3)^2")], [calculate(found)], [write("w", found)]]);
    let calculated = json!([[search("(2 + 3)^2")], [calculate("(2 + 3)^2")], [write("w", found)]]);
    assert_eq!(meant(&read_too).0, calculated, "who needs the search gets it");
    for query in ["tea", "1903", "-5", "12-", "1903-1910", "12/05/1903", "two * three"] {
        let plan = json!([[search(query)], [calculate(found)]]);
        assert_eq!(meant(&plan), (plan, Vec::new()), "{query} is no expression");
    }
    let other = json!([[search("19 * 23")], [calculate(&format!("sum({found})"))]]);
    assert_eq!(meant(&other), (other, Vec::new()));
}

#[test]
fn steps_that_need_each_other_get_stages_of_their_own() {
    let last = write("w2", "@{outputs.w1.result_data}");
    let middle = write("w1", "@{outputs.s1.result_data}");
    let (plan, repairs) = meant(&json!([[last, look_up("s1"), middle]]));
    assert_eq!(plan, json!([[look_up("s1")], [middle], [last]]));
    assert_eq!(repairs[0], "[0]: the step gets a later stage: w2");
    let circle =
        json!([[write("a", "@{outputs.b.result_data}"), write("b", "@{outputs.a.result_data}")]]);
    assert_eq!(meant(&circle), (circle, Vec::new()));
}

#[test]
fn a_text_written_from_nothing_gets_what_nobody_reads() {
    let (plan, repairs) = meant(&json!([[look_up("s1")], [write("w", "Say how long.")]]));
    assert_eq!(
        plan[1][0]["sub_task_input"]["prompt"],
        "Say how long.\n\n@{outputs.s1.result_data}"
    );
    assert_eq!(repairs, ["[1][0].sub_task_input.prompt: given what no step refers to: s1"]);
    let read = json!([
        [look_up("s1")],
        [write("w", "Say @{outputs.s1.result_data}")],
        [write("x", "Bye.")]
    ]);
    assert_eq!(meant(&read), (read, Vec::new()));
}

/// PE-34 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_repaired_plan_runs_without_another_request_and_says_so() {
    let wrong = json!([[
        {"tool_name": "search", "assigned_agent_role": "UtilityAgent", "sub_task_input": "tea"},
    ], [
        step("r", "LLMStepExecutor", "read", &json!({"url": "@{outputs.search.results.0.url}"})),
    ]]);
    let tools = documents();
    let scene = tools.iter().fold(Scene::new(&json!({})), Scene::tool);
    let run =
        scene.plans(std::slice::from_ref(&wrong)).answers("Two minutes.").ask("How long?").await;
    assert_eq!(run.output().status, TaskStatus::Completed);
    assert_eq!(run.output().plan_source, Some(PlanSource::Llm));
    assert_eq!(run.requests("planner").len(), 1);
    assert_eq!(tools[1].calls(), [json!({"path": "tea.md"})]);
    let noted = run.notes("PLAN_REPAIRED");
    let shown = noted[0]["repairs"].as_array().unwrap();
    assert!(
        shown.contains(&json!("[0][0].tool_name: read as search_documents: search")),
        "{shown:?}"
    );
    assert!(run.output().warnings.is_empty());

    let strict = json!({"strict_plan": true, "max_reasks": 0});
    let scene = documents().iter().fold(Scene::new(&strict), Scene::tool);
    let run = scene.plans(&[wrong]).answers("No plan.").ask("How long?").await;
    assert_eq!(run.output().status, TaskStatus::FailedPlanning);
    assert!(run.notes("PLAN_REPAIRED").is_empty());
}

#[tokio::test]
async fn a_list_of_steps_in_a_reply_is_a_plan() {
    let steps = json!([search("s1", "tea"), read("r1", "@{outputs.s1.result_data.0.link}")]);
    let page = returns("read_page", &json!({"text": "Two minutes."}));
    let hit = json!({"title": "Tea", "url": "https://a.example", "snippet": "Hot."});
    for reply in [steps.to_string(), json!({"stages": steps}).to_string()] {
        let run = Scene::new(&json!({}))
            .tool(&returns("web_search", &json!({"results": [hit]})))
            .tool(&page)
            .role("planner", [reply.as_str()])
            .answers("Two minutes.")
            .ask("How long?")
            .await;
        assert_eq!(run.output().plan.0.len(), 2);
        assert_eq!(run.output().status, TaskStatus::Completed);
    }
}
