//! Retry policies.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::seed::Seed;

/// How many attempts are made, and the pauses between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Attempts in all, the first included.
    pub max_attempts: u32,
    /// The pause before the second attempt.
    pub initial: Duration,
    /// What each further pause is multiplied by.
    pub factor: f64,
    /// The longest pause.
    pub cap: Duration,
    /// Randomises the pauses.
    pub jitter: Jitter,
}

/// Randomises the pauses, so that many clients do not return at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// The pause is exact.
    None,
    /// Between zero and the pause.
    Full,
    /// The pause and up to one second more, as LangGraph does.
    Additive,
}

impl Default for RetryPolicy {
    /// Three attempts, one second doubling up to a minute, full jitter.
    fn default() -> Self {
        Self {
            max_attempts: 3,
            initial: Duration::from_secs(1),
            factor: 2.0,
            cap: Duration::from_mins(1),
            jitter: Jitter::Full,
        }
    }
}

impl RetryPolicy {
    /// A single attempt.
    pub fn never() -> Self {
        Self { max_attempts: 1, ..Self::default() }
    }

    /// The pause after attempt number `attempt` (the first is 1) failed with `fault`, or `None` if
    /// that was the last attempt. A pause that the server asked for is the minimum; jitter is added
    /// to it, because a server that rejects many clients at once tells all of them the same number.
    pub fn pause(&self, attempt: u32, fault: &Fault, seed: Seed) -> Option<Duration> {
        if attempt >= self.max_attempts {
            return None;
        }
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let cap = self.cap.as_secs_f64();
        let first = self.initial.as_secs_f64();
        // Zero times infinity is NaN, which would become the cap.
        let base = if first > 0.0 { (first * self.factor.powi(exponent)).min(cap) } else { 0.0 };
        let chance = seed.child(u64::from(attempt)).unit();
        let pause = match self.jitter {
            Jitter::None => base,
            Jitter::Full => base * chance,
            Jitter::Additive => base + chance,
        };
        let pause = Duration::try_from_secs_f64(pause).unwrap_or(self.cap);
        Some(match (fault.retry_after, self.jitter) {
            (None, _) => pause,
            (Some(floor), Jitter::None) => pause.max(floor),
            (Some(floor), Jitter::Full | Jitter::Additive) => floor.saturating_add(pause),
        })
    }
}
