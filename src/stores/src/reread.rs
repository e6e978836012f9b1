//! Telling damage from a change under way.
//!
//! A thread is read by several statements, and others may write to it, prune
//! it or delete it between them: what is missing then was there a moment
//! before. So nothing is called damaged on one reading. It is read again until
//! two readings fail with nothing changed between them.

use antiphon_core::Fault;
use antiphon_runtime::store::{Store, StoredThreadInfo};

/// The readings of a thread that have failed.
#[derive(Debug, Default)]
pub(crate) struct FailedReadings {
    count: u32,
    /// The thread as it was after the last of them; none if it was gone.
    thread: Option<StoredThreadInfo>,
}

impl FailedReadings {
    /// A writer that outruns its reader so often is not at fault.
    const MOST: u32 = 100;

    /// The thread as it is now, to be read again; none if it is gone.
    ///
    /// # Errors
    /// The fault of the reading, if it is another than `checkpoint_corrupt` or
    /// the thread is damaged indeed; and those of the store.
    pub(crate) async fn add(
        &mut self,
        store: &dyn Store,
        thread: &str,
        fault: Fault,
    ) -> Result<Option<StoredThreadInfo>, Fault> {
        self.count += 1;
        if fault.code != "checkpoint_corrupt" || self.count > Self::MOST {
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

/// Reads until a reading succeeds, or the thread is damaged indeed.
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
