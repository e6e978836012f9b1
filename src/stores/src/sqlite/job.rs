//! What is asked of a file.

use antiphon_core::Fault;
use rusqlite::Connection;

use super::chain::Chain;
use super::fault;
use super::queue::Doer;

/// So many changes at most go into one transaction.
pub(super) const GROUP: usize = 512;

/// Tells whoever asked, once it is known whether the transaction holds.
pub(super) type Reply = Box<dyn FnOnce(Result<(), Fault>) + Send>;

/// Makes one change, or hears why there is no transaction to make it in.
pub(super) type Change = Box<dyn FnOnce(Result<&Connection, &Fault>) -> Reply + Send>;

/// Looks something up, or hears why it cannot.
pub(super) type Look = Box<dyn FnOnce(Result<&Connection, Fault>) + Send>;

pub(super) enum Job {
    Read(Look),
    Write(Write),
}

pub(super) enum Write {
    Change(Change),
    Append(Chain),
}

impl Write {
    /// How many changes it is.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Change(_) => 1,
            Self::Append(chain) => chain.len(),
        }
    }

    /// Makes what is queued behind it one with it, as far as it can be; gives back
    /// the first job that cannot.
    pub(super) fn gather(&mut self, queue: &mut Doer<Job>) -> Option<Job> {
        let Self::Append(chain) = self else { return None };
        while chain.len() < GROUP {
            match queue.more()? {
                Job::Write(Self::Append(other)) => {
                    if let Some(other) = chain.add(other) {
                        return Some(Job::Write(Self::Append(other)));
                    }
                }
                other => return Some(other),
            }
        }
        None
    }

    pub(super) fn carry_out(self, file: Result<&Connection, &Fault>) -> Reply {
        match self {
            Self::Change(change) => change(file),
            Self::Append(chain) => chain.write(file),
        }
    }
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
