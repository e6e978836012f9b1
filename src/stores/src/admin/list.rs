//! Threads with what their runs have come to, page by page.

use antiphon_core::{Category, Fault, Time};
use antiphon_runtime::store::{EntryKind, EntryMark, EntryRange, StoredThreadInfo};
use futures_util::future::try_join_all;

use super::status::{RunStatus, RunTail};
use super::{OpenQuestion, ThreadAdmin, empty};
use crate::checkpoint_writer::RunHeader;
use crate::codec::damaged_chain;
use crate::reread::FailedReadings;

/// Which threads are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadFilter {
    /// Only those whose last run has come to this; one of [`RunStatus::NAMES`].
    pub status: Option<String>,
    /// Only those whose last run is one of this graph.
    pub graph: Option<String>,
}

impl ThreadFilter {
    /// Refuses what no thread can have come to.
    ///
    /// # Errors
    /// `call_invalid`.
    pub fn check(&self) -> Result<(), Fault> {
        let status = self.status.as_deref();
        let Some(unknown) = status.filter(|name| !RunStatus::NAMES.contains(name)) else {
            return Ok(());
        };
        let known = RunStatus::NAMES.join(", ");
        let message = format!("`status` is one of {known}, found: {unknown}");
        Err(Fault::new(Category::Validation, "call_invalid", message))
    }
}

/// A thread, and its last run.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadSummary {
    /// The thread.
    pub thread: String,
    /// What its last run has come to.
    pub status: RunStatus,
    /// What that asks.
    pub asking: Vec<OpenQuestion>,
    /// The name of its graph; nothing if that cannot be read.
    pub graph: String,
    /// Its id.
    pub run_id: String,
    /// Supersteps of all runs so far.
    pub step: u64,
    /// When the first run that is still kept began.
    pub began: Time,
    /// When the thread was last written to.
    pub at: Time,
    /// Bytes of all its entries.
    pub size: u64,
}

/// A part of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadPage {
    /// In the order of their names.
    pub threads: Vec<ThreadSummary>,
    /// Where the next part begins; nothing if this was the last.
    pub next: Option<String>,
}

impl ThreadSummary {
    /// A thread of which nothing has been read yet.
    fn empty(thread: &StoredThreadInfo) -> Self {
        Self {
            thread: thread.name.clone(),
            status: RunStatus::Empty,
            asking: Vec::new(),
            graph: String::new(),
            run_id: String::new(),
            step: 0,
            began: thread.at,
            at: thread.at,
            size: thread.size,
        }
    }
}

impl ThreadAdmin {
    /// So many threads at most, and so many bytes of them, are looked at together.
    const TOGETHER: (usize, u64) = (128, 32 << 20);

