//! System 0: answers one question. A planner splits the work, a researcher
//! looks things up, an expert works out the answer, and a critic approves or
//! sends back each of their products; a finalizer words the answer. One
//! orchestrator decides what happens next; agents never talk to each other.
//!
//! | module | holds |
//! |---|---|
//! | [`config`], [`roles`] | settings; who plays which role |
//! | [`brief`] | what code that plays a role gets to know |
//! | [`input`], [`attachment`] | what is asked |
//! | [`decide`] | the decision table |
//! | [`state`], [`step`], [`message`] | what is known of a question on its way |
//! | [`outcome`] | what comes of it |

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_core::budget::Limits;
use antiphon_core::channel::{Op, Write};
use antiphon_core::effect::Ending;
use antiphon_core::graph::Graph;
use antiphon_core::run::{Options, Run};
use antiphon_core::{Category, Seed};
use antiphon_runtime::{Clock, Driver, Recorder, Rest, Snapshot, Stop, Watcher};
use serde_json::{Value as Json, json};

pub mod attachment;
pub mod brief;
mod changes;
mod channels;
mod conclude;
pub mod config;
pub mod decide;
mod finalize;
mod graph;
mod host;
pub mod input;
pub mod message;
mod narrow;
mod opening;
mod orchestrate;
pub mod outcome;
mod parallel;
mod progress;
mod prompt;
mod reply;
pub mod roles;
pub mod state;
pub mod step;

pub use attachment::Attachment;
pub use brief::{Luggage, RoleBrief, RoleContext, ToolNote};
pub use config::Config;
pub use input::Asked;
pub use message::{AgentMessage, MessageKind, Party};
pub use outcome::{Answer, FAILURE_TEXT, Outcome};
pub use roles::{Actor, Player, Role, Roles};
pub use state::State;
pub use step::{StepName, Worker};

use host::Desk;

/// A review loop, ready for any number of questions at once.
///
/// ```
/// use std::sync::Arc;
/// use antiphon_models::{Lane, ScriptedModel};
/// use antiphon_runtime::{Model, SystemClock};
/// use antiphon_systems::review_loop::{Config, Outcome, ReviewLoop, Roles, Session};
/// use serde_json::json;
///
/// let approve = json!({"decision": "approve", "feedback": ""});
/// let script = ScriptedModel::new::<&str>([])
///     .lane(Lane::tag("role", "planner").replies([json!({"research_steps": [], "expert_steps": ["recall it"]})]))
///     .lane(Lane::tag("role", "expert").replies([json!({"expert_answer": "Lima", "reasoning_trace": "recalled"})]))
///     .lane(Lane::tag("role", "critic").replies([approve.clone(), approve]))
///     .lane(Lane::tag("role", "finalizer").replies([json!({"final_answer": "Lima", "final_reasoning_trace": "recalled"})]));
/// let model: Arc<dyn Model> = Arc::new(script);
/// let system = ReviewLoop::new(Config::default(), Roles::of(&model))?;
///
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// let session = Session::new(Arc::new(SystemClock::new()));
/// let answer = runtime.block_on(system.ask("What is the capital of Peru?", session))?;
/// assert_eq!((answer.final_answer.as_str(), answer.outcome), ("Lima", Outcome::Answered));
/// # Ok::<(), antiphon_core::Fault>(())
/// ```
pub struct ReviewLoop {
    graph: Arc<Graph<Json>>,
    config: Arc<Config>,
    roles: Arc<Roles>,
}

/// What one question needs from outside.
#[derive(Clone)]
pub struct Session {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where ids and jitter come from; take it from the operating system.
    pub seed: Seed,
    /// Names the run in its events.
    pub run_id: String,
    /// Limits beside those of the settings; the narrower one counts.
    pub limits: Limits,
    /// Who else sees the events.
    pub watchers: Vec<Arc<dyn Watcher>>,
    /// Cancels the question.
    pub stop: Option<Stop>,
    /// For roles that are the caller's own code.
    pub luggage: Option<Luggage>,
}

impl Session {
    /// Nobody watches or cancels; the seed is always the same.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            seed: Seed::default(),
            run_id: String::new(),
            limits: Limits::default(),
            watchers: Vec::new(),
            stop: None,
            luggage: None,
        }
    }
}

impl ReviewLoop {
    /// Checks settings and roles, and builds the graph. Nothing is called.
    ///
    /// # Errors
    /// A `Validation` fault: `system_setting_invalid`, `role_tools_invalid`, or
    /// `schema_invalid` for the arguments of a tool.
    pub fn new(config: Config, roles: Roles) -> Result<Self, Fault> {
        config.check()?;
        roles.check()?;
        let graph = graph::build(&config, &roles)?;
        Ok(Self { graph, config: Arc::new(config), roles: Arc::new(roles) })
    }

