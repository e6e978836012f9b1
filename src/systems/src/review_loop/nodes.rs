//! The nodes of the graph as the driver calls them.

use std::sync::Arc;

use antiphon_core::agent::AgentResult;
use antiphon_core::command::{Destination, Destinations, Send, Update};
use antiphon_core::reply::{ReplyParser, UnreadableReply, Violation};
use antiphon_core::rules::ReducerSite;
use antiphon_core::state::View;
use antiphon_core::task::{Failure, TaskOutcome};
use antiphon_core::{Fault, FaultCode, Message};
use antiphon_runtime::{Host, Model, NodeCall, Tool};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::brief::{RoleBrief, RoleContext};
use super::conclude::{RoleReply, conclude};
use super::config::Config;
use super::conversation::{RoleTask, conversation};
use super::finalize::bypass;
use super::graph::{BYPASS, DISPATCH, ENTRY, ORCHESTRATOR, node_of};
use super::input::{QuestionInput, begin};
use super::message::{MessageFactory, attempts};
use super::orchestrate::{is_passing, pass};
use super::patch::Patch;
use super::prompt::instructions;
use super::reply::parser;
use super::roles::{RoleImplementation, Roles};
use super::state::State;
use super::step::StepName;
use crate::session::UserContext;
use crate::state::INPUT;
use crate::tool_cache::ToolCache;

/// Settings and roles, which all questions share, and what is of one.
#[derive(Clone)]
pub(super) struct ReviewLoopNodes {
    pub(super) config: Arc<Config>,
    pub(super) roles: Arc<Roles>,
    pub(super) run_id: Arc<str>,
    pub(super) user_context: Option<UserContext>,
    pub(super) tools: Arc<ToolCache>,
}

impl ReviewLoopNodes {
    async fn work(&self, call: &NodeCall) -> Result<Update<Json>, Failure> {
        let mut factory = MessageFactory::new(call.cx.seed, call.cx.clock.now());
        let mut patch = match &*call.node {
            INPUT => begin(&asked(call)?, &self.config)?,
            ORCHESTRATOR => pass(&call.state.read()?, &self.config, &mut factory),
            BYPASS => bypass(&call.state.read()?, &mut factory),
            _ => self.act(call, &mut factory).await?,
        };
        patch.save(&self.tools);
        Ok(patch.commit(call)?)
    }

    /// Has the caller's own code play its role.
    async fn act(&self, call: &NodeCall, factory: &mut MessageFactory) -> Result<Patch, Failure> {
        let (state, job) = look(call)?;
        let RoleImplementation::Own(role) = self.roles.implementation(job.step) else {
            return Err(no_model(call).into());
        };
        announce(call, job, &state);
        let parser = parser(job.step, &self.config)?;
        let brief = RoleBrief::new(job, &state, &self.roles, parser.schema().json.clone());
        let cx = RoleContext::new(call, &self.run_id, self.user_context.as_ref());
        let reply = role.act(brief, cx).await?;
        let read = parser.parse(&reply.to_string());
        let value = Some(read.map_err(|unreadable| misfit(job.step, &unreadable))?.value);
        let reply = RoleReply { value, ..RoleReply::default() };
        Ok(conclude(job, reply, &state, &self.config, factory)?)
    }

    /// The conversation of a role with a model.
    fn open_role(&self, state: &State, job: RoleTask) -> Result<Vec<Message>, Fault> {
        let instructions = instructions(job.step, &self.roles, &self.config)?;
        conversation(job, state, &self.config, instructions)
    }
}

/// Says that a worker begins.
fn announce(call: &NodeCall, job: RoleTask, state: &State) {
    let attempt = attempts(&state.agent_messages, job.step.into(), job.step_id);
    match job.step {
        StepName::Researcher => {
            call.note("research_started", json!({"index": job.step_id, "attempt": attempt}));
        }
        StepName::Expert => call.note("expert_started", json!({ "attempt": attempt })),
        _ => {}
    }
}

#[async_trait]
impl Host for ReviewLoopNodes {
    async fn node(&self, call: NodeCall) -> TaskOutcome<Json> {
        let failed = |failure| TaskOutcome::Failed(Box::new(failure));
        self.work(&call).await.map_or_else(failed, TaskOutcome::Done)
    }

    async fn open(&self, call: NodeCall) -> Result<Vec<Message>, Fault> {
        let (state, job) = look(&call)?;
        announce(&call, job, &state);
        self.open_role(&state, job)
    }

    async fn close(&self, call: NodeCall, conclusion: AgentResult) -> Result<Update<Json>, Fault> {
        let (state, job) = look(&call)?;
        // The state is that of the opening, so the opening can be made again.
        let mut messages = self.open_role(&state, job)?;
        messages.extend(conclusion.messages);
        let value = conclusion.value;
        let reply = RoleReply { value, messages, tool_uses: conclusion.tool_uses };
        let mut factory = MessageFactory::new(call.cx.seed, call.cx.clock.now());
        let mut patch = conclude(job, reply, &state, &self.config, &mut factory)?;
        patch.save(&self.tools);
        patch.commit(&call)
    }

