//! Distinguishes damage from a concurrent change.
//!
//! A thread is read by several statements, and others may write to it, prune it or delete it in
//! between: an entry that is missing now may have been there a moment ago. So one failed reading
//! is no proof of damage. The thread is read again until two readings fail with no change
//! between them.

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::store::{Store, StoredThreadInfo};

/// The failed readings of a thread.
#[derive(Debug, Default)]
pub(crate) struct FailedReadings {
    count: u32,
    /// The thread after the last of them; `None` if it was gone.
    thread: Option<StoredThreadInfo>,
}

impl FailedReadings {
    /// After so many readings that a concurrent writer has broken, the fault is reported.
    const MOST: u32 = 100;

    /// The thread as it is now, to be read again; `None` if it is gone.
    ///
    /// # Errors
    /// The fault of the reading, if it is not `checkpoint_corrupt` or the thread is in fact
    /// damaged; and those of the store.
    pub(crate) async fn add(
        &mut self,
        store: &dyn Store,
        thread: &str,
        fault: Fault,
    ) -> Result<Option<StoredThreadInfo>, Fault> {
        self.count += 1;
        if fault.code != FaultCode::CheckpointCorrupt || self.count > Self::MOST {
            return Err(fault);
        }
        let now = store.thread(thread).await?;
        if self.count > 1 && self.thread == now {
            return Err(fault);
        }
        self.thread.clone_from(&now);
        Ok(now)
    }
}

/// Reads until a reading succeeds, or the thread is in fact damaged.
///
/// # Errors
/// Those of `read`, and of the store.
pub async fn retry_torn_read<T, F>(
    store: &dyn Store,
    thread: &str,
    read: impl Fn() -> F,
) -> Result<T, Fault>
where
    F: Future<Output = Result<T, Fault>>,
{
    let mut failed = FailedReadings::default();
    loop {
        match read().await {
            Ok(found) => return Ok(found),
            Err(fault) => drop(failed.add(store, thread, fault).await?),
        }
    }
}
