//! Summaries of commits that are read without the graph. Values stay encoded.

use antiphon_core::Fault;
use antiphon_core::budget::BudgetUsage;
use antiphon_core::checkpoint::WriteSource;
use antiphon_core::effect::Ending;
use antiphon_core::graph::END;

use super::FORMAT;
use super::change::source_of;
use super::reader::ByteReader;
use super::reducer::{self, RESET};
use super::writer::ByteWriter;

/// A commit by names and keys.
#[derive(Clone, Debug)]
pub struct CommitSummary<'a> {
    /// The keys of the nested graphs that it belongs to, outermost first.
    pub within: Vec<u64>,
    /// What the run had spent.
    pub spent: BudgetUsage,
    /// How many events the run had emitted.
    pub events: u64,
    /// The change.
    pub note: CommitEvent<'a>,
}

/// The change of a commit.
#[derive(Clone, Debug)]
pub enum CommitEvent<'a> {
    /// A superstep was merged, or a snapshot repeats it.
    Checkpoint {
        /// What led to it; `None` in a snapshot.
        source: Option<WriteSource>,
        /// The number of supersteps.
        step: u64,
        /// The writes of the superstep, or the whole state in a snapshot.
        written: Vec<WrittenValue<'a>>,
        /// The nodes that run next.
        next: Vec<&'a str>,
    },
    /// The task with this key ended.
    Finished(u64),
    /// A task asks.
    Asked {
        /// The key of the task.
        task: u64,
        /// Its slot in the superstep.
        slot: u64,
        /// The question's id.
        id: &'a str,
        /// The nodes that lead to the one that asks.
        path: Vec<&'a str>,
        /// The encoded value of the question.
        value: &'a [u8],
    },
    /// The task with this key received an answer.
    Answered(u64),
    /// The run ended.
    Ended(Result<Ending, Fault>),
    /// Any other change.
    Other,
}

/// A value that was written to a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenValue<'a> {
    /// The channel.
    pub channel: &'a str,
    /// Whether the value is all that the channel holds, and not one that a reducer merges into
    /// it.
    pub whole: bool,
    /// The encoded value; `None` if the channel is reset to its default.
    pub value: Option<&'a [u8]>,
}

impl<'a> CommitSummary<'a> {
    /// Reads the summary of a commit.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if the bytes are not a commit, `store_version` if a later antiphon
    /// has written them.
    pub fn at_commit(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut from = ByteReader::new(bytes);
        from.expect_array(5)?;
        from.expect_version()?;
        let within = from.list(|from| {
            from.expect_array(3)?;
            from.text()?;
            from.number()?;
            from.number()
        })?;
        let (spent, events) = (from.spent()?, from.number()?);
        from.expect_array(2)?;
        let tag = from.number()?;
        Ok(Self { within, spent, events, note: from.note(tag)? })
    }

    /// Reads the summary of a snapshot.
    ///
    /// # Errors
    /// As [`CommitSummary::at_commit`].
    pub fn at_memory(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut from = ByteReader::new(bytes);
        from.expect_array(6)?;
        from.expect_version()?;
        let (spent, events, step) = (from.spent()?, from.number()?, from.number()?);
        let written = from.list(|from| {
            from.expect_array(2)?;
            Ok(WrittenValue { channel: from.text()?, whole: true, value: Some(from.raw()?) })
        })?;
        let next = from.upcoming()?;
        let note = CommitEvent::Checkpoint { source: None, step, written, next };
        Ok(Self { within: Vec::new(), spent, events, note })
    }
}

/// Encodes a commit that ends a run of any graph.
///
/// # Errors
/// None that a caller could cause.
pub(crate) fn end(
    (spent, events): (&BudgetUsage, u64),
    ended: &Result<Ending, Fault>,
) -> Result<Vec<u8>, Fault> {
    let mut out = ByteWriter::new();
    out.array(5);
    out.number(FORMAT);
    out.array(0);
    out.spent(spent);
    out.number(events);
    out.array(2);
    out.number(4);
    out.ending(ended)?;
    Ok(out.into_bytes())
}

impl<'a> ByteReader<'a> {
    fn note(&mut self, tag: u64) -> Result<CommitEvent<'a>, Fault> {
        Ok(match tag {
            0 => self.superstep()?,
            1 => CommitEvent::Finished(self.task_key()?.0),
            2 => {
                let (task, slot) = self.task_key()?;
                self.expect_array(3)?;
                let (id, path) = (self.text()?, self.list(Self::text)?);
                CommitEvent::Asked { task, slot, id, path, value: self.raw()? }
            }
            3 => CommitEvent::Answered(self.task_key()?.0),
            4 => CommitEvent::Ended(self.ending()?),
            _ => CommitEvent::Other,
        })
    }

    /// The key of a task, and its slot in the superstep.
    fn task_key(&mut self) -> Result<(u64, u64), Fault> {
        self.expect_array(4)?;
        let (key, slot) = (self.number()?, self.number()?);
        self.text()?;
        Ok((key, slot))
    }

    fn superstep(&mut self) -> Result<CommitEvent<'a>, Fault> {
        self.expect_array(4)?;
        let (source, step) = (source_of(self.number()?)?, self.number()?);
        let mut written = Vec::new();
        for _ in 0..self.array()? {
            self.expect_array(2)?;
            for _ in 0..self.array()? {
                self.expect_array(2)?;
                let (channel, value) = (self.text()?, Some(self.raw()?));
                written.push(WrittenValue { channel, whole: true, value });
            }
            for _ in 0..self.array()? {
                written.push(self.written()?);
            }
        }
        let next = self.upcoming()?;
        Ok(CommitEvent::Checkpoint { source: Some(source), step, written, next })
    }

    fn written(&mut self) -> Result<WrittenValue<'a>, Fault> {
        let length = self.array()?;
        let (channel, kind) = (self.text()?, self.number()?);
        self.reducer(kind, length)?;
        let value = self.raw()?;
        let whole = reducer::is_whole(kind);
        Ok(WrittenValue { channel, whole, value: (kind != RESET).then_some(value) })
    }

    /// The nodes that pending work runs next, as
    /// [`PendingWork::upcoming`](antiphon_core::checkpoint::PendingWork::upcoming) has them.
    fn upcoming(&mut self) -> Result<Vec<&'a str>, Fault> {
        self.expect_array(9)?;
        let (mut ready, deferred) = (self.list(Self::text)?, self.list(Self::text)?);
        ready.extend(self.list(|from| {
            let rest = 1..from.send_length()?;
            let node = from.text()?;
            for _ in rest {
                from.raw()?;
            }
            Ok(node)
        })?);
        self.raw()?;
        let over = self.flag()?;
        for _ in ["sealed", "exempt", "grace"] {
            self.raw()?;
        }
        let detour = self.optional(Self::text)?;
        let mut next = match detour {
            Some(detour) => vec![detour],
            None if over => Vec::new(),
            None if ready.is_empty() => deferred,
            None => ready,
        };
        next.retain(|node| *node != END);
        Ok(next)
    }
}
