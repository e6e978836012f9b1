//! A writer's turn at a thread that others write to as well.
//!
//! Writers do not wait for each other: each adds to what it knows of the thread, and
//! whoever was late reads what was added and tries again. One that needs long for
//! that could be late for ever. After some tries it takes the thread for itself.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use antiphon_core::{Fault, Seed};

use super::OWNER;
use crate::checkpoint_writer::free;
use crate::log::SealedStore;
use crate::owner;

/// One writer's tries to write something to a thread.
pub struct WriteTurn {
    sealed_store: SealedStore,
    thread: String,
    /// How often somebody else was first.
    late: u32,
    /// The name under which this writer has the thread for itself.
    alone: Option<String>,
    until: Instant,
}

impl WriteTurn {
    /// For so long a thread is held in the name of all writers.
    pub const TERM: Duration = Duration::from_secs(10);
    /// For so long it stays with a writer who had it alone and is gone, where nobody
    /// can tell that it is.
    const ALONE: Duration = Duration::from_secs(5);
    /// So often somebody else may be first.
    const LATE: u32 = 4;
    /// How long to wait for whoever has the thread alone.
    const PAUSE: Duration = Duration::from_millis(20);
    /// For so long a thread may be held by somebody else until that is an error.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// A writer's first try.
    pub fn new(sealed_store: &SealedStore, thread: &str) -> Self {
        let until = Instant::now() + Self::PATIENCE;
        let (sealed_store, thread) = (sealed_store.clone(), thread.to_owned());
        Self { sealed_store, thread, late: 0, alone: None, until }
    }

    /// The name under which this writer has the thread for itself, if it has.
    pub fn alone(&self) -> Option<&str> {
        self.alone.as_deref()
    }

    /// Goes on after a try that failed: says how long to wait before the next one.
    ///
    /// # Errors
    /// `fault`, unless it says that others have the thread, and not for too long.
    pub async fn failed(&mut self, fault: Fault) -> Result<Duration, Fault> {
        match &*fault.code {
            "thread_conflict" => self.late += 1,
            "thread_busy" => {}
            _ => return Err(fault),
        }
        if Instant::now() >= self.until {
            return Err(fault);
        }
        if fault.code == "thread_busy" {
            return self.freed(fault).await;
        }
        // Whoever had it alone and was late all the same has lost it.
        self.leave();
        if self.late < Self::LATE { Ok(Duration::ZERO) } else { self.take().await }
    }

    /// Takes the thread away from all who write together; if somebody else has it alone,
    /// says how long to wait before the next try.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn take(&mut self) -> Result<Duration, Fault> {
        let seed = RandomState::new().hash_one(std::process::id());
        let own = owner::new(Seed::new(seed));
        let store = self.sealed_store.store();
        let released = store.release(&self.thread, OWNER);
        let claimed = store.claim(&self.thread, &own, Self::ALONE);
        // It may be ours from now on, also if nobody waits any more.
        self.alone = Some(own);
        let taken = match released.await {
            Ok(()) => claimed.await,
            Err(fault) => Err(fault),
        };
        let Err(fault) = taken else { return Ok(Duration::ZERO) };
        self.leave();
        if fault.code == "thread_busy" { self.freed(fault).await } else { Err(fault) }
    }

    /// Frees a thread whose holder is gone; anybody else is waited for.
    async fn freed(&self, fault: Fault) -> Result<Duration, Fault> {
        match free(&self.sealed_store, &self.thread, fault).await {
            Ok(()) => Ok(Duration::ZERO),
            Err(fault) if fault.code == "thread_busy" => Ok(Self::PAUSE),
            Err(fault) => Err(fault),
        }
    }

    /// Gives it back to them.
    pub fn leave(&mut self) {
        if let Some(own) = self.alone.take() {
            // Queued at once.
            drop(self.sealed_store.release(&self.thread, &own));
        }
    }
}

impl Drop for WriteTurn {
    fn drop(&mut self) {
        self.leave();
    }
}
