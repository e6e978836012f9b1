//! System 0: answers one question. A planner splits the work, a researcher
//! looks things up, an expert works out the answer, and a critic approves or
//! sends back each of their products; a finalizer words the answer. One
//! orchestrator decides what happens next; agents never talk to each other.
//!
//! | module | holds |
//! |---|---|
//! | [`config`], [`roles`] | settings; the implementation of each role |
//! | [`brief`] | the input of a role that is code |
//! | [`input`], [`attachment`] | what is asked |
//! | [`decide`] | the decision table |
//! | [`state`], [`step`], [`message`] | what is known of a question on its way |
//! | [`outcome`] | what comes of it |

use std::sync::Arc;

use antiphon_core::graph::Graph;
use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::ThreadRef;
use serde_json::{Value as Json, json};

pub mod attachment;
pub mod brief;
mod conclude;
pub mod config;
mod conversation;
pub mod decide;
mod finalize;
mod graph;
pub mod input;
pub mod message;
mod nodes;
mod orchestrate;
pub mod outcome;
mod parallel;
mod patch;
mod progress;
mod prompt;
mod reply;
mod role_schema;
pub mod roles;
mod start;
pub mod state;
pub mod step;

pub use crate::session::{Session, UserContext};
pub use attachment::Attachment;
pub use brief::{RoleBrief, RoleContext, ToolNote};
pub use config::Config;
pub use input::QuestionInput;
pub use message::{AgentMessage, MessageKind, Participant};
pub use outcome::{Answer, FAILURE_TEXT, Outcome};
pub use roles::{Role, RoleImplementation, RoleModel, Roles};
pub use state::State;
pub use step::{StepName, Worker};

use start::QuestionStart;

/// A review loop, ready for any number of questions at once.
///
/// ```
/// use std::sync::Arc;
/// use antiphon_models::{ScriptBranch, ScriptedModel};
/// use antiphon_runtime::{Model, SystemClock};
/// use antiphon_systems::review_loop::{Config, Outcome, ReviewLoop, Roles, Session};
/// use serde_json::json;
///
/// let approve = json!({"decision": "approve", "feedback": ""});
/// let script = ScriptedModel::new::<&str>([])
///     .branch(ScriptBranch::tag("role", "planner").replies([json!({"research_steps": [], "expert_steps": ["recall it"]})]))
///     .branch(ScriptBranch::tag("role", "expert").replies([json!({"expert_answer": "Lima", "reasoning_trace": "recalled"})]))
///     .branch(ScriptBranch::tag("role", "critic").replies([approve.clone(), approve]))
///     .branch(ScriptBranch::tag("role", "finalizer").replies([json!({"final_answer": "Lima", "final_reasoning_trace": "recalled"})]));
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

    /// Answers a question. Needs a tokio runtime with its timer. In a thread
    /// whatever it held of other questions is put aside, also one that was
    /// under way.
    ///
    /// # Errors
    /// Only for a question that cannot be begun, before any model is called:
    /// the faults of [`QuestionInput::read`], and those of [`ThreadRef::open`]. Whatever
    /// happens later is an [`Answer`] with its outcome.
    pub async fn ask(
        &self,
        asked: impl Into<QuestionInput>,
        session: Session,
    ) -> Result<Answer, Fault> {
        let asked: QuestionInput = asked.into();
        asked.read()?;
        self.run(QuestionStart::Ask(json!(asked)), session).await
    }

    /// As [`ReviewLoop::ask`], unless the thread of the session holds this very
    /// question: then it goes on with it, and one that is over is answered with
    /// what it came to. Whoever asks again after a crash asks like this.
    ///
    /// # Errors
    /// As [`ReviewLoop::ask`].
    pub async fn ask_once(
        &self,
        asked: impl Into<QuestionInput>,
        session: Session,
    ) -> Result<Answer, Fault> {
        let asked: QuestionInput = asked.into();
        asked.read()?;
        self.run(QuestionStart::AskOnce(json!(asked)), session).await
    }

    /// As [`ReviewLoop::ask_once`], but a question that is over is asked anew.
    ///
    /// # Errors
    /// As [`ReviewLoop::ask`].
    pub async fn ask_again(
        &self,
        asked: impl Into<QuestionInput>,
        session: Session,
    ) -> Result<Answer, Fault> {
        let asked: QuestionInput = asked.into();
        asked.read()?;
        self.run(QuestionStart::AskAgain(json!(asked)), session).await
    }

    /// Resumes the question in a thread, after a crash or a cancellation: no
    /// stored step runs again. A question that has ended returns its answer.
    /// Its time limit starts anew, and the trace has the events from now on.
    ///
    /// # Errors
    /// `thread_empty` if there is no question, `review_state_corrupt` if what
    /// is there does not hold together, and the faults of [`ThreadRef::open`].
    pub async fn resume(
        &self,
        place: Arc<dyn ThreadRef>,
        session: Session,
    ) -> Result<Answer, Fault> {
        self.run(QuestionStart::Resume, Session { place: Some(place), ..session }).await
    }

    /// Continues a question from a state, after the step that was done last.
    ///
    /// # Errors
    /// A `State` fault `review_state_corrupt` if the state does not hold
    /// together, and the faults of [`ThreadRef::open`].
    pub async fn resume_from(&self, state: &State, session: Session) -> Result<Answer, Fault> {
        state.check().map_err(corrupt)?;
        self.run(QuestionStart::State(json!(state)), session).await
    }
}

fn corrupt(broken: String) -> Fault {
    Fault::new(FaultCode::ReviewStateCorrupt, broken)
}
