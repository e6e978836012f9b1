//! A thread that begins with what another one holds.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::checkpoint::{Change, Commit};
use antiphon_core::effect::Ending;
use antiphon_core::graph::Graph;
use antiphon_core::value::Value;
use antiphon_core::{Category, Fault};
use antiphon_runtime::store::EntryKind;

use crate::codec::{Codec, ValueCodec};
use crate::keeper::{Found, Header, read};
use crate::log::{Log, Record, Vault};

/// Why a run that was still going on in the other thread does not in the new one.
const FORKED: &str = "forked";

/// What is to be forked.
#[derive(Clone, Copy, Debug)]
pub struct Fork<'a> {
    /// The thread that is there.
    pub from: &'a str,
    /// One of its checkpoints; none for all it holds now, open questions included.
    pub checkpoint: Option<u64>,
    /// The new thread.
    pub to: &'a str,
    /// What the run is called that goes on there: not as the other one, so that
    /// what it does in the world is not taken for something done already.
    pub run_id: &'a str,
}

impl Fork<'_> {
    /// Copies the way to the checkpoint, all together or not at all. Nobody is to
    /// take the new thread for one that lost its run: a run that still went on has
    /// ended there.
    ///
    /// # Errors
    /// `thread_empty` if there is nothing to copy, `checkpoint_unknown`,
    /// `thread_taken` if the new thread holds something, and those of reading and
    /// appending entries.
    pub async fn make<V: Value, C: ValueCodec<V>>(
        self,
        vault: &Vault,
        (graph, values): (&Arc<Graph<V>>, &C),
        (owner, term): (&str, Duration),
    ) -> Result<(), Fault> {
        let records = self.records(vault, (graph, values)).await?;
        let (mut log, way) = Log::open(vault.clone(), self.to, owner, term).await?;
        let appended = if !way.is_empty() || log.last() > 0 {
            Err(taken(self.to))
        } else {
            match log.copy(&records) {
                Ok(answer) => answer.await,
                Err(fault) => Err(fault),
            }
        };
        log.release().await.and(appended)
    }

    async fn records<V: Value, C: ValueCodec<V>>(
        self,
        vault: &Vault,
        (graph, values): (&Arc<Graph<V>>, &C),
    ) -> Result<Vec<Record>, Fault> {
        let last = match self.checkpoint {
            Some(seq) => vault.way_to_checkpoint(self.from, seq).await?,
            None => vault.way_to(self.from, None).await?,
        };
        let Some(Found { memory, header: Some(header), .. }) = read(graph, values, &last)? else {
            return Err(empty(self.from));
        };
        let header = Header { run_id: self.run_id.to_owned(), ..header };
        let mut added = vec![(EntryKind::Run, header.encode())];
        if memory.ended.is_none() && !memory.is_paused() {
            let (spent, events) = (memory.spent, memory.events);
            let change = Change::Ended(Ok(Ending::Cancelled(FORKED.to_owned())));
            let commit = Commit { id: 0, within: Vec::new(), spent, events, change };
            added.push((EntryKind::End, Codec::new(graph, values).encode(&commit)?));
        }
        let mut records = earlier(vault, self.from, &last).await?;
        records.extend(last);
        if let Some(Record { step, at, .. }) = records.last().cloned() {
            let own = |(kind, body)| Record { seq: 0, parent: 0, kind, step, at, body };
            records.extend(added.into_iter().map(own));
        }
        Ok(records)
    }
}

/// What comes before the snapshot that a way begins with, as far as it is there.
async fn earlier(vault: &Vault, thread: &str, way: &[Record]) -> Result<Vec<Record>, Fault> {
    let mut before = way.first().map_or(0, |record| record.parent);
    let mut parts = Vec::new();
    while before != 0 && vault.store().find(thread, before).await?.is_some() {
        let way = vault.way_to(thread, Some(before)).await?;
        before = way.first().map_or(0, |record| record.parent);
        parts.push(way);
    }
    Ok(parts.into_iter().rev().flatten().collect())
}

fn empty(thread: &str) -> Fault {
    let message = format!("the thread holds nothing to go on from: {thread}");
    Fault::new(Category::Validation, "thread_empty", message)
        .with("thread", thread)
        .hint("begin with an input")
}

fn taken(thread: &str) -> Fault {
    let message = format!("a thread of that name holds something already: {thread}");
    Fault::new(Category::Validation, "thread_taken", message)
        .with("thread", thread)
        .hint("name another one, or delete it before")
}
