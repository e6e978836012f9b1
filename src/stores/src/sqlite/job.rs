//! What is asked of a file.

use antiphon_core::Fault;
use rusqlite::Connection;

use super::chain::{BatchChain, PendingBatch};
use super::fault;
use super::queue::Consumer;

/// So many changes at most go into one transaction.
pub(super) const GROUP: usize = 512;

/// Tells whoever asked, once it is known whether the transaction holds.
pub(super) type JobReply = Box<dyn FnOnce(Result<(), Fault>) + Send>;

/// Makes one change, or hears why there is no transaction to make it in.
pub(super) type ChangeJob = Box<dyn FnOnce(Result<&Connection, &Fault>) -> JobReply + Send>;

/// Looks something up, or hears why it cannot.
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
    /// Makes the change, and with it those queued behind it that can be made at
    /// once; says how many that were, and gives back the first job that is none.
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

    /// There is no transaction to make it in.
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

/// One change of a group: what fails leaves nothing behind.
pub(super) fn in_savepoint<T>(
    file: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    said(file, "SAVEPOINT change")?;
    let done = work(file);
    let undone = if done.is_ok() { Ok(()) } else { said(file, "ROLLBACK TO change") };
    let ended = undone.and_then(|()| said(file, "RELEASE change"));
    done.and_then(|done| ended.map(|()| done))
}

/// What is said for every change is understood once.
fn said(file: &Connection, words: &str) -> Result<(), Fault> {
    let said = file.prepare_cached(words).and_then(|mut words| words.execute([]));
    said.map(|_| ()).map_err(|error| fault::of(&error))
}
