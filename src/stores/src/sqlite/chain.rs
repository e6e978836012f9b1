//! Batches that are added together.

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::EntryBatch;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::job::{JobReply, in_savepoint};
use super::statements as sql;

/// Whether a batch holds, and the batch: it is whoever has asked that drops it.
/// What one thread makes and another drops costs both of them a lock.
pub(super) type BatchResult = (Result<(), Fault>, EntryBatch);

/// A batch, and who waits for it.
pub(super) struct PendingBatch {
    pub(super) batch: EntryBatch,
    pub(super) now: Time,
    pub(super) reply: oneshot::Sender<BatchResult>,
}

impl PendingBatch {
    /// It does not hold.
    pub(super) fn refuse(self, fault: &Fault) {
        // Whoever asked may have gone.
        let _ = self.reply.send((Err(fault.clone()), self.batch));
    }
}

/// Batches that follow each other in one thread.
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

    /// How many they are.
    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }

    /// Takes in what follows, or gives it back if it does not.
    pub(super) fn add(&mut self, other: PendingBatch) -> Option<PendingBatch> {
        if !self.batches.last().is_some_and(|last| last.is_followed_by(&other.batch)) {
            return Some(other);
        }
        self.batches.push(other.batch);
        self.replies.push(other.reply);
        self.now = other.now;
        None
    }

    /// Adds all of them, or each that can be.
    pub(super) fn write(self, file: &Connection) -> JobReply {
        let Self { batches, replies, now } = self;
        let done = add(file, &batches, now);
        Box::new(move |held| {
            for ((reply, batch), done) in replies.into_iter().zip(batches).zip(done) {
                // Whoever asked may have gone.
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
    // One that fails takes none with it.
    let alone = |batch| in_savepoint(file, |file| sql::append(file, &[batch], now));
    all.into_iter().map(alone).collect()
}