    /// Threads in the order of their names, those after `after`, and no more
    /// than `limit`. Nothing of their graphs is needed for it.
    ///
    /// # Errors
    /// Those of [`ThreadFilter::check`] and of the store.
    pub async fn list(
        &self,
        filter: &ThreadFilter,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ThreadPage, Fault> {
        filter.check()?;
        let mut page = ThreadPage::default();
        let mut after = after.map(str::to_owned);
        loop {
            let threads = self.after(after.as_deref()).await?;
            if threads.is_empty() {
                return Ok(page);
            }
            let mut rest = threads.as_slice();
            while !rest.is_empty() {
                let wanted = limit.saturating_sub(page.threads.len());
                if wanted == 0 {
                    page.next = after;
                    return Ok(page);
                }
                let (now, later) = rest.split_at(Self::together(rest).min(wanted));
                let listed = now.iter().map(|thread| self.matching(thread, filter));
                page.threads.extend(try_join_all(listed).await?.into_iter().flatten());
                after = now.last().map(|thread| thread.name.clone());
                rest = later;
            }
        }
    }

    /// How many of the next threads are looked at together, so that a store can
    /// answer for all of them at once: as many as may be held in memory.
    pub(super) fn together(threads: &[StoredThreadInfo]) -> usize {
        let mut bytes = 0_u64;
        let fits = |thread: &&StoredThreadInfo| {
            bytes = bytes.saturating_add(thread.size);
            bytes <= Self::TOGETHER.1
        };
        threads.iter().take(Self::TOGETHER.0).take_while(fits).count().max(1)
    }

    /// Some threads; the first ones include that without a name.
    pub(super) async fn after(&self, name: Option<&str>) -> Result<Vec<StoredThreadInfo>, Fault> {
        let first = match name {
            Some(_) => None,
            None => self.store().thread("").await?,
        };
        let mut threads = self.store().threads(name.unwrap_or_default(), Self::PAGE).await?;
        threads.splice(0..0, first);
        Ok(threads)
    }

    /// One thread as lists show it.
    ///
    /// # Errors
    /// `thread_empty` if there is none, and those of the store.
    pub async fn listed(&self, thread: &str) -> Result<ThreadSummary, Fault> {
        let Some(thread) = self.store().thread(thread).await? else { return Err(empty(thread)) };
        self.told(&thread).await
    }

    async fn matching(
        &self,
        thread: &StoredThreadInfo,
        filter: &ThreadFilter,
    ) -> Result<Option<ThreadSummary>, Fault> {
        let listed = self.told(thread).await?;
        let has_status = filter.status.as_ref().is_none_or(|name| listed.status.as_str() == *name);
        let has_graph = filter.graph.as_ref().is_none_or(|name| listed.graph == *name);
        Ok((has_status && has_graph).then_some(listed))
    }

    /// A thread that is damaged is listed as one, beside the others.
    async fn told(&self, thread: &StoredThreadInfo) -> Result<ThreadSummary, Fault> {
        let mut thread = thread.clone();
        let mut failed = FailedReadings::default();
        let mut listed = loop {
            let mut listed = ThreadSummary::empty(&thread);
            let Err(fault) = self.tell(&thread, &mut listed).await else { break listed };
            match failed.add(&**self.store(), &thread.name, fault).await {
                Ok(Some(now)) => thread = now,
                Ok(None) => break ThreadSummary::empty(&thread),
                Err(fault) if fault.code.starts_with("checkpoint_") => {
                    listed.status = RunStatus::Unreadable(fault);
                    listed.asking = Vec::new();
                    break listed;
                }
                Err(fault) => return Err(fault),
            }
        };
        if !matches!(listed.status, RunStatus::Foreign) && self.is_held(thread.held.as_ref()) {
            listed.status = RunStatus::Running;
        }
        Ok(listed)
    }

    async fn tell(
        &self,
        thread: &StoredThreadInfo,
        listed: &mut ThreadSummary,
    ) -> Result<(), Fault> {
        let name = &thread.name;
        let last = self.sealed_store.checked(name, &thread.head)?;
        if last == 0 {
            return Ok(());
        }
        let tip =
            self.sealed_store.marks(name, EntryRange { from: last, to: last }, None).await?.pop();
        let Some(tip) = tip else { return Err(damaged_chain(name, last)) };
        (listed.step, listed.at) = (tip.step, tip.at);
        let runs = self.sealed_store.marks(name, EntryRange::ALL, Some(EntryKind::Run)).await?;
        let (Some(first), Some(run)) = (runs.first(), runs.last()) else {
            listed.status = RunStatus::Foreign;
            return self.check_foreign(name, &tip).await;
        };
        listed.began = first.at;
        let RunTail { status, asking } = self.tail(name, last).await?;
        (listed.status, listed.asking) = (status, asking);
        let run = self.header(name, run.seq).await?;
        (listed.run_id, listed.graph) = (run.run_id, run.graph);
        Ok(())
    }

    /// A thread without a run is another engine's. One that has lost them is damaged.
    async fn check_foreign(&self, thread: &str, tip: &EntryMark) -> Result<(), Fault> {
        let span = EntryRange { from: tip.base.max(1), to: tip.seq };
        let marks = self.sealed_store.marks(thread, span, None).await?;
        let mut wanted = tip.seq;
        for mark in marks.iter().rev().filter(|mark| mark.seq <= tip.seq) {
            if mark.seq == wanted {
                wanted = if mark.seq == tip.base { 0 } else { mark.parent };
            }
        }
        // Whoever has pruned it since has written to it too.
        let is_whole = wanted == 0 || self.sealed_store.head(thread).await? != Some(tip.seq);
        if is_whole { Ok(()) } else { Err(damaged_chain(thread, wanted)) }
    }

    /// What identifies the run that begins with an entry.
    pub(super) async fn header(&self, thread: &str, seq: u64) -> Result<RunHeader, Fault> {
        match self.store().find(thread, seq).await? {
            Some(entry) => RunHeader::decode(&self.sealed_store.open(thread, entry)?.body),
            None => Err(damaged_chain(thread, seq)),
        }
    }
}
