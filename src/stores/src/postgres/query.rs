//! Questions about single threads that wait for the same connection: asked together.

use std::collections::VecDeque;

use antiphon_core::Fault;
use antiphon_runtime::store::{Entry, EntryKind, EntryMark, EntryRange, EntryTag};
use futures_util::future::LocalBoxFuture;

use super::fault::{PostgresFault, PostgresResult};
use super::link::Connection;
use super::statements as sql;
use super::work::{RetriableWork, WorkReply};

/// Something that can be asked about many threads in one statement.
pub(super) trait Query: Sized + Send + 'static {
    type Answer: Send + 'static;

    /// So many are asked at most together.
    const LIMIT: usize;

    /// Asks; an answer, or why there is none, for each. A failure is one of all of them.
    async fn ask(
        all: &mut [Self],
        link: &Connection,
    ) -> PostgresResult<Vec<Result<Self::Answer, Fault>>>;
}

/// The entries of a thread with these numbers.
pub(super) struct ReadQuery {
    pub(super) thread: String,
    pub(super) span: EntryRange,
}

/// The same without what is in them; of one kind only, if one is named.
pub(super) struct MarksQuery {
    pub(super) thread: String,
    pub(super) span: EntryRange,
    pub(super) kind: Option<EntryKind>,
}

/// That a thread be removed.
pub(super) struct DeleteQuery {
    pub(super) thread: String,
    /// The thread that an earlier try has come upon: one that has got its name
    /// since is another one.
    pub(super) found: Option<i64>,
    /// An earlier try has removed it, unless that was undone.
    pub(super) removed: bool,
}

impl Query for ReadQuery {
    type Answer = Vec<Entry>;
    // Each may weigh as much as a whole state.
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

impl Query for MarksQuery {
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

impl Query for DeleteQuery {
    type Answer = bool;
    const LIMIT: usize = 256;

    async fn ask(all: &mut [Self], link: &Connection) -> PostgresResult<Vec<Result<bool, Fault>>> {
        link.in_transaction(async || sql::delete_all(link, all).await).await
    }
}

/// Questions of one kind, in the order in which they were asked.
pub(super) struct QueryGroup<Q: Query> {
    queries: Vec<Q>,
    replies: VecDeque<WorkReply<Q::Answer>>,
    /// One of them fails all of them: they are asked one by one.
    apart: bool,
}

impl<Q: Query> QueryGroup<Q> {
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

    /// Answers the first ones.
    fn reply(&mut self, answers: Vec<Result<Q::Answer, Fault>>) {
        let answered = answers.len().min(self.queries.len());
        self.queries.drain(..answered);
        // Whoever asked may have gone.
        for (reply, answer) in self.replies.drain(..answered).zip(answers) {
            let _ = reply.send(answer);
        }
    }

    async fn one_by_one(&mut self, link: &Connection) -> PostgresResult<()> {
        while let Some(first) = self.queries.get_mut(..1) {
            let answers = match Q::ask(first, link).await {
                Ok(answers) => answers,
                Err(PostgresFault::Failed(fault)) => vec![Err(fault)],
                Err(trouble) => return Err(trouble),
            };
            self.reply(answers);
        }
        Ok(())
    }
}

impl<Q: Query> RetriableWork for QueryGroup<Q> {
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
                    Err(trouble) => return Err(trouble),
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
