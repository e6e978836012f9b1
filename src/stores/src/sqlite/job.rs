//! Jobs for a file.

use antiphon_core::Fault;
use rusqlite::Connection;

use super::chain::{BatchChain, PendingBatch};
use super::fault;
use super::queue::Consumer;

/// The most changes in one transaction.
pub(super) const GROUP: usize = 512;

/// Sends the result of a change, once it is known whether the transaction was committed.
pub(super) type JobReply = Box<dyn FnOnce(Result<(), Fault>) + Send>;

/// Makes one change, or receives the reason why there is no transaction.
pub(super) type ChangeJob = Box<dyn FnOnce(Result<&Connection, &Fault>) -> JobReply + Send>;

/// Reads, or receives the reason why it cannot.
pub(super) type ReadJob = Box<dyn FnOnce(Result<&Connection, Fault>) + Send>;

pub(super) enum SqliteJob {
    Read(ReadJob),
    Write(WriteJob),
}

pub(super) enum WriteJob {
    Change(ChangeJob),
    Append(PendingBatch),
}

impl WriteJob {
    /// Makes the change, and the queued ones that can be combined with it; returns their number,
    /// and the first job that could not.
    pub(super) fn carry_out(
        self,
        file: &Connection,
        queue: &mut Consumer<SqliteJob>,
    ) -> (JobReply, usize, Option<SqliteJob>) {
        match self {
            Self::Change(change) => (change(Ok(file)), 1, None),
            Self::Append(first) => {
                let mut chain = BatchChain::of(first);
                let next = gather(&mut chain, queue);
                let size = chain.len();
                (chain.write(file), size, next)
            }
        }
    }

    /// Fails the change: there is no transaction.
    pub(super) fn refuse(self, fault: &Fault) {
        match self {
            Self::Change(change) => change(Err(fault))(Ok(())),
            Self::Append(asked) => asked.refuse(fault),
        }
    }
}

fn gather(chain: &mut BatchChain, queue: &mut Consumer<SqliteJob>) -> Option<SqliteJob> {
    while chain.len() < GROUP {
        match queue.more()? {
            SqliteJob::Write(WriteJob::Append(asked)) => {
                if let Some(asked) = chain.add(asked) {
                    return Some(SqliteJob::Write(WriteJob::Append(asked)));
                }
            }
            other => return Some(other),
        }
    }
    None
}

/// Makes one change of a group in a savepoint: a failure leaves nothing behind.
pub(super) fn in_savepoint<T>(
    file: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    execute_cached(file, "SAVEPOINT change")?;
    let done = work(file);
    let undone = if done.is_ok() { Ok(()) } else { execute_cached(file, "ROLLBACK TO change") };
    let ended = undone.and_then(|()| execute_cached(file, "RELEASE change"));
    done.and_then(|done| ended.map(|()| done))
}

/// Runs a statement that is used for every change, so that it is prepared once.
fn execute_cached(file: &Connection, words: &str) -> Result<(), Fault> {
    let said = file.prepare_cached(words).and_then(|mut words| words.execute([]));
    said.map(|_| ()).map_err(|error| fault::of(&error))
}
