//! A report whose claims are verified, by the stages of [`crate::citation`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use antiphon_citation::{
    CitationInput, CitationRun, CitedSource, FoundPage, InstructionFilter, MissingReport,
    PageOrigin,
};
use antiphon_core::{Fault, FaultCode, ToolOutcome};
use antiphon_runtime::Tool;
use async_trait::async_trait;
use serde_json::Value as Json;

use super::DeepResearch;
use super::coordinator::fail;
use super::lookup::seconds;
use super::next_node::NextNode;
use super::source::{CrawlStatus, ResearchSource, SourceRegistry, canonical};
use super::state::{ResearchOutcome, State};
use super::structured_report::{compiled, fitted};
use super::synthesis::SYNTHESIS_FAILED;
use super::tools::{found_pages, read_text, search_arguments};
use super::topic::plan_topics;
use crate::citation::CitesSources;
use crate::citation::role::{PASSAGE_EXTRACTOR, REPORTER};
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::planned_call::{CallProgress, call_planned};
use crate::prompts::ModelTier;
use crate::state::{Field, Record, Set, Worst};

/// Seconds of a search for a fact, if those of other searches are not fewer.
const FACT_SEARCH_S: f64 = 10.0;
/// The same of a page that is read for one.
const FACT_PAGE_S: f64 = 15.0;

#[async_trait]
impl CitesSources for DeepResearch {
    const CITATION: Field<State, Set, CitationRun> = State::citation;
    const PAGES: Field<State, Record, BTreeMap<String, String>> = State::citation_pages;
    const REPLIES: Field<State, Record, BTreeMap<String, Json>> = State::citation_replies;
    const ERROR: Field<State, Worst, Option<Fault>> = State::error;
    const TIME_LEFT_MS: Option<Field<State, Set, usize>> = Some(State::time_left_ms);

    fn time_left(cx: &NodeContext<Self>) -> Option<Duration> {
        Some(cx.report_time_left())
    }

    fn citation(state: &State) -> &CitationRun {
        &state.citation
    }

    fn pages(state: &State) -> &BTreeMap<String, String> {
        &state.citation_pages
    }

    fn replies(state: &State) -> &BTreeMap<String, Json> {
        &state.citation_replies
    }

    async fn search(
        cx: &NodeContext<Self>,
        query: &str,
        limit: usize,
    ) -> Result<Vec<FoundPage>, Fault> {
        let tools = cx.data().tools.search();
        if tools.is_empty() {
            return Err(missing("searches"));
        }
        let timeout = cx.system().config.search_timeout_s.min(FACT_SEARCH_S);
        let mut failed = None;
        for tool in tools {
            match call(cx, tool, search_arguments(tool, query, limit), timeout).await {
                Ok(found) => {
                    let pages = found_pages(&found, limit);
                    if !pages.is_empty() {
                        return Ok(pages.into_iter().map(|it| found_page(cx, it)).collect());
                    }
                }
                Err(fault) => failed = Some(fault),
            }
        }
        failed.map_or_else(|| Ok(Vec::new()), Err)
    }

    async fn read_page(cx: &NodeContext<Self>, url: &str) -> Result<CitedSource, Fault> {
        let most = cx.system().config.content_storage;
        let (tool, arguments) =
            cx.data().tools.reader(url, most).ok_or_else(|| missing("reads such pages"))?;
        let timeout = cx.system().config.page_timeout_s.min(FACT_PAGE_S);
        let read = call(cx, tool, arguments, timeout).await?;
        let (title, text) = read_text(&read, most);
        let url = url.to_owned();
        Ok(CitedSource { url, title, text, origin: PageOrigin::Fetched, ..CitedSource::default() })
    }
}

/// A page for a fact. One address stands for all of a page, and that of a known page is kept.
fn found_page(cx: &NodeContext<DeepResearch>, page: ResearchSource) -> FoundPage {
    let known = cx.state.sources.find(&page.url).map(|(_, source)| source.url.clone());
    let url = known.unwrap_or_else(|| canonical(&page.url));
    FoundPage { url, title: page.title, snippet: page.snippet }
}

/// A call for a fact. One that a person has to approve is not made: the fact stays uncertain.
async fn call(
    cx: &NodeContext<DeepResearch>,
    tool: &Arc<dyn Tool>,
    arguments: Json,
    limit: f64,
) -> ToolOutcome {
    match call_planned(cx, tool, arguments, seconds(limit)).await? {
        CallProgress::Asks(_) => Err(missing("may be called without a person")),
        CallProgress::Ended(outcome) => outcome,
    }
}

fn missing(what: &str) -> Fault {
    Fault::new(FaultCode::HostIncomplete, format!("no tool {what}"))
}

