//! The native driver: takes a run from effect to effect on tokio.

use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_core::effect::{Ending, Question};
use antiphon_core::run::Run;
use serde_json::Value as Json;

use crate::cancellation::CancellationToken;
use crate::clock::Clock;
use crate::committer::RunCommitter;
use crate::host::Host;
use crate::start::DurableRun;
use crate::watch::Watcher;

pub(crate) mod panics;
mod session;
mod task_set;
mod work;

use session::Session;

/// Drives runs whose code is Rust. Needs a tokio runtime with its timer.
///
/// What answers at once costs no task of tokio's; what waits gets one, and so
/// starts at once all work that may hang: tools, and nodes with a time-out of their
/// own. Stopping a task drops its future and waits for that; a task that
/// blocks its thread is left behind after [`Driver::CANCEL_GRACE`].
pub struct Driver<H: ?Sized> {
    clock: Arc<dyn Clock>,
    watchers: Vec<Arc<dyn Watcher>>,
    stop: Option<CancellationToken>,
    host: Arc<H>,
}

/// How a run stopped without a failure.
#[derive(Debug, PartialEq)]
pub enum DriveOutcome {
    /// It waits for answers: [`Run::answer`], then drive it again.
    Paused(Vec<Question<Json>>),
    /// It has ended; [`Run::state`] holds its result.
    Ended(Ending),
}

impl<H: Host + ?Sized + 'static> Driver<H> {
    /// How long a task that is stopped may take to let go of its thread.
    pub const CANCEL_GRACE: std::time::Duration = std::time::Duration::from_millis(20);

    /// A driver that nobody watches.
    pub fn new(host: Arc<H>, clock: Arc<dyn Clock>) -> Self {
        Self { clock, watchers: Vec::new(), stop: None, host }
    }

    /// Hands the events of the runs to `watcher`. With no watcher at all they
    /// stay in the run, for [`Run::take_events`].
    #[must_use]
    pub fn watch(mut self, watcher: Arc<dyn Watcher>) -> Self {
        self.watchers.push(watcher);
        self
    }

    /// Cancels the runs when `stop` is pulled.
    #[must_use]
    pub fn cancel_on(mut self, stop: &CancellationToken) -> Self {
        self.stop = Some(stop.clone());
        self
    }

    /// Drives `run` until it ends, fails or asks. The run stays usable: its
    /// state and budget can be read, and a paused one be answered and driven
    /// on. Dropping the future stops all its tasks; such a run can only be
    /// cancelled ([`Run::cancel`]) and driven to its end.
    ///
    /// # Errors
    /// The fault that a run fails with; `run_abandoned` if the run waits for
    /// tasks that went down with an earlier call.
    pub async fn run(&self, run: &mut Run<Json>) -> Result<DriveOutcome, Fault> {
        Session::new(self, run, &mut RunCommitter::detached()).drive().await
    }

    /// Drives a run that is kept in a thread. When this returns, its commits are durable
    /// and the thread is free again; if the future is dropped, the thread is released,
    /// and the run can be resumed there.
    ///
    /// # Errors
    /// As [`Driver::run`]. If a commit cannot be stored, the run is cancelled, so that
    /// nothing new happens that could be lost, and this returns the store's fault.
    pub async fn run_durable(&self, kept: &mut DurableRun) -> Result<DriveOutcome, Fault> {
        // Not borrowed: a future that is dropped takes it along, and that releases the thread.
        let mut committer = std::mem::replace(&mut kept.committer, RunCommitter::detached());
        let rest = Session::new(self, &mut kept.run, &mut committer).drive().await;
        kept.committer = committer;
        rest
    }
}
