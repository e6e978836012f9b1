//! What one question needs from outside.

use std::sync::Arc;

use antiphon_core::Seed;
use antiphon_core::budget::Limits;
use antiphon_runtime::sandbox::HostCalls;
use antiphon_runtime::{CancellationToken, Clock, ThreadRef, UserContext, Watcher};

/// What one question needs from outside.
#[derive(Clone)]
pub struct Session {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where ids and jitter come from; take it from the operating system.
    pub seed: Seed,
    /// Names the run in its events.
    pub run_id: String,
    /// Limits beside those of the settings; the narrower one counts.
    pub limits: Limits,
    /// Who else sees the events.
    pub watchers: Vec<Arc<dyn Watcher>>,
    /// Cancels the question.
    pub cancel: Option<CancellationToken>,
    /// For roles and tools that are the caller's own code.
    pub user_context: Option<UserContext>,
    /// The thread that the question is kept in.
    pub thread: Option<Arc<dyn ThreadRef>>,
    /// Answers the calls that code in a sandbox makes of the host.
    pub host_calls: Option<Arc<dyn HostCalls>>,
}

impl Session {
    /// Nobody watches or cancels, and nothing is kept; the seed is always the
    /// same.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            seed: Seed::default(),
            run_id: String::new(),
            limits: Limits::default(),
            watchers: Vec::new(),
            cancel: None,
            user_context: None,
            thread: None,
            host_calls: None,
        }
    }
}
