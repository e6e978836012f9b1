//! Retries after a lost connection.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use antiphon_core::Fault;
use tokio::time::{Instant, sleep};

use super::fault::PostgresFault;

/// The attempts of one request, from its first failure to its deadline.
pub(super) struct RetrySchedule {
    timeout: Duration,
    /// The time of the first failure.
    since: Option<Instant>,
    attempts: u32,
    chance: RandomState,
}

impl RetrySchedule {
    /// The first pause; it doubles each time. After a mere cut the server answers at once.
    const FIRST_PAUSE: Duration = Duration::from_millis(10);
    const LONGEST_PAUSE: Duration = Duration::from_secs(1);

    /// A schedule that ends `timeout` after the first failure.
    pub(super) fn within(timeout: Duration) -> Self {
        Self { timeout, since: None, attempts: 0, chance: RandomState::new() }
    }

    /// The time that is left.
    pub(super) fn left(&self) -> Duration {
        let spent = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.timeout.saturating_sub(spent)
    }

    /// Waits until the next attempt is due; `time_limit` shortens the deadline.
    ///
    /// # Errors
    /// The fault to report, once the deadline is over.
    pub(super) async fn pause(
        &mut self,
        fault: PostgresFault,
        time_limit: Option<Duration>,
    ) -> Result<(), Fault> {
        self.attempts += 1;
        let spent = self.since.get_or_insert_with(Instant::now).elapsed();
        let timeout = time_limit.map_or(self.timeout, |time_limit| time_limit.min(self.timeout));
        if spent >= timeout {
            return Err(fault.after(self.attempts, spent));
        }
        sleep(self.next_pause().min(timeout.saturating_sub(spent))).await;
        Ok(())
    }

    /// Doubles each time, less a random part of up to a half: connections that were cut together
    /// should not return together.
    fn next_pause(&self) -> Duration {
        let doublings = match self.attempts {
            // In the likely case, a single cut, there is no pause.
            ..=1 => return Duration::ZERO,
            attempts => (attempts - 2).min(10),
        };
        let longest = (Self::FIRST_PAUSE * 2_u32.pow(doublings)).min(Self::LONGEST_PAUSE);
        let half = longest / 2;
        let share = u32::try_from(self.chance.hash_one(self.attempts) % 1024).unwrap_or_default();
        half + half * share / 1024
    }
}
