//! How long something is tried again after a connection was lost.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use antiphon_core::Fault;
use tokio::time::{Instant, sleep};

use super::fault::PostgresFault;

/// The attempts of one job, from its first failure until its time is up.
pub(super) struct RetrySchedule {
    timeout: Duration,
    /// When the first attempt failed.
    since: Option<Instant>,
    attempts: u32,
    chance: RandomState,
}

impl RetrySchedule {
    /// The first pauses are this long and twice as long, and so on. A connection
    /// that was merely cut is there again at once.
    const FIRST_PAUSE: Duration = Duration::from_millis(10);
    const LONGEST_PAUSE: Duration = Duration::from_secs(1);

    /// Attempts for `timeout` from the first failure on.
    pub(super) fn within(timeout: Duration) -> Self {
        Self { timeout, since: None, attempts: 0, chance: RandomState::new() }
    }

    /// How long there may be further attempts.
    pub(super) fn left(&self) -> Duration {
        let spent = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.timeout.saturating_sub(spent)
    }

    /// Waits until the next attempt is due; whoever is told to make `haste` gives
    /// up sooner.
    ///
    /// # Errors
    /// What is to be told to whoever asked, once time is up.
    pub(super) async fn pause(
        &mut self,
        trouble: PostgresFault,
        haste: Option<Duration>,
    ) -> Result<(), Fault> {
        self.attempts += 1;
        let spent = self.since.get_or_insert_with(Instant::now).elapsed();
        let timeout = haste.map_or(self.timeout, |haste| haste.min(self.timeout));
        if spent >= timeout {
            return Err(trouble.after(self.attempts, spent));
        }
        sleep(self.next_pause().min(timeout.saturating_sub(spent))).await;
        Ok(())
    }

    /// Twice as long each time, less up to a half: what was cut at once shall not
    /// come back at once.
    fn next_pause(&self) -> Duration {
        let doublings = match self.attempts {
            // The likely case, a single cut, costs no pause.
            ..=1 => return Duration::ZERO,
            attempts => (attempts - 2).min(10),
        };
        let longest = (Self::FIRST_PAUSE * 2_u32.pow(doublings)).min(Self::LONGEST_PAUSE);
        let half = longest / 2;
        let share = u32::try_from(self.chance.hash_one(self.attempts) % 1024).unwrap_or_default();
        half + half * share / 1024
    }
}
