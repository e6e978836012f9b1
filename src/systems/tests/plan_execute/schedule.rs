//! The order in which steps start: by stages, or by what they refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use antiphon_core::SideEffect;
use antiphon_runtime::Tool;
use antiphon_systems::plan_execute::schedule::waves;
use antiphon_systems::plan_execute::{
    Capabilities, ExecutionMode, ExecutionOrder, StagedPlan, StepErrorKind, StepStatus, TaskInput,
    validation,
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::fake_tools::{FakeTool, returns, step};
use crate::scene::{Scene, ScriptedRun, closed};

const DAG: ExecutionOrder = ExecutionOrder::Dag;

/// A step that repeats its number and what it refers to.
fn mix(number: usize, sources: &[usize]) -> Json {
    let read = |source: &usize| json!(format!("@{{outputs.s{source}.result_data}}"));
    let sources: Vec<Json> = sources.iter().map(read).collect();
    step(&format!("s{number}"), "UtilityAgent", "mix", &json!({"n": number, "of": sources}))
}

fn mixing() -> Arc<FakeTool> {
    Arc::new(FakeTool::new("mix", |given| Ok(given.clone())))
}

fn planned(plan: &Json) -> TaskInput {
    TaskInput {
        question: "Mix.".to_owned(),
        mode: ExecutionMode::ExecutePlannedTask,
        plan: Some(plan.clone()),
        ..TaskInput::default()
    }
}

/// The ids of the steps that start together.
fn waves_of(plan: &Json, tools: &[Arc<FakeTool>]) -> Vec<String> {
    let tools: Vec<Arc<dyn Tool>> =
        tools.iter().map(|tool| tool.clone() as Arc<dyn Tool>).collect();
    let capabilities = Capabilities::of(&tools, &BTreeMap::new()).unwrap();
    let plan: StagedPlan = serde_json::from_value(plan.clone()).unwrap();
    waves(&plan, DAG, &capabilities).iter().map(|wave| wave.join(" ")).collect()
}

#[test]
fn steps_start_in_the_first_wave_after_all_that_they_wait_for() {
    let mut storing = FakeTool::new("store", |given| Ok(given.clone()));
    storing.spec.side_effect = SideEffect::Write;
    let tools = [mixing(), Arc::new(storing)];
    let write = |id: &str, input: &Json| step(id, "Orchestrator", "LLMStepExecutor", input);
    let store = step("store", "UtilityAgent", "store", &json!({}));
    for (plan, found) in [
        (json!([[mix(1, &[])], [mix(2, &[])], [mix(3, &[1])], [mix(4, &[3, 2])]]), "s1 s2|s3|s4"),
        (json!([[mix(1, &[2]), mix(2, &[])], [mix(3, &[1])]]), "s2|s1|s3"),
        (json!([[mix(1, &[2]), mix(2, &[1])], [mix(3, &[])]]), "s3|s1 s2"),
        (json!([[mix(1, &[])], [mix(2, &[1])], [store, mix(3, &[])]]), "s1 s3|s2|store"),
        (
            json!([[mix(1, &[])], [write("w", &json!({"prompt": "Say it."})), mix(2, &[1])]]),
            "s1 w|s2",
        ),
        (
            json!([
                [mix(1, &[])],
                [write("w", &json!({"prompt": "Say it.", "isFinalAnswer": true}))]
            ]),
            "s1|w",
        ),
        (
            json!([
                [mix(1, &[])],
                [write("w", &json!({"prompt_template": "{{previous_step_output}}"}))]
            ]),
            "s1|w",
        ),
        (json!([[mix(1, &[])], [write("w", &json!({"data_from_previous_step": true}))]]), "s1|w"),
    ] {
        assert_eq!(waves_of(&plan, &tools).join("|"), found);
    }
}

#[test]
fn steps_that_wait_for_each_other_are_named() {
    let tools = [mixing() as Arc<dyn Tool>];
    let capabilities = Capabilities::of(&tools, &BTreeMap::new()).unwrap();
    let check = |plan: &Json| {
        let checked = validation::check(plan, &capabilities, &BTreeSet::new(), DAG);
        checked.violations.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(check(&json!([[mix(1, &[2]), mix(2, &[])]])), [""; 0]);
    assert_eq!(
        check(&json!([[mix(1, &[1])]])),
        ["[0][0].sub_task_input.of[0]: the steps wait for each other: @{outputs.s1.result_data}"]
    );
}

/// PE-37 of `docs/systems/plan-execute.md`.
#[tokio::test]
async fn a_step_does_not_wait_for_stages_that_it_does_not_depend_on() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let noted = order.clone();
    let tool = Arc::new(FakeTool::new("mix", move |given| {
        noted.lock().unwrap().push(given["n"].as_u64().unwrap());
        Ok(given.clone())
    }));
    let plan = json!([[mix(1, &[])], [mix(2, &[1])], [mix(3, &[])]]);
    for (execution, started) in [("stages", [1, 2, 3]), ("dag", [1, 3, 2])] {
        order.lock().unwrap().clear();
        let scene = Scene::new(&json!({"execution": execution})).tool(&tool).answers("Mixed.");
        let run = scene.ask(planned(&plan)).await;
        assert_eq!(*order.lock().unwrap(), started, "{execution}");
        let stages: Vec<_> = ["s1", "s2", "s3"].iter().map(|id| run.step(id).stage_index).collect();
        assert_eq!(stages, [1, 2, 3], "steps keep the stage in which they were planned");
        assert_eq!(run.notes("EXECUTION_STEP_DISPATCHED")[1]["stageIndex"], started[1]);
    }
}

#[tokio::test]
async fn after_a_failure_what_has_not_started_is_skipped() {
    let broken = Arc::new(FakeTool::new("broken", |_| Err(closed("it is broken"))));
    let failing = step("bad", "UtilityAgent", "broken", &json!({}));
    let plan = json!([[failing], [mix(1, &[])], [mix(2, &[1])]]);
    let scene = Scene::new(&json!({"execution": "dag", "max_revisions": 0}));
    let scene = scene.tool(&broken).tool(&mixing()).answers("It is broken.");
    let run = scene.ask(planned(&plan)).await;
    assert_eq!(run.failure("bad"), StepErrorKind::ToolError);
    let rest = ["s1", "s2"].map(|id| run.step(id).status);
    assert_eq!(rest, [StepStatus::Completed, StepStatus::Skipped]);
}

#[tokio::test]
async fn the_previous_step_is_the_last_one_of_an_earlier_stage() {
    let last = json!({"prompt_template": "Say {{previous_step_output}}", "isFinalAnswer": true});
    let last = step("w", "Orchestrator", "LLMStepExecutor", &last);
    let said = returns("say", &json!("second"));
    let slow = step("a", "UtilityAgent", "mix", &json!({"n": "@{outputs.s1.result_data.n}"}));
    let plan =
        json!([[mix(1, &[])], [slow], [step("b", "UtilityAgent", "say", &json!({}))], [last]]);
    let scene = Scene::new(&json!({"execution": "dag"})).tool(&mixing()).tool(&said);
    let scene = scene.role("step_executor", ["It is said."]).keeps_context();
    let run: ScriptedRun = scene.ask(planned(&plan)).await;
    let asked = "Say \n<result name=\"b\">\nsecond\n</result>";
    assert_eq!(run.read_by("step_executor"), asked);
    assert_eq!(run.output().answer, "It is said.");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// PE-37 of `docs/systems/plan-execute.md`.
    #[test]
    fn both_orders_give_the_same_outputs(
        steps in prop::collection::vec((0..4_usize, prop::collection::vec(0..12_usize, 0..3)), 1..12)
    ) {
        let mut stages: BTreeMap<usize, Vec<Json>> = BTreeMap::new();
        for (number, (stage, sources)) in steps.iter().enumerate() {
            let is_earlier = |source: &usize| steps.get(*source).is_some_and(|(of, _)| of < stage);
            let sources: Vec<usize> = sources.iter().copied().filter(is_earlier).collect();
            stages.entry(*stage).or_default().push(mix(number, &sources));
        }
        let plan = Json::Array(stages.into_values().map(Json::Array).collect());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outputs = |execution: &str| {
            let scene = Scene::new(&json!({"execution": execution})).tool(&mixing()).answers("Mixed.");
            let run = runtime.block_on(scene.ask(planned(&plan)));
            let output = |id: usize| run.step(&format!("s{id}")).raw_result_data.clone();
            (0..steps.len()).map(output).collect::<Vec<_>>()
        };
        prop_assert_eq!(outputs("stages"), outputs("dag"));
    }
}
