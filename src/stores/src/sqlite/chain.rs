//! Batches that are added together.

use antiphon_core::{Fault, Time};
use antiphon_runtime::store::Batch;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::job::{Reply, in_savepoint};
use super::statements as sql;

/// Tells whoever has asked for a batch.
type Asked = oneshot::Sender<Result<(), Fault>>;

/// Batches that follow each other in one thread.
pub(super) struct Chain {
    batches: Vec<Batch>,
    asked: Vec<Asked>,
    now: Time,
}

impl Chain {
    pub(super) fn new(batch: Batch, now: Time, asked: Asked) -> Self {
        Self { batches: vec![batch], asked: vec![asked], now }
    }

    /// How many they are.
    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }

    /// Takes in what follows, or gives it back if it does not.
    pub(super) fn add(&mut self, mut other: Self) -> Option<Self> {
        let follows = match (self.batches.last(), other.batches.first()) {
            (Some(last), Some(next)) => is_followed(last, next),
            _ => false,
        };
        if !follows {
            return Some(other);
        }
        self.batches.append(&mut other.batches);
        self.asked.append(&mut other.asked);
        self.now = other.now;
        None
    }

    /// Adds all of them, or each that can be.
    pub(super) fn write(self, file: Result<&Connection, &Fault>) -> Reply {
        let Self { batches, asked, now } = self;
        let done: Vec<_> = match file {
            Ok(file) => add(file, &batches, now),
            Err(fault) => batches.iter().map(|_| Err(fault.clone())).collect(),
        };
        Box::new(move |held| {
            for (asked, done) in asked.into_iter().zip(done) {
                // Whoever asked may have gone.
                let _ = asked.send(done.and_then(|()| held.clone()));
            }
        })
    }
}

/// Whether one statement can move the thread on behind both.
fn is_followed(last: &Batch, next: &Batch) -> bool {
    let tip = last.entries.last().map_or(last.after, |entry| entry.seq);
    last.thread == next.thread && last.owner == next.owner && tip == next.after
}

fn add(file: &Connection, batches: &[Batch], now: Time) -> Vec<Result<(), Fault>> {
    let all: Vec<_> = batches.iter().collect();
    let together = in_savepoint(file, |file| sql::append(file, &all, now));
    if together.is_ok() || batches.len() == 1 || file.is_autocommit() {
        return batches.iter().map(|_| together.clone()).collect();
    }
    // One that fails takes none with it.
    let alone = |batch| in_savepoint(file, |file| sql::append(file, &[batch], now));
    all.into_iter().map(alone).collect()
}
