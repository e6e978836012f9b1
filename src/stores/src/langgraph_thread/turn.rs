//! Turns of writers that share a thread.
//!
//! Writers do not wait for each other: each appends to the thread as it knows it, and a writer
//! that is late reads the new entries and tries again. A slow writer could be late for ever, so
//! after some attempts it takes the lease for itself.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use antiphon_core::{Fault, FaultCode, Seed};

use super::OWNER;
use crate::checkpoint_writer::free;
use crate::owner;
use crate::sealed_store::SealedStore;

/// The attempts of one writer to append something.
pub struct WriteTurn {
    sealed_store: SealedStore,
    thread: String,
    /// The number of attempts that were late.
    late: u32,
    /// The owner name under which this writer holds the lease exclusively.
    alone: Option<String>,
    until: Instant,
}

impl WriteTurn {
    /// The term of the shared lease.
    pub const TERM: Duration = Duration::from_secs(10);
    /// The term of an exclusive lease. If its writer crashes on another machine, others wait for
    /// this long.
    const ALONE: Duration = Duration::from_secs(5);
    /// The number of late attempts before a writer takes the lease for itself.
    const LATE: u32 = 4;
    /// The pause between attempts while another writer holds the lease exclusively.
    const PAUSE: Duration = Duration::from_millis(20);
    /// How long another owner may hold the thread before that is an error.
    const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

    /// The first attempt of a writer.
    pub fn new(sealed_store: &SealedStore, thread: &str) -> Self {
        let until = Instant::now() + Self::LOCK_TIMEOUT;
        let (sealed_store, thread) = (sealed_store.clone(), thread.to_owned());
        Self { sealed_store, thread, late: 0, alone: None, until }
    }

    /// The owner name under which this writer holds the lease exclusively, if it does.
    pub fn alone(&self) -> Option<&str> {
        self.alone.as_deref()
    }

    /// Handles a failed attempt: returns how long to wait before the next one.
    ///
    /// # Errors
    /// `fault`, unless it is a conflict with other writers and the deadline is not over.
    pub async fn failed(&mut self, fault: Fault) -> Result<Duration, Fault> {
        match fault.code {
            FaultCode::ThreadConflict => self.late += 1,
            FaultCode::ThreadBusy => {}
            _ => return Err(fault),
        }
        if Instant::now() >= self.until {
            return Err(fault);
        }
        if fault.code == FaultCode::ThreadBusy {
            return self.freed(fault).await;
        }
        // An exclusive holder that is late all the same has lost its lease.
        self.leave();
        if self.late < Self::LATE { Ok(Duration::ZERO) } else { self.take().await }
    }

    /// Takes the lease for this writer alone. If another writer holds it exclusively, returns
    /// how long to wait before the next attempt.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn take(&mut self) -> Result<Duration, Fault> {
        let seed = RandomState::new().hash_one(std::process::id());
        let own = owner::new(Seed::new(seed));
        let store = self.sealed_store.store();
        let released = store.release(&self.thread, OWNER);
        let claimed = store.claim(&self.thread, &own, Self::ALONE);
        // Set before the claim is awaited: if this future is dropped, the claim may still
        // succeed and must be released.
        self.alone = Some(own);
        let taken = match released.await {
            Ok(()) => claimed.await,
            Err(fault) => Err(fault),
        };
        let Err(fault) = taken else { return Ok(Duration::ZERO) };
        self.leave();
        if fault.code == FaultCode::ThreadBusy { self.freed(fault).await } else { Err(fault) }
    }

    /// Releases the lease of a writer that is gone; waits for any other.
    async fn freed(&self, fault: Fault) -> Result<Duration, Fault> {
        match free(&self.sealed_store, &self.thread, fault).await {
            Ok(()) => Ok(Duration::ZERO),
            Err(fault) if fault.code == FaultCode::ThreadBusy => Ok(Self::PAUSE),
            Err(fault) => Err(fault),
        }
    }

    /// Returns the lease to all writers.
    pub fn leave(&mut self) {
        if let Some(own) = self.alone.take() {
            // `release` queues at once.
            drop(self.sealed_store.release(&self.thread, &own));
        }
    }
}

impl Drop for WriteTurn {
    fn drop(&mut self) {
        self.leave();
    }
}
