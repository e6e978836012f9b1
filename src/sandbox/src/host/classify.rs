//! Why a worker is not there any more.

use std::time::Duration;

use antiphon_runtime::sandbox::{GuestFault, GuestFaultKind, SandboxLimits};

use super::calls::CallFault;
use crate::sys::process::ProcessEnd;

/// The code with which `boot.py` leaves if a worker cannot be sealed.
pub(super) const UNSEALED: i32 = 97;

/// Why the host stopped listening to a worker.
pub(super) enum StopReason {
    /// Its time is up.
    Time,
    /// It did not wait for its job within this time.
    Late(Duration),
    /// It wrote too much.
    Output,
    /// The caller gave a reason.
    Halted(String),
    /// A call of a function that it may not make.
    Call(CallFault),
    /// What it said was not in the protocol.
    Breach(String),
    /// It closed its channel.
    Gone,
}

/// How a worker ended.
pub(super) struct WorkerEnd {
    /// What is known of its end.
    pub(super) end: Option<ProcessEnd>,
    /// The kernel has ended somebody for want of memory.
    pub(super) starved: bool,
    /// It may have read a job.
    pub(super) has_begun: bool,
}

/// The trouble that this is.
pub(super) fn trouble(stop: StopReason, manner: &WorkerEnd, limits: &SandboxLimits) -> GuestFault {
    let is_late = matches!(stop, StopReason::Late(_));
    let mut trouble = reason(stop, manner, limits);
    if !manner.has_begun && (is_late || trouble.kind == GuestFaultKind::TimeLimit) {
        // What does not start is no fault of the job.
        trouble.kind = GuestFaultKind::Unavailable;
        if !is_late {
            trouble.message = format!("the worker was not ready for a job: {}", trouble.message);
        }
    }
    trouble
}

fn reason(stop: StopReason, manner: &WorkerEnd, limits: &SandboxLimits) -> GuestFault {
    let (kind, message) = match stop {
        StopReason::Late(limit) if manner.has_begun => (
            GuestFaultKind::TimeLimit,
            format!("the run before went on for longer than {limit:?} more"),
        ),
        StopReason::Late(limit) => (
            GuestFaultKind::Crashed,
            format!("the worker was not ready for a job within {limit:?}"),
        ),
        StopReason::Time => {
            (GuestFaultKind::TimeLimit, format!("it ran longer than {:?}", limits.wall))
        }
        StopReason::Output => {
            (GuestFaultKind::OutputLimit, "it wrote more than anybody would read".to_owned())
        }
        StopReason::Halted(reason) => (GuestFaultKind::Cancelled, reason),
        StopReason::Call(CallFault::Denied(name)) => (
            GuestFaultKind::HostCallDenied,
            format!("it called a function that it was not given: {name}"),
        ),
        StopReason::Call(CallFault::TooMany(most)) => {
            (GuestFaultKind::HostCallLimit, format!("it called the host more than {most} times"))
        }
        StopReason::Call(CallFault::Breach(why)) => {
            (GuestFaultKind::Crashed, format!("the worker broke the protocol: {why}"))
        }
        StopReason::Breach(why) => {
            (GuestFaultKind::Crashed, format!("the worker broke the protocol: {why}"))
        }
        StopReason::Gone => return gone(manner, limits),
    };
    GuestFault::new(kind, message)
}

fn gone(&WorkerEnd { end, starved, has_begun }: &WorkerEnd, limits: &SandboxLimits) -> GuestFault {
    let Some(end) = end else {
        return GuestFault::new(GuestFaultKind::Crashed, "the worker is gone, and nobody says why");
    };
    // A guest can send itself any signal and leave with any code, so these count only
    // together with what the host knows.
    // The kernel's limit counts whole ticks, and its accounts what was really used: beside
    // others, each takes what the other has used of a tick. A guest that stops halfway and
    // passes that off as the limit gains nothing: it might have used the other half.
    let out_of_time = end.cpu >= limits.cpu / 2;
    let (kind, message) = match (end.signal, end.code) {
        (Some(libc::SIGXCPU | libc::SIGKILL), _) if out_of_time => (
            GuestFaultKind::TimeLimit,
            format!("it used more processor time than {:?}", limits.cpu),
        ),
        (Some(libc::SIGKILL), _) if starved => {
            (GuestFaultKind::MemoryLimit, "all workers together ran out of memory".to_owned())
        }
        (Some(libc::SIGXFSZ), _) => {
            (GuestFaultKind::DiskLimit, format!("a file grew beyond {} bytes", limits.scratch))
        }
        (Some(libc::SIGKILL), _) => {
            (GuestFaultKind::Crashed, "the worker closed its channel, or was killed".to_owned())
        }
        (Some(signal), _) => {
            (GuestFaultKind::Crashed, format!("a signal ended the worker: {signal}"))
        }
        (None, Some(UNSEALED)) if !has_begun => {
            (GuestFaultKind::Unavailable, "the worker could not be sealed".to_owned())
        }
        (None, code) => (
            GuestFaultKind::Crashed,
            format!("the worker left without an outcome, with code: {}", code.unwrap_or(-1)),
        ),
    };
    GuestFault::new(kind, message)
}
