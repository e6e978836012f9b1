//! Searching and reading: each search and each page is a task of its own, and what they have found
//! is taken over in the order in which it was asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use antiphon_core::{Category, Fault, FaultCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::DeepResearch;
use super::information_gain::{is_good_source, page_gain, query_terms, search_gain};
use super::next_node::NextNode;
use super::source::{CrawlStatus, ResearchSource, SourceRegistry};
use super::state::{ResearchError, State};
use super::step_work::StepWork;
use super::tools::{found_pages, read_text, search_arguments};
use crate::node::{NodeContext, NodeExit};
use crate::patch::Patch;
use crate::planned_call::{CallProgress, call_planned};

/// Characters of a result that an event shows.
const PREVIEW: usize = 200;

/// The searches and pages that come next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lookup {
    /// What they are for.
    pub phase: LookupPhase,
    /// The searches, each with one tool.
    pub searches: Vec<SearchCall>,
    /// The numbers of the sources to be read.
    pub pages: Vec<usize>,
}

/// What searches and pages are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookupPhase {
    /// To know what the first plan is about.
    #[default]
    Background,
    /// The searches of a step.
    Search,
    /// The pages of a step.
    Read,
    /// What the model asked for in a step.
    React,
}

/// One search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchCall {
    /// The place of the tool among those that search.
    pub tool: usize,
    /// What is looked for.
    pub query: String,
    /// The most results.
    pub count: usize,
}

/// What came of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchRecord {
    /// What it has found.
    pub pages: Vec<ResearchSource>,
    /// Why it has failed.
    pub error: Option<String>,
}

/// What came of reading a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageRecord {
    /// Its title.
    pub title: String,
    /// Its text.
    pub content: String,
    /// Whether it was read.
    pub status: CrawlStatus,
    /// Why not.
    pub error: Option<String>,
}

impl SearchCall {
    fn key(&self) -> String {
        format!("{}:{}", self.tool, self.query)
    }
}

