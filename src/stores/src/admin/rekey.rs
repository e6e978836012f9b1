//! Sealing of entries with a new key.

use antiphon_core::{Fault, FaultCode};
use antiphon_runtime::store::{Entry, EntryRange};

use super::ThreadAdmin;
use crate::lease::Lease;

/// The result of a change of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RekeyReport {
    /// The number of threads that were examined.
    pub threads: u64,
    /// The number of entries that were sealed with the new key.
    pub entries: u64,
    /// Threads that a run writes to; they were skipped.
    pub busy: Vec<String>,
    /// Threads that are damaged, or that none of the keys opens; they were skipped.
    pub damaged: Vec<String>,
}

impl ThreadAdmin {
    /// The most entries that are sealed in one transaction; their bytes are limited too.
    const ENTRIES: usize = 256;
    const BYTES: u64 = 4 << 20;

    /// Seals with the first key all entries that were sealed with another one. If it is
    /// interrupted, the next call continues where it stopped. Meanwhile others can read all
    /// threads, and write to those that are done.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn rekey(&self) -> Result<RekeyReport, Fault> {
        let mut rekeyed = RekeyReport::default();
        let mut after: Option<String> = None;
        loop {
            let page = self.after(after.as_deref()).await?;
            let Some(last) = page.last() else { return Ok(rekeyed) };
            after = Some(last.name.clone());
            for thread in &page {
                rekeyed.threads += 1;
                match self.rekey_one(&thread.name, &mut rekeyed.entries).await {
                    Ok(()) => {}
                    Err(fault)
                        if matches!(
                            fault.code,
                            FaultCode::ThreadBusy | FaultCode::ThreadConflict
                        ) =>
                    {
                        rekeyed.busy.push(thread.name.clone());
                    }
                    Err(fault) if fault.code.is_of_checkpoint() => {
                        rekeyed.damaged.push(thread.name.clone());
                    }
                    Err(fault) => return Err(fault),
                }
            }
        }
    }

    async fn rekey_one(&self, thread: &str, entries: &mut u64) -> Result<(), Fault> {
        if self.outdated(thread).await?.is_empty() && self.is_current(thread).await? {
            return Ok(());
        }
        self.claim(thread).await?;
        let lease = Lease::keep(self.sealed_store.clone(), thread.to_owned(), self.owner.clone());
        let closed = self.reseal(thread, entries).await;
        drop(lease);
        self.release(thread).await?;
        closed
    }

    /// The caller must hold the lease of the thread.
    async fn reseal(&self, thread: &str, entries: &mut u64) -> Result<(), Fault> {
        let last = self.sealed_store.head(thread).await?.unwrap_or_default();
        for span in self.outdated(thread).await? {
            let found = self.store().read(thread, span).await?;
            let old =
                found.into_iter().filter(|entry| !self.sealed_store.seal().is_current(&entry.tag));
            let closed = old.map(|entry| self.resealed(thread, entry));
            let closed = closed.collect::<Result<Vec<_>, Fault>>()?;
            let count = closed.len() as u64;
            let about = (thread.into(), self.owner.as_str().into());
            let batch = self.sealed_store.replacement(about, last, closed)?;
            self.store().replace(batch).await?;
            *entries += count;
        }
        if last > 0 && !self.is_current(thread).await? {
            let about = (thread.into(), self.owner.as_str().into());
            self.store().replace(self.sealed_store.replacement(about, last, Vec::new())?).await?;
        }
        Ok(())
    }

    fn resealed(&self, thread: &str, entry: Entry) -> Result<Entry, Fault> {
        let base = entry.base;
        self.sealed_store.close(thread, self.sealed_store.open(thread, entry)?, base)
    }

    /// The ranges of entries that were sealed with an older key, each small enough for one
    /// transaction.
    async fn outdated(&self, thread: &str) -> Result<Vec<EntryRange>, Fault> {
        let marks = self.store().marks(thread, EntryRange::ALL, None).await?;
        let mut spans: Vec<EntryRange> = Vec::new();
        let (mut count, mut size) = (0, 0);
        for (mark, tag) in marks {
            if self.sealed_store.seal().is_current(&tag) {
                continue;
            }
            (count, size) = (count + 1, size + mark.size);
            match spans.last_mut() {
                Some(span) if count <= Self::ENTRIES && size <= Self::BYTES => span.to = mark.seq,
                _ => {
                    spans.push(EntryRange { from: mark.seq, to: mark.seq });
                    (count, size) = (1, mark.size);
                }
            }
        }
        Ok(spans)
    }

    /// Whether the head of a thread is sealed with the first key.
    async fn is_current(&self, thread: &str) -> Result<bool, Fault> {
        let head = self.store().head(thread).await?.unwrap_or_default();
        Ok(head.last == 0 || self.sealed_store.seal().is_current(&head.tag))
    }
}