    /// The graph, for drawing.
    pub const fn graph(&self) -> &Arc<Graph<Json>> {
        &self.graph
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Answers a question. Needs a tokio runtime with its timer.
    ///
    /// # Errors
    /// Only for a question that cannot be begun, before any model is called:
    /// the faults of [`Asked::read`]. Whatever happens later is an [`Answer`]
    /// with its outcome.
    pub async fn ask(&self, asked: impl Into<Asked>, session: Session) -> Result<Answer, Fault> {
        let asked: Asked = asked.into();
        asked.read()?;
        Ok(self.drive(vec![(channels::INPUT.to_owned(), json!(asked))], session).await)
    }

    /// Goes on with a question where its state says it stands: at the step
    /// that was done last.
    ///
    /// # Errors
    /// A `State` fault `review_state_corrupt` if the state does not hold together.
    pub async fn resume(&self, state: &State, session: Session) -> Result<Answer, Fault> {
        state
            .check()
            .map_err(|broken| Fault::new(Category::State, "review_state_corrupt", broken))?;
        let fields = json!(state).as_object().cloned().unwrap_or_default();
        Ok(self.drive(fields.into_iter().filter(|(_, value)| !value.is_null()), session).await)
    }

    async fn drive(
        &self,
        fields: impl IntoIterator<Item = (String, Json)>,
        session: Session,
    ) -> Answer {
        let write = |(key, value): (String, Json)| {
            let channel = self.graph.channel_id(&key)?;
            Some(Write { channel, op: Op::Replace(value) })
        };
        let input: Vec<Write<Json>> = fields.into_iter().filter_map(write).collect();
        let desk = Desk {
            config: Arc::clone(&self.config),
            roles: Arc::clone(&self.roles),
            run_id: session.run_id.as_str().into(),
            luggage: session.luggage,
        };
        let options = Options {
            run_id: session.run_id,
            seed: session.seed,
            limits: self.limits(&session.limits),
            events: true,
            ..Options::default()
        };
        let now = session.clock.now();
        let mut run = Run::new(Arc::clone(&self.graph), input, options, now);
        let recorder = Recorder::new();
        let mut driver = Driver::new(Arc::new(desk), session.clock).watch(recorder.clone());
        for watcher in session.watchers {
            driver = driver.watch(watcher);
        }
        if let Some(stop) = &session.stop {
            driver = driver.stop_on(stop);
        }
        let rest = Box::pin(driver.run(&mut run)).await;
        self.answer(&run, rest, &recorder)
    }

    fn limits(&self, own: &Limits) -> Limits {
        let config = &self.config;
        let narrower = |one: u64, other: Option<u64>| Some(other.map_or(one, |o| o.min(one)));
        let timeout = config.question_timeout();
        Limits {
            supersteps: narrower(config.recursion_limit, own.supersteps),
            wall_time: Some(own.wall_time.map_or(timeout, |limit| limit.min(timeout))),
            ..own.clone()
        }
    }

    fn answer(&self, run: &Run<Json>, rest: Result<Rest, Fault>, recorder: &Recorder) -> Answer {
        let read = Snapshot::of(&self.graph, run.state()).read::<State>();
        let (mut state, unread) = match read {
            Ok(state) => (state, None),
            Err(fault) => (State::default(), Some(fault)),
        };
        let (ended, fault) = ended(rest);
        if let Some(fault) = fault.or(unread) {
            state.error = Some(fault);
        }
        let outcome = ended.or(state.outcome).unwrap_or(Outcome::Error);
        if ended.is_some() || state.outcome.is_none() {
            FAILURE_TEXT.clone_into(&mut state.final_answer);
            FAILURE_TEXT.clone_into(&mut state.final_reasoning_trace);
            state.error_component.get_or_insert_with(|| state.current_step.clone());
            state.outcome = Some(outcome);
        }
        Answer {
            final_answer: state.final_answer.clone(),
            final_reasoning_trace: state.final_reasoning_trace.clone(),
            outcome,
            retry_count: state.retry_count,
            retries_by_agent: state.retries_by_agent,
            error: state.error.clone(),
            error_component: state.error_component.clone(),
            trace: recorder.events(),
            trace_dropped: recorder.dropped(),
            models: self.roles.models(),
            usage: run.budget().spent().usage,
            state,
        }
    }
}

/// How a run ended that the graph itself did not bring to its end.
fn ended(rest: Result<Rest, Fault>) -> (Option<Outcome>, Option<Fault>) {
    match rest {
        Ok(Rest::Ended(Ending::Completed)) => (None, None),
        Ok(Rest::Ended(Ending::Budget(_))) => (Some(Outcome::Budget), None),
        Ok(Rest::Ended(Ending::Cancelled(_))) => (Some(Outcome::Cancelled), None),
        // No node of this graph asks.
        Ok(Rest::Paused(_)) => (Some(Outcome::Error), None),
        Err(fault) if fault.category == Category::Budget => (Some(Outcome::Budget), Some(fault)),
        Err(fault) => (Some(Outcome::Error), Some(fault)),
    }
}