/// A query in which case and spaces do not matter.
pub(super) fn normal_query(query: &str) -> String {
    query.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

impl NodeContext<DeepResearch> {
    /// The searches for queries, each with every tool that searches.
    pub(super) fn searches(&self, queries: &[String], count: usize) -> Vec<SearchCall> {
        let tools = self.data().tools.search().len();
        let calls = queries.iter().flat_map(|query| (0..tools).map(move |tool| (tool, query)));
        calls.map(|(tool, query)| SearchCall { tool, query: query.clone(), count }).collect()
    }
}

/// One search.
pub(super) async fn search(cx: NodeContext<DeepResearch>) -> Result<NodeExit<State>, Fault> {
    let call: SearchCall = cx.sent().ok_or_else(|| nothing_sent(&cx))?;
    let tool = cx.data().tools.search().get(call.tool).ok_or_else(|| nothing_sent(&cx))?;
    let arguments = search_arguments(tool, &call.query, call.count);
    cx.note("tool_call", json!({"tool_name": tool.spec().name, "tool_args": arguments}));
    let limit = cx.system().config.search_timeout_s;
    let record = match call_planned(&cx, tool, arguments, seconds(limit)).await? {
        CallProgress::Asks(question) => return Ok(NodeExit::Ask(question)),
        CallProgress::Ended(Ok(result)) => {
            SearchRecord { pages: found_pages(&result, call.count), error: None }
        }
        CallProgress::Ended(Err(fault)) => {
            SearchRecord { pages: Vec::new(), error: Some(fault.message.clone()) }
        }
    };
    let mut patch = Patch::default();
    patch.set(State::search_records, [(call.key(), record)]);
    Ok(patch.into())
}

/// One page.
pub(super) async fn read(cx: NodeContext<DeepResearch>) -> Result<NodeExit<State>, Fault> {
    let number: usize = cx.sent().ok_or_else(|| nothing_sent(&cx))?;
    let source = cx.state.sources.get(number).ok_or_else(|| nothing_sent(&cx))?;
    let config = &cx.system().config;
    let most = config.content_storage;
    let mut patch = Patch::default();
    let Some((tool, arguments)) = cx.data().tools.reader(&source.url, most) else {
        let error = Some("no tool reads such pages".to_owned());
        let record = PageRecord { error, ..PageRecord::default() };
        patch.set(State::page_records, [(number, record)]);
        return Ok(patch.into());
    };
    cx.note("tool_call", json!({"tool_name": tool.spec().name, "tool_args": arguments}));
    let record = match call_planned(&cx, tool, arguments, seconds(config.page_timeout_s)).await? {
        CallProgress::Asks(question) => return Ok(NodeExit::Ask(question)),
        CallProgress::Ended(Ok(result)) => page_record(&result, most),
        CallProgress::Ended(Err(fault)) => {
            let status = match fault.category {
                Category::Timeout => CrawlStatus::Timeout,
                Category::Policy => CrawlStatus::Blocked,
                _ => CrawlStatus::Failed,
            };
            PageRecord { status, error: Some(fault.message.clone()), ..PageRecord::default() }
        }
    };
    patch.set(State::page_records, [(number, record)]);
    Ok(patch.into())
}

fn page_record(result: &Json, most: usize) -> PageRecord {
    let (title, content) = read_text(result, most);
    if content.trim().is_empty() {
        let error = Some("the page has no text".to_owned());
        return PageRecord { title, status: CrawlStatus::Failed, error, ..PageRecord::default() };
    }
    PageRecord { title, content, status: CrawlStatus::Success, error: None }
}

/// Takes over what the searches and pages have found, and says what comes next.
pub(super) async fn collect(cx: NodeContext<DeepResearch>) -> Result<Patch<State>, Fault> {
    let mut collected = LookupResults::new(&cx);
    let mut patch = Patch::default();
    collected.add_searches(&mut patch);
    collected.add_pages(&mut patch);
    let LookupResults { sources, mut work, searched, errors, .. } = collected;
    for error in errors {
        patch.note("error", json!(error)).set(State::errors, [error]);
    }
    let lookup = &cx.state.lookup;
    let config = &cx.system().config;
    let depth = config.depth(cx.state.effective_depth);
    match lookup.phase {
        LookupPhase::Background => {
            let text = background_text(&sources, &work.found);
            patch.set(State::background_investigation_results, text);
            cx.go_to(&mut patch, NextNode::Plan);
        }
        LookupPhase::Search => {
            let pages = pages_to_read(&sources, &work, depth.max_pages);
            let next = match (pages.is_empty(), work.found.is_empty()) {
                (false, _) => NextNode::LookUp,
                (true, false) => NextNode::Observe,
                (true, true) => NextNode::ConcludeStep,
            };
            let phase = LookupPhase::Read;
            patch.set(State::lookup, Lookup { phase, pages, ..Lookup::default() });
            cx.go_to(&mut patch, next);
        }
        LookupPhase::Read => cx.go_to(&mut patch, NextNode::Observe),
        LookupPhase::React => {
            work.stop = work.record.stop(depth.max_tool_calls);
            if let Some(reason) = work.stop {
                let data = json!({"reason": reason, "calls": work.record.gains.len()});
                patch.note("research_stopped", data);
            }
            cx.go_to(&mut patch, NextNode::Research);
        }
    }
    patch
        .set(State::sources, sources)
        .set(State::step_work, work)
        .set(State::searched, searched)
        .reset(State::search_records)
        .reset(State::page_records)
        .reset(State::error);
    Ok(patch)
}

/// What is taken over.
struct LookupResults<'c> {
    cx: &'c NodeContext<DeepResearch>,
    sources: SourceRegistry,
    work: StepWork,
    searched: BTreeMap<String, Vec<usize>>,
    terms: Vec<String>,
    errors: Vec<ResearchError>,
}

impl<'c> LookupResults<'c> {
    fn new(cx: &'c NodeContext<DeepResearch>) -> Self {
        let state = &cx.state;
        let title = state.step().map_or("", |step| &step.title);
        Self {
            cx,
            sources: state.sources.clone(),
            work: state.step_work.clone(),
            searched: state.searched.clone(),
            terms: query_terms(&format!("{} {title}", state.query)),
            errors: Vec::new(),
        }
    }

    /// The searches, in the order in which they were asked for; those of one query are one call.
    fn add_searches(&mut self, patch: &mut Patch<State>) {
        let state = &self.cx.state;
        let lookup = &state.lookup;
        let mut queries: Vec<&str> = Vec::new();
        for call in &lookup.searches {
            if !queries.contains(&call.query.as_str()) {
                queries.push(&call.query);
            }
        }
        for query in queries {
            let (numbers, new, error) = self.take_query(query);
            let shown = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let failure = error.filter(|_| numbers.is_empty());
            self.work.log.push(match (&failure, numbers.is_empty()) {
                (Some(error), _) => format!("search \"{query}\" failed: {error}"),
                (None, true) => format!("search \"{query}\": nothing was found"),
                (None, false) => format!("search \"{query}\": sources {shown}"),
            });
            self.work.record.gains.push(search_gain(new));
            let titles = numbers.iter().filter_map(|number| self.sources.get(*number));
            let titles: Vec<&str> = titles.map(ResearchSource::name).collect();
            let data = json!({
                "tool_name": "web_search",
                "query": query,
                "sources": numbers,
                "result_preview": preview(&titles.join("; ")),
            });
            patch.note("tool_result", data);
            match failure {
                Some(error) => self.fail("SEARCH_UNAVAILABLE", &error),
                None => drop(self.searched.insert(normal_query(query), numbers)),
            }
        }
    }

