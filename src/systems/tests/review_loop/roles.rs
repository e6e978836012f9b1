//! Roles that are code of the caller's own.

use antiphon_systems::review_loop::{Answer, Config, ReviewLoop, RoleBrief, State, StepName};
use antiphon_systems::{
    Outcome, Role, RoleContext, RoleImplementation, RoleModel, SystemResourcesBuilder,
    SystemResult, SystemRunner, TemperatureChoice,
};
use std::sync::{Arc, Mutex};

use antiphon_core::budget::{BudgetCharge, Limits};
use antiphon_core::event::EventKind;
use antiphon_core::graph::NodePolicy;
use antiphon_core::retry::{Jitter, RetryPolicy};
use antiphon_core::task::{Failure, RetryVerdict};
use antiphon_core::{Category, Fault, FaultCode, ToolSpec, Usage};
use antiphon_models::ScriptedModel;
use antiphon_runtime::{Model, UserContext};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::scene::{Scene, approve, found, plan, reject, solved, worded};
use crate::tools::search_tool;

/// Replies with what the script says, and keeps its briefs.
#[derive(Default)]
struct Own {
    replies: Mutex<Vec<Result<Json, Fault>>>,
    briefs: Mutex<Vec<Json>>,
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

    async fn act(&self, brief: Json, cx: RoleContext) -> Result<Json, Failure> {
        cx.notes.note(EventKind::Custom, "pondered", json!({"step": brief["step"]}));
        self.briefs.lock().unwrap().push(brief);
        Ok(self.replies.lock().unwrap().pop().unwrap()?)
    }
}

async fn ask(
    mut scene: Scene,
    replace: impl FnOnce(SystemResourcesBuilder, Arc<dyn Model>) -> SystemResourcesBuilder,
) -> (SystemResult<Answer, State>, Vec<String>) {
    let model = scene.model();
    let resources = replace(SystemResourcesBuilder::new().model(model.clone()), model.clone());
    let system = SystemRunner::<ReviewLoop>::new(scene.config.clone(), resources).unwrap();
    let answer = system.ask("q", scene.session()).await.unwrap();
    let asked = model.requests();
    (answer, asked.iter().map(|request| request.messages[0].content.to_string()).collect())
}

#[tokio::test]
async fn a_critic_may_be_code_and_receives_everything() {
    let own = Own::new([Ok(approve()), Ok(reject("cite")), Ok(approve()), Ok(approve())]);
    let scene = Scene::new(&json!({}))
        .role("planner", [plan(&["r1"], &["e1"])])
        .role("researcher", [found("a"), found("a2")])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")]);
    let critic = RoleImplementation::Code(own.clone());
    let (answer, _) = ask(scene, |resources, _| resources.role("critic", critic)).await;
    assert_eq!((answer.outcome, answer.output.retry_count), (Outcome::Answered, 1));
    let briefs = own.briefs.lock().unwrap();
    let read = |brief: &Json| RoleBrief::deserialize(brief).unwrap();
    let step = |brief: RoleBrief| (brief.step, brief.step_id, brief.attempt);
    let steps: Vec<_> = briefs.iter().map(read).map(step).collect();
    let expected = [
        (StepName::CriticPlanner, None, 1),
        (StepName::CriticResearcher, Some(0), 1),
        (StepName::CriticResearcher, Some(0), 2),
        (StepName::CriticExpert, None, 1),
    ];
    assert_eq!(steps, expected);
    let second = &briefs[2];
    assert_eq!(second["instruction"], "Review research: a2");
    assert_eq!(second["question"], "q");
    assert_eq!(
        second["schema"]["properties"]["decision"]["enum"],
        json!(["approve", "reject", "not_known"])
    );
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
    let (answer, _) =
        ask(scene, |resources, _| resources.role("critic", RoleImplementation::Code(own))).await;
    assert_eq!((answer.outcome, answer.output.retry_count), (Outcome::Answered, 1));
}

#[tokio::test]
async fn what_code_fails_with_is_handled_as_a_models_failure() {
    let passing = Fault::foreign(Category::Tool, "abacus_broken", "the abacus broke: bead");
    let own = Own::new([Err(passing), Ok(found("a"))]);
    let scene = || {
        Scene::new(&json!({}))
            .role("planner", [plan(&["r1"], &["e1"])])
            .role("critic", [approve(), approve(), approve()])
            .role("expert", [solved("x", "why")])
            .role("finalizer", [worded("x", "t")])
    };
    let (answer, prompts) =
        ask(scene(), |resources, _| resources.role("researcher", RoleImplementation::Code(own)))
            .await;
    assert_eq!((answer.outcome, answer.output.retry_count), (Outcome::Answered, 1));
    assert!(prompts[0].contains("- abacus: Counts."), "the planner gets its tools");
    let lasting = Fault::foreign(Category::Internal, "defect", "a defect: x");
    let own = Own::new([Err(lasting)]);
    let (answer, _) =
        ask(scene(), |resources, _| resources.role("researcher", RoleImplementation::Code(own)))
            .await;
    assert_eq!(answer.outcome, Outcome::Error);
    assert_eq!(answer.output.error_component.as_deref(), Some("researcher"));
}

