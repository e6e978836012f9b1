//! Why a worker is not there any more.

use std::time::Duration;

use antiphon_runtime::sandbox::{Kind, Limits, Trouble};

use super::calls::Refused;
use crate::sys::process::End;

/// The code with which `boot.py` leaves if a worker cannot be sealed.
pub(super) const UNSEALED: i32 = 97;

/// Why the host stopped listening to a worker.
pub(super) enum Stop {
    /// Its time is up.
    Time,
    /// It did not wait for its job within this time.
    Late(Duration),
    /// It wrote too much.
    Output,
    /// The caller gave a reason.
    Halted(String),
    /// A call of a function that it may not make.
    Call(Refused),
    /// What it said was not in the protocol.
    Breach(String),
    /// It closed its channel.
    Gone,
}

/// How a worker ended.
pub(super) struct Manner {
    /// What is known of its end.
    pub(super) end: Option<End>,
    /// The kernel has ended somebody for want of memory.
    pub(super) starved: bool,
    /// It may have read a job.
    pub(super) has_begun: bool,
}

/// The trouble that this is.
pub(super) fn trouble(stop: Stop, manner: &Manner, limits: &Limits) -> Trouble {
    let is_late = matches!(stop, Stop::Late(_));
    let mut trouble = reason(stop, manner, limits);
    if !manner.has_begun && (is_late || trouble.kind == Kind::TimeLimit) {
        // What does not start is no fault of the job.
        trouble.kind = Kind::Unavailable;
        if !is_late {
            trouble.message = format!("the worker was not ready for a job: {}", trouble.message);
        }
    }
    trouble
}

fn reason(stop: Stop, manner: &Manner, limits: &Limits) -> Trouble {
    let (kind, message) = match stop {
        Stop::Late(limit) if manner.has_begun => {
            (Kind::TimeLimit, format!("the run before went on for longer than {limit:?} more"))
        }
        Stop::Late(limit) => {
            (Kind::Crashed, format!("the worker was not ready for a job within {limit:?}"))
        }
        Stop::Time => (Kind::TimeLimit, format!("it ran longer than {:?}", limits.wall)),
        Stop::Output => (Kind::OutputLimit, "it wrote more than anybody would read".to_owned()),
        Stop::Halted(reason) => (Kind::Cancelled, reason),
        Stop::Call(Refused::Denied(name)) => {
            (Kind::HostCallDenied, format!("it called a function that it was not given: {name}"))
        }
        Stop::Call(Refused::TooMany(most)) => {
            (Kind::HostCallLimit, format!("it called the host more than {most} times"))
        }
        Stop::Call(Refused::Breach(why)) => {
            (Kind::Crashed, format!("the worker broke the protocol: {why}"))
        }
        Stop::Breach(why) => (Kind::Crashed, format!("the worker broke the protocol: {why}")),
        Stop::Gone => return gone(manner, limits),
    };
    Trouble::new(kind, message)
}

fn gone(&Manner { end, starved, has_begun }: &Manner, limits: &Limits) -> Trouble {
    let Some(end) = end else {
        return Trouble::new(Kind::Crashed, "the worker is gone, and nobody says why");
    };
    // A guest can send itself any signal and leave with any code, so these count only
    // together with what the host knows.
    // The kernel's limit counts whole ticks, and its accounts what was really used: beside
    // others, each takes what the other has used of a tick. A guest that stops halfway and
    // passes that off as the limit gains nothing: it might have used the other half.
    let out_of_time = end.cpu >= limits.cpu / 2;
    let (kind, message) = match (end.signal, end.code) {
        (Some(libc::SIGXCPU | libc::SIGKILL), _) if out_of_time => {
            (Kind::TimeLimit, format!("it used more processor time than {:?}", limits.cpu))
        }
        (Some(libc::SIGKILL), _) if starved => {
            (Kind::MemoryLimit, "all workers together ran out of memory".to_owned())
        }
        (Some(libc::SIGXFSZ), _) => {
            (Kind::DiskLimit, format!("a file grew beyond {} bytes", limits.scratch))
        }
        (Some(libc::SIGKILL), _) => {
            (Kind::Crashed, "the worker closed its channel, or was killed".to_owned())
        }
        (Some(signal), _) => (Kind::Crashed, format!("a signal ended the worker: {signal}")),
        (None, Some(UNSEALED)) if !has_begun => {
            (Kind::Unavailable, "the worker could not be sealed".to_owned())
        }
        (None, code) => (
            Kind::Crashed,
            format!("the worker left without an outcome, with code: {}", code.unwrap_or(-1)),
        ),
    };
    Trouble::new(kind, message)
}
