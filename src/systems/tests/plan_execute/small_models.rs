//! Small models: they are shown less, and asked less.

use std::sync::Arc;

use antiphon_models::{ScriptBranch, ScriptedModel};
use antiphon_runtime::Tool;
use antiphon_systems::plan_execute::{Config, PlanExecute, StepErrorKind, TaskStatus};
use antiphon_systems::prompts::ModelTier;
use antiphon_systems::{Outcome, RoleModel, SystemResourcesBuilder, SystemRunner};
use serde_json::{Value as Json, json};

use crate::conversation_snapshot::compare_conversation;
use crate::fake_tools::{FakeTool, returns, search, step, write};
use crate::scene::{Scene, ScriptedRun};

/// A task of a model that is small, with replies by role.
pub(crate) async fn ask_small(
    replies: &[(&str, &[Json])],
    tools: &[Arc<FakeTool>],
    task: &str,
) -> ScriptedRun {
    let model = ScriptedModel::new::<&str>([]);
    let branch = |model: ScriptedModel, (role, replies): &(&str, &[Json])| {
        model.branch(ScriptBranch::tag("role", *role).replies(replies.iter().cloned()))
    };
    let model = Arc::new(replies.iter().fold(model, branch));
    let tools: Vec<Arc<dyn Tool>> =
        tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>).collect();
    let small = || RoleModel {
        tier: Some(ModelTier::Small),
        is_shared: true,
        ..RoleModel::new(model.clone())
    };
    let resources = SystemResourcesBuilder::new().tools("plan_execute", tools);
    let roles = ["planner", "step_executor", "summariser", "context_keeper", "synthesiser"];
    let resources = roles.iter().fold(resources, |known, role| known.role(role, small()));
    let system = SystemRunner::<PlanExecute>::new(Config::default(), resources).unwrap();
    let result = system.ask(task, Scene::new(&json!({})).session()).await.unwrap();
    ScriptedRun { result, model }
}

/// PE-36 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_small_model_is_asked_for_plan_and_answer_alone() {
    let snippet = "Steep it for two minutes. ".repeat(60);
    let hit = json!({"title": "Tea", "url": "https://a.example", "snippet": snippet});
    let tools = [
        returns("web_search", &json!({"results": [hit]})),
        returns("read_page", &json!({"text": "Two minutes."})),
        returns("calculate", &json!({"number": 6})),
        returns("write_pdf", &json!({"path": "tea.pdf"})),
        returns("write_file", &json!({"path": "tea.txt"})),
    ];
    let plan = json!({"stages": [[search("s1", "tea")]]});
    let answer = json!({"answer": "Two minutes."});
    let replies: [(&str, &[Json]); 2] = [("planner", &[plan]), ("synthesiser", &[answer])];
    let run = ask_small(&replies, &tools, "How long does green tea steep?").await;
    assert_eq!(run.output().status, TaskStatus::Completed);
    assert_eq!(run.model.requests().len(), 2);
    assert!(run.model.requests().iter().all(|asked| asked.max_output_tokens == Some(1_024)));
    let summary = run.step("s1").processed_result_data.clone().unwrap();
    assert!(summary.as_str().unwrap().contains("more characters"), "{summary}");
    let context = &run.output().current_working_context;
    assert_eq!(context.summary_of_progress, "All steps of the plan were completed.");
    assert!(run.journal().contains(&"CWC_POST_EXECUTION_CYCLE"));
    compare_conversation("plan_execute", "small_planner.txt", &run.requests("planner"));
}