/// The replies to one question with one expert step and no research.
fn short_scene() -> Scene {
    Scene::new(&json!({}))
        .role("planner", [plan(&[], &["e1"])])
        .role("critic", [approve(), approve()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")])
}

#[tokio::test]
async fn instructions_of_an_agents_own_come_before_those_of_its_role() {
    let (_, ours) = ask(short_scene(), |resources, _| resources).await;
    let (_, prompts) = ask(short_scene(), |resources, model| {
        let instructions = Some("Plan {{well}}.".to_owned());
        resources.role("planner", RoleModel { instructions, ..RoleModel::new(model) })
    })
    .await;
    assert_eq!(prompts[0], format!("Plan {{{{well}}}}.\n\n{}", ours[0]));
    assert_eq!(prompts[1..], ours[1..]);
}

#[tokio::test]
async fn research_is_planned_only_where_it_can_find_what_the_expert_does_not_know() {
    const NOTHING: &str = "Nothing can be looked up for this question";
    let (_, prompts) = ask(short_scene(), |resources, _| resources).await;
    assert!(prompts[0].contains(NOTHING), "{}", prompts[0]);

    let (_, code) = ask(short_scene(), |resources, _| {
        resources.role("researcher", RoleImplementation::Code(Own::new([])))
    })
    .await;
    let (_, tools) =
        ask(short_scene(), |resources, _| resources.tools("researcher", [search_tool(true)])).await;
    let (_, instructed) = ask(short_scene(), |resources, model| {
        let instructions = Some("You know the archive.".to_owned());
        resources.role("researcher", RoleModel { instructions, ..RoleModel::new(model) })
    })
    .await;
    let (_, another) = ask(short_scene(), |resources, _| {
        let searching: Arc<dyn Model> = Arc::new(ScriptedModel::new::<&str>([]).named("sonar"));
        resources.role("researcher", RoleModel::new(searching))
    })
    .await;
    for prompts in [code, tools, instructed, another] {
        assert!(!prompts[0].contains(NOTHING), "{}", prompts[0]);
    }
}

#[tokio::test]
async fn an_agent_in_a_role_brings_its_own_tools_and_limits() {
    let mut scene = short_scene();
    let model = scene.model();
    let as_model: Arc<dyn Model> = model.clone();
    let critic = RoleModel {
        tools: Some(vec![search_tool(true)]),
        temperature: TemperatureChoice::Own(Some(0.7)),
        max_output_tokens: Some(99),
        tags: [("agent".to_owned(), "strict".to_owned())].into(),
        ..RoleModel::new(as_model.clone())
    };
    let config = Config { temperature: Some(0.2), ..Config::default() };
    let resources = SystemResourcesBuilder::new().model(as_model).role("critic", critic);
    let system = SystemRunner::<ReviewLoop>::new(config, resources).unwrap();
    system.ask("q", scene.session()).await.unwrap();
    let asked = model.requests();
    let critic: Vec<_> = asked.iter().filter(|asked| asked.tags["role"] == "critic").collect();
    assert_eq!(critic.len(), 2);
    for request in critic {
        assert_eq!((request.tools.len(), request.temperature), (1, Some(0.7)));
        assert_eq!((request.max_output_tokens, &*request.tags["agent"]), (Some(99), "strict"));
    }
    assert_eq!(asked[0].temperature, Some(0.2));
}

#[tokio::test]
async fn work_that_was_sent_back_comes_with_its_feedback() {
    let own = Own::new([Ok(plan(&[], &["e1"])), Ok(plan(&[], &["e2"]))]);
    let scene = Scene::new(&json!({}))
        .role("critic", [reject("too short"), approve(), approve()])
        .role("expert", [solved("x", "why")])
        .role("finalizer", [worded("x", "t")]);
    let planner = RoleImplementation::Code(own.clone());
    let (answer, _) = ask(scene, |resources, _| resources.role("planner", planner)).await;
    assert_eq!(answer.outcome, Outcome::Answered);
    let briefs = own.briefs.lock().unwrap();
    let feedback: Vec<_> = briefs.iter().map(|brief| brief["feedback"].as_str()).collect();
    assert_eq!(feedback, [None, Some("too short")]);
    let noted = answer.events.iter().filter(|event| &*event.name == "pondered");
    assert_eq!(noted.count(), 2, "what a role notes is in the trace");
}

#[tokio::test]
async fn a_reply_that_does_not_fit_is_named_with_its_role_and_field() {
    let own = Own::new([Ok(json!({"decision": "perhaps"}))]);
    let mut scene = short_scene();
    scene.config.retry_limit = 1;
    let (answer, _) =
        ask(scene, |resources, _| resources.role("critic", RoleImplementation::Code(own))).await;
    let error = answer.error.unwrap();
    assert_eq!(error.code, FaultCode::RoleReplyInvalid);
    assert_eq!(
        (&error.details["role"], &error.details["field"]),
        (&json!("critic"), &json!("decision"))
    );
    assert!(error.message.starts_with("the reply of the critic should have"), "{}", error.message);
    assert!(error.message.ends_with("\"perhaps\""), "{}", error.message);
}

/// Fails as given, spends, and repeats what it was sent.
struct Busy {
    policy: NodePolicy,
    failures: Mutex<Vec<Failure>>,
    seen: Mutex<Vec<(u32, bool)>>,
}

#[async_trait]
impl Role for Busy {
    fn policy(&self) -> NodePolicy {
        self.policy.clone()
    }

    async fn act(&self, _: Json, cx: RoleContext) -> Result<Json, Failure> {
        cx.notes.request(BudgetCharge::Model).await?;
        cx.notes.charge(Usage { input_tokens: 5, output_tokens: 7 });
        let carried = cx
            .user_context
            .is_some_and(|user_context| user_context.downcast_ref::<u8>() == Some(&7));
        self.seen.lock().unwrap().push((cx.attempt, carried));
        match self.failures.lock().unwrap().pop() {
            Some(failure) => Err(failure),
            None => Ok(solved("x", "why")),
        }
    }
}

async fn ask_busy(
    policy: NodePolicy,
    failures: Vec<Failure>,
) -> (SystemResult<Answer, State>, Vec<(u32, bool)>) {
    let busy = Arc::new(Busy { policy, failures: Mutex::new(failures), seen: Mutex::default() });
    let mut scene = short_scene();
    let model: Arc<dyn Model> = scene.model();
    let resources = SystemResourcesBuilder::new()
        .model(model)
        .role("expert", RoleImplementation::Code(busy.clone()));
    let system = SystemRunner::<ReviewLoop>::new(Config::default(), resources).unwrap();
    let mut session = scene.session();
    let user_context: UserContext = Arc::new(7_u8);
    session.user_context = Some(user_context);
    let answer = system.ask("q", session).await.unwrap();
    let seen = std::mem::take(&mut *busy.seen.lock().unwrap());
    (answer, seen)
}

#[tokio::test]
async fn a_role_is_tried_again_by_its_own_policy_and_what_it_spends_counts() {
    let policy = RetryPolicy {
        jitter: Jitter::None,
        initial: std::time::Duration::ZERO,
        ..RetryPolicy::default()
    };
    let fault = Fault::foreign(Category::Internal, "flaky", "it broke: x");
    let again = Failure { fault, verdict: RetryVerdict::Again(policy) };
    let (answer, seen) = ask_busy(NodePolicy::default(), vec![again]).await;
    assert_eq!((answer.outcome, answer.output.retry_count), (Outcome::Answered, 0));
    assert_eq!(seen, [(1, true), (2, true)]);
    assert!(answer.spent.usage.input_tokens >= 10 && answer.spent.usage.output_tokens >= 14);
}

#[tokio::test]
async fn a_role_that_spends_its_budget_ends_the_question() {
    let limits = Limits { model_calls: Some(0), ..Limits::default() };
    let (answer, seen) = ask_busy(NodePolicy { limits, ..NodePolicy::default() }, Vec::new()).await;
    assert_eq!(answer.outcome, Outcome::Budget);
    assert!(seen.is_empty());
}

#[test]
fn tools_that_nobody_could_use_or_tell_apart_are_refused() {
    let model: Arc<dyn Model> = Scene::new(&json!({})).model();
    let refused = |change: &dyn Fn(SystemResourcesBuilder) -> SystemResourcesBuilder| {
        let resources = change(SystemResourcesBuilder::new().model(Arc::clone(&model)));
        SystemRunner::<ReviewLoop>::new(Config::default(), resources).err().unwrap().code.clone()
    };
    let twice = |resources: SystemResourcesBuilder| {
        resources.tools("researcher", [search_tool(true), search_tool(true)])
    };
    assert_eq!(refused(&twice), "role_tools_invalid");
    let unused = |resources: SystemResourcesBuilder| {
        let expert = RoleImplementation::Code(Own::new([]));
        resources.role("expert", expert).tools("expert", [search_tool(true)])
    };
    assert_eq!(refused(&unused), "role_tools_invalid");
    let doubled = |resources: SystemResourcesBuilder| {
        let tools = Some(vec![search_tool(true)]);
        let researcher = RoleModel { tools, ..RoleModel::new(Arc::clone(&model)) };
        resources.role("researcher", researcher).tools("researcher", [search_tool(true)])
    };
    assert_eq!(refused(&doubled), "role_tools_invalid");
    let misnamed = |resources: SystemResourcesBuilder| {
        resources.role("critics", RoleModel::new(Arc::clone(&model)))
    };
    assert_eq!(refused(&misnamed), "role_unknown");
    let toolless =
        |resources: SystemResourcesBuilder| resources.tools("planner", [search_tool(true)]);
    assert_eq!(refused(&toolless), "role_unknown");
    assert_eq!(refused(&|_| SystemResourcesBuilder::new()), "role_missing");
}
