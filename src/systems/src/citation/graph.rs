//! The nodes: one that advances the machine, one for each role, one that searches and one that
//! reads. Requests of one stage run side by side.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use antiphon_citation::{CitationQuery, CitationRequest, PagesReply, PendingRequests};
use antiphon_core::command::{Destination, Destinations, Send as Sent};
use antiphon_core::{Fault, FaultCode, Message, Schema};
use serde_json::{Value as Json, json};

use super::CitesSources;
use super::conversation::{brief, conversation};
use super::role::{CLAIM_SPLITTER, REPORTER, ROLES, role_of, schema};
use crate::builder::{RoleNode, SystemBuilder};
use crate::node::{NodeContext, StateView, goto, whole_millis};
use crate::patch::Patch;
use crate::prompts::ModelTier;
use crate::reply::RoleReply;

/// The node that starts the stages and comes after each of them.
pub const ENTRY: &str = "cite";
const SEARCH: &str = "cite_search";
const READ: &str = "cite_read";
/// The node of a reporter who looks evidence up, and writes part after part.
const COMPOSE: &str = "compose";
const EXIT: &str = "cited";
/// How long a large model may take a claim apart; one that takes longer is one fact.
const DECOMPOSITION: Duration = Duration::from_secs(10);

/// Adds the stages to a graph; after the last one comes `exit`. The report is a text, or a value
/// of the schema `output`. The system lists the [roles](super::role::ROLES) and
/// [prompts](super::role::PROMPTS) among its own.
///
/// # Errors
/// As [`SystemBuilder::role`].
pub fn add<S: CitesSources>(
    graph: &mut SystemBuilder<S>,
    exit: &str,
    output: Option<&Json>,
) -> Result<(), Fault> {
    graph.node(ENTRY, advance::<S>);
    let mut ways = vec![(EXIT, exit), (SEARCH, SEARCH), (READ, READ)];
    for role in &ROLES {
        let writes = role.name == REPORTER.name;
        let form = output.filter(|_| writes).map(|form| Schema::new(role.name, form.clone()));
        let is_text = writes && form.is_none();
        let node = role_node(role.name, form.unwrap_or_else(|| schema(role.name)));
        // A report may come as plain text.
        if is_text {
            graph.role_of_any_reply(role.name, node)?;
        } else {
            graph.role(role.name, node)?;
        }
        ways.push((role.name, role.name));
    }
    graph.role(COMPOSE, role_node(REPORTER.name, schema(COMPOSE)))?;
    ways.push((COMPOSE, COMPOSE));
    graph.node(SEARCH, search::<S>).node(READ, read::<S>);
    for (node, _) in ways.iter().skip(1) {
        graph.edge(node, ENTRY).on_error_record(node);
    }
    let is_small = graph.tier(CLAIM_SPLITTER.name) == ModelTier::Small;
    let decomposition = (!is_small).then_some(DECOMPOSITION);
    graph.branch(ENTRY, "citation", &ways, move |view| next::<S>(view, decomposition));
    Ok(())
}

fn role_node<S: CitesSources>(role: &'static str, schema: Schema) -> RoleNode<S> {
    RoleNode {
        role,
        schema,
        max_tool_calls: 0,
        begin: |_| {},
        conversation: |cx| conversation(cx.system().resources(), &sent(cx)?.query),
        brief: |cx| Ok(brief(&sent(cx)?.query)),
        conclude,
    }
}

/// Takes over what was replied, and finds out what is needed next.
async fn advance<S: CitesSources>(cx: NodeContext<S>) -> Result<Patch<S::State>, Fault> {
    let mut patch = Patch::default();
    let (mut run, replies) = (S::run(&cx.state), S::replies(&cx.state));
    let left = S::time_left(&cx).map(whole_millis);
    if let (Some(field), Some(left)) = (S::TIME_LEFT_MS, left) {
        patch.set(field, left);
    }
    // What was cut off for want of time has not failed: nothing stands in for it.
    let is_answered = run.pending().iter().all(|request| replies.contains_key(&request.id));
    if left == Some(0) && !is_answered {
        return Ok(patch);
    }
    run.advance(replies);
    for event in run.take_events() {
        cx.note(&event.name, event.data);
    }
    S::keep_run(&cx.state, run, &mut patch);
    patch.reset(S::REPLIES).reset(S::ERROR);
    Ok(patch)
}

/// Where the requests of the machine go; all of a batch are alike, or go to roles.
fn next<S: CitesSources>(
    view: &StateView<'_, '_>,
    decomposition: Option<Duration>,
) -> Result<Destinations<Json>, Fault> {
    // All of the run holds whole pages.
    let PendingRequests { pending } = view.part(S::CITATION)?;
    let left = S::TIME_LEFT_MS.map(|field| view.get(field)).transpose()?;
    if pending.is_empty() || left == Some(0) {
        return Ok(goto(EXIT));
    }
    let left = left.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)));
    let send = |request: &CitationRequest| {
        let is_decomposition = matches!(request.query, CitationQuery::Decompose { .. });
        let most = decomposition.filter(|_| is_decomposition);
        let limit = left.into_iter().chain(most).min();
        let node = Arc::from(node_of(&request.query));
        Destination::Send(Sent { node, input: json!(request), timeout: None, limit })
    };
    Ok(pending.iter().map(send).collect())
}

const fn node_of(query: &CitationQuery) -> &'static str {
    match (role_of(query), query) {
        (_, CitationQuery::Compose { .. }) => COMPOSE,
        (Some(role), _) => role,
        (None, CitationQuery::Search { .. }) => SEARCH,
        (None, _) => READ,
    }
}

fn sent<S: CitesSources>(cx: &NodeContext<S>) -> Result<CitationRequest, Fault> {
    cx.sent().ok_or_else(|| {
        let message = format!("nothing was sent to the node: {}", cx.call.node);
        Fault::new(FaultCode::HostIncomplete, message)
    })
}

fn conclude<S: CitesSources>(
    cx: &NodeContext<S>,
    reply: RoleReply,
) -> Result<Patch<S::State>, Fault> {
    let said = reply.messages.last().map(|message: &Message| message.content.text().into_owned());
    let value = reply.value.filter(|value| !value.is_null());
    let value = value.or_else(|| said.map(Json::String)).unwrap_or_default();
    replied::<S>(sent(cx)?.id, value)
}

async fn search<S: CitesSources>(cx: NodeContext<S>) -> Result<Patch<S::State>, Fault> {
    let CitationRequest { id, query } = sent(&cx)?;
    let CitationQuery::Search { query, limit } = query else { return Ok(Patch::default()) };
    let pages = S::search(&cx, &query, limit).await?;
    replied::<S>(id, json!(PagesReply { pages }))
}

async fn read<S: CitesSources>(cx: NodeContext<S>) -> Result<Patch<S::State>, Fault> {
    let CitationRequest { id, query } = sent(&cx)?;
    let CitationQuery::Read { url, .. } = query else { return Ok(Patch::default()) };
    let page = S::read_page(&cx, &url).await?;
    replied::<S>(id, json!(page))
}

#[expect(clippy::unnecessary_wraps, reason = "what a node returns")]
fn replied<S: CitesSources>(id: String, value: Json) -> Result<Patch<S::State>, Fault> {
    let mut patch = Patch::default();
    patch.set(S::REPLIES, BTreeMap::from([(id, value)]));
    Ok(patch)
}
