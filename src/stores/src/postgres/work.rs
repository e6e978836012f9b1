//! Requests to a database, until they are answered.

use antiphon_core::Fault;
use antiphon_runtime::store::StoreFuture;
use futures_util::future::LocalBoxFuture;
use tokio::sync::oneshot;

use super::fault::{self, PostgresFault, PostgresResult};
use super::link::Connection;

/// The receiver of an answer. It may be gone.
pub(super) type WorkReply<T> = oneshot::Sender<Result<T, Fault>>;

/// A request that can be attempted more than once.
pub(super) trait RetriableWork: Send {
    /// Attempts it, and answers unless the failure may be temporary. `again` says that an
    /// earlier attempt may have taken effect.
    fn run<'a>(
        &'a mut self,
        link: &'a Connection,
        again: bool,
    ) -> LocalBoxFuture<'a, PostgresResult<()>>;

    /// Answers with a fault.
    fn fail(&mut self, fault: &Fault);

    /// Whether it must still be carried out after its caller has received a fault.
    fn is_owed(&self) -> bool {
        false
    }
}

/// An idempotent request.
pub(super) struct IdempotentWork<T, W> {
    work: W,
    reply: Option<WorkReply<T>>,
    is_owed: bool,
}

impl<T, W> IdempotentWork<T, W>
where
    T: Send + 'static,
    W: AsyncFnMut(&Connection) -> PostgresResult<T> + Send + 'static,
{
    /// The request and the future of its answer.
    pub(super) fn of(work: W, is_owed: bool) -> (Box<dyn RetriableWork>, StoreFuture<T>) {
        let (reply, answer) = oneshot::channel();
        (Box::new(Self { work, reply: Some(reply), is_owed }), answered(answer))
    }

    fn reply(&mut self, answer: Result<T, Fault>) {
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(answer);
        }
    }
}

impl<T, W> RetriableWork for IdempotentWork<T, W>
where
    T: Send + 'static,
    W: AsyncFnMut(&Connection) -> PostgresResult<T> + Send + 'static,
{
    fn run<'a>(
        &'a mut self,
        link: &'a Connection,
        _again: bool,
    ) -> LocalBoxFuture<'a, PostgresResult<()>> {
        Box::pin(async move {
            match (self.work)(link).await {
                Ok(done) => self.reply(Ok(done)),
                Err(PostgresFault::Failed(fault)) => self.reply(Err(fault)),
                Err(fault) => return Err(fault),
            }
            Ok(())
        })
    }

    fn fail(&mut self, fault: &Fault) {
        self.reply(Err(fault.clone()));
    }

    fn is_owed(&self) -> bool {
        self.is_owed
    }
}

/// A future of an answer that another thread sends.
pub(super) fn answered<T: Send + 'static>(
    answer: oneshot::Receiver<Result<T, Fault>>,
) -> StoreFuture<T> {
    Box::pin(async move { answer.await.unwrap_or_else(|_| Err(fault::gone())) })
}
