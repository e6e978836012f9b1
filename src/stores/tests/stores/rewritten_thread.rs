//! Threads that are deleted, and written anew under the same name, while they are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use antiphon_core::Time;
use antiphon_runtime::ManualClock;
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, Store, StoreFuture,
    StoredThreadInfo, ThreadHead,
};
use antiphon_stores::{Cipher, MemoryStore, SealedStore, ThreadLog};

const TERM: Duration = Duration::from_secs(30);
const ENTRIES: usize = 3;

/// Deletes the thread before its marks are read for the first time, and writes it anew before an
/// entry is looked for the second time.
struct RewrittenStore {
    inner: Arc<dyn Store>,
    marks_read: AtomicU32,
    entries_found: AtomicU32,
}

async fn write(store: Arc<dyn Store>, owner: &str) {
    let sealed_store = SealedStore::new(store, Arc::new(Cipher::tagged()));
    let (mut log, _) = ThreadLog::open(sealed_store, "t", owner, TERM).await.unwrap();
    for _ in 0..ENTRIES {
        log.append([(EntryKind::Step, owner.as_bytes())], 1, Time::default())
            .unwrap()
            .await
            .unwrap();
    }
    log.release().await.unwrap();
}

impl Store for RewrittenStore {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn claim(&self, thread: &str, owner: &str, term: Duration) -> StoreFuture<ThreadHead> {
        self.inner.claim(thread, owner, term)
    }

    fn release(&self, thread: &str, owner: &str) -> StoreFuture<()> {
        self.inner.release(thread, owner)
    }

    fn append(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.inner.append(batch)
    }

    fn append_soon(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.inner.append_soon(batch)
    }

    fn read(&self, thread: &str, span: EntryRange) -> StoreFuture<Vec<Entry>> {
        self.inner.read(thread, span)
    }

    fn find(&self, thread: &str, seq: u64) -> StoreFuture<Option<Entry>> {
        let is_second = self.entries_found.fetch_add(1, Ordering::Relaxed) == 1;
        let (inner, thread) = (Arc::clone(&self.inner), thread.to_owned());
        Box::pin(async move {
            if is_second {
                write(Arc::clone(&inner), "second").await;
            }
            inner.find(&thread, seq).await
        })
    }

    fn marks(
        &self,
        thread: &str,
        span: EntryRange,
        kind: Option<EntryKind>,
    ) -> StoreFuture<Vec<(EntryMark, EntryTag)>> {
        let is_first = self.marks_read.fetch_add(1, Ordering::Relaxed) == 0;
        let (inner, thread) = (Arc::clone(&self.inner), thread.to_owned());
        Box::pin(async move {
            if is_first {
                assert!(inner.delete(&thread).await?);
            }
            inner.marks(&thread, span, kind).await
        })
    }

    fn head(&self, thread: &str) -> StoreFuture<Option<ThreadHead>> {
        self.inner.head(thread)
    }

    fn thread(&self, thread: &str) -> StoreFuture<Option<StoredThreadInfo>> {
        self.inner.thread(thread)
    }

    fn threads(&self, after: &str, limit: u32) -> StoreFuture<Vec<StoredThreadInfo>> {
        self.inner.threads(after, limit)
    }

    fn recent(&self, prefix: &str) -> StoreFuture<Vec<(String, Time)>> {
        self.inner.recent(prefix)
    }

    fn remove(&self, thread: &str, owner: &str, span: EntryRange) -> StoreFuture<u64> {
        self.inner.remove(thread, owner, span)
    }

    fn delete(&self, thread: &str) -> StoreFuture<bool> {
        self.inner.delete(thread)
    }

    fn replace(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.inner.replace(batch)
    }

    fn protection(&self, proposed: EntryTag) -> StoreFuture<EntryTag> {
        self.inner.protection(proposed)
    }

    fn protect(&self, tag: EntryTag) -> StoreFuture<()> {
        self.inner.protect(tag)
    }
}

#[tokio::test]
async fn a_thread_that_is_written_anew_while_it_is_read_is_not_damaged() {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
    write(Arc::clone(&inner), "first").await;
    let (marks_read, entries_found) = (AtomicU32::new(0), AtomicU32::new(0));
    let store = Arc::new(RewrittenStore { inner, marks_read, entries_found });
    let sealed_store = SealedStore::new(store, Arc::new(Cipher::tagged()));
    let way = sealed_store.way_to_checkpoint("t", ENTRIES as u64).await.unwrap();
    assert!(way.iter().all(|entry| entry.body == b"second"), "{way:?}");
    assert_eq!(way.len(), ENTRIES);
}
