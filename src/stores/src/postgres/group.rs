//! Batches that are appended in one statement.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::store::{EntryBatch, conflict};
use futures_util::future::LocalBoxFuture;

use super::fault::{PostgresFault, PostgresResult};
use super::link::Connection;
use super::statements as sql;
use super::work::{RetriableWork, WorkReply};

/// Batches for several threads, at most one chain for each. They are ordered by thread name, so
/// that two groups never deadlock.
#[derive(Default)]
pub(super) struct BatchGroup {
    chains: BTreeMap<Arc<str>, BatchChain>,
    batches: usize,
    bytes: usize,
    /// Whether the group failed as a whole: its batches are then appended one by one.
    apart: bool,
}

/// Consecutive batches of one thread, as one.
struct BatchChain {
    batch: EntryBatch,
    replies: Vec<WorkReply<()>>,
}

impl BatchGroup {
    const BATCHES: usize = 512;
    const BYTES: usize = 8 << 20;

    pub(super) const fn is_full(&self) -> bool {
        self.batches >= Self::BATCHES || self.bytes >= Self::BYTES
    }

    /// Adds a batch, or returns it if it does not continue the chain of its thread.
    pub(super) fn add(
        &mut self,
        batch: EntryBatch,
        reply: WorkReply<()>,
    ) -> Option<(EntryBatch, WorkReply<()>)> {
        let bytes: usize = batch.entries.iter().map(|entry| entry.body.len()).sum();
        match self.chains.get_mut(&batch.thread) {
            Some(chain) if chain.batch.is_followed_by(&batch) => {
                if !batch.entries.is_empty() {
                    chain.batch.tag = batch.tag;
                }
                chain.batch.entries.extend(batch.entries);
                chain.replies.push(reply);
            }
            Some(_) => return Some((batch, reply)),
            None => {
                let chain = BatchChain { batch, replies: vec![reply] };
                self.chains.insert(Arc::clone(&chain.batch.thread), chain);
            }
        }
        self.batches += 1;
        self.bytes += bytes;
        None
    }

    async fn together(&mut self, link: &Connection, again: bool) -> PostgresResult<()> {
        let batches: Vec<_> = self.chains.values().map(|chain| &chain.batch).collect();
        let mut added = match batches.as_slice() {
            [alone] => vec![sql::append(link, alone).await?],
            all => sql::append_all(link, all).await?,
        };
        if again {
            for (added, batch) in added.iter_mut().zip(batches) {
                *added = *added || sql::contains(link, batch).await?;
            }
        }
        for (chain, added) in std::mem::take(&mut self.chains).into_values().zip(added) {
            let answer = if added { Ok(()) } else { Err(conflict(&chain.batch.thread)) };
            chain.reply(&answer);
        }
        Ok(())
    }

    async fn one_by_one(&mut self, link: &Connection, again: bool) -> PostgresResult<()> {
        while let Some((thread, chain)) = self.chains.pop_first() {
            let mut alone = Self { chains: BTreeMap::from([(thread, chain)]), ..Self::default() };
            match alone.together(link, again).await {
                Ok(()) => {}
                Err(PostgresFault::Failed(fault)) => alone.fail(&fault),
                Err(fault) => {
                    self.chains.append(&mut alone.chains);
                    return Err(fault);
                }
            }
        }
        Ok(())
    }
}

impl RetriableWork for BatchGroup {
    fn run<'a>(
        &'a mut self,
        link: &'a Connection,
        again: bool,
    ) -> LocalBoxFuture<'a, PostgresResult<()>> {
        Box::pin(async move {
            if !self.apart {
                match self.together(link, again).await {
                    Err(PostgresFault::Failed(_)) => self.apart = true,
                    done => return done,
                }
            }
            self.one_by_one(link, again).await
        })
    }

    fn fail(&mut self, fault: &Fault) {
        for chain in std::mem::take(&mut self.chains).into_values() {
            chain.reply(&Err(fault.clone()));
        }
    }
}

impl BatchChain {
    fn reply(self, answer: &Result<(), Fault>) {
        for reply in self.replies {
            // The caller may be gone.
            let _ = reply.send(answer.clone());
        }
    }
}
