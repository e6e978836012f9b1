//! Roles that are code of the caller's own.

use std::sync::{Arc, Mutex};

use antiphon_core::{Category, Fault, ToolSpec};
use antiphon_runtime::Model;
use antiphon_systems::ReviewLoop;
use antiphon_systems::review_loop::{
    Actor, Answer, Config, Outcome, Role, RoleBrief, Roles, StepName,
};
use async_trait::async_trait;
use serde_json::{Value as Json, json};

use crate::scene::{Scene, approve, found, plan, reject, solved, worded};
use crate::tools::search_tool;

/// Replies with what the script says, and keeps its briefs.
#[derive(Default)]
struct Own {
    replies: Mutex<Vec<Result<Json, Fault>>>,
    briefs: Mutex<Vec<RoleBrief>>,
}

impl Own {
    fn new(replies: impl IntoIterator<Item = Result<Json, Fault>>) -> Arc<Self> {
        let mut replies: Vec<_> = replies.into_iter().collect();
        replies.reverse();
        Arc::new(Self { replies: Mutex::new(replies), briefs: Mutex::default() })
    }
}

#[async_trait]
impl Role for Own {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec::new("abacus", "Counts.", json!({"type": "object"}))]
    }

    async fn act(&self, brief: RoleBrief) -> Result<Json, Fault> {
        self.briefs.lock().unwrap().push(brief);
        self.replies.lock().unwrap().pop().unwrap()
    }
}

async fn ask(mut scene: Scene, replace: impl FnOnce(&mut Roles)) -> (Answer, Vec<String>) {
    let model = scene.model();
    let as_model: Arc<dyn Model> = model.clone();
    let mut roles = Roles::of(&as_model);
    replace(&mut roles);
    let system = ReviewLoop::new(scene.config.clone(), roles).unwrap();
    let answer = system.ask("q", scene.session()).await.unwrap();
    let asked = model.requests();
    (answer, asked.iter().map(|request| request.messages[0].content.clone()).collect())
}

#[tokio::test]
async fn a_critic_may_be_code_and_is_told_all_there_is() {
    let own = Own::new([Ok(approve()), Ok(reject("cite")), Ok(approve()), Ok(approve())]);
    let scene = Scene::new(&json!({}))
        .role("planner", [plan(&["r1"], &["e1"])])
        .role("researcher", [found("a"), found("a2")])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")]);
    let critic = Actor::Own(own.clone());
    let (answer, _) = ask(scene, |roles| roles.critic = critic).await;
    assert_eq!((answer.outcome, answer.retry_count), (Outcome::Answered, 1));
    let briefs = own.briefs.lock().unwrap();
    let steps: Vec<_> =
        briefs.iter().map(|brief| (brief.step, brief.step_id, brief.attempt)).collect();
    let expected = [
        (StepName::CriticPlanner, None, 1),
        (StepName::CriticResearcher, Some(0), 1),
        (StepName::CriticResearcher, Some(0), 2),
        (StepName::CriticExpert, None, 1),
    ];
    assert_eq!(steps, expected);
    let second = json!(briefs[2]);
    assert_eq!(second["instruction"], "Review research: a2");
    assert_eq!(second["question"], "q");
    assert_eq!(second["schema"]["properties"]["decision"]["enum"], json!(["approve", "reject"]));
    assert_eq!(second["messages"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_reply_of_code_is_held_to_the_same_schema() {
    let own = Own::new([
        Ok(json!({"decision": "perhaps"})),
        Ok(json!({"decision": "APPROVE"})),
        Ok(approve()),
    ]);
    let scene = Scene::new(&json!({}))
        .role("planner", [plan(&[], &["e1"])])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")]);
    let (answer, _) = ask(scene, |roles| roles.critic = Actor::Own(own)).await;
    assert_eq!((answer.outcome, answer.retry_count), (Outcome::Answered, 1));
}

#[tokio::test]
async fn what_code_fails_with_is_handled_as_a_models_failure() {
    let passing = Fault::new(Category::Tool, "abacus_broken", "the abacus broke: bead");
    let own = Own::new([Err(passing), Ok(found("a"))]);
    let scene = || {
        Scene::new(&json!({}))
            .role("planner", [plan(&["r1"], &["e1"])])
            .role("critic", [approve(), approve(), approve()])
            .role("expert", [solved("x", "why")])
            .role("finalizer", [worded("x", "t")])
    };
    let (answer, prompts) = ask(scene(), |roles| roles.researcher = Actor::Own(own)).await;
    assert_eq!((answer.outcome, answer.retry_count), (Outcome::Answered, 1));
    assert!(prompts[0].contains("- abacus: Counts."), "the planner is told of its tools");
    let lasting = Fault::new(Category::Internal, "defect", "a defect: x");
    let own = Own::new([Err(lasting)]);
    let (answer, _) = ask(scene(), |roles| roles.researcher = Actor::Own(own)).await;
    assert_eq!(answer.outcome, Outcome::Error);
    assert_eq!(answer.error_component.as_deref(), Some("researcher"));
}

#[tokio::test]
async fn a_prompt_of_the_callers_own_is_taken_as_it_is() {
    let scene = Scene::new(&json!({}))
        .role("planner", [plan(&[], &["e1"])])
        .role("critic", [approve(), approve()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")]);
    let (_, prompts) = ask(scene, |roles| {
        if let Actor::Model { prompt, .. } = &mut roles.planner {
            *prompt = Some("Plan {{well}}.".to_owned());
        }
    })
    .await;
    assert_eq!(prompts[0], "Plan {{well}}.");
}

#[test]
fn tools_that_nobody_could_use_or_tell_apart_are_refused() {
    let model: Arc<dyn Model> = Scene::new(&json!({})).model();
    let refused = |change: &dyn Fn(&mut Roles)| {
        let mut roles = Roles::of(&model);
        change(&mut roles);
        ReviewLoop::new(Config::default(), roles).err().unwrap().code.clone()
    };
    let twice =
        |roles: &mut Roles| roles.research_tools = vec![search_tool(true), search_tool(true)];
    assert_eq!(refused(&twice), "role_tools_invalid");
    let unused = |roles: &mut Roles| {
        roles.expert = Actor::Own(Own::new([]));
        roles.expert_tools = vec![search_tool(true)];
    };
    assert_eq!(refused(&unused), "role_tools_invalid");
}
