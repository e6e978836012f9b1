//! Something that was asked of a database, until it is answered.

use antiphon_core::Fault;
use antiphon_runtime::store::Answer;
use futures_util::future::LocalBoxFuture;
use tokio::sync::oneshot;

use super::fault::{self, Done, Trouble};
use super::link::Link;

/// Where an answer goes. Whoever asked may have gone.
pub(super) type Reply<T> = oneshot::Sender<Result<T, Fault>>;

/// What is asked, in a form that can be tried more than once.
pub(super) trait Work: Send {
    /// Tries it, and answers unless the trouble may pass. `again` says that it
    /// was tried before, and may have happened.
    fn run<'a>(&'a mut self, link: &'a Link, again: bool) -> LocalBoxFuture<'a, Done<()>>;

    /// Answers that it could not be done.
    fn fail(&mut self, fault: &Fault);

    /// Whether it is to be done nevertheless, once it can be.
    fn is_owed(&self) -> bool {
        false
    }
}

/// Work that has the same effect however often it is done.
pub(super) struct Asked<T, W> {
    work: W,
    reply: Option<Reply<T>>,
    is_owed: bool,
}

impl<T, W> Asked<T, W>
where
    T: Send + 'static,
    W: AsyncFnMut(&Link) -> Done<T> + Send + 'static,
{
    /// The work, and its answer.
    pub(super) fn of(work: W, is_owed: bool) -> (Box<dyn Work>, Answer<T>) {
        let (reply, answer) = oneshot::channel();
        (Box::new(Self { work, reply: Some(reply), is_owed }), answered(answer))
    }

    fn reply(&mut self, answer: Result<T, Fault>) {
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(answer);
        }
    }
}

impl<T, W> Work for Asked<T, W>
where
    T: Send + 'static,
    W: AsyncFnMut(&Link) -> Done<T> + Send + 'static,
{
    fn run<'a>(&'a mut self, link: &'a Link, _again: bool) -> LocalBoxFuture<'a, Done<()>> {
        Box::pin(async move {
            match (self.work)(link).await {
                Ok(done) => self.reply(Ok(done)),
                Err(Trouble::Failed(fault)) => self.reply(Err(fault)),
                Err(trouble) => return Err(trouble),
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

/// An answer that comes from another thread.
pub(super) fn answered<T: Send + 'static>(
    answer: oneshot::Receiver<Result<T, Fault>>,
) -> Answer<T> {
    Box::pin(async move { answer.await.unwrap_or_else(|_| Err(fault::gone())) })
}
