//! Queries about single threads that are combined into one statement.

use std::collections::VecDeque;

use antiphon_core::Fault;
use antiphon_runtime::store::{Entry, EntryKind, EntryMark, EntryRange, EntryTag};
use futures_util::future::LocalBoxFuture;

use super::fault::{PostgresFault, PostgresResult};
use super::link::Connection;
use super::statements as sql;
use super::work::{RetriableWork, WorkReply};

/// A query that can be made about many threads in one statement.
pub(super) trait BatchedQuery: Sized + Send + 'static {
    type Answer: Send + 'static;

    /// The most queries in one statement.
    const LIMIT: usize;

    /// Runs the queries; returns an answer or a fault for each. A failure fails all of them.
    async fn ask(
        all: &mut [Self],
        link: &Connection,
    ) -> PostgresResult<Vec<Result<Self::Answer, Fault>>>;
}

/// The entries of a thread in a range.
pub(super) struct ReadQuery {
    pub(super) thread: String,
    pub(super) span: EntryRange,
}

/// The marks of a thread in a range, optionally of one kind only.
pub(super) struct MarksQuery {
    pub(super) thread: String,
    pub(super) span: EntryRange,
    pub(super) kind: Option<EntryKind>,
}

/// The deletion of a thread.
pub(super) struct DeleteQuery {
    pub(super) thread: String,
    /// The row that an earlier attempt found: a thread that was created under the same name
    /// since then is another one.
    pub(super) found: Option<i64>,
    /// Whether an earlier attempt has deleted it, unless that was rolled back.
    pub(super) removed: bool,
}

impl BatchedQuery for ReadQuery {
    type Answer = Vec<Entry>;
    // Each answer may be as large as a whole state.
    const LIMIT: usize = 64;

    async fn ask(
        all: &mut [Self],
        link: &Connection,
    ) -> PostgresResult<Vec<Result<Vec<Entry>, Fault>>> {
        let found = match all {
            [alone] => vec![sql::read(link, &alone.thread, alone.span).await?],
            all => sql::read_all(link, all).await?,
        };
        Ok(found.into_iter().map(Ok).collect())
    }
}

impl BatchedQuery for MarksQuery {
    type Answer = Vec<(EntryMark, EntryTag)>;
    const LIMIT: usize = 256;

    async fn ask(
        all: &mut [Self],
        link: &Connection,
    ) -> PostgresResult<Vec<Result<Vec<(EntryMark, EntryTag)>, Fault>>> {
        let found = match all {
            [alone] => vec![sql::marks(link, &alone.thread, alone.span, alone.kind).await?],
            all => sql::marks_all(link, all).await?,
        };
        Ok(found.into_iter().map(Ok).collect())
    }
}

impl BatchedQuery for DeleteQuery {
    type Answer = bool;
    const LIMIT: usize = 256;

    async fn ask(all: &mut [Self], link: &Connection) -> PostgresResult<Vec<Result<bool, Fault>>> {
        link.in_transaction(async || sql::delete_all(link, all).await).await
    }
}

/// Queries of one kind, in the order of their requests.
pub(super) struct QueryGroup<Q: BatchedQuery> {
    queries: Vec<Q>,
    replies: VecDeque<WorkReply<Q::Answer>>,
    /// Whether the group failed as a whole: its queries are then run one by one.
    apart: bool,
}

impl<Q: BatchedQuery> QueryGroup<Q> {
    pub(super) fn new(query: Q, reply: WorkReply<Q::Answer>) -> Self {
        Self { queries: vec![query], replies: VecDeque::from([reply]), apart: false }
    }

    pub(super) fn is_full(&self) -> bool {
        self.queries.len() >= Q::LIMIT
    }

    pub(super) fn add(&mut self, query: Q, reply: WorkReply<Q::Answer>) {
        self.queries.push(query);
        self.replies.push_back(reply);
    }

    /// Answers the first queries.
    fn reply(&mut self, answers: Vec<Result<Q::Answer, Fault>>) {
        let answered = answers.len().min(self.queries.len());
        self.queries.drain(..answered);
        // The caller may be gone.
        for (reply, answer) in self.replies.drain(..answered).zip(answers) {
            let _ = reply.send(answer);
        }
    }

    async fn one_by_one(&mut self, link: &Connection) -> PostgresResult<()> {
        while let Some(first) = self.queries.get_mut(..1) {
            let answers = match Q::ask(first, link).await {
                Ok(answers) => answers,
                Err(PostgresFault::Failed(fault)) => vec![Err(fault)],
                Err(fault) => return Err(fault),
            };
            self.reply(answers);
        }
        Ok(())
    }
}

impl<Q: BatchedQuery> RetriableWork for QueryGroup<Q> {
    fn run<'a>(
        &'a mut self,
        link: &'a Connection,
        _again: bool,
    ) -> LocalBoxFuture<'a, PostgresResult<()>> {
        Box::pin(async move {
            if !self.apart {
                match Q::ask(&mut self.queries, link).await {
                    Ok(answers) => {
                        self.reply(answers);
                        return Ok(());
                    }
                    Err(PostgresFault::Failed(_)) => self.apart = true,
                    Err(fault) => return Err(fault),
                }
            }
            self.one_by_one(link).await
        })
    }

    fn fail(&mut self, fault: &Fault) {
        let answers = self.queries.iter().map(|_| Err(fault.clone())).collect();
        self.reply(answers);
    }
}
