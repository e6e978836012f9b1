//! Circuit breakers: a tool that keeps failing is left alone for a while.
//!
//! ```
//! use antiphon_core::Time;
//! use antiphon_core::breaker::{BreakerPolicy, BreakerPhase, CircuitBreaker};
//!
//! let policy = BreakerPolicy { failures: 2, ..BreakerPolicy::default() };
//! let mut breaker = CircuitBreaker::new(policy);
//! let now = Time::default();
//! for _ in 0..2 {
//!     let call = breaker.admit(now).unwrap();
//!     breaker.record_failure(call, now);
//! }
//! assert_eq!(breaker.phase(), BreakerPhase::Open);
//! let refusal = breaker.admit(now).unwrap_err();
//! assert!(breaker.admit(refusal.until.unwrap()).is_ok(), "one call tries it again");
//! ```

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, FaultCode};
use crate::time::Time;

/// When a circuit opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerPolicy {
    /// Failures in a row that open it; at least 1. Default: 5.
    pub failures: u32,
    /// How long it stays open before one call tries again. Default: 30 seconds.
    pub cooldown: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self { failures: 5, cooldown: Duration::from_secs(30) }
    }
}

/// The phase of a circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerPhase {
    /// Calls are made.
    Closed,
    /// Calls are refused.
    Open,
    /// One call tries again; the others are refused.
    HalfOpen,
}

impl BreakerPhase {
    /// The name on the wire, for instance `half_open`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// A new phase of a circuit breaker, for the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerChange {
    /// The new phase.
    pub phase: BreakerPhase,
    /// Failures in a row so far.
    pub failures: u32,
    /// When the next call is admitted, if it is open.
    pub until: Option<Time>,
}

/// Why a call is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerRefusal {
    /// Failures in a row.
    pub failures: u32,
    /// When the next call is admitted; `None` while one call tries again.
    pub until: Option<Time>,
}

/// A call that a breaker has admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmittedCall {
    /// Counts the changes of phase: the outcome of a call that was admitted in an earlier phase
    /// says nothing about the present one.
    epoch: u64,
}

/// Counts the failures of one tool; time is an argument.
#[derive(Clone, Debug)]
pub struct CircuitBreaker {
    policy: BreakerPolicy,
    phase: BreakerPhase,
    failures: u32,
    until: Time,
    /// Whether the call that tries again is under way.
    tries: bool,
    epoch: u64,
}

impl CircuitBreaker {
    /// A closed circuit.
    pub const fn new(policy: BreakerPolicy) -> Self {
        let (phase, until) = (BreakerPhase::Closed, Time::from_micros(0));
        Self { policy, phase, failures: 0, until, tries: false, epoch: 0 }
    }

    /// The present phase; an open circuit stays open until a call asks after its cool-down.
    pub const fn phase(&self) -> BreakerPhase {
        self.phase
    }

    /// Failures in a row.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Asks whether a call may be made. Its outcome has to be recorded, or that it was cancelled.
    ///
    /// # Errors
    /// Until when no call may be made.
    pub fn admit(&mut self, now: Time) -> Result<AdmittedCall, BreakerRefusal> {
        let failures = self.failures;
        match self.phase {
            BreakerPhase::Closed => {}
            BreakerPhase::Open if now < self.until => {
                return Err(BreakerRefusal { failures, until: Some(self.until) });
            }
            BreakerPhase::HalfOpen if self.tries => {
                return Err(BreakerRefusal { failures, until: None });
            }
            BreakerPhase::Open => {
                self.enter(BreakerPhase::HalfOpen);
                self.tries = true;
            }
            BreakerPhase::HalfOpen => self.tries = true,
        }
        Ok(AdmittedCall { epoch: self.epoch })
    }

    /// The tool was reached, also if it refused what it was asked.
    pub fn record_success(&mut self, call: AdmittedCall) -> Option<BreakerChange> {
        if call.epoch != self.epoch {
            return None;
        }
        self.failures = 0;
        (self.phase == BreakerPhase::HalfOpen).then(|| self.enter(BreakerPhase::Closed))
    }

    /// The tool could not be reached, or took too long.
    pub fn record_failure(&mut self, call: AdmittedCall, now: Time) -> Option<BreakerChange> {
        if call.epoch != self.epoch {
            return None;
        }
        self.failures = self.failures.saturating_add(1);
        let opens = match self.phase {
            BreakerPhase::HalfOpen => true,
            BreakerPhase::Closed => self.failures >= self.policy.failures.max(1),
            BreakerPhase::Open => false,
        };
        if !opens {
            return None;
        }
        self.until = now + self.policy.cooldown;
        Some(self.enter(BreakerPhase::Open))
    }

    /// The call was cancelled, which says nothing about the tool.
    pub const fn record_cancellation(&mut self, call: AdmittedCall) {
        if call.epoch == self.epoch {
            self.tries = false;
        }
    }

    /// The present phase, as the trace shows it.
    pub fn status(&self) -> BreakerChange {
        let until = (self.phase == BreakerPhase::Open).then_some(self.until);
        BreakerChange { phase: self.phase, failures: self.failures, until }
    }

    fn enter(&mut self, phase: BreakerPhase) -> BreakerChange {
        self.phase = phase;
        self.tries = false;
        self.epoch += 1;
        self.status()
    }
}

impl BreakerRefusal {
    /// The failure of the call that is not made, as the model reads it.
    pub fn into_fault(self, tool: &str, now: Time) -> Fault {
        let Self { failures, until } = self;
        let row = format!("the tool `{tool}` has failed {failures} times in a row");
        let Some(until) = until else {
            let message = format!("{row}, and another call is trying it now");
            return Fault::new(FaultCode::ToolCircuitOpen, message)
                .hint("do without it until that call has succeeded")
                .with("tool", tool)
                .with("failures", failures);
        };
        let seconds = until.since(now).as_secs_f64().ceil();
        let message = format!("{row}; do not call it before {until}");
        Fault::new(FaultCode::ToolCircuitOpen, message)
            .hint(format!("that is in {seconds} s; do without it meanwhile"))
            .with("tool", tool)
            .with("failures", failures)
            .with("until", until.to_string())
    }
}