    /// What all tools have found for a query: the numbers of the sources, how many of them are
    /// new, and why a tool has failed.
    fn take_query(&mut self, query: &str) -> (Vec<usize>, usize, Option<String>) {
        let state = &self.cx.state;
        let most = match state.lookup.phase {
            LookupPhase::Background => self.cx.system().config.max_background_results,
            _ => usize::MAX,
        };
        let (mut numbers, mut new, mut error) = (Vec::new(), 0, None);
        for call in state.lookup.searches.iter().filter(|call| call.query == query) {
            let Some(record) = state.search_records.get(&call.key()) else {
                error = Some("the search took too long".to_owned());
                continue;
            };
            error = error.or_else(|| record.error.clone());
            for page in &record.pages {
                if self.work.found.len() >= most {
                    break;
                }
                let (number, is_new) = self.add_page(page.clone());
                new += usize::from(is_new);
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
        }
        (numbers, new, error)
    }

    fn add_page(&mut self, mut page: ResearchSource) -> (usize, bool) {
        if let Some(step) = self.cx.state.step() {
            page.step_index = Some(self.cx.state.current_step_index);
            page.step_title = Some(step.title.clone());
        }
        let (number, is_new) = self.sources.add(page);
        self.work.add(number);
        (number, is_new)
    }

    /// The pages, in the order in which they were asked for.
    fn add_pages(&mut self, patch: &mut Patch<State>) {
        for number in &self.cx.state.lookup.pages {
            let late = PageRecord {
                status: CrawlStatus::Timeout,
                error: Some("the page took too long".to_owned()),
                ..PageRecord::default()
            };
            let record = self.cx.state.page_records.get(number).cloned().unwrap_or(late);
            let data = json!({
                "tool_name": "web_crawl",
                "source": number,
                "status": record.status,
                "result_preview": preview(&record.content),
            });
            patch.note("tool_result", data);
            let gain = self.take_page(*number, record);
            self.work.record.gains.push(gain);
        }
    }

    /// Takes over one page, and returns what it has brought.
    fn take_page(&mut self, number: usize, record: PageRecord) -> f64 {
        self.work.add(number);
        let Some(source) = self.sources.get_mut(number) else { return 0.0 };
        source.crawl_status = record.status;
        source.error_reason.clone_from(&record.error);
        if let Some(error) = record.error {
            self.work.log.push(format!("read {number} failed: {error}"));
            self.fail("CRAWL_FAILED", &error);
            return 0.0;
        }
        if source.title.is_empty() {
            source.title = record.title;
        }
        source.content = record.content;
        source.was_known = false;
        let characters = source.content.chars().count();
        let is_good = is_good_source(&source.content, &self.terms);
        self.work.log.push(format!("read {number}: {characters} characters"));
        self.work.read.push(number);
        if is_good {
            self.work.record.good.push(number);
        }
        page_gain(characters, is_good)
    }

    fn fail(&mut self, code: &str, message: &str) {
        self.errors.push(ResearchError {
            error_code: code.to_owned(),
            error_message: message.to_owned(),
            recoverable: true,
        });
    }
}

/// The beginning of a result, as an event shows it.
fn preview(text: &str) -> String {
    text.chars().take(PREVIEW).collect()
}

/// The best pages of a step that were not read: what the searches have ranked first.
fn pages_to_read(sources: &SourceRegistry, work: &StepWork, most: usize) -> Vec<usize> {
    let is_open = |number: &&usize| {
        let source = sources.get(**number);
        source.is_some_and(|source| source.crawl_status == CrawlStatus::NotCrawled)
    };
    let read = work.found.iter().filter(|number| !is_open(number)).count();
    work.found.iter().filter(is_open).take(most.saturating_sub(read)).copied().collect()
}

/// What the searches before the first plan have found.
fn background_text(sources: &SourceRegistry, found: &[usize]) -> String {
    let lines = found.iter().filter_map(|number| sources.get(*number));
    let line = |source: &ResearchSource| {
        let snippet: String = source.snippet.chars().take(300).collect();
        format!("{} ({}): {snippet}", source.name(), source.url)
    };
    lines.map(line).collect::<Vec<_>>().join("\n")
}

/// A setting as a time.
pub(super) fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX)
}

fn nothing_sent(cx: &NodeContext<DeepResearch>) -> Fault {
    let message = format!("the node was sent nothing to look up: {}", cx.call.node);
    Fault::new(FaultCode::HostIncomplete, message)
}
