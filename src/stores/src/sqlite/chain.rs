//! Batches that are appended together.

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::EntryBatch;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::job::{JobReply, in_savepoint};
use super::statements as sql;

/// The result of a batch, and the batch itself: its caller drops it, because memory that one
/// thread allocates and another one frees costs both of them a lock.
pub(super) type BatchResult = (Result<(), Fault>, EntryBatch);

/// A batch and the receiver of its result.
pub(super) struct PendingBatch {
    pub(super) batch: EntryBatch,
    pub(super) now: Time,
    pub(super) reply: oneshot::Sender<BatchResult>,
}

impl PendingBatch {
    /// Answers with a fault.
    pub(super) fn refuse(self, fault: &Fault) {
        // The caller may be gone.
        let _ = self.reply.send((Err(fault.clone()), self.batch));
    }
}

/// Consecutive batches of one thread.
pub(super) struct BatchChain {
    batches: Vec<EntryBatch>,
    replies: Vec<oneshot::Sender<BatchResult>>,
    now: Time,
}

impl BatchChain {
    pub(super) fn of(first: PendingBatch) -> Self {
        let PendingBatch { batch, now, reply } = first;
        Self { batches: vec![batch], replies: vec![reply], now }
    }

    /// The number of batches.
    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }

    /// Adds a batch, or returns it if it does not continue the chain.
    pub(super) fn add(&mut self, other: PendingBatch) -> Option<PendingBatch> {
        if !self.batches.last().is_some_and(|last| last.is_followed_by(&other.batch)) {
            return Some(other);
        }
        self.batches.push(other.batch);
        self.replies.push(other.reply);
        self.now = other.now;
        None
    }

    /// Appends all of them; if that fails, each on its own.
    pub(super) fn write(self, file: &Connection) -> JobReply {
        let Self { batches, replies, now } = self;
        let done = add(file, &batches, now);
        Box::new(move |held| {
            for ((reply, batch), done) in replies.into_iter().zip(batches).zip(done) {
                // The caller may be gone.
                let _ = reply.send((done.and_then(|()| held.clone()), batch));
            }
        })
    }
}

fn add(file: &Connection, batches: &[EntryBatch], now: Time) -> Vec<Result<(), Fault>> {
    let all: Vec<_> = batches.iter().collect();
    let together = in_savepoint(file, |file| sql::append(file, &all, now));
    if together.is_ok() || batches.len() == 1 || file.is_autocommit() {
        return batches.iter().map(|_| together.clone()).collect();
    }
    // A batch that fails does not affect the others.
    let alone = |batch| in_savepoint(file, |file| sql::append(file, &[batch], now));
    all.into_iter().map(alone).collect()
}
