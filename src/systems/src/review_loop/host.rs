//! The nodes of the graph as the driver calls them.

use std::sync::Arc;

use antiphon_core::agent::AgentResult;
use antiphon_core::command::{Destination, Destinations, Send, Update};
use antiphon_core::reply::{ReplyParser, UnreadableReply, Violation};
use antiphon_core::rules::ReducerSite;
use antiphon_core::state::View;
use antiphon_core::task::{Failure, TaskOutcome};
use antiphon_core::{Category, Fault, Message};
use antiphon_runtime::{Host, Model, NodeCall, Tool};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::brief::{RoleBrief, RoleContext};
use super::changes::Changes;
use super::channels;
use super::conclude::{Delivery, conclude};
use super::config::Config;
use super::finalize::bypass;
use super::graph::{BYPASS, DISPATCH, ENTRY, INPUT, ORCHESTRATOR, node_of};
use super::input::{Asked, begin};
use super::message::{Pen, attempts};
use super::opening::{Job, conversation};
use super::orchestrate::{is_passing, pass};
use super::prompt::instructions;
use super::reply::parser;
use super::roles::{Actor, Roles};
use super::state::State;
use super::step::StepName;
use crate::session::Luggage;
use crate::tool_cache::ToolCache;

/// Settings and roles, which all questions share, and what is of one.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) config: Arc<Config>,
    pub(super) roles: Arc<Roles>,
    pub(super) run_id: Arc<str>,
    pub(super) luggage: Option<Luggage>,
    pub(super) tools: Arc<ToolCache>,
}

impl Desk {
    async fn work(&self, call: &NodeCall) -> Result<Update<Json>, Failure> {
        let mut pen = Pen::new(call.cx.seed, call.cx.clock.now());
        let mut changes = match &*call.node {
            INPUT => begin(&asked(call)?, &self.config)?,
            ORCHESTRATOR => pass(&call.state.read()?, &self.config, &mut pen),
            BYPASS => bypass(&call.state.read()?, &mut pen),
            _ => self.act(call, &mut pen).await?,
        };
        changes.save(&self.tools);
        Ok(changes.commit(call)?)
    }

    /// Has the caller's own code play its role.
    async fn act(&self, call: &NodeCall, pen: &mut Pen) -> Result<Changes, Failure> {
        let (state, job) = look(call)?;
        let Actor::Own(role) = self.roles.actor(job.step) else {
            return Err(no_model(call).into());
        };
        announce(call, job, &state);
        let parser = parser(job.step, &self.config)?;
        let brief = RoleBrief::new(job, &state, &self.roles, parser.schema().json.clone());
        let cx = RoleContext::new(call, &self.run_id, self.luggage.as_ref());
        let reply = role.act(brief, cx).await?;
        let read = parser.parse(&reply.to_string());
        let value = Some(read.map_err(|unreadable| misfit(job.step, &unreadable))?.value);
        let delivery = Delivery { value, ..Delivery::default() };
        Ok(conclude(job, delivery, &state, &self.config, pen)?)
    }

    /// The conversation of a role that a model plays.
    fn open_role(&self, state: &State, job: Job) -> Result<Vec<Message>, Fault> {
        let instructions = instructions(job.step, &self.roles, &self.config)?;
        conversation(job, state, &self.config, instructions)
    }
}

/// Says that a worker begins.
fn announce(call: &NodeCall, job: Job, state: &State) {
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
impl Host for Desk {
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
        let delivery = Delivery { value, messages, tool_uses: conclusion.tool_uses };
        let mut pen = Pen::new(call.cx.seed, call.cx.clock.now());
        let mut changes = conclude(job, delivery, &state, &self.config, &mut pen)?;
        changes.save(&self.tools);
        changes.commit(&call)
    }

    fn model(&self, call: &NodeCall) -> Result<Arc<dyn Model>, Fault> {
        match self.roles.actor(step_of(call)?) {
            Actor::Model(player) => Ok(Arc::clone(&player.model)),
            Actor::Own(_) => Err(no_model(call)),
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
            ENTRY if view.named(channels::INPUT).is_some() => "question",
            ENTRY => "state",
            DISPATCH => return Ok(dispatch(text("current_step"), view)),
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
    let bypassed = view.named("bypass") == Some(&Json::Bool(true));
    let known = StepName::parse(step);
    if known == Some(StepName::Finalizer) && bypassed {
        return Destinations::from_iter([Destination::Name(BYPASS.into())]);
    }
    let Some(step) = known.filter(|step| step.is_research()) else {
        return Destinations::from_iter([Destination::Name(step.into())]);
    };
    let wave = view.named("wave").and_then(Json::as_array);
    let send = |index: &Json| {
        let node = node_of(step).into();
        Destination::Send(Send { node, input: index.clone(), timeout: None })
    };
    wave.into_iter().flatten().map(send).collect()
}

/// The state and what a role has to do in it. A state that does not hold
/// together is found here in debug builds, after each pass of the orchestrator.
fn look(call: &NodeCall) -> Result<(State, Job), Fault> {
    let state: State = call.state.read()?;
    if cfg!(debug_assertions) {
        state.check().map_err(corrupt)?;
    }
    let step_id = call.sent().and_then(Json::as_u64).and_then(|index| usize::try_from(index).ok());
    Ok((state, Job { step: step_of(call)?, step_id }))
}

/// The step a call is for: the present one, which also tells a critic's mode.
fn step_of(call: &NodeCall) -> Result<StepName, Fault> {
    let name = call.state.text("current_step");
    StepName::parse(name).ok_or_else(|| corrupt(format!("there is no step of that name: {name}")))
}

fn asked(call: &NodeCall) -> Result<Asked, Fault> {
    let input = call.state.get(channels::INPUT).cloned().unwrap_or_default();
    Asked::deserialize(&input).map_err(|error| corrupt(error.to_string()))
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
    let fault = Fault::new(Category::ModelOutput, "role_reply_invalid", message);
    fault.with("role", role).with("field", field)
}

fn corrupt(message: String) -> Fault {
    Fault::new(Category::State, "review_state_corrupt", message)
}

fn no_model(call: &NodeCall) -> Fault {
    let message = format!("nobody plays the role of the node: {}", call.node);
    Fault::new(Category::Internal, "role_missing", message)
}
