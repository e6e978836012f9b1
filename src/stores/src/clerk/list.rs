//! Threads with what their runs have come to, page by page.

use antiphon_core::{Category, Fault, Time};
use antiphon_runtime::store::{EntryKind, Mark, Span, Thread};

use super::status::{Status, Tail};
use super::{Asking, Clerk, empty};
use crate::keeper::Header;

/// Which threads are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only those whose last run has come to this; one of [`Status::NAMES`].
    pub status: Option<String>,
    /// Only those whose last run is one of this graph.
    pub graph: Option<String>,
}

impl Filter {
    /// Refuses what no thread can have come to.
    ///
    /// # Errors
    /// `call_invalid`.
    pub fn check(&self) -> Result<(), Fault> {
        let status = self.status.as_deref();
        let Some(unknown) = status.filter(|name| !Status::NAMES.contains(name)) else {
            return Ok(());
        };
        let known = Status::NAMES.join(", ");
        let message = format!("`status` is one of {known}, found: {unknown}");
        Err(Fault::new(Category::Validation, "call_invalid", message))
    }
}

/// A thread, and its last run.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The thread.
    pub thread: String,
    /// What its last run has come to.
    pub status: Status,
    /// What that asks.
    pub asking: Vec<Asking>,
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
pub struct Page {
    /// In the order of their names.
    pub threads: Vec<Listed>,
    /// Where the next part begins; nothing if this was the last.
    pub next: Option<String>,
}

impl Clerk {
    /// Threads in the order of their names, those after `after`, and no more
    /// than `limit`. Nothing of their graphs is needed for it.
    ///
    /// # Errors
    /// Those of [`Filter::check`] and of the store.
    pub async fn list(
        &self,
        filter: &Filter,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, Fault> {
        filter.check()?;
        let mut page = Page::default();
        let mut after = after.map(str::to_owned);
        loop {
            let threads = self.after(after.as_deref()).await?;
            if threads.is_empty() {
                return Ok(page);
            }
            for thread in &threads {
                if page.threads.len() >= limit {
                    page.next = after;
                    return Ok(page);
                }
                after = Some(thread.name.clone());
                page.threads.extend(self.matching(thread, filter).await?);
            }
        }
    }

    /// Some threads; the first ones include that without a name.
    pub(super) async fn after(&self, name: Option<&str>) -> Result<Vec<Thread>, Fault> {
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
    pub async fn listed(&self, thread: &str) -> Result<Listed, Fault> {
        let Some(thread) = self.store().thread(thread).await? else { return Err(empty(thread)) };
        let runs = self.runs(&thread.name).await?;
        self.told(&thread, &runs).await
    }

    async fn matching(&self, thread: &Thread, filter: &Filter) -> Result<Option<Listed>, Fault> {
        let runs = self.runs(&thread.name).await?;
        let listed = self.told(thread, &runs).await?;
        let has_status = filter.status.as_ref().is_none_or(|name| listed.status.as_str() == *name);
        let has_graph = filter.graph.as_ref().is_none_or(|name| listed.graph == *name);
        Ok((has_status && has_graph).then_some(listed))
    }

    async fn told(&self, thread: &Thread, runs: &[Mark]) -> Result<Listed, Fault> {
        let Tail { mut status, asking } = match thread.head.tip {
            0 => Tail { status: Status::Empty, asking: Vec::new() },
            _ if runs.is_empty() => Tail { status: Status::Foreign, asking: Vec::new() },
            tip => self.tail(&thread.name, tip).await?,
        };
        let header = match runs.last() {
            Some(run) => self.header(&thread.name, run.seq).await?,
            None => None,
        };
        if !matches!(status, Status::Foreign) && self.is_held(thread.held.as_ref()) {
            status = Status::Running;
        }
        let tip = Span { from: thread.head.tip, to: thread.head.tip };
        let tip = self.store().marks(&thread.name, tip, None).await?.pop();
        let (run_id, graph) = header.map(|found| (found.run_id, found.graph)).unwrap_or_default();
        Ok(Listed {
            thread: thread.name.clone(),
            status,
            asking,
            graph,
            run_id,
            step: tip.map_or(0, |tip| tip.step),
            began: runs.first().map_or(thread.at, |run| run.at),
            at: thread.at,
            size: thread.size,
        })
    }

    /// Where runs begin or go on.
    pub(super) async fn runs(&self, thread: &str) -> Result<Vec<Mark>, Fault> {
        self.store().marks(thread, Span::ALL, Some(EntryKind::Run)).await
    }

    /// What identifies the run that begins with an entry; nothing if it cannot be read.
    pub(super) async fn header(&self, thread: &str, seq: u64) -> Result<Option<Header>, Fault> {
        let Some(entry) = self.store().find(thread, seq).await? else { return Ok(None) };
        let record = self.vault.open(thread, entry);
        Ok(record.and_then(|record| Header::decode(&record.body)).ok())
    }
}
