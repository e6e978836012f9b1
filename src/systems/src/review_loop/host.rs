//! The nodes of the graph as the driver calls them.

use std::sync::Arc;

use antiphon_core::agent::Conclusion;
use antiphon_core::command::{Choice, Choices, Send, Update};
use antiphon_core::rules::Site;
use antiphon_core::state::View;
use antiphon_core::task::Outcome;
use antiphon_core::{Category, Fault, Message};
use antiphon_runtime::{Host, Model, NodeCall, Tool};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::changes::Changes;
use super::channels;
use super::conclude::{Delivery, conclude};
use super::config::Config;
use super::finalize::bypass;
use super::graph::{BYPASS, DISPATCH, ENTRY, INPUT, ORCHESTRATOR};
use super::input::{Asked, begin};
use super::message::{Pen, attempts, last_instruction, view};
use super::opening::{Job, conversation};
use super::orchestrate::{is_passing, pass};
use super::prompt::instructions;
use super::reply::shape;
use super::roles::{Actor, Role, RoleBrief, Roles};
use super::state::State;
use super::step::StepName;

/// Settings and roles, for all questions at once.
pub(super) struct Desk {
    pub(super) config: Config,
    pub(super) roles: Roles,
}

impl Desk {
    async fn work(&self, call: &NodeCall) -> Result<Update<Json>, Fault> {
        let mut pen = Pen::new(call.cx.seed, call.cx.clock.now());
        let changes = match &*call.node {
            INPUT => begin(&asked(call)?, &self.config)?,
            ORCHESTRATOR => pass(&call.state.read()?, &self.config, &mut pen),
            BYPASS => bypass(&call.state.read()?, &mut pen),
            _ => self.act(call, &mut pen).await?,
        };
        changes.commit(call)
    }

    /// Has the caller's own code play its role.
    async fn act(&self, call: &NodeCall, pen: &mut Pen) -> Result<Changes, Fault> {
        let (state, job) = look(call)?;
        let Actor::Own(role) = self.roles.actor(job.step) else { return Err(no_model(call)) };
        announce(call, job, &state);
        let value = self.ask(role.as_ref(), job, &state).await?;
        let delivery = Delivery { value: Some(value), ..Delivery::default() };
        conclude(job, delivery, &state, &self.config, pen)
    }

    async fn ask(&self, role: &dyn Role, job: Job, state: &State) -> Result<Json, Fault> {
        let shape = shape(job.step, &self.config)?;
        let log = &state.agent_messages;
        let told = last_instruction(log, job.step.into(), job.step_id);
        let known = job.step_id.and_then(|index| state.researcher_states.get(&index));
        let brief = RoleBrief {
            step: job.step,
            step_id: job.step_id,
            attempt: attempts(log, job.step.into(), job.step_id),
            instruction: told.map(|message| message.content.clone()).unwrap_or_default(),
            messages: view(log, job.step, job.step_id),
            question: state.question.clone(),
            file: state.file.clone(),
            research_steps: state.research_steps.clone(),
            expert_steps: state.expert_steps.clone(),
            research_results: state.research_results.clone(),
            tool_calls: known.map(|known| known.tool_calls.clone()).unwrap_or_default(),
            expert_answer: state.expert_answer.clone(),
            expert_reasoning: state.expert_reasoning.clone(),
            schema: shape.schema().json.clone(),
        };
        let reply = role.act(brief).await?;
        match shape.read(&reply.to_string()) {
            Ok(reading) => Ok(reading.value),
            Err(unreadable) => Err(unreadable.into_fault()),
        }
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
    async fn node(&self, call: NodeCall) -> Outcome<Json> {
        self.work(&call).await.map_or_else(Outcome::failed, Outcome::Done)
    }

    async fn open(&self, call: NodeCall) -> Result<Vec<Message>, Fault> {
        let (state, job) = look(&call)?;
        announce(&call, job, &state);
        self.open_role(&state, job)
    }

    async fn close(&self, call: NodeCall, conclusion: Conclusion) -> Result<Update<Json>, Fault> {
        let (state, job) = look(&call)?;
        // The state is that of the opening, so the opening can be made again.
        let mut messages = self.open_role(&state, job)?;
        messages.extend(conclusion.messages);
        let value = conclusion.value;
        let delivery = Delivery { value, messages, tool_uses: conclusion.tool_uses };
        let mut pen = Pen::new(call.cx.seed, call.cx.clock.now());
        conclude(job, delivery, &state, &self.config, &mut pen)?.commit(&call)
    }

    fn model(&self, call: &NodeCall) -> Result<Arc<dyn Model>, Fault> {
        match self.roles.actor(step_of(call)?) {
            Actor::Model { model, .. } => Ok(Arc::clone(model)),
            Actor::Own(_) => Err(no_model(call)),
        }
    }

    fn tool(&self, call: &NodeCall, name: &str) -> Result<Arc<dyn Tool>, Fault> {
        let tools = self.roles.tools(step_of(call)?);
        let tool = tools.iter().find(|tool| tool.spec().name == name);
        tool.cloned().ok_or_else(|| no_model(call))
    }

    fn route(&self, router: u32, view: &View<'_, Json>) -> Result<Choices<Json>, Fault> {
        let text = |key: &str| view.named(key).and_then(Json::as_str).unwrap_or_default();
        let label = match router {
            ENTRY if view.named(channels::INPUT).is_some() => "question",
            ENTRY => "state",
            DISPATCH => return Ok(dispatch(text("current_step"), view)),
            _ => "",
        };
        Ok(Choices::from_iter([Choice::Name(label.into())]))
    }

    /// Of the failures of one superstep the one that trying again does not
    /// mend decides.
    fn reduce(&self, _: Site<'_, Json>, old: Option<Json>, new: Json) -> Result<Json, Fault> {
        let lasts = |known: &Json| Fault::deserialize(known).is_ok_and(|f| !is_passing(f.category));
        Ok(old.filter(lasts).unwrap_or(new))
    }
}

/// Whom the orchestrator sends: research goes out as a wave, one per step.
fn dispatch(step: &str, view: &View<'_, Json>) -> Choices<Json> {
    let bypassed = view.named("bypass") == Some(&Json::Bool(true));
    let known = StepName::parse(step);
    if known == Some(StepName::Finalizer) && bypassed {
        return Choices::from_iter([Choice::Name(BYPASS.into())]);
    }
    let Some(step) = known.filter(|step| step.is_research()) else {
        return Choices::from_iter([Choice::Name(step.into())]);
    };
    let wave = view.named("wave").and_then(Json::as_array);
    let send = |index: &Json| {
        let node = super::graph::node_of(step).into();
        Choice::Send(Send { node, input: index.clone(), timeout: None })
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

fn corrupt(message: String) -> Fault {
    Fault::new(Category::State, "review_state_corrupt", message)
}

fn no_model(call: &NodeCall) -> Fault {
    let message = format!("nobody plays the role of the node: {}", call.node);
    Fault::new(Category::Internal, "role_missing", message)
}
