//! What an entry says to whoever has not the graph that wrote it. Values stay
//! unread.

use antiphon_core::Fault;
use antiphon_core::budget::Spent;
use antiphon_core::checkpoint::WriteSource;
use antiphon_core::effect::Ending;
use antiphon_core::graph::END;

use super::FORMAT;
use super::change::source_of;
use super::reader::ByteReader;
use super::writer::ByteWriter;

/// What happened, by names and keys.
#[derive(Clone, Debug)]
pub struct CommitSummary<'a> {
    /// The keys of the nested graphs it happened in, outermost first.
    pub within: Vec<u64>,
    /// What the run had spent.
    pub spent: Spent,
    /// How many events it had had.
    pub events: u64,
    /// What happened.
    pub note: CommitEvent<'a>,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum CommitEvent<'a> {
    /// A superstep was merged, or everything up to there repeated.
    Checkpoint {
        /// What led to it; a snapshot does not say.
        source: Option<WriteSource>,
        /// Supersteps so far.
        step: u64,
        /// What it wrote, or all it holds.
        written: Vec<WrittenValue<'a>>,
        /// The nodes that run next.
        next: Vec<&'a str>,
    },
    /// A task is done.
    Finished(u64),
    /// A task asks.
    Asked {
        /// The task.
        task: u64,
        /// Its place in the superstep.
        slot: u64,
        /// The question's id.
        id: &'a str,
        /// The names of the nodes that lead to the one that asks.
        path: Vec<&'a str>,
        /// What is asked, unread.
        value: &'a [u8],
    },
    /// A task was given an answer.
    Answered(u64),
    /// A run is over.
    Ended(Result<Ending, Fault>),
    /// Something else.
    Other,
}

/// One value that was written to a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenValue<'a> {
    /// The channel.
    pub channel: &'a str,
    /// Whether it is all that the channel holds, and not something that is
    /// merged into it by a rule.
    pub whole: bool,
    /// The value, unread; nothing if the channel is set back to what it began with.
    pub value: Option<&'a [u8]>,
}

impl<'a> CommitSummary<'a> {
    /// Looks at a commit.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if the bytes are none, `store_version` if a later
    /// antiphon has written them.
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

    /// Looks at a snapshot.
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

/// A commit that ends a run, whatever its graph.
///
/// # Errors
/// None that a caller could cause.
pub(crate) fn end(
    (spent, events): (&Spent, u64),
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

    /// A task's key, and its place in the superstep.
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
                written.push(self.write()?);
            }
        }
        let next = self.upcoming()?;
        Ok(CommitEvent::Checkpoint { source: Some(source), step, written, next })
    }

    fn write(&mut self) -> Result<WrittenValue<'a>, Fault> {
        self.expect_array(3)?;
        let (channel, tag, value) = (self.text()?, self.number()?, self.raw()?);
        Ok(WrittenValue { channel, whole: tag != 0, value: (tag != 2).then_some(value) })
    }

    /// The nodes that pending work has run next, as
    /// [`PendingWork::upcoming`](antiphon_core::checkpoint::PendingWork::upcoming) says.
    fn upcoming(&mut self) -> Result<Vec<&'a str>, Fault> {
        self.expect_array(9)?;
        let (mut ready, deferred) = (self.list(Self::text)?, self.list(Self::text)?);
        ready.extend(self.list(|from| {
            from.expect_array(3)?;
            let node = from.text()?;
            from.raw()?;
            from.raw()?;
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
