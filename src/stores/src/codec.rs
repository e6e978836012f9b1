//! How commits become bytes, and bytes commits again.
//!
//! The format is `MessagePack`, and data only: reading it builds values of the
//! types named here and calls nothing by name. Nodes and channels are stored by
//! name, so that a graph may gain some; what names one that is gone is refused.

use antiphon_core::checkpoint::{Callee, Commit, CommitChange, GraphSnapshot, RecoveredRun};
use antiphon_core::graph::Graph;
use antiphon_core::{Category, Fault};

mod called;
mod change;
mod names;
mod pending_work;
pub(crate) mod reader;
mod summary;
mod value;
mod writer;

pub use reader::{ByteReader, Item};
pub(crate) use summary::end;
pub use summary::{CommitEvent, CommitSummary, WrittenValue};
pub use value::{JsonCodec, ValueCodec};
pub use writer::{ByteWriter, Open};

use names::GraphNames;

/// The formats that can be read. Each thing is written in the first that has
/// it, so that files without it are still those of an earlier antiphon.
const FORMATS: std::ops::RangeInclusive<u64> = FORMAT..=WITH_SUBRUNS;
const FORMAT: u64 = 1;
const WITH_CALLS: u64 = 2;
const WITH_SUBRUNS: u64 = 3;

/// Bytes that most commits, closed, have room in.
const COMMIT: usize = 512;

/// Turns what a run of one graph stores into bytes, and back.
#[derive(Clone, Copy, Debug)]
pub struct Codec<'a, V, C> {
    graph: &'a Graph<V>,
    values: &'a C,
}

impl<'a, V: antiphon_core::value::Value, C: ValueCodec<V>> Codec<'a, V, C> {
    /// A codec for runs of `graph`, whose values `values` can turn.
    pub const fn new(graph: &'a Graph<V>, values: &'a C) -> Self {
        Self { graph, values }
    }

    /// A commit as bytes.
    ///
    /// # Errors
    /// `value_unstorable` if a value has no stored form; it names the channel.
    pub fn encode(&self, commit: &Commit<V>) -> Result<Vec<u8>, Fault> {
        let mut out = ByteWriter::with_capacity(COMMIT);
        out.array(5);
        out.number(format_of(&commit.change));
        let names = GraphNames::within(self.graph, &commit.within)?;
        out.levels(self.graph, &commit.within);
        out.spent(&commit.spent);
        out.number(commit.events);
        out.change(self.values, &names, &commit.change)?;
        Ok(out.into_bytes())
    }

    /// A commit from its bytes. Its id is 0: it has been acknowledged long ago.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if the bytes are no commit, `checkpoint_misfit` if
    /// it is one of another graph.
    pub fn decode(&self, bytes: &[u8]) -> Result<Commit<V>, Fault> {
        let mut from = ByteReader::new(bytes);
        from.expect_array(5)?;
        from.expect_version()?;
        let within = from.levels(self.graph)?;
        let names = GraphNames::within(self.graph, &within)?;
        let (spent, events) = (from.spent()?, from.number()?);
        let change = from.change(self.values, &names)?;
        from.expect_end()?;
        Ok(Commit { id: 0, within, spent, events, change })
    }

    /// What a run's own graph holds between two supersteps, as bytes.
    ///
    /// # Errors
    /// As [`Codec::encode`].
    pub fn encode_memory(&self, memory: &RecoveredRun<V>) -> Result<Vec<u8>, Fault> {
        let names = GraphNames::of(self.graph);
        let mut out = ByteWriter::new();
        out.array(6);
        out.number(FORMAT);
        out.spent(&memory.spent);
        out.number(memory.events);
        out.number(memory.root.step);
        out.held(self.values, &names, &memory.root.state)?;
        out.pending_work(self.values, &names, &memory.root.pending_work)?;
        Ok(out.into_bytes())
    }

    /// The same from its bytes.
    ///
    /// # Errors
    /// As [`Codec::decode`].
    pub fn decode_memory(&self, bytes: &[u8]) -> Result<RecoveredRun<V>, Fault> {
        let names = GraphNames::of(self.graph);
        let mut from = ByteReader::new(bytes);
        from.expect_array(6)?;
        from.expect_version()?;
        let (spent, events, step) = (from.spent()?, from.number()?, from.number()?);
        let state = from.held(self.values, &names)?;
        let pending_work = from.pending_work(self.values, &names)?;
        from.expect_end()?;
        let root = GraphSnapshot { state, step, pending_work, ..GraphSnapshot::new(self.graph) };
        Ok(RecoveredRun { spent, events, ..RecoveredRun::at(root) })
    }
}

/// The first format that has a change.
fn format_of<V>(change: &CommitChange<V>) -> u64 {
    match change {
        CommitChange::Subrun(..) => WITH_SUBRUNS,
        CommitChange::Called(_, _, made) if made.call.callee == Callee::Graph => WITH_SUBRUNS,
        CommitChange::Called(..) => WITH_CALLS,
        _ => FORMAT,
    }
}

/// `checkpoint_corrupt`: bytes that are not what was written.
pub fn corrupt(problem: &str) -> Fault {
    let message = format!("what was stored is damaged: {problem}");
    Fault::new(Category::State, "checkpoint_corrupt", message)
        .hint("restore the store from a copy, or delete the thread")
}

/// An entry that should be there is not.
pub(crate) fn damaged_chain(thread: &str, seq: u64) -> Fault {
    corrupt(&format!("entry {seq} of the thread {thread} is missing"))
        .with("thread", thread)
        .with("entry", seq)
}

pub(crate) fn version(found: u64) -> Fault {
    let message = format!("it was stored by a later antiphon: format {found}");
    Fault::new(Category::State, "store_version", message)
        .hint("install that version or a later one")
}

fn misfit(what: &str, name: &str) -> Fault {
    let message = format!("the graph no longer has the {what}: {name}");
    Fault::new(Category::State, "checkpoint_misfit", message)
        .hint("go on with the graph that stored it, or begin a new run")
}

/// `value_unstorable`: a value that has no stored form.
pub fn unstorable(channel: &str, problem: &str) -> Fault {
    let (channel, problem) = within(channel, problem).unwrap_or((channel, problem));
    let message = format!("a value of `{channel}` cannot be stored: {problem}");
    Fault::new(Category::State, "value_unstorable", message)
        .with("channel", channel)
        .hint("turn it into plain data, or register its type: antiphon.checkpoint.register")
}

/// The fields of a record that its makers hide are what its users know as keys.
fn within<'a>(channel: &str, problem: &'a str) -> Option<(&'a str, &'a str)> {
    let place = problem.strip_prefix("key `").filter(|_| channel.starts_with("__"))?;
    let (key, rest) = place.split_once('`')?;
    Some((key, rest.trim_start_matches([',', ':', ' '])))
}
