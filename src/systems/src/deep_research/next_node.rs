//! The nodes of a research, and which comes next within its time.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_core::command::{Destination, Destinations, Send as Sent};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::DeepResearch;
use super::classification::QueryMode;
use super::deadline::TimePlan;
use super::state::State;
use crate::node::{NodeContext, StateView, goto, whole_millis};
use crate::patch::Patch;

/// A node that another one can name as the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextNode {
    /// Classifies the question.
    Coordinate,
    /// Asks a person what the question means.
    Clarify,
    /// Chooses the searches before the first plan.
    Background,
    /// Searches and reads.
    LookUp,
    /// Plans.
    Plan,
    /// Chooses the next step.
    RouteStep,
    /// Chooses the searches of a step.
    Queries,
    /// Decides what to search and read next in a step.
    Research,
    /// Words what a step has found.
    Observe,
    /// Concludes a step without a model.
    ConcludeStep,
    /// Decides how the research goes on.
    Reflect,
    /// Begins the report.
    Synthesize,
    /// Writes the report.
    Write,
    /// Writes a report whose claims are verified.
    Cite,
    /// Lists what was found, without a model.
    ReportPlainly,
    /// Gives up a web search.
    FallBack,
    /// Answers without research.
    Respond,
    /// Concludes the question.
    #[default]
    Deliver,
}

impl NextNode {
    /// The name of the node.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Coordinate => "coordinate",
            Self::Clarify => "clarify",
            Self::Background => "background",
            Self::LookUp => "collect",
            Self::Plan => "plan",
            Self::RouteStep => "route_step",
            Self::Queries => "queries",
            Self::Research => "research",
            Self::Observe => "observe",
            Self::ConcludeStep => "conclude_step",
            Self::Reflect => "reflect",
            Self::Synthesize => "synthesize",
            Self::Write => "write",
            Self::Cite => crate::citation::ENTRY,
            Self::ReportPlainly => "report_plainly",
            Self::FallBack => "fall_back",
            Self::Respond => "respond",
            Self::Deliver => "deliver",
        }
    }

    /// What comes instead if the time for research is over.
    const fn after_research(self) -> Self {
        match self {
            Self::LookUp | Self::Queries | Self::Research | Self::Observe => Self::ConcludeStep,
            Self::Background | Self::Plan | Self::RouteStep | Self::Reflect => Self::Synthesize,
            other => other,
        }
    }

    /// What comes instead if the time of a web search is over.
    const fn after_web_search(self) -> Self {
        match self {
            Self::Respond | Self::Deliver => self,
            _ => Self::FallBack,
        }
    }
}

impl NodeContext<DeepResearch> {
    /// The time since the question was asked or resumed.
    pub(super) fn elapsed(&self) -> Duration {
        self.call.cx.clock.now().since(self.data().opened_at)
    }

    /// The times of the question.
    pub(super) fn times(&self) -> TimePlan {
        TimePlan::of(&self.system().config, self.input().query_mode)
    }

    /// How long the report may still take.
    pub(super) fn report_time_left(&self) -> Duration {
        self.times().synthesis.saturating_sub(self.elapsed())
    }

    /// Whether the question is a web search.
    pub(super) fn is_web_search(&self) -> bool {
        self.input().query_mode == QueryMode::WebSearch
    }

    /// Writes which node comes next, or the one that takes its place because the time is over, and
    /// how long it may take.
    pub(super) fn go_to(&self, patch: &mut Patch<State>, next: NextNode) {
        let (times, elapsed) = (self.times(), self.elapsed());
        let next = match self.input().query_mode {
            QueryMode::WebSearch if elapsed >= times.synthesis => next.after_web_search(),
            QueryMode::DeepResearch if elapsed >= times.research => next.after_research(),
            _ => next,
        };
        let left = match next {
            NextNode::Respond => {
                let limit = self.system().config.simple_timeout_s;
                let limit = Duration::try_from_secs_f64(limit).unwrap_or(Duration::MAX);
                // A web search that took too long is answered after its time.
                if self.is_web_search() { limit } else { limit.min(self.report_time_left()) }
            }
            NextNode::Write => self.report_time_left(),
            _ => times.research.saturating_sub(elapsed),
        };
        patch.set(State::next, next).set(State::time_left_ms, whole_millis(left).max(1));
    }
}

/// Starts what the last node has written as the next.
pub(super) fn route(view: &StateView<'_, '_>) -> Result<Destinations<Json>, Fault> {
    let next = view.get(State::next)?;
    let millis = u64::try_from(view.get(State::time_left_ms)?).unwrap_or(u64::MAX);
    let limit = Some(Duration::from_millis(millis));
    let send = |node: &str, input: Json| {
        Destination::Send(Sent { node: Arc::from(node), input, timeout: None, limit })
    };
    if next != NextNode::LookUp {
        let has_limit = matches!(
            next,
            NextNode::Coordinate
                | NextNode::Background
                | NextNode::Plan
                | NextNode::Queries
                | NextNode::Research
                | NextNode::Observe
                | NextNode::Reflect
                | NextNode::Write
                | NextNode::Respond
        );
        let name = next.as_str();
        return Ok(if has_limit {
            Destinations::from_iter([send(name, json!({}))])
        } else {
            goto(name)
        });
    }
    let lookup = view.get(State::lookup)?;
    let searches = lookup.searches.iter().map(|search| send(super::graph::SEARCH, json!(search)));
    let pages = lookup.pages.iter().map(|number| send(super::graph::READ, json!(number)));
    let all: Destinations<Json> = searches.chain(pages).collect();
    Ok(if all.is_empty() { goto(next.as_str()) } else { all })
}
