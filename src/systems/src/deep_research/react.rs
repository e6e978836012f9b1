//! A step in which the model decides after each result what to search or read next. It sees numbers
//! of sources only, and code keeps its budget.

use antiphon_core::{Fault, Schema};
use serde::Deserialize;
use serde_json::json;

use super::DeepResearch;
use super::information_gain::StopReason;
use super::lookup::{Lookup, LookupPhase, normal_query};
use super::next_node::NextNode;
use super::prompt::{add_source, agent_started, brief_with, conversation, is_copied};
use super::source::CrawlStatus;
use super::state::State;
use super::step::{complete, conclude_plainly, step_inputs};
use super::step_work::StepWork;
use crate::builder::RoleNode;
use crate::node::NodeContext;
use crate::patch::Patch;
use crate::reply::RoleReply;

/// Words from which on a reply is an observation.
const WORDS: usize = 50;
/// The most results that a search may ask for.
const RESULTS: usize = 10;

/// The role that decides.
pub(super) fn researcher() -> RoleNode<DeepResearch> {
    let call = json!({
        "type": "object",
        "properties": {
            "tool": {"enum": ["web_search", "web_crawl"]},
            "query": {"type": ["string", "null"]},
            "count": {"type": ["integer", "null"]},
            "index": {"type": ["integer", "null"]},
        },
        "required": ["tool"],
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "thought": {"type": ["string", "null"]},
            "calls": {"type": ["array", "null"], "items": call},
            "observation": {"type": ["string", "null"]},
        },
    });
    RoleNode {
        role: "researcher",
        schema: Schema::new("research", schema),
        max_tool_calls: 0,
        begin: |cx| agent_started(cx, "researcher"),
        conversation: researching,
        brief: |cx| {
            let log = json!(cx.state.step_work.log);
            Ok(brief_with(&cx.state, [("calls_left", json!(calls_left(cx))), ("log", log)]))
        },
        conclude: researched,
    }
}

/// Calls that the step may still make.
fn calls_left(cx: &NodeContext<DeepResearch>) -> usize {
    let work = &cx.state.step_work;
    let budget = cx.system().config.depth(cx.state.effective_depth).max_tool_calls;
    if work.stop.is_some() { 0 } else { work.record.left(budget) }
}

fn researching(cx: &NodeContext<DeepResearch>) -> Result<Vec<antiphon_core::Message>, Fault> {
    let work = &cx.state.step_work;
    let mut inputs = step_inputs(cx);
    let most = cx.system().config.content_preview;
    for found in cx.state.sources_of(&work.shown()) {
        add_source(&mut inputs, found, most);
    }
    if !work.log.is_empty() {
        inputs.add("calls", &work.log.join("\n"));
    }
    let left = calls_left(cx);
    let ask = match left {
        0 => "No call is left. Write the observation, with an empty list of calls.".to_owned(),
        left => format!("{left} calls are left. Call tools, or write the observation."),
    };
    conversation(cx, ("researcher", "researcher"), &[], &inputs, &ask)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResearchReply {
    calls: Option<Vec<ResearchCall>>,
    observation: Option<String>,
}

#[derive(Deserialize)]
struct ResearchCall {
    tool: ResearchTool,
    query: Option<String>,
    count: Option<i64>,
    index: Option<i64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ResearchTool {
    WebSearch,
    WebCrawl,
}

fn researched(cx: &NodeContext<DeepResearch>, mut reply: RoleReply) -> Result<Patch<State>, Fault> {
    let ResearchReply { calls, observation } = reply.read()?;
    let mut patch = Patch::default();
    let mut turn = ResearchTurn::new(cx);
    let asked = calls.unwrap_or_default();
    if turn.left > 0 && !asked.is_empty() {
        for call in asked {
            turn.add(&call);
        }
        let ResearchTurn { work, lookup, .. } = turn;
        let has_calls = !(lookup.searches.is_empty() && lookup.pages.is_empty());
        let next = if has_calls { NextNode::LookUp } else { NextNode::Research };
        patch.set(State::step_work, work).set(State::lookup, lookup);
        cx.go_to(&mut patch, next);
        return Ok(patch);
    }
    if cx.state.step_work.stop.is_none() {
        let calls = cx.state.step_work.record.gains.len();
        patch.note("research_stopped", json!({"reason": StopReason::Concluded, "calls": calls}));
    }
    let text = observation.unwrap_or_default();
    // A few words say too little of pages that were read.
    if text.split_whitespace().count() >= WORDS {
        complete(cx, text.trim(), cx.state.step_work.found.is_empty(), &mut patch);
    } else {
        conclude_plainly(cx, &mut patch);
    }
    Ok(patch)
}

/// The calls of one reply.
struct ResearchTurn<'c> {
    cx: &'c NodeContext<DeepResearch>,
    work: StepWork,
    lookup: Lookup,
    left: usize,
}

impl<'c> ResearchTurn<'c> {
    fn new(cx: &'c NodeContext<DeepResearch>) -> Self {
        let mut work = cx.state.step_work.clone();
        work.turns += 1;
        let lookup = Lookup { phase: LookupPhase::React, ..Lookup::default() };
        let budget = cx.system().config.depth(cx.state.effective_depth).max_tool_calls;
        let left = calls_left(cx);
        // Calls that cost nothing do not go on for ever.
        if work.turns > budget * 2 && work.stop.is_none() {
            work.stop = Some(StopReason::Budget);
        }
        Self { cx, work, lookup, left }
    }

    /// Takes a call up, if one is left. What is known already is shown and costs nothing.
    fn add(&mut self, call: &ResearchCall) {
        match call.tool {
            ResearchTool::WebSearch => self.add_search(call),
            ResearchTool::WebCrawl => self.add_page(call),
        }
    }

    fn add_search(&mut self, call: &ResearchCall) {
        let query = call.query.as_deref().unwrap_or_default().trim();
        let query = if is_copied(query) { "" } else { query };
        let normal = normal_query(query);
        if normal.is_empty() {
            self.refuse("web_search needs a query");
            return;
        }
        if let Some(known) = self.cx.state.searched.get(&normal) {
            for number in known {
                self.work.add(*number);
            }
            self.work.log.push(format!("search \"{query}\": was made before"));
            return;
        }
        let is_asked = self.lookup.searches.iter().any(|it| normal_query(&it.query) == normal);
        if is_asked || !self.takes_call() {
            return;
        }
        let usual = self.cx.system().config.max_search_results;
        let count = call.count.and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| *count > 0).unwrap_or(usual).min(RESULTS);
        self.lookup.searches.extend(self.cx.searches(&[query.to_owned()], count));
    }

    fn add_page(&mut self, call: &ResearchCall) {
        let index = call.index.unwrap_or_default();
        let number = usize::try_from(index).unwrap_or_default();
        let Some(source) = self.cx.state.sources.get(number) else {
            self.refuse(&format!("there is no source {index}"));
            return;
        };
        if source.crawl_status == CrawlStatus::Success {
            self.work.add(number);
            if !self.work.read.contains(&number) {
                self.work.read.push(number);
            }
            self.work.log.push(format!("read {number}: was read before"));
            return;
        }
        if !self.lookup.pages.contains(&number) && self.takes_call() {
            self.lookup.pages.push(number);
        }
    }

    /// A call that cannot be made counts, as one that fails.
    fn refuse(&mut self, why: &str) {
        if self.takes_call() {
            self.work.log.push(format!("error: {why}"));
            self.work.record.gains.push(0.0);
        }
    }

    fn takes_call(&mut self) -> bool {
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }
}
