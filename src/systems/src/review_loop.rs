//! System 0: answers one question. A planner splits the work, a researcher
//! looks things up, an expert works out the answer, and a critic approves or
//! sends back each of their products; a finalizer may shorten the answer. One
//! orchestrator decides what happens next; agents never talk to each other.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | settings |
//! | [`brief`] | the input of a role that is code |
//! | [`input`], [`attachment`] | the question |
//! | [`decide`] | the decision table |
//! | [`state`], [`step`], [`message`] | the state of a question |
//! | [`outcome`] | the output |

use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};

mod answerability;
pub mod attachment;
pub mod brief;
mod calculation;
mod conclude;
pub mod config;
mod conversation;
pub mod decide;
mod evidence;
mod faithful;
mod finalize;
mod graph;
pub mod input;
mod listed_parts;
pub mod message;
mod orchestrate;
pub mod outcome;
mod parallel;
mod patch;
mod progress;
mod prompt;
mod reply;
pub mod state;
pub mod step;

pub use attachment::Attachment;
pub use brief::{RoleBrief, ToolNote};
pub use config::Config;
pub use evidence::ToolCallNote;
pub use input::QuestionInput;
pub use message::{AgentMessage, MessageKind, Participant};
pub use outcome::{Answer, FAILURE_TEXT};
pub use state::State;
pub use step::{StepName, Worker};

use self::config::AnswerFormat;
use crate::builder::SystemBuilder;
use crate::prompts::{ModelTier, PromptSpec};
use crate::resources::SystemResources;
use crate::result::Outcome;
use crate::role::RoleSpec;
use crate::session::Session;
use crate::system::{Conclusion, FinishedRun, System};

/// The review loop, for a [`SystemRunner`](crate::SystemRunner).
///
/// ```
/// use std::sync::Arc;
/// use antiphon_models::{ScriptBranch, ScriptedModel};
/// use antiphon_runtime::SystemClock;
/// use antiphon_systems::review_loop::{Config, ReviewLoop};
/// use antiphon_systems::{Outcome, SystemResourcesBuilder, Session, SystemRunner};
/// use serde_json::json;
///
/// let approve = json!({"decision": "approve", "feedback": ""});
/// let script = ScriptedModel::new::<&str>([])
///     .branch(ScriptBranch::tag("role", "planner").replies([json!({"research_steps": [], "expert_steps": ["recall it"]})]))
///     .branch(ScriptBranch::tag("role", "expert").replies([json!({"expert_answer": "Lima", "reasoning_trace": "recalled"})]))
///     .branch(ScriptBranch::tag("role", "critic").replies([approve.clone(), approve]));
/// let resources = SystemResourcesBuilder::new().model(Arc::new(script));
/// let system = SystemRunner::<ReviewLoop>::new(Config::default(), resources)?;
///
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// let session = Session::new(Arc::new(SystemClock::new()));
/// let result = runtime.block_on(system.ask("What is the capital of Peru?", session))?;
/// assert_eq!((result.output.final_answer.as_str(), result.outcome), ("Lima", Outcome::Answered));
/// # Ok::<(), antiphon_core::Fault>(())
/// ```
pub struct ReviewLoop {
    config: Config,
    resources: SystemResources,
    /// Whether the finalizer words an approved answer, which else is delivered as it is.
    words_answers: bool,
    /// What the expert says first.
    checks: ExpertChecks,
    critic: CriticOptions,
}

/// What the replies of critics depend on.
#[derive(Clone, Copy, Debug)]
struct CriticOptions {
    tier: ModelTier,
    /// Whether one that rejects an answer may ask for more research.
    escalates: bool,
}

/// What a small expert is asked before its work.
#[derive(Clone, Copy, Debug)]
struct ExpertChecks {
    /// Whether anybody could know the answer.
    answerability: bool,
    /// Whether there is something to calculate.
    calculation: bool,
}

impl ReviewLoop {
    /// Whether a role has its tools at a step.
    fn has_tools(&self, step: StepName, state: &State) -> bool {
        let is_checked = self.checks.calculation && step == StepName::Expert;
        !(is_checked && state.needs_calculation == Some(false))
    }
}

impl System for ReviewLoop {
    const NAME: &'static str = "review_loop";
    const DESCRIPTION: &'static str =
        "Answers a question with a planner, a researcher and an expert, and a critic for each.";
    const ROLES: &'static [RoleSpec] = graph::ROLES;
    const PROMPTS: &'static [PromptSpec] = prompt::PROMPTS;

    type Config = Config;
    type Input = QuestionInput;
    type State = State;
    type Output = Answer;
    type RunData = ();

    fn new(config: Config, resources: SystemResources) -> Result<Self, Fault> {
        let words_answers = config.answer_format != AnswerFormat::Plain
            || !resources.roles.is_shared("finalizer")
            || resources.prompts.is_replaced("finalizer");
        let checks = ExpertChecks {
            answerability: answerability::needs_check(&config, &resources)?,
            calculation: calculation::needs_check(&resources.roles),
        };
        let critic = CriticOptions {
            tier: resources.roles.tier("critic"),
            escalates: config.escalate_to_planner && prompt::can_look_up(&resources.roles)?,
        };
        Ok(Self { config, resources, words_answers, checks, critic })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn resources(&self) -> &SystemResources {
        &self.resources
    }

    fn build(&self, graph: &mut SystemBuilder<Self>) -> Result<(), Fault> {
        graph::build(&self.config, self.critic, self.checks, graph)
    }

    fn open(&self, _: &Arc<QuestionInput>, _: &Session) {}

    fn verify(state: &State) -> Result<(), Fault> {
        let corrupt = |broken| Fault::new(FaultCode::ReviewStateCorrupt, broken);
        state.check().map_err(corrupt)
    }

    fn completed_outcome(state: &State) -> Outcome {
        state.outcome.unwrap_or(Outcome::Error)
    }

    fn conclude(&self, finished: &mut FinishedRun<'_, Self>) -> Conclusion<Answer> {
        outcome::conclude(finished)
    }
}
