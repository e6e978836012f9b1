//! Classifies the end of a worker.

use std::time::Duration;

use antiphon_runtime::sandbox::{GuestFault, GuestFaultKind, SandboxLimits};

use super::calls::CallFault;
use crate::sys::process::ProcessEnd;

/// The exit code of `boot.py` if a worker cannot be sealed.
pub(super) const UNSEALED: i32 = 97;

/// Why the host stopped listening to a worker.
pub(super) enum StopReason {
    /// The wall-clock limit was reached.
    Time,
    /// It was not ready within this time.
    Late(Duration),
    /// It wrote too much output.
    Output,
    /// The caller cancelled, for this reason.
    Halted(String),
    /// It made a call that is not allowed.
    Call(CallFault),
    /// It violated the protocol.
    Protocol(String),
    /// It closed its channel.
    Gone,
}

/// How a worker ended.
pub(super) struct WorkerEnd {
    /// Its exit status and usage, if known.
    pub(super) end: Option<ProcessEnd>,
    /// The kernel has killed a process for its memory.
    pub(super) starved: bool,
    /// It may have read the job.
    pub(super) has_started: bool,
}

/// The fault for this end.
pub(super) fn classify(stop: StopReason, manner: &WorkerEnd, limits: &SandboxLimits) -> GuestFault {
    let is_late = matches!(stop, StopReason::Late(_));
    let mut fault = reason(stop, manner, limits);
    if !manner.has_started && (is_late || fault.kind == GuestFaultKind::TimeLimit) {
        // A worker that cannot start is not the job's fault.
        fault.kind = GuestFaultKind::Unavailable;
        if !is_late {
            fault.message = format!("the worker was not ready for a job: {}", fault.message);
        }
    }
    fault
}

fn reason(stop: StopReason, manner: &WorkerEnd, limits: &SandboxLimits) -> GuestFault {
    let (kind, message) = match stop {
        StopReason::Late(limit) if manner.has_started => (
            GuestFaultKind::TimeLimit,
            format!("the previous run continued for more than {limit:?}"),
        ),
        StopReason::Late(limit) => (
            GuestFaultKind::Crashed,
            format!("the worker was not ready for a job within {limit:?}"),
        ),
        StopReason::Time => {
            (GuestFaultKind::TimeLimit, format!("it ran longer than {:?}", limits.wall))
        }
        StopReason::Output => (GuestFaultKind::OutputLimit, "it wrote too much output".to_owned()),
        StopReason::Halted(reason) => (GuestFaultKind::Cancelled, reason),
        StopReason::Call(CallFault::Denied(name)) => (
            GuestFaultKind::HostCallDenied,
            format!("it called a function that was not granted: {name}"),
        ),
        StopReason::Call(CallFault::TooMany(most)) => {
            (GuestFaultKind::HostCallLimit, format!("it called the host more than {most} times"))
        }
        StopReason::Call(CallFault::Protocol(why)) => {
            (GuestFaultKind::Crashed, format!("the worker broke the protocol: {why}"))
        }
        StopReason::Protocol(why) => {
            (GuestFaultKind::Crashed, format!("the worker broke the protocol: {why}"))
        }
        StopReason::Gone => return gone(manner, limits),
    };
    GuestFault::new(kind, message)
}

fn gone(
    &WorkerEnd { end, starved, has_started }: &WorkerEnd,
    limits: &SandboxLimits,
) -> GuestFault {
    let Some(end) = end else {
        return GuestFault::new(GuestFaultKind::Crashed, "the worker ended for an unknown reason");
    };
    // A guest can send itself any signal and exit with any code, so these count only together
    // with what the host measures. Half of the limit is enough: the kernel enforces the limit by
    // whole ticks, of which processes on the same core may each have used a part, while its
    // accounting is exact. A guest that stops halfway and pretends to have hit the limit gains
    // nothing.
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
            (GuestFaultKind::Crashed, format!("the worker was killed by signal: {signal}"))
        }
        (None, Some(UNSEALED)) if !has_started => {
            (GuestFaultKind::Unavailable, "the worker could not be sealed".to_owned())
        }
        (None, code) => (
            GuestFaultKind::Crashed,
            format!("the worker exited without an outcome, with code: {}", code.unwrap_or(-1)),
        ),
    };
    GuestFault::new(kind, message)
}
