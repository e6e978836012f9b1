//! System 3: answers a question with tools at a fixed price. One model request plans calls of
//! tools, no model is involved while they run, and one model request puts their results into an
//! answer, as `docs/systems/agentic-search.md` specifies.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | settings |
//! | [`input`] | the question |
//! | [`state`] | the state of a question |
//! | [`plan`] | the tasks, and what came of them |
//! | [`source`], `section_number` | what an answer relies on; numbers that are none of its values |
//! | [`tools`] | the tools of one run |
//! | [`outcome`] | the output |

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Fault;

mod catalogue;
pub mod config;
mod conversation;
mod discovery;
mod execute;
mod fallback;
mod graph;
mod grounding;
mod history;
pub mod input;
pub mod outcome;
pub mod plan;
mod planning;
mod reference;
mod section_number;
pub mod source;
pub mod state;
mod synthesis;
pub mod tools;
mod wave;

pub use config::{Config, SessionPolicy};
pub use grounding::ComputedFigure;
pub use input::SearchInput;
pub use outcome::{GatheredInformation, SearchAnswer};
pub use plan::{ExecutionPlan, PlanSource, SearchTask, TaskError, TaskErrorKind, TaskStatus};
pub use source::SearchSource;
pub use state::{FinalResponse, HistoryTurn, SearchOutcome, State};

use self::catalogue::ParserCache;
use self::tools::SearchTools;
use crate::builder::SystemBuilder;
use crate::prompts::PromptSpec;
use crate::resources::SystemResources;
use crate::result::Outcome;
use crate::role::RoleSpec;
use crate::session::Session;
use crate::system::{Conclusion, FinishedRun, System};

/// The agentic search, for a [`SystemRunner`](crate::SystemRunner).
pub struct AgenticSearch {
    config: Config,
    resources: SystemResources,
    parsers: ParserCache,
}

impl System for AgenticSearch {
    const NAME: &'static str = "agentic_search";
    const DESCRIPTION: &'static str =
        "Answers a question with tools: one model request plans their calls, one words the answer.";
    const ROLES: &'static [RoleSpec] = graph::ROLES;
    const PROMPTS: &'static [PromptSpec] = conversation::PROMPTS;
    const CALLS_TOOLS: bool = true;
    const KEPT_FIELDS: &'static [&'static str] = &[State::conversation_history.name()];

    type Config = Config;
    type Input = SearchInput;
    type State = State;
    type Output = SearchAnswer;
    type RunData = SearchTools;

    fn new(config: Config, resources: SystemResources) -> Result<Self, Fault> {
        for role in graph::ROLES {
            resources.refuse_own_tools(role.name, "the search calls them")?;
            resources.refuse_own_attempts(role.name)?;
        }
        let parsers = ParserCache::default();
        for tool in &resources.tools {
            parsers.parser(tool.spec())?;
        }
        Ok(Self { config, resources, parsers })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn resources(&self) -> &SystemResources {
        &self.resources
    }

    fn build(&self, graph: &mut SystemBuilder<Self>) -> Result<(), Fault> {
        graph::build(&self.config, graph)
    }

    fn thread_busy_timeout(&self) -> Option<Duration> {
        let waits = self.config.session_concurrency == SessionPolicy::Wait;
        waits.then(|| self.config.question_timeout())
    }

    fn open(&self, _: &Arc<SearchInput>, _: &Session) -> SearchTools {
        SearchTools::new(&self.config, &self.resources)
    }

    fn completed_outcome(state: &State) -> Outcome {
        match state.search_outcome {
            Some(SearchOutcome::Answered | SearchOutcome::AnsweredPartial) => Outcome::Answered,
            Some(_) if state.is_budget_spent => Outcome::Budget,
            Some(
                SearchOutcome::FallbackHtml | SearchOutcome::Unsupported | SearchOutcome::NoTools,
            ) => Outcome::NoAnswer,
            Some(SearchOutcome::Error) | None => Outcome::Error,
        }
    }

    fn conclude(&self, finished: &mut FinishedRun<'_, Self>) -> Conclusion<SearchAnswer> {
        outcome::conclude(finished)
    }
}
