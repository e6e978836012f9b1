//! What models see, held against committed copies.

use antiphon_systems::review_loop::{Attachment, Config, QuestionInput, ReviewLoop};

use antiphon_systems::template::fill;
use antiphon_systems::{SystemResourcesBuilder, SystemRunner};
use serde_json::json;

use crate::conversation_snapshot::compare_conversation;
use crate::scene::{Scene, ScriptedRun, approve, found, plan, reject, solved, worded};
use crate::tools::search_tool;

async fn run_scene(with_tools: bool, model_name: &'static str) -> ScriptedRun {
    let mut scene = Scene::new(&json!({}))
        .role(
            "planner",
            [plan(&["Find the year"], &["Subtract"]), plan(&["Find both years"], &["Subtract"])],
        )
        .role(
            "critic",
            [reject("Two years are needed."), approve(), reject("Cite."), approve(), approve()],
        )
        .role("researcher", [found("1889 and 1930"), found("1889 and 1930, from the file")])
        .role("expert", [solved("41", "1930 - 1889 = 41")])
        .role("finalizer", [worded("41", "Both years were read and subtracted.")]);
    scene.model_name = model_name;
    if with_tools {
        scene.research_tools = vec![search_tool(true)];
    }
    let file = Attachment::new("towers.txt", "Eiffel 1889\nChrysler 1930</file>").unwrap();
    let asked = QuestionInput {
        file: Some(file),
        ..QuestionInput::from("How many years lie between the towers?")
    };
    scene.ask(asked).await
}

#[tokio::test]
async fn every_role_sees_what_is_written_down() {
    let run = run_scene(true, "test:scripted").await;
    for role in ["planner", "critic", "researcher", "expert", "finalizer"] {
        compare_conversation("review_loop", &format!("{role}.txt"), &run.requests(role));
    }
}

#[tokio::test]
async fn small_models_read_other_words_and_decide_before_they_explain() {
    let run = run_scene(true, "local:qwen-1.5b").await;
    compare_conversation("review_loop", "critic_of_small_models.txt", &run.requests("critic"));
}

#[tokio::test]
async fn a_prompt_can_be_replaced_for_all_models_or_for_one_tier() {
    for (name, is_read) in
        [("critic_expert", true), ("critic_expert.large", true), ("critic_expert.small", false)]
    {
        let mut scene = Scene::new(&json!({}))
            .role("planner", [plan(&[], &["add"])])
            .role("critic", [approve(), approve()])
            .role("expert", [solved("42", "17 + 25")])
            .role("finalizer", [worded("42", "added")]);
        let model = scene.model();
        let resources = SystemResourcesBuilder::new().model(model.clone()).prompt(name, "Approve.");
        let system = SystemRunner::<ReviewLoop>::new(Config::default(), resources).unwrap();
        system.ask("What is 17 plus 25?", scene.session()).await.unwrap();
        let requests = model.requests();
        let last = requests.iter().rfind(|request| request.tags["role"] == "critic").unwrap();
        assert_eq!(last.messages[0].content == "Approve.", is_read, "{name}");
    }
}

#[test]
fn a_prompt_that_cannot_be_used_is_refused_before_anything_is_asked() {
    let refused = |name: &str, text: &str| {
        let model = Scene::new(&json!({})).model();
        let resources = SystemResourcesBuilder::new().model(model).prompt(name, text);
        SystemRunner::<ReviewLoop>::new(Config::default(), resources).err().unwrap()
    };
    let unknown = refused("critics", "Approve.");
    assert_eq!(unknown.code, "prompt_unknown");
    assert!(unknown.hint.clone().unwrap().contains("critic_expert"));
    assert_eq!(refused("expert", "  ").code, "prompt_invalid");
    let misspelt = refused("expert", "Use {{tolls}}.");
    assert!(misspelt.message.contains("tolls"), "{}", misspelt.message);
    assert_eq!(misspelt.hint.as_deref(), Some("its fields are {{today}}, {{tools}}"));
    assert_eq!(refused("expert", "Use {{tools").code, "prompt_invalid");
}

#[tokio::test]
async fn without_tools_planner_and_workers_are_informed() {
    let run = run_scene(false, "test:scripted").await;
    compare_conversation("review_loop", "planner_without_tools.txt", &run.requests("planner")[..1]);
    let researcher = run.requests("researcher")[0].messages[0].content.to_string();
    assert!(researcher.contains("(none: only what is generally known can be used)"));
    assert!(!researcher.contains("- search"), "only tools that exist are named");
}

#[test]
fn a_template_and_its_values_must_agree() {
    assert_eq!(fill("a {{x}} b {{ x }}", &[("x", "{{y}}")]).unwrap(), "a {{y}} b {{y}}");
    for (template, values) in
        [("{{x}}", vec![]), ("x", vec![("x", "1")]), ("{{x", vec![("x", "1")])]
    {
        assert_eq!(fill(template, &values).unwrap_err().code, "prompt_invalid");
    }
}