/// Starts the stages with what was found.
///
/// # Errors
/// Those of [`Config::citation`](super::Config::citation), which were found before.
pub(super) fn start(cx: &NodeContext<DeepResearch>, patch: &mut Patch<State>) -> Result<(), Fault> {
    let state = &cx.state;
    let config = &cx.system().config;
    let mut settings = config.citation(state.effective_depth)?;
    settings.verifies &= cx.input().verifies();
    let roles = &cx.system().resources.roles;
    // A small model reads pages slowly, and chooses no better than words do.
    let reads = !roles.is_small_and_shared(PASSAGE_EXTRACTOR.name);
    settings.extracts_with_model &= reads || config.citation.contains_key("extracts_with_model");
    // It writes of whatever it is shown.
    settings.narrows_evidence |= roles.tier(REPORTER.name) == ModelTier::Small
        && !config.citation.contains_key("narrows_evidence");
    let source = |source: &ResearchSource| CitedSource {
        url: source.url.clone(),
        title: source.title.clone(),
        text: source.content.clone(),
        snippet: source.snippet.clone(),
        origin: source.origin(),
        is_unreadable: source.is_unreadable(),
        is_cited: false,
    };
    let sources: Vec<CitedSource> = state.sources.all().iter().map(source).collect();
    let orders = InstructionFilter::of_sources(&sources);
    let answers = state.clarification_history.iter().map(|round| round.answer.as_str());
    let input = CitationInput {
        question: std::iter::once(&*state.query).chain(answers).collect::<Vec<_>>().join("\n"),
        topics: plan_topics(state),
        observations: state
            .all_observations
            .iter()
            .map(|it| orders.removed_from(&it.text).0)
            .collect(),
        sources,
        instructions: cx.input().system_instructions.clone(),
        output: config.output.clone(),
        settings,
    };
    DeepResearch::keep_run(state, CitationRun::new(input), patch);
    Ok(())
}

/// Takes the report over once all stages have ended, or their time is over.
pub(super) async fn take_report(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let mut patch = Patch::default();
    let run = &DeepResearch::run(&cx.state);
    if !run.is_finished() {
        cx.go_to(&mut patch, NextNode::ReportPlainly);
        return Ok(patch);
    }
    let (text, sources) = taken(&cx.state, run);
    patch.set(State::written_report, text).set(State::sources, sources.clone());
    let is_given = give_value(&cx, &sources, &mut patch)?;
    let is_value = cx.system().config.output.is_some();
    let states_something = is_value || run.states_something();
    let missing = run.missing_report().filter(|it| *it != MissingReport::NoReply);
    if let Some(missing) = missing {
        fail(&mut patch, (SYNTHESIS_FAILED, missing.reason()), false);
    } else if !run.is_degraded() && !states_something {
        fail(&mut patch, (SYNTHESIS_FAILED, "its sources confirm nothing of the report"), false);
    }
    let is_complete = is_given && !run.is_degraded() && states_something;
    let outcome = if is_complete { ResearchOutcome::Completed } else { ResearchOutcome::Degraded };
    patch.set(State::research_outcome, Some(outcome));
    cx.go_to(&mut patch, NextNode::Deliver);
    Ok(patch)
}

/// Gives the report in the form that was asked for, if one was, and says whether that is possible.
fn give_value(
    cx: &NodeContext<DeepResearch>,
    sources: &SourceRegistry,
    patch: &mut Patch<State>,
) -> Result<bool, Fault> {
    let Some(schema) = &cx.system().config.output else { return Ok(true) };
    let number = |source: &CitedSource| sources.number(&source.url);
    let Some(value) = DeepResearch::run(&cx.state).value(&number) else { return Ok(false) };
    let found = fitted(value, &compiled(schema)?);
    if found.is_none() {
        let message = "what no source supports cannot be left out of the form of the report";
        fail(patch, (SYNTHESIS_FAILED, message), false);
    }
    let is_given = found.is_some();
    patch.set(State::structured_output, found);
    Ok(is_given)
}

/// The text, and the sources as the stages leave them: those that they have found come last.
pub(super) fn taken(state: &State, run: &CitationRun) -> (String, SourceRegistry) {
    let result = run.result();
    let mut sources = state.sources.clone();
    for cited in &result.sources {
        let crawl_status = match cited.origin {
            PageOrigin::Fetched => CrawlStatus::Success,
            _ if cited.is_unreadable => CrawlStatus::Failed,
            _ => CrawlStatus::NotCrawled,
        };
        let (number, _) = sources.add(ResearchSource {
            url: cited.url.clone(),
            title: cited.title.clone(),
            snippet: cited.snippet.clone(),
            content: cited.text.clone(),
            crawl_status,
            ..ResearchSource::default()
        });
        if let Some(source) = sources.get_mut(number) {
            if source.crawl_status == CrawlStatus::NotCrawled {
                source.crawl_status = crawl_status;
            }
            source.is_cited |= cited.is_cited;
        }
    }
    (result.markdown(), sources)
}
