//! A store in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antiphon_core::{Fault, Time};
use antiphon_runtime::Clock;
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryMark, EntryRange, EntryTag, Store, StoreFuture,
    StoredThreadInfo, ThreadHead, busy, conflict,
};

/// Threads in memory, for tests and for pauses within one process.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    threads: Mutex<BTreeMap<String, MemoryThread>>,
    tag: Mutex<Option<EntryTag>>,
}

#[derive(Default)]
struct MemoryThread {
    head: ThreadHead,
    at: Time,
    held: Option<(String, Time)>,
    entries: BTreeMap<u64, Entry>,
}

impl MemoryStore {
    /// An empty store that reads time from `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, threads: Mutex::default(), tag: Mutex::default() }
    }

    fn tag(&self) -> MutexGuard<'_, Option<EntryTag>> {
        self.tag.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn threads(&self) -> MutexGuard<'_, BTreeMap<String, MemoryThread>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn claim(&self, thread: &str, owner: &str, term: Duration) -> StoreFuture<ThreadHead> {
        let now = self.clock.now();
        let mut threads = self.threads();
        let new_thread = || MemoryThread { at: now, ..MemoryThread::default() };
        let kept = threads.entry(thread.to_owned()).or_insert_with(new_thread);
        if let Some((holder, until)) = kept.held_by_another(owner, now) {
            return ready(Err(busy(thread, until).with("owner", holder)));
        }
        kept.held = Some((owner.to_owned(), now + term));
        ready(Ok(kept.head.clone()))
    }

    fn release(&self, thread: &str, owner: &str) -> StoreFuture<()> {
        let mut threads = self.threads();
        if let Some(kept) = threads.get_mut(thread).filter(|kept| kept.is_held_by(owner)) {
            kept.held = None;
            if kept.entries.is_empty() && kept.head.last == 0 {
                threads.remove(thread);
            }
        }
        ready(Ok(()))
    }

    fn append(&self, batch: EntryBatch) -> StoreFuture<()> {
        let EntryBatch { thread, owner, after, expected, entries, tag } = batch;
        let now = self.clock.now();
        let mut threads = self.threads();
        let kept = threads
            .get_mut(&*thread)
            .filter(|kept| kept.head.last == after && kept.is_held_by(&owner))
            .filter(|kept| expected.is_none_or(|tag| kept.ends_with(&tag)));
        let Some(kept) = kept else { return ready(Err(conflict(&thread))) };
        if let Some(last) = entries.last() {
            kept.head = ThreadHead { last: last.seq, stored: last.seq, tag };
            kept.at = now;
        }
        kept.entries.extend(entries.into_iter().map(|mut entry| {
            // The entry stays in memory; its buffer was sized for growth.
            entry.body.shrink_to_fit();
            (entry.seq, entry)
        }));
        ready(Ok(()))
    }

    fn append_soon(&self, batch: EntryBatch) -> StoreFuture<()> {
        self.append(batch)
    }

    fn read(&self, thread: &str, span: EntryRange) -> StoreFuture<Vec<Entry>> {
        let threads = self.threads();
        let kept = threads.get(thread).into_iter();
        ready(Ok(kept.flat_map(|kept| kept.within(span)).cloned().collect()))
    }

    fn find(&self, thread: &str, seq: u64) -> StoreFuture<Option<Entry>> {
        ready(Ok(self.threads().get(thread).and_then(|kept| kept.entries.get(&seq).cloned())))
    }

    fn marks(
        &self,
        thread: &str,
        span: EntryRange,
        kind: Option<EntryKind>,
    ) -> StoreFuture<Vec<(EntryMark, EntryTag)>> {
        let threads = self.threads();
        let entries = threads.get(thread).into_iter().flat_map(|kept| kept.within(span));
        let wanted = entries.filter(|entry| kind.is_none_or(|kind| entry.kind == kind));
        ready(Ok(wanted.map(mark).collect()))
    }

    fn head(&self, thread: &str) -> StoreFuture<Option<ThreadHead>> {
        ready(Ok(self.threads().get(thread).map(|kept| kept.head.clone())))
    }

    fn thread(&self, thread: &str) -> StoreFuture<Option<StoredThreadInfo>> {
        let now = self.clock.now();
        ready(Ok(self.threads().get(thread).map(|kept| kept.listed(thread, now))))
    }

    fn threads(&self, after: &str, limit: u32) -> StoreFuture<Vec<StoredThreadInfo>> {
        let now = self.clock.now();
        let threads = self.threads();
        let later = threads.iter().filter(|(name, _)| name.as_str() > after);
        let listed = later.take(limit as usize).map(|(name, kept)| kept.listed(name, now));
        ready(Ok(listed.collect()))
    }

    fn recent(&self, prefix: &str) -> StoreFuture<Vec<(String, Time)>> {
        let threads = self.threads();
        let later = threads.range(prefix.to_owned()..);
        let ours = later.take_while(|(name, _)| name.starts_with(prefix));
        let mut found: Vec<_> = ours.map(|(name, kept)| (name.clone(), kept.at)).collect();
        found.sort_by(|(_, one), (_, other)| other.cmp(one));
        ready(Ok(found))
    }

    fn remove(&self, thread: &str, owner: &str, span: EntryRange) -> StoreFuture<u64> {
        let mut threads = self.threads();
        let kept = threads.get_mut(thread).filter(|kept| kept.is_held_by(owner));
        let Some(kept) = kept else { return ready(Err(conflict(thread))) };
        let before = kept.entries.len();
        kept.entries.retain(|seq, _| *seq < span.from || *seq > span.to);
        ready(Ok((before - kept.entries.len()) as u64))
    }

    fn delete(&self, thread: &str) -> StoreFuture<bool> {
        let now = self.clock.now();
        let mut threads = self.threads();
        match threads.get(thread).and_then(|kept| kept.held_by_another("", now)) {
            Some((holder, until)) => ready(Err(busy(thread, until).with("owner", holder))),
            None => ready(Ok(threads.remove(thread).is_some())),
        }
    }

    fn replace(&self, batch: EntryBatch) -> StoreFuture<()> {
        let mut threads = self.threads();
        let kept = threads
            .get_mut(&*batch.thread)
            .filter(|kept| kept.head.last == batch.after && kept.is_held_by(&batch.owner));
        let Some(kept) = kept else { return ready(Err(conflict(&batch.thread))) };
        kept.head.tag = batch.tag;
        for entry in batch.entries {
            if let Some(known) = kept.entries.get_mut(&entry.seq) {
                (known.tag, known.body) = (entry.tag, entry.body);
            }
        }
        ready(Ok(()))
    }

    fn protection(&self, proposed: EntryTag) -> StoreFuture<EntryTag> {
        ready(Ok(self.tag().get_or_insert(proposed).clone()))
    }

    fn protect(&self, tag: EntryTag) -> StoreFuture<()> {
        *self.tag() = Some(tag);
        ready(Ok(()))
    }
}

