//! System 2: researches a question in steps and writes a report whose links all lead to pages that
//! it has found, as `docs/systems/deep-research.md` specifies.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | settings, and how thorough each depth is |
//! | [`request`] | the question |
//! | [`classification`] | what kind of question it is, and the depth that follows |
//! | [`direct_response`] | which questions need no research |
//! | [`plan`] | plans, and what stays of one when it changes |
//! | [`lookup`], [`step_work`] | searches and pages, and what is known of a step |
//! | [`reflection`] | how the research goes on after a step |
//! | [`source`] | pages, each under a number that does not change |
//! | [`information_gain`] | when further calls are not worth their time |
//! | [`deadline`], [`next_node`] | the times of a question, and which node comes next |
//! | [`passage`] | the passages that a report cites |
//! | [`links`] | holding the links of a report to the sources |
//! | [`structured_report`] | a report in a caller's form that fits its schema |
//! | [`state`] | the state of a question |
//! | [`outcome`] | the output |

use std::sync::Arc;

use antiphon_core::{Fault, Time};
use antiphon_runtime::Watcher;

mod citing;
pub mod classification;
pub mod config;
mod coordinator;
pub mod deadline;
pub mod direct_response;
mod draft;
mod graph;
pub mod information_gain;
pub mod links;
pub mod lookup;
pub mod next_node;
pub mod outcome;
mod partial;
pub mod passage;
pub mod plan;
mod planner;
mod prompt;
mod react;
pub mod reflection;
mod reflector;
pub mod request;
pub mod source;
pub mod state;
mod step;
pub mod step_work;
pub mod structured_report;
mod synthesis;
mod tools;
mod topic;
mod unfinished_report;

pub use classification::{
    Complexity, Depth, FollowUp, QueryClassification, QueryMode, ResearchDepth,
};
pub use config::{Config, DepthSettings, ResearcherMode};
pub use outcome::ResearchReport;
pub use passage::CitedPassage;
pub use plan::{PlanStep, ResearchPlan, StepStatus, StepType};
pub use reflection::{ReflectionDecision, ReflectionResult};
pub use request::{HistoryMessage, MessageRole, ResearchRequest};
pub use source::{CrawlStatus, ResearchSource, SourceRegistry};
pub use state::{Observation, ResearchError, ResearchOutcome, State};

use self::draft::ReportDraft;
use self::tools::ResearchTools;
use crate::builder::SystemBuilder;
use crate::prompts::PromptSpec;
use crate::resources::SystemResources;
use crate::result::Outcome;
use crate::role::RoleSpec;
use crate::session::Session;
use crate::system::{Conclusion, FinishedRun, System, SystemNote};

/// The deep research, for a [`SystemRunner`](crate::SystemRunner).
pub struct DeepResearch {
    config: Config,
    resources: SystemResources,
}

/// What a run of a research has beside its state.
pub struct ResearchRun {
    /// When it was started or resumed: its times count from here.
    opened_at: Time,
    tools: ResearchTools,
    draft: Arc<ReportDraft>,
}

impl System for DeepResearch {
    const NAME: &'static str = "deep_research";
    const DESCRIPTION: &'static str =
        "Researches a question in steps, and writes a report with links to its sources.";
    const ROLES: &'static [RoleSpec] = graph::ROLES;
    const PROMPTS: &'static [PromptSpec] = prompt::PROMPTS;
    const CALLS_TOOLS: bool = true;
    const KEPT_FIELDS: &'static [&'static str] =
        &[State::conversation_history.name(), State::chat_sources.name()];

    type Config = Config;
    type Input = ResearchRequest;
    type State = State;
    type Output = ResearchReport;
    type RunData = ResearchRun;

    fn new(config: Config, resources: SystemResources) -> Result<Self, Fault> {
        Ok(Self { config, resources })
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

    fn open(&self, _: &Arc<ResearchRequest>, session: &Session) -> ResearchRun {
        ResearchRun {
            opened_at: session.clock.now(),
            tools: ResearchTools::new(&self.resources.tools),
            draft: Arc::default(),
        }
    }

    fn watcher(run: &ResearchRun) -> Option<Arc<dyn Watcher>> {
        Some(run.draft.clone())
    }

    fn completed_outcome(state: &State) -> Outcome {
        outcome::completed(state)
    }

    fn storage_note(state: &State, fault: Option<&Fault>) -> Option<SystemNote> {
        outcome::storage_note(state, fault)
    }

    fn conclude(&self, finished: &mut FinishedRun<'_, Self>) -> Conclusion<ResearchReport> {
        outcome::conclude(finished)
    }
}
