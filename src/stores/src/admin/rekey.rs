//! Closing anew what was closed with an earlier key.

use antiphon_core::Fault;
use antiphon_runtime::store::{Entry, EntryRange};

use super::ThreadAdmin;
use crate::lease::Lease;

/// What was closed anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RekeyReport {
    /// How many threads were looked at.
    pub threads: u64,
    /// How many entries were closed anew.
    pub entries: u64,
    /// Threads that somebody writes to, left as they are.
    pub busy: Vec<String>,
    /// Threads that none of the keys opens, or that were changed from outside, left
    /// as they are.
    pub damaged: Vec<String>,
}

impl ThreadAdmin {
    /// So many entries are closed at a time, and no more bytes than these.
    const ENTRIES: usize = 256;
    const BYTES: u64 = 4 << 20;

    /// Closes with the first key what another one opens. It may end at any time, and
    /// goes on where it was when it is asked for again; threads are read and, once
    /// they are done, written by others meanwhile.
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
                    Err(fault) if matches!(&*fault.code, "thread_busy" | "thread_conflict") => {
                        rekeyed.busy.push(thread.name.clone());
                    }
                    Err(fault) if fault.code.starts_with("checkpoint_") => {
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
        let closed = self.close_anew(thread, entries).await;
        drop(lease);
        self.release(thread).await?;
        closed
    }

    /// To be called by whoever holds the thread.
    async fn close_anew(&self, thread: &str, entries: &mut u64) -> Result<(), Fault> {
        let last = self.sealed_store.head(thread).await?.unwrap_or_default();
        for span in self.outdated(thread).await? {
            let found = self.store().read(thread, span).await?;
            let old =
                found.into_iter().filter(|entry| !self.sealed_store.seal().is_current(&entry.tag));
            let closed = old.map(|entry| self.closed_anew(thread, entry));
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

    fn closed_anew(&self, thread: &str, entry: Entry) -> Result<Entry, Fault> {
        let base = entry.base;
        self.sealed_store.close(thread, self.sealed_store.open(thread, entry)?, base)
    }

    /// Where entries are that an earlier key has closed, in parts that are not too large.
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

    /// Whether the end of a thread is closed with the first key.
    async fn is_current(&self, thread: &str) -> Result<bool, Fault> {
        let head = self.store().head(thread).await?.unwrap_or_default();
        Ok(head.last == 0 || self.sealed_store.seal().is_current(&head.tag))
    }
}
