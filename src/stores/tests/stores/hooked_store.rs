//! A store that lets a test do something before it reads or removes.

use std::sync::Arc;
use std::time::Duration;

use antiphon_core::Time;
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, Store, StoreFuture,
    StoredThreadInfo, ThreadHead,
};

/// What is awaited before each request of a kind.
pub(crate) type Hook = Box<dyn Fn() -> StoreFuture<()> + Send + Sync>;

pub(crate) struct HookedStore {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) before_marks: Hook,
    pub(crate) before_find: Hook,
    pub(crate) before_remove: Hook,
}

impl HookedStore {
    /// A store whose hooks do nothing.
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, before_marks: none(), before_find: none(), before_remove: none() }
    }
}

fn none() -> Hook {
    Box::new(|| Box::pin(std::future::ready(Ok(()))))
}

impl Store for HookedStore {
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
        let (before, inner) = ((self.before_find)(), Arc::clone(&self.inner));
        let thread = thread.to_owned();
        Box::pin(async move {
            before.await?;
            inner.find(&thread, seq).await
        })
    }

    fn marks(
        &self,
        thread: &str,
        span: EntryRange,
        kind: Option<EntryKind>,
    ) -> StoreFuture<Vec<(EntryMark, EntryTag)>> {
        let (before, inner) = ((self.before_marks)(), Arc::clone(&self.inner));
        let thread = thread.to_owned();
        Box::pin(async move {
            before.await?;
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
        let (before, inner) = ((self.before_remove)(), Arc::clone(&self.inner));
        let (thread, owner) = (thread.to_owned(), owner.to_owned());
        Box::pin(async move {
            before.await?;
            inner.remove(&thread, &owner, span).await
        })
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
