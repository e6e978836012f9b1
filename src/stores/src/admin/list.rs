//! Lists of threads with the status of their last runs, in pages.

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_runtime::store::{EntryKind, EntryMark, EntryRange, StoredThreadInfo};
use futures_util::future::try_join_all;

use super::status::{RunStatus, RunTail};
use super::{OpenQuestion, ThreadAdmin, empty};
use crate::codec::damaged_chain;
use crate::reread::FailedReadings;
use crate::run_header::RunHeader;

/// Which threads to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadFilter {
    /// Only threads whose last run has this status, one of [`RunStatus::NAMES`].
    pub status: Option<String>,
    /// Only threads whose last run is of this graph.
    pub graph: Option<String>,
}

impl ThreadFilter {
    /// Checks the status.
    ///
    /// # Errors
    /// `call_invalid` if there is no such status.
    pub fn check(&self) -> Result<(), Fault> {
        let status = self.status.as_deref();
        let Some(unknown) = status.filter(|name| !RunStatus::NAMES.contains(name)) else {
            return Ok(());
        };
        let known = RunStatus::NAMES.join(", ");
        let message = format!("`status` must be one of {known}: {unknown}");
        Err(Fault::new(FaultCode::CallInvalid, message))
    }
}

/// A thread and its last run.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadSummary {
    /// The name of the thread.
    pub thread: String,
    /// The status of its last run.
    pub status: RunStatus,
    /// The open questions of its last run.
    pub asking: Vec<OpenQuestion>,
    /// The name of the last run's graph; empty if it cannot be read.
    pub graph: String,
    /// The id of the last run.
    pub run_id: String,
    /// The number of supersteps of all runs.
    pub step: u64,
    /// When the oldest run that is left began.
    pub began: Time,
    /// When the thread was last written to.
    pub at: Time,
    /// The size of all entries, in bytes.
    pub size: u64,
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadPage {
    /// In the order of their names.
    pub threads: Vec<ThreadSummary>,
    /// The name after which the next page begins; `None` on the last page.
    pub next: Option<String>,
}

impl ThreadSummary {
    /// A summary before any entry is read.
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
    /// The most threads, and the most bytes of them, that are read concurrently.
    const TOGETHER: (usize, u64) = (128, 32 << 20);

    /// Lists at most `limit` threads in the order of their names, after `after`. Their graphs
    /// are not needed.
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
                let (now, later) = rest.split_at(Self::batch_size(rest).min(wanted));
                let listed = now.iter().map(|thread| self.matching(thread, filter));
                page.threads.extend(try_join_all(listed).await?.into_iter().flatten());
                after = now.last().map(|thread| thread.name.clone());
                rest = later;
            }
        }
    }

    /// The number of threads to read concurrently, so that the store can group their statements;
    /// limited by what they need in memory.
    pub(super) fn batch_size(threads: &[StoredThreadInfo]) -> usize {
        let mut bytes = 0_u64;
        let fits = |thread: &&StoredThreadInfo| {
            bytes = bytes.saturating_add(thread.size);
            bytes <= Self::TOGETHER.1
        };
        threads.iter().take(Self::TOGETHER.0).take_while(fits).count().max(1)
    }

    /// Threads after `name`; from the first one if it is `None`.
    pub(super) async fn after(&self, name: Option<&str>) -> Result<Vec<StoredThreadInfo>, Fault> {
        let first = match name {
            Some(_) => None,
            None => self.store().thread("").await?,
        };
        let mut threads = self.store().threads(name.unwrap_or_default(), Self::PAGE).await?;
        threads.splice(0..0, first);
        Ok(threads)
    }

    /// The summary of one thread.
    ///
    /// # Errors
    /// `thread_empty` if there is none, and those of the store.
    pub async fn listed(&self, thread: &str) -> Result<ThreadSummary, Fault> {
        let Some(thread) = self.store().thread(thread).await? else { return Err(empty(thread)) };
        self.summarize(&thread).await
    }

    async fn matching(
        &self,
        thread: &StoredThreadInfo,
        filter: &ThreadFilter,
    ) -> Result<Option<ThreadSummary>, Fault> {
        let listed = self.summarize(thread).await?;
        let has_status = filter.status.as_ref().is_none_or(|name| listed.status.as_str() == *name);
        let has_graph = filter.graph.as_ref().is_none_or(|name| listed.graph == *name);
        Ok((has_status && has_graph).then_some(listed))
    }

    /// Reads the summary of a thread. A damaged thread is listed as such and does not fail the
    /// list.
    async fn summarize(&self, thread: &StoredThreadInfo) -> Result<ThreadSummary, Fault> {
        let mut thread = thread.clone();
        let mut failed = FailedReadings::default();
        let mut listed = loop {
            let mut listed = ThreadSummary::empty(&thread);
            let Err(fault) = self.tell(&thread, &mut listed).await else { break listed };
            match failed.add(&**self.store(), &thread.name, fault).await {
                Ok(Some(now)) => thread = now,
                Ok(None) => break ThreadSummary::empty(&thread),
                Err(fault) if fault.code.is_of_checkpoint() => {
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

    /// Checks a thread without a run header: it is another engine's, or it is damaged.
    async fn check_foreign(&self, thread: &str, tip: &EntryMark) -> Result<(), Fault> {
        let span = EntryRange { from: tip.base.max(1), to: tip.seq };
        let marks = self.sealed_store.marks(thread, span, None).await?;
        let mut wanted = tip.seq;
        for mark in marks.iter().rev().filter(|mark| mark.seq <= tip.seq) {
            if mark.seq == wanted {
                wanted = if mark.seq == tip.base { 0 } else { mark.parent };
            }
        }
        // A thread that was pruned meanwhile has a new head.
        let is_whole = wanted == 0 || self.sealed_store.head(thread).await? != Some(tip.seq);
        if is_whole { Ok(()) } else { Err(damaged_chain(thread, wanted)) }
    }

    /// The header of the run that begins with an entry.
    pub(super) async fn header(&self, thread: &str, seq: u64) -> Result<RunHeader, Fault> {
        match self.store().find(thread, seq).await? {
            Some(entry) => RunHeader::decode(&self.sealed_store.open(thread, entry)?.body),
            None => Err(damaged_chain(thread, seq)),
        }
    }
}