/// PE-46 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_small_model_that_calculates_anew_is_asked_again_and_then_not_believed() {
    let sum = json!({"tool_name": "CalculatorTool", "sub_task_input": "62 * 12 + 26 * 12"});
    let plan = json!({"stages": [[sum]]});
    let task = "What do both keepers get in a year, at 62 and 26 crowns a month?";
    let asked = async |answers: [&str; 2], result: f64| {
        let answers = answers.map(|answer| json!({ "answer": answer }));
        let replies: [(&str, &[Json]); 2] =
            [("planner", std::slice::from_ref(&plan)), ("synthesiser", &answers)];
        ask_small(&replies, &[returns("calculate", &json!({"number": result}))], task).await
    };
    let run = asked(["They get 88 crowns.", "They get 1,056 crowns."], 1056.0).await;
    assert_eq!(run.output().answer, "They get 1,056 crowns.");
    let again = run.requests("synthesiser").remove(1).messages.pop().unwrap().content.to_string();
    assert!(again.contains("Copy their numbers"), "{again}");
    assert_eq!(
        run.notes("FINAL_SYNTHESIS_FAILED")[0]["message"],
        "neither the task nor a result has these numbers: 88"
    );

    let run = asked(["88 crowns.", "88 crowns."], 1056.0).await;
    assert!(run.output().answer.contains(": 1056"), "{}", run.output().answer);
    assert!(!run.output().answer.contains("88"), "{}", run.output().answer);

    let run = asked(["1. Each gets a part.\n2. Both get 1056.33 of 62.", ""], 1056.3333).await;
    assert_eq!(run.requests("synthesiser").len(), 1, "it may count its parts, and round");
}

/// PE-51 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_small_model_takes_no_number_of_what_no_result_names() {
    let prompt = "Write the number, only the number: oil of the lamp of Cape Dorn in March in \
                  Litres\n\n@{outputs.s1.result_data}";
    let double = json!({"expression": "2 * @{outputs.n.result_data}"});
    let stages = json!([
        [search("s1", "oil of the lamp of Cape Dorn")],
        [write("n", prompt)],
        [step("c", "UtilityAgent", "CalculatorTool", &double)],
    ]);
    let plan = json!({"stages": stages});
    let asked = async |task: &str, found: &str| {
        let hit = json!({"title": "Lamps", "url": "https://a.example", "snippet": found});
        let tools = [
            returns("web_search", &json!({"results": [hit]})),
            returns("calculate", &json!({"number": 680})),
        ];
        let plans = vec![plan.clone(); 3];
        let replies: [(&str, &[Json]); 3] = [
            ("planner", &plans),
            ("step_executor", &[json!({"text": "340"})]),
            ("synthesiser", &[json!({"answer": "680"})]),
        ];
        ask_small(&replies, &tools, task).await
    };
    let task = "How much oil does the lamp of Cape Dorn burn? Double it.";
    let run = asked(task, "On the western cape the lamp of Orrel burns 340 litres.").await;
    assert_eq!(run.failure("n"), StepErrorKind::InvalidInput);
    let message = &run.step("n").error_details.as_ref().unwrap().message;
    assert_eq!(message, "no result so far names it: Cape Dorn");
    assert!(run.requests("step_executor").is_empty());
    assert_eq!((run.output().answer.as_str(), run.result.outcome), ("", Outcome::RetryLimit));

    for (task, found) in [
        (task, "Orrel burns 340 litres, and Dorn's lamp as much."),
        (task, "CAPE DORN: 340 litres."),
        (task, "the lamp of cape dorn burns 340 litres."),
        ("how much oil does the lamp of cape dorn burn?", "Orrel burns 340 litres."),
        ("How much oil is that in March, in Litres?", "Orrel burns 340 litres."),
        ("Dorn: how much oil? Answer in English for the MMO.", "Orrel burns 340 litres."),
    ] {
        let run = asked(task, found).await;
        assert_eq!(run.output().answer, "680", "{task} {found}");
    }
}

#[tokio::test]
async fn a_small_model_without_tools_reads_of_none() {
    let write = json!({"tool_name": "LLMStepExecutor", "sub_task_input": "Write a poem."});
    let replies: [(&str, &[Json]); 3] = [
        ("planner", &[json!({"stages": [[write]]})]),
        ("step_executor", &[json!({"text": "Tea."})]),
        ("synthesiser", &[json!({"answer": "Tea."})]),
    ];
    let run = ask_small(&replies, &[], "Write a poem.").await;
    assert_eq!(run.output().answer, "Tea.");
    let instructions = run.requests("planner").remove(0).messages.remove(0).content.to_string();
    assert!(instructions.contains("Greet a new neighbour."), "{instructions}");
    assert!(!instructions.contains("CalculatorTool"), "{instructions}");
}
