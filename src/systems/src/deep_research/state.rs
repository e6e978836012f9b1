//! What is known of a question on its way.

use std::collections::BTreeMap;

use antiphon_citation::CitationRun;
use antiphon_core::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::classification::{Depth, QueryClassification};
use super::lookup::{Lookup, PageRecord, SearchRecord};
use super::next_node::NextNode;
use super::plan::{PlanStep, ResearchPlan};
use super::reflection::ReflectionResult;
use super::request::HistoryMessage;
use super::source::{ResearchSource, SourceRegistry};
use super::step_work::StepWork;
use crate::state::{field_types, state};

state! {
    /// What is known of a question on its way; `docs/systems/deep-research.md` lists its fields.
    pub struct State {
        /// What is asked.
        [Set] query: String,
        /// Earlier messages, the latest last; kept by the thread.
        [Set] conversation_history: Vec<HistoryMessage>,
        /// The sources of all questions of the thread.
        [Set] chat_sources: SourceRegistry,
        /// When it was asked, RFC 3339 in UTC.
        [Set] started_at: String,
        /// When it was answered.
        [Set] completed_at: Option<String>,
        /// The node that comes next.
        [Set] next: NextNode,
        /// How long that may take, in milliseconds.
        [Set] time_left_ms: usize,
        /// What the coordinator says of it.
        [Set] query_classification: Option<QueryClassification>,
        /// What a person was asked, and the answers.
        [Extend] clarification_history: Vec<ClarificationRound>,
        /// An answer of the coordinator's own.
        [Set] direct_response: Option<String>,
        /// How thorough the research is.
        [Set] effective_depth: Depth,
        /// What the searches before the first plan have found.
        [Set] background_investigation_results: String,
        /// The searches and pages that come next.
        [Set] lookup: Lookup,
        /// What came of the searches, by tool and query.
        [Record] search_records: BTreeMap<String, SearchRecord>,
        /// What came of the pages, by the number of the source.
        [Record] page_records: BTreeMap<usize, PageRecord>,
        /// The sources that each query has found.
        [Set] searched: BTreeMap<String, Vec<usize>>,
        /// The sources.
        [Set] sources: SourceRegistry,
        /// The plan.
        [Set] current_plan: Option<ResearchPlan>,
        /// Plans so far.
        [Set] plan_iterations: usize,
        /// Steps of a plan that was too short.
        [Set] short_plan_steps: Option<usize>,
        /// The place of the step that is researched.
        [Set] current_step_index: usize,
        /// What is known of that step.
        [Set] step_work: StepWork,
        /// What the steps have found, in their order.
        [Extend] all_observations: Vec<Observation>,
        /// Steps that were not researched.
        [Extend] skipped_steps: Vec<PlanStep>,
        /// What the reflector said last.
        [Set] last_reflection: Option<ReflectionResult>,
        /// What the reflector said after each step.
        [Extend] reflection_history: Vec<ReflectionResult>,
        /// The report on its way through the stages of citation, without the texts of its pages.
        [Set] citation: CitationRun,
        /// These texts, by address.
        [Record] citation_pages: BTreeMap<String, String>,
        /// What roles and tools have replied to them.
        [Record] citation_replies: BTreeMap<String, Json>,
        /// Whether the report was begun.
        [Set] has_synthesis: bool,
        /// The report while it is not delivered.
        [Set] written_report: String,
        /// The report, once it is delivered.
        [Set] final_report: String,
        /// The report in the form that the caller has asked for.
        [Set] structured_output: Option<Json>,
        /// Links of the report that led to no source.
        [Set] links_removed: usize,
        /// How the question ended.
        [Set] research_outcome: Option<ResearchOutcome>,
        /// What went wrong on the way.
        [Extend] errors: Vec<ResearchError>,
        /// What a reader should know.
        [Extend] warnings: Vec<String>,
        /// The last failure of a role.
        [Worst] error: Option<Fault>,
    }
}

field_types! {
    Record: Lookup, StepWork, ResearchPlan, QueryClassification, ReflectionResult;
    List: SourceRegistry;
    Text: NextNode, Depth, ResearchOutcome;
}

/// What a person was asked, and the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClarificationRound {
    /// What was asked.
    pub questions: Vec<String>,
    /// What the person said.
    pub answer: String,
}

/// What a step has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// The step.
    pub step_id: String,
    /// Its title.
    pub step_title: String,
    /// What was found, or why nothing was.
    pub text: String,
    /// The numbers of the sources that the step has found.
    pub sources: Vec<usize>,
    /// Whether the step has found nothing.
    pub failed: bool,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResearchOutcome {
    /// The report was written from what was found.
    Completed,
    /// The question was answered without research.
    Direct,
    /// A web search came to nothing in time, and the question was answered directly.
    FallbackSimple,
    /// No model has written the report: it lists what the steps have found.
    Degraded,
    /// As `Degraded`, because the time was over.
    TimeoutPartial,
    /// No source was found.
    NothingFound,
    /// A fault ended it.
    Failed,
}

/// What went wrong, in the codes of the specification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResearchError {
    /// The code.
    pub error_code: String,
    /// A sentence.
    pub error_message: String,
    /// Whether the question went on.
    pub recoverable: bool,
}

impl State {
    /// The plan; empty before there is one.
    pub(super) fn plan(&self) -> ResearchPlan {
        self.current_plan.clone().unwrap_or_default()
    }

    /// The step that is researched.
    pub(super) fn step(&self) -> Option<&PlanStep> {
        let step = self.current_plan.as_ref()?.steps.get(self.current_step_index)?;
        Some(step).filter(|step| step.is_open())
    }

    /// The sources with these numbers.
    pub(super) fn sources_of<'s>(
        &'s self,
        numbers: &'s [usize],
    ) -> impl Iterator<Item = (usize, &'s ResearchSource)> {
        numbers.iter().filter_map(|number| Some((*number, self.sources.get(*number)?)))
    }
}
