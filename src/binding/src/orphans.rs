//! Threads whose last run was lost: it neither ended nor paused, and whoever drove
//! it is gone.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_core::checkpoint::Source;
use antiphon_core::graph::Graph;
use antiphon_runtime::store::{EntryKind, Thread};
use antiphon_runtime::{Clock, SystemClock};
use antiphon_stores::{Header, Record, Vault, owner};

use crate::codec::ObjectCodec;
use crate::object::Object;
use crate::past::shots;

/// So many threads are listed at a time.
const PAGE: u32 = 500;

/// The names of the threads of a graph whose last run was lost, in order.
pub(crate) async fn orphans(
    vault: Vault,
    graph: Arc<Graph<Object>>,
    values: ObjectCodec,
) -> Result<Vec<String>, Fault> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let page = vault.store().threads(&after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(found) };
        after.clone_from(&last.name);
        for thread in page {
            if !is_held(&thread) && is_lost(&vault, &thread, (&graph, &values)).await? {
                found.push(thread.name);
            }
        }
    }
}

/// Whether somebody may still be at work there.
fn is_held(thread: &Thread) -> bool {
    let held = thread.held.as_ref();
    held.is_some_and(|(owner, until)| *until > SystemClock::new().now() && !owner::is_gone(owner))
}

async fn is_lost(
    vault: &Vault,
    thread: &Thread,
    (graph, values): (&Arc<Graph<Object>>, &ObjectCodec),
) -> Result<bool, Fault> {
    let tip = vault.store().find(&thread.name, thread.head.tip).await?;
    if tip.is_none_or(|tip| tip.kind == EntryKind::End) {
        return Ok(false);
    }
    let way = vault.way_to(&thread.name, Some(thread.head.tip)).await?;
    Ok(is_of(&way, graph.name())? && is_open(way, (graph, values)))
}

/// Whether the last run there was one of this graph.
fn is_of(way: &[Record], graph: &str) -> Result<bool, Fault> {
    let header = way.iter().rev().find(|record| record.kind == EntryKind::Run);
    let header = header.map(|record| Header::decode(&record.body)).transpose()?;
    Ok(header.is_some_and(|header| header.graph == graph))
}

/// Whether there is something to go on with that nobody has left there on purpose.
/// A thread of another graph of that name is none of ours; whatever else is wrong
/// with one will be said when it is taken up.
fn is_open(way: Vec<Record>, about: (&Arc<Graph<Object>>, &ObjectCodec)) -> bool {
    match shots(about, &[way], 1) {
        Ok((shots, memory)) => {
            let edited = shots.first().is_some_and(|shot| shot.source == Source::Edit);
            let untouched = edited && memory.tasks.is_empty();
            memory.ended.is_none() && !memory.is_paused() && !untouched
        }
        Err(fault) => fault.code != "checkpoint_misfit",
    }
}
