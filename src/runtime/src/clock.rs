//! System time, and time that a test moves by hand.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use antiphon_core::Time;
use tokio::sync::oneshot;

/// Where a driver takes the time from.
pub trait Clock: Send + Sync {
    /// The present instant; never earlier than the last one returned.
    fn now(&self) -> Time;

    /// The present instant of a clock that all processes of this machine share
    /// and that nobody sets: for terms that one process keeps and another one
    /// looks at. It begins again when the machine does. Where there is no such
    /// clock it is [`Clock::now`], the default.
    fn shared(&self) -> Time {
        self.now()
    }

    /// Ends after `delay`.
    fn sleep(&self, delay: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// The machine's own time, steadied so that it never runs backwards.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
    epoch: Time,
}

impl SystemClock {
    /// Reads the wall clock once; from then on time only moves forward.
    pub fn new() -> Self {
        let since_epoch =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), epoch: Time::default() + since_epoch }
    }

    /// The instant at which it was made.
    pub const fn began(&self) -> Time {
        self.epoch
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Time {
        self.epoch + self.started.elapsed()
    }

    /// Since the machine began, its sleep included.
    #[cfg(target_os = "linux")]
    fn shared(&self) -> Time {
        let since = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let since = Duration::try_from(since).unwrap_or_default();
        Time::default() + since
    }

    fn sleep(&self, delay: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        // Tokio's timer counts in milliseconds: even no time would last until the next one.
        if delay.is_zero() {
            return Box::pin(std::future::ready(()));
        }
        Box::pin(tokio::time::sleep(delay))
    }
}

/// Time that stands still until a test moves it. A sleeper wakes as soon as
/// its instant is reached, so no test ever waits.
#[derive(Debug, Default)]
pub struct ManualClock {
    state: Mutex<Sleepers>,
}

#[derive(Debug, Default)]
struct Sleepers {
    now: Time,
    next: u64,
    waiting: BTreeMap<(Time, u64), oneshot::Sender<()>>,
    automatic: bool,
}

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn at(now: Time) -> Self {
        Self { state: Mutex::new(Sleepers { now, ..Sleepers::default() }) }
    }

    /// A clock that jumps to the end of each sleep as soon as it is asked for.
    pub fn jumping() -> Self {
        Self { state: Mutex::new(Sleepers { automatic: true, ..Sleepers::default() }) }
    }

    /// Moves time forward and fires the timers that are due.
    pub fn advance(&self, delay: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.now = state.now + delay;
        let now = state.now;
        let later = state.waiting.split_off(&(now, u64::MAX));
        let pending = std::mem::replace(&mut state.waiting, later);
        drop(state);
        for sleeper in pending.into_values() {
            // A sleeper that was dropped needs no waking.
            let _ = sleeper.send(());
        }
    }

    /// When the next sleeper wants to be woken, of those who still wait.
    pub fn next_wake(&self) -> Option<Time> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.retain(|_, sleeper| !sleeper.is_closed());
        state.waiting.first_key_value().map(|((at, _), _)| *at)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).now
    }

    fn sleep(&self, delay: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let at = state.now + delay;
        if state.automatic || delay.is_zero() {
            state.now = at;
            return Box::pin(std::future::ready(()));
        }
        let (sender, woken) = oneshot::channel();
        state.next += 1;
        let key = (at, state.next);
        state.waiting.insert(key, sender);
        Box::pin(async move {
            // The clock is gone: nobody will ever move the time again.
            let _ = woken.await;
        })
    }
}