impl MemoryThread {
    fn is_held_by(&self, owner: &str) -> bool {
        self.held.as_ref().is_some_and(|(held, _)| held == owner)
    }

    fn ends_with(&self, tag: &EntryTag) -> bool {
        self.entries.get(&self.head.last).is_some_and(|entry| entry.tag == *tag)
    }

    fn within(&self, span: EntryRange) -> impl Iterator<Item = &Entry> {
        let wanted = (span.from <= span.to).then(|| self.entries.range(span.from..=span.to));
        wanted.into_iter().flatten().map(|(_, entry)| entry)
    }

    fn held_by_another(&self, owner: &str, now: Time) -> Option<(&str, Time)> {
        let (held, until) = self.held.as_ref()?;
        (held != owner && *until > now).then_some((held, *until))
    }

    fn listed(&self, name: &str, now: Time) -> StoredThreadInfo {
        let sizes = self.entries.values().map(|entry| entry.body.len() as u64);
        StoredThreadInfo {
            name: name.to_owned(),
            head: self.head.clone(),
            at: self.at,
            held: self.held.clone().filter(|(_, until)| *until > now),
            size: sizes.sum(),
        }
    }
}

fn mark(entry: &Entry) -> (EntryMark, EntryTag) {
    let Entry { seq, parent, base, kind, step, at, ref body, ref tag } = *entry;
    (EntryMark { seq, parent, base, kind, step, at, size: body.len() as u64 }, tag.clone())
}

fn ready<T: Send + 'static>(answer: Result<T, Fault>) -> StoreFuture<T> {
    Box::pin(std::future::ready(answer))
}
