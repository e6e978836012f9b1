//! The right to write to a thread, kept for as long as a run lasts.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use crate::log::Vault;
use crate::process::{self, PerProcess};

/// For how long a thread stays with a run whose process is gone.
pub const TERM: Duration = Duration::from_secs(30);

/// Keeps a thread until it is dropped. It does so beside the run, because a node
/// may hold whoever drives the run for longer than a term.
#[derive(Debug)]
pub struct Lease {
    id: u64,
    process: u32,
}

/// All leases of this process, and whether somebody renews them.
struct Leases {
    renewed: bool,
    next: u64,
    held: BTreeMap<u64, Held>,
}

struct Held {
    vault: Vault,
    thread: String,
    owner: String,
}

static LEASES: PerProcess<Leases> = PerProcess::new(Leases::none(), Leases::none);

impl Lease {
    /// Keeps a thread that was claimed just now.
    #[must_use]
    pub fn keep(vault: Vault, thread: String, owner: String) -> Self {
        let mut leases = Leases::here();
        leases.next += 1;
        let id = leases.next;
        leases.held.insert(id, Held { vault, thread, owner });
        if !leases.renewed {
            // Without a thread for it the lease lasts for a term.
            let renewing = std::thread::Builder::new().name("antiphon-leases".into()).spawn(renew);
            leases.renewed = renewing.is_ok();
        }
        Self { id, process: process::id() }
    }
}

impl Drop for Lease {
    /// Nothing is claimed any more once this returns. In a fork nothing was.
    fn drop(&mut self) {
        if process::check(self.process).is_ok() {
            let held = Leases::here().held.remove(&self.id);
            drop(held);
        }
    }
}

impl Leases {
    const fn none() -> Self {
        Self { renewed: false, next: 0, held: BTreeMap::new() }
    }

    /// Those of this process: a fork has neither the leases nor the thread.
    fn here() -> MutexGuard<'static, Self> {
        LEASES.here().0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Claims what is held again and again, until nothing is.
fn renew() {
    loop {
        std::thread::sleep(TERM / 3);
        let mut leases = Leases::here();
        if leases.held.is_empty() {
            leases.renewed = false;
            return;
        }
        for Held { vault, thread, owner } in leases.held.values() {
            // Queued at once. If the thread was lost, the next commit says so.
            drop(vault.store().claim(thread, owner, TERM));
        }
    }
}