    fn model(&self, call: &NodeCall) -> Result<Arc<dyn Model>, Fault> {
        match self.roles.implementation(step_of(call)?) {
            RoleImplementation::Model(role_model) => Ok(Arc::clone(&role_model.model)),
            RoleImplementation::Own(_) => Err(no_model(call)),
        }
    }

    fn tool(&self, call: &NodeCall, name: &str) -> Result<Arc<dyn Tool>, Fault> {
        let step = step_of(call)?;
        let tools = self.roles.tools(step);
        let tool = tools.iter().find(|tool| tool.spec().name == name);
        let tool = tool.ok_or_else(|| no_model(call))?;
        let scope = self.roles.owner(step, tool);
        Ok(self.tools.before(Arc::clone(tool), scope, call.notes.clone()))
    }

    fn route(&self, router: u32, view: &View<'_, Json>) -> Result<Destinations<Json>, Fault> {
        let text = |key: &str| view.named(key).and_then(Json::as_str).unwrap_or_default();
        let label = match router {
            ENTRY if view.named(INPUT).is_some() => "question",
            ENTRY => "state",
            DISPATCH => return Ok(dispatch(text(State::current_step.name()), view)),
            _ => "",
        };
        Ok(Destinations::from_iter([Destination::Name(label.into())]))
    }

    /// Of the failures of one superstep the one that trying again does not
    /// mend decides.
    fn reduce(
        &self,
        _: ReducerSite<'_, Json>,
        old: Option<Json>,
        new: Json,
    ) -> Result<Json, Fault> {
        let lasts = |known: &Json| Fault::deserialize(known).is_ok_and(|f| !is_passing(f.category));
        Ok(old.filter(lasts).unwrap_or(new))
    }
}

/// Whom the orchestrator sends: research goes out as a wave, one per step.
fn dispatch(step: &str, view: &View<'_, Json>) -> Destinations<Json> {
    let bypassed = view.named(State::bypass.name()) == Some(&Json::Bool(true));
    let known = StepName::parse(step);
    if known == Some(StepName::Finalizer) && bypassed {
        return Destinations::from_iter([Destination::Name(BYPASS.into())]);
    }
    let Some(step) = known.filter(|step| step.is_research()) else {
        return Destinations::from_iter([Destination::Name(step.into())]);
    };
    let wave = view.named(State::wave.name()).and_then(Json::as_array);
    let send = |index: &Json| {
        let node = node_of(step).into();
        Destination::Send(Send { node, input: index.clone(), timeout: None })
    };
    wave.into_iter().flatten().map(send).collect()
}

/// The state and what a role has to do in it. A state that does not hold
/// together is found here in debug builds, after each pass of the orchestrator.
fn look(call: &NodeCall) -> Result<(State, RoleTask), Fault> {
    let state: State = call.state.read()?;
    if cfg!(debug_assertions) {
        state.check().map_err(corrupt)?;
    }
    let step_id = call.sent().and_then(Json::as_u64).and_then(|index| usize::try_from(index).ok());
    Ok((state, RoleTask { step: step_of(call)?, step_id }))
}

/// The step a call is for: the present one, which also tells a critic's mode.
fn step_of(call: &NodeCall) -> Result<StepName, Fault> {
    let name = call.state.text(State::current_step.name());
    StepName::parse(name).ok_or_else(|| corrupt(format!("there is no step of that name: {name}")))
}

fn asked(call: &NodeCall) -> Result<QuestionInput, Fault> {
    let input = call.state.get(INPUT).cloned().unwrap_or_default();
    QuestionInput::deserialize(&input).map_err(|error| corrupt(error.to_string()))
}

/// What is wrong with a reply that code gave.
fn misfit(step: StepName, unreadable: &UnreadableReply) -> Fault {
    let role = node_of(step);
    let wrong = unreadable.errors.first();
    let field = wrong.map_or("", |wrong| wrong.path.trim_start_matches('/'));
    let message = match wrong {
        Some(Violation { expected, found, .. }) if field.is_empty() => {
            format!("the reply of the {role} should be {expected} but is: {found}")
        }
        Some(Violation { expected, found, .. }) => {
            format!("the reply of the {role} should have {expected} as `{field}` but has: {found}")
        }
        None => format!("the reply does not have the form of its role: {role}"),
    };
    let fault = Fault::new(FaultCode::RoleReplyInvalid, message);
    fault.with("role", role).with("field", field)
}

fn corrupt(message: String) -> Fault {
    Fault::new(FaultCode::ReviewStateCorrupt, message)
}

fn no_model(call: &NodeCall) -> Fault {
    let message = format!("nobody plays the role of the node: {}", call.node);
    Fault::new(FaultCode::RoleMissing, message)
}
