//! What every engine can do. The conformance suite of `antiphon-sandbox`
//! says in tests what these sentences mean.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{GuestFault, JobOutcome, SandboxJob, SandboxProbe};

/// Says why a job must stop, once it must. Asked often, from the thread that
/// waits for the job; it must not block.
pub type StopCheck<'a> = &'a (dyn Fn() -> Option<String> + Sync);

/// The functions of the host that a guest may call, and nothing else of it.
///
/// A call is made on its own thread, so that a deadline can pass it by: a
/// call that takes too long is left to end by itself, and nobody hears of it.
pub trait HostCalls: Send + Sync {
    /// Calls `name`, which the job listed, with tagged values.
    ///
    /// # Errors
    /// The part of a failure that the guest may know, and no more.
    fn call(
        &self,
        name: &str,
        args: Vec<Json>,
        kwargs: Map<String, Json>,
    ) -> Result<Json, CallError>;
}

/// The failure of a host function, as the guest sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// Name of the exception's type.
    pub kind: String,
    /// One sentence that the host chose to show.
    pub message: String,
}

/// An engine that runs code which must be able to do no harm.
pub trait Sandbox: Send + Sync {
    /// The isolation that it provides on this machine; determined once.
    fn probe(&self) -> SandboxProbe;

    /// Runs a job in a clean interpreter, and leaves nothing of it behind.
    /// Returns when the job has ended, at the latest shortly after its
    /// deadline or after `halt` gave a reason.
    fn run(
        &self,
        job: &SandboxJob,
        host: Option<Arc<dyn HostCalls>>,
        halt: StopCheck<'_>,
    ) -> JobOutcome;

    /// Opens an interpreter that keeps its names from job to job.
    ///
    /// # Errors
    /// `unavailable` if no worker can be had.
    fn open(&self) -> Result<Box<dyn Session>, Box<GuestFault>>;
}

/// An interpreter that lives on between jobs.
pub trait Session: Send {
    /// Runs a job in it. A job that breaks a limit, crashes or is cancelled
    /// ends the session: those that follow are `crashed`.
    fn run(
        &mut self,
        job: &SandboxJob,
        host: Option<Arc<dyn HostCalls>>,
        halt: StopCheck<'_>,
    ) -> JobOutcome;

    /// The state of the interpreter as bytes, where the engine can do that.
    ///
    /// # Errors
    /// What kept the engine from it.
    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, Box<GuestFault>>;
}
